/* SPDX-License-Identifier: MIT */
/* Invites to closed leaderboards, and the access that they give. */
#include <config.h>

#include "model/invites.h"

#include "base/cleanup.h"

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
