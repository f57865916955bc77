/* SPDX-License-Identifier: MIT */
/* The leaderboards that a user may see, kept in memory. */
#include <config.h>

#include "discord/interaction/boards.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

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
