/* SPDX-License-Identifier: MIT */
/* Tokens and codes, by their hashes. */
#include <config.h>

#include "model/tokens.h"

#include "base/cleanup.h"
#include "base/json_access.h"

#include <string.h>

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
	size_t i;
	json_t *row;
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
	json_array_foreach(rows, i, row) {
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
