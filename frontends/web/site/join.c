/* SPDX-License-Identifier: MIT */
/* Invitations: what a code opens, and its use. */
#include <config.h>

#include "web/site/parts.h"

static json_t *
args_look(const struct visit *visit)
{
	return json_pack("{s:s, s:b}", "code", site_segment(visit, 1), "dry_run", 1);
}

static json_t *
args_join(const struct visit *visit)
{
	return json_pack("{s:s}", "code", site_segment(visit, 1));
}

static const struct site_page pages[] = {
	{.path = "join/*",
		.template = "join",
		.title = "Invitation",
		.reads = {{"invite", "leaderboard.join", args_look, false}},
		.needs_user = true},
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = "join/*",
		.page = "join/*",
		.command = "leaderboard.join",
		.args = args_join,
		.next = "/join/{result.code}"},
	{.path = NULL},
};

const struct site_part part_join = {pages, forms};
