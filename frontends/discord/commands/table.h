/* SPDX-License-Identifier: MIT */
/*
 * The bot's commands, one row each: the source of registration, dispatch, completion, the help and docs/discord.md. A
 * row's functions are in a cmd_ file of this folder or, for conversations, in flows/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "discord/interaction/interaction.h"

enum option_kind {
	OPTION_KIND_TEXT = 3, /* Discord's numbers */
	OPTION_KIND_INTEGER = 4,
	OPTION_KIND_FLAG = 5,
	OPTION_KIND_USER = 6,
	OPTION_KIND_FILE = 11,
};

/* An option that only the bot has. */
struct option {
	const char *name, *help;
	enum option_kind kind;
	bool required;
	bool completes;             /* dispatch.c knows its name */
	const char *const *choices; /* ends with NULL; NULL: any text */
};

/*
 * A command. Most are a command of the core, whose arguments are the options. `args` has their names, in any order:
 * "*" for all arguments that Discord has a kind for and that are not repeated, except those listed as "-a"; "a=b" for
 * the argument a as the option b; "a!" and "a?" for one that is required, or optional, whatever the core says.
 */
struct bot_command {
	const char *path;      /* "leaderboard submit test" */
	const char *help;      /* 1 to 100 characters; NULL: the core's */
	const char *of, *args; /* command of the core, and its arguments; or NULL */
	const char *with;      /* further arguments, as JSON; or NULL */
	/* Shows the answer of the core; NULL: by the command table's view. */
	void (*answered)(struct interaction *interaction, const json_t *result);
	const char *says;                             /* in its place, a template (answer_template); or NULL */
	const struct option *options;                 /* ends with a NULL name; or NULL */
	void (*run)(struct interaction *interaction); /* in place of all this; or NULL */
	bool open;                                    /* all users see the answer */
	bool at_once; /* it answers with a form, which cannot follow a deferral, or at once */
};

/* The handler of a button, a menu or a form, by the verb of its custom id. */
struct verb {
	const char *name;
	void (*run)(
		struct interaction *interaction, const char *arguments); /* arguments: the text after the colon, or "" */
};

extern const struct bot_command discord_commands[]; /* ends with a NULL path */
extern const struct verb discord_verbs[];           /* ends with a NULL name */
