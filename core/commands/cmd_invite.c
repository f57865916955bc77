/* SPDX-License-Identifier: MIT */
/* Commands on invites to closed leaderboards. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/hash.h"
#include "model/board.h"

#include <ctype.h>
#include <string.h>

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

/* The code without case and blanks around it. EINVAL: it cannot be one. */
static int
read_code(const json_t *args, char ret_code[INVITE_CODE_LENGTH + 1], struct kettle_error *err)
{
	const char *text = member_string(args, "code");
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

/* The boards that were named, each once, all of them the actor's: their ids and names. */
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

static int
add_invite(struct db *db, const struct actor *actor, const json_t *ids, json_t *codes, struct kettle_error *err)
{
	char text[INVITE_CODE_LENGTH + 1];
	draw_code(text);
	int rc = db_exec(db, err, "INSERT INTO invites (code, created_by, created_at) VALUES (?, ?, ?)", "sii", text,
		actor->user, db->now_ms);
	for (size_t i = 0; i < json_array_size(ids) && rc == 0; i++)
		rc = db_exec(db, err, "INSERT INTO invite_boards (code, leaderboard) VALUES (?, ?)", "si", text,
			(int64_t)json_integer_value(json_array_get(ids, i)));
	if (rc == 0)
		(void)json_array_append_new(codes, json_string(text));
	return rc;
}

int
cmd_invite_create(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *ids = json_array(), *names = json_array(), *codes = json_array();
	json_int_t count = member_int(call->args, "count");
	int rc = find_boards(call->db, call->actor, call->args, ids, names, err);
	for (json_int_t i = 0; i < count && rc == 0; i++)
		rc = add_invite(call->db, call->actor, ids, codes, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:I}", "leaderboards", names, "count", count);
	rc = db_event(call->db, "invite.created", 'a', 0, 0, call->actor->user, data, err);
	if (rc == 0)
		*ret_result = json_pack("{s:O, s:O}", "leaderboards", names, "codes", codes);
	return rc;
}

/* ---- list ---- */

#define BOARDS_OF \
	"(SELECT json_group_array(name) FROM (SELECT b.name FROM invite_boards ib JOIN leaderboards b ON b.id = " \
	"ib.leaderboard WHERE ib.code = i.code ORDER BY b.name)) AS leaderboards_json "

int
cmd_invite_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *invites = NULL;
	int64_t count = 0;
	int rc = board_find_owned(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0)
		rc = db_int(call->db, &count, err, "SELECT count(*) FROM invite_boards WHERE leaderboard = ?", "i", board.id);
	if (rc == 0)
		rc = db_array(call->db, &invites, err,
			"SELECT i.code, i.claimed_by AS user_id_text, u.name AS user_name, i.claimed_at AS claimed_at_iso, "
			"i.created_at AS created_at_iso, " BOARDS_OF
			"FROM invite_boards o JOIN invites i ON i.code = o.code LEFT JOIN users u ON u.id = i.claimed_by WHERE "
			"o.leaderboard = ? ORDER BY i.created_at DESC, i.code LIMIT ? OFFSET ?",
			"iii", board.id, member_int(call->args, "limit"), member_int(call->args, "offset"));
	if (rc < 0)
		return rc;
	*ret_result =
		json_pack("{s:s, s:I, s:O}", "leaderboard", board.name, "count", (json_int_t)count, "invites", invites);
	return 0;
}

/* ---- revoke ---- */

static int
find_invite(struct db *db, const char *text, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT i.code, i.created_by, i.claimed_by, u.name AS user_name, " BOARDS_OF
		"FROM invites i LEFT JOIN users u ON u.id = i.claimed_by WHERE i.code = ?",
		"s", text);
}

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

static int
remove_invite(struct db *db, const char *text, struct kettle_error *err)
{
	static const char *const sql[] = {
		/* Another invite of the same user keeps them in. */
		"UPDATE access SET code = (SELECT i.code FROM invites i JOIN invite_boards ib ON ib.code = i.code WHERE "
		"i.claimed_by = access.user AND ib.leaderboard = access.leaderboard AND i.code <> ?1) WHERE code = ?1 AND "
		"EXISTS (SELECT 1 FROM invites i JOIN invite_boards ib ON ib.code = i.code WHERE i.claimed_by = access.user "
		"AND ib.leaderboard = access.leaderboard AND i.code <> ?1)",
		"DELETE FROM access WHERE code = ?1",
		"DELETE FROM invites WHERE code = ?1",
	};
	int rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], "s", text);
	return rc;
}

int
cmd_invite_revoke(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char text[INVITE_CODE_LENGTH + 1];
	AUTO_JSON json_t *row = NULL;
	int rc = read_code(call->args, text, err);
	if (rc == 0)
		rc = find_invite(call->db, text, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no invite with this code.");
	if (rc == 0)
		rc = check_boards(call->db, call->actor, row, err);
	if (rc == 0)
		rc = remove_invite(call->db, text, err);
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

static int
claim(struct db *db, const struct actor *actor, const char *text, struct kettle_error *err)
{
	int rc = db_exec(db, err, "UPDATE invites SET claimed_by = ?, claimed_at = ? WHERE code = ?", "iis", actor->user,
		db->now_ms, text);
	if (rc < 0)
		return rc;
	return db_exec(db, err,
		"INSERT OR IGNORE INTO access (leaderboard, user, code, granted_at) SELECT leaderboard, ?, code, ? FROM "
		"invite_boards WHERE code = ?",
		"iis", actor->user, db->now_ms, text);
}

struct join_result {
	struct db *db;
	int64_t user;
	struct kettle_error *err;
};

static int
record_joined(void *arg, sqlite3_stmt *row)
{
	const struct join_result *joined = arg;
	AUTO_JSON json_t *data = json_pack("{s:s}", "name", (const char *)sqlite3_column_text(row, 1));
	return db_event(
		joined->db, "leaderboard.joined", 'u', sqlite3_column_int64(row, 0), 0, joined->user, data, joined->err);
}

int
cmd_invite_join(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char text[INVITE_CODE_LENGTH + 1];
	AUTO_JSON json_t *row = NULL;
	struct join_result joined = {call->db, call->actor->user, err};
	int rc = read_code(call->args, text, err);
	if (rc == 0)
		rc = find_invite(call->db, text, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_EINVAL, "This invite code does not exist: ask for another one.");
	if (rc < 0)
		return rc;
	int64_t claimed_by = member_int(row, "claimed_by");
	if (claimed_by && claimed_by != call->actor->user)
		return kettle_fail(err, KETTLE_EINVAL, "Another user has used this invite code: ask for one of your own.");
	if (!claimed_by)
		rc = claim(call->db, call->actor, text, err);
	if (rc == 0 && !claimed_by)
		rc = db_query(call->db, err, record_joined, &joined,
			"SELECT b.id, b.name FROM invite_boards ib JOIN leaderboards b ON b.id = ib.leaderboard WHERE ib.code = ?",
			"s", text);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:s, s:O}", "status", "ok", "leaderboards", json_object_get(row, "leaderboards"));
	return 0;
}
