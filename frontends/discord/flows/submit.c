/* SPDX-License-Identifier: MIT */
/* Submits a file, from the command to the engine's answer. */
#include <config.h>

#include "discord/flows/submit.h"

#include "base/base.h"
#include "base/text.h"
#include "base/failpoint.h"
#include "base/popcorn_header.h"
#include "discord/flows/submission_message.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/stored.h"
#include "discord/render/message.h"
#include "discord/rest/rest.h"
#include "discord/text/escape.h"

#define PENDING_MENUS_MAX 1000 /* waiting menus; the oldest is dropped */
#define ASKS_USER_MAX 5        /* waiting menus of one user */
#define ASKS_CODE_MAX \
	(64 << 20)                /* bytes of their code in memory; the oldest's is dropped, and fetched again if needed */
#define ASK_LIFE_MS 900000    /* of a menu */
#define NAME_SHOWN_MAX 100    /* UTF-16 units */
#define REFUSALS_SHOWN_MAX 5  /* devices that a menu leaves out and explains */
#define REFUSAL_SHOWN_MAX 250 /* UTF-16 units */
#define REQUEST_PREFIX "req/" /* of the state's keys */
#define ASK_PREFIX "ask/"

/*
 * One submission on its way. form: {"request", "mode", "board"?, "devices"?, "file": {"filename", "url", "size"}},
 * which the state has beside "interaction".
 */
struct attempt {
	struct bot *bot;
	struct interaction *interaction;
	json_t *form;
	char *code;   /* base64 */
	bool again;   /* from an earlier process */
	bool may_ask; /* neither the command nor the file names devices */
	struct kettle_error refused;
};

struct submit {
	struct bot *bot;
	json_t *pending_menus; /* waiting menus: request → form with "code" and "user" */
	size_t restoring;
	kettle_fn done;
	void *arg;
};

/* ---- an attempt ---- */

static struct attempt *
attempt_new(struct interaction *interaction, json_t *form_take)
{
	struct attempt *attempt =
		xnew(struct attempt, .bot = interaction->bot, .interaction = interaction_ref(interaction), .form = form_take);
	return attempt;
}

static void
restored(void *arg)
{
	struct submit *submit = arg;
	if (--submit->restoring == 0 && submit->done)
		submit->done(submit->arg);
}

static void
attempt_free(void *arg)
{
	struct attempt *attempt = arg;
	if (attempt->again)
		restored(attempt->bot->submit);
	interaction_unref(attempt->interaction);
	json_decref(attempt->form);
	free_all(attempt->code, attempt);
}

static char *
state_key(const char *prefix, const struct attempt *attempt)
{
	return xasprintf("%s%s", prefix, json_text_or_empty(attempt->form, "request"));
}

static void
forget(const struct attempt *attempt)
{
	AUTO_FREE char *key = state_key(REQUEST_PREFIX, attempt);
	(void)bot_put(attempt->bot, key, NULL, NULL, NULL);
}

/* ---- asking the engine ---- */

static void
on_followed(void *arg, const struct kettle_error *err, json_t *result)
{
	const struct attempt *attempt = arg;
	(void)result;
	if (err->code)
		bot_log(attempt->bot, KETTLE_LOG_WARNING,
			"The state of a submission's messages cannot be stored and would be lost in a crash: %s", err->message);
	failpoint("discord.followed");
	forget(arg);
	attempt_free(arg);
}

static void ask_devices(struct attempt *attempt, const struct kettle_error *refused);
static void fetch(struct attempt *attempt);

/* Whether the submission lacks only a choice of devices. */
static bool
lacks_devices(const struct attempt *attempt, const struct kettle_error *err)
{
	return attempt->may_ask && err->code == KETTLE_EINVAL && strcmp(err->member, "device") == 0;
}

static void
on_submitted(void *arg, const struct kettle_error *err, json_t *result)
{
	struct attempt *attempt = arg;
	if (err->code == KETTLE_ECANCELED) {
		/* The engine stops: the next process asks again. */
		attempt_free(attempt);
		return;
	}
	if (lacks_devices(attempt, err)) {
		ask_devices(attempt, err);
		return;
	}
	if (err->code) {
		interaction_fail(attempt->interaction, err);
		forget(attempt);
		attempt_free(attempt);
		return;
	}
	failpoint("discord.submitted");
	lives_open(attempt->interaction, result, json_text_or_empty(json_object_get(attempt->form, "file"), "filename"),
		on_followed, attempt);
}

