/* SPDX-License-Identifier: MIT */
/* What whoever runs the engine reads: figures, copies. */
#ifndef KETTLE_CLI_RENDER_ADMIN_H
#define KETTLE_CLI_RENDER_ADMIN_H

#include "cli/run/invocation.h"

/* Render members of struct run_ui. */
int render_admin_accepting(struct run *run, const json_t *result);
int render_admin_stats(struct run *run, const json_t *result);
int render_admin_backup(struct run *run, const json_t *result);
int render_admin_freed(struct run *run, const json_t *result);
int render_admin_export(struct run *run, const json_t *result);

/* Start member of what this process does by itself and for long: shows how far it is. */
void render_admin_long_start(struct run *run);

#endif
