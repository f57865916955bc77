/* SPDX-License-Identifier: MIT */
/* What the owner of a leaderboard does to it, for people. */
#ifndef KETTLE_CLI_RENDER_OWNER_H
#define KETTLE_CLI_RENDER_OWNER_H

#include "run.h"

/* All are render members of struct run_ui. */
int render_owner_updated(struct run *run, const json_t *result);

#endif
