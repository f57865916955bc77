/* SPDX-License-Identifier: MIT */
/* Commands that judge submissions: flag, unflag, rerun. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/utf8.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/submissions.h"

/* The submission, if the actor may judge those on its board. */
static int
flag_find(const struct command_call *call, json_t **ret_row, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	struct board board;
	int rc = submission_get(call->db, call->actor, member_int(call->args, "id"), &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no submission %lld.", (long long)member_int(call->args, "id"));
	if (rc == 0)
		rc = board_find_owned(call->db, call->actor, json_text_or_null(row, "leaderboard_name"), &board, err);
	/* A submission on a leaderboard that the actor may not see gets the same answer as none. */
	if (rc == KETTLE_ENOENT && member_int(row, "user") != call->actor->user)
		return kettle_fail(err, rc, "There is no submission %lld.", (long long)member_int(row, "id"));
	if (rc == KETTLE_EACCES || rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_EACCES,
			"Submission %lld is on a leaderboard that belongs to another user; only its creator and admins may do "
			"this.",
			(long long)member_int(row, "id"));
	if (rc == 0)
		*ret_row = STEAL(row);
	return rc;
}

static int
record_flag(struct db *db, const char *kind, const json_t *row, json_t *data_take, struct kettle_error *err)
{
	AUTO_JSON json_t *data = data_take;
	(void)json_object_set(data, "mode", json_object_get(row, "mode"));
	(void)json_object_set(data, "file_name", json_object_get(row, "file_name"));
	return db_event(
		db, kind, 'u', member_int(row, "leaderboard_id"), member_int(row, "id"), member_int(row, "user"), data, err);
}

int
cmd_submission_flag(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *reason = sanitize_line(json_text_or_null(call->args, "reason"), FLAG_REASON_MAX);
	int rc = flag_find(call, &row, err);
	if (rc == 0 && !*reason)
		rc = kettle_fail(
			err, KETTLE_EINVAL, "A mark as a cheat needs a reason, which the owner of the submission will read.");
	if (rc == 0 && json_is_string(json_object_get(row, "flagged")))
		rc = kettle_fail(err, KETTLE_ECONFLICT, "Submission %lld is already marked as a cheat: remove the mark first.",
			(long long)member_int(row, "id"));
	if (rc == 0)
		rc = submission_set_flag(call->db, row, reason, call->actor->user, err);
	if (rc == 0)
		rc = record_flag(call->db, "submission.flagged", row, json_pack("{s:s}", "reason", reason), err);
	if (rc == 0)
		*ret_result =
			json_pack("{s:O, s:s, s:s}", "id", json_object_get(row, "id"), "status", "hacked", "reason", reason);
	return rc;
}

int
cmd_submission_unflag(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = flag_find(call, &row, err);
	if (rc == 0 && !json_is_string(json_object_get(row, "flagged")))
		rc = kettle_fail(
			err, KETTLE_ECONFLICT, "Submission %lld is not marked as a cheat.", (long long)member_int(row, "id"));
	if (rc == 0)
		rc = submission_set_flag(call->db, row, NULL, call->actor->user, err);
	if (rc == 0)
		rc = record_flag(call->db, "submission.unflagged", row, json_object(), err);
	if (rc == 0)
		*ret_result = json_pack("{s:O, s:s}", "id", json_object_get(row, "id"), "status", "ok");
	return rc;
}

/* ---- run again ---- */

/* The named devices, among those the submission was made for; all of these if none was named. */
static int
choose_devices(struct db *db, const struct command_env *env, int64_t submission, const json_t *wanted,
	json_t **ret_devices, struct kettle_error *err)
{
	char where[64];
	AUTO_JSON json_t *jobs = NULL, *all = json_array(), *chosen = json_array();
	(void)snprintf(where, sizeof(where), "Submission %lld has", (long long)submission);
	int rc = submission_scores(db, submission, false, &jobs, err);
	json_array_each(jobs, job)
		(void)json_array_append(all, json_object_get(job, "device"));
	const json_t *list = json_array_size(wanted) > 0 ? wanted : all;
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
		const char *name = NULL, *configured;
		const json_t *units;
		rc = board_pick_device(all, json_string_value(json_array_get(list, i)), where, &name, err);
		if (rc == 0)
			rc = board_configured_units(env, name, &configured, &units, err);
		if (rc == 0 && !list_has_text(chosen, name))
			(void)json_array_append_new(chosen, json_string(name));
	}
	if (rc == 0)
		*ret_devices = STEAL(chosen);
	return rc;
}

int
cmd_submission_rerun(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *devices = NULL, *jobs = NULL;
	int rc = flag_find(call, &row, err);
	if (rc == 0)
		rc = choose_devices(
			call->db, call->env, member_int(row, "id"), json_object_get(call->args, "device"), &devices, err);
	if (rc == 0)
		rc = jobs_rerun(call->db, member_int(row, "id"), devices, &jobs, err);
	if (rc < 0)
		return rc;
	const json_t *event = json_array_get(call->db->events, json_array_size(call->db->events) - 1);
	*ret_result = json_pack("{s:O, s:O, s:O, s:O, s:O, s:O}", "id", json_object_get(row, "id"), "leaderboard",
		json_object_get(row, "leaderboard_name"), "mode", json_object_get(row, "mode"), "devices", devices, "jobs",
		jobs, "seq", json_object_get(event, "seq"));
	return 0;
}
