/* SPDX-License-Identifier: MIT */
/* The first page: the boards; and a board's ranking. */
#include <config.h>

#include "base/json_access.h"
#include "web/site/pages.h"

#define PLACES 100 /* on a page of a ranking */

void
boards_finish(const struct visit *visit, json_t *model)
{
	json_t *open = json_array(), *ended = json_array();
	(void)visit;
	json_array_each(json_object_get(model, "boards"), board)
		json_array_append(member_true(board, "ended") ? ended : open, board);
	json_object_set_new(model, "open", open);
	json_object_set_new(model, "ended", ended);
}

json_t *
board_args(const struct visit *visit)
{
	const char *device = site_query(visit, "device");
	json_int_t page = site_number(visit, "page");
	return json_pack("{s:s, s:s*, s:i, s:I}", "name", site_segment(visit, 1), "device", device, "limit", PLACES,
		"offset", page > 1 ? (page - 1) * PLACES : 0);
}

void
board_finish(const struct visit *visit, json_t *model)
{
	(void)visit;
	(void)model;
}
