/* SPDX-License-Identifier: MIT */
/* Users: found, shown, merged. */
#include <config.h>

#include "model/user.h"

#include "base/base.h"
#include "base/text.h"
#include "model/actor.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/name.h"
#include "model/ranking.h"
#include "model/records.h"
#include "model/submissions.h"
#include "model/tokens.h"

#define NEAREST_MAX 1000 /* users among whom the nearest name is looked for */
#define RANKS_MAX 100    /* rankings that are shown of one user */

static int
read_user(void *arg, sqlite3_stmt *row)
{
	struct user *user = arg;
	user->id = sqlite3_column_int64(row, 0);
	db_copy_text(user->name, sizeof(user->name), row, 1);
	user->role = actor_role((const char *)sqlite3_column_text(row, 2));
	user->banned = sqlite3_column_type(row, 3) != SQLITE_NULL;
	return 1;
}

static int
add_user_name(void *arg, sqlite3_stmt *row)
{
	json_object_set_new(arg, (const char *)sqlite3_column_text(row, 0), json_true());
	return 0;
}

static int
fail_user_unknown(struct db *db, const struct user_ref *ref, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	AUTO_FREE char *text = user_ref_text(ref);
	int rc = ref->kind == USER_REF_NAME
				 ? db_query(db, err, add_user_name, names, "SELECT name FROM users ORDER BY id DESC LIMIT ?", "i",
					   (int64_t)NEAREST_MAX)
				 : 0;
	if (rc < 0)
		return rc;
	const char *near = nearest_key(text, names);
	return kettle_fail(err, KETTLE_ENOENT, "There is no user `%s`%s%s%s", text, NEAREST_END(near));
}

#define FIND \
	"SELECT u.id, u.name, u.role, u.banned_at FROM users named JOIN users u ON u.id = coalesce(named.merged_into, " \
	"named.id) WHERE "

/* Finds the name as given, which may be older than the normal form; else its normal form. */
static int
find_name(struct db *db, const char *name, struct user *ret_user, struct kettle_error *err)
{
	AUTO_FREE char *normal = name_normal(name, REQUEST_NAME_MAX);
	int rc = db_query(db, err, read_user, ret_user, FIND "named.name = ?", "s", name);
	/* A name must not become an identity or a number by its normal form. */
	if (rc == 0 && strcmp(normal, name) != 0 && *normal != '#' && !strchr(normal, ':'))
		rc = db_query(db, err, read_user, ret_user, FIND "named.name = ?", "s", normal);
	return rc;
}

int
user_find(struct db *db, const struct user_ref *ref, struct user *ret_user, struct kettle_error *err)
{
	struct user user = {0};
	int rc = 0;
	switch (ref->kind) {
	case USER_REF_IDENTITY:
		rc = db_query(db, err, read_user, &user,
			"SELECT u.id, u.name, u.role, u.banned_at FROM identities i JOIN users u ON u.id = i.user WHERE i.provider "
			"= ? AND i.subject = ?",
			"ss", ref->provider, ref->text);
		break;
	case USER_REF_NUMBER:
		rc = db_query(db, err, read_user, &user, FIND "named.id = ?", "i", ref->number);
		break;
	case USER_REF_NAME:
		rc = find_name(db, ref->text, &user, err);
		break;
	}
	if (rc == 0)
		return fail_user_unknown(db, ref, err);
	if (rc == 1)
		*ret_user = user;
	return rc < 0 ? rc : 0;
}

int
user_find_argument(struct db *db, const json_t *argument, struct user *ret_user, struct kettle_error *err)
{
	struct user_ref ref;
	int rc = user_ref_read(argument, &ref, err);
	return rc < 0 ? rc : user_find(db, &ref, ret_user, err);
}

int
user_find_shown(
	struct db *db, const struct actor *actor, const json_t *argument, struct user *ret_user, struct kettle_error *err)
{
	struct user_ref ref;
	struct kettle_error why = {0};
	int rc = user_ref_read(argument, &ref, err);
	if (rc < 0)
		return rc;
	rc = user_find(db, &ref, ret_user, &why);
	bool told = ref.kind != USER_REF_IDENTITY || actor->role == RIGHT_ADMIN;
	if (rc == 0 && (told || ret_user->id == actor->user))
		return 0;
	if (rc < 0 && rc != KETTLE_ENOENT) {
		*err = why;
		return rc;
	}
	AUTO_FREE char *text = user_ref_text(&ref);
	return kettle_fail(err, KETTLE_ENOENT, "There is no user `%s`.", text);
}

