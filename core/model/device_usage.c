/* SPDX-License-Identifier: MIT */
/* The device seconds that jobs have used, of devices that have a budget for a day (UTC). */
#include <config.h>

#include "model/device_usage.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/times.h"

#include <string.h>
#include <strings.h>

static int
add_usage(struct db *db, const char *device, int64_t user, int64_t ms, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO device_usage (device, day, user, ms) VALUES (?, ?, ?, ?) ON CONFLICT (device, day, user) DO "
		"UPDATE SET ms = ms + excluded.ms",
		"siii", device, db->now_ms / DEVICE_DAY_MS, user, ms);
}

int
device_usage_add(struct db *db, const char *device, int64_t user, int64_t ms, struct kettle_error *err)
{
	int rc = db_exec(
		db, err, "DELETE FROM device_usage WHERE device = ? AND day < ?", "si", device, db->now_ms / DEVICE_DAY_MS);
	if (rc == 0)
		rc = add_usage(db, device, 0, ms, err);
	return rc < 0 ? rc : add_usage(db, device, user, ms, err);
}

int
device_usage_today(struct db *db, json_t **ret_rows, struct kettle_error *err)
{
	return db_array(db, ret_rows, err, "SELECT device, day, user, ms FROM device_usage WHERE day = ?", "i",
		db->now_ms / DEVICE_DAY_MS);
}

/* seconds: a member of a budget; NULL: there is no limit. */
static bool
is_used_up(const json_t *seconds, int64_t used_ms)
{
	return seconds && used_ms >= json_integer_value(seconds) * 1000;
}

int
device_usage_check(
	const char *device, const json_t *budget, int64_t all_ms, int64_t user_ms, int64_t now_ms, struct kettle_error *err)
{
	const json_t *all = json_object_get(budget, "seconds_per_day"),
				 *each = json_object_get(budget, "user_seconds_per_day");
	int64_t until = (now_ms / DEVICE_DAY_MS + 1) * DEVICE_DAY_MS;
	char text[TIME_TEXT_SIZE];
	time_text(until, text);
	if (is_used_up(all, all_ms))
		(void)kettle_fail(err, KETTLE_ERATE,
			"The %lld device seconds a day of `%s` are used up; the next day begins on %.10s at %.5s UTC.",
			(long long)json_integer_value(all), device, text, text + 11);
	else if (is_used_up(each, user_ms))
		(void)kettle_fail(err, KETTLE_ERATE,
			"The %lld device seconds a day that each user has on `%s` are used up; the next day begins on %.10s at "
			"%.5s UTC.",
			(long long)json_integer_value(each), device, text, text + 11);
	else
		return 0;
	if (err)
		err->retry_s = (unsigned)((until - now_ms + 999) / 1000);
	return KETTLE_ERATE;
}

static int
used_today(struct db *db, const char *device, int64_t user, int64_t *ret_ms, struct kettle_error *err)
{
	int rc = db_int(db, ret_ms, err, "SELECT ms FROM device_usage WHERE device = ? AND day = ? AND user = ?", "sii",
		device, db->now_ms / DEVICE_DAY_MS, user);
	return rc == KETTLE_ENOENT ? 0 : rc;
}

/* The configured device of that name; NULL: there is none. Borrowed. */
static const json_t *
find_usage_device(const struct command_env *env, const char *device)
{
	json_object_each(env->devices, name, configured)
		if (strcasecmp(name, device) == 0)
			return configured;
	return NULL;
}

int
device_usage_may_submit(
	const struct command_env *env, struct db *db, int64_t user, const json_t *devices, struct kettle_error *err)
{
	int rc = 0;
	json_array_each(devices, name) {
		const char *device = json_string_value(name);
		const json_t *budget = json_object_get(find_usage_device(env, device), "budget");
		int64_t all_ms = 0, user_ms = 0;
		if (rc < 0 || !member_is(budget, "beyond", "refuse"))
			continue;
		rc = used_today(db, device, 0, &all_ms, err);
		if (rc == 0)
			rc = used_today(db, device, user, &user_ms, err);
		if (rc == 0)
			rc = device_usage_check(device, budget, all_ms, user_ms, db->now_ms, err);
	}
	return rc;
}

int
device_usage_may_leave(struct db *db, int64_t user, struct kettle_error *err)
{
	int64_t used = 0, day = db->now_ms / DEVICE_DAY_MS;
	int rc = db_int(
		db, &used, err, "SELECT coalesce(sum(ms), 0) FROM device_usage WHERE user = ? AND day = ?", "ii", user, day);
	if (rc < 0 || used == 0)
		return rc;
	char text[TIME_TEXT_SIZE];
	time_text((day + 1) * DEVICE_DAY_MS, text);
	(void)kettle_fail(err, KETTLE_ERATE,
		"The device seconds that you have used today count for a budget; only an admin may delete you before %.10s "
		"%.5s UTC.",
		text, text + 11);
	if (err)
		err->retry_s = (unsigned)(((day + 1) * DEVICE_DAY_MS - db->now_ms + 999) / 1000);
	return KETTLE_ERATE;
}
