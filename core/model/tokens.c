/* SPDX-License-Identifier: MIT */
/* Tokens and codes, by their hashes. */
#include <config.h>

#include "model/tokens.h"

#include "base/base.h"

int
token_insert(struct db *db, const struct token *token, struct kettle_error *err)
{
	int rc = strcmp(token->kind, "link") == 0
				 ? db_exec(db, err, "DELETE FROM tokens WHERE kind = 'link' AND user = ?", "i", token->user)
				 : 0;
	return rc < 0 ? rc
				  : db_exec(db, err,
						"INSERT INTO tokens (hash, kind, user, name, address, data_json, created_at, expires_at) "
						"VALUES (?, ?, nullif(?, 0), ?, ?, ?, ?, nullif(?, 0))",
						"ssissjii", token->hash, token->kind, token->user, token->name, token->address, token->data,
						db->now_ms, token->expires_at);
}

int
token_count(struct db *db, int64_t user, const char *name, int64_t *ret_count, struct kettle_error *err)
{
	return db_int(db, ret_count, err,
		"SELECT count(*) FROM tokens WHERE user = ?1 AND kind = 'token' AND (?2 IS NULL OR name = ?2)", "is", user,
		name);
}

int
token_list(struct db *db, int64_t user, json_t **ret_tokens, struct kettle_error *err)
{
	return db_array(db, ret_tokens, err,
		"SELECT name, kind, created_at AS created_iso, used_at AS used_iso, expires_at AS expires_iso FROM tokens "
		"WHERE user = ? AND kind IN ('token', 'session') ORDER BY created_at, name",
		"i", user);
}

int
token_delete(struct db *db, int64_t user, const char *name, int64_t *ret_count, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = db_array(db, &rows, err,
		"SELECT DISTINCT kind, name FROM tokens WHERE user = ?1 AND kind IN ('token', 'session') AND (?2 IS NULL OR "
		"name = ?2) ORDER BY kind, name",
		"is", user, name);
	if (rc == 0)
		rc = db_exec(db, err,
			"DELETE FROM tokens WHERE user = ?1 AND kind IN ('token', 'session') AND (?2 IS NULL OR name = ?2)", "is",
			user, name);
	if (rc < 0)
		return rc;
	int64_t count = db_changes(db);
	json_array_each(rows, row) {
		bool login = member_is(row, "kind", "session");
		if (rc == 0)
			rc = db_event(db, login ? "login.revoked" : "token.revoked", 'u', 0, 0, user, row, err);
	}
	if (rc == 0)
		*ret_count = count;
	return rc;
}

int
token_get(struct db *db, const char *hash, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT t.kind, t.name, u.id, u.name AS user_name, u.role, t.expires_at AS expires_iso, i.provider, i.subject "
		"FROM tokens t LEFT JOIN users "
		"u ON u.id = t.user LEFT JOIN identities i ON i.user = u.id WHERE t.hash = ? AND t.kind IN ('token', "
		"'session', 'pending') AND (t.expires_at IS NULL OR t.expires_at > ?) ORDER BY i.created_at, i.provider LIMIT "
		"1",
		"si", hash, db->now_ms);
}

int
token_note_use(struct db *db, const char *hash, struct kettle_error *err)
{
	return db_exec(db, err, "UPDATE tokens SET used_at = ?1 WHERE hash = ?2 AND coalesce(used_at, 0) <= ?1 - ?3", "isi",
		db->now_ms, hash, (int64_t)TOKEN_USED_MS);
}

int
token_get_code(struct db *db, const char *hash, const char *kind, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT user, name, created_at AS begun_iso, data_json FROM tokens WHERE hash = ? AND kind = ? AND expires_at "
		"> ?",
		"ssi", hash, kind, db->now_ms);
}

int
token_count_pending(struct db *db, const char *address, int64_t *ret_here, int64_t *ret_all, struct kettle_error *err)
{
	int rc =
		db_exec(db, err, "DELETE FROM tokens WHERE kind IN ('pending', 'login') AND expires_at <= ?", "i", db->now_ms);
	if (rc == 0)
		rc = db_int(
			db, ret_here, err, "SELECT count(*) FROM tokens WHERE address = ? AND kind = 'pending'", "s", address);
	return rc < 0 ? rc
				  : db_int(db, ret_all, err,
						"SELECT count(*) FROM tokens WHERE address IS NOT NULL AND kind = 'pending'", NULL);
}

