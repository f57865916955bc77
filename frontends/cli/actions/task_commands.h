/* SPDX-License-Identifier: MIT */
/* The work on tasks: `kettle task check`, `verify`, `pack`, `new`. */
#ifndef KETTLE_CLI_TASK_WORK_H
#define KETTLE_CLI_TASK_WORK_H

#include "cli/run/invocation.h"

extern const struct args_option task_pack_options[];

/* Start members of struct run_ui. */
void task_work_verify(struct run *run);
void task_work_pack(struct run *run);
void task_work_new(struct run *run);

/* Render members, and the exit statuses: whether all is as it must be. */
int task_work_render_check(struct run *run, const json_t *result);
int task_work_check_status(const json_t *result);
int task_work_render_verify(struct run *run, const json_t *result);
int task_work_verify_status(const json_t *result);

#endif
