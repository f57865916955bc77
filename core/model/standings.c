/* SPDX-License-Identifier: MIT */
/* Competitions: the leaderboards of one set, and who is ahead over all of them. */
#include <config.h>

#include "model/standings.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "model/board.h"
#include "model/ranking.h"

int
standings_competitions(struct db *db, const struct actor *actor, json_t **ret_list, struct kettle_error *err)
{
	return db_array(db, ret_list, err,
		"SELECT problem_set AS name, count(*) AS leaderboards, iif(count(deadline_at) = count(*), max(deadline_at), "
		"NULL) "
		"AS deadline_iso, min(coalesce(deadline_at < ?1, 0)) AS ended_bool FROM leaderboards b WHERE problem_set IS "
		"NOT "
		"NULL AND " BOARD_MAY_SEE "GROUP BY problem_set COLLATE NOCASE ORDER BY problem_set COLLATE NOCASE",
		"iii", db->now_ms, board_sees_all(actor), board_user(actor));
}

static int
fail_unknown(struct db *db, const struct actor *actor, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *list = NULL, *names = json_object();
	size_t i;
	json_t *one;
	int rc = standings_competitions(db, actor, &list, err);
	if (rc < 0)
		return rc;
	json_array_foreach(list, i, one)
		(void)json_object_set_new(names, json_text_or_empty(one, "name"), json_true());
	const char *near = nearest_key(name, names);
	return kettle_fail(err, KETTLE_ENOENT, "There is no competition `%s`%s%s%s", name, NEAREST_END(near));
}

/* The devices of a board with their leaders. */
static int
add_leaders(struct db *db, json_t *board, struct kettle_error *err)
{
	json_t *devices = NULL, *device;
	size_t i;
	int rc = db_array(db, &devices, err,
		"SELECT device, ranked FROM leaderboard_devices WHERE leaderboard = ? ORDER BY position", "i",
		(int64_t)member_int(board, "id"));
	if (rc < 0)
		return rc;
	(void)json_object_set_new(board, "devices", devices);
	json_array_foreach(devices, i, device) {
		AUTO_JSON json_t *podium = NULL;
		rc = ranking_podium(db, member_int(board, "id"), json_text_or_empty(device, "device"), &podium, err);
		if (rc < 0)
			return rc;
		const json_t *first = json_array_get(podium, 0);
		(void)json_object_set_new(device, "leader",
			first ? json_pack("{s:O, s:O, s:O}", "user_name", json_object_get(first, "user_name"), "score",
						json_object_get(first, "score"), "submission", json_object_get(first, "submission"))
				  : json_null());
	}
	return 0;
}

int
standings_boards(struct db *db, const struct actor *actor, const char *name, json_t **ret_boards,
	bool *ret_has_standings, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	bool without = false;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, description, deadline_at AS deadline_iso, opens_at AS opens_iso, coalesce(deadline_at < ?1, "
		"0) AS "
		"ended_bool, coalesce(json_extract(source_json, '$.standings') = 0, 0) AS without_bool FROM leaderboards b "
		"WHERE "
		"problem_set = ?4 COLLATE NOCASE AND " BOARD_MAY_SEE "ORDER BY coalesce(deadline_at, 1 << 62), name",
		"iiis", db->now_ms, board_sees_all(actor), board_user(actor), name);
	if (rc == 0 && json_array_size(boards) == 0)
		rc = fail_unknown(db, actor, name, err);
	for (size_t i = 0; i < json_array_size(boards) && rc == 0; i++) {
		json_t *board = json_array_get(boards, i);
		without = without || member_true(board, "without");
		(void)json_object_del(board, "without");
		rc = add_leaders(db, board, err);
	}
	if (rc < 0)
		return rc;
	*ret_boards = STEAL(boards);
	*ret_has_standings = !without;
	return 0;
}

/*
 * Only the places of a ranking that get points are read. A rank r that n users share takes the places r to r + n - 1,
 * of which m are among the first ten: together m * (11 - r) - m * (m - 1) / 2 points.
 */
#define POINTS \
	"WITH boards (id) AS (SELECT json_extract(value, '$.id') FROM json_each(?1)), places AS (SELECT p.user, rank() " \
	"OVER " \
	"(PARTITION BY p.leaderboard, p.device ORDER BY p.score) AS r, count(*) OVER (PARTITION BY p.leaderboard, " \
	"p.device, " \
	"p.score) AS n FROM boards CROSS JOIN leaderboard_devices d ON d.leaderboard = boards.id CROSS JOIN best p ON " \
	"p.leaderboard = d.leaderboard AND p.device = d.device WHERE p.score <= coalesce((SELECT q.score FROM best q " \
	"WHERE " \
	"q.leaderboard = d.leaderboard AND q.device = d.device ORDER BY q.score LIMIT 1 OFFSET ?2 - 1), 9e999)), shares " \
	"AS " \
	"(SELECT user, n, ?2 + 1 - r AS top, min(n, ?2 + 1 - r) AS m FROM places WHERE r <= ?2), points AS (SELECT user, " \
	"sum((m * top - m * (m - 1) / 2.0) / n) AS points, count(*) AS places FROM shares GROUP BY user) "

int
standings_page(
	struct db *db, const json_t *boards, int64_t limit, int64_t offset, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	int64_t count = 0;
	int rc = db_int(db, &count, err, POINTS "SELECT count(*) FROM points", "ji", boards, (int64_t)STANDINGS_PLACES);
	if (rc == 0)
		rc = db_array(db, &entries, err,
			POINTS "SELECT rank() OVER (ORDER BY round(points, 6) DESC) AS rank, user AS user_id_text, u.name AS "
				   "user_name, round(points, 2) AS points, places FROM points JOIN users u ON u.id = user ORDER BY "
				   "points.points DESC, u.name LIMIT ?3 OFFSET ?4",
			"jiii", boards, (int64_t)STANDINGS_PLACES, limit, offset);
	if (rc == 0)
		*ret_page = json_pack("{s:I, s:O}", "count", (json_int_t)count, "entries", entries);
	return rc;
}
