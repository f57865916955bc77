/* SPDX-License-Identifier: MIT */
/*
 * The public threads of ranked results.
 *
 * Theory of operation. State "result/BOARD/THREAD" has {"channel", "name"} of each thread. Threads are handled one
 * after the other, and each is removed from the state at its end. After a crash the next process continues with the
 * rest.
 */
#include <config.h>

#include "discord/flows/result_threads.h"

#include "base/base.h"
#include "discord/text/snowflake.h"

#define KEY_PREFIX "result/"
#define THREAD_CREATED 18 /* type of the message that Discord writes when a thread is made */
#define NEAR_MS 1000ULL   /* between that message and its thread */
#define NEAR_MAX 20       /* messages that are searched for it */

static void next(struct announcement *a);

static char *
prefix_of(json_int_t board)
{
	return xasprintf(KEY_PREFIX "%lld/", (long long)board);
}

void
result_threads_add(struct bot *bot, json_int_t board, const char *thread, const char *channel, const char *name)
{
	AUTO_FREE char *prefix = prefix_of(board), *key = xasprintf("%s%s", prefix, thread);
	AUTO_JSON json_t *value = json_pack("{s:s, s:s}", "channel", channel, "name", name);
	(void)bot_put(bot, key, value, NULL, NULL);
}

/* Returns the thread's id from the key. Borrowed. */
static const char *
thread_of(const struct announcement *a)
{
	return strrchr(json_text_or_empty(a->item, "key"), '/') + 1;
}

static void
forget_item(struct announcement *a)
{
	announcement_put(a, json_text_or_empty(a->item, "key"), NULL, next);
}

/* Deletes Discord's message "alice started a thread: …", which has the thread's name. */
static void
on_near(struct announcement *a)
{
	const json_t *value = json_object_get(a->item, "value");
	json_array_each(a->err.code ? NULL : a->result, message) {
		if (member_int(message, "type") != THREAD_CREATED ||
			!member_is(message, "content", json_text_or_empty(value, "name")))
			continue;
		AUTO_FREE char *path = xasprintf(
			"/channels/%s/messages/%s", json_text_or_empty(value, "channel"), json_text_or_empty(message, "id"));
		announcement_request(a, "DELETE", path, NULL, forget_item);
		return;
	}
	forget_item(a);
}

/* A thread that a moderator has removed is no error. */
static void
on_deleted(struct announcement *a)
{
	if (a->err.code && a->err.code != KETTLE_ENOENT)
		announcement_complain(a, "the end of a result's thread", "the channel of the submissions");
	uint64_t id = 0;
	(void)snowflake_parse(thread_of(a), &id);
	id -= id > NEAR_MS << 22 ? NEAR_MS << 22 : id; /* the upper bits of a snowflake are its time */
	AUTO_FREE char *path = xasprintf("/channels/%s/messages?after=%llu&limit=%d",
		json_text_or_empty(json_object_get(a->item, "value"), "channel"), (unsigned long long)id, NEAR_MAX);
	announcement_request(a, "GET", path, NULL, on_near);
}

static void
on_listed(struct announcement *a)
{
	json_t *item = json_array_get(json_object_get(a->result, "items"), 0);
	json_decref(a->item);
	a->item = json_incref(item);
	if (!item) {
		a->after_results(a);
	} else if (a->forgets) {
		forget_item(a);
	} else {
		AUTO_FREE char *path = xasprintf("/channels/%s", thread_of(a));
		announcement_request(a, "DELETE", path, NULL, on_deleted);
	}
}

static void
next(struct announcement *a)
{
	AUTO_FREE char *prefix = prefix_of(member_int(a->event, "leaderboard"));
	announcement_list(a, prefix, 1, on_listed);
}

void
result_threads_delete(struct announcement *a, announcement_fn step)
{
	a->after_results = step;
	a->forgets = false;
	next(a);
}

void
result_threads_forget(struct announcement *a, announcement_fn step)
{
	a->after_results = step;
	a->forgets = true;
	next(a);
}
