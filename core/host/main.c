/* SPDX-License-Identifier: MIT */
/* kettle-host: runs a program that is a shared object, in a process that may have opened the GPU before. */
/*
 *     kettle-host [--channel NAME] [--secret NAME]... OBJECT [ARGUMENT]...
 *
 * Theory of operation. The process forks (supervisor.h): the child runs the program, the parent ends as it does, and keeps
 * what the program must not have. A sandbox that is prepared for a run to come executes kettle-host without an object
 * (sandbox/prepared_wire.h): the child opens the GPU and says so, and the parent, which gets the run, sends it on without
 * what it keeps. In both cases the child then loads the object as the linker's loader would load a program, and calls its
 * `main`, the object's entry: so `main` need not be exported. No code of the object runs before the run is there.
 */
#define _GNU_SOURCE
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/open_gpu.h"
#include "host/supervisor.h"
#include "sandbox/prepared_wire.h"

#define EXIT_USAGE 2
#define EXIT_UNLOADED 127 /* as the loader's own, for a program whose libraries are missing */
#define FDS_MAX (SANDBOX_PREPARED_FD + 1)

typedef int (*entry)(int argc, char **argv, char **envp);

static int
run_object(char **argv)
{
	void *object = dlopen(argv[0], RTLD_NOW | RTLD_GLOBAL);
	const struct link_map *map = NULL;
	int argc = 0;
	if (!object || dlinfo(object, RTLD_DI_LINKMAP, &map)) {
		(void)fprintf(stderr, "%s: error while loading shared libraries: %s\n", argv[0], dlerror());
		return EXIT_UNLOADED;
	}
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
	if (header->e_entry == 0) {
		(void)fprintf(stderr, "kettle-host: %s has no entry, which must be its `main`.\n", argv[0]);
		return EXIT_UNLOADED;
	}
	while (argv[argc])
		argc++;
	return ((entry)(map->l_addr + header->e_entry))(argc, argv, environ);
}

/* ---- messages of prepared_wire.h ---- */

