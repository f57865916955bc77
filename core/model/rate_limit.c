/* SPDX-License-Identifier: MIT */
/* Limits on the number of a user's submissions in an hour. */
#include <config.h>

#include "model/rate_limit.h"

#include "base/base.h"
#include "base/times.h"
#include "model/board.h"

#define RATE_SHORT_S 120 /* longer waits are said in minutes */
#define WAIT_SIZE 32

static bool
concerns(const char *limited, const json_t *devices)
{
	if (!*limited)
		return true;
	for (size_t i = 0; i < json_array_size(devices); i++)
		if (strcasecmp(limited, json_string_value(json_array_get(devices, i))) == 0)
			return true;
	return false;
}

/*
 * The uses of a limit in the window, with ?1 board, ?2 user, ?3 begin of the window, ?4 category, ?5 device or '', ?7 now. A
 * submission to several devices is one use of a limit on all of them. Uses that a wrong clock dated in the future do not
 * count.
 */
#define USES \
	"(SELECT s.created_at AS at, s.id AS submission FROM submissions s WHERE s.leaderboard = ?1 AND s.user = ?2 AND " \
	"s.created_at > ?3 AND s.created_at <= ?7 AND (s.mode = 'ranked') = (?4 = 'leaderboard') AND EXISTS (SELECT 1 " \
	"FROM jobs j WHERE j.submission = s.id AND (j.state <> 'error' OR j.spent) AND NOT j.superseded AND (?5 = '' OR " \
	"j.device = ?5)) UNION SELECT at, submission FROM rate_spent WHERE leaderboard = ?1 AND user = ?2 AND at > ?3 " \
	"AND at <= ?7 AND category = ?4 AND (?5 = '' OR device = ?5))"

/* The time of the per_hour-th newest use: while it is in the window, the limit is used up. ENOENT: there is still room. */
static int
nth_use(struct db *db, int64_t board, int64_t user, const char *category, const char *device, int64_t per_hour,
	int64_t *ret_at, struct kettle_error *err)
{
	return db_int(db, ret_at, err, "SELECT at FROM " USES " ORDER BY at DESC LIMIT 1 OFFSET ?6", "iiissii", board, user,
		db->now_ms - RATE_WINDOW_MS, category, device, per_hour - 1, db->now_ms);
}

static int64_t
seconds_left(const struct db *db, int64_t at)
{
	return (at + RATE_WINDOW_MS - db->now_ms + 999) / 1000;
}

static void
write_wait(int64_t wait_s, char ret_text[WAIT_SIZE])
{
	bool soon = wait_s < RATE_SHORT_S;
	(void)snprintf(ret_text, WAIT_SIZE, "%lld %s", (long long)(soon ? wait_s : (wait_s + 59) / 60), soon ? "s" : "min");
}

static int
check_one(struct db *db, const struct board *board, int64_t user, const char *category, const json_t *limit,
	struct kettle_error *err)
{
	const char *device = json_text_or_null(limit, "device");
	int64_t per_hour = member_int(limit, "per_hour"), at = 0;
	const char *what = strcmp(category, "test") == 0 ? "test" : "ranked";
	if (per_hour == 0)
		return kettle_fail(err, KETTLE_ERATE, "The leaderboard `%s` accepts no %s submissions%s%s at the moment.",
			board->name, what, *device ? " on " : "", device);
	int rc = nth_use(db, board->id, user, category, device, per_hour, &at, err);
	if (rc < 0)
		return rc == KETTLE_ENOENT ? 0 : rc;
	int64_t wait_s = seconds_left(db, at);
	char wait[WAIT_SIZE];
	write_wait(wait_s, wait);
	(void)kettle_fail(err, KETTLE_ERATE,
		"The leaderboard `%s` accepts %lld %s submission%s per hour from each user%s%s; the next is possible in %s.",
		board->name, (long long)per_hour, what, per_hour == 1 ? "" : "s", *device ? " on " : "", device, wait);
	if (err)
		err->retry_s = (unsigned)wait_s;
	return KETTLE_ERATE;
}

/* Of two refusals the one that lasts longer; one without a time lasts until the limit is changed. */
static bool
lasts_longer(const struct kettle_error *one, const struct kettle_error *other)
{
	return other->code == 0 || (other->retry_s != 0 && (one->retry_s == 0 || one->retry_s > other->retry_s));
}

