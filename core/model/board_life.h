/* SPDX-License-Identifier: MIT */
/* The opening and the end of leaderboards, each told once. Store's thread. */
#ifndef KETTLE_MODEL_BOARD_LIFE_H
#define KETTLE_MODEL_BOARD_LIFE_H

#include "store/db.h"

#include <stdbool.h>

/* Openings and ends that are still to come. */
struct board_life {
	int64_t next_ms; /* when the next one opens or reaches its deadline, in ms since 1970; 0: none does */
	bool waiting;    /* the deadline of one has passed, and ranked jobs of it are queued or running */
	bool more;       /* more have opened or ended than one step tells */
};

/*
 * Writes leaderboard.opened for those that have opened, and leaderboard.ended for those whose deadline has passed and whose
 * ranked submissions are all done, in the transaction at hand. Each is told once, also if the engine was down at that
 * time; once more only if the time was moved into the future since (board_update).
 */
int board_life_step(struct db *db, struct board_life *ret_life, struct kettle_error *err);
/*
 * Tells the creator by leaderboard.fault that a job ended by a fault of the task, which participants cannot mend; once,
 * until a job passes or the task changes. `accuser`: the user whose run reported the fault. A submission can forge
 * that, so the creator is told when a second user's run, or the creator's own, reports it too; 0: the fault is seen
 * from outside of the run. data: of the event, borrowed.
 */
int board_life_fault(
	struct db *db, int64_t leaderboard, int64_t submission, int64_t accuser, json_t *data, struct kettle_error *err);
/* A job has passed: the next fault is told again. */
int board_life_works(struct db *db, int64_t leaderboard, struct kettle_error *err);

#endif
