/* SPDX-License-Identifier: MIT */
/*
 * The parts of the host that the loop provides: posts, work, timers, children.
 *
 * Theory of operation. Everything belongs to the loop's thread but the queue of posts, which has a lock: other threads
 * append and wake the loop. (A wake-up may stand for many posts, so each runs the whole queue.) Everything open (a
 * timer, a child, work on the pool, the wake-up itself) holds one count of `open`; the last one to close frees the
 * services and calls `closed`.
 *
 * A child is four handles, the process and its three pipes. Its on_exit comes when the process has ended and both
 * outputs are at their end, or some time after the process has ended: processes that the child left behind may keep a
 * pipe open for ever. Its memory is freed when the last of its handles has closed. While a thread of the pool reads a
 * long line of an output, nothing is read from that output, and it does not end: later data waits in the reader and in
 * the pipe.
 */
#include <config.h>

#include "loop/loop_services.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/base.h"
#include "base/line.h"
#include "base/log.h"
#include "loop/watch.h"

struct post {
	struct post *next;
	kettle_fn fn;
	void *arg;
};

struct kettle_timer {
	struct clock_timer timer;
	struct loop_services *io;
	struct kettle_timer *next, **link; /* link NULL: stopped */
	bool fires;                        /* its function runs, and then it is freed if it was stopped */
	kettle_fn fn;
	void *arg;
};

enum output { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUTS };

struct stream {
	uv_pipe_t pipe;
	struct kettle_process *process;
	struct line_reader lines;
	void (*on_line)(void *arg, const char *line, size_t len);
	void *(*read_long)(const char *line, size_t len);
	void (*on_long)(void *arg, const char *line, size_t len, void *made);
	void (*on_cut)(void *arg, const char *head, size_t len);
	bool busy;   /* with a long line */
	bool at_end; /* except for lines after that */
	bool ended;
};

/* A line that a thread of the pool reads. */
struct long_line {
	struct stream *stream;
	void *memory; /* memory that holds the line */
	const char *line;
	size_t len;
	void *made;
};

struct kettle_process {
	uv_process_t handle;
	uv_pipe_t in;
	uv_shutdown_t shutdown;
	struct stream out[OUTPUTS];
	uv_timer_t drain;
	struct loop_services *io;
	struct kettle_process *next, **link;
	void (*on_exit)(void *arg, int status, int signal);
	void (*on_bytes)(void *arg, size_t count);
	void *arg;
	int status, signal;
	unsigned open; /* handles */
	bool exited, reported;
	bool in_closing; /* its stdin is being closed, or is closed */
	char chunk[CHILD_CHUNK];
};

struct loop_services {
	uv_loop_t *loop;
	struct clock clock;
	uv_timer_t alarm; /* of the clock */
	uv_async_t wake;
	uv_mutex_t lock; /* of first, last and closing */
	struct post *first, **last;
	bool closing;
	struct kettle_timer *timers;
	struct kettle_process *processes;
	size_t open, works; /* works: of these, given to the pool */
	void (*closed)(void *arg);
	void *closed_arg;
};

static void
loop_release(struct loop_services *io)
{
	if (--io->open)
		return;
	void (*closed)(void *arg) = io->closed;
	void *arg = io->closed_arg;
	uv_mutex_destroy(&io->lock);
	free(io);
	closed(arg);
}

static int
fail_closing(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ECANCELED, "The engine is closing and starts nothing more.");
}

/* ---- posts ---- */

static void
run_posts(struct loop_services *io)
{
	uv_mutex_lock(&io->lock);
	struct post *post = io->first;
	io->first = NULL;
	io->last = &io->first;
	uv_mutex_unlock(&io->lock);
	while (post) {
		struct post *next = post->next;
		watch_call(post->fn, post->arg, "a posted function");
		free(post);
		post = next;
	}
}

static void
on_wake(uv_async_t *wake)
{
	run_posts(wake->data);
}

static void
on_own_closed(uv_handle_t *handle)
{
	loop_release(handle->data);
}

/* ---- the clock ---- */

static void
on_alarm(uv_timer_t *alarm)
{
	struct loop_services *io = alarm->data;
	clock_run(&io->clock);
}

static void
set_alarm(void *arg, uint64_t delay_ms)
{
	struct loop_services *io = arg;
	/* Neither can fail. An alarm that is still set when everything is closed has gone with its timers. */
	uv_update_time(io->loop);
	if (!io->closing)
		(void)uv_timer_start(&io->alarm, on_alarm, delay_ms, 0);
}

struct clock *
loop_clock(struct loop_services *io)
{
	return &io->clock;
}

