/* SPDX-License-Identifier: MIT */
/* Invitations: what a code opens, and its use. */
#include <config.h>

#include "web/site/parts.h"

const struct site_page pages_join[] = {
	{.path = "join/*",
		.template = "join",
		.title = "Invitation",
		.reads = {{"invite", "leaderboard.join", "code=/1 dry_run=true"}},
		.form = {"leaderboard.join", "code=/1", "/join/{result.code}"}},
	{.path = NULL},
};
