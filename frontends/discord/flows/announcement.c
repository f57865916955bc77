/* SPDX-License-Identifier: MIT */
/* One announced event, as a chain of steps. */
#include <config.h>

#include "discord/flows/announcement.h"

#include <kettle/frontend.h>

#include "base/base.h"
#include "common/format.h"
#include "discord/interaction/bot.h"
#include "discord/render/message.h"
#include "discord/rest/rest.h"
#include "discord/text/split.h"

#define PIECES_MAX 10
#define TOLD_KEY "announced"

/* ---- the queue ---- */

static void
free_announcement(struct announcement *a)
{
	struct announcement **at = &a->announce->first;
	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	json_decref_all(a->event, a->result, a->board, a->item);
	free_all(a->key, a);
}

/* Whether no earlier event of the same leaderboard is waiting. */
static bool
is_next(const struct announcement *a)
{
	const struct announcement *before = a->announce->first;
	while (before != a && strcasecmp(before->queue, a->queue) != 0)
		before = before->next;
	return before == a;
}

static bool
was_told(const struct announcement *a)
{
	json_array_each(a->announce->told, seq)
		if (a->seq && json_integer_value(seq) == a->seq)
			return true;
	return false;
}

/* Starts over from the list's beginning, since a chain may end in the call that begins it, which changes the list. */
static void
start_ready(struct announce *announce)
{
	struct announcement *a = announce->started && !announce->bot->stopping ? announce->first : NULL;
	while (a && (a->running || !is_next(a)))
		a = a->next;
	if (!a)
		return;
	a->running = true;
	if (was_told(a))
		announcement_end(a);
	else
		a->begin(a);
	start_ready(announce);
}

void
announcement_add(struct announce *announce, const json_t *event, announcement_fn begin)
{
	struct announcement *a = xcalloc(1, sizeof(*a)), **last = &announce->first;
	*a = (struct announcement){.announce = announce,
		.bot = announce->bot,
		.event = json_deep_copy(event),
		.seq = member_int(event, "seq"),
		.at_ms = announce->bot->host->utc_ms(announce->bot->host),
		.begin = begin};
	a->kind = json_text_or_empty(a->event, "kind");
	a->queue = json_text_or_empty(a->event, "leaderboard_name");
	if (!*a->queue) /* a deleted board may be named only in the data */
		a->queue = json_text_or_empty(json_object_get(a->event, "data"), "name");
	a->key = xasprintf("%lld", (long long)a->seq);
	(void)format_parse_time(json_text_or_empty(event, "at"), &a->at_ms);
	while (*last)
		last = &(*last)->next;
	*last = a;
	start_ready(announce);
}

static void
on_told_read(void *arg, const struct kettle_error *err, json_t *result)
{
	struct announce *announce = arg;
	if (err->code == KETTLE_ECANCELED || announce->bot->stopping)
		return;
	/* Without the state, posted messages are still found among the recent ones of their channel. */
	if (err->code)
		bot_log(announce->bot, KETTLE_LOG_WARNING, "The list of announced events cannot be read: %s", err->message);
	announce->told = json_is_array(result) ? json_deep_copy(result) : json_array();
	announce->started = true;
	start_ready(announce);
}

void
announcement_start(struct announce *announce)
{
	const struct kettle_host *host = announce->bot->host;
	(void)host->state_get(host, TOLD_KEY, on_told_read, announce);
}

void
announcement_stop(struct announce *announce)
{
	struct announcement *a = announce->first, *next;
	for (; a; a = next) {
		next = a->next;
		if (!a->running)
			free_announcement(a);
	}
}

/* ---- results of steps ---- */

static void
on_retry(void *arg)
{
	struct announcement *a = arg;
	struct announce *announce = a->announce;
	if (a->bot->stopping)
		free_announcement(a);
	else
		a->begin(a);
	start_ready(announce);
}

static void
try_later(struct announcement *a)
{
	bot_log(a->bot, a->tries == 0 ? KETTLE_LOG_WARNING : KETTLE_LOG_DEBUG,
		"The event %lld (%s) cannot be announced now and will be tried again: %s", (long long)a->seq, a->kind,
		a->err.message);
	json_decref_all(STEAL(a->result), STEAL(a->board), STEAL(a->item));
	a->open = false;
	later_call(a->bot, rest_backoff(++a->tries), on_retry, a);
}

