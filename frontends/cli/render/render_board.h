/* SPDX-License-Identifier: MIT */
/* Leaderboards and rankings for people. */
#ifndef KETTLE_CLI_RENDER_BOARD_H
#define KETTLE_CLI_RENDER_BOARD_H

#include "cli/run/invocation.h"

/* A start member: the board with its rankings, then what its devices have. */
void render_board_show_start(struct run *run);

/* All are render members of struct run_ui. */
int render_board_created(struct run *run, const json_t *result);
int render_board_list(struct run *run, const json_t *result);
int render_board_show(struct run *run, const json_t *result);
int render_board_deleted(struct run *run, const json_t *result);

/* Its json member: all entries in one array, as GET /submissions has them. */
json_t *render_board_show_json(const json_t *result);

#endif
