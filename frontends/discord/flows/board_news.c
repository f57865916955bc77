/* SPDX-License-Identifier: MIT */
/* Public announcements about leaderboards. */
#include <config.h>

#include "discord/flows/board_news.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/format.h"
#include "discord/flows/board_post.h"
#include "discord/flows/result_threads.h"
#include "discord/render/news.h"

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
	const struct kettle_host *host = a->bot->host;
	json_t *board = json_object_get(a->result, "leaderboard");
	if (a->err.code && a->err.code != KETTLE_ENOENT)
		host->log(host, KETTLE_LOG_ERROR, "The leaderboard `%s` cannot be read for event %lld (%s): %s",
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

/* ---- the post ---- */

static void
refresh(struct announcement *a)
{
	board_post_refresh(a, announcement_end);
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

void
board_news_changed(struct announcement *a)
{
	read_board(a, on_changed_board);
}

void
board_news_deleted(struct announcement *a)
{
	result_threads_forget(a, board_post_remove);
}

/* ---- podiums ---- */

static void
on_podium_told(struct announcement *a)
{
	if (a->err.code)
		announcement_complain(a, "a new podium", ANNOUNCEMENTS);
	board_post_refresh(a, announcement_end);
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
		board_post_refresh(a, announcement_end);
}

void
board_news_podium(struct announcement *a)
{
	read_board(a, on_podium_board);
}

/* ---- the end ---- */

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
	const char *thread = board_post_thread(a);
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
		board_post_refresh(a, on_ended_post);
}

void
board_news_ended(struct announcement *a)
{
	read_board(a, on_ended_board);
}