int
loop_new(uv_loop_t *loop, struct loop_services **ret_io, struct kettle_error *err)
{
	AUTO_FREE struct loop_services *io = xcalloc(1, sizeof(*io));
	io->loop = loop;
	io->last = &io->first;
	if (uv_mutex_init(&io->lock) != 0)
		xalloc_fail();
	int rc = uv_async_init(loop, &io->wake, on_wake);
	if (rc) {
		uv_mutex_destroy(&io->lock);
		return kettle_fail(err, KETTLE_EIO, "The event loop cannot be set up: %s.", uv_strerror(rc));
	}
	(void)signal(SIGPIPE, SIG_IGN);
	watch_thread();
	(void)uv_timer_init(loop, &io->alarm);
	clock_init(&io->clock, set_alarm, io);
	io->wake.data = io->alarm.data = io;
	io->open = 2;
	*ret_io = STEAL(io);
	return 0;
}

int
loop_post(struct loop_services *io, kettle_fn fn, void *arg)
{
	struct post *post = xnew(struct post, .fn = fn, .arg = arg);
	uv_mutex_lock(&io->lock);
	bool closing = io->closing;
	if (!closing) {
		*io->last = post;
		io->last = &post->next;
		(void)uv_async_send(&io->wake);
	}
	uv_mutex_unlock(&io->lock);
	if (closing)
		free(post);
	return closing ? KETTLE_ECANCELED : 0;
}

/* ---- work ---- */

struct work {
	uv_work_t request;
	struct loop_services *io;
	kettle_fn work, after;
	void *arg;
};

static void
do_work(uv_work_t *request)
{
	struct work *work = request->data;
	work->work(work->arg);
}

static void
after_work(uv_work_t *request, int status)
{
	(void)status; /* never cancelled */
	struct work *work = request->data;
	struct loop_services *io = work->io;
	watch_call(work->after, work->arg, "the `after` of its work");
	free(work);
	io->works--;
	loop_release(io);
}

int
loop_work(struct loop_services *io, kettle_fn fn, kettle_fn after, void *arg, struct kettle_error *err)
{
	if (io->closing)
		return fail_closing(err);
	AUTO_FREE struct work *work = xmalloc(sizeof(*work));
	*work = (struct work){.io = io, .work = fn, .after = after, .arg = arg};
	work->request.data = work;
	int rc = uv_queue_work(io->loop, &work->request, do_work, after_work);
	if (rc)
		return kettle_fail(err, KETTLE_EIO, "Work cannot be given to another thread: %s.", uv_strerror(rc));
	work = NULL;
	io->open++;
	io->works++;
	return 0;
}

/* ---- timers ---- */

static void
on_timer(void *arg)
{
	struct kettle_timer *timer = arg;
	timer->fires = true;
	watch_call(timer->fn, timer->arg, "a timer");
	timer->fires = false;
	if (!timer->link)
		free(timer);
	else if (timer->timer.repeat_ms == 0)
		loop_timer_stop(timer->io, timer);
}

int
loop_timer_start(struct loop_services *io, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	if (io->closing)
		return fail_closing(err);
	struct kettle_timer *timer =
		xnew(struct kettle_timer, .io = io, .fn = fn, .arg = arg, .next = io->timers, .link = &io->timers);
	clock_timer_start(&io->clock, &timer->timer, delay_ms, repeat_ms, on_timer, timer);
	if (timer->next)
		timer->next->link = &timer->next;
	io->timers = timer;
	if (ret_timer)
		*ret_timer = timer;
	return 0;
}

void
loop_timer_stop(struct loop_services *io, struct kettle_timer *timer)
{
	(void)io;
	/* A timer that fires once may be stopped by its own function. */
	if (!timer || !timer->link)
		return;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->link = NULL;
	clock_timer_stop(&timer->timer);
	if (!timer->fires)
		free(timer);
}

/* ---- children ---- */

static void
free_process(struct kettle_process *process)
{
	struct loop_services *io = process->io;
	if (process->link) {
		*process->link = process->next;
		if (process->next)
			process->next->link = process->link;
	}
	for (int i = 0; i < OUTPUTS; i++)
		line_free(&process->out[i].lines);
	free(process);
	loop_release(io);
}

static void
on_part_closed(uv_handle_t *handle)
{
	struct kettle_process *process = handle->data;
	if (--process->open == 0)
		free_process(process);
}

static void
close_part(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_part_closed);
}

