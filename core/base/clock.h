/* SPDX-License-Identifier: MIT */
/* The clock for timers and durations; a test has a simulated one, which moves only where the test says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Two times: a monotonic one for durations and timers, and the calendar's for times that are shown or stored. The
 * program has one real clock, that of its loop (loop_clock); plugins read it through the host. kettle-exec, the sandbox
 * and the programs beside them use the system's clocks: they measure and limit real processes.
 */
struct clock;

/* A timer, embedded in the structure that it serves; all zero before its first start. Thread of the clock. */
struct clock_timer {
	struct clock *clock; /* NULL: it does not run */
	struct clock_timer *next, *previous;
	uint64_t due_ms, repeat_ms, serial;
	void (*fn)(void *arg);
	void *arg;
};

/* The members are private to clock.c. */
struct clock {
	struct clock_timer *first, *last; /* by the time when they are due, then in the order of their starts */
	uint64_t serial;
	bool simulated, running;
	uint64_t now_ms;       /* of a simulated one */
	int64_t utc_offset_ms; /* of a simulated one: the calendar minus now_ms */
	void (*alarm)(void *arg, uint64_t delay_ms);
	void *alarm_arg;
};

/*
 * Initialises a real clock. alarm(arg, delay_ms) must have clock_run called after delay_ms; it replaces the alarm that
 * was set before.
 */
void clock_init(struct clock *clock, void (*alarm)(void *arg, uint64_t delay_ms), void *arg);
/* Initialises a simulated clock, which begins at utc_ms of the calendar. */
void clock_simulate(struct clock *clock, int64_t utc_ms);

uint64_t clock_ns(const struct clock *clock);    /* monotonic; never 0. [any] */
uint64_t clock_ms(const struct clock *clock);    /* the same in ms. [any] */
int64_t clock_utc_ms(const struct clock *clock); /* calendar, ms since 1970. [any] */

/* Calls fn(arg) after delay_ms, then every repeat_ms (0: once). A running timer starts anew. fn may start, stop, free it. */
void clock_timer_start(struct clock *clock, struct clock_timer *timer, uint64_t delay_ms, uint64_t repeat_ms,
	void (*fn)(void *arg), void *arg);
/* Stops a timer; no effect if it does not run. */
void clock_timer_stop(struct clock_timer *timer);
/* ms until the next timer is due; UINT64_MAX: there is none. */
uint64_t clock_wait_ms(const struct clock *clock);

/* Runs the timers that are due, in order; one that they start waits for the next call. */
void clock_run(struct clock *clock);
/* Moves a simulated clock on by ms milliseconds and runs the timers on the way, each at its time. */
void clock_advance(struct clock *clock, uint64_t ms);
/* Moves a simulated clock on by ms milliseconds as if its loop were held up: timers that are due run late, and once. */
void clock_stall(struct clock *clock, uint64_t ms);
/* Sets the calendar of a simulated clock, as an operator who corrects it would; no timer runs. */
void clock_set_utc(struct clock *clock, int64_t utc_ms);