int
user_find_or_make_argument(struct db *db, const json_t *argument, struct user *ret_user, struct kettle_error *err)
{
	struct user_ref ref;
	int64_t id = 0;
	int rc = user_ref_read(argument, &ref, err);
	if (rc == 0)
		rc = user_find(db, &ref, ret_user, err);
	if (rc != KETTLE_ENOENT || ref.kind != USER_REF_IDENTITY)
		return rc;
	rc = actor_make(db, ref.provider, ref.text, NULL, &id, err);
	if (rc == 0)
		rc = user_get(db, id, ret_user, err);
	if (rc == 0)
		ret_user->made = true;
	return rc;
}

int
user_get(struct db *db, int64_t id, struct user *ret_user, struct kettle_error *err)
{
	struct user user = {0};
	int rc = db_query(db, err, read_user, &user, "SELECT id, name, role, banned_at FROM users WHERE id = ?", "i", id);
	if (rc == 0)
		return kettle_fail(err, KETTLE_ENOENT, "There is no user with the number %lld.", (long long)id);
	if (rc == 1)
		*ret_user = user;
	return rc < 0 ? rc : 0;
}

int
user_other_admins(struct db *db, int64_t id, int64_t *ret_count, struct kettle_error *err)
{
	return db_int(db, ret_count, err,
		"SELECT count(*) FROM users WHERE role = 'admin' AND banned_at IS NULL AND merged_into IS NULL AND id <> ?",
		"i", id);
}

/* ---- shown ---- */

static int
add_full(struct db *db, int64_t id, json_t *object, struct kettle_error *err)
{
	json_t *identities = NULL, *merged = NULL, *ranks = NULL;
	int rc = db_array(db, &identities, err,
		"SELECT provider, subject, name, created_at AS created_iso FROM identities WHERE user = ? ORDER BY created_at, "
		"provider, subject",
		"i", id);
	if (rc == 0)
		json_object_set_new(object, "identities", identities);
	if (rc == 0)
		rc = db_object(db, &merged, err,
			"SELECT (SELECT json_group_array(name) FROM users WHERE merged_into = ?1) AS names_json, profile FROM "
			"users "
			"WHERE id = ?1",
			"i", id);
	if (rc == 0) {
		json_object_set(object, "merged", json_object_get(merged, "names"));
		json_object_set(object, "profile", json_object_get(merged, "profile"));
	}
	json_decref(merged);
	if (rc == 0)
		rc = db_array(db, &ranks, err,
			"SELECT b.name AS leaderboard, p.leaderboard AS board, p.device, p.score FROM best p JOIN leaderboards b "
			"ON b.id = p.leaderboard WHERE p.user = ? ORDER BY b.name, p.device LIMIT ?",
			"ii", id, (int64_t)RANKS_MAX);
	json_array_each(ranks, row) {
		struct ranking_position position;
		rc = ranking_of(db, member_int(row, "board"), json_text_or_null(row, "device"), id, &position, err);
		if (rc < 0)
			break;
		(void)json_object_del(row, "board");
		json_object_set_new(row, "rank", json_integer(position.rank));
		json_object_set_new(row, "of", json_integer(position.of));
	}
	if (ranks)
		json_object_set_new(object, "ranks", ranks);
	return rc;
}

int
user_object(struct db *db, int64_t id, bool full, json_t **ret_object, struct kettle_error *err)
{
	AUTO_JSON json_t *object = NULL;
	int rc = db_object(db, &object, err,
		"SELECT id AS user_id_text, name AS user_name, role, created_at AS created_iso, banned_at AS banned_iso, "
		"ban_reason, (SELECT count(*) FROM submissions s JOIN leaderboards b ON b.id = s.leaderboard WHERE s.user = "
		"users.id) AS submissions, (SELECT json_group_array(json_object('provider', provider, 'name', name)) FROM "
		"identities WHERE user = users.id) AS identities_json FROM users WHERE id = ?",
		"i", id);
	if (rc == 0 && full)
		rc = add_full(db, id, object, err);
	if (rc == 0)
		*ret_object = STEAL(object);
	return rc;
}

