/* SPDX-License-Identifier: MIT */
/* A host for tests of the command line: no loop, no core; answers are given by the test. */
#include <config.h>

#include "lib/cli_host.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "commands/handlers.h"

struct cli_host_task {
	struct cli_host_task *next;
	kettle_fn fn;
	void *arg;
	/* Of an answer. */
	kettle_answer answer;
	json_t *result;
	struct kettle_error err;
};

static const char table_text[] =
#include "lib/cli_table.h"
	;

static struct cli_host *
of(const struct kettle_host *host)
{
	return (struct cli_host *)((char *)(uintptr_t)host - offsetof(struct cli_host, host));
}

static struct cli_host_task *
queue(struct cli_host *host)
{
	struct cli_host_task *task = calloc(1, sizeof(*task));
	if (!task)
		abort();
	*host->tasks_end = task;
	host->tasks_end = &task->next;
	return task;
}

static void
host_log(const struct kettle_host *host, enum kettle_log_level level, const char *format, ...)
{
	va_list args;
	(void)host;
	(void)level;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

static int
host_post(const struct kettle_host *host, kettle_fn fn, void *arg)
{
	struct cli_host_task *task = queue(of(host));
	task->fn = fn;
	task->arg = arg;
	return 0;
}

static int
host_work(const struct kettle_host *host, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	(void)err;
	work(arg);
	return host_post(host, after, arg);
}

/* Timers never fire here; their functions are tested elsewhere. */
static int
host_timer_start(const struct kettle_host *host, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	(void)delay_ms;
	(void)repeat_ms;
	(void)fn;
	(void)arg;
	(void)err;
	of(host)->timers++;
	*ret_timer = (struct kettle_timer *)of(host);
	return 0;
}

static void
host_timer_stop(const struct kettle_host *host, struct kettle_timer *timer)
{
	if (timer)
		of(host)->timers--;
}

static int
host_call(const struct kettle_host *const_host, const json_t *actor, const char *command, const json_t *args,
	kettle_answer done, void *arg)
{
	struct cli_host *host = of(const_host);
	struct cli_host_task *task = queue(host);
	task->answer = done;
	task->arg = arg;
	kettle_fail(&task->err, KETTLE_EINTERNAL, "The test has no answer for %s.", command);
	json_array_append_new(host->calls, json_pack("{s:s, s:o}", "command", command, "args", json_deep_copy(args)));
	json_decref(host->actor);
	host->actor = json_deep_copy(actor);
	for (size_t i = 0; i < host->answers_count; i++) {
		struct cli_host_answer *answer = &host->answers[i];
		if (!answer->command || strcmp(answer->command, command) != 0)
			continue;
		task->err = (struct kettle_error){0};
		if (!answer->result)
			kettle_blame(&task->err, KETTLE_CAUSE_NONE, answer->member ? answer->member : "",
				kettle_fail(&task->err, answer->code, "%s", answer->message));
		task->result = STEAL(answer->result);
		answer->command = NULL;
		break;
	}
	return 0;
}

static const json_t *
host_commands(const struct kettle_host *host)
{
	return of(host)->table;
}

static uint64_t
host_monotonic_ms(const struct kettle_host *host)
{
	(void)host;
	return time_monotonic_ns() / 1000000;
}

static int64_t
host_utc_ms(const struct kettle_host *host)
{
	(void)host;
	return time_now_ms();
}

static int
host_subscribe(const struct kettle_host *const_host, const json_t *actor, const json_t *filter, int64_t after,
	kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err)
{
	struct cli_host *host = of(const_host);
	(void)actor;
	(void)err;
	json_decref(host->filter);
	host->filter = json_deep_copy(filter);
	host->after = after;
	host->event_fn = fn;
	host->event_arg = arg;
	*ret_id = 1;
	return 0;
}

static int
host_unsubscribe(const struct kettle_host *host, uint64_t id, kettle_fn ended, void *arg)
{
	(void)id;
	of(host)->event_fn = NULL;
	of(host)->unsubscribed = true;
	if (ended)
		ended(arg);
	return 0;
}

void
cli_host_init(struct cli_host *host)
{
	*host = (struct cli_host){
		.host = {.size = sizeof(host->host),
			.abi_major = KETTLE_ABI_MAJOR,
			.abi_minor = KETTLE_ABI_MINOR,
			.version = PACKAGE_VERSION,
			.name = "cli",
			.log = host_log,
			.post = host_post,
			.work = host_work,
			.timer_start = host_timer_start,
			.timer_stop = host_timer_stop,
			.call = host_call,
			.commands = host_commands,
			.subscribe = host_subscribe,
			.unsubscribe = host_unsubscribe,
			.monotonic_ms = host_monotonic_ms,
			.utc_ms = host_utc_ms},
		.calls = json_array(),
		.events = json_array(),
	};
	host->tasks_end = &host->tasks;
	host->table = json_loads(table_text, 0, NULL);
	if (!host->table)
		abort();
}

void
cli_host_free(struct cli_host *host)
{
	for (size_t i = 0; i < host->answers_count; i++)
		json_decref(host->answers[i].result);
	json_decref(host->table);
	json_decref(host->calls);
	json_decref(host->events);
	json_decref(host->filter);
	json_decref(host->actor);
}

void
cli_host_answer(struct cli_host *host, const char *command, json_t *result_take)
{
	host->answers[host->answers_count++] = (struct cli_host_answer){.command = command, .result = result_take};
}

void
cli_host_refuse_argument(struct cli_host *host, const char *command, const char *member, int code, const char *message)
{
	cli_host_refuse(host, command, code, message);
	host->answers[host->answers_count - 1].member = member;
}

void
cli_host_refuse(struct cli_host *host, const char *command, int code, const char *message)
{
	host->answers[host->answers_count++] =
		(struct cli_host_answer){.command = command, .code = code, .message = message};
}

static bool
one_task(struct cli_host *host)
{
	struct cli_host_task *task = host->tasks;
	if (!task)
		return false;
	host->tasks = task->next;
	if (!host->tasks)
		host->tasks_end = &host->tasks;
	if (task->answer)
		task->answer(task->arg, &task->err, task->result);
	else
		task->fn(task->arg);
	json_decref(task->result);
	free(task);
	return true;
}

static bool
one_event(struct cli_host *host)
{
	if (!host->event_fn || json_array_size(host->events) == 0)
		return false;
	AUTO_JSON json_t *event = json_incref(json_array_get(host->events, 0));
	json_array_remove(host->events, 0);
	host->event_fn(host->event_arg, event);
	return true;
}

void
cli_host_turn(struct cli_host *host)
{
	while (one_event(host) || one_task(host))
		;
}

/* Redirects a descriptor to a file; *ret_saved is the old one. */
static FILE *
capture(int fd, FILE *stream, int *ret_saved)
{
	FILE *file = tmpfile();
	fflush(stream);
	*ret_saved = dup(fd);
	if (!file || *ret_saved < 0 || dup2(fileno(file), fd) < 0)
		abort();
	return file;
}

static char *
release(int fd, FILE *stream, int saved, FILE *file)
{
	fflush(stream);
	dup2(saved, fd);
	close(saved);
	long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
	char *text = calloc(1, (size_t)size + 1);
	rewind(file);
	if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
		abort();
	fclose(file);
	return text;
}

static void
ended(void *arg, int status)
{
	*(int *)arg = status;
}

static void
stopped(void *arg)
{
	*(bool *)arg = true;
}

static int
run_plugin(struct cli_host *host, const json_t *globals, const char *const *argv)
{
	int argc = 0, status = -1;
	bool done = false;
	struct kettle_error err = {0};
	void *self = NULL;
	AUTO_JSON json_t *all = json_pack("{s:s}", "user", "alice");
	while (argv[argc])
		argc++;
	if (globals)
		json_object_update(all, (json_t *)(uintptr_t)globals);
	if (kettle_plugin.create(&host->host, &self, &err) ||
		kettle_plugin.frontend->run(self, argc, argv, all, ended, &status, &err))
		abort();
	cli_host_turn(host);
	/* Stops a command that still waits, as main does at SIGINT. */
	kettle_plugin.stop(self, stopped, &done);
	cli_host_turn(host);
	kettle_plugin.destroy(self);
	return done ? status : -1;
}

int
cli_host_run(struct cli_host *host, const json_t *globals, const char *const *argv, char **ret_out, char **ret_err)
{
	int saved_out, saved_err;
	FILE *out = capture(STDOUT_FILENO, stdout, &saved_out), *errors = capture(STDERR_FILENO, stderr, &saved_err);
	int status = run_plugin(host, globals, argv);
	*ret_err = release(STDERR_FILENO, stderr, saved_err, errors);
	*ret_out = release(STDOUT_FILENO, stdout, saved_out, out);
	return status;
}

/* A pseudo terminal in raw mode, without echo. */
static int
open_terminal(unsigned columns, int *ret_slave)
{
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
	struct termios mode;
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) || unlockpt(master))
		abort();
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || tcgetattr(slave, &mode))
		abort();
	mode.c_lflag &= ~(tcflag_t)ECHO;
	mode.c_oflag &= ~(tcflag_t)OPOST;
	if (tcsetattr(slave, TCSANOW, &mode) || ioctl(slave, TIOCSWINSZ, &size))
		abort();
	*ret_slave = slave;
	return master;
}

