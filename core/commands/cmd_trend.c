/* SPDX-License-Identifier: MIT */
/* The best scores of a leaderboard over time, and the changes of its first places. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "model/board.h"
#include "model/podium.h"
#include "model/ranking.h"
#include "model/records.h"
#include "model/user.h"

/* The users whose own trends are read. */
struct trend_users {
	struct user items[TREND_USERS_MAX];
	size_t count;
};

/*
 * A user who is ranked on the board, by a caller's text. For one who exists unranked the answer is that for an unknown one, as
 * it is for the identity of another user.
 */
static int
find_ranked(const struct command_call *call, const struct board *board, const json_t *named, struct user *ret_user,
	struct kettle_error *err)
{
	struct user_ref ref;
	bool ranked = false;
	int rc = user_ref_read(named, &ref, err);
	if (rc < 0)
		return rc;
	rc = user_find_shown(call->db, call->actor, named, ret_user, err);
	if (rc == 0)
		rc = ranking_has(call->db, board->id, ret_user->id, &ranked, err);
	if (rc != KETTLE_ENOENT && (rc < 0 || ranked))
		return rc;
	AUTO_FREE char *text = user_ref_text(&ref);
	return kettle_fail(err, KETTLE_ENOENT, "No user `%.80s` is ranked on `%s`.", text, board->name);
}

/* The users that the arguments name, each once; mine: the actor first, even if not ranked. */
static int
find_users(
	const struct command_call *call, const struct board *board, struct trend_users *users, struct kettle_error *err)
{
	const json_t *names = json_object_get(call->args, "user");
	if (member_true(call->args, "mine") && call->actor->user) {
		int rc = user_get(call->db, call->actor->user, &users->items[0], err);
		if (rc < 0)
			return rc;
		users->count = 1;
	}
	json_array_each(names, name) {
		struct user found;
		bool known = false;
		int rc = find_ranked(call, board, name, &found, err);
		if (rc < 0)
			return rc;
		for (size_t k = 0; k < users->count; k++)
			known = known || users->items[k].id == found.id;
		if (known)
			continue;
		if (users->count == TREND_USERS_MAX)
			return kettle_blame(err, KETTLE_CAUSE_NONE, "user",
				kettle_fail(err, KETTLE_EINVAL, "`user` names more than %d users.", TREND_USERS_MAX));
		users->items[users->count++] = found;
	}
	return 0;
}

/* Appends a series: of a user, or (NULL) of all. */
static int
add_series(const struct command_call *call, const struct board *board, const char *device, const struct user *user,
	json_t *series, struct kettle_error *err)
{
	json_t *trend = NULL;
	int rc =
		records_trend(call->db, board->id, device, user ? user->id : 0, member_int(call->args, "limit"), &trend, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(trend, "user_id", user ? json_sprintf("%lld", (long long)user->id) : json_null());
	(void)json_object_set_new(trend, "user_name", user ? json_string(user->name) : json_null());
	(void)json_array_append_new(series, trend);
	return 0;
}

static int
add_device(const struct command_call *call, const struct board *board, const char *device,
	const struct trend_users *users, json_t *trends, struct kettle_error *err)
{
	AUTO_JSON json_t *series = json_array();
	int rc = add_series(call, board, device, NULL, series, err);
	for (size_t i = 0; i < users->count && rc == 0; i++)
		rc = add_series(call, board, device, &users->items[i], series, err);
	if (rc == 0)
		(void)json_array_append_new(trends, json_pack("{s:s, s:O}", "device", device, "series", series));
	return rc;
}

int
cmd_board_trend(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct trend_users users = {.count = 0};
	AUTO_JSON json_t *devices = NULL, *trends = json_array();
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0)
		rc = board_choose_devices(call->db, &board, json_text_or_null(call->args, "device"), &devices, err);
	if (rc == 0)
		rc = find_users(call, &board, &users, err);
	for (size_t i = 0; i < json_array_size(devices) && rc == 0; i++)
		rc = add_device(call, &board, json_string_value(json_array_get(devices, i)), &users, trends, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "leaderboard", board.name, "trends", trends);
	return rc;
}

int
cmd_board_podiums(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	AUTO_JSON json_t *devices = NULL;
	const char *device = json_text_or_null(call->args, "device");
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), &board, err);
	if (rc == 0 && device)
		rc = board_choose_devices(call->db, &board, device, &devices, err);
	return rc < 0 ? rc
				  : podium_changes(call->db, &board, json_string_value(json_array_get(devices, 0)),
						member_int(call->args, "before"), member_int(call->args, "limit"), ret_result, err);
}
