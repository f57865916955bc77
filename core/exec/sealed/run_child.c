/* SPDX-License-Identifier: MIT */
/* A child with the same program, driven by its standard input and output. */
/*
 * Theory of operation. One thread polls the child's three pipes, and a signalfd that reports its end and the signals
 * that should end this process. No read or write waits for a single pipe, so neither a child that reads nothing nor one
 * that prints without end can hang this process. The kernel kills everything of the child with it: its sandboxes die
 * with its main thread, and it gets SIGTERM when the main thread of this process dies. Each way to its end has a time
 * limit; after the last one the child is left alone.
 */
#include <config.h>

#include "exec/sealed/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/io.h"
#include "base/text.h"

#define CHUNK (64u << 10)
#define MS UINT64_C(1000000)
#define NEVER UINT64_MAX
#define MAX_LAST_STDERR (64u << 10) /* bytes of a line of standard error; a longer line closes the pipe */
#define DRAIN_MAX 64                /* chunks that are read from each pipe after the child's end */

enum { SIGNALS, OUT, ERR, IN, FDS };

struct child {
	pid_t pid;
	int fds[FDS]; /* -1: closed */
	const char *input;
	size_t left;
	struct line_reader lines, complaints;
	line_fn on_line;
	void *arg;
	bool last, gone;   /* it has printed its last line; it has ended */
	uint64_t limit_ns; /* when patience ends */
	struct run_child_end end;
};

/* ---- start ---- */

/* In the child, between fork and exec. */
static _Noreturn void
become(char *const *argv, const int pipes[3][2], pid_t parent, const sigset_t *blocked)
{
	/*
	 * A limit of 1, as in a sandbox: with 0 the kernel would still pass the child's memory to the machine's core dump
	 * program.
	 */
	const struct rlimit core = {1, 1};
	(void)setrlimit(RLIMIT_CORE, &core);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	if (getppid() == parent && dup2(pipes[0][0], 0) == 0 && dup2(pipes[1][1], 1) == 1 && dup2(pipes[2][1], 2) == 2 &&
		sigprocmask(SIG_UNBLOCK, blocked, NULL) == 0)
		(void)execv("/proc/self/exe", argv);
	static const char last_stderr[] = "kettle-exec cannot start itself by /proc/self/exe\n";
	(void)write_all(2, last_stderr, sizeof(last_stderr) - 1);
	_exit(127);
}

static void
close_pipes(int pipes[3][2])
{
	for (int i = 0; i < 3; i++)
		for (int end = 0; end < 2; end++)
			if (pipes[i][end] >= 0)
				close(STEAL_FD(pipes[i][end]));
}

static int
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static int
start(struct child *child, char *const *argv, struct kettle_error *err)
{
	sigset_t signals;
	int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	pid_t self = getpid();
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGCHLD);
	int rc = sigprocmask(SIG_BLOCK, &signals, NULL);
	child->fds[SIGNALS] = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = pipe2(pipes[i], O_CLOEXEC);
	if (rc == 0 && child->fds[SIGNALS] >= 0)
		child->pid = fork();
	if (child->pid == 0)
		become(argv, pipes, self, &signals);
	int error = errno;
	if (child->pid > 0) {
		child->fds[IN] = STEAL_FD(pipes[0][1]);
		child->fds[OUT] = STEAL_FD(pipes[1][0]);
		child->fds[ERR] = STEAL_FD(pipes[2][0]);
		for (int i = OUT; i < FDS; i++)
			(void)set_nonblocking(child->fds[i]);
	}
	close_pipes(pipes);
	if (child->pid > 0)
		return 0;
	return kettle_fail(err, KETTLE_EIO, "kettle-exec cannot be started: %s.", strerror(error));
}

/* ---- while the child runs ---- */

static void
close_fd(struct child *child, int which)
{
	if (child->fds[which] >= 0)
		close(STEAL_FD(child->fds[which]));
}

/* Sets a limit, unless a sooner one is set. */
static void
limit(struct child *child, uint64_t ms)
{
	uint64_t at = time_monotonic_ns() + ms * MS;
	if (at < child->limit_ns)
		child->limit_ns = at;
}

static void
kill_child(struct child *child)
{
	if (child->gone)
		return;
	child->end.killed = true;
	(void)kill(child->pid, SIGKILL);
	child->limit_ns = NEVER;
	limit(child, RUN_CHILD_REAP_MS);
}

