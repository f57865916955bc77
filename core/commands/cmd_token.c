/* SPDX-License-Identifier: MIT */
/*
 * Tokens, with which programs and pages act as a user. Only their hashes are stored.
 *
 * A login: a program or page without a user begins one and keeps the token; it shows the code, with which a user
 * confirms elsewhere (in the chat, on a command line) that the token is theirs. From then on the token acts as that
 * user.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/text.h"
#include "model/actor.h"
#include "model/board.h"
#include "model/download_urls.h"
#include "model/name.h"
#include "model/tokens.h"
#include "model/user.h"

#define TOKEN_PREFIX "ktl_"

static json_t *
time_or_null(int64_t ms)
{
	return ms ? json_string(TIME_TEXT(ms)) : json_null();
}

/* ---- a user's own ---- */

static int
read_name(const json_t *args, char **ret_name, struct kettle_error *err)
{
	const char *given = json_text_or_empty(args, "name");
	AUTO_FREE char *name = name_normal(given, TOKEN_NAME_MAX);
	if (!*name || strcmp(name, given) != 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"The name of a token must have 1 to %d characters, without control characters or variant forms of letters.",
			TOKEN_NAME_MAX);
	int rc = name_check_scripts("The name of a token", name, err);
	if (rc < 0)
		return rc;
	*ret_name = STEAL(name);
	return 0;
}

static int
check_new(struct db *db, int64_t user, const char *name, int64_t expires_at, struct kettle_error *err)
{
	int64_t same = 0, all = 0;
	int rc = token_count(db, user, name, &same, err);
	if (rc == 0)
		rc = token_count(db, user, NULL, &all, err);
	if (rc == 0 && same)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "You already have a token `%s`: revoke it, or choose another name.", name);
	if (rc == 0 && all >= TOKENS_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "You have %d tokens, which is the limit: revoke one.", TOKENS_MAX);
	if (rc == 0 && expires_at && expires_at <= db->now_ms)
		return kettle_fail(err, KETTLE_EINVAL, "The token would expire in the past: give a later time.");
	return rc;
}

int
cmd_token_create(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct db *db = call->db;
	AUTO_FREE char *name = NULL;
	char hash[65];
	int64_t expires_at = 0, user = call->actor->user;
	const char *expires = json_text_or_null(call->args, "expires");
	int rc = read_name(call->args, &name, err);
	if (rc == 0 && expires)
		rc = board_deadline(expires, db->now_ms, &expires_at, err);
	if (rc == 0)
		rc = check_new(db, user, name, expires_at, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *token = random_token(TOKEN_PREFIX, hash);
	rc = token_insert(
		db, &(struct token){.hash = hash, .kind = "token", .user = user, .name = name, .expires_at = expires_at}, err);
	AUTO_JSON json_t *data = json_pack("{s:s, s:o}", "name", name, "expires", time_or_null(expires_at));
	if (rc == 0)
		rc = db_event(db, "user.token", 'u', 0, 0, user, data, err);
	if (rc == 0)
		*ret_result =
			json_pack("{s:s, s:s, s:O}", "name", name, "token", token, "expires", json_object_get(data, "expires"));
	return rc;
}

/* The actor, or, for admins, the named user. */
static int
whose(const struct command_call *call, int64_t *ret_user, struct kettle_error *err)
{
	const json_t *named = json_object_get(call->args, "of");
	struct user user = {.id = call->actor->user};
	if (named && call->actor->role < RIGHT_ADMIN)
		return kettle_fail(
			err, KETTLE_EACCES, "Only admins may see and revoke the tokens of others; leave out the user.");
	int rc = named ? user_find_argument(call->db, named, &user, err) : 0;
	if (rc == 0)
		*ret_user = user.id;
	return rc;
}

int
cmd_token_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int64_t user = 0;
	int rc = whose(call, &user, err);
	return rc < 0 ? rc : token_list(call->db, user, ret_result, err);
}

int
cmd_token_revoke(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int64_t user = 0, count = 0;
	const char *name = json_text_or_null(call->args, "name");
	int rc = whose(call, &user, err);
	if (rc == 0)
		rc = token_delete(call->db, user, name, &count, err);
	if (rc == 0 && count == 0)
		return kettle_fail(err, KETTLE_ENOENT, "There is no token `%.100s`; `kettle token list` shows all.", name);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:I}", "name", name, "revoked", (json_int_t)count);
	return rc;
}

/* ---- for frontends ---- */

int
cmd_token_check(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char hash[65];
	const char *token = json_text_or_null(call->args, "token");
	AUTO_JSON json_t *row = NULL;
	sha256_hex(token, strlen(token), hash);
	int rc = token_get(call->db, hash, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_EACCES, "The token is not valid: it is unknown, revoked or has expired.");
	if (rc == 0 && strcmp(json_text_or_empty(row, "kind"), "pending") == 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "This login is not confirmed yet.");
	if (rc == 0)
		rc = token_note_use(call->db, hash, err);
	if (rc < 0)
		return rc;
	*ret_result =
		json_pack("{s:s, s:O, s:O, s:o, s:O, s:O, s:{s:O, s:O, s:O}}", "kind", json_text_or_empty(row, "kind"), "name",
			json_object_get(row, "name"), "expires", json_object_get(row, "expires"), "user_id",
			json_sprintf("%lld", (long long)member_int(row, "id")), "user_name", json_object_get(row, "user_name"),
			"role", json_object_get(row, "role"), "actor", "provider", json_object_get(row, "provider"), "subject",
			json_object_get(row, "subject"), "name", json_object_get(row, "user_name"));
	return 0;
}

