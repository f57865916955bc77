/* SPDX-License-Identifier: MIT */
/* `kettle submit` and `kettle task run`: a file, a choice of devices, progress, a report. Loop thread only. */
#ifndef KETTLE_CLI_SUBMIT_H
#define KETTLE_CLI_SUBMIT_H

#include "cli/run/invocation.h"

extern const struct args_option submit_options[];
extern const struct args_option task_run_options[];

/* The start members of their struct run_ui: arguments are complete. */
void submit_start(struct run *run);
void submit_task_run(struct run *run);
void submit_rerun(struct run *run);

/*
 * What was typed at the menu ("1 3", "1,H100") as an array of device names. New reference; NULL: something in it is no
 * device, or nothing was chosen.
 */
json_t *submit_choice(const char *line, const json_t *devices);

#endif
