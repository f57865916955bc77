/* SPDX-License-Identifier: MIT */
/* Streams: pieces to many clients, silence, clients that leave or do not read, ends. */
#include <config.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/http_server/server_fixture.h"

#define ASK "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"
#define TYPE "text/event-stream"
#define READERS 8
#define PIECES 2000

static void
send_text(struct http_stream *stream, const char *text, bool taken)
{
	struct http_chunk *chunk = http_chunk_new(text, strlen(text));
	assert_int_equal(http_stream_send(stream, chunk), taken);
	http_chunk_unref(chunk);
}

/* Opens the stream number `index`, and its client. */
static struct http_stream *
open_stream(struct fixture *f, unsigned index, int *ret_fd)
{
	*ret_fd = client_open(f);
	client_send(*ret_fd, ASK);
	return http_stream_open(await_held(f, index), TYPE, NULL, on_closed, f);
}

static void
sends_pieces(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, rest = {0}, body = {0};
	static const struct http_header headers[] = {{"X-Accel-Buffering", "no"}, {NULL, NULL}};
	server_start(f);
	int fd = client_open(f);
	client_send(fd, ASK ASK);
	struct http_stream *stream = http_stream_open(await_held(f, 0), TYPE, headers, on_closed, f);
	client_until(fd, &input, "\r\n\r\n");
	assert_non_null(strstr(input.data, "X-Accel-Buffering: no\r\n"));
	assert_non_null(strstr(input.data, "Content-Type: text/event-stream\r\n"));
	send_text(stream, "data: 1\n\n", true);
	client_until(fd, &input, "data: 1\n\n");
	send_text(stream, "", true);
	send_text(stream, "data: 2\n\n", true);
	http_stream_end(stream);
	/* The next request of the connection is served after it. */
	answer_held(await_held(f, 1), "next");
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_string_equal(body.data, "data: 1\n\ndata: 2\n\n");
	buf_free(&body);
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_string_equal(body.data, "next");
	(void)close(fd);
	await(f, &f->answered, 2);
	assert_int_equal(f->closed, 0); /* the frontend ended it */
	/* By HTTP/1.0 it ends with the connection. */
	fd = client_open(f);
	client_send(fd, "GET /stream HTTP/1.0\r\n\r\n");
	stream = http_stream_open(await_held(f, 2), TYPE, NULL, NULL, NULL);
	send_text(stream, "data: 3\n\n", true);
	client_until(fd, &rest, "data: 3\n\n");
	http_stream_end(stream);
	assert_true(client_ended(fd));
	await(f, &f->answered, 3);
	assert_int_equal(f->last_bytes, 9);
	/* HEAD has no stream; its end is told. */
	fd = client_open(f);
	client_send(fd, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	stream = http_stream_open(await_held(f, 3), TYPE, NULL, on_closed, f);
	await(f, &f->closed, 1);
	send_text(stream, "x", false);
	http_stream_end(stream);
	(void)close(fd);
}

static void
tells_ends(void **state)
{
	struct fixture *f = *state;
	int fd;
	/* Connections that have ended make room, also behind an older one: the third stream has that of the first. */
	f->rules.connections = 3;
	server_start(f);
	int older = client_open(f);
	/* An idle client leaves. */
	struct http_stream *stream = open_stream(f, 0, &fd);
	send_text(stream, "data: 1\n\n", true);
	(void)close(fd);
	await(f, &f->closed, 1);
	send_text(stream, "data: 2\n\n", false);
	http_stream_end(stream);
	/* One does not read: what the kernel takes does not count. */
	AUTO_FREE char *large = xmalloc(65537);
	(void)memset(large, 'x', 65536);
	large[65536] = '\0';
	struct http_chunk *chunk = http_chunk_new(large, 65536);
	stream = open_stream(f, 1, &fd);
	while (http_stream_send(stream, chunk))
		;
	await(f, &f->closed, 2);
	http_stream_end(stream);
	(void)close(fd);
	/* One does not read its first piece. */
	stream = open_stream(f, 2, &fd);
	http_chunk_unref(chunk);
	AUTO_FREE char *huge = xmalloc(HTTP_STREAM_BEHIND + 1);
	(void)memset(huge, 'x', HTTP_STREAM_BEHIND + 1);
	chunk = http_chunk_new(huge, HTTP_STREAM_BEHIND + 1);
	assert_false(http_stream_send(stream, chunk));
	http_chunk_unref(chunk);
	await(f, &f->closed, 3);
	http_stream_end(stream);
	(void)close(fd);
	(void)close(older);
}

/* What a stream ends with may be larger than what a reader may be behind. */
static void
ends_with_much(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf rest = {0}, all = {0};
	const size_t size = 16 * HTTP_STREAM_BEHIND;
	int fd;
	server_start(f);
	struct http_stream *stream = open_stream(f, 0, &fd);
	send_text(stream, "data: 1\n\n", true);
	AUTO_FREE char *large = xmalloc(size);
	(void)memset(large, 'x', size);
	struct http_chunk *chunk = http_chunk_new(large, size);
	assert_true(http_stream_send_last(stream, chunk));
	http_chunk_unref(chunk);
	send_text(stream, "data: 2\n\n", false);
	http_stream_end(stream);
	assert_int_equal(client_answer(fd, &rest, NULL, &all), 200);
	assert_int_equal(all.len, strlen("data: 1\n\n") + size);
	(void)close(fd);
}

/* After 15 s without a piece a comment line comes, by which proxies and clients see that the server is there. */
static void
breaks_silence(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, echo = {0};
	server_start(f);
	int fd = client_open(f), other = client_open(f);
	client_send(fd, ASK);
	struct http_request *request = NULL;
	while (!request) {
		(void)pthread_mutex_lock(&f->lock);
		request = f->held[0];
		(void)pthread_mutex_unlock(&f->lock);
	}
	struct http_stream *stream = http_stream_open(request, TYPE, NULL, NULL, NULL);
	send_text(stream, "data: 1\n\n", true);
	client_until(fd, &input, "data: 1\n\n");
	for (int i = 0; i < 2; i++) {
		buf_free(&input);
		kettle_fake_advance(f->fake, HTTP_STREAM_SILENT_MS - 1000);
		(void)client_ask(f, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"); /* has the server look at its time */
		assert_int_equal(recv(fd, (char[1]){0}, 1, MSG_DONTWAIT), -1);
		kettle_fake_advance(f->fake, 2000);
		(void)client_ask(f, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
		client_until(fd, &input, ":\n\n");
	}
	http_stream_end(stream);
	(void)close(fd);
	(void)close(other);
}

/* At the end of a server the clients are told when to come back, not all at once. */
static void
ends_with_the_server(void **state)
{
	struct fixture *f = *state;
	struct http_stream *streams[4];
	int fds[4];
	server_start(f);
	for (unsigned i = 0; i < 3; i++)
		streams[i] = open_stream(f, i, &fds[i]);
	send_text(streams[0], "data: 1\n\n", true);
	/* One that is no stream of events, and one that is opened only then. */
	fds[3] = client_open(f);
	client_send(fds[3], ASK);
	struct http_request *request = await_held(f, 3);
	server_stop(f);
	unsigned retries[3] = {0};
	for (unsigned i = 0; i < 4; i++) {
		if (i == 3)
			streams[3] = http_stream_open(request, "text/plain", NULL, on_closed, f);
		AUTO_BUF struct buf input = {0}, body = {0};
		assert_int_equal(client_answer(fds[i], &input, NULL, &body), 200);
		if (i == 3)
			assert_int_equal(body.len, 0);
		else
			assert_int_equal(sscanf(body.data, i == 0 ? "data: 1 retry: %u" : "retry: %u", &retries[i]), 1);
		assert_true(client_ended(fds[i]));
	}
	server_await_stop(f);
	assert_true(retries[0] != retries[1] && retries[1] != retries[2]);
	assert_int_equal(f->closed, 4);
	for (unsigned i = 0; i < 4; i++) {
		send_text(streams[i], "data: 2\n\n", false);
		http_stream_end(streams[i]);
	}
}

struct sender {
	struct http_stream **streams;
	pthread_t thread;
};

static void *
send_all(void *arg)
{
	struct sender *sender = arg;
	for (unsigned i = 0; i < PIECES; i++) {
		struct http_chunk *chunk = http_chunk_new("data: x\n\n", 9);
		for (unsigned k = 0; k < READERS; k++)
			(void)http_stream_send(sender->streams[k], chunk);
		http_chunk_unref(chunk);
	}
	return NULL;
}

/* Threads send to the same streams while their clients read, leave, and the streams are ended. */
static void
sends_from_threads(void **state)
{
	struct fixture *f = *state;
	struct http_stream *streams[READERS];
	struct sender senders[3];
	int fds[READERS];
	server_start(f);
	for (unsigned i = 0; i < READERS; i++)
		streams[i] = open_stream(f, i, &fds[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(senders); i++) {
		senders[i].streams = streams;
		assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
	}
	(void)close(fds[0]);
	AUTO_BUF struct buf input = {0}, body = {0};
	client_until(fds[1], &input, "data: x\n\n");
	for (unsigned i = 0; i < ARRAY_SIZE(senders); i++)
		(void)pthread_join(senders[i].thread, NULL);
	for (unsigned i = 0; i < READERS; i++)
		http_stream_end(streams[i]);
	for (unsigned i = 2; i < READERS; i++) {
		/* Each has all pieces: together they are less than a reader may be behind. */
		AUTO_BUF struct buf rest = {0}, all = {0};
		assert_int_equal(client_answer(fds[i], &rest, NULL, &all), 200);
		assert_int_equal(all.len, ARRAY_SIZE(senders) * PIECES * 9);
	}
	for (unsigned i = 1; i < READERS; i++)
		(void)close(fds[i]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(sends_pieces, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(tells_ends, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(ends_with_much, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(breaks_silence, server_setup_simulated, server_teardown),
	cmocka_unit_test_setup_teardown(ends_with_the_server, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(sends_from_threads, server_setup, server_teardown),
};

UNIT_TESTS(test_stream, .words = "tsan");
