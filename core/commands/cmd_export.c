/* SPDX-License-Identifier: MIT */
/* The command that exports a leaderboard's submissions, a page at a time. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"

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

/* A page while it is read. */
struct page {
	struct db *db;
	json_t *submissions;
	size_t bytes;
	int64_t last;
	struct kettle_error *err;
};

/* One submission with its devices; the page ends with the one that fills it. */
static int
add_submission(void *arg, sqlite3_stmt *row)
{
	struct page *page = arg;
	json_t *submission = db_row_object(row), *devices = NULL;
	if (!submission)
		return KETTLE_EIO;
	(void)json_array_append_new(page->submissions, submission);
	page->last = member_int(submission, "id");
	int rc = db_array(page->db, &devices, page->err,
		"SELECT device, state, score, low, high FROM jobs WHERE submission = ? AND NOT superseded ORDER BY id", "i",
		page->last);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(submission, "devices", devices);
	page->bytes += json_string_length(json_object_get(submission, "code"));
	return page->bytes >= EXPORT_PAGE_BYTES;
}

/* In the order of numbers, which pages need; the index submissions_page has it. */
static int
read_export_page(struct page *page, const struct board *board, bool whole, int64_t after)
{
	return db_query(page->db, page->err, add_submission, page,
		"SELECT s.id, s.user AS user_id_text, u.name AS user_name, s.mode, s.file_name, s.created_at AS "
		"submission_time_iso, s.state, CASE WHEN s.flagged_at IS NOT NULL THEN coalesce(s.flag_reason, '') END AS "
		"flagged, s.id >= b.counts_from AS counts_bool, t.run_hash AS task, c.sha256, CAST(c.data AS TEXT) AS code "
		"FROM submissions s INDEXED BY submissions_page CROSS JOIN leaderboards b ON b.id = s.leaderboard CROSS JOIN "
		"users u ON u.id = s.user CROSS JOIN tasks t ON t.id = s.task CROSS JOIN blobs c ON c.id = s.code WHERE "
		"s.leaderboard = ?1 AND s.id > ?2 AND (?3 OR s.mode = 'ranked' AND s.flagged_at IS NULL AND s.done_at IS NOT "
		"NULL AND s.id >= b.counts_from AND u.banned_at IS NULL AND EXISTS (SELECT 1 FROM jobs j WHERE j.submission = "
		"s.id AND NOT j.superseded AND j.state = 'passed')) ORDER BY s.id LIMIT ?4",
		"iiii", board->id, after, (int64_t)whole, (int64_t)EXPORT_PAGE);
}

static int
count_all(struct db *db, const struct board *board, int64_t after, json_t **ret_total, struct kettle_error *err)
{
	int64_t total = 0;
	int rc =
		after ? 0 : db_int(db, &total, err, "SELECT count(*) FROM submissions WHERE leaderboard = ?", "i", board->id);
	if (rc == 0)
		*ret_total = after ? json_null() : json_integer(total);
	return rc;
}

int
cmd_board_export(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *submissions = json_array(), *total = NULL;
	struct page page = {.db = call->db, .submissions = submissions, .err = err};
	int64_t after = member_int(call->args, "after");
	int rc = board_find_visible(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0)
		rc = export_check(call->db, call->actor, &board, member_true(call->args, "private"), err);
	if (rc == 0)
		rc = count_all(call->db, &board, after, &total, err);
	if (rc == 0)
		rc = read_export_page(&page, &board, board_owns(call->actor, &board), after);
	if (rc < 0)
		return rc;
	bool more = rc > 0 || json_array_size(submissions) == EXPORT_PAGE;
	*ret_result = json_pack("{s:s, s:O, s:O, s:o}", "leaderboard", board.name, "total", total, "submissions",
		submissions, "next", more ? json_integer(page.last) : json_null());
	return 0;
}
