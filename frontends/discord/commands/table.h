/* SPDX-License-Identifier: MIT */
/*
 * The bot's commands, one row each: registration, dispatch, completion, the help and docs/discord.md come from here. What
 * a row calls is in a cmd_ file of this folder or, where the conversation goes on, in flows/.
 */
#ifndef KETTLE_DISCORD_COMMANDS_TABLE_H
#define KETTLE_DISCORD_COMMANDS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "discord/interaction/interaction.h"

enum option_kind {
	OPTION_KIND_TEXT = 3, /* the values are Discord's */
	OPTION_KIND_INTEGER = 4,
	OPTION_KIND_FLAG = 5,
	OPTION_KIND_USER = 6,
	OPTION_KIND_FILE = 11,
};

/* An option of the bot's own. */
struct option {
	const char *name, *help;
	enum option_kind kind;
	bool required;
	bool completes; /* complete.c knows its name */
};

/*
 * A command. Most are one of the core's, whose arguments are its options. `args` has their names, in any order: "*" stands for all
 * that Discord has a kind for and that are not repeated, but for those as "-a"; "a=b" for the argument a as the option b, "a!" and
 * "a?" for one that is required, or not, whatever the core says.
 */
struct bot_command {
	const char *path;                             /* "leaderboard submit test" */
	const char *help;                             /* 1 to 100 characters; NULL: the core's */
	const char *of, *args;                        /* the command of the core, and its arguments; or NULL */
	const char *with;                             /* further arguments, as JSON; or NULL */
	interaction_fn answered;                      /* shows the answer of the core; NULL: by the command table's view */
	const struct option *options;                 /* ends with a NULL name; or NULL */
	void (*run)(struct interaction *interaction); /* in place of all this; or NULL */
	bool open;                                    /* all users see the answer */
	bool at_once; /* it answers with a form, which cannot follow a deferral, or needs no time */
};

/* A button, a menu or a form by the verb of its custom id. */
struct verb {
	const char *name;
	void (*run)(struct interaction *interaction, const char *arguments); /* what follows the colon, or "" */
};

extern const struct bot_command discord_commands[]; /* ends with a NULL path */
extern const struct verb discord_verbs[];           /* ends with a NULL name */

#endif
