/* SPDX-License-Identifier: MIT */
/* One interaction of a user with the bot. */
#include <config.h>

#include "discord/interaction/interaction.h"

#include <stdarg.h>

#include "base/base.h"
#include "base/utf8.h"
#include "discord/interaction/send.h"
#include "discord/render/message.h"
#include "discord/text/escape.h"

#define ERROR_MAX 1900    /* UTF-16 units of an error's sentence */
#define FORM_TITLE_MAX 45 /* UTF-16 units */
#define FORM_LABEL_MAX 45
#define CHOICES_MAX 25

enum callback {
	CALLBACK_MESSAGE = 4,
	CALLBACK_DEFER,
	CALLBACK_DEFER_UPDATE,
	CALLBACK_UPDATE,
	CALLBACK_CHOICES,
	CALLBACK_FORM,
};

enum option_type { OPTION_SUBCOMMAND = 1, OPTION_GROUP, OPTION_ATTACHMENT = 11 };

/* ---- reading ---- */

static void
add_word(struct interaction *interaction, const char *word)
{
	size_t len = strlen(interaction->command);
	snprintf(interaction->command + len, sizeof(interaction->command) - len, "%s%s", len ? " " : "", word);
}

static void
take_option(struct interaction *interaction, const json_t *option, const json_t *resolved)
{
	const char *name = json_text_or_empty(option, "name");
	json_t *value = json_object_get(option, "value");
	if (member_int(option, "type") == OPTION_ATTACHMENT)
		value = json_object_get(
			json_object_get(resolved, "attachments"), json_string_value(value) ? json_string_value(value) : "");
	if (value)
		json_object_set(interaction->options, name, value);
	if (member_true(option, "focused"))
		interaction->focused = name;
}

/* Reads the words of the command and its options; subcommands are nested. */
static void
read_command(struct interaction *interaction, const json_t *data)
{
	const json_t *options = json_object_get(data, "options"), *option, *resolved = json_object_get(data, "resolved");
	size_t i;
	add_word(interaction, json_text_or_empty(data, "name"));
	for (int depth = 0; depth < 2; depth++) {
		option = json_array_get(options, 0);
		json_int_t type = member_int(option, "type");
		if (type != OPTION_SUBCOMMAND && type != OPTION_GROUP)
			break;
		add_word(interaction, json_text_or_empty(option, "name"));
		options = json_object_get(option, "options");
	}
	json_array_foreach(options, i, option)
		take_option(interaction, option, resolved);
}

/* Reads the fields of a form, which are in rows. */
static void
read_form(struct interaction *interaction, const json_t *data)
{
	json_array_each(json_object_get(data, "components"), row)
		json_array_each(json_object_get(row, "components"), field)
			json_object_set(
				interaction->options, json_text_or_empty(field, "custom_id"), json_object_get(field, "value"));
}

static void
read_data(struct interaction *interaction)
{
	const json_t *data = json_object_get(interaction->data, "data");
	interaction->custom_id = json_text_or_empty(data, "custom_id");
	if (interaction->kind == INTERACTION_COMMAND || interaction->kind == INTERACTION_COMPLETION)
		read_command(interaction, data);
	else if (interaction->kind == INTERACTION_FORM)
		read_form(interaction, data);
	else
		interaction->values = json_object_get(data, "values");
}

static bool
in_thread(const json_t *channel)
{
	json_int_t type = member_int(channel, "type");
	return type >= 10 && type <= 12;
}

void
interaction_read(struct bot *bot, const json_t *data, struct interaction **ret_interaction)
{
	*ret_interaction = NULL;
	struct interaction *interaction = xcalloc(1, sizeof(*interaction));
	const json_t *member = json_object_get(data, "member"), *channel = json_object_get(data, "channel");
	const json_t *user = json_object_get(member ? member : data, "user");
	const char *token = json_text_or_empty(data, "token");
	interaction->bot = bot;
	interaction->references = 1;
	interaction->kind = (enum interaction_kind)member_int(data, "type");
	interaction->data = json_deep_copy(data);
	interaction->options = json_object();
	interaction->begun_ms = bot->host->utc_ms(bot->host);
	bool whole = snowflake_copy(interaction->id, json_text_or_empty(data, "id")) &&
				 snowflake_copy(interaction->user, json_text_or_empty(user, "id")) && *token &&
				 strlen(token) < sizeof(interaction->token) && interaction->kind >= INTERACTION_COMMAND &&
				 interaction->kind <= INTERACTION_FORM;
	(void)snowflake_copy(interaction->channel, json_text_or_empty(data, "channel_id"));
	if (in_thread(channel))
		(void)snowflake_copy(interaction->parent, json_text_or_empty(channel, "parent_id"));
	if (!whole || !bot_is_new(bot, interaction->id)) {
		interaction_unref(interaction);
		return;
	}
	snprintf(interaction->token, sizeof(interaction->token), "%s", token);
	if (!member || strcmp(json_text_or_empty(data, "guild_id"), bot->settings.guild) != 0) {
		interaction_say(interaction, "This bot works on one Discord server only, and not in direct messages.");
		interaction_unref(interaction);
		return;
	}
	interaction->actor = bot_actor(bot, member);
	read_data(interaction);
	*ret_interaction = interaction;
}

