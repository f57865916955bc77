/* SPDX-License-Identifier: MIT */
/* The two ways to run: many jobs, line by line, until the input ends; or a single plan. */
/*
 * Theory of operation. One libuv loop on the main thread owns everything; file work runs on threads of its own. The
 * lease ends with the input, after its time without input, at a signal (TERM, INT, HUP), or when the output is no
 * longer read. Then every job is cancelled; when the last one is gone, or after SERVE_END_MS, all handles are closed
 * and the loop ends. After SIGKILL nothing is left to do here: every sandbox dies with this thread, and the next
 * kettle-exec removes the folders.
 *
 * Probing the versions of the tools may take seconds. Jobs do not wait for it, since the tools of their steps are
 * probed with them, so the first greeting has no tools. A thread of work probes all tools with a toolchain of its own,
 * which shares only the file of remembered results with the jobs' toolchain, and merges the results. Then the loop
 * sends another greeting. No function on the loop uses a toolchain.
 */
#include <config.h>

#include "exec/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/line.h"
#include "base/text.h"
#include "exec/job/job.h"
#include "exec/machine/machine.h"
#include "exec/util/work.h"

/* The greetings of a kettle-exec that stays. Zero-initialise. Loop thread. */
struct greeting {
	struct exec_context *exec; /* NULL: not open */
	bool closed;
	struct work gpus, tools;
	bool reading, again;      /* the GPUs are being read; they must be read again */
	bool used;                /* jobs held devices when the reading began */
	json_t *read;             /* reading of the GPUs; belongs to the work during a read */
	struct toolchain *finder; /* belongs to the work while it runs; NULL: the tools are known */
	bool find_again;          /* find tools once more, since others are reported now */
	struct tool_report found;
};

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

struct serve {
	uv_loop_t loop;
	struct exec_context exec;
	struct json_writer out;
	uv_signal_t signals[ARRAY_SIZE(end_signals)];
	uv_timer_t patience, lease;
	uint64_t lease_ms; /* 0: the lease ends only with the input */
	uv_async_t unread; /* the output cannot be written */
	uv_poll_t input;
	bool input_open;
	int input_flags;
	struct line_reader lines;
	struct greeting greeting;
	bool ending, closed, one; /* one: a single plan, whose end is the end of the process */
	int status;
};

/* ---- greetings ---- */

static void
greet(struct greeting *greeting)
{
	if (!greeting->closed)
		exec_context_emit(greeting->exec, exec_context_hello(greeting->exec));
}

static void
find_tools(void *arg)
{
	struct greeting *greeting = arg;
	greeting->found = toolchain_report(greeting->finder);
	toolchain_merge(greeting->exec->toolchain, greeting->finder);
}

static void greeting_find(struct greeting *greeting);

static void
tools_found(void *arg)
{
	struct greeting *greeting = arg;
	struct exec_context *exec = greeting->exec;
	if (!greeting->closed) {
		tool_report_free(&exec->tools);
		exec->tools = greeting->found;
		greeting->found = (struct tool_report){0};
	}
	toolchain_free(STEAL(greeting->finder));
	tool_report_free(&greeting->found);
	if (greeting->find_again)
		greeting_find(greeting);
	else
		greet(greeting);
}

/* Finds this machine's tools, and then sends a greeting. A call meanwhile makes it look once more. */
static void
greeting_find(struct greeting *greeting)
{
	struct exec_context *exec = greeting->exec;
	greeting->find_again = greeting->finder != NULL;
	if (greeting->finder || greeting->closed)
		return;
	AUTO_FREE char *memory = path_join(exec->config.state, EXEC_TOOLS_FILE);
	greeting->finder = toolchain_new(&exec->config, memory);
	work_start(&greeting->tools, exec->loop, find_tools, tools_found, greeting);
}

/* Sends the first greeting, and begins to find this machine's tools. */
static void
greeting_open(struct greeting *greeting, struct exec_context *exec)
{
	greeting->exec = exec;
	greet(greeting);
	greeting_find(greeting);
}

/* Sends no more greetings. Work under way ends within the loop's next turns; the context must not be closed before. */
static void
greeting_close(struct greeting *greeting)
{
	greeting->closed = true;
	if (greeting->finder)
		toolchain_stop(greeting->finder);
}

static void greeting_refresh(struct greeting *greeting);

static void
read_gpus(void *arg)
{
	struct greeting *greeting = arg;
	greeting->read = gpu_read_or_explain(&greeting->exec->config);
}