static void
close_parts(struct kettle_process *process)
{
	close_part((uv_handle_t *)&process->handle);
	close_part((uv_handle_t *)&process->in);
	close_part((uv_handle_t *)&process->drain);
	process->in_closing = true;
	for (int i = 0; i < OUTPUTS; i++)
		close_part((uv_handle_t *)&process->out[i].pipe);
}

static void
check_end(struct kettle_process *process)
{
	if (process->reported || !process->exited || !process->out[OUTPUT_STDOUT].ended ||
		!process->out[OUTPUT_STDERR].ended)
		return;
	process->reported = true;
	if (process->on_exit) {
		const struct watch watch = watch_begin();
		process->on_exit(process->arg, process->status, process->signal);
		watch_end_callback(&watch, (void (*)(void))process->on_exit, "the `on_exit` of a child");
	}
	close_parts(process);
}

static void
read_long_line(void *arg)
{
	struct long_line *given = arg;
	given->made = given->stream->read_long(given->line, given->len);
}

static void
hand_on(struct long_line *given)
{
	struct stream *stream = given->stream;
	const struct watch watch = watch_begin();
	stream->on_long(stream->process->arg, given->line, given->len, given->made);
	watch_end_callback(&watch, (void (*)(void))stream->on_long, "a long line of a child");
	free_all(given->memory, given);
}

static void go_on(struct stream *stream);

static void
on_long_line(void *arg)
{
	struct long_line *given = arg;
	struct stream *stream = given->stream;
	hand_on(given);
	stream->busy = false;
	go_on(stream);
}

/* 1: later data waits. */
static int
begin_long(struct stream *stream, const char *line, size_t len)
{
	struct long_line *given =
		xnew(struct long_line, .stream = stream, .memory = line_take(&stream->lines), .line = line, .len = len);
	stream->busy = loop_work(stream->process->io, read_long_line, on_long_line, given, NULL) == 0;
	if (stream->busy) {
		(void)uv_read_stop((uv_stream_t *)&stream->pipe);
		if (stream->process->on_bytes)
			stream->process->on_bytes(stream->process->arg, 0);
		return 1;
	}
	/* Everything is being closed. */
	read_long_line(given);
	hand_on(given);
	return 0;
}

static int
on_loop_line(void *arg, char *line, size_t len)
{
	struct stream *stream = arg;
	if (stream->read_long && len >= KETTLE_LINE_LONG)
		return begin_long(stream, line, len);
	if (stream->on_line)
		stream->on_line(stream->process->arg, line, len);
	return 0;
}

/* Gives the lines of what was read, all in one turn of the loop: what they take together counts. */
static int
give_lines(struct stream *stream, const void *data, size_t size, bool end)
{
	const struct watch watch = watch_begin();
	int rc = end ? line_end(&stream->lines, on_loop_line, stream)
				 : line_add(&stream->lines, data, size, on_loop_line, stream);
	watch_end_callback(&watch, (void (*)(void))stream->on_line, "lines of a child");
	return rc;
}

static void
end_stream(struct stream *stream)
{
	if (stream->ended)
		return;
	(void)uv_read_stop((uv_stream_t *)&stream->pipe);
	stream->at_end = true;
	if (give_lines(stream, NULL, 0, true) > 0)
		return; /* busy: go_on ends it */
	stream->ended = true;
	check_end(stream->process);
}

static void
give_chunk(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_buf)
{
	(void)wanted;
	struct kettle_process *process = handle->data;
	*ret_buf = uv_buf_init(process->chunk, sizeof(process->chunk));
}

/* Kills a child whose line is too long. The line reader accepts nothing more; the part that it has is dropped. */
static void
refuse_line(struct stream *stream)
{
	struct kettle_process *process = stream->process;
	log_write(KETTLE_LOG_WARNING, "host", "The child %d is killed: it wrote a line of more than %zu bytes to its %s.",
		process->handle.pid, stream->on_cut ? (size_t)CHILD_MAX_SKIPPED : stream->lines.max,
		stream == &process->out[OUTPUT_STDOUT] ? "stdout" : "stderr");
	loop_process_kill(process->io, process, SIGKILL);
	line_free(&stream->lines);
	end_stream(stream);
}

/* Passes the beginning of an overlong line, which names its job, to on_cut, and drops the line. */
static void
cut_line(struct stream *stream)
{
	const struct buf *pending = &stream->lines.pending;
	size_t len = pending->len < CHILD_LINE_HEAD ? pending->len : CHILD_LINE_HEAD;
	const struct watch watch = watch_begin();
	stream->on_cut(stream->process->arg, pending->data, len);
	watch_end_callback(&watch, (void (*)(void))stream->on_cut, "the beginning of a line of a child");
	line_skip(&stream->lines);
}