int
rate_limit_check(struct db *db, const struct board *board, int64_t user, const char *mode, const json_t *devices,
	struct kettle_error *err)
{
	AUTO_JSON json_t *limits = NULL;
	const char *category = strcmp(mode, "ranked") == 0 ? "leaderboard" : "test";
	struct kettle_error refusal = {0};
	int rc = db_array(db, &limits, err,
		"SELECT device, per_hour FROM rate_limits WHERE leaderboard = ? AND category = ? ORDER BY device", "is",
		board->id, category);
	for (size_t i = 0; i < json_array_size(limits) && rc == 0; i++) {
		const json_t *limit = json_array_get(limits, i);
		struct kettle_error one = {0};
		if (!concerns(json_text_or_null(limit, "device"), devices))
			continue;
		int found = check_one(db, board, user, category, limit, &one);
		if (found < 0 && found != KETTLE_ERATE)
			return kettle_fail(err, found, "%s", one.message);
		if (found < 0 && lasts_longer(&one, &refusal))
			refusal = one;
	}
	if (rc < 0 || refusal.code == 0)
		return rc;
	if (err)
		*err = refusal;
	return refusal.code;
}

/* Rows of rate_spent for the jobs of a submission, or for one of them; those that no limit looks at any more go. */
static int
record(struct db *db, int64_t submission, const char *insert, int64_t of, int64_t ms, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"DELETE FROM rate_spent WHERE at <= ?1 AND (leaderboard, user) = (SELECT leaderboard, user FROM submissions "
		"WHERE id = ?2)",
		"ii", db->now_ms - RATE_WINDOW_MS, submission);
	return rc < 0 ? rc : db_exec(db, err, insert, "ii", of, ms);
}

#define INSERT_SPENT(at) \
	"INSERT OR IGNORE INTO rate_spent (leaderboard, user, submission, category, device, at) SELECT s.leaderboard, " \
	"s.user, s.id, CASE s.mode WHEN 'ranked' THEN 'leaderboard' ELSE 'test' END, j.device, " at \
	" FROM submissions s JOIN jobs j ON j.submission = s.id WHERE NOT j.superseded AND "

int
rate_limit_record_deleted(struct db *db, int64_t submission, struct kettle_error *err)
{
	return record(db, submission,
		INSERT_SPENT("s.created_at") "s.id = ?1 AND s.created_at > ?2 AND (j.state <> 'error' OR j.spent)", submission,
		db->now_ms - RATE_WINDOW_MS, err);
}

int
rate_limit_record_attempt(struct db *db, int64_t submission, int64_t job, struct kettle_error *err)
{
	return record(db, submission, INSERT_SPENT("?2") "j.id = ?1", job, db->now_ms, err);
}

int
rate_limit_may_leave(struct db *db, int64_t user, struct kettle_error *err)
{
	int64_t at = 0;
	int rc = db_int(db, &at, err,
		"SELECT coalesce(max(at), 0) FROM (SELECT created_at AS at, leaderboard FROM submissions WHERE user = ?1 UNION "
		"ALL SELECT at, leaderboard FROM rate_spent WHERE user = ?1) WHERE at > ?2 AND at <= ?3 AND leaderboard IN "
		"(SELECT leaderboard FROM rate_limits)",
		"iii", user, db->now_ms - RATE_WINDOW_MS, db->now_ms);
	if (rc < 0 || at == 0)
		return rc;
	int64_t wait_s = seconds_left(db, at);
	char wait[WAIT_SIZE];
	write_wait(wait_s, wait);
	(void)kettle_fail(err, KETTLE_ERATE,
		"Your submissions of the last hour count for rate limits; only an admin may delete you within the next %s.",
		wait);
	if (err)
		err->retry_s = (unsigned)wait_s;
	return KETTLE_ERATE;
}

