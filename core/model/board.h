/* SPDX-License-Identifier: MIT */
/* A leaderboard as the commands see it: found by name, with who may see it. Store's threads. */
#pragma once

#include "model/access.h"
#include "store/db.h"

#include <stdbool.h>

#define BOARD_NAME_MAX 64           /* bytes */
#define BOARD_DESCRIPTION_MAX 10000 /* characters */
#define BOARD_LANGUAGE_SIZE 64      /* bytes */

/* The readers of others' code: none, users with access after the deadline, users with access. */
enum board_code { BOARD_CODE_OWNER, BOARD_CODE_ENDED, BOARD_CODE_ALWAYS };

struct board {
	int64_t id, task, creator;
	int64_t deadline_at; /* ms since 1970; 0: none */
	int64_t version;     /* grows with every change of what it shows */
	int64_t own;         /* the same, without its rankings */
	char name[BOARD_NAME_MAX + 1];
	bool closed;   /* visible to users with access only */
	bool unopened; /* its opening time is still to come: visible to its creator and admins only */
	bool practice; /* submissions after its deadline are run, outside of its rankings; else they are refused */
	enum board_code code;
};

/* In SQL on a row of leaderboards b: whether the actor may see it. ?2: board_sees_all, ?3: board_user of the actor. */
#define BOARD_MAY_SEE \
	"(?2 OR b.creator = ?3 OR NOT " DB_UNOPENED " AND (b.visibility = 'public' OR EXISTS (SELECT 1 FROM access a " \
	"WHERE a.leaderboard = b.id AND a.user = ?3))) "
int64_t board_sees_all(const struct actor *actor);
/* -1 for an actor without a user: it matches no row. */
int64_t board_user(const struct actor *actor);

