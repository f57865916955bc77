/* SPDX-License-Identifier: MIT */
/* Commands on users: list, show, ban, unban, role. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "model/actor.h"
#include "model/jobs.h"
#include "model/ranking.h"
#include "model/user.h"

int
cmd_user_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *ids = NULL, *users = json_array();
	int rc = db_array(call->db, &ids, err,
		"SELECT id FROM users WHERE merged_into IS NULL AND (?1 IS NULL OR role = ?1) AND (NOT ?2 OR banned_at IS NOT "
		"NULL) ORDER BY name LIMIT ?3 OFFSET ?4",
		"siii", member_string(call->args, "role"), (int64_t)member_true(call->args, "banned"),
		member_int(call->args, "limit"), member_int(call->args, "offset"));
	for (size_t i = 0; i < json_array_size(ids) && rc == 0; i++) {
		json_t *user = NULL;
		rc = user_object(call->db, member_int(json_array_get(ids, i), "id"), false, &user, err);
		if (rc == 0)
			(void)json_array_append_new(users, user);
	}
	if (rc == 0)
		*ret_result = STEAL(users);
	return rc;
}

int
cmd_user_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user = {.id = call->actor->user};
	const json_t *named = json_object_get(call->args, "name");
	int rc = 0;
	if (named && call->actor->role == RIGHT_ADMIN) {
		rc = user_find_argument(call->db, named, &user, err);
	} else if (named) {
		/* Users who are no admins learn nothing about others, not even whether they exist. */
		struct kettle_error none = {0};
		bool own = user_find_argument(call->db, named, &user, &none) == 0 && user.id == call->actor->user;
		rc = own ? 0 : kettle_fail(err, KETTLE_EACCES, "Only admins may see other users; leave out the name.");
	} else if (!call->actor->user) {
		rc = kettle_fail(
			err, KETTLE_ENOENT, "You are not a user here yet: your first submission or link code makes you one.");
	}
	return rc < 0 ? rc : user_object(call->db, user.id, true, ret_result, err);
}

/* ---- ban ---- */

int
cmd_user_cancel_all(struct db *db, int64_t user, json_t *cancelled, struct kettle_error *err)
{
	AUTO_JSON json_t *open = NULL;
	int rc = db_array(db, &open, err,
		"SELECT DISTINCT j.submission AS id FROM jobs j JOIN submissions s ON s.id = j.submission JOIN leaderboards b "
		"ON b.id = s.leaderboard WHERE j.done_at IS NULL AND s.user = ? ORDER BY 1",
		"i", user);
	for (size_t i = 0; i < json_array_size(open) && rc == 0; i++) {
		json_t *id = json_object_get(json_array_get(open, i), "id"), *jobs = NULL;
		rc = jobs_cancel(db, json_integer_value(id), &jobs, err);
		json_decref(jobs);
		if (rc == 0)
			(void)json_array_append(cancelled, id);
	}
	return rc;
}

static int
check_ban(const struct actor *actor, const struct user *user, const char *reason, struct kettle_error *err)
{
	if (!*reason)
		return kettle_fail(err, KETTLE_EINVAL, "A ban needs a reason, which the user will read.");
	if (user->id == actor->user)
		return kettle_fail(err, KETTLE_ECONFLICT, "You cannot ban yourself.");
	if (user->role == RIGHT_ADMIN)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` is an admin: take that role away before you ban them.", user->name);
	if (user->banned)
		return kettle_fail(err, KETTLE_ECONFLICT, "`%s` is already banned.", user->name);
	return 0;
}

/* Stores the ban (reason NULL: removes it), cancels open jobs, recomputes the rankings. */
static int
set_ban(struct db *db, int64_t user, const char *reason, json_t *cancelled, struct kettle_error *err)
{
	int rc = reason ? db_exec(db, err, "UPDATE users SET banned_at = ?, ban_reason = ? WHERE id = ?", "isi", db->now_ms,
						  reason, user)
					: db_exec(db, err, "UPDATE users SET banned_at = NULL, ban_reason = NULL WHERE id = ?", "i", user);
	if (rc == 0 && reason)
		rc = cmd_user_cancel_all(db, user, cancelled, err);
	return rc < 0 ? rc : ranking_recompute_user(db, user, err);
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
	AUTO_FREE char *reason = sanitize_line(member_string(call->args, "reason"), USER_REASON_MAX);
	AUTO_JSON json_t *cancelled = json_array();
	int rc = user_find_or_make_argument(call->db, json_object_get(call->args, "name"), &user, err);
	if (rc == 0)
		rc = check_ban(call->actor, &user, reason, err);
	if (rc == 0)
		rc = set_ban(call->db, user.id, reason, cancelled, err);
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
		rc = set_ban(call->db, user.id, NULL, NULL, err);
	if (rc == 0)
		rc = db_event(call->db, "user.unbanned", 'u', 0, 0, user.id, NULL, err);
	return rc < 0 ? rc : answer(&user, json_object(), ret_result);
}

/* ---- role ---- */

static int
check_role(struct db *db, const struct user *user, enum access_right role, struct kettle_error *err)
{
	int64_t others = 0;
	if (user->banned && role != RIGHT_ANYBODY)
		return kettle_fail(err, KETTLE_ECONFLICT, "`%s` is banned: lift the ban first.", user->name);
	if (user->role != RIGHT_ADMIN || role == RIGHT_ADMIN)
		return 0;
	int rc = user_other_admins(db, user->id, &others, err);
	if (rc == 0 && others == 0)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` is the only admin: give another user that role first.", user->name);
	return rc;
}

int
cmd_user_role(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	static const char *const names[] = {[RIGHT_ANYBODY] = "user", [RIGHT_CREATOR] = "creator", [RIGHT_ADMIN] = "admin"};
	struct user user;
	const char *role = member_string(call->args, "role");
	int rc = user_find_or_make_argument(call->db, json_object_get(call->args, "name"), &user, err);
	if (rc == 0)
		rc = check_role(call->db, &user, actor_role(role), err);
	if (rc == 0)
		rc = db_exec(call->db, err, "UPDATE users SET role = ? WHERE id = ?", "si", role, user.id);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:s, s:s}", "role", role, "was", names[user.role]);
	rc = db_event(call->db, "user.role", 'u', 0, 0, user.id, data, err);
	return rc < 0
			   ? rc
			   : answer(&user, json_pack("{s:b, s:s, s:s}", "made", user.made, "role", role, "was", names[user.role]),
					 ret_result);
}