static void
gpus_read(void *arg)
{
	struct greeting *greeting = arg;
	bool again = greeting->again;
	greeting->reading = greeting->again = false;
	exec_context_take_gpus(greeting->exec, STEAL(greeting->read), greeting->used);
	greet(greeting);
	if (again && !greeting->closed)
		greeting_refresh(greeting);
}

/* Reads the GPUs, and then sends another greeting. A call meanwhile causes one more. */
static void
greeting_refresh(struct greeting *greeting)
{
	if (greeting->closed || !greeting->exec)
		return;
	greeting->again = greeting->reading;
	if (greeting->reading)
		return;
	greeting->reading = gpu_expected(&greeting->exec->config);
	greeting->used = greeting->reading && !exec_context_is_idle(greeting->exec);
	if (greeting->reading)
		work_start(&greeting->gpus, greeting->exec->loop, read_gpus, gpus_read, greeting);
	else
		greet(greeting);
}

/* ---- the lease ---- */

static void
close_all(struct serve *serve)
{
	if (serve->closed)
		return;
	serve->closed = true;
	greeting_close(&serve->greeting);
	for (size_t i = 0; i < ARRAY_SIZE(end_signals); i++)
		uv_close((uv_handle_t *)&serve->signals[i], NULL);
	uv_close((uv_handle_t *)&serve->patience, NULL);
	uv_close((uv_handle_t *)&serve->lease, NULL);
	uv_close((uv_handle_t *)&serve->unread, NULL);
	if (serve->input_open)
		uv_close((uv_handle_t *)&serve->input, NULL);
	devlock_close(&serve->exec.locks);
	warm_close(serve->exec.warm);
	json_writer_flush(&serve->out, SERVE_FLUSH_MS);
	json_writer_close(&serve->out);
}

static void
out_of_patience(uv_timer_t *timer)
{
	struct serve *serve = timer->data;
	/* Processes that are still alive die with this one, or are stuck in the kernel. */
	serve->status = EXEC_UNABLE;
	uv_stop(&serve->loop);
}

static void
on_idle(void *arg)
{
	struct serve *serve = arg;
	if (serve->ending || serve->one)
		close_all(serve);
	else
		warm_idle(serve->exec.warm);
}

static void
end_lease(struct serve *serve)
{
	if (serve->ending)
		return;
	serve->ending = true;
	(void)uv_timer_stop(&serve->lease);
	if (serve->input_open)
		(void)uv_poll_stop(&serve->input);
	(void)uv_timer_start(&serve->patience, out_of_patience, SERVE_END_MS, 0);
	if (!exec_context_is_busy(&serve->exec))
		close_all(serve);
	job_cancel_all(&serve->exec);
}

static void
on_broken(void *arg)
{
	/* This may be within an event, so the lease ends when the loop turns again. */
	struct serve *serve = arg;
	if (!serve->closed)
		(void)uv_async_send(&serve->unread);
}

static void
on_drained(void *arg)
{
	struct serve *serve = arg;
	if (!serve->closed)
		job_output_drained(&serve->exec);
}

static void
on_unread(uv_async_t *async)
{
	end_lease(async->data);
}

static void
on_signal(uv_signal_t *signal, int number)
{
	(void)number;
	end_lease(signal->data);
}

static void
emit_error(struct serve *serve, const char *sentence)
{
	exec_context_emit(&serve->exec, json_pack("{s:s, s:s}", "event", "error", "error", sentence));
}

/* Takes the tools to report, since the languages of later plans are configured otherwise. */
static void
take_tools(struct serve *serve, const json_t *line)
{
	struct kettle_error error = {0};
	if (execconfig_report(&serve->exec.config, json_object_get(line, "report"), &error) != 0) {
		emit_error(serve, error.message);
		return;
	}
	warm_drop(serve->exec.warm);
	greeting_find(&serve->greeting);
}

static void
take_object(struct serve *serve, json_t *line_take)
{
	const char *ref = json_text_or_null(line_take, "job");
	struct kettle_error error = {0};
	if (member_is(line_take, "op", "run")) {
		warm_busy(serve->exec.warm);
		if (job_start(&serve->exec, line_take, &error) != 0)
			emit_error(serve, error.message);
		if (!exec_context_is_busy(&serve->exec))
			warm_idle(serve->exec.warm);
		return;
	}
	struct job *job = ref ? job_find(&serve->exec, ref) : NULL;
	if (member_is(line_take, "op", "heartbeat"))
		exec_context_emit(&serve->exec, json_pack("{s:s}", "event", "heartbeat"));
	else if (member_is(line_take, "op", "hello"))
		greeting_refresh(&serve->greeting);
	else if (member_is(line_take, "op", "tools"))
		take_tools(serve, line_take);
	else if (!member_is(line_take, "op", "cancel"))
		emit_error(serve, "`op` must be run, cancel, hello, tools or heartbeat.");
	else if (!ref)
		emit_error(serve, "The line has no `job`.");
	else if (job)
		job_cancel(job);
	/* A cancel for a job that has just ended is no error. */
	json_decref(line_take);
}

