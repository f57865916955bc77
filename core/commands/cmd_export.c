/* SPDX-License-Identifier: MIT */
/* The command that exports a leaderboard's submissions, a page at a time. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/submissions.h"

static int
export_check(
	struct db *db, const struct actor *actor, const struct board *board, bool private, struct kettle_error *err)
{
	bool owns = board_owns(actor, board), active = !board_ended(board, db->now_ms);
	if (private)
		return board_check_owner(actor, board, err);
	if (active && owns)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "private",
			kettle_fail(err, KETTLE_ECONFLICT,
				"The leaderboard `%s` is active, and the export has the code of all users: use `private` if "
				"participants "
				"will not see it.",
				board->name));
	if (active)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"The leaderboard `%s` is active: it can be exported once its deadline has passed.", board->name);
	if (!owns && !board_code_open(board, db->now_ms))
		return kettle_fail(err, KETTLE_EACCES,
			"The leaderboard `%s` does not show the code of other users: only its creator and admins may export it.",
			board->name);
	return 0;
}

int
cmd_board_export(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *page = NULL;
	int64_t after = member_int(call->args, "after"), total = 0;
	int rc = board_find_visible(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0)
		rc = export_check(call->db, call->actor, &board, member_true(call->args, "private"), err);
	if (rc == 0 && !after)
		rc = submission_count(call->db, &(struct submission_filter){.leaderboard = board.id}, &total, NULL, err);
	if (rc == 0)
		rc = submission_page_of_board(call->db, board.id, board_owns(call->actor, &board), after, &page, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:o, s:O, s:O}", "leaderboard", board.name, "total",
			after ? json_null() : json_integer(total), "submissions", json_object_get(page, "submissions"), "next",
			json_object_get(page, "next"));
	return rc;
}
