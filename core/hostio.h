/* SPDX-License-Identifier: MIT */
/* The parts of the host that are the loop's: posts, work, timers, children. Shared by the engine's host and the fake one. */
#ifndef KETTLE_HOSTIO_H
#define KETTLE_HOSTIO_H

#include <kettle/host.h>
#include <uv.h>

/* Around a loop that the caller owns and runs. Functions mean what the members of kettle_host of the same name say. */
struct hostio;

int hostio_new(uv_loop_t *loop, struct hostio **ret_io, struct kettle_error *err);
/*
 * Closes its handles, kills children that are left (their on_exit still comes) and frees timers that were not stopped;
 * closed(arg) is called once, on the loop, when nothing is left; then it is freed.
 */
void hostio_close(struct hostio *io, void (*closed)(void *arg), void *arg);

int hostio_post(struct hostio *io, kettle_fn fn, void *arg); /* [any] */
int hostio_work(struct hostio *io, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err);
int hostio_timer_start(struct hostio *io, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err);
void hostio_timer_stop(struct hostio *io, struct kettle_timer *timer);
int hostio_spawn(struct hostio *io, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err);
int hostio_process_write(struct hostio *io, struct kettle_process *process, const void *data, size_t size,
	struct kettle_error *err);
void hostio_process_close_stdin(struct hostio *io, struct kettle_process *process);
void hostio_process_kill(struct hostio *io, struct kettle_process *process, int signal);

#endif
