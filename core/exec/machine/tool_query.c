/* SPDX-License-Identifier: MIT */
/* Queries the machine's tools: starts several at once and reads their output. */
/*
 * Theory of operation. posix_spawn starts every command with /dev/null as its input, a pipe as its stdout or stderr, and
 * /dev/null as the other one, or a second pipe. One poll loop drains the pipes until all outputs are closed or the time is
 * over. Each child is reaped by its pid, one that has not ended by then after it is killed.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/utf8.h"

#define COMMAND_CHUNK 4096
#define MOST_CHUNKS 16 /* of an explanation at the end: what a pipe holds */

extern char **environ;

static int
spawn(struct command *command, int output, int explanation)
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
	if (explanation >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, explanation, 2);
	else
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
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
query_start(struct command *command)
{
	int output[2] = {-1, -1}, explanation[2] = {-1, -1};
	command->pid = -1;
	if (pipe2(output, O_CLOEXEC) != 0 || (command->explained && pipe2(explanation, O_CLOEXEC) != 0))
		command->code = errno;
	else
		command->code = spawn(command, output[1], explanation[1]);
	if (command->code != 0) {
		command->pid = -1;
		close_fd(&output[0]);
		close_fd(&explanation[0]);
	}
	close_fd(&output[1]);
	close_fd(&explanation[1]);
	command->fds[0] = output[0];
	command->fds[1] = explanation[0];
}

/* Takes what a pipe has: all of the output up to a limit, the end of the explanation. */
static void
query_take(struct command *command, bool output)
{
	char chunk[COMMAND_CHUNK];
	struct buf *kept = output ? &command->output : &command->said;
	int *fd = &command->fds[output ? 0 : 1];
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0 || (output && kept->len >= COMMAND_MAX_OUTPUT)) {
		close_fd(fd);
		return;
	}
	buf_add(kept, chunk, (size_t)n);
	if (!output && kept->len > COMMAND_CHUNK) {
		memmove(kept->data, kept->data + kept->len - COMMAND_CHUNK, COMMAND_CHUNK + 1);
		kept->len = COMMAND_CHUNK;
	}
}

/*
 * Takes what is there. Returns how many outputs are still open: an explanation is not waited for, since what a command has
 * left running may hold its stderr.
 */
static size_t
drain(struct command *commands, size_t count, struct pollfd *polls, int timeout_ms)
{
	size_t open = 0;
	for (size_t i = 0; i < 2 * count; i++) {
		polls[i] = (struct pollfd){.fd = commands[i / 2].fds[i % 2], .events = POLLIN};
		open += i % 2 == 0 && polls[i].fd >= 0;
	}
	if (open == 0 || poll(polls, (nfds_t)(2 * count), timeout_ms) <= 0)
		return open;
	for (size_t i = 0; i < 2 * count; i++)
		if (polls[i].fd >= 0 && polls[i].revents)
			query_take(&commands[i / 2], i % 2 == 0);
	return open;
}

/* Reaps a child that ends until then (CLOCK_MONOTONIC); a process that hangs in a driver may not even be killed. */
static bool
reap(pid_t pid, uint64_t until_ns, int *ret_status)
{
	AUTO_FD int end = (int)syscall(SYS_pidfd_open, pid, 0);
	for (;;) {
		pid_t ended = waitpid(pid, ret_status, WNOHANG);
		if (ended == pid)
			return true;
		uint64_t now = time_monotonic_ns();
		if ((ended < 0 && errno != EINTR) || now > until_ns)
			return false;
		/* Where there is no pidfd, it is looked at each millisecond. */
		(void)poll(
			&(struct pollfd){.fd = end, .events = POLLIN}, 1, end >= 0 ? (int)((until_ns - now) / 1000000) + 1 : 1);
	}
}

/* Keeps the last line of the explanation that has more than blanks. */
static void
keep_last_line(struct command *command)
{
	struct buf *said = &command->said;
	for (int i = 0; i < MOST_CHUNKS && poll(&(struct pollfd){.fd = command->fds[1], .events = POLLIN}, 1, 0) > 0; i++)
		query_take(command, false);
	close_fd(&command->fds[1]);
	while (said->len > 0 && isspace((unsigned char)said->data[said->len - 1]))
		said->len--;
	size_t begin = said->len;
	while (begin > 0 && said->data[begin - 1] != '\n')
		begin--;
	AUTO_BUF struct buf text = {0};
	if (said->len > begin)
		(void)utf8_sanitize(said->data + begin, said->len - begin, &text);
	AUTO_FREE char *line = text.data ? sanitize_line(text.data, COMMAND_LAST_LINE) : NULL;
	utf8_copy(command->last_line, sizeof(command->last_line), line ? line : "");
	buf_free(said);
}

static void
query_end(struct command *command, uint64_t until_ns)
{
	int status = -1;
	close_fd(&command->fds[0]);
	bool ended = command->pid > 0 && reap(command->pid, until_ns, &status), killed = command->pid > 0 && !ended;
	if (killed) {
		(void)kill(command->pid, SIGKILL);
		ended = reap(command->pid, time_monotonic_ns() + COMMAND_REAP_MS * UINT64_C(1000000), &status);
	}
	keep_last_line(command);
	if (command->pid <= 0)
		return;
	if (!ended || (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
		command->end = COMMAND_KILLED;
		return;
	}
	command->end = WIFEXITED(status) ? COMMAND_EXITED : COMMAND_SIGNALED;
	command->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	command->passed = command->end == COMMAND_EXITED && command->code == 0;
}

static bool
must_stop(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

void
tool_query_run(struct command *commands, size_t count, const atomic_bool *stop)
{
	AUTO_FREE struct pollfd *polls = xcalloc(2 * count, sizeof(*polls));
	for (size_t i = 0; i < count; i++) {
		commands[i].fds[0] = commands[i].fds[1] = -1;
		if (!must_stop(stop))
			query_start(&commands[i]);
	}
	uint64_t limit = time_monotonic_ns() + COMMAND_TIMEOUT_MS * UINT64_C(1000000), now;
	while ((now = time_monotonic_ns()) < limit && !must_stop(stop)) {
		int left = (int)((limit - now) / 1000000) + 1;
		if (drain(commands, count, polls, stop && left > COMMAND_LOOK_MS ? COMMAND_LOOK_MS : left) == 0)
			break;
	}
	for (size_t i = 0; i < count; i++)
		query_end(&commands[i], must_stop(stop) ? 0 : limit);
}

const char *
tool_query_line(struct command *command)
{
	if (command->output.len == 0)
		return "";
	command->output.data[strcspn(command->output.data, "\n")] = '\0';
	return command->output.data;
}
