/* SPDX-License-Identifier: MIT */
/* The functions of a plugin's host that need nothing but the loop. */
#include <config.h>

#include "loop/loop_host.h"

static struct loop_services *
io_of(const struct kettle_host *table)
{
	return ((const struct loop_host *)table)->io;
}

static int
loop_host_post(const struct kettle_host *table, kettle_fn fn, void *arg)
{
	return loop_post(io_of(table), fn, arg);
}

static int
loop_host_work(const struct kettle_host *table, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	return loop_work(io_of(table), work, after, arg, err);
}

static int
loop_host_timer_start(const struct kettle_host *table, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	return loop_timer_start(io_of(table), delay_ms, repeat_ms, fn, arg, ret_timer, err);
}

static void
loop_host_timer_stop(const struct kettle_host *table, struct kettle_timer *timer)
{
	loop_timer_stop(io_of(table), timer);
}

static uint64_t
loop_host_monotonic_ms(const struct kettle_host *table)
{
	return clock_ms(loop_clock(io_of(table)));
}

static int64_t
loop_host_utc_ms(const struct kettle_host *table)
{
	return clock_utc_ms(loop_clock(io_of(table)));
}

static int
loop_host_spawn(const struct kettle_host *table, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err)
{
	return loop_spawn(io_of(table), spawn, ret_process, err);
}

static int
loop_host_process_write(const struct kettle_host *table, struct kettle_process *process, const void *data, size_t size,
	struct kettle_error *err)
{
	return loop_process_write(io_of(table), process, data, size, err);
}

static void
loop_host_process_close_stdin(const struct kettle_host *table, struct kettle_process *process)
{
	loop_process_close_stdin(io_of(table), process);
}

static void
loop_host_process_kill(const struct kettle_host *table, struct kettle_process *process, int signal)
{
	loop_process_kill(io_of(table), process, signal);
}

void
loop_host_fill(struct kettle_host *table)
{
	table->post = loop_host_post;
	table->work = loop_host_work;
	table->timer_start = loop_host_timer_start;
	table->timer_stop = loop_host_timer_stop;
	table->spawn = loop_host_spawn;
	table->process_write = loop_host_process_write;
	table->process_close_stdin = loop_host_process_close_stdin;
	table->process_kill = loop_host_process_kill;
	table->monotonic_ms = loop_host_monotonic_ms;
	table->utc_ms = loop_host_utc_ms;
}
