/* SPDX-License-Identifier: MIT */
/* kettle-host: runs a program that is a shared object, in a process that may have opened the GPU before. */
/*
 *     kettle-host OBJECT [ARGUMENT]...
 *
 * Theory of operation. A sandbox that is prepared for a run to come executes kettle-host without an object
 * (sandbox/prepared_wire.h): it opens the GPU, and waits for its run. In both cases it then loads the object as the
 * linker's loader would load a program, and calls its `main`, the object's entry: so `main` need not be exported. No code
 * of the object runs before the run is there.
 */
#include <config.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/open_gpu.h"
#include "sandbox/prepared_wire.h"

#define EXIT_USAGE 2
#define EXIT_UNLOADED 127 /* as the loader's own, for a program whose libraries are missing */
#define FDS_MAX (SANDBOX_PREPARED_FD + 1)

typedef int (*entry)(int argc, char **argv, char **envp);

static int
run(char **argv)
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

/* ---- prepared for a run to come ---- */

/* Receives the descriptors of the run. Returns how many; -1: there is no run. */
static int
receive(int fds[FDS_MAX])
{
	char byte;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(SANDBOX_PREPARED_FD, &msg, MSG_CMSG_CLOEXEC);
	if (got != 1 || msg.msg_flags & MSG_CTRUNC || !CMSG_FIRSTHDR(&msg) || control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	size_t count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(&control.header), count * sizeof(int));
	return (int)count;
}

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

/* Becomes the run that the descriptors describe. Returns its arguments; NULL: it cannot. */
static char **
take_run(const int *fds, int count)
{
	struct stat facts;
	if (fstat(fds[0], &facts) || facts.st_size <= (off_t)sizeof(struct sandbox_prepared_run))
		return NULL;
	/* A copy, not a mapping: what a program overwrites of its environment, such as a secret, must be gone. */
	char *file = malloc((size_t)facts.st_size);
	if (!file || pread(fds[0], file, (size_t)facts.st_size, 0) != facts.st_size)
		return NULL;
	const struct sandbox_prepared_run *described = (const void *)file;
	char *at = file + sizeof(*described), *end = file + facts.st_size;
	if (described->fds >= FDS_MAX || (int)described->fds + 1 != count ||
		sandbox_prepared_take_places(described->targets, described->fds, fds + 1))
		return NULL;
	close(fds[0]);
	char **argv = list_texts(described->argc, &at, end), **envp = list_texts(described->envc, &at, end);
	if (!argv || !envp || chdir(described->directory))
		return NULL;
	environ = envp;
	return argv;
}

/* Opens the GPU and waits. Returns the arguments of the run; else ends: the sandbox reports that. */
static char **
await_run(void)
{
	const char ready = SANDBOX_PREPARED_READY, begins = SANDBOX_PREPARED_BEGINS;
	char why[256];
	int fds[FDS_MAX];
	if (open_gpu(why, sizeof(why)))
		_exit(EXIT_FAILURE);
	(void)fflush(NULL);
	int count = send(SANDBOX_PREPARED_FD, &ready, 1, MSG_NOSIGNAL) == 1 ? receive(fds) : -1;
	char **argv = count > 0 ? take_run(fds, count) : NULL;
	if (!argv || send(SANDBOX_PREPARED_FD, &begins, 1, MSG_NOSIGNAL) != 1)
		_exit(EXIT_FAILURE);
	close(SANDBOX_PREPARED_FD);
	return argv;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("kettle-host %s\n", PACKAGE_VERSION) < 0;
	if (getenv(SANDBOX_PREPARED_VARIABLE))
		argv = await_run();
	if (!argv[0] || !argv[1]) {
		(void)fprintf(stderr, "Usage: kettle-host OBJECT [ARGUMENT]...\n");
		return EXIT_USAGE;
	}
	return run(argv + 1);
}
