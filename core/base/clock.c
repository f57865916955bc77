/* SPDX-License-Identifier: MIT */
/* The clock for timers and durations. Its timers are a sorted list, searched from the end, where most new ones belong. */
#include <config.h>

#include "base/clock.h"

#include "base/times.h"

#define NS_PER_MS 1000000u
#define BEGIN_MS (UINT64_C(100) * 86400 * 1000) /* of a simulated clock: the machine has run for a while */

void
clock_init(struct clock *clock, void (*alarm)(void *arg, uint64_t delay_ms), void *arg)
{
	*clock = (struct clock){.alarm = alarm, .alarm_arg = arg};
}

void
clock_simulate(struct clock *clock, int64_t utc_ms)
{
	*clock = (struct clock){.simulated = true, .now_ms = BEGIN_MS};
	clock_set_utc(clock, utc_ms);
}

uint64_t
clock_ns(const struct clock *clock)
{
	return clock->simulated ? __atomic_load_n(&clock->now_ms, __ATOMIC_RELAXED) * NS_PER_MS : time_monotonic_ns();
}

uint64_t
clock_ms(const struct clock *clock)
{
	return clock_ns(clock) / NS_PER_MS;
}

int64_t
clock_utc_ms(const struct clock *clock)
{
	if (!clock->simulated)
		return time_now_ms();
	return (int64_t)clock_ms(clock) + __atomic_load_n(&clock->utc_offset_ms, __ATOMIC_RELAXED);
}

void
clock_set_utc(struct clock *clock, int64_t utc_ms)
{
	__atomic_store_n(&clock->utc_offset_ms, utc_ms - (int64_t)clock->now_ms, __ATOMIC_RELAXED);
}

/* ---- timers ---- */

static void
set_alarm(const struct clock *clock)
{
	if (clock->alarm && clock->first && !clock->running)
		clock->alarm(clock->alarm_arg, clock_wait_ms(clock));
}

/* Inserts the timer after all that are due no later. */
static void
insert(struct clock_timer *timer, uint64_t delay_ms)
{
	struct clock *clock = timer->clock;
	uint64_t now_ms = clock_ms(clock);
	timer->due_ms = delay_ms < UINT64_MAX - now_ms ? now_ms + delay_ms : UINT64_MAX;
	timer->serial = clock->serial++;
	struct clock_timer *previous = clock->last;
	while (previous && previous->due_ms > timer->due_ms)
		previous = previous->previous;
	timer->previous = previous;
	timer->next = previous ? previous->next : clock->first;
	*(timer->previous ? &timer->previous->next : &clock->first) = timer;
	*(timer->next ? &timer->next->previous : &clock->last) = timer;
}

void
clock_timer_stop(struct clock_timer *timer)
{
	struct clock *clock = timer->clock;
	if (!clock)
		return;
	*(timer->previous ? &timer->previous->next : &clock->first) = timer->next;
	*(timer->next ? &timer->next->previous : &clock->last) = timer->previous;
	timer->clock = NULL;
}

void
clock_timer_start(struct clock *clock, struct clock_timer *timer, uint64_t delay_ms, uint64_t repeat_ms,
	void (*fn)(void *arg), void *arg)
{
	clock_timer_stop(timer);
	*timer = (struct clock_timer){.clock = clock, .repeat_ms = repeat_ms, .fn = fn, .arg = arg};
	insert(timer, delay_ms);
	if (clock->first == timer)
		set_alarm(clock);
}

uint64_t
clock_wait_ms(const struct clock *clock)
{
	if (!clock->first)
		return UINT64_MAX;
	uint64_t now_ms = clock_ms(clock);
	return clock->first->due_ms > now_ms ? clock->first->due_ms - now_ms : 0;
}

/* The timer may be gone when its function returns. */
static void
fire(struct clock *clock, struct clock_timer *timer)
{
	clock_timer_stop(timer);
	if (timer->repeat_ms) {
		timer->clock = clock;
		insert(timer, timer->repeat_ms);
	}
	timer->fn(timer->arg);
}

void
clock_run(struct clock *clock)
{
	/* Timers that start meanwhile are due now or later, so they follow all that are due. */
	uint64_t now_ms = clock_ms(clock), serial = clock->serial;
	clock->running = true;
	while (clock->first && clock->first->due_ms <= now_ms && clock->first->serial < serial)
		fire(clock, clock->first);
	clock->running = false;
	set_alarm(clock);
}

void
clock_advance(struct clock *clock, uint64_t ms)
{
	uint64_t end_ms = clock->now_ms + ms;
	while (clock->first && clock->first->due_ms <= end_ms) {
		__atomic_store_n(&clock->now_ms, clock->first->due_ms, __ATOMIC_RELAXED);
		fire(clock, clock->first);
	}
	__atomic_store_n(&clock->now_ms, end_ms, __ATOMIC_RELAXED);
}

void
clock_stall(struct clock *clock, uint64_t ms)
{
	__atomic_store_n(&clock->now_ms, clock->now_ms + ms, __ATOMIC_RELAXED);
	clock_run(clock);
}
