/* SPDX-License-Identifier: MIT */
/* The device seconds that jobs have used, of devices that have a budget for a day (UTC). */
#ifndef KETTLE_MODEL_DEVICE_USAGE_H
#define KETTLE_MODEL_DEVICE_USAGE_H

#include "model/access.h"
#include "store/db.h"

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
/* Whether the user has used no budgeted time today, so that a new account would gain none. ERATE, retry_s. Store's thread. */
int device_usage_may_leave(struct db *db, int64_t user, struct kettle_error *err);

#endif
