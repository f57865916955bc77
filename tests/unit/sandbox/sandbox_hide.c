/* SPDX-License-Identifier: MIT */
/* Memory that belongs to no process's own. */
#define _GNU_SOURCE
#include "unit/sandbox/sandbox_hide.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (1u << 20)
#define HIDE_MOST 256 /* MiB */

/* Writes to a file, and keeps it open. -1: it takes no more. */
static int
hide_in_file(int fd)
{
	static char chunk[CHUNK];
	memset(chunk, 1, sizeof(chunk));
	for (int i = 0; i < HIDE_MOST; i++)
		if (fd < 0 || write(fd, chunk, sizeof(chunk)) != (ssize_t)sizeof(chunk))
			return -1;
	return 0;
}

/* Writes to memory, and takes it out of this process's own again. */
static int
hide_in_memory(int flags, int fd)
{
	for (int i = 0; i < HIDE_MOST; i++) {
		char *memory = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
		if (memory == MAP_FAILED)
			return -1;
		memset(memory, 1, CHUNK);
		madvise(memory, CHUNK, MADV_DONTNEED);
	}
	return 0;
}

static int
hide_in_segments(void)
{
	for (int i = 0; i < HIDE_MOST; i++) {
		int id = shmget(IPC_PRIVATE, CHUNK, IPC_CREAT | 0600);
		char *memory = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
		if (memory == (char *)-1)
			return -1;
		memset(memory, 1, CHUNK);
		shmdt(memory);
	}
	return 0;
}

/* In messages that nobody receives. */
static int
hide_in_sockets(void)
{
	static char chunk[65536];
	int pair[2];
	for (int i = 0; i < 480; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
			return -1;
		for (int end = 0; end < 2; end++)
			while (write(pair[end], chunk, sizeof(chunk)) > 0)
				;
	}
	return 0;
}

static _Noreturn void
hide_in_many_sockets(void)
{
	for (int child = 0; child < 8; child++)
		if (fork() == 0) {
			for (int i = 0; i < 1000; i++)
				(void)socket(AF_INET, SOCK_STREAM, 0);
			for (;;)
				pause();
		}
	for (;;)
		pause();
}

long
hide_in_connection(void)
{
	static char chunk[65536];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int most = 1 << 30, from = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(from, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	setsockopt(to, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	if (bind(to, (struct sockaddr *)&address, size) || listen(to, 1) ||
		getsockname(to, (struct sockaddr *)&address, &size) || connect(from, (struct sockaddr *)&address, size))
		return -1;
	struct pollfd ready = {.fd = from, .events = POLLOUT};
	long bytes = 0, count;
	while (poll(&ready, 1, 1000) == 1 && (count = send(from, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		bytes += count;
	return bytes;
}

/* Reading what was never written costs page tables alone. */
static int
hide_in_tables(void)
{
	const size_t step = 2u << 20, count = HIDE_MOST << 8;
	volatile char *memory = mmap(NULL, step * count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	madvise((void *)memory, step * count, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		(void)memory[i * step];
	return 0;
}

int
hide_memory(const char *kind)
{
	int rc = -1;
	if (kind[0] == '/' && strcmp(kind, "/dev/zero") != 0)
		rc = hide_in_file(open(kind, O_RDWR | O_CREAT, 0600));
	else if (!strcmp(kind, "memfd"))
		rc = hide_in_file(memfd_create("x", 0));
	else if (!strcmp(kind, "anonymous"))
		rc = hide_in_memory(MAP_ANONYMOUS, -1);
	else if (!strcmp(kind, "/dev/zero"))
		rc = hide_in_memory(0, open(kind, O_RDWR));
	else if (!strcmp(kind, "segments"))
		rc = hide_in_segments();
	else if (!strcmp(kind, "sockets"))
		rc = hide_in_sockets();
	else if (!strcmp(kind, "many"))
		hide_in_many_sockets();
	else if (!strcmp(kind, "tables"))
		rc = hide_in_tables();
	return rc;
}
