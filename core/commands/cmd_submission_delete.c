/* SPDX-License-Identifier: MIT */
/* The deletion of a submission, and of all of one user on a leaderboard. */
#include <config.h>

#include "commands/cmd_submission_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/ranking.h"
#include "model/rate_limit.h"
#include "model/user.h"

static int
record_deleted(struct db *db, const json_t *row, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = jobs_of(db, member_int(row, "id"), &jobs, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "mode", json_object_get(row, "mode"), "file_name",
		json_object_get(row, "file_name"), "jobs", jobs);
	return db_event(db, "submission.deleted", 'u', member_int(row, "leaderboard_id"), member_int(row, "id"),
		member_int(row, "user"), data, err);
}

static int
remove_jobs(struct db *db, int64_t id, struct kettle_error *err)
{
	int rc = blobs_note_submission(db, id, err);
	if (rc == 0)
		rc = rate_limit_record_deleted(db, id, err);
	return rc < 0 ? rc : db_exec(db, err, "DELETE FROM jobs WHERE submission = ?", "i", id);
}

/*
 * Removes submissions of one user on one leaderboard. The jobs go first, so that the ranking is computed without them, once,
 * while it still knows what was there before.
 */
static int
remove_submissions(struct db *db, const json_t *rows, struct kettle_error *err)
{
	const json_t *first = json_array_get(rows, 0);
	size_t i;
	json_t *row;
	int rc = 0;
	json_array_foreach(rows, i, row) {
		if (rc == 0)
			rc = record_deleted(db, row, err);
		if (rc == 0)
			rc = remove_jobs(db, member_int(row, "id"), err);
	}
	if (rc == 0 && first)
		rc = ranking_recompute(db, member_int(first, "leaderboard_id"), NULL, member_int(first, "user"), err);
	json_array_foreach(rows, i, row) {
		if (rc == 0)
			rc = db_exec(db, err, "DELETE FROM submissions WHERE id = ?", "i", (int64_t)member_int(row, "id"));
	}
	return rc < 0 ? rc : blobs_collect(db, err);
}

int
cmd_submission_delete(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = submission_find(call, member_int(call->args, "id"), false, &row, err);
	if (rc == 0 && json_is_string(json_object_get(row, "flagged")) && call->actor->role != RIGHT_ADMIN)
		rc = kettle_fail(err, KETTLE_EACCES,
			"Submission %lld was marked as a cheat: it stays as evidence, and only an admin may delete it.",
			(long long)member_int(row, "id"));
	AUTO_JSON json_t *rows = json_pack("[O*]", row);
	if (rc == 0)
		rc = remove_submissions(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:I, s:s}", "id", member_int(row, "id"), "status", "ok");
	return rc;
}

/* ---- all of one user ---- */

static int
count_all(struct db *db, int64_t board, int64_t user, json_t **ret_counts, struct kettle_error *err)
{
	return db_object(db, ret_counts, err,
		"SELECT (SELECT count(*) FROM submissions WHERE leaderboard = ?1 AND user = ?2) AS submissions, (SELECT "
		"count(*) "
		"FROM submissions s JOIN jobs j ON j.submission = s.id WHERE s.leaderboard = ?1 AND s.user = ?2) AS jobs, "
		"(SELECT "
		"count(*) FROM submissions s JOIN jobs j ON j.submission = s.id JOIN runs r ON r.job = j.id WHERE "
		"s.leaderboard = "
		"?1 AND s.user = ?2) AS runs, EXISTS (SELECT 1 FROM submissions WHERE leaderboard = ?1 AND user = ?2 AND "
		"flagged_at IS NOT NULL) AS flagged_bool",
		"ii", board, user);
}

int
cmd_submission_delete_all(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct user user;
	AUTO_JSON json_t *rows = NULL, *counts = NULL;
	int rc = board_find_owned(call->db, call->actor, member_string(call->args, "leaderboard"), &board, err);
	if (rc == 0)
		rc = user_find_argument(call->db, json_object_get(call->args, "user"), &user, err);
	if (rc == 0)
		rc = count_all(call->db, board.id, user.id, &counts, err);
	if (rc == 0 && member_true(counts, "flagged") && call->actor->role != RIGHT_ADMIN)
		rc = kettle_fail(err, KETTLE_EACCES,
			"`%s` has submissions that were marked as cheats: they stay as evidence, and only an admin may delete "
			"them.",
			user.name);
	if (rc == 0)
		rc = db_array(call->db, &rows, err,
			"SELECT id, leaderboard AS leaderboard_id, user, mode, file_name FROM submissions WHERE leaderboard = ? "
			"AND "
			"user = ? ORDER BY id",
			"ii", board.id, user.id);
	if (rc == 0)
		rc = remove_submissions(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:s, s:O, s:O, s:O}", "leaderboard", board.name, "user_name", user.name,
			"submissions", json_object_get(counts, "submissions"), "jobs", json_object_get(counts, "jobs"), "runs",
			json_object_get(counts, "runs"));
	return rc;
}
