/* SPDX-License-Identifier: MIT */
/* One sandboxed process on the loop: its output drained, its time kept, its end awaited. */
#ifndef KETTLE_EXEC_PROCESS_H
#define KETTLE_EXEC_PROCESS_H

#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/util/capture.h"
#include "exec/plan/result.h"
#include "sandbox/sandbox.h"

#define PROCESS_LOST_MS 10000 /* after this long killed and not dead, its machine is not to be trusted */
#define PROCESS_MAX_FDS 8

/* One descriptor that is read until its end. */
struct process_drain {
	struct process *process;
	uv_poll_t poll;
	int fd;
	bool polled;
};
enum process_stream { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_RESULT, PROCESS_STREAMS };

struct process_config {
	struct sandbox_config sandbox; /* fds: those besides 0, 1, 2 and the result channel */
	uint64_t wall_ns;
	uint64_t output_limit;
	struct result *result; /* NULL: no result channel; borrowed until the end */
	int result_target;     /* its number in the process */
};

/* All on the loop thread. Zero-initialise; it must stay where it is until `ended` was called. */
struct process {
	struct sandbox *sandbox;      /* after the end: for its out folder, until process_close */
	struct sandbox_report report; /* after the end */
	struct capture output[2];     /* stdout, stderr */
	struct result *result;
	struct kettle_error error; /* code 0, or why it could not be started or followed */
	uint64_t started_ns;       /* before the start */
	bool killed, ending;
	enum sandbox_limit limit; /* what it was killed for by this process */
	struct process_drain drains[PROCESS_STREAMS];
	uv_poll_t pid;
	uv_timer_t wall, lost;
	unsigned handles;
	void (*on_lost)(void *arg); /* it was killed and did not die in time; `ended` may still come */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts it. Whatever happens, `ended` is called once, later, and nothing of it runs any more then. */
void process_start(struct process *process, uv_loop_t *loop, const struct process_config *config,
	void (*ended)(void *arg), void (*on_lost)(void *arg), void *arg);
/* Kills it; the first reason counts. Harmless when it has ended. */
void process_kill(struct process *process, enum sandbox_limit limit);
/* After the end: frees everything. */
void process_close(struct process *process);

#endif
