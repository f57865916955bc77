/* SPDX-License-Identifier: MIT */
/* Announcements for operators and creators of leaderboards. */
#include <config.h>

#include "discord/flows/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "common/format.h"
#include "discord/render/news.h"

#define OPERATORS "the channel of the option `operators_channel`"

static void
on_told(struct announcement *a)
{
	if (a->err.code)
		announcement_complain(a, "a message to the operators", OPERATORS);
	announcement_end(a);
}

static void
tell(struct announcement *a, const char *text)
{
	if (*a->bot->settings.operators)
		announcement_post(a, a->bot->settings.operators, "operators", text, on_told);
	else
		announcement_end(a);
}

/*
 * Whether this full disk was announced. An event without a number reports a full disk at once, and a stored one when
 * there is space again, perhaps hours later. Both have the same key, the time since when the disk is full.
 */
static bool
is_known_full(struct announcement *a)
{
	const char *since = json_text_or_empty(json_object_get(a->event, "data"), "since");
	struct announce *announce = a->announce;
	free(a->key);
	a->key = xasprintf("full:%s", since);
	(void)format_parse_time(since, &a->at_ms);
	if (announce->full_since && strcmp(announce->full_since, since) == 0)
		return true;
	free(announce->full_since);
	announce->full_since = xstrdup(since);
	return false;
}

void
operators_told(struct announcement *a)
{
	AUTO_FREE char *text = news_operators(a->event);
	if (strcmp(a->kind, "storage.full") == 0 && is_known_full(a))
		announcement_end(a);
	else
		tell(a, text);
}

/* ---- what the creator of a board must know ---- */

static void
tell_news(struct announcement *a)
{
	AUTO_FREE char *text = news_creator(a->event);
	tell(a, text);
}

static void
on_creator_told(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	if (a->end == OUTBOX_CLOSED)
		host->log(host, KETTLE_LOG_INFO, "The creator of `%s` takes no direct messages of the bot.",
			json_text_or_empty(a->event, "leaderboard_name"));
	else if (a->err.code)
		announcement_complain(a, "a direct message", "the channel of a leaderboard's creator");
	tell_news(a);
}

static void
on_channel(struct announcement *a)
{
	AUTO_FREE char *text = news_creator(a->event);
	char channel[SNOWFLAKE_SIZE];
	if (a->err.code == 0 && snowflake_copy(channel, json_text_or_null(a->result, "id")))
		announcement_post(a, channel, "creator", text, on_creator_told);
	else
		on_creator_told(a);
}

static void
on_creator(struct announcement *a)
{
	char id[SNOWFLAKE_SIZE] = "";
	json_array_each(json_object_get(a->result, "identities"), identity)
		if (!*id && member_is(identity, "provider", "discord"))
			(void)snowflake_copy(id, json_text_or_null(identity, "subject"));
	if (*id)
		announcement_request(a, "POST", "/users/@me/channels", json_pack("{s:s}", "recipient_id", id), on_channel);
	else
		tell_news(a);
}

void
operators_creator(struct announcement *a)
{
	announcement_call(
		a, "user.show", json_pack("{s:{s:I}}", "name", "number", member_int(a->event, "user")), on_creator);
}