/* By name without case. ENOENT names the nearest that the actor may see. Does not check that the actor may see it. */
int board_find(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
/*
 * The same for a board that the actor may see, or (board_find_owned) change (board_check_owner). A board that the actor
 * may not see gives the same ENOENT, in the same words.
 */
int board_find_visible(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
/* Of the boards that the actor may see, the last one that had this name and has another one now. 1: found; 0: there is none. */
int board_find_former(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
/* The same as board_find_visible, or else as board_find_former. ENOENT, in the same words: there is neither. */
int board_find_renamed(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
/* The same for a board that the actor may see or has submitted to: for commands that show the actor's own submissions. */
int board_find_own(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
int board_find_owned(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err);
/* Whether there is a board of this name. */
int board_exists(struct db *db, const char *name, bool *ret_exists, struct kettle_error *err);
/* The language of its task; "": it names none. */
int board_language(
	struct db *db, const struct board *board, char ret_language[BOARD_LANGUAGE_SIZE], struct kettle_error *err);
/*
 * Whether the actor may see the board: its creator and admins always; others once it has opened, and if it is closed
 * only when they have joined it.
 */
int board_may_see(
	struct db *db, const struct actor *actor, const struct board *board, bool *ret_sees, struct kettle_error *err);
/* EACCES: the actor is neither its creator nor an admin. */
int board_check_owner(const struct actor *actor, const struct board *board, struct kettle_error *err);
/* Whether the actor is its creator or an admin. */
bool board_owns(const struct actor *actor, const struct board *board);
/* Whether its deadline has passed. */
bool board_ended(const struct board *board, int64_t now_ms);
/* Whether those with access may read the code of others there now; its creator and admins always may. */
bool board_code_open(const struct board *board, int64_t now_ms);
/* A deadline as people write it (times.h), or "none": 0. EINVAL. */
int board_deadline(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err);
/* The same of an opening time. */
int board_opening(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err);
/* EINVAL: both are set (not 0), and it would not open before its deadline. */
int board_check_times(int64_t opens_at, int64_t deadline_at, struct kettle_error *err);
/* Its devices in their order, as an array of names. New reference. */
int board_devices(struct db *db, int64_t leaderboard, json_t **ret_devices, struct kettle_error *err);
/* The same, or only the device that `word` names without case; NULL: all. EINVAL: the board has no such device. */
int board_choose_devices(
	struct db *db, const struct board *board, const char *word, json_t **ret_devices, struct kettle_error *err);
/*
 * The name in the list that equals the word, without case; EINVAL: none; `where` completes "… has no device `X`".
 * *ret_device is borrowed from the list.
 */
int board_pick_device(
	const json_t *devices, const char *word, const char *where, const char **ret_device, struct kettle_error *err);
/*
 * The names of the list as they are configured (env->devices), each once. EINVAL: a device is not configured; the
 * sentence names those that are. New reference.
 */
int board_pick_devices(
	const struct command_env *env, const json_t *wanted, json_t **ret_devices, struct kettle_error *err);
/* The section of the configuration of a device, by its name without case; NULL: it is not configured. Borrowed. */
const json_t *board_configured_device(const struct command_env *env, const char *device);
/* The limit of the scores of a task on a device, s; 0: none is known (judge/limit.h). */
double board_limit(const struct command_env *env, const json_t *task, const char *device);
/*
 * The units of a device, by its name without case, and the name as it is configured; both borrowed. EUNAVAIL: the
 * device is not configured.
 */
int board_configured_units(const struct command_env *env, const char *device, const char **ret_name,
	const json_t **ret_units, struct kettle_error *err);
/* The names of the configured devices. New reference. */
json_t *board_configured(const struct command_env *env);
/* "A, B and C" of an array of names. New string. */
char *board_join(const json_t *names);
/*
 * As GET /leaderboards shows it: {"id", "name", "description", "task", "deadline", "gpu_types", "visibility", "code",
 * "jit_cache", "after_deadline", "creator", "created", "opens", "ended", "harness": "task" or "kettle", "judging":
 * judging_shown}.
 */
int board_object(struct db *db, int64_t leaderboard, json_t **ret_object, struct kettle_error *err);
/* Where its outputs are checked and timed, as its task's bundle keeps it (judging.h), or null. New reference. */
int board_judging(struct db *db, const struct board *board, json_t **ret_kept, struct kettle_error *err);
/*
 * Completions for a shell: [{"value": name, "about"}] of the boards that the actor may see and whose name begins with
 * the prefix, without case; at most `limit`, those that still accept submissions first. New reference.
 */
int board_names(struct db *db, const struct actor *actor, const char *prefix, int64_t limit, json_t **ret_boards,
	struct kettle_error *err);
/* Open boards with this device, newest first, whose tasks have a hash: [{"leaderboard", "task": id, "hash"}]. New reference. */
int board_tasks(struct db *db, const char *device, int64_t limit, json_t **ret_boards, struct kettle_error *err);
/* The hashes of the tasks of all boards, as the keys of an object. New reference. */
int board_task_hashes(struct db *db, json_t **ret_hashes, struct kettle_error *err);
/* When the oldest of the tasks that boards or open jobs have was stored, ms; INT64_MAX: there is none. */
int board_oldest_task(struct db *db, int64_t *ret_ms, struct kettle_error *err);
/*
 * The boards that the actor may see, by name, each with "version", which grows with every change of what the board
 * shows, and "language", that of its task or null; all: ended ones too; tasks: with "task". New reference.
 */
int board_list(
	struct db *db, const struct actor *actor, bool all, bool tasks, json_t **ret_boards, struct kettle_error *err);

/*
 * The boards that the actor may see, by name, as leaderboard.overview begins them: [{"id", "name", "description": its beginning,
 * "deadline", "opens", "opened", "ended", "visibility", "people": who are ranked on any of its devices, "submitted": whether the actor has
 * submitted there}]. New reference.
 */
#define BOARD_ABOUT_MAX 400 /* characters */
int board_overview(struct db *db, const struct actor *actor, json_t **ret_boards, struct kettle_error *err);

/* ---- the opening and the end, each told once; faults of the task ---- */

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
/*
 * The leaderboards (or only this one; 0: all) whose task is at fault, the longest first: [{"leaderboard", "at": when it was told}].
 * New reference.
 */
int board_life_faults(struct db *db, int64_t leaderboard, json_t **ret_boards, struct kettle_error *err);
