/* SPDX-License-Identifier: MIT */
/* Runs the program under its profiler, and tools that read the profiler's output. */
/*
 * Theory of operation. One thread, one child at a time. The profiler is the child, the program the child's child. To
 * tell a profiler that did not start the program from a program that failed, the profiler starts `kettle-profile
 * --start`, which writes a byte to a pipe and becomes the program. While the child runs, one poll loop passes its stderr
 * on, keeps the end of it, and passes the harness's commands to the profilers; it ends with the child, even where other
 * processes hold the pipes. Descriptors are close-on-exec but for those that a child needs.
 */
#include <config.h>

#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/times.h"

#define CHUNK 16384
#define EXIT_NOT_STARTED 127
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

void
child_add(struct child *child, ...)
{
	va_list words;
	va_start(words, child);
	for (const char *word; (word = va_arg(words, const char *));)
		if (child->count++ < CHILD_MAX_WORDS)
			child->words[child->count - 1] = word;
	va_end(words);
}

void
child_add_list(struct child *child, char *const *words)
{
	for (; *words; words++)
		child_add(child, *words, NULL);
}

static int
make_pipe(int ends[2], struct kettle_error *err)
{
	return pipe2(ends, O_CLOEXEC) == 0 ? 0
									   : kettle_fail(err, KETTLE_EIO, "Could not create a pipe: %s.", strerror(errno));
}

int
child_make_mark(struct child *child, struct kettle_error *err)
{
	int rc = make_pipe(child->marks, err);
	child->mark = rc == 0 ? child->marks[1] : -1;
	return rc;
}

int
child_make_control(struct child *child, struct kettle_error *err)
{
	struct child_control *control = &child->controls[child->controls_count];
	int rc = make_pipe(control->commands, err);
	if (rc != 0)
		return rc;
	child->controls_count++;
	control->answers[0] = control->answers[1] = -1;
	return make_pipe(control->answers, err);
}

static void
close_end(int *end)
{
	if (*end > 0)
		close(*end);
	*end = -1;
}

static void
close_pair(int ends[2])
{
	close_end(&ends[0]);
	close_end(&ends[1]);
}

void
child_close(struct child *child)
{
	close_pair(child->marks);
	for (size_t i = 0; i < child->controls_count; i++) {
		close_pair(child->controls[i].commands);
		close_pair(child->controls[i].answers);
	}
	child->controls_count = 0;
}

/* ---- in the child ---- */

static void
let_through(int fd)
{
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, 0);
}

/* Becomes the command. harness: the ends of the pipes to the harness, or -1. */
__attribute__((noreturn)) static void
become(const struct child *child, int errors, const int harness[2])
{
	char control[40];
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(errors, 2);
	let_through(child->mark);
	for (size_t i = 0; i < child->controls_count; i++) {
		let_through(child->controls[i].commands[0]);
		let_through(child->controls[i].answers[1]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(child->variables) && child->variables[i][0]; i++)
		(void)setenv(child->variables[i][0], child->variables[i][1], 1);
	if (harness[0] >= 0) {
		let_through(harness[0]);
		let_through(harness[1]);
		(void)snprintf(control, sizeof(control), "%d,%d", harness[0], harness[1]);
		(void)setenv(CHILD_CONTROL_VARIABLE, control, 1);
	}
	(void)execvp(child->words[0], (char *const *)child->words);
	(void)dprintf(2, "%s cannot be started: %s\n", child->words[0], strerror(errno));
	_exit(EXIT_NOT_STARTED);
}

/* ---- watching it ---- */

/* Waits for an answer; a profiler that is gone or silent gets no more commands. */
static void
await_answer(struct child_control *control)
{
	struct pollfd ready = {.fd = control->answers[0], .events = POLLIN};
	char answer[64];
	if (poll(&ready, 1, CHILD_ACK_MS) == 1 && read(control->answers[0], answer, sizeof(answer)) > 0)
		return;
	close_pair(control->commands);
}

static void
tell_profilers(struct child *child, const char *command)
{
	for (size_t i = 0; i < child->controls_count; i++) {
		struct child_control *control = &child->controls[i];
		if (control->commands[1] >= 0 && write(control->commands[1], command, strlen(command)) > 0)
			await_answer(control);
	}
}

/* Takes one command of the harness; anything else is acknowledged as well, so that no harness waits forever. */
static bool
serve_harness(struct child *child, int from, int to)
{
	char text[64];
	ssize_t got = read(from, text, sizeof(text) - 1);
	if (got <= 0)
		return got < 0 && errno == EINTR;
	text[got] = '\0';
	if (strcmp(text, "enable\n") == 0 || strcmp(text, "disable\n") == 0)
		tell_profilers(child, text);
	return write(to, "ack\n", 4) == 4;
}

static void
child_remember(struct child *child, size_t *used, const char *data, size_t size)
{
	size_t room = CHILD_TAIL_SIZE - 1;
	if (size > room) {
		data += size - room;
		size = room;
	}
	if (*used + size > room) {
		size_t drop = *used + size - room;
		memmove(child->tail, child->tail + drop, *used - drop);
		*used -= drop;
	}
	memcpy(child->tail + *used, data, size);
	*used += size;
	child->tail[*used] = '\0';
}

static bool
pass_errors(struct child *child, int from, size_t *used)
{
	char data[CHUNK];
	ssize_t got = read(from, data, sizeof(data));
	if (got <= 0)
		return got < 0 && (errno == EINTR || errno == EAGAIN);
	child_remember(child, used, data, (size_t)got);
	/* If this process's stderr has no reader, no more is passed on. */
	return write(2, data, (size_t)got) >= 0;
}

static void
child_watch(struct child *child, int pidfd, int errors, int from_harness, int to_harness)
{
	struct pollfd fds[] = {
		{.fd = pidfd, .events = POLLIN}, {.fd = errors, .events = POLLIN}, {.fd = from_harness, .events = POLLIN}};
	size_t used = 0;
	while (!fds[0].revents) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return;
		if (fds[1].revents && !pass_errors(child, errors, &used))
			fds[1].fd = -1;
		if (fds[2].revents && !serve_harness(child, from_harness, to_harness))
			fds[2].fd = -1;
	}
	/* Reads the rest of the child's output; other processes may still write to the pipe. */
	struct pollfd rest = {.fd = errors, .events = POLLIN};
	for (int i = 0; i < 64 && poll(&rest, 1, 0) == 1 && rest.revents & POLLIN; i++)
		if (!pass_errors(child, errors, &used))
			break;
}

