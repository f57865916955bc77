/* SPDX-License-Identifier: MIT */
/* The bot's announcements: chooses how to announce each event. */
#include <config.h>

#include "discord/flows/announce.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "discord/flows/announcement.h"
#include "discord/flows/board_news.h"
#include "discord/flows/operators.h"

static const struct {
	const char *kind;
	announcement_fn begin;
} kinds[] = {
	{"leaderboard.created", board_news_changed},
	{"leaderboard.opened", board_news_changed},
	{"leaderboard.updated", board_news_changed},
	{"leaderboard.deleted", board_news_deleted},
	{"leaderboard.podium", board_news_podium},
	{"leaderboard.ended", board_news_ended},
	{"leaderboard.fault", operators_creator},
	{"leaderboard.renamed", operators_creator},
	{"unit.quarantined", operators_told},
	{"unit.returned", operators_told},
	{"storage.full", operators_told},
	{"storage.ok", operators_told},
	{"runner.credential_failed", operators_told},
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
		announcement_add(announce, event, operators_told);
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
		host->log(host, KETTLE_LOG_WARNING, "A full disk cannot be told of at once: %s", err.message);
	return announce;
}

void
announce_board(struct bot *bot, json_int_t id, const char *name)
{
	char now[TIME_TEXT_SIZE];
	time_text(bot->host->utc_ms(bot->host), now);
	AUTO_JSON json_t *event = json_pack(
		"{s:s, s:s, s:I, s:s}", "kind", "leaderboard.updated", "at", now, "leaderboard", id, "leaderboard_name", name);
	announcement_add(bot->announce, event, board_news_changed);
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
	const struct kettle_host *host = bot->host;
	AUTO_JSON json_t *actor = bot_own_actor(), *args = json_object();
	if (*bot->settings.forum)
		(void)host->call(host, actor, "leaderboard.list", args, on_boards, bot);
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
	free(announce->full_since);
	free(announce);
}
