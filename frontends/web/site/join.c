/* SPDX-License-Identifier: MIT */
/* Invitations: what a code opens, and its use. */
#include <config.h>

#include "web/site/parts.h"

static const struct site_page pages[] = {
	{.path = "join/*",
		.template = "join",
		.title = "Invitation",
		.reads = {{"invite", "leaderboard.join", "code=/1 dry_run=true"}},
		.needs_user = true},
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = "join/*", .command = "leaderboard.join", .args = "code=/1", .next = "/join/{result.code}"},
	{.path = NULL},
};

const struct site_part part_join = {pages, forms};