/* Starts the child; its ends of the pipes are closed here. */
static int
child_start(
	struct child *child, int errors[2], int to_profile[2], int to_harness[2], pid_t *ret_pid, struct kettle_error *err)
{
	const int harness[2] = {to_profile[1], to_harness[0]};
	pid_t pid = fork();
	if (pid < 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create a process: %s.", strerror(errno));
	if (pid == 0)
		become(child, errors[1], harness);
	close_end(&errors[1]);
	close_end(&to_profile[1]);
	close_end(&to_harness[0]);
	close_end(&child->marks[1]);
	*ret_pid = pid;
	return 0;
}

static bool
is_marked(const struct child *child)
{
	char byte;
	struct pollfd ready = {.fd = child->marks[0], .events = POLLIN};
	return poll(&ready, 1, 0) == 1 && read(child->marks[0], &byte, 1) == 1;
}

int
child_run(struct child *child, struct kettle_error *err)
{
	int errors[2] = {-1, -1}, to_profile[2] = {-1, -1}, to_harness[2] = {-1, -1};
	pid_t pid = -1;
	bool marks = child->marks[0] > 0;
	int rc = child->count <= CHILD_MAX_WORDS ? 0 : kettle_fail(err, KETTLE_ETOOBIG, "The command line is too long.");
	if (rc == 0)
		rc = make_pipe(errors, err);
	if (rc == 0 && child->controls_count > 0)
		rc = make_pipe(to_profile, err);
	if (rc == 0 && child->controls_count > 0)
		rc = make_pipe(to_harness, err);
	if (rc == 0)
		rc = child_start(child, errors, to_profile, to_harness, &pid, err);
	if (rc == 0) {
		AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pidfd >= 0)
			child_watch(child, pidfd, errors[0], to_profile[0], to_harness[1]);
		while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR)
			continue;
		child->started = !marks || is_marked(child);
	}
	close_pair(errors);
	close_pair(to_profile);
	close_pair(to_harness);
	return rc;
}

/* ---- tools ---- */

__attribute__((noreturn)) static void
become_tool(const char *const *argv, int output)
{
	int nothing = open("/dev/null", O_RDWR);
	(void)dup2(nothing, 0);
	(void)dup2(nothing, 2);
	(void)dup2(output, 1);
	(void)execvp(argv[0], (char *const *)argv);
	_exit(EXIT_NOT_STARTED);
}

static int
take_all(int output, uint64_t deadline_ns, child_take take, void *arg, bool *ret_late)
{
	char data[CHUNK];
	for (;;) {
		uint64_t now = time_monotonic_ns();
		struct pollfd ready = {.fd = output, .events = POLLIN};
		if (now >= deadline_ns || poll(&ready, 1, (int)((deadline_ns - now) / 1000000) + 1) == 0) {
			*ret_late = true;
			return 0;
		}
		ssize_t got = read(output, data, sizeof(data));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		int rc = take(arg, data, (size_t)got);
		if (rc != 0)
			return rc;
	}
}

int
child_read(const char *const *argv, unsigned seconds, child_take take, void *arg, struct kettle_error *err)
{
	int output[2], status = 0;
	bool late = false;
	int rc = make_pipe(output, err);
	if (rc != 0)
		return rc;
	pid_t pid = fork();
	if (pid == 0)
		become_tool(argv, output[1]);
	close(output[1]);
	if (pid > 0)
		rc = take_all(output[0], time_monotonic_ns() + seconds * UINT64_C(1000000000), take, arg, &late);
	close(output[0]);
	if (pid < 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create a process: %s.", strerror(errno));
	if (late || rc != 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (late)
		return kettle_fail(err, KETTLE_EUNAVAIL, "`%s` took longer than %u s to read the recording.", argv[0], seconds);
	if (rc == 0 && status != 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "`%s` could not read the recording.", argv[0]);
	return rc;
}