int
user_list(struct db *db, const char *role, bool banned, int64_t limit, int64_t offset, json_t **ret_users,
	struct kettle_error *err)
{
	AUTO_JSON json_t *ids = NULL, *users = json_array();
	int rc = db_array(db, &ids, err,
		"SELECT id FROM users WHERE merged_into IS NULL AND (?1 IS NULL OR role = ?1) AND (NOT ?2 OR banned_at IS NOT "
		"NULL) ORDER BY name LIMIT ?3 OFFSET ?4",
		"siii", role, (int64_t)banned, limit, offset);
	for (size_t i = 0; i < json_array_size(ids) && rc == 0; i++) {
		json_t *user = NULL;
		rc = user_object(db, member_int(json_array_get(ids, i), "id"), false, &user, err);
		if (rc == 0)
			(void)json_array_append_new(users, user);
	}
	if (rc == 0)
		*ret_users = STEAL(users);
	return rc;
}

int
user_stored(struct db *db, int64_t id, json_t **ret_object, struct kettle_error *err)
{
	static const struct {
		const char *member, *sql;
	} lists[] = {
		{"tokens", "SELECT kind, name, address, created_at AS created_iso, used_at AS used_iso, expires_at AS "
				   "expires_iso FROM tokens WHERE user = ? ORDER BY created_at"},
		{"created_leaderboards",
			"SELECT name, created_at AS created_iso FROM leaderboards WHERE creator = ? ORDER BY name"},
		{"joined_leaderboards", "SELECT b.name, a.granted_at AS joined_iso FROM access a JOIN leaderboards b ON b.id = "
								"a.leaderboard WHERE a.user = ? ORDER BY b.name"},
	};
	AUTO_JSON json_t *object = NULL;
	int rc = user_object(db, id, true, &object, err);
	for (size_t i = 0; i < ARRAY_SIZE(lists) && rc == 0; i++) {
		json_t *rows = NULL;
		rc = db_array(db, &rows, err, lists[i].sql, "i", id);
		if (rc == 0)
			(void)json_object_set_new(object, lists[i].member, rows);
	}
	if (rc == 0)
		*ret_object = STEAL(object);
	return rc;
}

/* ---- changed ---- */

int
user_set_ban(struct db *db, int64_t id, const char *reason, json_t *cancelled, struct kettle_error *err)
{
	int rc = db_exec(db, err, "UPDATE users SET banned_at = iif(?2 IS NULL, NULL, ?1), ban_reason = ?2 WHERE id = ?3",
		"isi", db->now_ms, reason, id);
	if (rc == 0 && reason)
		rc = jobs_cancel_all(db, id, cancelled, err);
	return rc < 0 ? rc : ranking_recompute_user(db, id, err);
}

int
user_set_role(struct db *db, int64_t id, enum access_right role, struct kettle_error *err)
{
	return db_exec(db, err, "UPDATE users SET role = ? WHERE id = ?", "si", actor_role_name(role), id);
}

/* ---- deleted ---- */

static int
rename_deleted(struct db *db, int64_t id, char ret_name[USER_NAME_SIZE], struct kettle_error *err)
{
	AUTO_JSON json_t *merged = NULL;
	char wanted[40], name[USER_NAME_SIZE];
	int rc = db_array(
		db, &merged, err, "SELECT id FROM users WHERE id = ?1 OR merged_into = ?1 ORDER BY id <> ?1, id", "i", id);
	for (size_t i = 0; i < json_array_size(merged) && rc == 0; i++) {
		json_int_t one = member_int(json_array_get(merged, i), "id");
		(void)snprintf(wanted, sizeof(wanted), ACTOR_DELETED "%lld", (long long)one);
		rc = actor_free_name(db, wanted, name, sizeof(name), err);
		if (rc == 0)
			rc = db_exec(db, err, "UPDATE users SET name = ? WHERE id = ?", "si", name, (int64_t)one);
		if (rc == 0)
			rc = db_exec(db, err, "UPDATE events SET user_name = ? WHERE user = ?", "si", name, (int64_t)one);
		if (i == 0)
			memcpy(ret_name, name, sizeof(name));
	}
	return rc;
}

