/* SPDX-License-Identifier: MIT */
/* Tries the tasks of leaderboards before they are created or changed: the trial of a command. */
#pragma once

#include "session/command.h"

/*
 * The trial of leaderboard.create, leaderboard.update and competition.sync. The plan is an array of {"name", "bundle": as
 * checked, "devices"}, a leaderboard each. Answers {NAME: {"error"?: why no submission could pass, "tried"?: see task_try.h,
 * "imported"?}}.
 */
command_trial_fn board_trial;

/* An element of the plan. New reference. */
json_t *board_trial_plan(const char *name, json_t *bundle, json_t *devices);
/*
 * Fails with ECONFLICT if the trial (NULL: there was none) shows that no submission to the board could pass; the sentence
 * ends with the argument by which it is done anyway, `member`, and `verb`: "create".
 */
int board_trial_check(
	const json_t *trial, const char *name, const char *member, const char *verb, struct kettle_error *err);
/* Adds the imported modules to the bundle. */
void board_trial_imports(const json_t *trial, const char *name, json_t *bundle);
/* Adds `tried` to the answer of a command. */
void board_trial_tell(const json_t *trial, const char *name, json_t *answer);
