/* SPDX-License-Identifier: MIT */
/* The command that changes a leaderboard. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "model/board_update.h"
#include "task/task.h"

#include <string.h>

/* The arguments as a change; *ret_bundle and *ret_devices hold what it borrows. */
static int
read_change(struct db *db, const struct command_env *env, const json_t *args, struct board_change *change,
	json_t **ret_bundle, json_t **ret_devices, struct kettle_error *err)
{
	const char *deadline = member_string(args, "deadline");
	const json_t *devices = json_object_get(args, "device"), *task = json_object_get(args, "task");
	change->description = member_string(args, "description");
	change->visibility = member_string(args, "visibility");
	change->code = member_string(args, "code");
	change->force = member_true(args, "force");
	change->set_deadline = deadline != NULL;
	bool any = deadline || devices || task || change->description || change->visibility || change->code;
	if (!any)
		return kettle_fail(err, KETTLE_EINVAL,
			"Nothing is to be changed: give a deadline, devices, a visibility, who may read code, a description or a "
			"task.");
	int rc = deadline ? board_deadline(deadline, db->now_ms, &change->deadline_at, err) : 0;
	if (rc == 0 && devices)
		rc = board_pick_devices(env, devices, ret_devices, err);
	if (rc == 0 && task)
		rc = task_check_bundle(env->languages, task, ret_bundle, err);
	change->devices = *ret_devices;
	change->bundle = *ret_bundle;
	return rc;
}

static json_t *
remarks_of(const struct db *db, const struct board_change *change)
{
	json_t *remarks = json_copy(json_object_get(change->bundle, "remarks"));
	if (!remarks)
		remarks = json_array();
	if (change->set_deadline && change->deadline_at && change->deadline_at <= db->now_ms)
		(void)json_array_append_new(remarks, json_string("The deadline has already passed."));
	return remarks;
}

int
cmd_board_update(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct board_change change = {0};
	AUTO_JSON json_t *bundle = NULL, *devices = NULL, *result = NULL, *object = NULL;
	int rc = board_find_owned(call->db, call->actor, member_string(call->args, "name"), &board, err);
	if (rc == 0)
		rc = read_change(call->db, call->env, call->args, &change, &bundle, &devices, err);
	if (rc == 0)
		rc = board_update(call->db, call->actor, &board, &change, &result, err);
	if (rc == 0)
		rc = board_object(call->db, board.id, &object, err);
	if (rc < 0)
		return rc;
	(void)json_object_set(result, "leaderboard", object);
	(void)json_object_set_new(result, "remarks", remarks_of(call->db, &change));
	*ret_result = STEAL(result);
	return 0;
}