static void
take(struct announcement *a, const struct kettle_error *err, const json_t *result)
{
	a->err = *err;
	json_decref(a->result);
	a->result = json_incref((json_t *)result);
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct announcement *a = arg;
	struct announce *announce = a->announce;
	take(a, err, result);
	if (a->bot->stopping || err->code == KETTLE_ECANCELED)
		free_announcement(a);
	else if (err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO)
		try_later(a);
	else
		a->step(a);
	start_ready(announce);
}

static void
on_row(void *arg, const struct outbox_answer *answer)
{
	struct announcement *a = arg;
	struct announce *announce = a->announce;
	take(a, answer->err, answer->body);
	a->end = answer->end;
	if (answer->end == OUTBOX_STOPPED)
		free_announcement(a);
	else
		a->step(a);
	start_ready(announce);
}

/* If the engine did not take the request, continues as if it had answered with an error. */
static void
check(struct announcement *a, int rc)
{
	struct kettle_error err = {0};
	if (rc == 0)
		return;
	(void)kettle_fail(&err, rc, "The engine has refused a request of the bot (%s).", kettle_error_name(rc));
	on_answer(a, &err, NULL);
}

/* ---- steps ---- */

void
announcement_call(struct announcement *a, const char *command, json_t *args_take, announcement_fn step)
{
	AUTO_JSON json_t *actor = bot_own_actor(), *args = args_take;
	a->step = step;
	check(a, bot_call(a->bot, actor, command, args, on_answer, a));
}

void
announcement_put(struct announcement *a, const char *key, const json_t *value, announcement_fn step)
{
	a->step = step;
	check(a, bot_put(a->bot, key, value, on_answer, a));
}

void
announcement_list(struct announcement *a, const char *prefix, unsigned limit, announcement_fn step)
{
	a->step = step;
	check(a, a->bot->host->state_list(a->bot->host, prefix, NULL, limit, on_answer, a));
}

void
announcement_request(
	struct announcement *a, const char *method, const char *path, json_t *body_take, announcement_fn step)
{
	a->step = step;
	a->posted = a->posted || strcmp(method, "GET") != 0;
	outbox_request(a->bot, method, path, body_take, on_row, a);
}

void
announcement_keep(struct announcement *a, const struct outbox_kept *kept, announcement_fn step)
{
	a->step = step;
	a->posted = true;
	(void)outbox_keep(a->bot, kept, on_row, a);
}

void
announcement_post(
	struct announcement *a, const char *channel, const char *part, const char *markdown, announcement_fn step)
{
	AUTO_FREE char *rest = NULL, *key = xasprintf("%s:%s", a->key, part);
	AUTO_JSON json_t *pieces = split_messages(markdown, PIECES_MAX, &rest);
	json_t *messages = json_array();
	json_array_each(pieces, piece)
		(void)json_array_append_new(messages, message_new(json_string_value(piece)));
	a->step = step;
	a->posted = true;
	outbox_post(a->bot, channel, key, a->at_ms, messages, on_row, a);
}

void
announcement_complain(const struct announcement *a, const char *what, const char *where)
{
	const char *advice = a->err.code == KETTLE_EACCES   ? "Give the bot the permissions View Channel, Send Messages, "
														  "Send Messages in Threads and Manage Threads there."
						 : a->err.code == KETTLE_ENOENT ? "Name a channel of the guild that exists."
														: "The bot does not try again.";
	bot_log(a->bot, KETTLE_LOG_WARNING, "Discord refuses %s in %s (event %lld, %s): %s %s", what, where,
		(long long)a->seq, a->kind, a->err.message, advice);
}

/* ---- ending ---- */

/*
 * After a restart, events that are done come again if an event before them is not. So the state keeps as many numbers
 * as events can be open.
 */
void
announcement_end(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	json_t *told = a->announce->told;
	if (a->posted && a->seq) {
		(void)json_array_append_new(told, json_integer(a->seq));
		while (json_array_size(told) > KETTLE_EVENTS_OPEN)
			(void)json_array_remove(told, 0);
		(void)host->state_put(host, TOLD_KEY, told, NULL, NULL);
	}
	if (a->seq)
		(void)host->event_done(host, a->seq);
	free_announcement(a);
}
