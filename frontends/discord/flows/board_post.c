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
#define CLOCKS_DIFFER_MS 60000 /* Discord's clock may be behind this machine's by so much */
#define GONE_NAME "A leaderboard that is not public any more"

static void decide(struct announcement *a);

const char *
board_post_thread(const json_t *post)
{
	return member_true(post, "forum") && !member_true(post, "hidden") ? json_text_or_null(post, "channel") : NULL;
}

static const char *
option_of(const json_t *post)
{
	return member_true(post, "forum") ? "the channel of the option `forum`"
									  : "the channel of the option `announcements_channel`";
}

static char *
thread_name(const struct announcement *a)
{
	return escape_plain(json_text_or_empty(a->board, "name"), THREAD_NAME_MAX);
}

/* Its message; the role is pinged when the message is new, not when it is edited. */
static json_t *
message_of(const json_t *post, bool is_new)
{
	AUTO_BUF struct buf content = {0};
	const char *mention = json_text_or_null(post, "mention");
	if (mention)
		buf_printf(&content, "<@&%s>\n", mention);
	buf_adds(&content, json_text_or_empty(post, "text"));
	json_t *message = message_new(content.data);
	if (mention && is_new)
		json_object_set_new(message, "allowed_mentions", json_pack("{s:[], s:[s]}", "parse", "roles", mention));
	return message;
}

static void
end(struct announcement *a)
{
	a->err.code = 0;
	a->after_post(a);
}

/* The state has been written, or cannot be: then what is there is found again with the board's next event. */
static void
on_kept(struct announcement *a)
{
	if (a->err.code) {
		a->bot->host->log(a->bot->host, KETTLE_LOG_ERROR, "The post of `%s` cannot be stored: %s",
			json_text_or_empty(a->board, "name"), a->err.message);
		end(a);
		return;
	}
	decide(a);
}

static void
forget(struct announcement *a)
{
	json_decref(STEAL(a->post));
	announcement_put(a, a->post_key, NULL, end);
}

/* ---- changing it ---- */

static void
on_changed(struct announcement *a)
{
	json_decref(a->post);
	a->post = json_incref(json_object_get(a->post_edit, "state"));
	announcement_put(a, a->post_key, a->post, end);
}

/* true: the last step was refused, and that is dealt with. A post that a moderator has removed is no fault. */
static bool
is_refused(struct announcement *a)
{
	const struct kettle_host *host = a->bot->host;
	if (a->err.code == 0)
		return false;
	if (a->err.code == KETTLE_ENOENT) {
		host->log(host, KETTLE_LOG_INFO, "The post of a leaderboard was removed from Discord (event %lld, %s).",
			(long long)a->seq, a->kind);
		forget(a);
		return true;
	}
	announcement_complain(a, "a change of a leaderboard's post", option_of(a->post));
	if (json_object_get(a->post_edit, "state"))
		end(a);
	else
		forget(a);
	return true;
}

static void
on_text(struct announcement *a)
{
	json_t *last = json_object_get(a->post_edit, "last");
	AUTO_FREE char *path = xasprintf("/channels/%s", json_text_or_empty(a->post, "channel"));
	if (is_refused(a))
		return;
	if (last)
		announcement_request(a, "PATCH", path, json_incref(last), on_changed);
	else
		on_changed(a);
}

static void
on_ready(struct announcement *a)
{
	AUTO_FREE char *path = xasprintf(
		"/channels/%s/messages/%s", json_text_or_empty(a->post, "channel"), json_text_or_empty(a->post, "message"));
	if (!is_refused(a))
		announcement_request(a, "PATCH", path, message_of(json_object_get(a->post_edit, "shown"), false), on_text);
}

/*
 * Changes the post: a thread first, since an archived one takes no changes, then the message to what `shown` has, then the
 * thread to last_take (NULL: not at all); then the state is that, or with NULL removed.
 */
static void
change(struct announcement *a, json_t *first_take, json_t *shown_take, json_t *last_take, bool keeps)
{
	bool thread = member_true(a->post, "forum");
	AUTO_FREE char *path = xasprintf("/channels/%s", json_text_or_empty(a->post, "channel"));
	AUTO_JSON json_t *first = first_take;
	json_decref(a->post_edit);
	a->post_edit = json_pack("{s:o, s:O*}", "shown", shown_take, "state", keeps ? shown_take : NULL);
	if (last_take && thread)
		json_object_set(a->post_edit, "last", last_take);
	json_decref(last_take);
	if (thread)
		announcement_request(a, "PATCH", path, STEAL(first), on_ready);
	else
		on_ready(a);
}

