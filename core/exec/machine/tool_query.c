/* SPDX-License-Identifier: MIT */
/* Queries the machine's tools: starts several at once and reads their output. */
/*
 * Theory of operation. posix_spawn starts every command with /dev/null as its input and stderr, and a pipe as its
 * stdout. One poll loop drains the pipes until all are closed or the time is over. Then each child is killed (harmless
 * after its end) and reaped by its pid.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

extern char **environ;

static int
spawn(struct command *command, int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, output, command->errors ? 2 : 1);
	(void)posix_spawn_file_actions_addopen(&actions, command->errors ? 1 : 2, "/dev/null", O_WRONLY, 0);
	/* Otherwise children would inherit an ignored SIGPIPE. */
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	int rc = posix_spawn(&command->pid, command->argv[0], &actions, &attributes, (char *const *)command->argv,
		command->environment ? (char *const *)command->environment : environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return rc;
}

static void
query_start(struct command *command)
{
	int ends[2];
	command->pid = -1;
	command->fd = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	if (spawn(command, ends[1]) == 0)
		command->fd = ends[0];
	else
		close(ends[0]);
	close(ends[1]);
}

static void
query_take(struct command *command)
{
	char chunk[4096];
	ssize_t n = read(command->fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && command->output.len < COMMAND_MAX_OUTPUT) {
		buf_add(&command->output, chunk, (size_t)n);
		return;
	}
	close(command->fd);
	command->fd = -1;
}

/* Takes what is there. Returns how many are still open. */
static size_t
drain(struct command *commands, size_t count, struct pollfd *polls, int timeout_ms)
{
	size_t open = 0;
	for (size_t i = 0; i < count; i++) {
		polls[i] = (struct pollfd){.fd = commands[i].fd, .events = POLLIN};
		open += commands[i].fd >= 0;
	}
	if (open == 0 || poll(polls, (nfds_t)count, timeout_ms) <= 0)
		return open;
	for (size_t i = 0; i < count; i++)
		if (commands[i].fd >= 0 && polls[i].revents)
			query_take(&commands[i]);
	return open;
}

/* Reaps a child; does not wait for a process that hangs in a driver and cannot be killed. */
static bool
reap(pid_t pid, bool late, int *ret_status)
{
	uint64_t limit = time_monotonic_ns() + COMMAND_REAP_MS * UINT64_C(1000000);
	for (;;) {
		pid_t ended = waitpid(pid, ret_status, late ? WNOHANG : 0);
		if (ended == pid)
			return true;
		if (ended < 0 && errno != EINTR)
			return false;
		if (late && time_monotonic_ns() > limit)
			return false;
		if (late)
			(void)poll(NULL, 0, 1);
	}
}

static void
query_end(struct command *command, bool late)
{
	int status = -1;
	if (command->fd >= 0)
		close(command->fd);
	command->fd = -1;
	if (command->pid <= 0)
		return;
	if (late)
		(void)kill(command->pid, SIGKILL);
	if (!reap(command->pid, late, &status))
		return;
	command->passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
must_stop(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

void
tool_query_run(struct command *commands, size_t count, const atomic_bool *stop)
{
	AUTO_FREE struct pollfd *polls = xcalloc(count, sizeof(*polls));
	for (size_t i = 0; i < count && !must_stop(stop); i++)
		query_start(&commands[i]);
	uint64_t limit = time_monotonic_ns() + COMMAND_TIMEOUT_MS * UINT64_C(1000000), now;
	while ((now = time_monotonic_ns()) < limit && !must_stop(stop)) {
		int left = (int)((limit - now) / 1000000) + 1;
		if (drain(commands, count, polls, stop && left > COMMAND_LOOK_MS ? COMMAND_LOOK_MS : left) == 0)
			break;
	}
	bool late = time_monotonic_ns() >= limit || must_stop(stop);
	for (size_t i = 0; i < count; i++)
		query_end(&commands[i], late);
}

const char *
tool_query_line(struct command *command)
{
	if (command->output.len == 0)
		return "";
	command->output.data[strcspn(command->output.data, "\n")] = '\0';
	return command->output.data;
}
