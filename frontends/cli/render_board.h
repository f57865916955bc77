/* SPDX-License-Identifier: MIT */
/* Leaderboards and rankings for people. */
#ifndef KETTLE_CLI_RENDER_BOARD_H
#define KETTLE_CLI_RENDER_BOARD_H

#include "run.h"

/* All are render members of struct run_ui. */
int render_board_created(struct run *run, const json_t *result);
int render_board_list(struct run *run, const json_t *result);
int render_board_show(struct run *run, const json_t *result);
int render_board_deleted(struct run *run, const json_t *result);

/* json members: the arrays that http-api's clients know. */
json_t *render_board_list_json(const json_t *result);
json_t *render_board_show_json(const json_t *result);

#endif