/* The post with another text; "since" was for the time before it was there. New reference. */
static json_t *
post_with(const json_t *post, const char *text, bool hidden)
{
	json_t *changed = json_copy((json_t *)post);
	json_object_set_new(changed, "text", json_string(text));
	json_object_set_new(changed, "hidden", json_boolean(hidden));
	(void)json_object_del(changed, "since");
	if (hidden)
		(void)json_object_del(changed, "mention");
	return changed;
}

static void
show(struct announcement *a, const char *text)
{
	AUTO_FREE char *name = thread_name(a);
	json_t *first = json_pack("{s:b}", "archived", 0);
	if (member_true(a->post, "hidden")) {
		json_object_set_new(first, "locked", json_false());
		json_object_set_new(first, "name", json_string(name));
	}
	change(a, first, post_with(a->post, text, false), NULL, true);
}

static void
hide(struct announcement *a, bool keeps)
{
	AUTO_FREE char *text = news_board_gone(NULL);
	change(a, json_pack("{s:b}", "archived", 0), post_with(a->post, text, true),
		json_pack("{s:b, s:b, s:s}", "archived", 1, "locked", 1, "name", GONE_NAME), keeps);
}

/* ---- making it ---- */

static void
on_made(struct announcement *a)
{
	const char *id = json_text_or_null(a->result, "id");
	const char *first = json_text_or_null(json_object_get(a->result, "message"), "id");
	if (a->err.code || !id) {
		if (!a->err.code)
			(void)kettle_fail(&a->err, KETTLE_EIO, "Discord's answer has no \"id\".");
		announcement_complain(a, "a leaderboard's post", option_of(a->post));
		forget(a);
		return;
	}
	/* The first message of a thread in a forum has the thread's number. */
	if (member_true(a->post, "forum"))
		json_object_set_new(a->post, "channel", json_string(id));
	json_object_set_new(a->post, "message", json_string(member_true(a->post, "forum") && first ? first : id));
	announcement_put(a, a->post_key, a->post, on_kept);
}

static void
make(struct announcement *a)
{
	const char *channel = json_text_or_empty(a->post, "channel");
	AUTO_FREE char *path = xasprintf("/channels/%s/threads", channel), *name = thread_name(a);
	json_t *message = message_of(a->post, true);
	if (!member_true(a->post, "forum")) {
		announcement_send(a, SEND_ONCE, channel, a->at_ms, "post", message, on_made);
		return;
	}
	if (!json_object_get(message, "allowed_mentions"))
		json_object_set_new(message, "allowed_mentions", json_pack("{s:[]}", "parse"));
	announcement_request(a, "POST", path, json_pack("{s:s, s:o}", "name", name, "message", message), on_made);
}

static void
on_begun(struct announcement *a)
{
	if (a->err.code)
		on_kept(a);
	else
		make(a);
}

/* An older board gets a post without noise: only what is new for all pings. */
static bool
is_new(const struct announcement *a)
{
	const json_t *changes = json_object_get(json_object_get(a->event, "data"), "changes");
	return strcmp(a->kind, "leaderboard.created") == 0 || strcmp(a->kind, "leaderboard.opened") == 0 ||
		   list_has_text(changes, "visibility") || list_has_text(changes, "opens");
}

static void
begin(struct announcement *a, const char *text)
{
	const struct bot_settings *settings = &a->bot->settings;
	const char *channel = *settings->forum ? settings->forum : settings->announcements;
	const char *role = a->bot->roles[BOT_PARTICIPANTS];
	if (!*channel) {
		end(a);
		return;
	}
	a->post = json_pack("{s:s, s:b, s:s, s:I, s:s*}", "channel", channel, "forum", *settings->forum != '\0', "text",
		text, "since", (json_int_t)a->at_ms, "mention", *role && is_new(a) ? role : NULL);
	announcement_put(a, a->post_key, a->post, on_begun);
}

/* ---- finding what a crash has left ---- */

static void
on_missing(struct announcement *a)
{
	if (a->open)
		make(a);
	else
		forget(a);
}

