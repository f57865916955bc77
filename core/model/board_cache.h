/* SPDX-License-Identifier: MIT */
/* The answers of leaderboards, shared by all who may see them: made once, and again when something in them has changed. */
/*
 * Theory of operation. Every change of what is shown (a best run that comes, goes or moves, the leaderboard's own row,
 * its devices, a name) raises the leaderboard's number in board_versions, by triggers, in its own transaction. A reader
 * finds that number in the snapshot in which it found the leaderboard: with the same number the answer is the same;
 * with another one the rankings are read again, and JSON is made only of the entries that differ. The leaderboard's own
 * members have a number of their own. The limits of scores (judge/limit.h) depend on the
 * peaks of devices in the configuration too, which are compared each time. Access is checked before, each time; members
 * that depend on the actor or on the clock are part of an answer's key. The connection on which an answer was read keeps
 * it, so that no two threads use one cache; answers are shared and never changed. A connection that writes keeps none: it may see changes that are
 * undone later.
 */
#pragma once

#include "model/board.h"

#define BOARD_ANSWERS_MAX 8          /* that a connection keeps */
#define BOARD_ANSWER_ENTRIES_MAX 400 /* of all rankings of one that is kept */

struct board_view_request {
	const struct command_env *env; /* whose devices have peaks */
	const char *device;            /* as the user wrote it; NULL: all */
	int64_t limit, offset;
	bool open; /* whether the actor may read the code of others there now */
};

/*
 * {"leaderboard": board_object, "rankings": [ranking_page.h], "code_open"}. The actor may see the board: that is not
 * checked again. EINVAL: no such device there. New reference, shared: read-only.
 */
int board_cache_get(struct db *db, const struct board *board, const struct board_view_request *request,
	json_t **ret_answer, struct kettle_error *err);
