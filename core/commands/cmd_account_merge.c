/* SPDX-License-Identifier: MIT */
/* Merging users: by a short-lived code that one shows and the other types, or by an admin. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/text.h"
#include "model/tokens.h"
#include "model/user.h"

#include <ctype.h>

/* ---- codes that one person shows and another, or the same one elsewhere, types ---- */

/* No I, L, O and U: these are confused with other letters. */
static const char letters[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void
merge_code_draw(char ret_code[MERGE_CODE_TEXT], char ret_hash[65])
{
	unsigned char bytes[MERGE_CODE_LETTERS];
	char code[MERGE_CODE_LETTERS + 1];
	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < MERGE_CODE_LETTERS; i++)
		code[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	code[MERGE_CODE_LETTERS] = '\0';
	sha256_hex(code, MERGE_CODE_LETTERS, ret_hash);
	(void)snprintf(ret_code, MERGE_CODE_TEXT, "%.*s-%s", MERGE_CODE_LETTERS / 2, code, code + MERGE_CODE_LETTERS / 2);
}

bool
merge_code_read(const char *typed, char ret_hash[65])
{
	char code[MERGE_CODE_LETTERS];
	size_t len = 0;
	for (; *typed; typed++) {
		char letter = (char)toupper((unsigned char)*typed);
		letter = letter == 'O' ? '0' : letter == 'I' || letter == 'L' ? '1' : letter;
		if (letter == ' ' || letter == '-')
			continue;
		if (!strchr(letters, letter) || len == MERGE_CODE_LETTERS)
			return false;
		code[len++] = letter;
	}
	if (len != MERGE_CODE_LETTERS)
		return false;
	sha256_hex(code, MERGE_CODE_LETTERS, ret_hash);
	return true;
}

static int
make_code(struct db *db, const struct actor *actor, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *user = NULL;
	char code[MERGE_CODE_TEXT], hash[65], expires[TIME_TEXT_SIZE];
	struct token link = {.hash = hash, .kind = "link", .user = actor->user, .expires_at = db->now_ms + MERGE_CODE_MS};
	merge_code_draw(code, hash);
	time_text(link.expires_at, expires);
	int rc = token_insert(db, &link, err);
	AUTO_JSON json_t *data = json_pack("{s:s}", "expires", expires);
	if (rc == 0)
		rc = db_event(db, "user.code", 'u', 0, 0, actor->user, data, err);
	if (rc == 0)
		rc = user_object(db, actor->user, false, &user, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:s, s:O}", "code", code, "expires", expires, "user", user);
	return rc;
}

/* ---- merging ---- */

/* Merges the users if that is confirmed; the answer shows them as they were before. */
static int
merge(struct db *db, const struct user *from, const struct user *into, bool confirmed, json_t **ret_result,
	struct kettle_error *err)
{
	AUTO_JSON json_t *a = NULL, *b = NULL;
	int rc = user_object(db, from->id, false, &a, err);
	if (rc == 0)
		rc = user_object(db, into->id, false, &b, err);
	if (rc == 0 && confirmed)
		rc = user_merge(db, from, into, err);
	if (rc == 0)
		*ret_result = json_pack("{s:b, s:O, s:O}", "merged", confirmed, "from", a, "into", b);
	return rc;
}

/*
 * A merge gives the identities of both users one role, for one of the two perhaps a higher one. Neither the user who
 * made the code nor the one who was made to enter it may decide that.
 */
static int
check_roles(const struct user *from, const struct user *into, struct kettle_error *err)
{
	static const char *const roles[] = {
		[RIGHT_ANYBODY] = "has no role", [RIGHT_CREATOR] = "is a creator", [RIGHT_ADMIN] = "is an admin"};
	if (from->role == into->role)
		return 0;
	return kettle_fail(err, KETTLE_EACCES,
		"A link code cannot change roles, and `%s` %s while `%s` %s: ask an admin to give both the same role first, or "
		"to merge them.",
		from->name, roles[from->role], into->name, roles[into->role]);
}

static int
take_code(struct db *db, const struct actor *actor, const char *typed, bool confirmed, json_t **ret_result,
	struct kettle_error *err)
{
	char hash[65];
	struct user from, into;
	AUTO_JSON json_t *row = NULL;
	int rc = KETTLE_ENOENT;
	if (merge_code_read(typed, hash))
		rc = token_get_code(db, hash, "link", &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(
			err, rc, "This code is not valid: a code works once and expires after %d minutes.", MERGE_CODE_MS / 60000);
	int64_t user = member_int(row, "user");
	if (rc == 0 && user == actor->user)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"This code is your own: enter it as the other user, whom you want to merge with this one.");
	if (rc == 0)
		rc = user_get(db, user, &from, err);
	if (rc == 0)
		rc = user_get(db, actor->user, &into, err);
	if (rc == 0)
		rc = check_roles(&from, &into, err);
	return rc < 0 ? rc : merge(db, &from, &into, confirmed, ret_result, err);
}

int
cmd_user_link(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *code = json_text_or_null(call->args, "code");
	if (!code)
		return make_code(call->db, call->actor, ret_result, err);
	return take_code(call->db, call->actor, code, member_true(call->args, "confirm"), ret_result, err);
}

int
cmd_user_merge(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct user from, into;
	int rc = user_find_argument(call->db, json_object_get(call->args, "name"), &from, err);
	if (rc == 0)
		rc = user_find_or_make_argument(call->db, json_object_get(call->args, "into"), &into, err);
	if (rc == 0 && from.id == into.id)
		rc = kettle_fail(err, KETTLE_ECONFLICT, "Both names refer to the user `%s`.", into.name);
	return rc < 0 ? rc : merge(call->db, &from, &into, true, ret_result, err);
}