union descriptors {
	struct cmsghdr header;
	char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

/* Receives the descriptors of a run. Returns how many; -1: there is no run. */
static int
receive(int socket, int fds[FDS_MAX])
{
	char byte;
	union descriptors control;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	if (got != 1 || msg.msg_flags & MSG_CTRUNC || !CMSG_FIRSTHDR(&msg) || control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	size_t count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(&control.header), count * sizeof(int));
	return (int)count;
}

/* Sends them on, and closes them. Returns whether they were sent. */
static bool
pass_on(int socket, const int *fds, int count)
{
	char byte = 0;
	size_t size = (size_t)count * sizeof(int);
	union descriptors control = {.header = {CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
	memcpy(CMSG_DATA(&control.header), fds, size);
	bool sent = sendmsg(socket, &msg, MSG_NOSIGNAL) == 1;
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return sent;
}

static bool
send_byte(int socket, char byte)
{
	return send(socket, &byte, 1, MSG_NOSIGNAL) == 1;
}

static bool
hears_byte(int socket, char byte)
{
	char got;
	return recv(socket, &got, 1, 0) == 1 && got == byte;
}

/* A run as its file describes it. */
struct run {
	struct sandbox_prepared_run described;
	char **argv, **envp;
};

/* Returns a list of `count` texts, which NULL ends; *at: behind them. NULL: there are fewer. */
static char **
list_texts(uint32_t count, char **at, const char *end)
{
	char **list = count < (size_t)(end - *at) ? calloc((size_t)count + 1, sizeof(*list)) : NULL;
	for (uint32_t i = 0; list && i < count; i++) {
		size_t len = strnlen(*at, (size_t)(end - *at));
		if (*at + len >= end)
			return NULL;
		list[i] = *at;
		*at += len + 1;
	}
	return list;
}

/*
 * Reads a file or a pipe to its end. A copy, not a mapping: what a program overwrites of its environment must be gone.
 * NULL: it cannot.
 */
static char *
read_whole(int file, size_t *ret_size)
{
	size_t room = 1 << 16, size = 0;
	char *text = malloc(room);
	ssize_t got = 0;
	(void)lseek(file, 0, SEEK_SET); /* a pipe has no place */
	while (text && (got = read(file, text + size, room - size)) > 0) {
		size += (size_t)got;
		if (size == room)
			text = realloc(text, room *= 2);
	}
	*ret_size = size;
	return got == 0 ? text : NULL;
}

/* Reads and closes what describes a run; count: of the descriptors that came. Returns whether it does. */
static bool
read_run(int file, int count, struct run *ret_run)
{
	size_t size;
	char *text = count > 0 ? read_whole(file, &size) : NULL;
	if (!text || size <= sizeof(ret_run->described))
		return false;
	close(file);
	memcpy(&ret_run->described, text, sizeof(ret_run->described));
	char *at = text + sizeof(ret_run->described), *end = text + size;
	ret_run->argv = list_texts(ret_run->described.argc, &at, end);
	ret_run->envp = list_texts(ret_run->described.envc, &at, end);
	return ret_run->argv && ret_run->envp && ret_run->described.fds < FDS_MAX &&
		   (int)ret_run->described.fds + 1 == count;
}

static bool
write_whole(int file, const void *data, size_t size)
{
	ssize_t written = 0;
	for (size_t at = 0; at < size && written >= 0; at += (size_t)written)
		written = write(file, (const char *)data + at, size - at);
	return written >= 0;
}

static uint32_t
count_texts(char **list)
{
	uint32_t count = 0;
	while (list[count])
		count++;
	return count;
}

static bool
write_texts(int file, char **list)
{
	for (; *list; list++)
		if (!write_whole(file, *list, strlen(*list) + 1))
			return false;
	return true;
}

/*
 * Describes a run to the reader of a pipe, and closes it. No file: an ordinary user's sandbox has no memfd_create, and a
 * file in /tmp would be the run's.
 */
static bool
write_run(int pipe, struct run *run)
{
	run->described.argc = count_texts(run->argv);
	run->described.envc = count_texts(run->envp);
	bool done = write_whole(pipe, &run->described, sizeof(run->described)) && write_texts(pipe, run->argv) &&
				write_texts(pipe, run->envp);
	close(pipe);
	return done;
}

/* ---- prepared for a run to come ---- */

static int
limit_cpu(rlim_t seconds)
{
	return seconds ? setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds}) : 0;
}

/* In the child: opens the GPU, waits and becomes the run. Returns its arguments. */
static char **
await_run(void)
{
	char why[256];
	int fds[FDS_MAX];
	struct run run;
	if (open_gpu(why, sizeof(why)))
		_exit(EXIT_FAILURE);
	(void)fflush(NULL);
	int count = send_byte(SANDBOX_PREPARED_FD, SANDBOX_PREPARED_READY) ? receive(SANDBOX_PREPARED_FD, fds) : -1;
	if (count < 1 || !read_run(fds[0], count, &run) ||
		sandbox_prepared_take_places(run.described.targets, run.described.fds, fds + 1) ||
		chdir(run.described.directory) || limit_cpu(run.described.cpu_seconds))
		_exit(EXIT_FAILURE);
	char **argv = supervisor_block(run.argv, run.envp, 0, &environ);
	if (!argv || !send_byte(SANDBOX_PREPARED_FD, SANDBOX_PREPARED_BEGINS))
		_exit(EXIT_FAILURE);
	close(SANDBOX_PREPARED_FD);
	return argv;
}

/*
 * Takes what is kept out of a run, and puts a socket in the place of its channel. Returns the other end; -1: it has none;
 * -2: it cannot.
 */
static int
keep(struct run *run, int *fds, struct kept *ret_kept)
{
	char why[256];
	int number, ends[2];
	run->argv = run->argv[0] ? supervisor_take(run->argv + 1, run->envp, ret_kept, &number, why, sizeof(why)) : NULL;
	run->argv = run->argv ? supervisor_block(run->argv, run->envp, ret_kept->token, &run->envp) : NULL;
	if (!run->argv)
		return -2;
	for (uint32_t i = 0; i < run->described.fds; i++)
		if (run->described.targets[i] == number) {
			if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
				return -2;
			ret_kept->channel = fds[i + 1];
			fds[i + 1] = ends[1];
			return ends[0];
		}
	return number < 0 ? -1 : -2;
}

/* Waits for the run, while the child lives. Returns the number of its descriptors; -1: there is none. */
static int
await_message(int child_socket, int fds[FDS_MAX])
{
	struct pollfd both[] = {{.fd = SANDBOX_PREPARED_FD, .events = POLLIN}, {.fd = child_socket, .events = POLLIN}};
	while (poll(both, 2, -1) < 0 && errno == EINTR)
		;
	return both[1].revents ? -1 : receive(SANDBOX_PREPARED_FD, fds);
}

/* In the supervisor: passes the run on to the child. */
static void __attribute__((noreturn)) supervise_prepared(pid_t child, int child_socket)
{
	int fds[FDS_MAX], description[2];
	struct run run;
	static struct kept kept;
	struct rlimit cpu;
	if (!hears_byte(child_socket, SANDBOX_PREPARED_READY) || !send_byte(SANDBOX_PREPARED_FD, SANDBOX_PREPARED_READY))
		_exit(EXIT_FAILURE);
	int count = await_message(child_socket, fds);
	int socket = count > 0 && read_run(fds[0], count, &run) ? keep(&run, fds, &kept) : -2;
	/* The sandbox has limited the run, which is this process for it. */
	if (socket != -2 && getrlimit(RLIMIT_CPU, &cpu) == 0 && cpu.rlim_cur != RLIM_INFINITY)
		run.described.cpu_seconds = cpu.rlim_cur;
	if (socket == -2 || pipe2(description, O_CLOEXEC))
		_exit(EXIT_FAILURE);
	fds[0] = description[0];
	if (!pass_on(child_socket, fds, count) || !write_run(description[1], &run) ||
		!hears_byte(child_socket, SANDBOX_PREPARED_BEGINS) || !send_byte(SANDBOX_PREPARED_FD, SANDBOX_PREPARED_BEGINS))
		_exit(EXIT_FAILURE);
	close(SANDBOX_PREPARED_FD);
	supervisor_run(&kept, child, socket);
}

/* Returns in the child, with the arguments of its run. */
static char **
start_prepared(void)
{
	int ends[2];
	pid_t child = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -1 : supervisor_fork();
	if (child < 0)
		_exit(EXIT_FAILURE);
	if (child > 0) {
		close(ends[1]);
		supervise_prepared(child, ends[0]);
	}
	if (dup2(ends[1], SANDBOX_PREPARED_FD) < 0)
		_exit(EXIT_FAILURE);
	close(ends[0]);
	close(ends[1]);
	return await_run();
}

/* ---- started for its run ---- */

static void __attribute__((noreturn)) fail(const char *what)
{
	(void)fprintf(stderr, "kettle-host: %s: %s\n", what, strerror(errno));
	_exit(EXIT_FAILURE);
}

/* Returns in the child, with the arguments of its run. */
static char **
start(char **argv)
{
	static struct kept kept;
	char why[256];
	int number, ends[2] = {-1, -1};
	argv = supervisor_take(argv, environ, &kept, &number, why, sizeof(why));
	if (!argv) {
		(void)fprintf(stderr, "kettle-host: %s\n", why);
		_exit(EXIT_USAGE);
	}
	if (number >= 0 && fcntl(number, F_GETFD) < 0)
		fail("the descriptor of the result channel");
	argv = supervisor_block(argv, environ, kept.token, &environ);
	if (!argv || (number >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)))
		fail("cannot start the program");
	pid_t child = supervisor_fork();
	if (child < 0)
		fail("cannot start a process");
	if (child > 0) {
		close(ends[1]);
		kept.channel = number;
		supervisor_run(&kept, child, ends[0]);
	}
	explicit_bzero(&kept, sizeof(kept));
	if (number >= 0 && dup2(ends[1], number) != number)
		_exit(EXIT_FAILURE);
	close(ends[0]);
	close(ends[1]);
	return argv;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("kettle-host %s\n", PACKAGE_VERSION) < 0;
	return run_object(getenv(SANDBOX_PREPARED_VARIABLE) ? start_prepared() : start(argv + 1));
}