static int
take_line(void *arg, char *line, size_t len)
{
	struct serve *serve = arg;
	json_error_t why;
	if (len == 0 || serve->ending)
		return 0;
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	if (json_is_object(object)) {
		take_object(serve, object);
		return 0;
	}
	AUTO_BUF struct buf clean = {0};
	AUTO_FREE char *text =
		object ? xstrdup("A line is not a JSON object.") : xasprintf("A line is not JSON: %s.", why.text);
	(void)utf8_sanitize(text, strlen(text), &clean);
	emit_error(serve, clean.data);
	json_decref(object);
	return 0;
}

/* False: the input has ended. */
static bool
take_bytes(struct serve *serve, const char *data, size_t size)
{
	int rc = line_add(&serve->lines, data, size, take_line, serve);
	if (rc == KETTLE_ETOOBIG)
		emit_error(serve, "A line exceeds the limit of 64 MiB; the rest of the input cannot be read.");
	return rc == 0;
}

static void
on_lease_over(uv_timer_t *timer)
{
	struct serve *serve = timer->data;
	(void)fprintf(
		stderr, "kettle-exec: the lease ended: no input for %llu s\n", (unsigned long long)(serve->lease_ms / 1000));
	end_lease(serve);
}

static void
on_input(uv_poll_t *poll, int status, int events)
{
	struct serve *serve = poll->data;
	char chunk[64u << 10];
	(void)status;
	(void)events;
	ssize_t n = read(0, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A part of a line counts as input, since a long line may take longer than the lease. */
	(void)uv_timer_again(&serve->lease);
	if (n <= 0 || !take_bytes(serve, chunk, (size_t)n))
		end_lease(serve);
}

/* Reads all input at once, since a file or /dev/null cannot be polled. */
static void
read_input(struct serve *serve)
{
	char chunk[64u << 10];
	ssize_t n;
	while ((n = read(0, chunk, sizeof(chunk))) > 0)
		if (!take_bytes(serve, chunk, (size_t)n))
			break;
	end_lease(serve);
}

static int
open_serve(struct serve *serve, const struct exec_options *options)
{
	struct kettle_error error = {0};
	int rc = uv_loop_init(&serve->loop);
	if (rc != 0) {
		(void)fprintf(stderr, "kettle-exec: the event loop could not be created: %s\n", uv_strerror(rc));
		return EXEC_UNABLE;
	}
	json_writer_open(&serve->out, &serve->loop, 1, on_broken, serve);
	serve->out.on_drained = on_drained;
	for (size_t i = 0; i < ARRAY_SIZE(end_signals); i++) {
		(void)uv_signal_init(&serve->loop, &serve->signals[i]);
		serve->signals[i].data = serve;
		(void)uv_signal_start(&serve->signals[i], on_signal, end_signals[i]);
	}
	(void)uv_timer_init(&serve->loop, &serve->patience);
	(void)uv_timer_init(&serve->loop, &serve->lease);
	serve->patience.data = serve->lease.data = serve;
	serve->lease_ms = (uint64_t)options->lease_s * 1000;
	(void)uv_async_init(&serve->loop, &serve->unread, on_unread);
	serve->unread.data = serve;
	rc = exec_context_open(&serve->exec, &serve->loop, &serve->out, options, &error);
	serve->exec.on_idle = on_idle;
	serve->exec.arg = serve;
	if (rc == 0)
		return EXEC_PASSED;
	(void)fprintf(stderr, "kettle-exec: %s\n", error.message);
	return exec_is_usage(rc) ? EXEC_USAGE : EXEC_UNABLE;
}

static int
close_serve(struct serve *serve, int status)
{
	close_all(serve);
	(void)uv_run(&serve->loop, UV_RUN_DEFAULT);
	exec_context_close(&serve->exec);
	(void)uv_run(&serve->loop, UV_RUN_DEFAULT);
	line_free(&serve->lines);
	if (serve->input_open && serve->input_flags >= 0)
		(void)fcntl(0, F_SETFL, serve->input_flags);
	if (uv_loop_close(&serve->loop) != 0)
		(void)fprintf(stderr, "kettle-exec: the event loop still has open handles\n");
	return status;
}

static void
open_warm(struct serve *serve, const char *memory)
{
	serve->exec.warm = warm_open(&(struct warm_setup){.loop = &serve->loop,
		.out = &serve->out,
		.machine = serve->exec.machine,
		.build = serve->exec.build,
		.spool = serve->exec.spool.dir,
		.section = json_object_get(serve->exec.config.root, "warm"),
		.config = &serve->exec.config,
		.memory = memory,
		.locks = &serve->exec.locks});
}

int
serve_lines(const struct exec_options *options)
{
	struct serve serve = {.lines.max = SERVE_MAX_LINE, .input_flags = fcntl(0, F_GETFL)};
	int status = open_serve(&serve, options);
	if (status != EXEC_PASSED)
		return close_serve(&serve, status);
	greeting_open(&serve.greeting, &serve.exec);
	sandbox_machine_prepare(serve.exec.machine);
	AUTO_FREE char *memory = path_join(serve.exec.config.state, EXEC_WARM_FILE);
	open_warm(&serve, memory);
	warm_idle(serve.exec.warm);
	serve.input_open = uv_poll_init(&serve.loop, &serve.input, 0) == 0;
	serve.input.data = &serve;
	if (serve.input_open)
		(void)uv_poll_start(&serve.input, UV_READABLE, on_input);
	else
		read_input(&serve);
	if (serve.lease_ms > 0 && !serve.ending)
		(void)uv_timer_start(&serve.lease, on_lease_over, serve.lease_ms, serve.lease_ms);
	(void)uv_run(&serve.loop, UV_RUN_DEFAULT);
	/* Jobs that did not die are left to the kernel, since freeing them would wait for them. */
	return exec_context_is_busy(&serve.exec) ? serve.status : close_serve(&serve, serve.status);
}

/* The result of the single plan is the exit status. */
static void
on_done(void *arg, enum exec_status status)
{
	struct serve *serve = arg;
	serve->status = (int)status;
}

int
serve_read_input(const char *path, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	return strcmp(path, "-") == 0 ? file_read_stream(0, "Standard input", SERVE_MAX_LINE, ret_data, ret_size, err)
								  : file_read(path, SERVE_MAX_LINE, ret_data, ret_size, err);
}

/* Reads a plan, or a run line with one. New reference. */
static int
read_plan(const char *path, json_t **ret_line, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	json_error_t why;
	int rc = serve_read_input(path, &text, &size, err);
	if (rc != 0)
		return rc;
	AUTO_JSON json_t *plan = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	if (!json_is_object(plan))
		return kettle_fail(err, KETTLE_EINVAL, "%s:%d: this is not a JSON object: %s.", path, plan ? 1 : why.line,
			plan ? "it is a different JSON value" : why.text);
	json_t *line = json_object_get(plan, "plan") ? json_incref(plan) : json_pack("{s:O}", "plan", plan);
	if (!json_object_get(line, "job"))
		json_object_set_new(line, "job", json_string("plan"));
	*ret_line = line;
	return 0;
}

int
serve_plan(const struct exec_options *options, const char *path)
{
	struct kettle_error error = {0};
	json_t *line = NULL;
	int rc = read_plan(path, &line, &error);
	if (rc != 0) {
		(void)fprintf(stderr, "kettle-exec: %s\n", error.message);
		return EXEC_USAGE;
	}
	struct serve serve = {.one = true, .input_flags = -1};
	int status = open_serve(&serve, options);
	if (status != EXEC_PASSED) {
		json_decref(line);
		return close_serve(&serve, status);
	}
	serve.exec.on_done = on_done;
	serve.exec.alone = true;
	open_warm(&serve, NULL);
	exec_context_emit(&serve.exec, exec_context_hello(&serve.exec));
	if (job_start(&serve.exec, line, &error) != 0) {
		(void)fprintf(stderr, "kettle-exec: %s\n", error.message);
		serve.status = EXEC_USAGE;
	}
	if (!exec_context_is_busy(&serve.exec))
		close_all(&serve);
	(void)uv_run(&serve.loop, UV_RUN_DEFAULT);
	return exec_context_is_busy(&serve.exec) ? serve.status : close_serve(&serve, serve.status);
}
