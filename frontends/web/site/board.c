/* SPDX-License-Identifier: MIT */
/* A board's ranking, and its picture. */
#include <config.h>

#include "web/site/parts.h"

#define PLACES 100 /* on a page of a ranking */

static json_t *
args_show(const struct visit *visit)
{
	json_int_t page = site_number(visit, "page");
	return json_pack("{s:s, s:s*, s:i, s:I}", "name", site_segment(visit, 1), "device", site_query(visit, "device"),
		"limit", PLACES, "offset", page > 1 ? (page - 1) * PLACES : 0);
}

static const struct site_page pages[] = {
	{.path = "board/*",
		.query = "device page ",
		.template = "board",
		.title = "{board.leaderboard.name}",
		.data = "/api/v1/leaderboard.show?name={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", args_show, false}},
		.kept = true},
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_board = {pages, forms};
