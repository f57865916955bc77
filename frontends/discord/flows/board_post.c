/* SPDX-License-Identifier: MIT */
/* The post of a leaderboard in the forum or in the announcements channel. */
#include <config.h>

#include "discord/flows/board_post.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/render/message.h"
#include "discord/render/news.h"
#include "discord/text/escape.h"

#define THREAD_NAME_MAX 100
#define GONE_NAME "A leaderboard that is not public any more"

static char *
key_of(const struct announcement *a)
{
	return xasprintf("post/%lld", (long long)member_int(a->event, "leaderboard"));
}

/* Returns what the outbox has of the post; NULL: nothing. Borrowed. */
static const json_t *
post_of(const struct announcement *a)
{
	AUTO_FREE char *key = key_of(a);
	return outbox_known(a->bot, key);
}

/* Returns the name of the post's thread; NULL: it is a message. */
static const char *
name_of(const json_t *post)
{
	return json_text_or_null(json_object_get(post, "what"), "name");
}

const char *
board_post_thread(const struct announcement *a)
{
	const json_t *post = post_of(a);
	const char *name = name_of(post);
	return name && strcmp(name, GONE_NAME) != 0 ? json_text_or_null(post, "id") : NULL;
}

/* ---- its contents ---- */

/* A post that a moderator has removed is no error. */
static void
on_put(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	bool forum = post_of(a) ? name_of(post_of(a)) != NULL : *a->bot->settings.forum != '\0';
	if (a->end == OUTBOX_GONE || a->end == OUTBOX_MISSING)
		host->log(host, KETTLE_LOG_INFO, "The post of a leaderboard was removed from Discord (event %lld, %s).",
			(long long)a->seq, a->kind);
	else if (a->end != OUTBOX_DONE)
		announcement_complain(a, "a leaderboard's post",
			forum ? "the channel of the option `forum`" : "the channel of the option `announcements_channel`");
	a->err.code = 0;
	a->after_post(a);
}

/*
 * ping: the role that the first line names and that a new post notifies; NULL: none. closed: the post takes no
 * answers.
 */
static void
put(struct announcement *a, const char *name, const char *text, const char *ping, bool closed)
{
	const struct bot_settings *settings = &a->bot->settings;
	const json_t *post = post_of(a);
	bool forum = post ? name_of(post) != NULL : *settings->forum != '\0';
	AUTO_FREE char *key = key_of(a), *shown = escape_plain(name, THREAD_NAME_MAX);
	AUTO_BUF struct buf content = {0};
	if (ping)
		buf_printf(&content, "<@&%s>\n", ping);
	buf_adds(&content, text);
	json_t *message = message_new(content.data);
	const struct outbox_kept kept = {
		.key = key,
		.channel = post    ? json_text_or_empty(post, "channel")
				   : forum ? settings->forum
						   : settings->announcements,
		.what_take = forum ? json_pack("{s:s, s:b, s:b, s:o}", "name", shown, "archived", (int)closed, "locked",
								 (int)closed, "message", message)
						   : message,
		.ping = ping,
		.only_changed = closed || !a->open,
	};
	announcement_keep(a, &kept, on_put);
}

static void
hide(struct announcement *a)
{
	AUTO_FREE char *text = news_board_gone(NULL);
	put(a, GONE_NAME, text, NULL, true);
}

/* Whether the board is new. The post of an older board notifies no role. */
static bool
is_new(const struct announcement *a)
{
	const json_t *changes = json_object_get(json_object_get(a->event, "data"), "changes");
	return strcmp(a->kind, "leaderboard.created") == 0 || strcmp(a->kind, "leaderboard.opened") == 0 ||
		   list_has_text(changes, "visibility") || list_has_text(changes, "opens");
}

void
board_post_refresh(struct announcement *a, announcement_fn step)
{
	const struct bot_settings *settings = &a->bot->settings;
	const json_t *post = post_of(a);
	const char *role = a->bot->roles[BOT_PARTICIPANTS];
	const char *ping = post ? json_text_or_null(post, "ping") : *role && is_new(a) ? role : NULL;
	bool makes = !member_true(a->board, "ended") && (*settings->forum || *settings->announcements);
	AUTO_FREE char *text = news_board(a->board, settings->submissions), *called = ping ? xstrdup(ping) : NULL;
	a->after_post = step;
	if (a->open && (post || makes))
		put(a, json_text_or_empty(a->board, "name"), text, called, false);
	else if (post)
		hide(a);
	else
		step(a);
}

/* ---- deletion ---- */

static void
on_last(struct announcement *a)
{
	AUTO_FREE char *key = key_of(a);
	outbox_forget(a->bot, key);
	announcement_end(a);
}

void
board_post_remove(struct announcement *a)
{
	const json_t *post = post_of(a);
	const char *name = json_text_or_empty(json_object_get(a->event, "data"), "name"), *thread = name_of(post);
	AUTO_FREE char *text = news_board_gone(name);
	a->after_post = on_last;
	if (!post)
		announcement_end(a);
	else if (member_true(a->event, "closed") || (thread && strcmp(thread, GONE_NAME) == 0))
		hide(a);
	else
		put(a, name, text, NULL, true);
}