struct interaction *
interaction_ref(struct interaction *interaction)
{
	interaction->references++;
	return interaction;
}

void
interaction_unref(struct interaction *interaction)
{
	if (!interaction || --interaction->references > 0)
		return;
	json_decref_all(interaction->actor, interaction->options, interaction->data);
	free(interaction);
}

json_t *
interaction_save(const struct interaction *interaction)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:I}", "id", interaction->id, "token", interaction->token,
		"channel", interaction->channel, "parent", interaction->parent, "user", interaction->user, "actor",
		interaction->actor, "begun", (json_int_t)interaction->begun_ms);
}

struct interaction *
interaction_restore(struct bot *bot, const json_t *saved)
{
	struct interaction *interaction = xnew(struct interaction, .bot = bot, .references = 1, .kind = INTERACTION_COMMAND,
		.options = json_object(), .actor = json_deep_copy(json_object_get(saved, "actor")),
		.begun_ms = member_int(saved, "begun"), .deferred = true);
	(void)snowflake_copy(interaction->channel, json_text_or_empty(saved, "channel"));
	(void)snowflake_copy(interaction->parent, json_text_or_empty(saved, "parent"));
	utf8_copy(interaction->token, sizeof(interaction->token), json_text_or_empty(saved, "token"));
	if (snowflake_copy(interaction->id, json_text_or_empty(saved, "id")) &&
		snowflake_copy(interaction->user, json_text_or_empty(saved, "user")) && interaction->actor)
		return interaction;
	interaction_unref(interaction);
	return NULL;
}

const char *
interaction_text(const struct interaction *interaction, const char *option)
{
	return json_text_or_null(interaction->options, option);
}

bool
interaction_flag(const struct interaction *interaction, const char *option)
{
	return member_true(interaction->options, option);
}

static bool
is_younger(const struct interaction *interaction, int64_t ms)
{
	const struct kettle_host *host = interaction->bot->host;
	return !interaction->expired && host->utc_ms(host) - interaction->begun_ms < ms;
}

bool
interaction_alive(const struct interaction *interaction)
{
	return is_younger(interaction, interaction->bot->settings.life_ms);
}

bool
interaction_lasts(const struct interaction *interaction)
{
	return is_younger(interaction, INTERACTION_LIFE_MS);
}

void
interaction_expire(struct interaction *interaction)
{
	interaction->expired = true;
}

/* ---- answering ---- */

static void
callback(struct interaction *interaction, enum callback type, json_t *data_take)
{
	AUTO_FREE char *path = xasprintf("/interactions/%s/%s/callback", interaction->id, interaction->token);
	send_request(
		interaction->bot, "POST", path, json_pack("{s:i, s:o*}", "type", (int)type, "data", data_take), NULL, NULL);
}

static bool
webhook(struct interaction *interaction, const char *method, const char *message, int64_t life_ms, json_t *body_take,
	outbox_fn done, void *arg)
{
	AUTO_FREE char *path = xasprintf("/webhooks/%s/%s%s", interaction->bot->application, interaction->token, message);
	return outbox_answer(
		interaction->bot, method, path, interaction->token, interaction->begun_ms + life_ms, body_take, done, arg);
}

/* An answer that Discord refuses since the token has ended shows that all later ones would be refused, too. */
static void
on_webhook(void *arg, const struct outbox_answer *answer)
{
	struct interaction *interaction = arg;
	if (answer->end == OUTBOX_EXPIRED)
		interaction_expire(interaction);
	if (answer->end != OUTBOX_DONE && answer->end != OUTBOX_STOPPED)
		bot_log(interaction->bot, KETTLE_LOG_WARNING, "A message could not be sent: %s", answer->err->message);
	interaction_unref(interaction);
}

