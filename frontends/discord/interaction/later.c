/* SPDX-License-Identifier: MIT */
/* Calls that happen later: one timer for all, so that nothing is left when the bot stops. */
#include <config.h>

#include "discord/interaction/later.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define TICK_MS 500

struct wait {
	uint64_t due_ms;
	kettle_fn fn;
	void *arg;
};

struct later {
	struct bot *bot;
	struct wait *waits;
	size_t count, room;
	struct kettle_timer *timer;
};

/* Calls that are added meanwhile are at the end. */
static void
call_due(struct later *later, bool all)
{
	const struct kettle_host *host = later->bot->host;
	for (size_t i = 0; i < later->count;) {
		struct wait wait = later->waits[i];
		if (!all && wait.due_ms > host->monotonic_ms(host)) {
			i++;
			continue;
		}
		later->waits[i] = later->waits[--later->count];
		wait.fn(wait.arg);
	}
}

static void
on_tick(void *arg)
{
	call_due(arg, false);
}

struct later *
later_new(struct bot *bot)
{
	struct later *later = xnew(struct later, .bot = bot);
	(void)bot->host->timer_start(bot->host, TICK_MS, TICK_MS, on_tick, later, &later->timer, NULL);
	return later;
}

void
later_stop(struct later *later)
{
	later->bot->host->timer_stop(later->bot->host, later->timer);
	later->timer = NULL;
	call_due(later, true);
}

void
later_free(struct later *later)
{
	if (!later)
		return;
	free_all(later->waits, later);
}

void
later_call(struct bot *bot, uint64_t ms, kettle_fn fn, void *arg)
{
	struct later *later = bot->later;
	if (bot->stopping) {
		fn(arg);
		return;
	}
	if (later->count == later->room) {
		later->room = later->room ? 2 * later->room : 16;
		later->waits = xreallocarray(later->waits, later->room, sizeof(*later->waits));
	}
	later->waits[later->count++] = (struct wait){bot->host->monotonic_ms(bot->host) + ms, fn, arg};
}