int
cmd_identity_add(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user user;
	int64_t other = 0;
	const char *provider = json_text_or_null(call->args, "provider"),
			   *subject = json_text_or_null(call->args, "subject");
	AUTO_FREE char *name = actor_fit_name(json_text_or_empty(call->args, "name"));
	int rc = user_find_argument(call->db, json_object_get(call->args, "user"), &user, err);
	if (rc == 0)
		rc = actor_identity_add(call->db, user.id, provider, subject, *name ? name : subject, &other, err);
	if (rc == 0 && other && other != user.id)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"This account of %s already belongs to another user: merge the two with `kettle user link`.", provider);
	if (rc == 0)
		*ret_result = json_pack("{s:o, s:s, s:b}", "user_id", json_sprintf("%lld", (long long)user.id), "user_name",
			user.name, "added", !other);
	return rc;
}

/* ---- logins ---- */

static int
check_pending(struct db *db, const char *address, struct kettle_error *err)
{
	int64_t here = 0, all = 0;
	int rc = token_count_pending(db, address, &here, &all, err);
	if (rc == 0 && (here >= LOGINS_OF_ADDRESS || all >= LOGINS_MAX)) {
		(void)kettle_fail(
			err, KETTLE_ERATE, "Too many logins wait to be confirmed: try again in %d minutes.", LOGIN_MS / 60000);
		if (err)
			err->retry_s = LOGIN_MS / 1000;
		return KETTLE_ERATE;
	}
	return rc;
}

/* The token waits as `pending`; the code, of the kind `login`, names the token that it confirms. */
int
cmd_login_begin(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct db *db = call->db;
	const char *address = json_text_or_null(call->args, "address");
	AUTO_FREE char *name = NULL;
	char hash[65], code[MERGE_CODE_TEXT], code_hash[65];
	int rc = read_name(call->args, &name, err);
	if (rc == 0)
		rc = check_pending(db, address, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *token = random_token(TOKEN_PREFIX, hash);
	merge_code_draw(code, code_hash);
	AUTO_JSON json_t *data = json_pack("{s:s, s:s*}", "token", hash, "address", address);
	int64_t expires_at = db->now_ms + LOGIN_MS;
	struct token pending = {
		.hash = hash, .kind = "pending", .name = name, .address = address, .expires_at = expires_at};
	struct token login = {.hash = code_hash, .kind = "login", .name = name, .data = data, .expires_at = expires_at};
	rc = token_insert(db, &pending, err);
	if (rc == 0)
		rc = token_insert(db, &login, err);
	if (rc == 0)
		*ret_result = json_pack(
			"{s:s, s:s, s:s, s:o}", "name", name, "token", token, "code", code, "expires", time_or_null(expires_at));
	return rc;
}

int
cmd_login_reset(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char hash[65];
	const char *token = json_text_or_empty(call->args, "token");
	sha256_hex(token, strlen(token), hash);
	int rc = token_reset_login(call->db, hash, err);
	if (rc == 0)
		*ret_result = json_pack("{s:b}", "resets", 1);
	return rc;
}

/* Makes the token the user's session, if it says so in place of those of its name. */
static int
confirm(const struct command_call *call, const json_t *row, const char *code_hash, struct kettle_error *err)
{
	struct db *db = call->db;
	int64_t user = call->actor->user;
	const char *pending = json_text_or_empty(json_object_get(row, "data"), "token");
	int64_t ended = 0;
	int rc = 0;
	if (member_true(json_object_get(row, "data"), "reset"))
		rc = token_delete(db, user, json_text_or_null(row, "name"), &ended, err);
	if (rc == 0)
		rc = token_confirm(db, pending, code_hash, user, db->now_ms + SESSION_MS, err);
	AUTO_JSON json_t *data = json_pack("{s:O}", "name", json_object_get(row, "name"));
	return rc < 0 ? rc : db_event(db, "user.login", 'u', 0, 0, user, data, err);
}

int
cmd_login_confirm(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char hash[65];
	AUTO_JSON json_t *row = NULL;
	bool confirmed = member_true(call->args, "confirm");
	int rc = KETTLE_ENOENT;
	if (merge_code_read(json_text_or_null(call->args, "code"), hash))
		rc = token_get_code(call->db, hash, "login", &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(
			err, rc, "This code is not valid: a code works once and expires after %d minutes.", LOGIN_MS / 60000);
	if (rc == 0 && confirmed)
		rc = confirm(call, row, hash, err);
	const json_t *data = json_object_get(row, "data");
	if (rc == 0)
		*ret_result = json_pack("{s:O, s:O, s:O?, s:b, s:o, s:b, s:s}", "name", json_object_get(row, "name"), "begun",
			json_object_get(row, "begun"), "address", json_object_get(data, "address"), "confirmed", confirmed,
			"expires", time_or_null(confirmed ? call->db->now_ms + SESSION_MS : 0), "resets",
			member_true(data, "reset"), "user_name", call->actor->name);
	return rc;
}

/* ---- one-time links: the frontend that serves them takes the file ---- */

int
cmd_link_take(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char hash[65];
	int rc = download_url_take(call->db, json_text_or_null(call->args, "token"), hash, err);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:o}", "path", json_sprintf("%s/%s", call->env->links, hash));
	return 0;
}