static void
feed(struct child *child)
{
	ssize_t n = child->left ? write(child->fds[IN], child->input, child->left) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	child->input += n > 0 ? n : 0;
	child->left -= n > 0 ? (size_t)n : 0;
	/* A child that stops reading has a reason, which it reports. */
	if (n < 0 || !child->left)
		close_fd(child, IN);
}

/* Keeps the last line that is not empty. */
static int
take_complaint(void *arg, char *line, size_t len)
{
	struct child *child = arg;
	AUTO_BUF struct buf clean = {0};
	if (len == 0)
		return 0;
	(void)utf8_sanitize(line, len, &clean);
	utf8_copy(child->end.last_stderr, sizeof(child->end.last_stderr), clean.data);
	return 0;
}

static void
take_line(struct child *child, int rc)
{
	if (rc == RUN_CHILD_LAST && !child->last) {
		child->last = true;
		limit(child, RUN_CHILD_EXIT_MS);
	} else if (rc != 0 && rc != RUN_CHILD_LAST && !child->end.invalid_lines) {
		child->end.invalid_lines = true;
		kill_child(child);
	}
}

/* Reads once. False: nothing more is available. Ignores everything after the last line. */
static bool
take_bytes(struct child *child, int which)
{
	char chunk[CHUNK];
	if (child->fds[which] < 0)
		return false;
	ssize_t n = read(child->fds[which], chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0)
		close_fd(child, which);
	else if (which == ERR && line_add(&child->complaints, chunk, (size_t)n, take_complaint, child) != 0)
		close_fd(child, ERR);
	else if (which == OUT && !child->last && !child->end.invalid_lines)
		take_line(child, line_add(&child->lines, chunk, (size_t)n, child->on_line, child->arg));
	return n > 0;
}

static void
take_signals(struct child *child)
{
	struct signalfd_siginfo info;
	while (read(child->fds[SIGNALS], &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if ((int)info.ssi_signo == SIGCHLD) {
			child->gone = child->gone || waitpid(child->pid, &child->end.status, WNOHANG) == child->pid;
		} else if (child->end.told) {
			kill_child(child);
		} else {
			child->end.told = (int)info.ssi_signo;
			(void)kill(child->pid, SIGTERM);
			limit(child, RUN_CHILD_CANCEL_MS);
		}
	}
}

/* Milliseconds for poll, rounded up; -1: no limit. */
static int
patience(const struct child *child)
{
	uint64_t now = time_monotonic_ns();
	if (child->limit_ns == NEVER)
		return -1;
	return child->limit_ns <= now ? 0 : (int)((child->limit_ns - now) / MS) + 1;
}

/* Waits until the child is gone. False: it did not end. */
static bool
watch(struct child *child)
{
	while (!child->gone) {
		struct pollfd polls[FDS];
		for (int i = 0; i < FDS; i++)
			polls[i] = (struct pollfd){.fd = child->fds[i], .events = i == IN ? POLLOUT : POLLIN};
		if (poll(polls, FDS, patience(child)) < 0 && errno != EINTR)
			return false;
		if (polls[IN].revents)
			feed(child);
		if (polls[OUT].revents)
			(void)take_bytes(child, OUT);
		if (polls[ERR].revents)
			(void)take_bytes(child, ERR);
		take_signals(child);
		if (patience(child) != 0)
			continue;
		if (child->end.killed)
			return false;
		kill_child(child);
	}
	return true;
}

int
run_child(char *const *argv, const char *input, size_t size, size_t max_line, line_fn on_line, void *arg,
	struct run_child_end *ret_end, struct kettle_error *err)
{
	struct child child = {.pid = -1,
		.fds = {-1, -1, -1, -1},
		.input = input,
		.left = size,
		.lines.max = max_line,
		.complaints.max = MAX_LAST_STDERR,
		.on_line = on_line,
		.arg = arg,
		.limit_ns = NEVER,
		.end.status = -1};
	int rc = start(&child, argv, err);
	bool gone = rc == 0 && watch(&child);
	/* The pipes hold all remaining output, unless another process still has them and fills them. */
	for (int which = OUT; gone && which <= ERR; which++)
		for (int i = 0; i < DRAIN_MAX && take_bytes(&child, which); i++)
			continue;
	if (gone && !child.last && !child.end.invalid_lines)
		take_line(&child, line_end(&child.lines, on_line, arg));
	(void)line_end(&child.complaints, take_complaint, &child);
	for (int i = 0; i < FDS; i++)
		close_fd(&child, i);
	line_free(&child.lines);
	line_free(&child.complaints);
	if (rc == 0)
		*ret_end = child.end;
	return rc;
}
