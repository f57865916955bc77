/* SPDX-License-Identifier: MIT */
/* Makes and changes leaderboards, and plans changes. Store's threads. */
#pragma once

#include "model/board.h"

/* A change of a board; what is NULL, or not set, stays as it is. All of it is borrowed. */
struct board_change {
	const json_t *bundle;  /* its task, as task_check_bundle returns it */
	const json_t *devices; /* as board_pick_devices returns them, at least one */
	const char *name;      /* checked */
	const char *description;
	const char *visibility, *code, *jit_cache, *after_deadline; /* as the schema has them */
	bool set_deadline, set_opens;
	int64_t deadline_at, opens_at; /* ms since 1970; 0: none */
	bool force;                    /* also if it leaves the existing scores behind */
};

/* Makes a board of all that `first` has. Event leaderboard.created. *ret_object: board_object. New reference. */
int board_create(struct db *db, const struct actor *actor, const char *name, const struct board_change *first,
	json_t **ret_object, struct kettle_error *err);
/*
 * What a change does:
 *   {"changes": what becomes another, of "task", "deadline", "devices", "visibility", "code_visibility", "jit_cache",
 *    "after_deadline", "opens", "description", "name", in this order, "differs": the files and keys of the task on which a run
 *    depends that become others, "scores": "kept" or
 *    "left" (they count no more: the rankings begin anew), "ranked": how many places the rankings have, "open": how many
 *    jobs are queued or running; they end on the version of the task on which they were submitted}
 * A board whose description was its task's gets the new task's. Only what a run depends on (task.h) leaves scores
 * behind; another text, template or deadline does not.
 */
int board_update_plan(struct db *db, const struct board *board, const struct board_change *change, json_t **ret_plan,
	struct kettle_error *err);
/*
 * Makes the change in the current transaction, with the event leaderboard.updated if anything changed. ECONFLICT: it
 * would leave scores behind, and force is not set; the sentence names the differences. EINVAL: the board would open
 * after its deadline. *ret_plan is board_update_plan's answer, with "counts_from": the number from which submissions
 * count. Does not check the actor's right.
 */
int board_update(struct db *db, const struct actor *actor, const struct board *board, const struct board_change *change,
	json_t **ret_plan, struct kettle_error *err);
/* The errors of board_update, without making the change. */
int board_update_check(
	struct db *db, const struct board *board, const struct board_change *change, struct kettle_error *err);

/* The set of a competition to which a board belongs, or NULL. New reference. */
int board_set_get(struct db *db, const struct board *board, json_t **ret_set, struct kettle_error *err);
/* Puts the board into this set. source: the rest of its entry in the competition file. */
int board_set_put(struct db *db, const char *name, const char *set, const json_t *source, struct kettle_error *err);
/* The boards of a set, by name: [{"name", "listed": whether it is not deleted and names the set in this case}]. New reference. */
int board_set_list(struct db *db, const char *set, json_t **ret_boards, struct kettle_error *err);
/*
 * Sets what a set says of itself; *ret_changes: whether it differs. EACCES, with a reason: the actor is no admin, and owns no board of
 * the set, or another user who does has described it; or the set has no board. joins: the actor owns one of it, which a dry run has
 * perhaps not stored. dry: writes nothing.
 */
int board_set_describe(struct db *db, const struct actor *actor, const char *set, const char *description, bool joins,
	bool dry, bool *ret_changes, struct kettle_error *err);
/* The set's own description, perhaps "". New reference. Does not check whether the actor may see it. */
int board_set_description(struct db *db, const char *set, json_t **ret_description, struct kettle_error *err);
