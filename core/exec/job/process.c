/* SPDX-License-Identifier: MIT */
/* One sandboxed process on the loop: reads its output, limits its time, awaits its end. */
/*
 * Theory of operation. stdout and stderr are pipes. The result channel is one end of a socket pair, which no process
 * can open again through /proc. All three are read as soon as they are readable, so that writers do not block, and are
 * limited on this side. A message on the socket can carry descriptors. The kernel closes these in the thread that reads
 * the message or closes the socket, and such a close can sleep (SO_LINGER). So the sandbox refuses SO_LINGER, the
 * socket refuses descriptors where the kernel can, and a thread of its own reads and closes the socket; the loop takes
 * the bytes that it read. The sandbox also refuses urgent bytes (MSG_OOB), which a reader would not see; where it
 * cannot, they are read in line. When the sandbox's pidfd becomes readable, all its processes have ended: the rest of
 * the pipes and the report are read, and the handles are closed. The last one to close calls `ended`. A failed start
 * ends in the same way.
 *
 * The end of a process that has opened a GPU may take long in the kernel. A process with `early` counts as ended when no
 * code of it can run any more. Nothing announces that moment, and its pipes are closed late in its end. So a timer looks
 * again and again, in growing intervals, which begin anew with each output and with a kill, since an end may be near.
 * A look reads /proc on the loop: for a moment it may hold the memory of a process that ends just then, and so free it. A
 * thread of work would need this process still while it is killed or ends.
 */
#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"

#define CHUNK (64u << 10)
#define READS_A_TURN 8     /* before the loop serves other handles */
#define READS_AT_LAST 4096 /* more than a pipe or socket holds, in case a process outside keeps writing */
#define EXTENSIONS 4       /* times that a process which gives way gets its wall time again, */
#define LOOK_FIRST_MS 2    /* from an output or a kill to the first look whether the process has ended */
#define LOOK_LAST_MS 100   /* the longest interval; it grows by 1 ms */
#define LOOK_STEP 4        /* after so many looks */
#define IDLE_PART 8        /* unless its cores were idle for this part of it */
#define STAT_MAX (1u << 20)
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static void process_take(struct process_drain *drain, const char *data, size_t size);

/* A process without a result channel is not drained. */
static void
enter(struct process *process, enum process_state state)
{
	assert(state == process->state + 1 || (state == PROCESS_ENDED && process->state == PROCESS_CLOSING));
	process->state = state;
}

bool
process_is_open(const struct process *process)
{
	return process->state != PROCESS_NONE && process->state != PROCESS_ENDED;
}

static void
read_some(struct process *process, int reads)
{
	char chunk[CHUNK];
	for (int i = 0; i < reads; i++) {
		ssize_t n = read(process->drains[PROCESS_RESULT].fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			process->result_ended = n == 0 || errno != EAGAIN;
			break;
		}
		buf_add(&process->result_data, chunk, (size_t)n);
	}
}

/* On a thread of work. */
static void
read_result(void *arg)
{
	read_some(arg, READS_A_TURN);
}

/* Likewise, at the end: takes everything; result.c limits it. */
static void
read_rest(void *arg)
{
	struct process *process = arg;
	read_some(process, READS_AT_LAST);
	close(STEAL_FD(process->drains[PROCESS_RESULT].fd));
}

static void
take_result(struct process *process)
{
	if (process->result_data.len > 0)
		process_take(&process->drains[PROCESS_RESULT], process->result_data.data, process->result_data.len);
	buf_free(&process->result_data);
}

static void
last_read(void *arg)
{
	struct process *process = arg;
	take_result(process);
	if (process->result->over && process->limit == SANDBOX_LIMIT_NONE)
		process->limit = SANDBOX_LIMIT_RESULT;
	result_end(process->result);
	enter(process, PROCESS_ENDED);
	process->ended(process->arg);
}

/* A handle was closed, or the reader of the result channel has ended. */
static void
process_release(struct process *process)
{
	if (--process->handles > 0)
		return;
	for (size_t i = 0; i < PROCESS_RESULT; i++)
		if (process->drains[i].fd >= 0)
			close(STEAL_FD(process->drains[i].fd));
	if (process->drains[PROCESS_RESULT].fd >= 0) {
		enter(process, PROCESS_DRAINING);
		work_start(&process->reader, process->wall.loop, read_rest, last_read, process);
	} else {
		enter(process, PROCESS_ENDED);
		process->ended(process->arg);
	}
}

