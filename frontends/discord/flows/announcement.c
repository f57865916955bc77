/* SPDX-License-Identifier: MIT */
/* One event that the bot tells of, as a chain of steps. */
#include <config.h>

#include "discord/flows/announcement.h"

#include <kettle/frontend.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "common/format.h"
#include "discord/interaction/later.h"
#include "discord/render/message.h"
#include "discord/text/split.h"

#define RETRY_MS 60000
#define RETRIES_LOGGED 60 /* one log line for so many tries */
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
	json_decref(a->event);
	json_decref(a->result);
	json_decref(a->pieces);
	json_decref(a->board);
	json_decref(a->post);
	json_decref(a->post_edit);
	json_decref(a->item);
	free(a->post_key);
	free(a->key);
	free(a);
}

/* Nothing of the same leaderboard is before it. */
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
	size_t i;
	const json_t *seq;
	json_array_foreach(a->announce->told, i, seq)
		if (a->seq && json_integer_value(seq) == a->seq)
			return true;
	return false;
}

/* A chain may end in the call that begins it, which changes the list. */
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
	if (!*a->queue) /* a deleted board may be known by its data alone */
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
	const struct kettle_host *host = announce->bot->host;
	if (err->code == KETTLE_ECANCELED || announce->bot->stopping)
		return;
	/* Without it, what was posted is still found among the recent messages of its channel. */
	if (err->code)
		host->log(host, KETTLE_LOG_WARNING, "Which events were announced cannot be read: %s", err->message);
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

/* ---- what came of a step ---- */

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
clear(struct announcement *a)
{
	json_decref(STEAL(a->result));
	json_decref(STEAL(a->pieces));
	json_decref(STEAL(a->board));
	json_decref(STEAL(a->post));
	json_decref(STEAL(a->post_edit));
	json_decref(STEAL(a->item));
	free(STEAL(a->post_key));
	a->open = false;
}

static void
try_later(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	if (a->tries++ % RETRIES_LOGGED == 0)
		host->log(host, KETTLE_LOG_WARNING, "The event %lld (%s) cannot be announced now and will be tried again: %s",
			(long long)a->seq, a->kind, a->err.message);
	clear(a);
	later_call(a->bot, RETRY_MS, on_retry, a);
}

static void
go_on(struct announcement *a, const struct kettle_error *err, bool later, int64_t code, const json_t *result)
{
	if (a->bot->stopping || err->code == KETTLE_ECANCELED) {
		free_announcement(a);
		return;
	}
	a->err = *err;
	a->code = code;
	json_decref(a->result);
	a->result = json_incref((json_t *)result);
	if (later)
		try_later(a);
	else
		a->step(a);
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct announcement *a = arg;
	struct announce *announce = a->announce;
	go_on(a, err, err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO, 0, result);
	start_ready(announce);
}

static void
on_rest(void *arg, const struct rest_answer *answer)
{
	struct announcement *a = arg;
	struct announce *announce = a->announce;
	go_on(a, answer->err, send_may_pass(answer), answer->code, answer->body);
	start_ready(announce);
}

/* The engine has not taken the request: as if it had answered so. */
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
	const struct kettle_host *host = a->bot->host;
	AUTO_JSON json_t *actor = bot_own_actor(), *args = args_take;
	a->step = step;
	check(a, host->call(host, actor, command, args, on_answer, a));
}

void
announcement_get(struct announcement *a, const char *key, announcement_fn step)
{
	a->step = step;
	check(a, a->bot->host->state_get(a->bot->host, key, on_answer, a));
}

void
announcement_put(struct announcement *a, const char *key, const json_t *value, announcement_fn step)
{
	a->step = step;
	check(a, a->bot->host->state_put(a->bot->host, key, value, on_answer, a));
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
	send_request(a->bot, method, path, body_take, on_rest, a);
}

void
announcement_send(struct announcement *a, enum send_mode mode, const char *channel, int64_t since_ms, const char *part,
	json_t *message_take, announcement_fn step)
{
	AUTO_FREE char *key = xasprintf("%s:%s", a->key, part);
	a->step = step;
	a->posted = true;
	send_once_answer(a->bot, mode, channel, key, since_ms, message_take, on_rest, a);
}

static void
post_piece(struct announcement *a)
{
	const char *text = json_string_value(json_array_get(a->pieces, a->piece));
	AUTO_FREE char *part = xasprintf("%s:%zu", a->part, a->piece);
	if (a->err.code || !text) {
		json_decref(STEAL(a->pieces));
		a->after_pieces(a);
		return;
	}
	a->piece++;
	announcement_send(a, a->tries ? SEND_AGAIN : SEND_ONCE, a->channel, a->at_ms, part, message_new(text), post_piece);
}

void
announcement_post(
	struct announcement *a, const char *channel, const char *part, const char *markdown, announcement_fn step)
{
	AUTO_FREE char *rest = NULL;
	a->pieces = split_messages(markdown, PIECES_MAX, &rest);
	a->piece = 0;
	a->part = part;
	a->after_pieces = step;
	(void)snowflake_copy(a->channel, channel);
	a->err.code = 0;
	post_piece(a);
}

void
announcement_complain(const struct announcement *a, const char *what, const char *where)
{
	const struct kettle_host *host = a->bot->host;
	const char *advice = a->err.code == KETTLE_EACCES   ? "Give the bot the permissions View Channel, Send Messages, "
														  "Send Messages in Threads and Manage Threads there."
						 : a->err.code == KETTLE_ENOENT ? "Name a channel of the guild that exists."
														: "It will not be tried again.";
	host->log(host, KETTLE_LOG_WARNING, "Discord refuses %s in %s (event %lld, %s): %s %s", what, where,
		(long long)a->seq, a->kind, a->err.message, advice);
}

/* ---- the end ---- */

static void
finish(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	if (a->seq)
		(void)host->event_done(host, a->seq);
	free_announcement(a);
}

/* After a restart events come again that were done, if one before them was not: as many as are open at once. */
void
announcement_end(struct announcement *a)
{
	json_t *told = a->announce->told;
	if (!a->posted || !a->seq) {
		finish(a);
		return;
	}
	(void)json_array_append_new(told, json_integer(a->seq));
	while (json_array_size(told) > KETTLE_EVENTS_OPEN)
		(void)json_array_remove(told, 0);
	announcement_put(a, TOLD_KEY, told, finish);
}