static void
call(struct attempt *attempt)
{
	const json_t *form = attempt->form;
	AUTO_FREE char *request = xasprintf("discord:%s", json_text_or_empty(form, "request"));
	AUTO_JSON json_t *args = json_pack("{s:{s:s, s:s}, s:s, s:s*, s:O*, s:b, s:s}", "file", "name",
		json_text_or_empty(json_object_get(form, "file"), "filename"), "base64", attempt->code, "mode",
		json_text_or_empty(form, "mode"), "leaderboard", json_text_or_null(form, "board"), "device",
		json_object_get(form, "devices"), "no_wait", 1, "request", request);
	if (bot_call(attempt->bot, attempt->interaction->actor, "submit", args, on_submitted, attempt) < 0)
		attempt_free(attempt);
}

static void
on_stored(void *arg, const struct kettle_error *err, json_t *result)
{
	struct attempt *attempt = arg;
	(void)result;
	if (err->code) {
		interaction_fail(attempt->interaction, err);
		attempt_free(attempt);
		return;
	}
	failpoint("discord.requested");
	if (attempt->code)
		call(attempt);
	else
		fetch(attempt);
}

static void
store(struct attempt *attempt)
{
	AUTO_FREE char *key = state_key(REQUEST_PREFIX, attempt);
	AUTO_JSON json_t *state = json_copy(attempt->form);
	json_object_set_new(state, "interaction", interaction_save(attempt->interaction));
	if (bot_put(attempt->bot, key, state, on_stored, attempt) < 0)
		attempt_free(attempt);
}

/* ---- which devices ---- */

/* Says why the menu lacks devices of the board. */
static void
add_refusals(struct buf *text, const json_t *refused)
{
	size_t i;
	const json_t *why;
	json_array_foreach(refused, i, why) {
		AUTO_FREE char *shown = escape_sentence(json_string_value(why), REFUSAL_SHOWN_MAX);
		if (i < REFUSALS_SHOWN_MAX)
			buf_printf(text, "\n⚠️ %s", shown);
	}
	if (i > REFUSALS_SHOWN_MAX)
		buf_printf(text, "\n⚠️ %zu more devices accept no submission from you now.", i - REFUSALS_SHOWN_MAX);
}

static void
ask(struct attempt *attempt, size_t offset)
{
	const json_t *form = attempt->form, *known = json_object_get(form, "known");
	size_t count = json_array_size(known);
	offset = offset < count ? offset : 0;
	AUTO_FREE char *id = xasprintf("submit:%s", json_text_or_empty(form, "request"));
	AUTO_FREE char *board = escape_markdown(json_text_or_empty(form, "board"), NAME_SHOWN_MAX);
	AUTO_BUF struct buf text = {0};
	buf_printf(&text, "Which devices of **%s** should your submission run on? You may choose several.", board);
	add_refusals(&text, json_object_get(form, "refused"));
	json_t *message = message_new(text.data);
	message_menu(message, id, "Devices", MESSAGE_CHOICES_MAX, message_names(known, offset));
	message_pages(message, "submit", json_text_or_empty(form, "request"), offset, MESSAGE_CHOICES_MAX, count);
	interaction_answer(attempt->interaction, message);
}

static void
drop_ask(struct submit *submit, const char *request)
{
	AUTO_FREE char *key = xasprintf(ASK_PREFIX "%s", request);
	(void)bot_put(submit->bot, key, NULL, NULL, NULL);
	(void)json_object_del(submit->pending_menus, request);
}

/*
 * Limits menus, so that a user with many menus takes neither the memory nor the menus of others. The first ones are
 * the oldest.
 */
static void
bound_asks(struct submit *submit, const char *user)
{
	size_t own = 0, bytes = 0;
	const char *request;
	json_t *form;
	void *next;
	json_object_foreach(submit->pending_menus, request, form) {
		own += member_is(form, "user", user);
		bytes += json_string_length(json_object_get(form, "code"));
	}
	json_object_foreach_safe(submit->pending_menus, next, request, form) {
		size_t size = json_string_length(json_object_get(form, "code"));
		bool too_many = own > ASKS_USER_MAX && member_is(form, "user", user);
		if (bytes > ASKS_CODE_MAX && size > 0)
			(void)json_object_del(form, "code");
		bytes -= bytes > ASKS_CODE_MAX ? size : 0;
		own -= too_many;
		if (too_many || json_object_size(submit->pending_menus) > PENDING_MENUS_MAX)
			drop_ask(submit, request);
	}
}

/* Keeps the form of a menu until the user chooses; after a restart it has no code. */
static void
keep_ask(struct attempt *attempt)
{
	struct submit *submit = attempt->bot->submit;
	AUTO_FREE char *key = state_key(ASK_PREFIX, attempt);
	json_object_set_new(attempt->form, "user", json_string(attempt->interaction->user));
	json_object_set_new(attempt->form, "begun", json_integer(attempt->interaction->begun_ms));
	(void)bot_put(attempt->bot, key, attempt->form, NULL, NULL);
	json_t *form = json_copy(attempt->form);
	json_object_set_new(form, "code", json_string(attempt->code));
	json_object_set_new(submit->pending_menus, json_text_or_empty(attempt->form, "request"), form);
	bound_asks(submit, attempt->interaction->user);
}