static void
on_closed(uv_handle_t *handle)
{
	process_release(handle->data);
}

static void
close_handle(struct process *process, uv_handle_t *handle)
{
	handle->data = process;
	uv_close(handle, on_closed);
}

/* No process runs any more: closes the handles; `ended` follows. */
static void
process_finish(struct process *process)
{
	enter(process, PROCESS_CLOSING);
	for (size_t i = 0; i < PROCESS_STREAMS; i++)
		if (process->drains[i].polled)
			close_handle(process, (uv_handle_t *)&process->drains[i].poll);
	if (process->sandbox)
		close_handle(process, (uv_handle_t *)&process->pid);
	close_handle(process, (uv_handle_t *)&process->lost);
	close_handle(process, (uv_handle_t *)&process->wall);
	close_handle(process, (uv_handle_t *)&process->look);
}

static void
on_process_lost(uv_timer_t *timer)
{
	struct process *process = timer->data;
	process->on_lost(process->arg);
}

static void on_look(uv_timer_t *timer);

/* An end may be near. */
static void
expect_end(struct process *process)
{
	bool soon = process->looks < LOOK_STEP && uv_is_active((uv_handle_t *)&process->look);
	process->looks = 0;
	if (process->early && process->state == PROCESS_RUNNING && !soon)
		(void)uv_timer_start(&process->look, on_look, LOOK_FIRST_MS, 0);
}

void
process_kill(struct process *process, enum sandbox_limit limit)
{
	assert(limit != SANDBOX_LIMIT_NONE);
	if (process->state != PROCESS_RUNNING || process->limit != SANDBOX_LIMIT_NONE)
		return;
	process->limit = limit;
	sandbox_kill(process->sandbox, limit);
	uv_update_time(process->wall.loop);
	(void)uv_timer_start(&process->lost, on_process_lost, PROCESS_LOST_MS, 0);
	expect_end(process);
}

/*
 * Whether the cores on which the process gives way were idle for a part of its time, or this is not known. Notes their
 * idle time.
 */
static bool
had_its_turn(struct process *process, uint64_t wall_ms)
{
	AUTO_FREE char *stat = NULL;
	size_t size = 0;
	uint64_t before = process->idle_ticks;
	if (process->yields.count == 0 || file_read("/proc/stat", STAT_MAX, &stat, &size, NULL) < 0 ||
		!cores_idle_ticks(&process->yields, stat, &process->idle_ticks))
		return true;
	double idle_s = (double)(process->idle_ticks - before) / (double)sysconf(_SC_CLK_TCK);
	return idle_s > (double)wall_ms / 1e3 * (double)process->yields.count / IDLE_PART;
}

static void
out_of_time(uv_timer_t *timer)
{
	struct process *process = timer->data;
	uint64_t wall_ms = uv_timer_get_repeat(timer);
	if (process->extensions == EXTENSIONS || had_its_turn(process, wall_ms)) {
		uv_timer_stop(timer);
		process_kill(process, SANDBOX_LIMIT_WALL);
	}
	process->extensions++;
}

static void
out_of_grace(uv_timer_t *timer)
{
	process_kill(timer->data, SANDBOX_LIMIT_CANCEL);
}

void
process_end_within(struct process *process, uint64_t ms)
{
	if (process->state != PROCESS_RUNNING)
		return;
	uv_update_time(process->wall.loop);
	(void)uv_timer_start(&process->wall, out_of_grace, ms, 0);
}

/* Takes the data of one read. */
static void
process_take(struct process_drain *drain, const char *data, size_t size)
{
	struct process *process = drain->process;
	size_t stream = (size_t)(drain - process->drains);
	expect_end(process);
	if (stream == PROCESS_RESULT) {
		result_add(process->result, data, size);
		if (process->result->over)
			process_kill(process, SANDBOX_LIMIT_RESULT);
		return;
	}
	struct capture *capture = &process->output[stream];
	capture_add(capture, data, size);
	if (capture->bytes / LIMITS_OUTPUT_FLOOD > capture->limit)
		process_kill(process, SANDBOX_LIMIT_OUTPUT);
}