int
user_delete(struct db *db, const struct user *user, char ret_name[USER_NAME_SIZE], struct kettle_error *err)
{
	static const char *const sql[] = {
		"DELETE FROM identities WHERE user = ?",
		"DELETE FROM tokens WHERE user = ?",
		"DELETE FROM access WHERE user = ?",
		"UPDATE submissions SET note = NULL WHERE user = ? AND note IS NOT NULL",
		/* The data of these events has the name. */
		"DELETE FROM events WHERE user = ? AND kind IN ('user.created', 'user.merged')",
		"UPDATE users SET role = 'user', ban_reason = iif(banned_at IS NULL, NULL, '') WHERE id = ?",
	};
	int64_t tokens = 0;
	int rc = rename_deleted(db, user->id, ret_name, err);
	if (rc == 0)
		rc = token_delete(db, user->id, NULL, &tokens, err);
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], "i", user->id);
	return rc < 0 ? rc : db_event(db, "user.deleted", 'a', 0, 0, user->id, NULL, err);
}

/* ---- merged ---- */

static int
move_all(struct db *db, int64_t from, int64_t into, struct kettle_error *err)
{
	/* Rows that both users have are kept once. The name of the merged user refers to the other one from then on. */
	static const char *const sql[] = {
		"UPDATE identities SET user = ?2 WHERE user = ?1",
		"DELETE FROM tokens WHERE user IN (?1, ?2) AND kind IN ('link', 'login')",
		"UPDATE tokens SET user = ?2 WHERE user = ?1",
		"UPDATE audit SET actor = ?2 WHERE actor = ?1",
		"UPDATE submissions SET flagged_by = ?2 WHERE flagged_by = ?1",
		"UPDATE submissions SET user = ?2 WHERE user = ?1",
		"UPDATE boards SET creator = ?2 WHERE creator = ?1",
		"UPDATE competitions SET owner = ?2 WHERE owner = ?1",
		"UPDATE boards SET accuser = ?2 WHERE accuser = ?1",
		"UPDATE invites SET created_by = ?2 WHERE created_by = ?1",
		"UPDATE invites SET claimed_by = ?2 WHERE claimed_by = ?1",
		"UPDATE OR IGNORE access SET user = ?2 WHERE user = ?1",
		"DELETE FROM access WHERE user = ?1",
		"UPDATE OR IGNORE rate_spent SET user = ?2 WHERE user = ?1",
		"DELETE FROM rate_spent WHERE user = ?1",
		"INSERT INTO device_usage (device, day, user, ms) SELECT device, day, ?2, ms FROM device_usage WHERE user = ?1 "
		"ON CONFLICT (device, day, user) DO UPDATE SET ms = ms + excluded.ms",
		"DELETE FROM device_usage WHERE user = ?1",
		"UPDATE users SET profile = 'hidden' WHERE id = ?2 AND 'hidden' = (SELECT profile FROM users WHERE id = ?1)",
		"UPDATE users SET merged_into = ?2 WHERE merged_into = ?1",
		"UPDATE users SET merged_into = ?2, role = 'user' WHERE id = ?1",
	};
	int rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], strstr(sql[i], "?2") ? "ii" : "i", from, into);
	return rc;
}