/* Shows a menu of the devices that would take the submission now. */
static void
on_devices(struct interaction *interaction, const json_t *answer, void *arg)
{
	struct attempt *attempt = arg;
	json_t *known = json_array(), *refused = json_array();
	(void)interaction;
	json_array_each(json_object_get(answer, "devices"), device) {
		bool open = json_is_null(json_object_get(device, "refused"));
		(void)json_array_append(open ? known : refused, json_object_get(device, open ? "device" : "refused"));
	}
	json_object_set(attempt->form, "board", json_object_get(answer, "leaderboard"));
	json_object_set_new(attempt->form, "known", known);
	json_object_set_new(attempt->form, "refused", refused);
	if (json_array_size(known) == 0)
		return;
	keep_ask(attempt);
	ask(attempt, 0);
}

static void
after_devices(void *arg)
{
	struct attempt *attempt = arg;
	bool asked = attempt->interaction->answered;
	if (!asked && !attempt->bot->stopping)
		interaction_fail(attempt->interaction, &attempt->refused);
	if (asked || !attempt->bot->stopping)
		forget(attempt);
	attempt_free(attempt);
}

/* Asks for devices. The engine has checked everything else, so it does not refuse the file after the choice. */
static void
ask_devices(struct attempt *attempt, const struct kettle_error *refused)
{
	attempt->may_ask = false;
	attempt->refused = *refused;
	interaction_call(attempt->interaction, "leaderboard.devices",
		json_pack("{s:s, s:s}", "name", json_text_or_empty(attempt->form, "board"), "mode",
			json_text_or_empty(attempt->form, "mode")),
		on_devices, after_devices, attempt);
}

/* Splits "H100, A100" into a list; NULL: not given. New reference. */
static json_t *
listed_devices(const char *text)
{
	json_t *devices = json_array();
	for (const char *at = text ? text : ""; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		const char *begin = at + strspn(at, " ");
		size_t len = strcspn(begin, ",");
		while (len > 0 && begin[len - 1] == ' ')
			len--;
		if (len > 0 && begin < at + strcspn(at, ",") + 1)
			(void)json_array_append_new(devices, json_stringn(begin, len));
	}
	if (json_array_size(devices) > 0)
		return devices;
	json_decref(devices);
	return NULL;
}

/* Takes values of the file's header that the command did not give. The engine refuses a wrong header. */
static void
choose(struct attempt *attempt, const void *code, size_t size)
{
	AUTO_JSON json_t *header = NULL;
	const json_t *form = attempt->form;
	(void)popcorn_header_parse(code, size, &header, NULL);
	const char *board = json_text_or_null(form, "board");
	json_t *named = json_object_get(header, "leaderboard");
	if (!board && named)
		json_object_set(attempt->form, "board", named);
	attempt->may_ask =
		!json_object_get(form, "devices") && !json_object_get(header, "gpus") && json_text_or_null(form, "board");
	store(attempt);
}

/* ---- the attachment ---- */

static void
on_file(void *arg, const struct kettle_error *err, const void *data, size_t size)
{
	struct attempt *attempt = arg;
	if (err->code) {
		interaction_fail(attempt->interaction, err);
		if (err->code != KETTLE_ECANCELED)
			forget(attempt);
		attempt_free(attempt);
		return;
	}
	failpoint("discord.fetched");
	attempt->code = base64_encode(data, size);
	if (json_object_get(attempt->form, "chosen"))
		call(attempt); /* it is stored */
	else
		choose(attempt, data, size);
}

static void
fetch(struct attempt *attempt)
{
	struct bot *bot = attempt->bot;
	struct kettle_error err = {0};
	const char *url = json_text_or_empty(json_object_get(attempt->form, "file"), "url");
	if (bot->stopping)
		kettle_fail(&err, KETTLE_ECANCELED, "The bot stops.");
	if (bot->stopping || rest_download(bot->rest, url, bot->settings.max_script, on_file, attempt, &err) < 0)
		on_file(attempt, &err, NULL, 0);
}

static bool
in_channel(const struct interaction *interaction, const char *channel)
{
	return !*channel || strcmp(interaction->channel, channel) == 0 || strcmp(interaction->parent, channel) == 0;
}