static void
take(struct stream *stream, const void *data, size_t size)
{
	int rc = give_lines(stream, data, size, false);
	while (rc < 0 && stream->on_cut) {
		cut_line(stream);
		rc = give_lines(stream, NULL, 0, false);
	}
	if (rc < 0 || (stream->lines.skipping && stream->lines.skipped > CHILD_MAX_SKIPPED))
		refuse_line(stream);
}

static void
on_read(uv_stream_t *handle, ssize_t got, const uv_buf_t *buf)
{
	struct kettle_process *process = handle->data;
	struct stream *stream = &process->out[handle == (uv_stream_t *)&process->out[OUTPUT_STDERR].pipe];
	if (got < 0) {
		end_stream(stream);
		return;
	}
	if (got > 0 && process->on_bytes && stream == &process->out[OUTPUT_STDOUT])
		process->on_bytes(process->arg, (size_t)got);
	take(stream, buf->base, (size_t)got);
}

static void
go_on(struct stream *stream)
{
	if (stream->at_end) {
		end_stream(stream);
		return;
	}
	take(stream, NULL, 0);
	if (!stream->busy && !stream->ended)
		(void)uv_read_start((uv_stream_t *)&stream->pipe, give_chunk, on_read);
}

static void
on_drained(uv_timer_t *timer)
{
	struct kettle_process *process = timer->data;
	if (process->out[OUTPUT_STDOUT].busy) { /* there may be more in the pipe */
		(void)uv_timer_start(timer, on_drained, CHILD_DRAIN_MS, 0);
		return;
	}
	for (int i = 0; i < OUTPUTS; i++)
		end_stream(&process->out[i]);
}

static void
on_process_exit(uv_process_t *handle, int64_t status, int signal_number)
{
	struct kettle_process *process = handle->data;
	process->exited = true;
	process->signal = signal_number;
	process->status = signal_number ? -1 : (int)status;
	process->in_closing = true;
	close_part((uv_handle_t *)&process->in);
	(void)uv_timer_start(&process->drain, on_drained, CHILD_DRAIN_MS, 0);
	check_end(process);
}

/* Makes everything of a child that exists before it runs. */
static struct kettle_process *
new_process(struct loop_services *io, const struct kettle_spawn *spawn)
{
	struct kettle_process *process = xmalloc(sizeof(*process));
	memset(process, 0, offsetof(struct kettle_process, chunk));
	process->io = io;
	process->on_exit = spawn->on_exit;
	process->on_bytes = spawn->on_bytes;
	process->arg = spawn->arg;
	process->out[OUTPUT_STDOUT].on_line = spawn->on_stdout;
	process->out[OUTPUT_STDERR].on_line = spawn->on_stderr;
	process->out[OUTPUT_STDOUT].read_long = spawn->read_long;
	process->out[OUTPUT_STDOUT].on_long = spawn->on_long;
	process->out[OUTPUT_STDOUT].on_cut = spawn->on_cut;
	/* Initialising pipes and timers does not fail. */
	(void)uv_pipe_init(io->loop, &process->in, 0);
	(void)uv_timer_init(io->loop, &process->drain);
	process->handle.data = process->in.data = process->drain.data = process;
	for (int i = 0; i < OUTPUTS; i++) {
		struct stream *stream = &process->out[i];
		(void)uv_pipe_init(io->loop, &stream->pipe, 0);
		stream->pipe.data = stream->process = process;
		stream->lines.max = spawn->max_line ? spawn->max_line : CHILD_MAX_LINE;
	}
	process->open = 3 + OUTPUTS;
	io->open++;
	return process;
}

static int
start_process(struct kettle_process *process, const struct kettle_spawn *spawn)
{
	uv_stdio_container_t stdio[] = {
		{.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&process->in},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out[OUTPUT_STDOUT].pipe},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out[OUTPUT_STDERR].pipe},
	};
	uv_process_options_t options = {
		.exit_cb = on_process_exit,
		.file = spawn->file,
		.args = (char **)spawn->argv,
		.env = (char **)spawn->env,
		.cwd = spawn->cwd,
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = ARRAY_SIZE(stdio),
		.stdio = stdio,
	};
	return uv_spawn(process->io->loop, &process->handle, &options);
}

