/* SPDX-License-Identifier: MIT */
/* What is stored about a user: the user may have a copy of it, and have what says who they are removed. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/device_usage.h"
#include "model/jobs.h"
#include "model/rate_limit.h"
#include "model/user.h"

/* The user who is named, which may be another only for admins; else the actor. */
static int
whose(const struct command_call *call, const char *what, struct user *ret_user, struct kettle_error *err)
{
	const json_t *named = json_object_get(call->args, "name");
	if (!named && !call->actor->user)
		return kettle_fail(
			err, KETTLE_ENOENT, "You are not a user here yet: your first submission or link code makes you one.");
	if (!named)
		return user_get(call->db, call->actor->user, ret_user, err);
	if (call->actor->role == RIGHT_ADMIN)
		return user_find_argument(call->db, named, ret_user, err);
	/* Users who are no admins learn nothing about others, not even whether they exist. */
	struct kettle_error none = {0};
	struct user user;
	if (user_find_argument(call->db, named, &user, &none) == 0 && user.id == call->actor->user) {
		*ret_user = user;
		return 0;
	}
	return kettle_fail(err, KETTLE_EACCES, "Only admins may %s other users; leave out the name.", what);
}

int
cmd_user_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	int rc = whose(call, "see", &user, err);
	return rc < 0 ? rc : user_object(call->db, user.id, true, ret_result, err);
}

/* ---- export ---- */

/* One submission with its jobs; the page ends with the one that fills it. */
struct page {
	struct db *db;
	json_t *submissions;
	size_t bytes;
	int64_t last;
	struct kettle_error *err;
};

static int
add_submission(void *arg, sqlite3_stmt *row)
{
	struct page *page = arg;
	json_t *submission = db_row_object(row), *jobs = NULL;
	if (!submission)
		return KETTLE_EIO;
	(void)json_array_append_new(page->submissions, submission);
	page->last = member_int(submission, "id");
	int rc = db_array(page->db, &jobs, page->err,
		"SELECT device, state, score, low, high, error, queued_at AS queued_iso, done_at AS done_iso FROM jobs WHERE "
		"submission = ? AND NOT superseded ORDER BY id",
		"i", page->last);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(submission, "devices", jobs);
	page->bytes += json_string_length(json_object_get(submission, "code"));
	return page->bytes >= EXPORT_PAGE_BYTES;
}

int
cmd_user_export(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	AUTO_JSON json_t *submissions = json_array(), *profile = NULL;
	struct page page = {.db = call->db, .submissions = submissions, .err = err};
	int64_t after = member_int(call->args, "after"), total = 0;
	int rc = whose(call, "export", &user, err);
	if (rc == 0 && after == 0)
		rc = user_stored(call->db, user.id, &profile, err);
	if (rc == 0)
		rc = db_int(call->db, &total, err, "SELECT count(*) FROM submissions WHERE user = ?", "i", user.id);
	if (rc == 0)
		rc = db_query(call->db, err, add_submission, &page,
			"SELECT s.id, b.name AS leaderboard, s.mode, s.file_name, s.created_at AS submission_time_iso, s.state, "
			"s.practice AS practice_bool, s.note, s.flag_reason, c.sha256, CAST(c.data AS TEXT) AS code FROM "
			"submissions s "
			"JOIN leaderboards b ON b.id = s.leaderboard JOIN blobs c ON c.id = s.code WHERE s.user = ? AND s.id > ? "
			"ORDER "
			"BY s.id LIMIT ?",
			"iii", user.id, after, (int64_t)EXPORT_PAGE);
	if (rc < 0)
		return rc;
	bool more = rc > 0 || json_array_size(submissions) == EXPORT_PAGE;
	*ret_result = json_pack("{s:s, s:O?, s:I, s:O, s:o}", "user_name", user.name, "user", profile, "total",
		(json_int_t)total, "submissions", submissions, "next", more ? json_integer(page.last) : json_null());
	return 0;
}

/* ---- delete ---- */

static int
check_delete(const struct command_call *call, const struct user *user, struct kettle_error *err)
{
	int64_t others = 1;
	if (user->banned && call->actor->role != RIGHT_ADMIN)
		return kettle_fail(err, KETTLE_EACCES, "You are banned: only an admin may delete you.");
	bool admin = call->actor->role == RIGHT_ADMIN;
	int rc = admin ? 0 : rate_limit_may_leave(call->db, user->id, err);
	if (rc == 0 && !admin)
		rc = device_usage_may_leave(call->db, user->id, err);
	if (rc < 0)
		return rc;
	rc = user->role == RIGHT_ADMIN ? user_other_admins(call->db, user->id, &others, err) : 0;
	if (rc == 0 && others == 0)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` is the only admin: give another user that role first.", user->name);
	return rc;
}

int
cmd_user_delete(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	char name[USER_NAME_SIZE];
	AUTO_JSON json_t *cancelled = json_array();
	int rc = whose(call, "delete", &user, err);
	if (rc == 0)
		rc = check_delete(call, &user, err);
	if (rc == 0)
		rc = jobs_cancel_all(call->db, user.id, cancelled, err);
	if (rc == 0)
		rc = user_delete(call->db, &user, name, err);
	if (rc == 0)
		*ret_result = json_pack("{s:o, s:s, s:s, s:O}", "user_id", json_sprintf("%lld", (long long)user.id), "was",
			user.name, "user_name", name, "cancelled", cancelled);
	return rc;
}
