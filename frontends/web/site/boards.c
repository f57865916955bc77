/* SPDX-License-Identifier: MIT */
/* The first page: the leaderboards. */
#include <config.h>

#include "base/json_access.h"
#include "web/site/parts.h"

static json_t *
args_all(const struct visit *visit)
{
	(void)visit;
	return json_pack("{s:b, s:b}", "all", 1, "short", 1);
}

static void
finish(const struct visit *visit, json_t *model)
{
	json_t *open = json_array(), *ended = json_array();
	(void)visit;
	json_array_each(json_object_get(model, "boards"), board)
		json_array_append(member_true(board, "ended") ? ended : open, board);
	json_object_set_new(model, "open", open);
	json_object_set_new(model, "ended", ended);
}

static const struct site_page pages[] = {
	{.path = "",
		.template = "boards",
		.title = "Leaderboards",
		.data = "/api/v1/leaderboard.list?all=true&short=true",
		.reads = {{"boards", "leaderboard.list", args_all, false}},
		.finish = finish,
		.kept = true},
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_boards = {pages, forms};
