/* SPDX-License-Identifier: MIT */
/* The deletion of a submission, and of all of one user on a leaderboard. */
#include <config.h>

#include "commands/cmd_submission_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/submissions.h"
#include "model/user.h"

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
		rc = submission_delete(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:I, s:s}", "id", member_int(row, "id"), "status", "ok");
	return rc;
}

int
cmd_submission_delete_all(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct user user;
	AUTO_JSON json_t *rows = NULL;
	bool flagged = false;
	json_int_t jobs = 0, runs = 0;
	size_t i;
	const json_t *row;
	int rc = board_find_owned(call->db, call->actor, member_string(call->args, "leaderboard"), &board, err);
	if (rc == 0)
		rc = user_find_argument(call->db, json_object_get(call->args, "user"), &user, err);
	if (rc == 0)
		rc = submission_all_of(call->db, board.id, user.id, &rows, err);
	json_array_foreach(rows, i, row) {
		flagged = flagged || member_true(row, "flagged");
		jobs += member_int(row, "jobs");
		runs += member_int(row, "runs");
	}
	if (rc == 0 && flagged && call->actor->role != RIGHT_ADMIN)
		rc = kettle_fail(err, KETTLE_EACCES,
			"`%s` has submissions that were marked as cheats: they stay as evidence, and only an admin may delete "
			"them.",
			user.name);
	if (rc == 0)
		rc = submission_delete(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:s, s:I, s:I, s:I}", "leaderboard", board.name, "user_name", user.name,
			"submissions", (json_int_t)json_array_size(rows), "jobs", jobs, "runs", runs);
	return rc;
}
