/* SPDX-License-Identifier: MIT */
/* `kettle submission artifacts`: the files that jobs left, listed or fetched. Loop thread only. */
#ifndef KETTLE_CLI_ARTIFACTS_H
#define KETTLE_CLI_ARTIFACTS_H

#include "cli/run/invocation.h"

extern const struct args_option artifacts_options[];

/* Start and render members of its struct run_ui. */
void artifacts_start(struct run *run);
int artifacts_render(struct run *run, const json_t *result);

#endif
