/* SPDX-License-Identifier: MIT */
/* The bot's announcements: for operators and creators, a post of each board, podiums and ends in public. */
#include <config.h>

#include "discord/flows/announce.h"

#include "base/base.h"
#include "base/text.h"
#include "common/format.h"
#include "discord/flows/announcement.h"
#include "discord/flows/result_threads.h"
#include "discord/render/message.h"
#include "discord/render/news.h"
#include "discord/text/escape.h"

/* ---- operators, and the creators of boards ---- */

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

static void
tell_operators(struct announcement *a)
{
	AUTO_FREE char *text = news_operators(a->event);
	if (strcmp(a->kind, "storage.full") == 0 && is_known_full(a))
		announcement_end(a);
	else
		tell(a, text);
}

static void
tell_news(struct announcement *a)
{
	AUTO_FREE char *text = news_creator(a->event);
	tell(a, text);
}

static void
on_creator_told(struct announcement *a)
{
	if (a->end == OUTBOX_CLOSED)
		bot_log(a->bot, KETTLE_LOG_INFO, "The creator of `%s` accepts no direct messages from the bot.",
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

static void
tell_creator(struct announcement *a)
{
	announcement_call(
		a, "user.show", json_pack("{s:{s:I}}", "name", "number", member_int(a->event, "user")), on_creator);
}

/* ---- the post of a board: a thread of the forum or, without a forum, a message; the outbox keeps it as "post/ID" ---- */

#define THREAD_NAME_MAX 100
#define GONE_NAME "A leaderboard that is no longer public"

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

/* Returns the visible thread of the board's post in the forum; NULL: there is none. Borrowed. */
static const char *
post_thread(const struct announcement *a)
{
	const json_t *post = post_of(a);
	const char *name = name_of(post);
	return name && strcmp(name, GONE_NAME) != 0 ? json_text_or_null(post, "id") : NULL;
}

/* A post that a moderator has removed is no error. */
static void
on_put(struct announcement *a)
{
	bool forum = post_of(a) ? name_of(post_of(a)) != NULL : *a->bot->settings.forum != '\0';
	if (a->end == OUTBOX_GONE || a->end == OUTBOX_MISSING)
		bot_log(a->bot, KETTLE_LOG_INFO, "The post of a leaderboard was removed from Discord (event %lld, %s).",
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

/*
 * Updates the post to the present a->board, public or not (a->open): makes one for an active board without a post, and
 * hides that of a board that is no longer public. Then calls step.
 */
static void
post_refresh(struct announcement *a, announcement_fn step)
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

static void
on_last(struct announcement *a)
{
	AUTO_FREE char *key = key_of(a);
	outbox_forget(a->bot, key);
	announcement_end(a);
}

/* The board was deleted: says so in its post, archives and forgets it. Ends the announcement. */
static void
post_remove(struct announcement *a)
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

/* ---- public news ---- */

#define ANNOUNCEMENTS "the channel of the option `announcements_channel`"

/* Until its opening time only its creator may see a board. */
static bool
is_public(const struct kettle_host *host, const json_t *board)
{
	int64_t opens = 0;
	(void)format_parse_time(json_text_or_empty(board, "opens"), &opens);
	return member_is(board, "visibility", "public") && opens <= host->utc_ms(host);
}

/* Handles the answer of leaderboard.show. false: there is nothing to announce, and the announcement has ended. */
static bool
take_board(struct announcement *a)
{
	json_t *board = json_object_get(a->result, "leaderboard");
	if (a->err.code && a->err.code != KETTLE_ENOENT)
		bot_log(a->bot, KETTLE_LOG_ERROR, "The leaderboard `%s` cannot be read for event %lld (%s): %s",
			json_text_or_empty(a->event, "leaderboard_name"), (long long)a->seq, a->kind, a->err.message);
	/* Another board may have this name by now. */
	if (a->err.code || member_int(board, "id") != member_int(a->event, "leaderboard")) {
		announcement_end(a);
		return false;
	}
	json_decref(a->board);
	a->board = json_incref(board);
	a->open = is_public(a->bot->host, board);
	return true;
}

static void
read_board(struct announcement *a, announcement_fn step)
{
	announcement_call(a, "leaderboard.show",
		json_pack("{s:s, s:i}", "name", json_text_or_empty(a->event, "leaderboard_name"), "limit", 1), step);
}

/* Whether the event may be announced: the board was public then and is public now. */
static bool
may_tell(const struct announcement *a, bool ended)
{
	return a->open && !member_true(a->event, "closed") && member_true(a->board, "ended") == ended;
}

static void
refresh(struct announcement *a)
{
	post_refresh(a, announcement_end);
}

static void
on_changed_board(struct announcement *a)
{
	if (!take_board(a))
		return;
	if (member_is(a->board, "visibility", "public"))
		refresh(a);
	else
		result_threads_delete(a, refresh);
}

static void
announce_change(struct announcement *a)
{
	read_board(a, on_changed_board);
}

static void
announce_deletion(struct announcement *a)
{
	result_threads_forget(a, post_remove);
}

static void
on_podium_told(struct announcement *a)
{
	if (a->err.code)
		announcement_complain(a, "a new podium", ANNOUNCEMENTS);
	post_refresh(a, announcement_end);
}

static void
on_podium_board(struct announcement *a)
{
	AUTO_FREE char *text = news_podium(a->event);
	if (!take_board(a))
		return;
	if (may_tell(a, false) && *a->bot->settings.announcements)
		announcement_post(a, a->bot->settings.announcements, "podium", text, on_podium_told);
	else
		post_refresh(a, announcement_end);
}

static void
announce_podium(struct announcement *a)
{
	read_board(a, on_podium_board);
}

static void
on_all_told(struct announcement *a)
{
	if (a->err.code)
		announcement_complain(a, "the final podium", ANNOUNCEMENTS);
	announcement_end(a);
}

static void
on_thread_told(struct announcement *a)
{
	AUTO_FREE char *text = news_ended(a->event);
	if (a->err.code)
		announcement_complain(a, "the final podium", "the thread of the leaderboard");
	if (*a->bot->settings.announcements)
		announcement_post(a, a->bot->settings.announcements, "ended", text, on_all_told);
	else
		announcement_end(a);
}

static void
on_ended_post(struct announcement *a)
{
	AUTO_FREE char *text = news_ended(a->event);
	const char *thread = post_thread(a);
	if (!may_tell(a, true))
		announcement_end(a);
	else if (thread)
		announcement_post(a, thread, "thread", text, on_thread_told);
	else
		on_thread_told(a);
}

static void
on_ended_board(struct announcement *a)
{
	if (take_board(a))
		post_refresh(a, on_ended_post);
}

static void
announce_end(struct announcement *a)
{
	read_board(a, on_ended_board);
}

/* ---- which event is announced how ---- */

static const struct {
	const char *kind;
	announcement_fn begin;
} kinds[] = {
	{"leaderboard.created", announce_change},
	{"leaderboard.opened", announce_change},
	{"leaderboard.updated", announce_change},
	{"leaderboard.deleted", announce_deletion},
	{"leaderboard.podium", announce_podium},
	{"leaderboard.ended", announce_end},
	{"leaderboard.fault", tell_creator},
	{"leaderboard.renamed", tell_creator},
	{"unit.quarantined", tell_operators},
	{"unit.returned", tell_operators},
	{"unit.unfit", tell_operators},
	{"unit.fit", tell_operators},
	{"storage.full", tell_operators},
	{"storage.ok", tell_operators},
	{"runner.credential_failed", tell_operators},
};

bool
announce_event(struct bot *bot, const json_t *event)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(kinds) && !member_is(event, "kind", kinds[i].kind))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return false;
	announcement_add(bot->announce, event, kinds[i].begin);
	return true;
}

/* While the disk is full no event can be stored, so the event that says so comes only to subscribers. */
static void
on_live(void *arg, const json_t *event)
{
	struct announce *announce = arg;
	if (!json_object_get(event, "seq") && member_is(event, "kind", "storage.full"))
		announcement_add(announce, event, tell_operators);
}

struct announce *
announce_new(struct bot *bot)
{
	const struct kettle_host *host = bot->host;
	struct kettle_error err = {0};
	struct announce *announce = xcalloc(1, sizeof(*announce));
	AUTO_JSON json_t *actor = bot_own_actor(), *filter = json_object();
	announce->bot = bot;
	announcement_start(announce);
	if (*bot->settings.operators &&
		host->subscribe(host, actor, filter, -1, on_live, announce, &announce->subscription, &err) < 0)
		host->log(host, KETTLE_LOG_WARNING, "A full disk cannot be announced at once: %s", err.message);
	return announce;
}

void
announce_board(struct bot *bot, json_int_t id, const char *name)
{
	char now[TIME_TEXT_SIZE];
	time_text(bot->host->utc_ms(bot->host), now);
	AUTO_JSON json_t *event = json_pack(
		"{s:s, s:s, s:I, s:s}", "kind", "leaderboard.updated", "at", now, "leaderboard", id, "leaderboard_name", name);
	announcement_add(bot->announce, event, announce_change);
}

static void
on_boards(void *arg, const struct kettle_error *err, json_t *boards)
{
	struct bot *bot = arg;
	json_array_each(boards, board)
		if (!err->code && !bot->stopping)
			announce_board(bot, member_int(board, "id"), json_text_or_empty(board, "name"));
}

void
announce_boards(struct bot *bot)
{
	AUTO_JSON json_t *actor = bot_own_actor(), *args = json_pack("{s:b}", "short", 1);
	if (*bot->settings.forum)
		(void)bot_call(bot, actor, "leaderboard.list", args, on_boards, bot);
}

void
announce_stop(struct announce *announce)
{
	if (!announce)
		return;
	const struct kettle_host *host = announce->bot->host;
	if (announce->subscription)
		(void)host->unsubscribe(host, announce->subscription, NULL, NULL);
	announce->subscription = 0;
	announcement_stop(announce);
}

void
announce_free(struct announce *announce)
{
	if (!announce)
		return;
	json_decref(announce->told);
	free_all(announce->full_since, announce);
}
