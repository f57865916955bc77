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

/* What a text option completes from. */
enum option_completes { COMPLETES_NOTHING, COMPLETES_BOARD, COMPLETES_DEVICE, COMPLETES_LANGUAGE };

struct option {
	const char *name, *help;
	enum option_kind kind;
	bool required; /* required ones come first */
	enum option_completes completes;
	const char *choices_of[2]; /* a command of the core and its argument, which has them; or NULLs */
};

struct bot_command {
	const char *path;             /* "leaderboard submit test" */
	const char *help;             /* 1 to 100 characters */
	const struct option *options; /* ends with a NULL name; or NULL */
	void (*run)(struct interaction *interaction);
	bool open;    /* everybody sees the answer */
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