static void
further_answer(struct interaction *interaction, const char *method, const char *message, json_t *body_take)
{
	if (!interaction_alive(interaction))
		json_decref(body_take);
	else if (!webhook(interaction, method, message, interaction->bot->settings.life_ms, body_take, on_webhook,
				 interaction_ref(interaction)))
		interaction_unref(interaction);
}

static json_t *
private_message(json_t *message_take)
{
	json_object_set_new(message_take, "flags", json_integer(MESSAGE_EPHEMERAL));
	return message_take;
}

static void
defer(struct interaction *interaction, enum callback type, json_t *data_take)
{
	if (interaction->deferred || interaction->answered) {
		json_decref(data_take);
		return;
	}
	interaction->deferred = true;
	callback(interaction, type, data_take);
}

void
interaction_defer(struct interaction *interaction, bool open)
{
	defer(interaction, CALLBACK_DEFER, open ? NULL : json_pack("{s:i}", "flags", MESSAGE_EPHEMERAL));
}

void
interaction_defer_update(struct interaction *interaction)
{
	defer(interaction, CALLBACK_DEFER_UPDATE, NULL);
}

void
interaction_answer(struct interaction *interaction, json_t *message_take)
{
	bool first = !interaction->deferred && !interaction->answered;
	interaction->answered = true;
	if (!first) {
		message_no_rows(message_take);
		further_answer(interaction, "PATCH", "/messages/@original", message_take);
	} else if (interaction->kind == INTERACTION_COMPONENT) {
		message_no_rows(message_take);
		callback(interaction, CALLBACK_UPDATE, message_take);
	} else {
		callback(interaction, CALLBACK_MESSAGE, private_message(message_take));
	}
}

bool
interaction_edit(struct interaction *interaction, json_t *message_take, outbox_fn done, void *arg)
{
	message_no_rows(message_take);
	return webhook(interaction, "PATCH", "/messages/@original", INTERACTION_LIFE_MS, message_take, done, arg);
}

void
interaction_follow_up(struct interaction *interaction, json_t *message_take)
{
	further_answer(interaction, "POST", "", private_message(message_take));
}

/* Shows a message without replacing the message that has the pressed button. */
static void
say(struct interaction *interaction, json_t *message_take)
{
	if (interaction->kind == INTERACTION_COMPLETION)
		json_decref(message_take);
	else if (interaction->kind != INTERACTION_COMPONENT)
		interaction_answer(interaction, message_take);
	else if (interaction->deferred || interaction->answered)
		interaction_follow_up(interaction, message_take);
	else {
		interaction->answered = true;
		callback(interaction, CALLBACK_MESSAGE, private_message(message_take));
	}
}

void
interaction_say(struct interaction *interaction, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(interaction, message_vprintf(format, args));
	va_end(args);
}

/* Whether the sentence of an error is only for operators: it names their files, disks and programs. */
static bool
is_operators(const struct kettle_error *err)
{
	return err->code == KETTLE_EIO || err->code == KETTLE_EVERSION || err->code == KETTLE_ENOMEM ||
		   err->code == KETTLE_EINTERNAL;
}

void
interaction_fail(struct interaction *interaction, const struct kettle_error *err)
{
	bool hidden = is_operators(err) && !member_is(interaction->actor, "role", "admin");
	AUTO_FREE char *text = escape_sentence(
		hidden ? "Kettle has an internal error, which its log describes: tell an admin of this server." : err->message,
		ERROR_MAX);
	if (is_operators(err))
		bot_log(interaction->bot, KETTLE_LOG_ERROR, "A command on Discord has failed: %s", err->message);
	if (interaction->kind == INTERACTION_COMPLETION)
		interaction_choices(interaction, json_array());
	else
		interaction_say(interaction, "%s", text);
}

/* Makes one field: a row with a text input. */
static json_t *
form_row(const json_t *field)
{
	AUTO_FREE char *label = escape_plain(json_text_or_empty(field, "label"), FORM_LABEL_MAX);
	return json_pack("{s:i, s:[{s:i, s:s, s:s, s:i, s:b, s:s*}]}", "type", 1, "components", "type", 4, "custom_id",
		json_text_or_empty(field, "name"), "label", label, "style", member_true(field, "long") ? 2 : 1, "required", 1,
		"placeholder", json_text_or_null(field, "placeholder"));
}