void
submit_begin(struct interaction *interaction)
{
	const struct bot_settings *settings = &interaction->bot->settings;
	const json_t *script = json_object_get(interaction->options, "script");
	const char *mode = strrchr(interaction->command, ' ') + 1;
	if (!in_channel(interaction, settings->submissions)) {
		interaction_say(interaction, "Submit in <#%s>.", settings->submissions);
		return;
	}
	if (member_int(script, "size") > (json_int_t)settings->max_script) {
		interaction_say(interaction, "The file has %lld bytes; the limit is %llu.",
			(long long)member_int(script, "size"), (unsigned long long)settings->max_script);
		return;
	}
	AUTO_JSON json_t *devices = listed_devices(interaction_text(interaction, "gpu"));
	json_t *form = json_pack("{s:s, s:s, s:s*, s:O*, s:{s:s, s:s, s:I}}", "request", interaction->id, "mode", mode,
		"board", interaction_text(interaction, "leaderboard_name"), "devices", devices, "file", "filename",
		json_text_or_empty(script, "filename"), "url", json_text_or_empty(script, "url"), "size",
		member_int(script, "size"));
	fetch(attempt_new(interaction, form));
}

/* ---- the menu ---- */

static void
take_choice(struct interaction *interaction, json_t *kept, const char *request)
{
	AUTO_FREE char *key = xasprintf(ASK_PREFIX "%s", request);
	const char *code = json_text_or_null(kept, "code");
	json_t *form = json_copy(kept);
	json_object_set(form, "devices", interaction->values);
	json_object_set_new(form, "chosen", json_true());
	(void)json_object_del(form, "code");
	(void)json_object_del(form, "known");
	(void)json_object_del(form, "refused");
	interaction_defer_update(interaction);
	interaction_answer(interaction, message_new("Submitting…"));
	struct attempt *attempt = attempt_new(interaction, form);
	attempt->code = code ? xstrdup(code) : NULL;
	(void)json_object_del(interaction->bot->submit->pending_menus, request);
	store(attempt);
	/* Behind that, since a choice that neither has is lost with this process. */
	(void)bot_put(interaction->bot, key, NULL, NULL, NULL);
}

void
submit_chosen(struct interaction *interaction, const char *arguments)
{
	/* A menu has only the request, its pages "OFFSET:REQUEST". */
	const char *request = arguments;
	size_t offset = 0;
	bool page = answer_page(arguments, &offset, &request);
	json_t *kept = json_object_get(interaction->bot->submit->pending_menus, request);
	if (!kept || interaction->begun_ms - member_int(kept, "begun") > ASK_LIFE_MS) {
		interaction_say(interaction, "This menu is no longer valid; submit again.");
	} else if (strcmp(json_text_or_empty(kept, "user"), interaction->user) != 0) {
		interaction_say(interaction, "This menu belongs to another user.");
	} else if (page || json_array_size(interaction->values) == 0) {
		struct attempt *attempt = attempt_new(interaction, json_copy(kept));
		ask(attempt, offset);
		attempt_free(attempt);
	} else {
		take_choice(interaction, kept, request);
	}
}

/* ---- submissions of an earlier process ---- */

static void
on_request(void *arg, const char *key, json_t *state)
{
	struct submit *submit = arg;
	/* Its menu has been answered, or comes again. */
	drop_ask(submit, key + strlen(REQUEST_PREFIX));
	struct interaction *interaction = interaction_restore(submit->bot, json_object_get(state, "interaction"));
	if (!interaction)
		return;
	struct attempt *attempt = attempt_new(interaction, json_deep_copy(state));
	attempt->again = true;
	(void)json_object_del(attempt->form, "interaction");
	submit->restoring++;
	fetch(attempt);
	interaction_unref(interaction);
}

static void
on_ask(void *arg, const char *key, json_t *form)
{
	struct submit *submit = arg;
	const struct kettle_host *host = submit->bot->host;
	if (host->utc_ms(host) - member_int(form, "begun") < ASK_LIFE_MS)
		json_object_set(submit->pending_menus, key + strlen(ASK_PREFIX), form);
	else
		(void)host->state_put(host, key, NULL, NULL, NULL);
}

static void
on_asks(void *arg)
{
	struct submit *submit = arg;
	stored_each(submit->bot, REQUEST_PREFIX, on_request, restored, submit);
}

struct submit *
submit_new(struct bot *bot, kettle_fn done, void *arg)
{
	struct submit *submit =
		xnew(struct submit, .bot = bot, .pending_menus = json_object(), .restoring = 1, .done = done, .arg = arg);
	stored_each(bot, ASK_PREFIX, on_ask, on_asks, submit);
	return submit;
}

void
submit_free(struct submit *submit)
{
	if (!submit)
		return;
	json_decref(submit->pending_menus);
	free(submit);
}
