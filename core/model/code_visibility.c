/* SPDX-License-Identifier: MIT */
/* What others may see of a submission, where its leaderboard opens the code. */
#include <config.h>

#include "model/code_visibility.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/ranking.h"

/* The row, where it is one that counts or could; ENOENT: it is none. */
static int
visibility_load(struct db *db, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT s.id, s.leaderboard AS leaderboard_id, b.name AS leaderboard_name, s.file_name, s.user AS "
		"user_id_text, u.name AS user_name, s.created_at AS submission_time_iso, 1 AS done_bool, s.mode, s.state, NULL "
		"AS flagged, (SELECT CAST(data AS TEXT) FROM blobs WHERE id = s.code) AS code, s.user AS user FROM submissions "
		"s "
		"JOIN leaderboards b ON b.id = s.leaderboard JOIN users u ON u.id = s.user WHERE s.id = ? AND s.mode = "
		"'ranked' AND s.flagged_at IS NULL AND s.done_at IS NOT NULL AND s.id >= b.counts_from AND u.banned_at IS NULL "
		"AND EXISTS (SELECT 1 FROM jobs j WHERE j.submission = s.id AND NOT j.superseded AND j.state = 'passed')",
		"i", id);
}

static int
fail_other(int64_t id, const struct board *board, bool counts, struct kettle_error *err)
{
	if (counts && board->code == BOARD_CODE_ENDED && board->deadline_at)
		return kettle_fail(err, KETTLE_EACCES,
			"Submission %lld belongs to somebody else; its code can be read once the deadline of `%s` has passed.",
			(long long)id, board->name);
	return kettle_fail(err, KETTLE_EACCES, "Submission %lld belongs to somebody else.", (long long)id);
}

static int
load_jobs(struct db *db, const json_t *row, json_t **ret_jobs, json_t *ranks, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = db_array(db, &jobs, err,
		"SELECT id AS job, device, state, score, low, high, json_array() AS runs_json, json_array() AS artifacts_json "
		"FROM jobs WHERE submission = ? AND NOT superseded AND state = 'passed' ORDER BY id",
		"i", member_int(row, "id"));
	for (size_t i = 0; i < json_array_size(jobs) && rc == 0; i++) {
		json_t *job = json_array_get(jobs, i), *rank;
		struct ranking_position position;
		const char *device = member_string(job, "device");
		rc = ranking_of(db, member_int(row, "leaderboard_id"), device, member_int(row, "user"), &position, err);
		if (rc < 0)
			break;
		rank = position.rank ? json_pack("{s:I, s:I}", "rank", (json_int_t)position.rank, "of", (json_int_t)position.of)
							 : json_null();
		json_object_set_new(ranks, device, position.rank ? json_integer(position.rank) : json_null());
		json_object_set_new(job, "rank", rank);
		rc = 0;
	}
	if (rc == 0)
		*ret_jobs = STEAL(jobs);
	return rc;
}

/* EACCES unless the actor may read it. */
static int
check_open(struct db *db, const struct actor *actor, int64_t id, const json_t *row, struct kettle_error *err)
{
	struct board board;
	int rc = board_find(db, actor, member_string(row, "leaderboard_name"), &board, err);
	if (rc == 0)
		rc = board_check_access(db, actor, &board, NULL);
	if (rc == KETTLE_EACCES)
		return fail_other(id, &board, false, err);
	if (rc == 0 && !board_code_open(&board, db->now_ms))
		rc = fail_other(id, &board, true, err);
	return rc;
}

int
code_visibility_of(struct db *db, const struct actor *actor, int64_t id, json_t **ret_object, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *jobs = NULL, *ranks = json_object();
	struct board none = {0};
	int rc = visibility_load(db, id, &row, err);
	if (rc == KETTLE_ENOENT)
		return fail_other(id, &none, false, err);
	if (rc == 0)
		rc = check_open(db, actor, id, row, err);
	if (rc == 0)
		rc = load_jobs(db, row, &jobs, ranks, err);
	if (rc < 0)
		return rc;
	json_t *more = json_pack("{s:[], s:{s:s, s:n, s:O}, s:n, s:O, s:O}", "runs", "job", "status", "succeeded", "error",
		"last_heartbeat", json_object_get(row, "submission_time"), "runner_queue", "rank", ranks, "jobs", jobs);
	(void)json_object_del(row, "user");
	json_object_update_new(row, more);
	*ret_object = STEAL(row);
	return 0;
}
