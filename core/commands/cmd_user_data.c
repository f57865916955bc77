/* SPDX-License-Identifier: MIT */
/* What is stored about a user: the user may have a copy of it, and have what says who they are removed. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/device_usage.h"
#include "model/jobs.h"
#include "model/rate_limit.h"
#include "model/submissions.h"
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

int
cmd_user_export(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	AUTO_JSON json_t *page = NULL, *stored = NULL;
	int64_t after = member_int(call->args, "after"), total = 0;
	int rc = whose(call, "export", &user, err);
	if (rc == 0 && after == 0)
		rc = user_stored(call->db, user.id, &stored, err);
	if (rc == 0)
		rc = submission_count(call->db, &(struct submission_filter){.user = user.id}, &total, NULL, err);
	if (rc == 0)
		rc = submission_page_of_user(call->db, user.id, after, &page, err);
	if (rc == 0)
		*ret_result =
			json_pack("{s:s, s:O?, s:I, s:O, s:O}", "user_name", user.name, "user", stored, "total", (json_int_t)total,
				"submissions", json_object_get(page, "submissions"), "next", json_object_get(page, "next"));
	return rc;
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
