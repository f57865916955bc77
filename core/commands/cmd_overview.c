/* SPDX-License-Identifier: MIT */
/* All leaderboards at a glance: who leads, what has changed, where the caller is. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/ranking.h"
#include "model/records.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static json_t *
leader_of(const json_t *row)
{
	return json_pack("{s:O, s:O, s:O, s:O}", "rank", json_object_get(row, "rank"), "user_name",
		json_object_get(row, "user_name"), "score", json_object_get(row, "score"), "submission_id",
		json_object_get(row, "submission"));
}

/* Adds "own": the caller's place, or null. */
static int
add_own(const struct command_call *call, int64_t board, const char *name, json_t *device, struct kettle_error *err)
{
	struct ranking_position position;
	json_t *above = NULL;
	int rc = ranking_of(call->db, board, name, call->actor->user, &position, err);
	if (rc == 0 && position.rank)
		rc = ranking_overtaken_by(call->db, board, name, &position, &above, err);
	if (rc == 0)
		(void)json_object_set_new(device, "own",
			position.rank ? json_pack("{s:I, s:f, s:I, s:o}", "rank", (json_int_t)position.rank, "score",
								position.score, "submission_id", (json_int_t)position.submission, "overtaken_by", above)
						  : json_null());
	return rc;
}

static int
add_device(const struct command_call *call, const json_t *board, json_t *device, struct kettle_error *err)
{
	AUTO_JSON json_t *podium = NULL, *before = json_null(), *first = json_array();
	int64_t id = member_int(board, "id");
	const char *name = json_text_or_empty(device, "device");
	int rc = ranking_podium(call->db, id, name, &podium, err);
	if (rc == 0 && !member_true(board, "ended"))
		rc = records_best_until(call->db, id, name, call->db->now_ms - DAY_MS, &before, err);
	if (rc < 0)
		return rc;
	json_array_each(podium, row)
		(void)json_array_append_new(first, leader_of(row));
	(void)json_object_set(device, "first", first);
	(void)json_object_set(device, "day_ago", before);
	(void)json_object_set_new(device, "own", json_null());
	return member_true(board, "submitted") ? add_own(call, id, name, device, err) : 0;
}

int
cmd_board_overview(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	int rc = board_overview(call->db, call->actor, &boards, err);
	if (rc < 0)
		return rc;
	json_array_each(boards, board) {
		json_t *devices = NULL;
		rc = ranking_devices(call->db, member_int(board, "id"), &devices, err);
		if (rc < 0)
			return rc;
		(void)json_object_set_new(board, "devices", devices);
		json_array_each(devices, device) {
			rc = add_device(call, board, device, err);
			if (rc < 0)
				return rc;
		}
		(void)json_object_del(board, "id");
	}
	*ret_result = STEAL(boards);
	return 0;
}
