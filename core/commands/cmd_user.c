/* SPDX-License-Identifier: MIT */
/* Commands on users: list, ban, unban, role, and the data and pages of users. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/utf8.h"
#include "model/actor.h"
#include "model/jobs.h"
#include "model/rate_limit.h"
#include "model/submissions.h"
#include "model/user.h"

int
cmd_user_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	return user_list(call->db, json_text_or_null(call->args, "role"), member_true(call->args, "banned"),
		member_int(call->args, "limit"), member_int(call->args, "offset"), ret_result, err);
}

/* ---- ban ---- */

static int
check_ban(const struct actor *actor, const struct user *user, const char *reason, struct kettle_error *err)
{
	if (!*reason)
		return kettle_fail(err, KETTLE_EINVAL, "A ban needs a reason, which the user will read.");
	if (user->id == actor->user)
		return kettle_fail(err, KETTLE_ECONFLICT, "You cannot ban yourself.");
	if (user->role == RIGHT_ADMIN)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` is an admin: remove that role before you ban the user.", user->name);
	if (user->banned)
		return kettle_fail(err, KETTLE_ECONFLICT, "`%s` is already banned.", user->name);
	return 0;
}

static int
answer(const struct user *user, json_t *more_take, json_t **ret_result)
{
	*ret_result =
		json_pack("{s:o, s:s}", "user_id", json_sprintf("%lld", (long long)user->id), "user_name", user->name);
	(void)json_object_update_new(*ret_result, more_take);
	return 0;
}

int
cmd_user_ban(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	AUTO_FREE char *reason = sanitize_line(json_text_or_null(call->args, "reason"), USER_REASON_MAX);
	AUTO_JSON json_t *cancelled = json_array();
	int rc = user_find_or_make_argument(call->db, json_object_get(call->args, "name"), &user, err);
	if (rc == 0)
		rc = check_ban(call->actor, &user, reason, err);
	if (rc == 0)
		rc = user_set_ban(call->db, user.id, reason, cancelled, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:s, s:O}", "reason", reason, "cancelled", cancelled);
	rc = db_event(call->db, "user.banned", 'u', 0, 0, user.id, data, err);
	return rc < 0 ? rc : answer(&user, json_pack("{s:b, s:O}", "made", user.made, "cancelled", cancelled), ret_result);
}

int
cmd_user_unban(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	int rc = user_find_argument(call->db, json_object_get(call->args, "name"), &user, err);
	if (rc == 0 && !user.banned)
		rc = kettle_fail(err, KETTLE_ECONFLICT, "`%s` is not banned.", user.name);
	if (rc == 0)
		rc = user_set_ban(call->db, user.id, NULL, NULL, err);
	if (rc == 0)
		rc = db_event(call->db, "user.unbanned", 'u', 0, 0, user.id, NULL, err);
	return rc < 0 ? rc : answer(&user, json_object(), ret_result);
}

/* ---- role ---- */

/* The last admin stays one. */
static int
check_other_admins(struct db *db, const struct user *user, struct kettle_error *err)
{
	int64_t others = 1;
	int rc = user->role == RIGHT_ADMIN ? user_other_admins(db, user->id, &others, err) : 0;
	if (rc == 0 && others == 0)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` is the only admin: give another user that role first.", user->name);
	return rc;
}

static int
check_role(struct db *db, const struct user *user, enum access_right role, struct kettle_error *err)
{
	if (user->banned && role != RIGHT_ANYBODY)
		return kettle_fail(err, KETTLE_ECONFLICT, "`%s` is banned: lift the ban first.", user->name);
	return role == RIGHT_ADMIN ? 0 : check_other_admins(db, user, err);
}

int
cmd_user_role(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	const char *role = json_text_or_null(call->args, "role");
	int rc = user_find_or_make_argument(call->db, json_object_get(call->args, "name"), &user, err);
	if (rc == 0)
		rc = check_role(call->db, &user, actor_role(role), err);
	if (rc == 0)
		rc = user_set_role(call->db, user.id, actor_role(role), err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:s, s:s}", "role", role, "was", actor_role_name(user.role));
	rc = db_event(call->db, "user.role", 'u', 0, 0, user.id, data, err);
	return rc < 0
			   ? rc
			   : answer(&user,
					 json_pack("{s:b, s:s, s:s}", "made", user.made, "role", role, "was", actor_role_name(user.role)),
					 ret_result);
}

/* ---- the stored data of a user ---- */

/* The named user, who may differ from the actor only for admins; else the actor. */
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
	/* Users who are not admins learn nothing about others, not even whether they exist. */
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

int
cmd_user_page(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user = {0};
	const json_t *named = json_object_get(call->args, "name");
	int rc = named ? user_find_shown(call->db, call->actor, named, &user, err) : whose(call, "see", &user, err);
	return rc < 0 ? rc : user_page(call->db, call->actor, &user, ret_result, err);
}

int
cmd_user_update(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	bool changed = false;
	const char *profile = json_text_or_null(call->args, "profile");
	int rc = user_get(call->db, call->actor->user, &user, err);
	if (rc == 0)
		rc = user_set_profile(call->db, user.id, profile, &changed, err);
	AUTO_JSON json_t *data = json_pack("{s:s}", "profile", profile);
	if (rc == 0 && changed)
		rc = db_event(call->db, "user.updated", 'u', 0, 0, user.id, data, err);
	return rc < 0 ? rc : answer(&user, json_pack("{s:s}", "profile", profile), ret_result);
}

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

static int
check_delete(const struct command_call *call, const struct user *user, struct kettle_error *err)
{
	if (user->banned && call->actor->role != RIGHT_ADMIN)
		return kettle_fail(err, KETTLE_EACCES, "You are banned: only an admin may delete you.");
	bool admin = call->actor->role == RIGHT_ADMIN;
	int rc = admin ? 0 : rate_limit_may_leave(call->db, user->id, err);
	if (rc == 0 && !admin)
		rc = device_usage_may_leave(call->db, user->id, err);
	return rc < 0 ? rc : check_other_admins(call->db, user, err);
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
