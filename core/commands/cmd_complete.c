/* SPDX-License-Identifier: MIT */
/* Completions for a shell: the names and numbers that the actor may see. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "model/board.h"
#include "model/submissions.h"

#define COMPLETE_MAX 100 /* values that are offered */

/* The devices of the leaderboard, or all configured ones. New reference. */
static int
device_names(const struct command_call *call, json_t **ret_names, struct kettle_error *err)
{
	struct board board;
	const char *name = json_text_or_null(call->args, "leaderboard");
	if (!name) {
		*ret_names = board_configured(call->env);
		return 0;
	}
	int rc = board_find_visible(call->db, call->actor, name, &board, err);
	return rc < 0 ? rc : board_devices(call->db, board.id, ret_names, err);
}

static int
complete_devices(const struct command_call *call, const char *prefix, json_t **ret_values, struct kettle_error *err)
{
	AUTO_JSON json_t *names = NULL;
	int rc = device_names(call, &names, err);
	if (rc < 0)
		return rc;
	json_t *values = json_array();
	json_array_each(names, name)
		if (strncasecmp(json_string_value(name), prefix, strlen(prefix)) == 0 && json_array_size(values) < COMPLETE_MAX)
			(void)json_array_append_new(values, json_pack("{s:O}", "value", name));
	*ret_values = values;
	return 0;
}

int
cmd_complete(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *prefix = json_text_or_null(call->args, "prefix");
	if (json_object_get(call->args, "leaderboard") && !member_is(call->args, "what", "device"))
		return kettle_fail(err, KETTLE_EINVAL, "`leaderboard` goes with `device`; leave it out.");
	if (member_is(call->args, "what", "board"))
		return board_names(call->db, call->actor, prefix, COMPLETE_MAX, ret_result, err);
	if (member_is(call->args, "what", "device"))
		return complete_devices(call, prefix, ret_result, err);
	return submission_names(
		call->db, call->actor, prefix, member_true(call->args, "others"), COMPLETE_MAX, ret_result, err);
}