static int
add_left(struct db *db, const struct board *board, int64_t user, json_t *limit, struct kettle_error *err)
{
	const char *category = json_text_or_null(limit, "category"), *device = json_text_or_empty(limit, "device");
	int64_t per_hour = member_int(limit, "per_hour"), used = 0, at = 0;
	int rc = db_int(db, &used, err, "SELECT count(*) FROM (SELECT 1 FROM " USES " LIMIT ?6)", "iiissii", board->id,
		user, db->now_ms - RATE_WINDOW_MS, category, device, per_hour, db->now_ms);
	if (rc == 0 && per_hour > 0 && used == per_hour)
		rc = nth_use(db, board->id, user, category, device, per_hour, &at, err);
	(void)json_object_set_new(limit, "left", json_integer((json_int_t)(per_hour - used)));
	(void)json_object_set_new(limit, "next", at ? json_string(TIME_TEXT(at + RATE_WINDOW_MS)) : json_null());
	return rc;
}

int
rate_limit_left(struct db *db, const struct board *board, int64_t user, json_t **ret_limits, struct kettle_error *err)
{
	AUTO_JSON json_t *limits = NULL;
	int rc = rate_limit_list(db, board, NULL, NULL, &limits, err);
	json_array_each(limits, limit)
		if (rc == 0)
			rc = add_left(db, board, user, limit, err);
	if (rc == 0)
		*ret_limits = STEAL(limits);
	return rc;
}

/* ---- the limits ---- */

#define LIMITS \
	" FROM rate_limits WHERE leaderboard = ?1 AND (?2 IS NULL OR category = ?2) AND (?3 IS NULL OR device = ?3)"

int
rate_limit_list(struct db *db, const struct board *board, const char *category, const char *device, json_t **ret_limits,
	struct kettle_error *err)
{
	return db_array(db, ret_limits, err,
		"SELECT category, nullif(device, '') AS device, per_hour" LIMITS " ORDER BY category DESC, device", "iss",
		board->id, category, device);
}

int
rate_limit_set(struct db *db, const struct board *board, const char *category, const char *device, int64_t per_hour,
	struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO rate_limits (leaderboard, category, device, per_hour) SELECT ?1, column1, coalesce(?3, ''), ?4 "
		"FROM (VALUES ('test'), ('leaderboard')) WHERE ?2 IS NULL OR column1 = ?2 ON CONFLICT (leaderboard, category, "
		"device) DO UPDATE SET per_hour = excluded.per_hour",
		"issi", board->id, category, device, per_hour);
}

int
rate_limit_remove(
	struct db *db, const struct board *board, const char *category, const char *device, struct kettle_error *err)
{
	int rc = db_exec(db, err, "DELETE" LIMITS, "iss", board->id, category, device);
	if (rc == 0 && db_changes(db) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The leaderboard `%s` has no such limit to remove.", board->name);
	return rc;
}

/* ---- the device seconds that jobs have used, of devices that have a budget for a day (UTC) ---- */

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

int
device_usage_may_submit(
	const struct command_env *env, struct db *db, int64_t user, const json_t *devices, struct kettle_error *err)
{
	int rc = 0;
	json_array_each(devices, name) {
		const char *device = json_string_value(name);
		const json_t *budget = json_object_get(board_configured_device(env, device), "budget");
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
device_usage_left(const struct command_env *env, struct db *db, int64_t user, const json_t *devices,
	json_t **ret_budgets, struct kettle_error *err)
{
	AUTO_JSON json_t *budgets = json_array();
	int64_t next = (db->now_ms / DEVICE_DAY_MS + 1) * DEVICE_DAY_MS;
	int rc = 0;
	json_array_each(devices, name) {
		const char *device = json_string_value(name);
		int64_t per_day =
					member_int(json_object_get(board_configured_device(env, device), "budget"), "user_seconds_per_day"),
				used_ms = 0;
		if (rc == 0 && per_day > 0)
			rc = used_today(db, device, user, &used_ms, err);
		if (rc < 0 || per_day <= 0)
			continue;
		int64_t left = used_ms < per_day * 1000 ? (per_day * 1000 - used_ms) / 1000 : 0;
		(void)json_array_append_new(
			budgets, json_pack("{s:O, s:I, s:I, s:s}", "device", name, "per_day", (json_int_t)per_day, "left",
						 (json_int_t)left, "next", TIME_TEXT(next)));
	}
	if (rc == 0)
		*ret_budgets = STEAL(budgets);
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
