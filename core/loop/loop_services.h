/* SPDX-License-Identifier: MIT */
/* The part of kettle_host that the loop provides: posts, work, timers, children. Used by the core's host and the fake one. */
#pragma once

#include <kettle/host.h>
#include <stdbool.h>
#include <uv.h>

#include "base/clock.h"

#define CHILD_MAX_LINE (1u << 20)        /* bytes of a child's line where kettle_spawn sets none */
#define CHILD_MAX_SKIPPED (64u << 20)    /* bytes of a line that is dropped; a longer one ends the child */
#define CHILD_LINE_HEAD 1024             /* bytes of it that on_cut gets */
#define CHILD_MAX_UNWRITTEN (256u << 20) /* bytes that may wait for a child to read them */
#define CHILD_DRAIN_MS 2000              /* how long after a child's end its pipes may stay open elsewhere */
#define CHILD_CHUNK (64u << 10)          /* bytes read at once */

/*
 * Around a loop that the caller owns and runs. Functions are those of kettle_host with the same names. All but
 * loop_post are called on the loop's thread. It keeps the loop alive until it is closed.
 */
struct loop_services;

/* Also ignores SIGPIPE in this process, since a child may stop reading. EIO. */
int loop_new(uv_loop_t *loop, struct loop_services **ret_io, struct kettle_error *err);
/* The real clock of everything that waits on this loop; a test may make it a simulated one before any timer is started. */
struct clock *loop_clock(struct loop_services *io);
/*
 * Runs what was posted, frees timers that were not stopped, kills remaining children with their process groups (their
 * on_exit still comes) and lets running work end (its after still comes). Calls closed(arg) once, on the loop, never
 * before this returns, when nothing is left; then frees the services. From then on, post and all functions that start
 * something return KETTLE_ECANCELED.
 */
void loop_close(struct loop_services *io, void (*closed)(void *arg), void *arg);

/* The numbers of timers and children that were not stopped. */
void loop_left(const struct loop_services *io, size_t *ret_timers, size_t *ret_children);

/* Whether every running child has stopped itself (SIGSTOP): without a signal it does nothing more. */
bool loop_children_stopped(const struct loop_services *io);

/* Whether nothing that was posted or given to a thread of the pool is still pending. */
bool loop_rests(struct loop_services *io);

int loop_post(struct loop_services *io, kettle_fn fn, void *arg); /* [any]; ECANCELED */
int loop_work(struct loop_services *io, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err);
int loop_timer_start(struct loop_services *io, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err);
void loop_timer_stop(struct loop_services *io, struct kettle_timer *timer);
/*
 * A line over max_line is logged and the child killed, unless on_cut takes it. If a process that the child left behind
 * holds its pipes open, on_exit still comes CHILD_DRAIN_MS after its end.
 */
int loop_spawn(struct loop_services *io, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err);
int loop_process_write(
	struct loop_services *io, struct kettle_process *process, const void *data, size_t size, struct kettle_error *err);
/* Data that was written before still reaches it. */
void loop_process_close_stdin(struct loop_services *io, struct kettle_process *process);
void loop_process_kill(struct loop_services *io, struct kettle_process *process, int signal);
