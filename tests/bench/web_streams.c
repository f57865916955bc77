/* SPDX-License-Identifier: MIT */
/*
 * web_streams PORT COUNT PATH: follows COUNT event streams of 127.0.0.1. Prints {"open"} when all of them are open, and
 * {"id", "first_ms", "last_ms"}, by the wall clock since 1970, when an event has come on all of them. Ends when its standard
 * input does.
 */
/*
 * Theory of operation. One thread. Streams are opened one after the other, as a listening socket holds few that wait. Of
 * what comes only the lines `id: NUMBER` matter; a line is gathered for each stream, as it may come in pieces. The sizes of
 * chunks are lines, too.
 */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define LINE 24
#define EVENTS_MAX 256 /* that are not on all streams yet */
#define READY_MAX 512
#define BLOCK 65536

struct stream {
	int fd;
	size_t len;
	char line[LINE]; /* the begin of the one that comes */
};

struct event {
	long long id;
	size_t count;
	double first_ms;
};

struct reader {
	struct stream *streams;
	size_t count;
	int epoll_fd;
	struct event events[EVENTS_MAX];
};

static _Noreturn void
fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "web_streams: %s: %s\n", what, why);
	exit(1);
}

static double
wall_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
note(struct reader *reader, long long id)
{
	struct event *event = &reader->events[id % EVENTS_MAX];
	double now_ms = wall_ms();
	if (event->id != id)
		*event = (struct event){.id = id, .first_ms = now_ms};
	if (++event->count < reader->count)
		return;
	(void)printf("{\"id\": %lld, \"first_ms\": %.3f, \"last_ms\": %.3f}\n", id, event->first_ms, now_ms);
	(void)fflush(stdout);
}

static void
take(struct reader *reader, struct stream *stream, const char *data, size_t size)
{
	static const char id[] = "id: ";
	for (size_t i = 0; i < size; i++)
		if (data[i] != '\n') {
			if (stream->len < LINE - 1)
				stream->line[stream->len++] = data[i];
		} else {
			stream->line[stream->len] = '\0';
			stream->len = 0;
			if (strncmp(stream->line, id, strlen(id)) == 0)
				note(reader, strtoll(stream->line + strlen(id), NULL, 10));
		}
}

static void
read_stream(struct reader *reader, struct stream *stream)
{
	static char block[BLOCK];
	ssize_t got = recv(stream->fd, block, sizeof(block), MSG_DONTWAIT);
	if (got > 0)
		take(reader, stream, block, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		fail("a stream has ended", got < 0 ? strerror(errno) : "by the server");
}

/* Sends the request and reads until the head is there. What follows is taken as lines. */
static void
open_stream(struct reader *reader, struct stream *stream, unsigned port, const char *path)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
	char head[4096];
	const char *end = NULL;
	size_t len = 0;
	stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (stream->fd < 0 || connect(stream->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		fail("connect", strerror(errno));
	AUTO_FREE char *request = xasprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
	if (send(stream->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		fail("send", strerror(errno));
	while (!end) {
		ssize_t got = recv(stream->fd, head + len, sizeof(head) - 1 - len, 0);
		if (got <= 0)
			fail("a stream does not begin", got < 0 ? strerror(errno) : "it has ended");
		len += (size_t)got;
		head[len] = '\0';
		end = strstr(head, "\r\n\r\n");
	}
	if (strncmp(head, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 ")) != 0)
		fail("a stream is refused", head);
	take(reader, stream, end, len - (size_t)(end - head));
	if (epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0)
		fail("epoll_ctl", strerror(errno));
}

static void
run(struct reader *reader)
{
	static struct epoll_event ready[READY_MAX];
	for (;;) {
		int count = epoll_wait(reader->epoll_fd, ready, READY_MAX, -1);
		for (int i = 0; i < count; i++)
			if (ready[i].data.ptr)
				read_stream(reader, ready[i].data.ptr);
			else
				return; /* standard input: it says nothing, it only ends */
	}
}

int
main(int argc, char **argv)
{
	struct reader reader = {
		.count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	struct epoll_event input = {.events = EPOLLIN};
	struct rlimit files;
	if (reader.count == 0) {
		(void)fprintf(stderr, "usage: web_streams PORT COUNT PATH\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	reader.streams = xcalloc(reader.count, sizeof(*reader.streams));
	for (size_t i = 0; i < reader.count; i++)
		open_stream(&reader, &reader.streams[i], (unsigned)strtoul(argv[1], NULL, 10), argv[3]);
	if (epoll_ctl(reader.epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input) != 0)
		fail("epoll_ctl", strerror(errno));
	(void)printf("{\"open\": %zu}\n", reader.count);
	(void)fflush(stdout);
	run(&reader);
	for (size_t i = 0; i < reader.count; i++)
		(void)close(reader.streams[i].fd);
	free(reader.streams);
	(void)close(reader.epoll_fd);
	return 0;
}