int
token_reset_login(struct db *db, const char *hash, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"UPDATE tokens SET data_json = json_set(data_json, '$.reset', json('true')) WHERE user IS NULL AND kind = "
		"'login' "
		"AND expires_at > ? AND json_extract(data_json, '$.token') = ?",
		"is", db->now_ms, hash);
	if (rc == 0 && db_changes(db) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "This login has ended: begin it again.");
	return rc;
}

int
token_confirm(
	struct db *db, const char *hash, const char *code_hash, int64_t user, int64_t expires_at, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"UPDATE tokens SET kind = 'session', user = ?, address = NULL, expires_at = ? WHERE hash = ? AND kind = "
		"'pending'",
		"iis", user, expires_at, hash);
	if (rc == 0 && db_changes(db) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "This login has ended: begin it again.");
	return rc < 0 ? rc : db_exec(db, err, "DELETE FROM tokens WHERE hash = ?", "s", code_hash);
}

/* ---- invite codes ---- */

int
invite_insert(struct db *db, const char *code, int64_t creator, const json_t *boards, struct kettle_error *err)
{
	int rc = db_exec(db, err, "INSERT INTO invites (code, created_by, created_at) VALUES (?, ?, ?)", "sii", code,
		creator, db->now_ms);
	for (size_t i = 0; i < json_array_size(boards) && rc == 0; i++)
		rc = db_exec(db, err, "INSERT INTO invite_boards (code, leaderboard) VALUES (?, ?)", "si", code,
			(int64_t)json_integer_value(json_array_get(boards, i)));
	return rc;
}

#define BOARDS_OF \
	"(SELECT json_group_array(name) FROM (SELECT b.name FROM invite_boards ib JOIN leaderboards b ON b.id = " \
	"ib.leaderboard WHERE ib.code = i.code ORDER BY b.name)) AS leaderboards_json "

int
invite_list(struct db *db, int64_t leaderboard, int64_t limit, int64_t offset, json_t **ret_invites, int64_t *ret_count,
	struct kettle_error *err)
{
	int rc = db_int(db, ret_count, err, "SELECT count(*) FROM invite_boards WHERE leaderboard = ?", "i", leaderboard);
	return rc < 0 ? rc
				  : db_array(db, ret_invites, err,
						"SELECT i.code, i.claimed_by AS user_id_text, u.name AS user_name, i.claimed_at AS "
						"claimed_at_iso, i.created_at AS created_at_iso, " BOARDS_OF
						"FROM invite_boards o JOIN invites i ON i.code = o.code LEFT JOIN users u ON u.id = "
						"i.claimed_by WHERE o.leaderboard = ? ORDER BY i.created_at DESC, i.code LIMIT ? OFFSET ?",
						"iii", leaderboard, limit, offset);
}

int
invite_get(struct db *db, const char *code, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT i.claimed_by, u.name AS user_name, " BOARDS_OF
		"FROM invites i LEFT JOIN users u ON u.id = i.claimed_by WHERE i.code = ?",
		"s", code);
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
invite_claim(struct db *db, const char *code, int64_t user, struct kettle_error *err)
{
	struct join_result joined = {db, user, err};
	int rc = db_exec(
		db, err, "UPDATE invites SET claimed_by = ?, claimed_at = ? WHERE code = ?", "iis", user, db->now_ms, code);
	if (rc == 0)
		rc = db_exec(db, err,
			"INSERT OR IGNORE INTO access (leaderboard, user, code, granted_at) SELECT leaderboard, ?, code, ? FROM "
			"invite_boards WHERE code = ?",
			"iis", user, db->now_ms, code);
	return rc < 0 ? rc
				  : db_query(db, err, record_joined, &joined,
						"SELECT b.id, b.name FROM invite_boards ib JOIN leaderboards b ON b.id = ib.leaderboard WHERE "
						"ib.code = ?",
						"s", code);
}

int
invite_delete(struct db *db, const char *code, struct kettle_error *err)
{
#define OTHER \
	"SELECT i.code FROM invites i JOIN invite_boards ib ON ib.code = i.code WHERE i.claimed_by = access.user AND " \
	"ib.leaderboard = access.leaderboard AND i.code <> ?1"
	static const char *const sql[] = {
		/* Another invite of the same user keeps the access. */
		"UPDATE access SET code = (" OTHER ") WHERE code = ?1 AND EXISTS (" OTHER ")",
		"DELETE FROM access WHERE code = ?1",
		"DELETE FROM invites WHERE code = ?1",
	};
	int rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], "s", code);
	return rc;
}