int
loop_spawn(struct loop_services *io, const struct kettle_spawn *given, struct kettle_process **ret_process,
	struct kettle_error *err)
{
	struct kettle_spawn spawn = {0};
	/* A caller of an older minor has a smaller struct. */
	memcpy(&spawn, given, given->size < sizeof(spawn) ? given->size : sizeof(spawn));
	if (io->closing)
		return fail_closing(err);
	struct kettle_process *process = new_process(io, &spawn);
	int rc = start_process(process, &spawn);
	if (rc) {
		close_parts(process);
		return kettle_fail(err,
			rc == UV_ENOENT   ? KETTLE_ENOENT
			: rc == UV_EACCES ? KETTLE_EACCES
							  : KETTLE_EIO,
			"The program %s cannot be started%s%s: %s.", spawn.file, spawn.cwd ? " in " : "",
			spawn.cwd ? spawn.cwd : "", uv_strerror(rc));
	}
	process->next = io->processes;
	process->link = &io->processes;
	if (process->next)
		process->next->link = &process->next;
	io->processes = process;
	for (int i = 0; i < OUTPUTS; i++)
		(void)uv_read_start((uv_stream_t *)&process->out[i].pipe, give_chunk, on_read);
	if (ret_process)
		*ret_process = process;
	return 0;
}

struct write {
	uv_write_t request;
	char data[];
};

static void
on_written(uv_write_t *request, int status)
{
	(void)status; /* its exit shows it */
	free(request->data);
}

int
loop_process_write(
	struct loop_services *io, struct kettle_process *process, const void *data, size_t size, struct kettle_error *err)
{
	(void)io;
	if (process->in_closing || size == 0)
		return 0;
	size_t waiting = uv_stream_get_write_queue_size((uv_stream_t *)&process->in);
	if (size > CHILD_MAX_UNWRITTEN || waiting > CHILD_MAX_UNWRITTEN - size)
		return kettle_fail(err, KETTLE_ETOOBIG, "The child %d does not read: more than %u bytes wait for it.",
			process->handle.pid, CHILD_MAX_UNWRITTEN);
	struct write *write = xmalloc(sizeof(*write) + size);
	memcpy(write->data, data, size);
	write->request.data = write;
	uv_buf_t buf = uv_buf_init(write->data, (unsigned)size);
	/* Fails only if the pipe is no longer connected. */
	if (uv_write(&write->request, (uv_stream_t *)&process->in, &buf, 1, on_written) != 0)
		free(write);
	return 0;
}

static void
on_shutdown(uv_shutdown_t *request, int status)
{
	(void)status;
	struct kettle_process *process = request->data;
	close_part((uv_handle_t *)&process->in);
}

void
loop_process_close_stdin(struct loop_services *io, struct kettle_process *process)
{
	(void)io;
	if (process->in_closing)
		return;
	process->in_closing = true;
	process->shutdown.data = process;
	if (uv_shutdown(&process->shutdown, (uv_stream_t *)&process->in, on_shutdown) != 0)
		close_part((uv_handle_t *)&process->in);
}

void
loop_process_kill(struct loop_services *io, struct kettle_process *process, int signal_number)
{
	(void)io;
	/* After its exit, the pid may belong to another process. */
	if (!process->exited)
		(void)uv_process_kill(&process->handle, signal_number);
}

/* ---- the end ---- */

void
loop_left(const struct loop_services *io, size_t *ret_timers, size_t *ret_children)
{
	*ret_timers = *ret_children = 0;
	for (const struct kettle_timer *timer = io->timers; timer; timer = timer->next)
		++*ret_timers;
	for (const struct kettle_process *process = io->processes; process; process = process->next)
		*ret_children += !process->reported;
}

bool
loop_children_stopped(const struct loop_services *io)
{
	for (const struct kettle_process *process = io->processes; process; process = process->next) {
		siginfo_t info = {0};
		if (!process->reported &&
			(waitid(P_PID, (id_t)process->handle.pid, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0))
			return false;
	}
	return true;
}

bool
loop_rests(struct loop_services *io)
{
	uv_mutex_lock(&io->lock);
	bool rests = !io->first && io->works == 0;
	uv_mutex_unlock(&io->lock);
	return rests;
}

void
loop_close(struct loop_services *io, void (*closed)(void *arg), void *arg)
{
	uv_mutex_lock(&io->lock);
	io->closing = true;
	uv_mutex_unlock(&io->lock);
	io->closed = closed;
	io->closed_arg = arg;
	run_posts(io);
	while (io->timers)
		loop_timer_stop(io, io->timers);
	for (struct kettle_process *process = io->processes; process; process = process->next) {
		if (!process->exited)
			(void)kill(-process->handle.pid, SIGKILL);
		else
			(void)uv_timer_start(&process->drain, on_drained, 0, 0);
	}
	uv_close((uv_handle_t *)&io->alarm, on_own_closed);
	uv_close((uv_handle_t *)&io->wake, on_own_closed);
}
