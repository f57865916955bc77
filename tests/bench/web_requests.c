/* SPDX-License-Identifier: MIT */
/*
 * web_requests PORT CONNECTIONS SECONDS RATE REQUEST-FILE: sends a request to 127.0.0.1 again and again, and prints a JSON
 * object: answers a second in each tenth of the time, milliseconds of at most 1,000 answers at even distances in ascending
 * order, how many answers had which status, and how many bytes of bodies came.
 */
/*
 * Theory of operation. One thread; each connection has one request under way. RATE 0: the next one is sent when its answer
 * has come. Otherwise so many are sent in a second by all connections together, each at its time or, if the answer before
 * comes late, right after it; an answer's time counts from when its request was due. `########` in the request becomes the
 * base64 of a number of six digits that no other request has, so that it can stand in a file.
 */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/times.h"
#include "base/xalloc.h"

#define BUFFER 65536
#define SLICES 10
#define SHOWN 1000
#define NUMBER "########"
#define STATUSES 600
#define NS_PER_S UINT64_C(1000000000)

struct connection {
	int fd;
	bool waits;      /* for an answer */
	uint64_t due_ns; /* of the request that is under way, or else of the next one */
	size_t len;      /* of what has come of a head */
	uint64_t left;   /* bytes of the body */
	bool in_body;
	char data[BUFFER];
};

struct load {
	struct connection *connections;
	size_t count, answers, answers_max;
	char *request, *number; /* number: where it is in the request, or NULL */
	size_t request_size;
	uint64_t began_ns, end_ns, interval_ns, numbers, bytes;
	uint64_t slices[SLICES], statuses[STATUSES];
	double *ms;
};

static _Noreturn void
fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "web_requests: %s: %s\n", what, why);
	exit(1);
}

static void
send_one(struct load *load, struct connection *connection)
{
	char text[16];
	if (load->number) {
		(void)snprintf(text, sizeof(text), "%06u", (unsigned)(load->numbers++ % 1000000));
		AUTO_FREE char *base64 = base64_encode(text, strlen(text));
		(void)memcpy(load->number, base64, strlen(NUMBER));
	}
	/* A request is small: the socket has room for it. */
	if (send(connection->fd, load->request, load->request_size, MSG_NOSIGNAL) != (ssize_t)load->request_size)
		fail("send", strerror(errno));
	connection->waits = true;
	connection->len = 0;
	connection->in_body = false;
}

static void
answered(struct load *load, struct connection *connection, uint64_t now_ns)
{
	uint64_t slice = (now_ns - load->began_ns) * SLICES / (load->end_ns - load->began_ns);
	if (slice < SLICES)
		load->slices[slice]++;
	if (load->answers == load->answers_max) {
		load->answers_max = load->answers_max ? 2 * load->answers_max : 4096;
		load->ms = xreallocarray(load->ms, load->answers_max, sizeof(*load->ms));
	}
	load->ms[load->answers++] = (double)(now_ns - connection->due_ns) / 1e6;
	connection->waits = false;
	connection->due_ns = load->interval_ns ? connection->due_ns + load->interval_ns : now_ns;
}

/* Reads a head that is complete; the size of its body. 304 and 204 have none, whatever their Content-Length says. */
static uint64_t
read_head(struct load *load, char *head)
{
	static const char name[] = "\r\nContent-Length:";
	unsigned status = (unsigned)strtoul(head + strlen("HTTP/1.1 "), NULL, 10);
	const char *length = strcasestr(head, name);
	if (strncmp(head, "HTTP/1.1 ", strlen("HTTP/1.1 ")) != 0 || status >= STATUSES)
		fail("an answer is not HTTP/1.1", head);
	load->statuses[status]++;
	if (status == 304 || status == 204)
		return 0;
	if (!length)
		fail("an answer has no Content-Length", head);
	return strtoull(length + strlen(name), NULL, 10);
}

static void
receive(struct load *load, struct connection *connection)
{
	static const char end[] = "\r\n\r\n";
	size_t used = connection->in_body ? 0 : connection->len;
	ssize_t got = recv(connection->fd, connection->data + used, BUFFER - 1 - used, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || !connection->waits)
		fail("a connection has ended", got < 0 ? strerror(errno) : "by the server");
	uint64_t body = (uint64_t)got;
	if (!connection->in_body) {
		connection->len += (size_t)got;
		connection->data[connection->len] = '\0';
		char *found = memmem(connection->data, connection->len, end, strlen(end));
		if (!found)
			return;
		body = connection->len - (size_t)(found + strlen(end) - connection->data);
		*found = '\0';
		connection->left = read_head(load, connection->data);
		connection->in_body = true;
	}
	if (body > connection->left)
		fail("an answer", "it is longer than its Content-Length");
	load->bytes += body;
	connection->left -= body;
	if (connection->left == 0)
		answered(load, connection, time_monotonic_ns());
}

