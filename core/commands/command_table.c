/* SPDX-License-Identifier: MIT */
/* The command table itself: every command with its arguments, right and kind. */
#include <config.h>

#include "commands/board_trial.h"
#include "commands/command_parts.h"
#include "commands/handlers.h"
#include "commands/shapes.h"

const struct command commands[] = {
#include "commands/rows_leaderboards.inc"
#include "commands/rows_submissions.inc"
#include "commands/rows_users.inc"
#include "commands/rows_engine.inc"
#include "commands/rows_local.inc"
	{0},
};
