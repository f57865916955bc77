/* SPDX-License-Identifier: MIT */
/* `kettle problems sync`: what a competition file changes, shown before and after. */
#ifndef KETTLE_CLI_PROBLEMS_H
#define KETTLE_CLI_PROBLEMS_H

#include "cli/run/invocation.h"

extern const struct args_option problems_options[];

/* Members of struct run_ui: shows the plan, then carries it out; the status is RUN_FAILED where a problem is wrong. */
void problems_start(struct run *run);
int problems_render(struct run *run, const json_t *result);
int problems_status(const json_t *result);

#endif