static bool
is_thread_of(const struct announcement *a, const json_t *thread, const char *name)
{
	uint64_t id = 0;
	return snowflake_parse(json_text_or_empty(thread, "id"), &id) &&
		   snowflake_time(id) >= member_int(a->post, "since") - CLOCKS_DIFFER_MS &&
		   member_is(thread, "parent_id", json_text_or_empty(a->post, "channel")) &&
		   member_is(thread, "owner_id", a->bot->user) && member_is(thread, "name", name);
}

static void
on_threads(struct announcement *a)
{
	AUTO_FREE char *name = thread_name(a);
	AUTO_JSON json_t *threads = json_incref(json_object_get(a->result, "threads"));
	size_t i;
	json_t *thread;
	json_array_foreach(a->err.code ? NULL : threads, i, thread) {
		if (!is_thread_of(a, thread, name))
			continue;
		json_decref(a->result);
		a->result = json_incref(thread);
		on_made(a);
		return;
	}
	on_missing(a);
}

static void
on_message(struct announcement *a)
{
	if (a->err.code == 0)
		on_made(a);
	else
		on_missing(a);
}

static void
find(struct announcement *a)
{
	AUTO_FREE char *path = xasprintf("/guilds/%s/threads/active", a->bot->settings.guild);
	if (member_true(a->post, "forum"))
		announcement_request(a, "GET", path, NULL, on_threads);
	else
		announcement_send(a, SEND_FIND, json_text_or_empty(a->post, "channel"), member_int(a->post, "since"), "post",
			message_of(a->post, true), on_message);
}

/* ---- what is to do ---- */

static void
decide(struct announcement *a)
{
	AUTO_FREE char *text = news_board(a->board, a->bot->settings.submissions);
	bool there = json_text_or_null(a->post, "message"), hidden = member_true(a->post, "hidden");
	if (a->post && !there)
		find(a);
	else if (there && a->open && (hidden || !member_is(a->post, "text", text)))
		show(a, text);
	else if (there && !a->open && !hidden)
		hide(a, true);
	else if (!a->post && a->open && !member_true(a->board, "ended"))
		begin(a, text);
	else
		end(a);
}

static bool
read_post(struct announcement *a)
{
	json_decref(a->post);
	a->post = json_is_object(a->result) ? json_deep_copy(a->result) : NULL;
	if (a->err.code == 0)
		return true;
	a->bot->host->log(a->bot->host, KETTLE_LOG_ERROR, "The post of a leaderboard cannot be read: %s", a->err.message);
	end(a);
	return false;
}

static void
on_state(struct announcement *a)
{
	if (read_post(a))
		decide(a);
}

void
board_post_refresh(struct announcement *a, announcement_fn step)
{
	a->after_post = step;
	free(a->post_key);
	a->post_key = xasprintf("post/%lld", (long long)member_int(a->event, "leaderboard"));
	announcement_get(a, a->post_key, on_state);
}

/* ---- deleted ---- */

/* Its own step is over: the key goes with the board. */
static void
on_hidden(struct announcement *a)
{
	a->after_post = announcement_end;
	forget(a);
}

static void
on_last_state(struct announcement *a)
{
	AUTO_FREE char *text = news_board_gone(json_text_or_empty(a->board, "name"));
	if (!read_post(a))
		return;
	if (a->post && !json_text_or_null(a->post, "message")) {
		a->after_post = on_hidden;
		find(a);
	} else if (a->post && member_true(a->post, "hidden"))
		forget(a);
	else if (a->post && member_true(a->event, "closed"))
		hide(a, false);
	else if (a->post) {
		(void)json_object_del(a->post, "mention");
		change(a, json_pack("{s:b}", "archived", 0), post_with(a->post, text, false),
			json_pack("{s:b, s:b}", "archived", 1, "locked", 1), false);
	} else
		end(a);
}

void
board_post_remove(struct announcement *a)
{
	const json_t *data = json_object_get(a->event, "data");
	a->after_post = announcement_end;
	a->open = false;
	json_decref(a->board);
	a->board = json_pack("{s:s}", "name", json_text_or_empty(data, "name"));
	free(a->post_key);
	a->post_key = xasprintf("post/%lld", (long long)member_int(a->event, "leaderboard"));
	announcement_get(a, a->post_key, on_last_state);
}
