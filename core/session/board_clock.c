/* SPDX-License-Identifier: MIT */
/*
 * When leaderboards open and end. Loop thread of a server.
 *
 * Theory of operation. A write tells what has opened or ended (board_life.h) and when the next one does, and a timer makes
 * the next write then. A leaderboard that is created or changed, and the end of a submission where one waits for its
 * last, make one at once. The timer waits ten minutes at most, for clocks that are set.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/log.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "model/board_life.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_MS 600000
#define RETRY_MS 10000

struct board_clock {
	struct core *core;
	struct kettle_timer *timer;
	struct board_life life; /* of the last write */
	bool writing, again, stopped;
};

static void tick(struct board_clock *clock);

static void
timer_fired(void *arg)
{
	struct board_clock *clock = arg;
	clock->timer = NULL;
	tick(clock);
}

static void
wait_ms(struct board_clock *clock, int64_t ms)
{
	loop_timer_stop(clock->core->setup.io, clock->timer);
	clock->timer = NULL;
	(void)loop_timer_start(
		clock->core->setup.io, (uint64_t)(ms < 1 ? 1 : ms), 0, timer_fired, clock, &clock->timer, NULL);
}

static int
step_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct board_clock *clock = arg;
	return board_life_step(db, &clock->life, err);
}

static void
on_step(void *arg, const struct kettle_error *err)
{
	struct board_clock *clock = arg;
	int64_t now = clock_utc_ms(loop_clock(clock->core->setup.io)), wait = LONGEST_MS;
	clock->writing = false;
	if (clock->stopped)
		return;
	if (err) {
		/* The store says itself that it cannot be written. */
		wait_ms(clock, RETRY_MS);
	} else if (clock->again || clock->life.more) {
		clock->again = false;
		tick(clock);
	} else {
		if (clock->life.next_ms && clock->life.next_ms - now < wait)
			wait = clock->life.next_ms - now;
		wait_ms(clock, wait);
	}
}

static void
tick(struct board_clock *clock)
{
	if (clock->stopped)
		return;
	if (clock->writing) {
		clock->again = true;
		return;
	}
	clock->writing = true;
	store_write(clock->core->store, step_op, on_step, clock);
}

void
board_clock_event(struct board_clock *clock, const struct event *event)
{
	if (!clock)
		return;
	bool submission = strcmp(event->kind, "submission.done") == 0 || strcmp(event->kind, "submission.deleted") == 0;
	bool board = strcmp(event->kind, "leaderboard.created") == 0 || strcmp(event->kind, "leaderboard.updated") == 0;
	/* While a write is under way, `life` is the store's thread's. */
	if (board || (submission && (clock->writing || clock->life.waiting)))
		tick(clock);
}

struct board_clock *
board_clock_start(struct core *core)
{
	struct board_clock *clock = xcalloc(1, sizeof(*clock));
	clock->core = core;
	tick(clock);
	return clock;
}

void
board_clock_stop(struct board_clock *clock)
{
	if (!clock)
		return;
	clock->stopped = true;
	loop_timer_stop(clock->core->setup.io, clock->timer);
	clock->timer = NULL;
}

void
board_clock_free(struct board_clock *clock)
{
	free(clock);
}
