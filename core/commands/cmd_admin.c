/* SPDX-License-Identifier: MIT */
/* Commands for administrators, on the database: start and stop accepting, statistics. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/log.h"
#include "model/board.h"
#include "model/settings.h"
#include "model/verify.h"

#define STATS_DAY_MS 86400000

/* ---- start and stop ---- */

static int
is_accepting(struct db *db, bool *ret_accepting, struct kettle_error *err)
{
	AUTO_JSON json_t *value = NULL;
	int rc = settings_setting_get(db, "accepting", &value, err);
	*ret_accepting = rc == 0 && !json_is_false(value);
	return rc;
}

static int
set_accepting(struct db *db, const struct actor *actor, bool accepting, json_t **ret_result, struct kettle_error *err)
{
	bool before = true;
	AUTO_JSON json_t *value = json_boolean(accepting), *data = json_pack("{s:b}", "accepting", accepting);
	int rc = is_accepting(db, &before, err);
	if (rc == 0 && before != accepting) {
		rc = settings_setting_put(db, "accepting", value, err);
		if (rc == 0)
			rc = db_event(db, "admin.accepting", 'a', 0, 0, actor->user, data, err);
		if (rc == 0)
			log_write(KETTLE_LOG_INFO, "core", "%s %s submissions", actor->name, accepting ? "resumed" : "paused");
	}
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:b}", "status", "ok", "accepts_jobs", accepting);
	return rc;
}

int
cmd_admin_resume(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	return set_accepting(call->db, call->actor, true, ret_result, err);
}

int
cmd_admin_pause(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	return set_accepting(call->db, call->actor, false, ret_result, err);
}

/* ---- figures ---- */

/* ?1: submissions after this time; ?2: on this board, 0: on all. */
#define CHOSEN \
	"s.created_at > ?1 AND (NOT ?2 OR s.leaderboard = ?2) AND s.leaderboard IN (SELECT id FROM leaderboards) "

static int
add_stats_device(void *arg, sqlite3_stmt *row)
{
	static const char *const names[] = {
		"num_run", "runs_passed", "runs_scored", "runs_secret", "max_delay", "avg_delay", "total_runtime"};
	const char *device = (const char *)sqlite3_column_text(row, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char key[300];
		int column = (int)i + 1;
		(void)snprintf(key, sizeof(key), "%s.%s", names[i], device ? device : "");
		json_t *value = sqlite3_column_type(row, column) == SQLITE_INTEGER
							? json_integer(sqlite3_column_int64(row, column))
							: json_real(sqlite3_column_double(row, column));
		(void)json_object_set_new(arg, key, value);
	}
	return 0;
}

static int
add_devices(struct db *db, json_t *stats, int64_t after, int64_t board, struct kettle_error *err)
{
	return db_query(db, err, add_stats_device, stats,
		"SELECT j.device, count(*), sum(r.passed), count(r.score), sum(r.secret), max(0.0, max(r.start_at - "
		"j.queued_at) / 1000.0), max(0.0, avg(r.start_at - j.queued_at) / 1000.0), sum(r.end_at - r.start_at) / 1000.0 "
		"FROM runs r JOIN jobs j ON j.id = r.job JOIN submissions s ON s.id = j.submission WHERE " CHOSEN
		"GROUP BY j.device ORDER BY j.device",
		"ii", after, board);
}

int
cmd_admin_stats(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board = {0};
	bool accepting = false;
	AUTO_JSON json_t *stats = NULL;
	const char *name = member_string(call->args, "leaderboard");
	int64_t after = member_true(call->args, "last_day") ? call->db->now_ms - STATS_DAY_MS : -1;
	int rc = name ? board_find(call->db, call->actor, name, &board, err) : 0;
	if (rc == 0)
		rc = is_accepting(call->db, &accepting, err);
	if (rc == 0)
		rc = db_object(call->db, &stats, err,
			"SELECT count(*) AS num_submissions, count(*) FILTER (WHERE done_at IS NULL) AS sub_waiting, "
			"count(DISTINCT user) AS num_users, count(DISTINCT code) AS num_unique_codes FROM submissions s "
			"WHERE " CHOSEN,
			"ii", after, board.id);
	if (rc == 0)
		rc = add_devices(call->db, stats, after, board.id, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:b, s:O}", "status", "ok", "accepts_jobs", accepting, "stats", stats);
	return rc;
}

/* ---- is it in order ---- */

int
cmd_admin_verify(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *checks = NULL;
	int rc = verify_database(call->db, call->env->spool, &checks, err);
	size_t i;
	json_t *check;
	bool ok = rc == 0;
	json_array_foreach(checks, i, check)
		ok = ok && json_array_size(json_object_get(check, "violations")) == 0;
	if (rc == 0)
		*ret_result = json_pack("{s:b, s:O}", "ok", ok, "checks", checks);
	return rc;
}
