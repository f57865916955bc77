/* SPDX-License-Identifier: MIT */
/* Tasks, plugins and the configuration for people. */
#ifndef KETTLE_CLI_RENDER_LOCAL_H
#define KETTLE_CLI_RENDER_LOCAL_H

#include "cli/run/invocation.h"

/* Render members of struct run_ui. */
int render_local_plugin_list(struct run *run, const json_t *result);
int render_local_plugin_info(struct run *run, const json_t *result);
int render_local_plugin_test(struct run *run, const json_t *result);
int render_local_config_check(struct run *run, const json_t *result);
int render_local_version(struct run *run, const json_t *result);

/* Status members: whether all that was checked is right. */
int render_local_plugin_test_status(const json_t *result);
int render_local_version_status(const json_t *result);

#endif