/* Reads available data: a few chunks, or everything at the end (`last`). */
static void
drain_some(struct process_drain *drain, bool last)
{
	char chunk[CHUNK];
	for (int i = 0; drain->fd >= 0 && i < (last ? READS_AT_LAST : READS_A_TURN); i++) {
		ssize_t n = read(drain->fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			(void)uv_poll_stop(&drain->poll);
			expect_end(drain->process);
			return;
		}
		process_take(drain, chunk, (size_t)n);
	}
}

static void
on_readable(uv_poll_t *poll, int status, int events)
{
	(void)events;
	/* The read reports an error of the poll. */
	(void)status;
	drain_some(poll->data, false);
}

static void on_result(uv_poll_t *poll, int status, int events);

static void
result_read(void *arg)
{
	struct process *process = arg;
	take_result(process);
	if (process->state == PROCESS_RUNNING && !process->result_ended)
		(void)uv_poll_start(&process->drains[PROCESS_RESULT].poll, UV_READABLE, on_result);
	process_release(process);
}

static void
on_result(uv_poll_t *poll, int status, int events)
{
	struct process_drain *drain = poll->data;
	(void)status;
	(void)events;
	(void)uv_poll_stop(poll);
	drain->process->handles++;
	work_start(&drain->process->reader, poll->loop, read_result, result_read, drain->process);
}

static void
drain_all(struct process *process)
{
	for (size_t i = 0; i < PROCESS_RESULT; i++)
		if (process->drains[i].polled)
			drain_some(&process->drains[i], true);
}

static void
on_look(uv_timer_t *timer)
{
	struct process *process = timer->data;
	process->ending = sandbox_look_ended(process->sandbox, &process->report);
	if (process->ending) {
		drain_all(process);
		process_finish(process);
		return;
	}
	unsigned ms = LOOK_FIRST_MS + process->looks++ / LOOK_STEP;
	(void)uv_timer_start(timer, on_look, ms < LOOK_LAST_MS ? ms : LOOK_LAST_MS, 0);
}

static void
on_end(uv_poll_t *poll, int status, int events)
{
	struct process *process = poll->data;
	(void)status;
	(void)events;
	(void)uv_poll_stop(poll);
	drain_all(process);
	struct kettle_error error = {0};
	if (sandbox_wait(process->sandbox, &process->report, &error) != 0)
		process->error = error;
	process_finish(process);
}

static int
open_drain(struct process *process, uv_loop_t *loop, enum process_stream stream, int fd)
{
	struct process_drain *drain = &process->drains[stream];
	drain->process = process;
	drain->fd = fd;
	int rc = uv_poll_init(loop, &drain->poll, fd);
	if (rc != 0)
		return kettle_fail(&process->error, KETTLE_EIO, "Could not watch an output: %s.", uv_strerror(rc));
	drain->polled = true;
	process->handles++;
	drain->poll.data = drain;
	return uv_poll_start(&drain->poll, UV_READABLE, stream == PROCESS_RESULT ? on_result : on_readable);
}

/* Only Linux 6.16 and later refuse descriptors. Urgent bytes, which the sandbox refuses, are read in line. */
static void
set_channel(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){1}, sizeof(int));
}

/* Makes the streams. theirs gets the process's ends. */
static int
open_streams(struct process *process, uv_loop_t *loop, int theirs[PROCESS_STREAMS])
{
	for (int stream = 0; stream < PROCESS_STREAMS; stream++) {
		int ends[2] = {-1, -1};
		if (stream == PROCESS_RESULT && !process->result)
			break;
		int rc = stream == PROCESS_RESULT ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
										  : pipe2(ends, O_CLOEXEC);
		if (rc != 0)
			return kettle_fail(&process->error, KETTLE_EIO, "Could not create an output: %s.", strerror(errno));
		if (stream == PROCESS_RESULT)
			set_channel(ends[0]);
		theirs[stream] = ends[1];
		if (open_drain(process, loop, (enum process_stream)stream, ends[0]) != 0)
			return KETTLE_EIO;
	}
	return 0;
}

