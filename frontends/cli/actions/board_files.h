/* SPDX-License-Identifier: MIT */
/* `kettle leaderboard task`, `leaderboard template` and `eval-code`: what is behind a board, shown or written. */
#ifndef KETTLE_CLI_BOARD_TASK_H
#define KETTLE_CLI_BOARD_TASK_H

#include "cli/run/invocation.h"

/* -o for a new folder; -o for a new file. */
extern const struct args_option board_task_folder_options[];
extern const struct args_option board_task_file_options[];

/* start members of struct run_ui: with -o they write, else the result is shown. */
void board_task_start(struct run *run);
void board_task_template_start(struct run *run);
void board_task_eval_start(struct run *run);

/* render members. */
int board_task_render(struct run *run, const json_t *result);
int board_task_template_render(struct run *run, const json_t *result);
int board_task_eval_render(struct run *run, const json_t *result);

#endif
