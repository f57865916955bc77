/* SPDX-License-Identifier: MIT */
/* What the owner of a leaderboard does to it, for people. */
#ifndef KETTLE_CLI_RENDER_OWNER_H
#define KETTLE_CLI_RENDER_OWNER_H

#include "cli/run/invocation.h"

/* All are render members of struct run_ui. */
int render_owner_updated(struct run *run, const json_t *result);
int render_owner_limits(struct run *run, const json_t *result);
int render_owner_joined(struct run *run, const json_t *result);
int render_owner_invited(struct run *run, const json_t *result);
int render_owner_invites(struct run *run, const json_t *result);
int render_owner_revoked(struct run *run, const json_t *result);

/* start member: shows the limits where nothing is to be set, which everybody may. */
void render_owner_limits_start(struct run *run);

#endif
