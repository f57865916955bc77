/* SPDX-License-Identifier: MIT */
/* Commands on the rate limits of a leaderboard. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/rate_limit.h"

static int
list(struct db *db, const struct board *board, const char *category, const char *device, json_t **ret_result,
	struct kettle_error *err)
{
	AUTO_JSON json_t *limits = NULL;
	int rc = rate_limit_list(db, board, category, device, &limits, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "leaderboard", board->name, "limits", limits);
	return rc;
}

/* One of the board's devices, by a word for it; *ret_device is borrowed from *ret_of_board, a new reference. */
static int
pick_device(struct db *db, const struct board *board, const char *word, json_t **ret_of_board, const char **ret_device,
	struct kettle_error *err)
{
	char where[BOARD_NAME_MAX + 32];
	(void)snprintf(where, sizeof(where), "The leaderboard `%s` has", board->name);
	int rc = board_devices(db, board->id, ret_of_board, err);
	return rc < 0 ? rc : board_pick_device(*ret_of_board, word, where, ret_device, err);
}

int
cmd_rate_limits(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *of_board = NULL;
	const char *word = member_string(call->args, "device"), *device = NULL;
	int rc = board_find_visible(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0 && word)
		rc = pick_device(call->db, &board, word, &of_board, &device, err);
	return rc < 0 ? rc : list(call->db, &board, member_string(call->args, "category"), device, ret_result, err);
}

/* A limit that is set or removed. */
struct limit {
	struct db *db;
	const struct board *board;
	const char *category; /* NULL: both */
	const char *device;   /* NULL: of all together; to remove: whatever it is of */
	json_t *of_board;     /* what device is borrowed from */
	int64_t per_hour;
};

static int
check_rate_arguments(struct limit *limit, const json_t *args, struct kettle_error *err)
{
	const char *word = member_string(args, "device");
	bool removes = member_true(args, "remove");
	const json_t *per_hour = json_object_get(args, "per_hour");
	if (removes == (per_hour != NULL))
		return kettle_fail(err, KETTLE_EINVAL, "Say either how many submissions an hour (`per_hour`) or `remove`.");
	limit->category = member_string(args, "category");
	limit->per_hour = json_integer_value(per_hour);
	limit->device = word;
	if (removes || !word)
		return 0;
	return pick_device(limit->db, limit->board, word, &limit->of_board, &limit->device, err);
}

static int
record_limit(const struct limit *limit, const struct actor *actor, bool removed, struct kettle_error *err)
{
	AUTO_JSON json_t *data = json_pack("{s:s, s:s?, s:s?, s:o}", "name", limit->board->name, "category",
		limit->category, "device", limit->device, "per_hour", removed ? json_null() : json_integer(limit->per_hour));
	return db_event(limit->db, "leaderboard.limited", 'p', limit->board->id, 0, actor->user, data, err);
}

int
cmd_rate_limit(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct limit limit = {.db = call->db, .board = &board};
	bool removes = member_true(call->args, "remove");
	int rc = board_find_owned(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0)
		rc = check_rate_arguments(&limit, call->args, err);
	if (rc == 0)
		rc = removes ? rate_limit_remove(call->db, &board, limit.category, limit.device, err)
					 : rate_limit_set(call->db, &board, limit.category, limit.device, limit.per_hour, err);
	if (rc == 0)
		rc = record_limit(&limit, call->actor, removes, err);
	if (rc == 0)
		rc = list(call->db, &board, NULL, NULL, ret_result, err);
	json_decref(limit.of_board);
	return rc;
}
