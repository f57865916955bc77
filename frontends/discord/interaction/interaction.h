/* SPDX-License-Identifier: MIT */
/*
 * One interaction of a user with the bot: a command, a pressed button or chosen entry, a sent form, a completion. Loop
 * thread.
 *
 * Discord expects a first answer within three seconds and takes further ones for fifteen minutes. A handler either
 * defers at once and answers later, or answers at once; after that, each further answer replaces the message. After
 * the fifteen minutes answers are dropped and interaction_alive is false: the bot must then post important messages
 * itself.
 *
 * A handler holds a reference while it works; interaction_call does so itself.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"
#include "discord/rest/rest.h"

#define INTERACTION_TOKEN_MAX 512   /* bytes */
#define INTERACTION_COMMAND_MAX 100 /* "leaderboard submit ranked" */
#define INTERACTION_LIFE_MS 900000  /* for which Discord accepts its token */

enum interaction_kind {
	INTERACTION_PING = 1,
	INTERACTION_COMMAND,
	INTERACTION_COMPONENT,
	INTERACTION_COMPLETION,
	INTERACTION_FORM,
};

struct interaction {
	struct bot *bot;
	unsigned references;
	enum interaction_kind kind;
	char id[SNOWFLAKE_SIZE];
	char token[INTERACTION_TOKEN_MAX];
	char channel[SNOWFLAKE_SIZE]; /* where it happened; in a thread, the thread */
	char parent[SNOWFLAKE_SIZE];  /* the thread's channel; "": not in a thread */
	char user[SNOWFLAKE_SIZE];
	json_t *actor;                         /* for host->call */
	char command[INTERACTION_COMMAND_MAX]; /* of a command or a completion */
	json_t *options;       /* name → value; Discord's object for an attachment; for a form, name → text */
	const char *custom_id; /* of a component or form; borrowed from data */
	const char *focused;   /* of a completion: the option that the user types, in options */
	json_t *values;        /* of a menu: the chosen values; borrowed from data, or NULL */
	json_t *data;          /* the whole interaction in Discord's form */
	int64_t begun_ms;      /* wall clock */
	bool deferred, answered, expired;
};

/*
 * Reads an interaction. *ret_interaction gets a reference, or NULL if it must be ignored (malformed, or handled
 * before). Answers an interaction from another guild than the configured one. data is borrowed.
 */
void interaction_read(struct bot *bot, const json_t *data, struct interaction **ret_interaction);
struct interaction *interaction_ref(struct interaction *interaction);
void interaction_unref(struct interaction *interaction); /* NULL is allowed */

/* The data for the plugin's state with which a later process can continue a deferred interaction. New reference. */
json_t *interaction_save(const struct interaction *interaction);
/* The interaction that was saved, deferred; a reference. NULL: saved is no such data. */
struct interaction *interaction_restore(struct bot *bot, const json_t *saved);

/* The text of an option, or NULL (borrowed); whether an option is true. */
const char *interaction_text(const struct interaction *interaction, const char *option);
bool interaction_flag(const struct interaction *interaction, const char *option);
/*
 * Whether the token still takes answers; whether Discord still accepts it for a last one; and recording that Discord
 * does not accept it any more.
 */
bool interaction_alive(const struct interaction *interaction);
bool interaction_lasts(const struct interaction *interaction);
void interaction_expire(struct interaction *interaction);

/* Shows "The bot is thinking…" until the answer. open: all users see it, not only this one. */
void interaction_defer(struct interaction *interaction, bool open);
/* For components: leaves the message unchanged until the answer changes it. */
void interaction_defer_update(struct interaction *interaction);
/*
 * Answers, visible only to the user unless deferred openly. After interaction_defer_update, and as a second answer, it
 * replaces the message.
 */
void interaction_answer(struct interaction *interaction, json_t *message_take);
/*
 * Like interaction_answer for an existing message, of whose edits only the latest is sent; returns like outbox_answer.
 */
bool interaction_edit(struct interaction *interaction, json_t *message_take, outbox_fn done, void *arg);
/* Sends a further message that only the user sees. */
void interaction_follow_up(struct interaction *interaction, json_t *message_take);
/* Answers with a sentence, which may contain Markdown. */
void interaction_say(struct interaction *interaction, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Answers with the sentence of an error, escaped. A sentence for operators goes to the log, and only admins see it. */
void interaction_fail(struct interaction *interaction, const struct kettle_error *err);
/* Shows a form in place of the first answer: fields [{"name", "label", "placeholder"?, "long"?}], one to five. */
void interaction_form(struct interaction *interaction, const char *custom_id, const char *title, json_t *fields_take);
/* Answers a completion: at most 25 of [{"name", "value"}]. */
void interaction_choices(struct interaction *interaction, json_t *choices_take);

typedef void (*interaction_fn)(struct interaction *interaction, const json_t *result, void *arg);
/*
 * Calls a command of the core for the user. fn gets its answer, with a reference held during the call; an error is
 * shown to the user without calling fn. `end` is called last in both cases, with arg (to free it; NULL: nothing). args
 * is stolen.
 */
void interaction_call(struct interaction *interaction, const char *command, json_t *args_take, interaction_fn fn,
	kettle_fn end, void *arg);

/* ---- the leaderboards that a user may see, kept in memory, so that names complete at once ---- */

/*
 * fn gets the active boards that the interaction's user may see, in the form of leaderboard.list; at once if they are
 * known. end and arg as for interaction_call.
 */
void boards_get(struct interaction *interaction, interaction_fn fn, kettle_fn end, void *arg);
/* Forgets the lists: a board, or the right to see one, has changed. */
void boards_forget(struct bot *bot);