int
user_merge(struct db *db, const struct user *from, const struct user *into, struct kettle_error *err)
{
	enum access_right role = from->role > into->role ? from->role : into->role;
	if (from->banned || into->banned)
		return kettle_fail(err, KETTLE_EACCES, "`%s` is banned: a ban cannot be removed by merging users.",
			from->banned ? from->name : into->name);
	int rc = move_all(db, from->id, into->id, err);
	if (rc == 0)
		rc = user_set_role(db, into->id, role, err);
	/* The entries that are left go first: no user is twice in a ranking. */
	if (rc == 0)
		rc = ranking_recompute_user(db, from->id, err);
	if (rc == 0)
		rc = ranking_recompute_user(db, into->id, err);
	if (rc == 0)
		rc = ranking_recount_tries(db, into->id, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data =
		json_pack("{s:s, s:I, s:s}", "name", from->name, "was", (json_int_t)from->id, "role", actor_role_name(role));
	return db_event(db, "user.merged", 'u', 0, 0, into->id, data, err);
}

/* ---- what others see: places in rankings, how they came about, medals, days of activity ---- */

/* The user's improvements on the ranking of a row, the last ones. */
static int
add_history(struct db *db, int64_t user, json_t *row, struct kettle_error *err)
{
	AUTO_JSON json_t *trend = NULL;
	int rc = records_trend(
		db, member_int(row, "board"), json_text_or_null(row, "device"), user, USER_PAGE_POINTS_MAX, &trend, err);
	if (rc < 0)
		return rc;
	json_t *points = json_object_get(trend, "points");
	json_array_each(points, point) {
		(void)json_object_del(point, "user_id");
		(void)json_object_del(point, "user_name");
	}
	(void)json_object_set(row, "history", points);
	return 0;
}

static int
add_ranks(struct db *db, const struct actor *actor, int64_t user, json_t *page, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int medals[RANKING_PODIUM] = {0};
	int rc = db_array(db, &rows, err,
		"SELECT b.name AS leaderboard, p.leaderboard AS board, p.device, p.score, p.submission AS submission_id, "
		"coalesce(b.deadline_at < now_ms(), 0) AS ended_bool FROM best p JOIN leaderboards b ON b.id = p.leaderboard "
		"WHERE p.user = ?1 AND " BOARD_MAY_SEE "ORDER BY p.leaderboard DESC, p.device LIMIT ?4",
		"iiii", user, board_sees_all(actor), board_user(actor), (int64_t)USER_PAGE_RANKS_MAX);
	for (size_t i = 0; i < json_array_size(rows) && rc == 0; i++) {
		json_t *row = json_array_get(rows, i);
		struct ranking_position position = {0};
		rc = ranking_of(db, member_int(row, "board"), json_text_or_null(row, "device"), user, &position, err);
		if (rc == 0)
			rc = add_history(db, user, row, err);
		/* Only a ranking that has ended gives medals. */
		if (member_true(row, "ended") && position.rank >= 1 && position.rank <= RANKING_PODIUM)
			medals[position.rank - 1]++;
		(void)json_object_del(row, "board");
		(void)json_object_set_new(row, "rank", json_integer(position.rank));
		(void)json_object_set_new(row, "of", json_integer(position.of));
	}
	if (rc < 0)
		return rc;
	(void)json_object_set(page, "ranks", rows);
	(void)json_object_set_new(
		page, "medals", json_pack("{s:i, s:i, s:i}", "gold", medals[0], "silver", medals[1], "bronze", medals[2]));
	return 0;
}

int
user_page(
	struct db *db, const struct actor *actor, const struct user *user, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *page = NULL, *days = NULL;
	int rc = db_object(db, &page, err,
		"SELECT id AS user_id_text, name AS user_name, profile = 'hidden' AS hidden_bool, created_at AS since_iso FROM "
		"users WHERE id = ?",
		"i", user->id);
	if (rc < 0)
		return rc;
	if (member_true(page, "hidden") && actor->role != RIGHT_ADMIN && actor->user != user->id) {
		(void)json_object_del(page, "since");
		*ret_page = STEAL(page);
		return 0;
	}
	rc = add_ranks(db, actor, user->id, page, err);
	if (rc == 0)
		rc = submission_days(db, actor, user->id, USER_PAGE_DAYS_MAX, &days, err);
	if (rc < 0)
		return rc;
	(void)json_object_set(page, "activity", days);
	*ret_page = STEAL(page);
	return 0;
}

int
user_set_profile(struct db *db, int64_t user, const char *profile, bool *ret_changed, struct kettle_error *err)
{
	int rc = db_exec(db, err, "UPDATE users SET profile = ?1 WHERE id = ?2 AND profile != ?1", "si", profile, user);
	*ret_changed = rc == 0 && db_changes(db) > 0;
	return rc;
}