void
interaction_form(struct interaction *interaction, const char *custom_id, const char *title, json_t *fields_take)
{
	json_t *rows = json_array();
	AUTO_FREE char *cut = escape_plain(title, FORM_TITLE_MAX);
	json_array_each(fields_take, field)
		(void)json_array_append_new(rows, form_row(field));
	json_decref(fields_take);
	interaction->answered = true;
	callback(interaction, CALLBACK_FORM,
		json_pack("{s:s, s:s, s:o}", "custom_id", custom_id, "title", cut, "components", rows));
}

void
interaction_choices(struct interaction *interaction, json_t *choices_take)
{
	if (interaction->answered) {
		json_decref(choices_take);
		return;
	}
	while (json_array_size(choices_take) > CHOICES_MAX)
		(void)json_array_remove(choices_take, json_array_size(choices_take) - 1);
	interaction->answered = true;
	callback(interaction, CALLBACK_CHOICES, json_pack("{s:o}", "choices", choices_take));
}

/* ---- calls of the core ---- */

struct call {
	struct interaction *interaction;
	interaction_fn fn;
	kettle_fn end;
	void *arg;
};

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct call *call = arg;
	if (err->code < 0)
		interaction_fail(call->interaction, err);
	else if (call->fn)
		call->fn(call->interaction, result, call->arg);
	if (call->end)
		call->end(call->arg);
	interaction_unref(call->interaction);
	free(call);
}

void
interaction_call(struct interaction *interaction, const char *command, json_t *args_take, interaction_fn fn,
	kettle_fn end, void *arg)
{
	struct call *call = xnew(struct call, interaction_ref(interaction), fn, end, arg);
	int rc = bot_call(interaction->bot, interaction->actor, command, args_take, on_answer, call);
	json_decref(args_take);
	if (rc == 0)
		return;
	const struct kettle_error closed = {.code = rc, .message = "Kettle is closing; try again in a minute."};
	on_answer(call, &closed, NULL);
}

/* ---- the leaderboards that a user may see, kept in memory, so that names complete at once ---- */

#define BOARDS_USERS_MAX 1000
#define BOARDS_FRESH_MS 60000 /* greatest age of the list, since no event tells of changed roles */

static json_int_t
now_ms(const struct bot *bot)
{
	return (json_int_t)bot->host->monotonic_ms(bot->host);
}

/* The key has the role: an account may see other boards when its role in the guild changes. */
static void
key_of(const struct interaction *interaction, char ret_key[SNOWFLAKE_SIZE + 16])
{
	snprintf(ret_key, SNOWFLAKE_SIZE + 16, "%s %s", interaction->user, json_text_or_empty(interaction->actor, "role"));
}

struct wanted {
	interaction_fn fn;
	kettle_fn end;
	void *arg;
	unsigned long generation;
};

static void
free_wanted(void *arg)
{
	struct wanted *wanted = arg;
	if (wanted->end)
		wanted->end(wanted->arg);
	free(wanted);
}

static void
on_boards(struct interaction *interaction, const json_t *result, void *arg)
{
	struct wanted *wanted = arg;
	struct bot *bot = interaction->bot;
	char key[SNOWFLAKE_SIZE + 16];
	key_of(interaction, key);
	if (json_object_size(bot->boards) >= BOARDS_USERS_MAX)
		(void)json_object_clear(bot->boards);
	if (wanted->generation == bot->boards_generation)
		json_object_set_new(bot->boards, key, json_pack("{s:I, s:O}", "read", now_ms(bot), "boards", result));
	wanted->fn(interaction, result, wanted->arg);
}

void
boards_get(struct interaction *interaction, interaction_fn fn, kettle_fn end, void *arg)
{
	char key[SNOWFLAKE_SIZE + 16];
	key_of(interaction, key);
	const json_t *known = json_object_get(interaction->bot->boards, key);
	if (known && now_ms(interaction->bot) - member_int(known, "read") < BOARDS_FRESH_MS) {
		AUTO_JSON json_t *boards = json_incref(json_object_get(known, "boards"));
		fn(interaction, boards, arg);
		if (end)
			end(arg);
		return;
	}
	struct wanted *wanted = xnew(struct wanted, fn, end, arg, interaction->bot->boards_generation);
	interaction_call(interaction, "leaderboard.list", json_pack("{s:b}", "short", 1), on_boards, free_wanted, wanted);
}

void
boards_forget(struct bot *bot)
{
	bot->boards_generation++;
	(void)json_object_clear(bot->boards);
}
