/* SPDX-License-Identifier: MIT */
/* Limits on the number of a user's submissions in an hour. Store's thread. */
#pragma once

#include "model/access.h"
#include "model/board.h"
#include "store/db.h"

#define RATE_WINDOW_MS 3600000

/*
 * ERATE, with retry_s, when one of the board's limits for the mode is used up; of several the one that lasts longest (a
 * limit of 0 has no end, and no retry_s). Counted per user over a rolling hour. Jobs that failed because of the engine
 * do not count; deleted submissions and jobs that their own run ended do. Mode ranked is the category `leaderboard`,
 * every other the category `test`; a limit may be on one device or on all together.
 */
int rate_limit_check(struct db *db, const struct board *board, int64_t user, const char *mode, const json_t *devices,
	struct kettle_error *err);
/* The limits of a board, category and device (NULL: any): [{"category", "device": or null, "per_hour"}]. New reference. */
int rate_limit_list(struct db *db, const struct board *board, const char *category, const char *device,
	json_t **ret_limits, struct kettle_error *err);
/*
 * The limits of a board, as rate_limit_list has them, each with "left": how many submissions this user may still make now, and
 * "next": when there is room again, or null where there is some now, or never. New reference.
 */
int rate_limit_left(
	struct db *db, const struct board *board, int64_t user, json_t **ret_limits, struct kettle_error *err);
/* category NULL: both; device NULL: of all together. */
int rate_limit_set(struct db *db, const struct board *board, const char *category, const char *device, int64_t per_hour,
	struct kettle_error *err);
/* Removes the limits that rate_limit_list would list. ENOENT: none. */
int rate_limit_remove(
	struct db *db, const struct board *board, const char *category, const char *device, struct kettle_error *err);
/* Call before a submission is deleted: its uses of limits stay counted. */
int rate_limit_record_deleted(struct db *db, int64_t submission, struct kettle_error *err);
/* Counts one more use, now, for an attempt of the job that ended by the word of its run and is repeated. */
int rate_limit_record_attempt(struct db *db, int64_t submission, int64_t job, struct kettle_error *err);
/*
 * Before a user without an admin's right deletes an account. ERATE, with retry_s: the account was used within the last hour on
 * boards with limits. The same person would return as a new user without these uses, and evade the limits.
 */
int rate_limit_may_leave(struct db *db, int64_t user, struct kettle_error *err);

/* ---- the device seconds that jobs have used, of devices that have a budget for a day (UTC) ---- */

#define DEVICE_DAY_MS INT64_C(86400000)

/* Counts ms for this user on the day of db->now_ms; earlier days of the device are forgotten. Store's thread. */
int device_usage_add(struct db *db, const char *device, int64_t user, int64_t ms, struct kettle_error *err);
/* The day of db->now_ms: [{"device", "day", "user" (0: all together), "ms"}]. New reference. Store's thread. */
int device_usage_today(struct db *db, json_t **ret_rows, struct kettle_error *err);
/*
 * Whether a budget ({"seconds_per_day", "user_seconds_per_day"}, each may be absent; NULL: none) has time left after
 * what all users (all_ms) and this user (user_ms) have used on the day of now_ms. ERATE, with a sentence and retry_s.
 * [any]
 */
int device_usage_check(const char *device, const json_t *budget, int64_t all_ms, int64_t user_ms, int64_t now_ms,
	struct kettle_error *err);
/* The same for a submission to these devices; looks only at budgets that refuse submissions beyond them. Store's thread. */
int device_usage_may_submit(
	const struct command_env *env, struct db *db, int64_t user, const json_t *devices, struct kettle_error *err);
/*
 * Of these devices those with a budget for each user: [{"device", "per_day", "left": device seconds of this user today, "next": the
 * begin of the next day}]. New reference.
 */
int device_usage_left(const struct command_env *env, struct db *db, int64_t user, const json_t *devices,
	json_t **ret_budgets, struct kettle_error *err);
/* Whether the user has used no budgeted time today, so that a new account would gain none. ERATE, retry_s. Store's thread. */
int device_usage_may_leave(struct db *db, int64_t user, struct kettle_error *err);
