/* SPDX-License-Identifier: MIT */
/* Actors: from the identity that a frontend vouches for to a user with a role. */
#include <config.h>

#include "model/actor.h"

#include "base/base.h"
#include "model/name.h"

#include <ctype.h>

#define SUFFIX_MAX 1000 /* people of one name */

enum access_right
actor_role(const char *name)
{
	if (name && strcmp(name, "admin") == 0)
		return RIGHT_ADMIN;
	return name && strcmp(name, "creator") == 0 ? RIGHT_CREATOR : RIGHT_ANYBODY;
}

const char *
actor_role_name(enum access_right role)
{
	static const char *const names[] = {[RIGHT_ANYBODY] = "user", [RIGHT_CREATOR] = "creator", [RIGHT_ADMIN] = "admin"};
	return names[role];
}

/* Whether it is the name of a removed user: "deleted-5", "deleted-5-2". */
static bool
is_of_deleted(const char *name)
{
	size_t len = strlen(ACTOR_DELETED);
	return strncasecmp(name, ACTOR_DELETED, len) == 0 && isdigit((unsigned char)name[len]);
}

char *
actor_fit_name(const char *outside)
{
	AUTO_FREE char *normal = name_normal(outside ? outside : "", ACTOR_NAME_MAX);
	for (char *colon = normal; (colon = strchr(colon, ':'));)
		*colon = '-';
	const char *fit = normal + strspn(normal, "# ");
	return xstrdup(name_check_scripts("The name", fit, NULL) < 0 || is_of_deleted(fit) ? "" : fit);
}

/* The actor's name in the frontend, else its identifier there. */
static char *
outside_name(const json_t *actor)
{
	char *name = actor_fit_name(json_text_or_null(actor, "name"));
	if (*name)
		return name;
	free(name);
	name = actor_fit_name(json_text_or_null(actor, "subject"));
	if (*name)
		return name;
	free(name);
	return xstrdup("somebody");
}

/* Whether the page of a user of this name would be an address of KernelBot's API: /user/NAME. */
static bool
is_address_word(const char *name)
{
	return strcmp(name, "submissions") == 0 || strcmp(name, "join") == 0;
}

/* The first of NAME, NAME-2, NAME-3, … that is free. */
int
actor_free_name(struct db *db, const char *name, char *ret_name, size_t size, struct kettle_error *err)
{
	for (int i = 1; i <= SUFFIX_MAX; i++) {
		int64_t taken = 0;
		if (i == 1 && is_address_word(name))
			continue;
		if (i == 1)
			(void)snprintf(ret_name, size, "%s", name);
		else
			(void)snprintf(ret_name, size, "%s-%d", name, i);
		int rc = db_int(db, &taken, err, "SELECT count(*) FROM users WHERE name = ?", "s", ret_name);
		if (rc < 0 || !taken)
			return rc;
	}
	return kettle_fail(err, KETTLE_ECONFLICT, "Too many users are called `%s`: choose another name.", name);
}

static int
insert_identity(
	struct db *db, int64_t user, const char *provider, const char *subject, const char *name, struct kettle_error *err)
{
	return db_exec(db, err, "INSERT INTO identities (provider, subject, user, name, created_at) VALUES (?, ?, ?, ?, ?)",
		"ssisi", provider, subject, user, name, db->now_ms);
}

static int
make_user(struct db *db, const json_t *actor, const char *outside, struct kettle_error *err)
{
	const char *provider = json_text_or_null(actor, "provider");
	char name[ACTOR_NAME_MAX * 4 + 16];
	int rc = actor_free_name(db, outside, name, sizeof(name), err);
	if (rc == 0)
		rc = db_exec(db, err, "INSERT INTO users (name, created_at) VALUES (?, ?)", "si", name, db->now_ms);
	int64_t user = db_last_id(db);
	if (rc == 0)
		rc = insert_identity(db, user, provider, json_text_or_null(actor, "subject"), outside, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:s, s:s}", "name", name, "provider", provider);
	return db_event(db, "user.created", 'a', 0, 0, user, data, err);
}