static int
launch(struct process *process, uv_loop_t *loop, const struct process_config *config)
{
	int theirs[PROCESS_STREAMS] = {-1, -1, -1};
	struct sandbox_fd fds[PROCESS_MAX_FDS];
	size_t count = 0;
	struct sandbox_config sandbox = config->sandbox;
	AUTO_FD int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int rc = nothing >= 0 ? 0 : kettle_fail(&process->error, KETTLE_EIO, "/dev/null cannot be opened.");
	if (rc == 0)
		rc = open_streams(process, loop, theirs);
	assert(config->sandbox.fds_count + PROCESS_STREAMS + 1 <= PROCESS_MAX_FDS);
	fds[count++] = (struct sandbox_fd){nothing, 0};
	fds[count++] = (struct sandbox_fd){theirs[PROCESS_STDOUT], 1};
	fds[count++] = (struct sandbox_fd){theirs[PROCESS_STDERR], 2};
	if (process->result)
		fds[count++] = (struct sandbox_fd){theirs[PROCESS_RESULT], STEP_FD_RESULT};
	for (size_t i = 0; i < config->sandbox.fds_count; i++)
		fds[count++] = config->sandbox.fds[i];
	sandbox.fds = fds;
	sandbox.fds_count = count;
	struct sandbox *prepared = config->prepared;
	if (rc == 0 && prepared && sandbox_resume(prepared, &sandbox, NULL) == 0)
		process->sandbox = STEAL(prepared);
	else if (rc == 0)
		rc = sandbox_start(&sandbox, &process->sandbox, &process->error);
	sandbox_free(prepared);
	/* Tries again without the warm process. */
	if (rc == KETTLE_EUNAVAIL && sandbox.warm) {
		sandbox.warm = NULL;
		process->error = (struct kettle_error){0};
		rc = sandbox_start(&sandbox, &process->sandbox, &process->error);
	}
	for (size_t i = 0; i < PROCESS_STREAMS; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	return rc;
}

static int
follow(struct process *process, uv_loop_t *loop, uint64_t wall_ns)
{
	int rc = uv_poll_init(loop, &process->pid, sandbox_pidfd(process->sandbox));
	if (rc != 0) {
		sandbox_free(STEAL(process->sandbox));
		return kettle_fail(&process->error, KETTLE_EIO, "Could not watch a process: %s.", uv_strerror(rc));
	}
	process->handles++;
	process->pid.data = process;
	(void)uv_poll_start(&process->pid, UV_READABLE, on_end);
	/* The loop's time may be some ms old. */
	uv_update_time(loop);
	/* At least 1 ms, since a repeat of 0 would end the timer. */
	uint64_t wall_ms = wall_ns / 1000000 + 1;
	(void)uv_timer_start(&process->wall, out_of_time, wall_ms, wall_ms);
	expect_end(process);
	return 0;
}

void
process_start(struct process *process, uv_loop_t *loop, const struct process_config *config, void (*ended)(void *arg),
	void (*on_lost)(void *arg), void *arg)
{
	assert(!process_is_open(process));
	*process = (struct process){
		.ended = ended, .on_lost = on_lost, .arg = arg, .result = config->result, .early = config->early};
	enter(process, PROCESS_RUNNING);
	for (size_t i = 0; i < PROCESS_STREAMS; i++)
		process->drains[i].fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(process->output); i++)
		process->output[i].limit = (size_t)config->output_limit;
	(void)uv_timer_init(loop, &process->wall);
	(void)uv_timer_init(loop, &process->lost);
	(void)uv_timer_init(loop, &process->look);
	process->wall.data = process->lost.data = process->look.data = process;
	process->handles = 3;
	if (config->waits && config->sandbox.nice > 0) {
		const struct cores cores = {(int *)config->sandbox.cores, config->sandbox.cores_count};
		cores_join(&process->yields, &cores);
		(void)had_its_turn(process, 0);
	}
	int rc = launch(process, loop, config);
	if (rc == 0)
		rc = follow(process, loop, config->wall_ns);
	if (rc != 0) {
		if (process->error.code == 0)
			process->error.code = kettle_fail(&process->error, rc, "A process could not be started.");
		process_finish(process);
	}
}

void
process_close(struct process *process)
{
	assert(!process_is_open(process));
	sandbox_free(STEAL(process->sandbox));
	for (size_t i = 0; i < ARRAY_SIZE(process->output); i++)
		capture_free(&process->output[i]);
	cores_free(&process->yields);
}