static char *
read_terminal(int master)
{
	char *text = NULL, chunk[4096];
	size_t size = 0;
	ssize_t n;
	FILE *out = open_memstream(&text, &size);
	if (!out || fcntl(master, F_SETFL, O_NONBLOCK))
		abort();
	while ((n = read(master, chunk, sizeof(chunk))) > 0)
		fwrite(chunk, 1, (size_t)n, out);
	fclose(out);
	return text;
}

int
cli_host_run_terminal(
	struct cli_host *host, unsigned columns, const char *input, const char *const *argv, char **ret_out)
{
	int slave, saved[3];
	int master = open_terminal(columns, &slave);
	fflush(stdout);
	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = dup(fd);
		dup2(slave, fd);
	}
	setenv("TERM", "xterm", 1);
	if (write(master, input, strlen(input)) != (ssize_t)strlen(input))
		abort();
	int status = run_plugin(host, NULL, argv);
	fflush(stdout);
	for (int fd = 0; fd < 3; fd++) {
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	*ret_out = read_terminal(master);
	close(slave);
	close(master);
	return status;
}

/* ---- the state of a test ---- */

int
cli_state_setup(void **state)
{
	struct cli_state *own = xcalloc(1, sizeof(*own));
	cli_host_init(&own->host);
	snprintf(own->folder, sizeof(own->folder), "/tmp/kettle-cli-XXXXXX");
	*state = own;
	return mkdtemp(own->folder) ? 0 : -1;
}

int
cli_state_setup_core(void **state)
{
	int rc = cli_state_setup(state);
	struct cli_state *own = *state;
	json_decref(own->host.table);
	own->host.table = command_data(commands);
	return rc;
}

int
cli_state_teardown(void **state)
{
	struct cli_state *own = *state;
	file_remove_tree(own->folder, NULL);
	cli_host_free(&own->host);
	free_all(own->out, own->err, own);
	return 0;
}

int
cli_state_run(struct cli_state *state, const json_t *globals, const char *const *argv)
{
	free_all(state->out, state->err);
	return cli_host_run(&state->host, globals, argv, &state->out, &state->err);
}
