/* SPDX-License-Identifier: MIT */
/* The bot as all conversations share it: the engine, Discord's REST, the settings, the guild. Loop thread. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stdint.h>

#include "discord/text/snowflake.h"

struct rest;
struct bot_command;
struct submit;
struct submission_messages;
struct later;
struct outbox;
struct gateway;
struct announce;
struct creations;

/* Roles of the guild that Kettle knows. */
enum bot_role { BOT_ADMIN, BOT_CREATOR, BOT_PARTICIPANTS, BOT_ROLES };

/* The options, parsed. Texts are the bot's. */
struct bot_settings {
	char guild[SNOWFLAKE_SIZE];
	char submissions[SNOWFLAKE_SIZE]; /* channels; "": none */
	char announcements[SNOWFLAKE_SIZE];
	char forum[SNOWFLAKE_SIZE];
	char operators[SNOWFLAKE_SIZE];
	const char *roles[BOT_ROLES]; /* names or ids; NULL: none */
	uint64_t max_script, max_zip; /* bytes of an attachment */
	int64_t life_ms;              /* for which an interaction can be answered */
};

struct bot {
	const struct kettle_host *host;
	struct rest *rest;
	struct bot_settings settings;
	const struct bot_command *commands;    /* of commands/table.c */
	char application[SNOWFLAKE_SIZE];      /* "": not known yet */
	char user[SNOWFLAKE_SIZE];             /* the bot's own account */
	char roles[BOT_ROLES][SNOWFLAKE_SIZE]; /* "": the guild has none */
	bool stopping;                         /* requests end with ECANCELED, and nothing counts as posted */
	int64_t started_ms;                    /* wall clock: an earlier process may have handled events before this */
	json_t *boards;                        /* of interaction.c */
	unsigned long boards_generation;
	json_t *seen; /* ids of interactions that have come, a ring */
	size_t seen_next;
	struct submit *submit; /* data of flows/, a member for each file */
	struct submission_messages *lives;
	struct announce *announce;
	struct later *later;
	struct outbox *outbox;
	struct gateway *gateway; /* NULL: none, as with the endpoint */
	struct creations *creations;
};

/* The bot's calls of the host. */
#define bot_log(bot, ...) ((bot)->host->log((bot)->host, __VA_ARGS__))
#define bot_call(bot, ...) ((bot)->host->call((bot)->host, __VA_ARGS__))
#define bot_put(bot, ...) ((bot)->host->state_put((bot)->host, __VA_ARGS__))

/* Takes the guild's roles, which are new or have changed: an array of Discord's role objects. */
void bot_take_roles(struct bot *bot, const json_t *roles);
/* Logs a warning for each channel or role of the options that the guild lacks. The roles must be known. */
void bot_check_places(struct bot *bot);
/* The actor for a member of the guild: {"provider": "discord", "subject", "name", "role"?}. New reference. */
json_t *bot_actor(const struct bot *bot, const json_t *member);
/* The bot as an actor, for reading what it announces; it has an admin's rights. New reference. */
json_t *bot_own_actor(void);
/* Whether this snowflake of an interaction or component is new; remembers it. */
bool bot_is_new(struct bot *bot, const char *id);

struct later *later_new(struct bot *bot);
/* Makes all waiting calls now. bot->stopping is set, so the called functions end. */
void later_stop(struct later *later);
void later_free(struct later *later); /* after later_stop; NULL is allowed */
/* Calls fn(arg) once, about ms from now, or as soon as the bot stops. */
void later_call(struct bot *bot, uint64_t ms, kettle_fn fn, void *arg);