/* ENOENT: no user with this identity has written yet. */
static int
find_user(struct db *db, const json_t *actor, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT u.id, u.name, u.role, CASE WHEN u.banned_at IS NOT NULL THEN coalesce(u.ban_reason, '') END AS banned "
		"FROM identities i JOIN users u ON u.id = i.user WHERE i.provider = ? AND i.subject = ?",
		"ss", json_text_or_null(actor, "provider"), json_text_or_null(actor, "subject"));
}

static int
find_or_make(struct db *db, const json_t *actor, bool make, json_t **ret_row, struct kettle_error *err)
{
	int rc = find_user(db, actor, ret_row, err);
	if (rc != KETTLE_ENOENT)
		return rc;
	AUTO_FREE char *outside = outside_name(actor);
	if (make) {
		rc = make_user(db, actor, outside, err);
		return rc < 0 ? rc : find_user(db, actor, ret_row, err);
	}
	*ret_row = json_pack("{s:i, s:s}", "id", 0, "name", outside);
	return 0;
}

int
actor_make(struct db *db, const char *provider, const char *subject, const char *name, int64_t *ret_user,
	struct kettle_error *err)
{
	AUTO_JSON json_t *actor = json_pack("{s:s?, s:s?, s:s?}", "provider", provider, "subject", subject, "name", name);
	AUTO_JSON json_t *row = NULL;
	int rc = user_ref_check_identity(provider, subject, err);
	if (rc == 0)
		rc = find_or_make(db, actor, true, &row, err);
	if (rc == 0)
		*ret_user = member_int(row, "id");
	return rc;
}

int
actor_identity_add(struct db *db, int64_t user, const char *provider, const char *subject, const char *name,
	int64_t *ret_other, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *actor = json_pack("{s:s, s:s}", "provider", provider, "subject", subject);
	int rc = user_ref_check_identity(provider, subject, err);
	if (rc == 0)
		rc = find_user(db, actor, &row, err);
	if (rc == KETTLE_ENOENT)
		return insert_identity(db, user, provider, subject, name, err);
	if (rc == 0)
		*ret_other = member_int(row, "id");
	return rc;
}

static int
check_right(const struct access *access, const struct actor *actor, struct kettle_error *err)
{
	if (!access)
		return 0;
	if (actor->role < access->right)
		return kettle_fail(err, KETTLE_EACCES, "This command is for %s only.",
			access->right == RIGHT_ADMIN ? "admins of the engine" : "creators of leaderboards and admins");
	if (actor->banned && access->writes && !access->check_ban_last)
		return kettle_fail(err, KETTLE_EACCES, "You are banned%s%s.", *actor->banned ? ": " : "", actor->banned);
	return 0;
}

int
actor_resolve(
	struct db *db, const json_t *actor, const struct access *access, struct actor *ret_actor, struct kettle_error *err)
{
	json_t *row = NULL;
	int rc = user_ref_check_identity(json_text_or_null(actor, "provider"), json_text_or_null(actor, "subject"), err);
	if (rc == 0)
		rc = find_or_make(db, actor, access && access->writes, &row, err);
	if (rc < 0)
		return rc;
	json_decref(db->actor);
	db->actor = row;
	enum access_right stored = actor_role(json_text_or_null(row, "role"));
	enum access_right vouched = actor_role(json_text_or_null(actor, "role"));
	struct actor resolved = {
		.user = member_int(row, "id"),
		.name = json_text_or_null(row, "name"),
		.role = stored > vouched ? stored : vouched,
		.banned = json_text_or_null(row, "banned"),
	};
	rc = check_right(access, &resolved, err);
	if (rc == 0)
		*ret_actor = resolved;
	return rc;
}