static void
run(struct load *load)
{
	AUTO_FREE struct pollfd *fds = xcalloc(load->count, sizeof(*fds));
	for (size_t i = 0; i < load->count; i++)
		fds[i] = (struct pollfd){.fd = load->connections[i].fd, .events = POLLIN};
	for (uint64_t now_ns; (now_ns = time_monotonic_ns()) < load->end_ns;) {
		uint64_t next_ns = load->end_ns;
		for (size_t i = 0; i < load->count; i++) {
			struct connection *connection = &load->connections[i];
			if (!connection->waits && connection->due_ns <= now_ns)
				send_one(load, connection);
			if (!connection->waits && connection->due_ns < next_ns)
				next_ns = connection->due_ns;
		}
		uint64_t left_ns = next_ns - now_ns;
		const struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
		if (ppoll(fds, load->count, &left, NULL) < 0 && errno != EINTR)
			fail("ppoll", strerror(errno));
		for (size_t i = 0; i < load->count; i++)
			if (fds[i].revents)
				receive(load, &load->connections[i]);
	}
}

static void
connect_all(struct load *load, unsigned port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1;
	load->connections = xcalloc(load->count, sizeof(*load->connections));
	for (size_t i = 0; i < load->count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
			fail("connect", strerror(errno));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		load->connections[i].fd = fd;
	}
}

static void
read_request(struct load *load, const char *path)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	struct buf text = {0};
	char block[4096];
	size_t got;
	while (file && (got = fread(block, 1, sizeof(block), file)) > 0)
		buf_add(&text, block, got);
	if (text.len == 0)
		fail(path, "it has no request");
	load->request_size = text.len;
	load->request = buf_take(&text);
	load->number = memmem(load->request, load->request_size, NUMBER, strlen(NUMBER));
}

static int
compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;
	return (one > other) - (one < other);
}

static void
print(struct load *load)
{
	AUTO_JSON json_t *rates = json_array(), *ms = json_array(), *statuses = json_object();
	char status[8];
	qsort(load->ms, load->answers, sizeof(*load->ms), compare);
	for (size_t i = 0; i < SLICES; i++)
		(void)json_array_append_new(
			rates, json_real((double)load->slices[i] * SLICES * 1e9 / (double)(load->end_ns - load->began_ns)));
	size_t shown = load->answers < SHOWN ? load->answers : SHOWN;
	for (size_t i = 0; i < shown; i++)
		(void)json_array_append_new(ms, json_real(load->ms[shown > 1 ? i * (load->answers - 1) / (shown - 1) : 0]));
	for (unsigned i = 0; i < STATUSES; i++) {
		(void)snprintf(status, sizeof(status), "%u", i);
		if (load->statuses[i])
			(void)json_object_set_new(statuses, status, json_integer((json_int_t)load->statuses[i]));
	}
	AUTO_JSON json_t *answer = json_pack(
		"{s:O, s:O, s:O, s:I}", "rates", rates, "ms", ms, "statuses", statuses, "bytes", (json_int_t)load->bytes);
	(void)json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(7));
	(void)putchar('\n');
}

int
main(int argc, char **argv)
{
	struct load load = {.count = argc == 6 ? strtoul(argv[2], NULL, 10) : 0};
	double seconds = argc == 6 ? strtod(argv[3], NULL) : 0, rate = argc == 6 ? strtod(argv[4], NULL) : 0;
	if (load.count == 0 || seconds <= 0 || rate < 0) {
		(void)fprintf(stderr, "usage: web_requests PORT CONNECTIONS SECONDS RATE REQUEST-FILE\n");
		return 2;
	}
	read_request(&load, argv[5]);
	connect_all(&load, (unsigned)strtoul(argv[1], NULL, 10));
	load.interval_ns = rate > 0 ? (uint64_t)((double)load.count * 1e9 / rate) : 0;
	load.began_ns = time_monotonic_ns();
	load.end_ns = load.began_ns + (uint64_t)(seconds * 1e9);
	for (size_t i = 0; i < load.count; i++)
		load.connections[i].due_ns = load.began_ns + load.interval_ns * i / load.count;
	run(&load);
	print(&load);
	for (size_t i = 0; i < load.count; i++)
		(void)close(load.connections[i].fd);
	free(load.connections);
	free(load.request);
	free(load.ms);
	return 0;
}
