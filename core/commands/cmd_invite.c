/* SPDX-License-Identifier: MIT */
/* Commands on invites to closed leaderboards. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/hash.h"
#include "model/board.h"
#include "model/tokens.h"

#include <ctype.h>

/* ---- codes ---- */

/* 32 letters and digits that are not confused when they are read out. */
static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

static void
draw_code(char ret_code[INVITE_CODE_LENGTH + 1])
{
	unsigned char bytes[INVITE_CODE_LENGTH];
	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < INVITE_CODE_LENGTH; i++)
		ret_code[i] = letters[bytes[i] & 31];
	ret_code[INVITE_CODE_LENGTH] = '\0';
}

/* The code without case and surrounding blanks. EINVAL: it cannot be a code. */
static int
read_code(const json_t *args, char ret_code[INVITE_CODE_LENGTH + 1], struct kettle_error *err)
{
	const char *text = json_text_or_null(args, "code");
	text += strspn(text, " \t\r\n");
	size_t len = strcspn(text, " \t\r\n");
	if (len != INVITE_CODE_LENGTH || text[len + strspn(text + len, " \t\r\n")])
		return kettle_fail(
			err, KETTLE_EINVAL, "This is not an invite code: codes have %d letters and digits.", INVITE_CODE_LENGTH);
	for (size_t i = 0; i < len; i++)
		ret_code[i] = (char)tolower((unsigned char)text[i]);
	ret_code[len] = '\0';
	return 0;
}

/* ---- create ---- */

/* The named boards, each once, all of them the actor's: their ids and names. */
static int
find_boards(
	struct db *db, const struct actor *actor, const json_t *args, json_t *ids, json_t *names, struct kettle_error *err)
{
	const json_t *words = json_object_get(args, "name");
	for (size_t i = 0; i < json_array_size(words); i++) {
		struct board board;
		bool twice = false;
		int rc = board_find_owned(db, actor, json_string_value(json_array_get(words, i)), &board, err);
		if (rc < 0)
			return rc;
		for (size_t j = 0; j < json_array_size(ids); j++)
			twice = twice || json_integer_value(json_array_get(ids, j)) == board.id;
		if (twice)
			continue;
		(void)json_array_append_new(ids, json_integer(board.id));
		(void)json_array_append_new(names, json_string(board.name));
	}
	return 0;
}

int
cmd_invite_create(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *ids = json_array(), *names = json_array(), *codes = json_array();
	json_int_t count = member_int(call->args, "count");
	int rc = find_boards(call->db, call->actor, call->args, ids, names, err);
	for (json_int_t i = 0; i < count && rc == 0; i++) {
		char text[INVITE_CODE_LENGTH + 1];
		draw_code(text);
		(void)json_array_append_new(codes, json_string(text));
		rc = invite_insert(call->db, text, call->actor->user, ids, err);
	}
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:I}", "leaderboards", names, "count", count);
	rc = db_event(call->db, "invite.created", 'a', 0, 0, call->actor->user, data, err);
	if (rc == 0)
		*ret_result = json_pack("{s:O, s:O}", "leaderboards", names, "codes", codes);
	return rc;
}

/* ---- list ---- */

int
cmd_invite_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *invites = NULL;
	int64_t count = 0;
	int rc = board_find_owned(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		rc = invite_list(call->db, board.id, member_int(call->args, "limit"), member_int(call->args, "offset"),
			&invites, &count, err);
	if (rc < 0)
		return rc;
	*ret_result =
		json_pack("{s:s, s:I, s:O}", "leaderboard", board.name, "count", (json_int_t)count, "invites", invites);
	return 0;
}

/* ---- revoke ---- */

/* Every board that it opens must be the actor's. */
static int
check_boards(struct db *db, const struct actor *actor, const json_t *row, struct kettle_error *err)
{
	const json_t *names = json_object_get(row, "leaderboards");
	for (size_t i = 0; i < json_array_size(names); i++) {
		struct board board;
		int rc = board_find_owned(db, actor, json_string_value(json_array_get(names, i)), &board, err);
		if (rc == KETTLE_EACCES || rc == KETTLE_ENOENT)
			return kettle_fail(err, KETTLE_EACCES,
				"The invite opens a leaderboard that belongs to another user; only its creator and admins may do "
				"this.");
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
cmd_invite_revoke(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char text[INVITE_CODE_LENGTH + 1];
	AUTO_JSON json_t *row = NULL;
	int rc = read_code(call->args, text, err);
	if (rc == 0)
		rc = invite_get(call->db, text, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no invite with this code.");
	if (rc == 0)
		rc = check_boards(call->db, call->actor, row, err);
	if (rc == 0)
		rc = invite_delete(call->db, text, err);
	if (rc < 0)
		return rc;
	bool claimed = json_is_integer(json_object_get(row, "claimed_by"));
	AUTO_JSON json_t *data =
		json_pack("{s:O, s:b}", "leaderboards", json_object_get(row, "leaderboards"), "was_claimed", (int)claimed);
	rc = db_event(call->db, "invite.revoked", 'a', 0, 0, member_int(row, "claimed_by"), data, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:b, s:O, s:O}", "code", text, "was_claimed", (int)claimed, "user_name",
			json_object_get(row, "user_name"), "leaderboards", json_object_get(row, "leaderboards"));
	return rc;
}

/* ---- join ---- */

int
cmd_invite_join(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char text[INVITE_CODE_LENGTH + 1];
	AUTO_JSON json_t *row = NULL;
	int rc = read_code(call->args, text, err);
	if (rc == 0)
		rc = invite_get(call->db, text, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_EINVAL, "This invite code does not exist: ask for another one.");
	if (rc < 0)
		return rc;
	int64_t claimed_by = member_int(row, "claimed_by");
	bool claims = !claimed_by && !member_true(call->args, "dry_run");
	if (claimed_by && claimed_by != call->actor->user)
		return kettle_fail(err, KETTLE_EINVAL, "Another user has used this invite code: ask for one of your own.");
	if (claims)
		rc = invite_claim(call->db, text, call->actor->user, err);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:s, s:s, s:b, s:O}", "status", "ok", "code", text, "joined", claimed_by || claims,
		"leaderboards", json_object_get(row, "leaderboards"));
	return 0;
}
