/* SPDX-License-Identifier: MIT */
/* Commands for administrators, on the database: start and stop accepting, statistics. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/log.h"
#include "model/audit.h"
#include "model/board.h"
#include "model/settings.h"
#include "model/submissions.h"
#include "model/user.h"
#include "model/verify.h"

#define STATS_DAY_MS 86400000

/* ---- start and stop ---- */

static int
is_accepting(struct db *db, bool *ret_accepting, struct kettle_error *err)
{
	AUTO_JSON json_t *value = NULL;
	int rc = setting_get(db, "accepting", &value, err);
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
		rc = setting_put(db, "accepting", value, err);
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

int
cmd_admin_stats(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board = {0};
	bool accepting = false;
	AUTO_JSON json_t *stats = NULL, *failing = NULL;
	const char *name = json_text_or_null(call->args, "leaderboard");
	int64_t after = member_true(call->args, "last_day") ? call->db->now_ms - STATS_DAY_MS : -1;
	int rc = name ? board_find(call->db, call->actor, name, &board, err) : 0;
	if (rc == 0)
		rc = is_accepting(call->db, &accepting, err);
	if (rc == 0)
		rc = submission_stats(call->db, after, board.id, &stats, err);
	if (rc == 0)
		rc = board_life_faults(call->db, board.id, &failing, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:b, s:O, s:O}", "status", "ok", "accepts_jobs", accepting, "stats", stats,
			"failing_tasks", failing);
	return rc;
}

/* ---- who did what ---- */

int
cmd_admin_log(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user = {0};
	const json_t *of = json_object_get(call->args, "of");
	int rc = of ? user_find_argument(call->db, of, &user, err) : 0;
	const struct audit_filter filter = {.actor = user.id,
		.board = json_text_or_null(call->args, "leaderboard"),
		.before = member_int(call->args, "before"),
		.limit = member_int(call->args, "limit")};
	return rc < 0 ? rc : audit_page(call->db, &filter, ret_result, err);
}

/* ---- verification ---- */

int
cmd_admin_verify(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *checks = NULL;
	int rc = verify_database(call->db, call->env->spool, &checks, err);
	bool ok = rc == 0;
	json_array_each(checks, check)
		ok = ok && json_array_size(json_object_get(check, "violations")) == 0;
	if (rc == 0)
		*ret_result = json_pack("{s:b, s:O}", "ok", ok, "checks", checks);
	return rc;
}
