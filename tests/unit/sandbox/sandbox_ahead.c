/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "unit/sandbox/sandbox_ahead.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/prepared_wire.h"

static void *
idle(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

static int
receive(int *fds, size_t max)
{
	char byte;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE((SANDBOX_PREPARED_FD + 1) * sizeof(int))];
	} control;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	if (recvmsg(SANDBOX_PREPARED_FD, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	size_t count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(&control.header), (count < max ? count : max) * sizeof(int));
	return (int)count;
}

/* Takes the places of the run, and its texts: *ret_argv and the environment. */
static int
take_run(const int *fds, int count, char **ret_first)
{
	bool used[SANDBOX_PREPARED_FD] = {false};
	size_t size = (size_t)lseek(fds[0], 0, SEEK_END);
	const struct sandbox_prepared_run *run = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fds[0], 0);
	if (run == MAP_FAILED || (int)run->fds + 1 != count || run->argc < 1)
		return -1;
	for (uint32_t i = 0; i < run->fds; i++) {
		if (dup2(fds[1 + i], run->targets[i]) < 0)
			return -1;
		used[run->targets[i]] = true;
	}
	for (int fd = 0; fd < SANDBOX_PREPARED_FD; fd++)
		if (!used[fd])
			close(fd);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	*ret_first = strdup((const char *)(run + 1));
	return chdir(run->directory);
}

static void
say_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	while ((entry = readdir(tasks))) {
		char path[300], line[200];
		(void)snprintf(path, sizeof(path), "/proc/self/task/%.200s/status", entry->d_name);
		FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		printf("thread");
		while (fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			for (char *at = line; *at; at++)
				*at = *at == '\t' ? ' ' : *at;
			if (!strncmp(line, "Uid", 3) || !strncmp(line, "CapEff", 6) || !strncmp(line, "NoNew", 5) ||
				!strncmp(line, "Seccomp:", 8))
				printf(" %s", line);
		}
		printf("\n");
		(void)fclose(file);
	}
	closedir(tasks);
}

static void
try_open(const char *path, int flags)
{
	int fd = open(path, flags, 0644);
	printf("%s=%s\n", path, fd < 0 ? strerrorname_np(errno) : "ok");
	if (fd >= 0)
		close(fd);
}

int
ahead_run(char **args)
{
	pthread_t thread;
	int fds[SANDBOX_PREPARED_FD + 1];
	char ready = SANDBOX_PREPARED_READY, begins = SANDBOX_PREPARED_BEGINS, *first = NULL;
	if (!strcmp(args[0], "ends"))
		return 3;
	if (!strcmp(args[0], "hangs"))
		(void)idle(NULL);
	const char *number = getenv(SANDBOX_PREPARED_VARIABLE);
	if (!number || atoi(number) != SANDBOX_PREPARED_FD || pthread_create(&thread, NULL, idle, NULL))
		return 4;
	if (send(SANDBOX_PREPARED_FD, &ready, 1, 0) != 1)
		return 5;
	int count = receive(fds, SANDBOX_PREPARED_FD + 1);
	if (count < 1 || !strcmp(args[0], "leaves") || take_run(fds, count, &first))
		return 6;
	(void)send(SANDBOX_PREPARED_FD, &begins, 1, 0);
	close(SANDBOX_PREPARED_FD);
	printf("first=%s\n", first);
	say_threads();
	try_open("here", O_RDONLY);
	try_open("out/made", O_CREAT | O_WRONLY);
	try_open("made", O_CREAT | O_WRONLY);
	try_open("/made", O_CREAT | O_WRONLY);
	try_open("/tmp/made", O_CREAT | O_WRONLY);
	try_open("/.old", O_RDONLY);
	try_open("/.out", O_RDONLY);
	for (int fd = 0; fd < 40; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd=%d\n", fd);
	return 0;
}
