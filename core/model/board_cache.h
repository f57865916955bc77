/* SPDX-License-Identifier: MIT */
/* What a leaderboard shows to all who may see it: made once, and again when something in it has changed. */
/*
 * Theory of operation. Every change of what is shown (a best run that comes, goes or moves, the leaderboard's own row,
 * its devices, a name) raises the leaderboard's number in board_versions, by triggers, in its own transaction. A reader
 * finds that number in the snapshot in which it found the leaderboard: with the same number the answer is the same; with
 * another one the rankings are read again, and JSON is made only of the entries that differ. What the leaderboard says
 * of itself has a number of its own. Access is checked each time, before; what depends on who asks or on the clock
 * is part of what tells answers apart. Answers are kept by the connection they were read on, so no two threads look for
 * one; what is given out is shared and never changed. A connection that writes keeps none: it may see what is undone
 * later.
 */
#ifndef KETTLE_MODEL_BOARD_CACHE_H
#define KETTLE_MODEL_BOARD_CACHE_H

#include "model/board.h"

#define BOARD_ANSWERS_MAX 8          /* that a connection keeps */
#define BOARD_ANSWER_ENTRIES_MAX 400 /* of all rankings of one that is kept */

struct board_view_request {
	const char *device; /* as the user wrote it; NULL: all */
	int64_t limit, offset;
	bool open; /* whether the actor may read the code of others there now */
};

/*
 * {"leaderboard": board_object, "rankings": [ranking_page.h], "code_open"}. The actor may see the board: that is not
 * checked again. EINVAL: no such device there. New reference, shared: read-only.
 */
int board_cache_get(struct db *db, const struct board *board, const struct board_view_request *request,
	json_t **ret_answer, struct kettle_error *err);

#endif
