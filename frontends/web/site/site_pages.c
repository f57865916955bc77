/* SPDX-License-Identifier: MIT */
/* All pages and forms: their paths, the commands that they call, their templates. */
#include <config.h>

#include "web/site/pages.h"

static json_t *
args_all(const struct visit *visit)
{
	(void)visit;
	return json_pack("{s:b, s:b}", "all", 1, "short", 1);
}

const struct site_page site_pages[] = {
	{.path = "",
		.template = "boards",
		.title = "Leaderboards",
		.data = "/api/v1/leaderboard.list?all=true&short=true",
		.reads = {{"boards", "leaderboard.list", args_all, false}},
		.finish = boards_finish,
		.kept = true},
	{.path = "board/*",
		.query = "device page ",
		.template = "board",
		.title = "{board.leaderboard.name}",
		.data = "/api/v1/leaderboard.show?name={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", board_args, false}},
		.finish = board_finish,
		.kept = true},
	{.path = NULL},
};

const struct site_form site_forms[] = {
	{.path = NULL},
};
