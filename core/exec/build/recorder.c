/* SPDX-License-Identifier: MIT */
/* Follows the processes of a build and records their reads. */
/*
 * Theory of operation. Each process of the build that looks up a path waits until the recorder's thread has recorded
 * the state of the path (core/sandbox/record.h). The record is older than the lookup, so a file that changes in between
 * makes the record differ later, and never hides the change. Paths are those of the payload: it sees the machine's
 * folders at their own places, and other places contain only what it or its job made.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/build/build.h"
#include "sandbox/record.h"

#define RECORDER_LINE 256 /* bytes of the first line of a script */

struct recorder {
	pthread_t thread;
	int socket, stop; /* stop: an eventfd */
	struct strings seen;
	char *private_dir;
	bool all;
	struct reads reads;
	enum recorder_end end;
};

/* The system's paths that every payload sees. Of /etc only those that a sandbox does not provide itself. */
static const char *const system_paths[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/OpenCL", "/etc/localtime"};
static const char *const own_paths[] = {"/tmp", "/dev", "/proc", "/run", "/sys"};

/* The path without empty parts, "." and "..", as text: links are not followed. New string. */
static char *
tidy(const char *path)
{
	char *out = xmalloc(strlen(path) + 2);
	size_t len = 0;
	while (*path) {
		size_t part = strcspn(path, "/");
		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (len > 0 && out[--len] != '/')
				;
		} else if (part > 0 && !(part == 1 && path[0] == '.')) {
			out[len++] = '/';
			memcpy(out + len, path, part);
			len += part;
		}
		path += part + (path[part] == '/');
	}
	out[len] = '\0';
	return out;
}

static bool
is_below_any(const char *path, const char *const *folders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (path_below(path, folders[i]))
			return true;
	return false;
}

/* Whether the path belongs to the machine, and not to the job. */
static bool
counts(const struct recorder *recorder, const char *path)
{
	AUTO_FREE char *plain = tidy(path);
	if (path_below(plain, recorder->private_dir))
		return false;
	if (is_below_any(plain, recorder->seen.list, recorder->seen.count) ||
		is_below_any(plain, system_paths, ARRAY_SIZE(system_paths)))
		return true;
	return recorder->all && plain[0] && !is_below_any(plain, own_paths, ARRAY_SIZE(own_paths));
}

static void
note(struct recorder *recorder, enum reads_how how, const char *path)
{
	if (counts(recorder, path))
		reads_add(&recorder->reads, how, path);
}

/* Records the interpreter in the first line of a script, which the kernel itself opens. */
static void
note_interpreter(struct recorder *recorder, const char *path)
{
	struct stat st;
	char line[RECORDER_LINE] = "";
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !counts(recorder, path))
		return;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) < 2 || line[0] != '#' || line[1] != '!')
		return;
	char *name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\r\n")] = '\0';
	if (name[0] == '/')
		note(recorder, READS_AT, name);
}

static void
on_look(void *arg, enum sandbox_look how, const char *path)
{
	struct recorder *recorder = arg;
	switch (how) {
	case SANDBOX_LOOK_AT:
		note(recorder, READS_AT, path);
		break;
	case SANDBOX_LOOK_LINK:
		note(recorder, READS_LINK, path);
		break;
	case SANDBOX_LOOK_OPEN:
		note(recorder, READS_ENTRIES, path);
		break;
	case SANDBOX_LOOK_RUN:
		note(recorder, READS_AT, path);
		note_interpreter(recorder, path);
		break;
	}
}

/* Waits until the descriptor is readable. False: the recording must end, or the other side has gone. */
static bool
await(const struct recorder *recorder, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = recorder->stop, .events = POLLIN}};
	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return false;
	return fds[0].revents & POLLIN;
}

static enum recorder_end
record(struct recorder *recorder)
{
	if (!await(recorder, recorder->socket))
		return RECORDER_UNSURE;
	AUTO_FD int listener = sandbox_record_accept(recorder->socket);
	if (listener < 0)
		return errno == EPERM ? RECORDER_UNABLE : RECORDER_UNSURE;
	enum recorder_end end = RECORDER_WHOLE;
	/*
	 * The first lookup is the payload's own start, from memory that it shares with init and that only root can read.
	 * The tool that it starts is in the key anyway.
	 */
	for (bool first = true; await(recorder, listener); first = false)
		if (sandbox_record_serve(listener, on_look, recorder) != 0 && !first)
			end = RECORDER_UNABLE;
	return end;
}

static void *
recorder_main(void *arg)
{
	struct recorder *recorder = arg;
	recorder->end = record(recorder);
	return NULL;
}

static void
recorder_free(struct recorder *recorder)
{
	if (recorder->socket >= 0)
		close(recorder->socket);
	if (recorder->stop >= 0)
		close(recorder->stop);
	strings_free(&recorder->seen);
	free(recorder->private_dir);
	reads_free(&recorder->reads);
	free(recorder);
}

static int
start_thread(struct recorder *recorder)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&recorder->thread, NULL, recorder_main, recorder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

struct recorder *
recorder_new(const struct strings *seen, const char *private_dir, bool all, int *ret_socket)
{
	struct recorder *recorder = xcalloc(1, sizeof(*recorder));
	int pair[2] = {-1, -1};
	recorder->stop = eventfd(0, EFD_CLOEXEC);
	bool works = recorder->stop >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
	recorder->socket = pair[0];
	strings_add_all(&recorder->seen, seen);
	recorder->private_dir = realpath(private_dir, NULL);
	if (!recorder->private_dir)
		recorder->private_dir = xstrdup(private_dir);
	recorder->all = all;
	if (works && start_thread(recorder) == 0) {
		*ret_socket = pair[1];
		return recorder;
	}
	if (pair[1] >= 0)
		close(pair[1]);
	recorder_free(recorder);
	return NULL;
}

enum recorder_end
recorder_end(struct recorder *recorder, struct reads *ret_reads)
{
	const uint64_t one = 1;
	/* Cannot fail, since the eventfd's count is 0. */
	if (write(recorder->stop, &one, sizeof(one)) != sizeof(one))
		abort();
	pthread_join(recorder->thread, NULL);
	enum recorder_end end = recorder->end;
	if (end == RECORDER_WHOLE && recorder->reads.unsure)
		end = RECORDER_UNSURE;
	*ret_reads = recorder->reads;
	recorder->reads = (struct reads){0};
	recorder_free(recorder);
	return end;
}
