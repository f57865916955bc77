/* SPDX-License-Identifier: MIT */
/* The opening and the end of leaderboards, each told once. */
#include <config.h>

#include "model/board_life.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/ranking.h"

#define STEP_MAX 100 /* boards of one transaction, of each kind */

static int
open_boards(struct db *db, struct board_life *life, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	size_t i;
	json_t *board;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, deadline_at AS deadline_iso FROM leaderboards WHERE opens_at IS NOT NULL AND opened_at IS "
		"NULL AND NOT " DB_UNOPENED " LIMIT ?",
		"i", (int64_t)STEP_MAX);
	json_array_foreach(boards, i, board) {
		int64_t id = member_int(board, "id");
		AUTO_JSON json_t *data = json_pack(
			"{s:O, s:O}", "name", json_object_get(board, "name"), "deadline", json_object_get(board, "deadline"));
		if (rc == 0)
			rc = db_exec(db, err, "UPDATE boards SET opened_at = ? WHERE id = ?", "ii", db->now_ms, id);
		if (rc == 0)
			rc = db_event(db, "leaderboard.opened", 'p', id, 0, 0, data, err);
	}
	life->more = life->more || json_array_size(boards) == STEP_MAX;
	return rc;
}

/* The first three on each device of the board. */
static int
read_podiums(struct db *db, int64_t board, json_t **ret_podiums, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL, *podiums = json_array();
	size_t i;
	json_t *device;
	int rc = board_devices(db, board, &devices, err);
	json_array_foreach(devices, i, device) {
		json_t *podium = NULL;
		if (rc == 0)
			rc = ranking_podium(db, board, json_string_value(device), &podium, err);
		if (rc == 0)
			(void)json_array_append_new(podiums, json_pack("{s:O, s:o}", "device", device, "podium", podium));
	}
	if (rc == 0)
		*ret_podiums = STEAL(podiums);
	return rc;
}

static int
end_board(struct db *db, const json_t *board, struct kettle_error *err)
{
	int64_t id = member_int(board, "id");
	AUTO_JSON json_t *podiums = NULL;
	int rc = read_podiums(db, id, &podiums, err);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE boards SET ended_at = ? WHERE id = ?", "ii", db->now_ms, id);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "name", json_object_get(board, "name"), "deadline",
		json_object_get(board, "deadline"), "devices", podiums);
	return db_event(db, "leaderboard.ended", 'p', id, 0, 0, data, err);
}

/* The open jobs first: they are few, and the submissions of a board may be many. */
static int
end_boards(struct db *db, struct board_life *life, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	size_t i;
	json_t *board;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, deadline_at AS deadline_iso, EXISTS (SELECT 1 FROM jobs j CROSS JOIN submissions s ON s.id = "
		"j.submission WHERE j.done_at IS NULL AND s.leaderboard = b.id AND s.mode = 'ranked' AND NOT s.practice) AS "
		"open_bool FROM leaderboards b WHERE deadline_at IS NOT NULL AND ended_at IS NULL AND deadline_at < ? ORDER BY "
		"open_bool LIMIT ?",
		"ii", db->now_ms, (int64_t)STEP_MAX);
	json_array_foreach(boards, i, board) {
		if (member_true(board, "open"))
			life->waiting = true;
		else if (rc == 0)
			rc = end_board(db, board, err);
	}
	life->more = life->more || (json_array_size(boards) == STEP_MAX && !life->waiting);
	return rc;
}

int
board_life_step(struct db *db, struct board_life *ret_life, struct kettle_error *err)
{
	struct board_life life = {0};
	int rc = open_boards(db, &life, err);
	if (rc == 0)
		rc = end_boards(db, &life, err);
	/* A board opens at a whole second, and has ended when its deadline has passed. */
	if (rc == 0)
		rc = db_int(db, &life.next_ms, err,
			"SELECT coalesce(min(at), 0) FROM (SELECT min(deadline_at) + 1 AS at FROM leaderboards WHERE deadline_at "
			"IS NOT NULL AND ended_at IS NULL AND deadline_at >= ?1 UNION ALL SELECT (min(opens_at) + 999) / 1000 * "
			"1000 FROM leaderboards WHERE opens_at IS NOT NULL AND opened_at IS NULL)",
			"i", db->now_ms);
	if (rc == 0)
		*ret_life = life;
	return rc;
}

int
board_life_fault(
	struct db *db, int64_t leaderboard, int64_t submission, int64_t accuser, json_t *data, struct kettle_error *err)
{
	int64_t creator = 0;
	int rc = db_int(db, &creator, err,
		"SELECT coalesce((SELECT creator FROM boards WHERE id = ?1 AND fault_at IS NULL AND (?2 IN (0, creator) OR "
		"accuser <> ?2)), 0)",
		"ii", leaderboard, accuser);
	if (rc == 0 && creator == 0)
		return db_exec(db, err, "UPDATE boards SET accuser = ? WHERE id = ? AND accuser IS NULL AND fault_at IS NULL",
			"ii", accuser, leaderboard);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE boards SET fault_at = ? WHERE id = ?", "ii", db->now_ms, leaderboard);
	return rc < 0 ? rc : db_event(db, "leaderboard.fault", 'u', leaderboard, submission, creator, data, err);
}

int
board_life_works(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	return db_exec(db, err,
		"UPDATE boards SET fault_at = NULL, accuser = NULL WHERE id = ? AND (fault_at IS NOT NULL OR accuser IS NOT "
		"NULL)",
		"i", leaderboard);
}
