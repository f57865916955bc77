/* SPDX-License-Identifier: MIT */
/* Commands that show competitions: their leaderboards, leaders and standings. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/standings.h"

int
cmd_competition_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	return standings_competitions(call->db, call->actor, ret_result, err);
}

int
cmd_competition_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *name = member_string(call->args, "name");
	AUTO_JSON json_t *boards = NULL, *page = NULL;
	bool has_standings = false;
	int rc = standings_boards(call->db, call->actor, name, &boards, &has_standings, err);
	if (rc == 0 && has_standings)
		rc = standings_page(
			call->db, boards, member_int(call->args, "limit"), member_int(call->args, "offset"), &page, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O, s:O?, s:O?}", "name", name, "leaderboards", boards, "count",
			json_object_get(page, "count"), "standings", json_object_get(page, "entries"));
	return rc;
}
