/* SPDX-License-Identifier: MIT */
/*
 * One interaction of a user with the bot: a command, a pressed button or chosen entry, a sent form, a completion. Loop thread.
 *
 * Discord wants a first answer within three seconds and takes further ones for fifteen minutes. A handler either defers
 * at once and answers later, or answers at once; after that, each further answer replaces the message. When the fifteen
 * minutes are over, answers are dropped and interaction_alive says so: what must arrive is then posted by the bot itself.
 *
 * A handler holds a reference for as long as it works: interaction_call does that by itself.
 */
#ifndef KETTLE_DISCORD_INTERACTION_H
#define KETTLE_DISCORD_INTERACTION_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"
#include "discord/rest/rest.h"

#define INTERACTION_TOKEN_MAX 512   /* bytes */
#define INTERACTION_COMMAND_MAX 100 /* "leaderboard submit ranked" */
#define INTERACTION_LIFE_MS 900000  /* for which Discord knows its token */

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
	char channel[SNOWFLAKE_SIZE]; /* where it happened; of a thread, the thread */
	char parent[SNOWFLAKE_SIZE];  /* the channel of the thread; "" outside of one */
	char user[SNOWFLAKE_SIZE];
	json_t *actor;                         /* for host->call */
	char command[INTERACTION_COMMAND_MAX]; /* of a command or a completion */
	json_t *options;       /* name → value; an attachment is Discord's object of it; of a form, name → text */
	const char *custom_id; /* of a component or form; borrowed from data */
	const char *focused;   /* of a completion: the option that is being typed, in options */
	json_t *values;        /* of a menu: what was chosen; borrowed from data, or NULL */
	json_t *data;          /* all of it, as Discord sent it */
	int64_t begun_ms;      /* wall clock */
	bool deferred, answered, expired;
};

/*
 * Reads one. *ret_interaction gets a reference, or NULL where it must be ignored (malformed, come before). An interaction
 * from elsewhere than the configured guild is answered here. data is borrowed.
 */
void interaction_read(struct bot *bot, const json_t *data, struct interaction **ret_interaction);
struct interaction *interaction_ref(struct interaction *interaction);
void interaction_unref(struct interaction *interaction); /* NULL is allowed */

/* What a later process needs to go on with an interaction that was deferred, for the plugin's state. New reference. */
json_t *interaction_save(const struct interaction *interaction);
/* The interaction that was saved, deferred; a reference, NULL: it is none. */
struct interaction *interaction_restore(struct bot *bot, const json_t *saved);

/* The text of an option, or NULL (borrowed); whether one is true. */
const char *interaction_text(const struct interaction *interaction, const char *option);
bool interaction_flag(const struct interaction *interaction, const char *option);
/* Whether the token still takes answers; whether Discord still knows it, for a last one; and that it does not any more, as
 * Discord has said. */
bool interaction_alive(const struct interaction *interaction);
bool interaction_lasts(const struct interaction *interaction);
void interaction_expire(struct interaction *interaction);

/* "The bot is thinking…": the answer follows. open: all users see it, not only this one. */
void interaction_defer(struct interaction *interaction, bool open);
/* For components: the message stays as it is until the answer changes it. */
void interaction_defer_update(struct interaction *interaction);
/* The answer, seen by the user alone unless it was deferred openly. For a component after interaction_defer_update, and for
 * a second answer: takes the message's place. */
void interaction_answer(struct interaction *interaction, json_t *message_take);
/* The same for a message that is there, whose latest state counts; returns as outbox_answer. */
bool interaction_edit(struct interaction *interaction, json_t *message_take, outbox_fn done, void *arg);
/* A further message that the user alone sees. */
void interaction_follow_up(struct interaction *interaction, json_t *message_take);
/* A sentence, which may contain Markdown, as the answer. */
void interaction_say(struct interaction *interaction, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The sentence of an error, escaped; one that is for the operators of Kettle goes to the log, and of users to admins alone. */
void interaction_fail(struct interaction *interaction, const struct kettle_error *err);
/* A form, in place of the first answer: fields [{"name", "label", "placeholder"?, "long"?}], one to five. */
void interaction_form(struct interaction *interaction, const char *custom_id, const char *title, json_t *fields_take);
/* What a completion answers: at most 25 of [{"name", "value"}]. */
void interaction_choices(struct interaction *interaction, json_t *choices_take);

typedef void (*interaction_fn)(struct interaction *interaction, const json_t *result, void *arg);
/*
 * Calls a command of the core for the user. fn gets its answer, with a reference held during the call; an error is shown to
 * the user and fn is not called, but `end` is in both cases, last, with arg (to free it; NULL: nothing). args is stolen.
 */
void interaction_call(struct interaction *interaction, const char *command, json_t *args_take, interaction_fn fn,
	kettle_fn end, void *arg);

#endif
