/* SPDX-License-Identifier: MIT */
/* Judging submissions: marked as a cheat, cleared, run again. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/ranking.h"

#include <strings.h>

static int64_t
id_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* The submission, where the actor may judge what is on its board. */
static int
flag_find(struct db *db, const struct actor *actor, const json_t *args, json_t **ret_row, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	struct board board;
	int rc = db_object(db, &row, err,
		"SELECT s.id, s.leaderboard, b.name AS leaderboard_name, s.user, s.mode, s.file_name, CASE WHEN s.flagged_at "
		"IS NOT NULL THEN coalesce(s.flag_reason, '') END AS flagged FROM submissions s JOIN leaderboards b ON b.id = "
		"s.leaderboard WHERE s.id = ?",
		"i", id_of(args, "id"));
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no submission %lld.", (long long)id_of(args, "id"));
	if (rc == 0)
		rc = board_find(db, actor, json_string_value(json_object_get(row, "leaderboard_name")), &board, err);
	if (rc == 0)
		rc = board_check_owner(actor, &board, err);
	if (rc == 0)
		*ret_row = STEAL(row);
	return rc;
}

static int
flag_tell(struct db *db, const char *kind, const json_t *row, json_t *data_take, struct kettle_error *err)
{
	AUTO_JSON json_t *data = data_take;
	(void)json_object_set(data, "mode", json_object_get(row, "mode"));
	(void)json_object_set(data, "file_name", json_object_get(row, "file_name"));
	return db_event(db, kind, 'u', id_of(row, "leaderboard"), id_of(row, "id"), id_of(row, "user"), data, err);
}

/* The mark as it shall be (reason NULL: none), and the ranking as it is with it. */
static int
mark(struct db *db, const struct actor *actor, const json_t *row, const char *reason, struct kettle_error *err)
{
	int rc =
		reason ? db_exec(db, err, "UPDATE submissions SET flagged_at = ?, flag_reason = ?, flagged_by = ? WHERE id = ?",
					 "isii", db->now_ms, reason, actor->user, id_of(row, "id"))
			   : db_exec(db, err,
					 "UPDATE submissions SET flagged_at = NULL, flag_reason = NULL, flagged_by = NULL WHERE id "
					 "= ?",
					 "i", id_of(row, "id"));
	return rc < 0 ? rc : ranking_recompute(db, id_of(row, "leaderboard"), NULL, id_of(row, "user"), err);
}

int
cmd_submission_flag(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err)
{
	(void)env;
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *reason = sanitize_line(json_string_value(json_object_get(args, "reason")), FLAG_REASON_MAX);
	int rc = flag_find(db, actor, args, &row, err);
	if (rc == 0 && !*reason)
		rc = kettle_fail(err, KETTLE_EINVAL, "A mark as a cheat needs a reason, which its owner will read.");
	if (rc == 0 && json_is_string(json_object_get(row, "flagged")))
		rc = kettle_fail(err, KETTLE_ECONFLICT, "Submission %lld is marked as a cheat already: take that back first.",
			(long long)id_of(row, "id"));
	if (rc == 0)
		rc = mark(db, actor, row, reason, err);
	if (rc == 0)
		rc = flag_tell(db, "submission.flagged", row, json_pack("{s:s}", "reason", reason), err);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:O, s:s, s:s}", "id", json_object_get(row, "id"), "status", "hacked", "reason", reason);
	return 0;
}

int
cmd_submission_unflag(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err)
{
	(void)env;
	AUTO_JSON json_t *row = NULL;
	int rc = flag_find(db, actor, args, &row, err);
	if (rc == 0 && !json_is_string(json_object_get(row, "flagged")))
		rc = kettle_fail(
			err, KETTLE_ECONFLICT, "Submission %lld is not marked as a cheat.", (long long)id_of(row, "id"));
	if (rc == 0)
		rc = mark(db, actor, row, NULL, err);
	if (rc == 0)
		rc = flag_tell(db, "submission.unflagged", row, json_object(), err);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:O, s:s}", "id", json_object_get(row, "id"), "status", "ok");
	return 0;
}

/* ---- run again ---- */

static int
check_configured(const struct command_env *env, const char *device, struct kettle_error *err)
{
	const char *name;
	json_t *units;
	json_object_foreach((json_t *)env->devices, name, units) {
		if (strcasecmp(name, device) == 0)
			return 0;
	}
	return kettle_fail(err, KETTLE_EUNAVAIL, "The device `%s` is not configured at the moment.", device);
}

/* Those that were named, of those it was submitted to; all of these where none was. */
static int
choose_devices(struct db *db, const struct command_env *env, int64_t submission, const json_t *wanted,
	json_t **ret_devices, struct kettle_error *err)
{
	char where[64];
	AUTO_JSON json_t *row = NULL, *chosen = json_array();
	(void)snprintf(where, sizeof(where), "Submission %lld has", (long long)submission);
	int rc = db_object(db, &row, err,
		"SELECT json_group_array(device) AS devices_json FROM (SELECT device FROM jobs WHERE submission = ? AND NOT "
		"superseded ORDER BY id)",
		"i", submission);
	const json_t *all = json_object_get(row, "devices"), *list = json_array_size(wanted) > 0 ? wanted : all;
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		const char *name = NULL;
		rc = board_pick_device(all, json_string_value(json_array_get(list, i)), where, &name, err);
		if (rc == 0)
			rc = check_configured(env, name, err);
		if (rc == 0 && !list_has_text(chosen, name))
			(void)json_array_append_new(chosen, json_string(name));
	}
	if (rc == 0)
		*ret_devices = STEAL(chosen);
	return rc;
}

int
cmd_submission_rerun(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *devices = NULL, *jobs = NULL;
	int rc = flag_find(db, actor, args, &row, err);
	if (rc == 0)
		rc = choose_devices(db, env, id_of(row, "id"), json_object_get(args, "device"), &devices, err);
	if (rc == 0)
		rc = jobs_rerun(db, id_of(row, "id"), devices, &jobs, err);
	if (rc < 0)
		return rc;
	const json_t *event = json_array_get(db->events, json_array_size(db->events) - 1);
	*ret_result = json_pack("{s:O, s:O, s:O, s:O, s:O, s:O}", "id", json_object_get(row, "id"), "leaderboard",
		json_object_get(row, "leaderboard_name"), "mode", json_object_get(row, "mode"), "devices", devices, "jobs",
		jobs, "seq", json_object_get(event, "seq"));
	return 0;
}
