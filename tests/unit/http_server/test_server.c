/* SPDX-License-Identifier: MIT */
/* Requests and their answers, well-formed and hostile, over real sockets. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/http_server/server_fixture.h"

#define HOST "Host: x\r\n"

/* Asks on an open connection, and compares status and body; body NULL: any. */
static void
ask(int fd, const char *text, int status, const char *body)
{
	AUTO_BUF struct buf input = {0}, got = {0};
	client_send(fd, text);
	int found = client_answer(fd, &input, NULL, &got);
	if (found != status)
		fail_msg("%s: %d", text, found);
	if (body)
		assert_string_equal(got.data ? got.data : "", body);
}

static void
answers(void **state)
{
	struct fixture *f = *state;
	server_start(f);
	int fd = client_open(f);
	ask(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n", 200, "0 /echo? [echo] x 127.0.0.1 plain 0:");
	ask(fd, "PUT //echo/a%2Fb//%c3%A9/?q=%zz&r HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", 200,
		"3 //echo/a%2Fb//%c3%A9/?q=%zz&r [echo] [a/b] [\xc3\xa9] x 127.0.0.1 plain 2:hi");
	ask(fd, "BREW /echo?? HTTP/1.1\r\n" HOST "\r\n", 200, "7 /echo?? [echo] x 127.0.0.1 plain 0:");
	ask(fd, "GET /file HTTP/1.1\r\n" HOST "\r\n", 200, "a file");
	ask(fd, "GET /none HTTP/1.1\r\n" HOST "\r\n", 204, "");
	ask(fd, "GET /same HTTP/1.1\r\n" HOST "\r\n", 304, "");
	ask(fd, "GET /forbidden HTTP/1.1\r\n" HOST "\r\n", 403, "no");
	ask(fd, "OPTIONS /echo HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
	ask(fd, "GET /echo HTTP/1.1\r\nHost: [::1]:80\r\nAccept: a\r\nAccept: b\r\n\r\n", 200,
		"0 /echo? [echo] [::1]:80 127.0.0.1 plain 0:");
	ask(fd, "GET /echo HTTP/1.1\r\nHost:\r\n\r\n", 200, "0 /echo? [echo]  127.0.0.1 plain 0:");
	(void)close(fd);
	/* HTTP/1.0, as a proxy speaks it: the connection ends with the answer. */
	AUTO_BUF struct buf input = {0};
	fd = client_open(f);
	client_send(fd, "GET /echo HTTP/1.0\r\n\r\n");
	client_until(fd, &input, "0 /echo? [echo] - 127.0.0.1 plain 0:");
	assert_true(client_ended(fd));
}

static void
answers_on_the_loop(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, rest = {0}, body = {0};
	server_start(f);
	int fd = client_open(f);
	client_send(fd, "HEAD /loop?a HTTP/1.1\r\n" HOST "\r\nGET /loop?b HTTP/1.1\r\n" HOST "\r\n");
	await(f, &f->answered, 2);
	client_until(fd, &input, "\r\n\r\n");
	/* The head names the length of a body that is not sent. */
	AUTO_FREE char *length = xasprintf("Content-Length: %zu\r\n", strlen("1 /loop?a [loop] x 127.0.0.1 plain 0:"));
	assert_non_null(strstr(input.data, length));
	const char *second = strstr(input.data, "\r\n\r\n") + 4;
	buf_adds(&rest, second);
	assert_int_equal(client_answer(fd, &rest, NULL, &body), 200);
	assert_string_equal(body.data, "0 /loop?b [loop] x 127.0.0.1 plain 0:");
	(void)close(fd);
}

/* Several requests at once: the answers come in their order, also if the first takes longest. */
static void
pipelines(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, bodies = {0};
	server_start(f);
	int fd = client_open(f);
	client_send(fd, "GET /held HTTP/1.1\r\n" HOST "\r\nPOST /echo?1 HTTP/1.1\r\n" HOST
					"Content-Length: 3\r\n\r\nabcGET /echo?2 HTTP/1.1\r\n" HOST "\r\n");
	struct http_request *request = await_held(f, 0);
	await(f, &f->requests, 1);
	assert_string_equal(http_header_value(request, "host"), "x");
	answer_held(request, "first ");
	for (int i = 0; i < 3; i++)
		assert_int_equal(client_answer(fd, &input, NULL, &bodies), 200);
	assert_string_equal(
		bodies.data, "first 2 /echo?1 [echo] x 127.0.0.1 plain 3:abc0 /echo?2 [echo] x 127.0.0.1 plain 0:");
	(void)close(fd);
}

static void
takes_bodies(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, body = {0};
	server_start(f);
	int fd = client_open(f);
	/* The client waits for the interim answer. */
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	client_until(fd, &input, "HTTP/1.1 100 Continue\r\n\r\n");
	buf_free(&input);
	for (const char *at = "hello"; *at; at++)
		(void)client_send_bytes(fd, at, 1);
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_non_null(strstr(body.data, " 5:hello"));
	/* As long as is accepted, with a NUL in it. */
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n");
	(void)client_fill(fd, 999);
	(void)client_send_bytes(fd, "", 1);
	buf_free(&body);
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_non_null(strstr(body.data, " 1000:xxx"));
	/* A large one. */
	client_send(fd, "POST /large HTTP/1.1\r\n" HOST "Content-Length: 1048576\r\n\r\n");
	(void)client_fill(fd, LARGE);
	buf_free(&body);
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_true(body.len > LARGE);
	(void)close(fd);
	assert_int_equal(client_ask(f, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n"), 413);
	assert_int_equal(
		client_ask(f, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n"), 413);
	assert_int_equal(client_ask(f, "POST /forbidden HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n"), 403);
	assert_int_equal(f->requests, 3);
}

#define LENGTH "Content-Length: 2\r\n"
static const struct {
	int status;
	const char *head;
} refused_heads[] = {
	/* Ambiguous framing. */
	{400, "POST /echo HTTP/1.1\r\n" HOST LENGTH "Content-Length: 3\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST LENGTH LENGTH "\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST LENGTH "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n" LENGTH "\r\n{}"},
	{411, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
	{411, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: x\r\n\r\n"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2x\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2, 2\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: -2\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: +2\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n{}"},
	{413, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 9223372036854775808\r\n\r\n"},
	{413, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n"},
	/* Two of what has one value, and no host. */
	{400, "GET /echo HTTP/1.1\r\n" HOST HOST "\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "Authorization: a\r\nauthorization: a\r\n\r\n"},
	{400, "POST /echo HTTP/1.1\r\n" HOST LENGTH "Content-Type: a\r\nContent-Type: b\r\n\r\n{}"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "X-Popcorn-Cli-Id: a\r\nX-Popcorn-Cli-Id: b\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: a@b\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: <b>\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n"},
	/* Lines. */
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Length : 2\r\n\r\n{}"},
	{400, "POST /echo HTTP/1.1\r\n" HOST "Content-Len: 2\r\n gth\r\n\r\n{}"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n Host: x\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\n" HOST "\r\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: x\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "\n"},
	{400, "GET /echo HTTP/1.1\r\nHost: x\rX: y\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "X: \x1b[m\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST ": y\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n" HOST "X\r\n\r\n"},
	{400, "GET /echo HTTP/1.1\r\n\r\n"},
	{400, "G(T /echo HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET  /echo HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo HTTP/1.1 \r\n" HOST "\r\n"},
	{400, "GET /echo HTTP/x.1\r\n" HOST "\r\n"},
	{400, "GET /echo\r\n" HOST "\r\n"},
	{505, "GET /echo HTTP/2.0\r\n" HOST "\r\n"},
	{505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{0, "GET /echo /x HTTP/1.1\r\n" HOST "\r\n"},
	{0, "nonsense\r\n\r\n"},
	/* Paths. */
	{400, "GET echo HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET http://x/echo HTTP/1.1\r\n" HOST "\r\n"},
	{400, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
	{400, "CONNECT x:80 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/../x HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/%2e%2E/x HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/./x HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/%00 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/%0a HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/%ff HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/\xff HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/% HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/%4 HTTP/1.1\r\n" HOST "\r\n"},
	{400, "GET /echo/\t HTTP/1.1\r\n" HOST "\r\n"},
};

/*
 * What is malformed or ambiguous, each followed by a request that must not be read: the connection is closed. 0: the
 * library closes it without an answer.
 */
static void
refuses_heads(void **state)
{
	struct fixture *f = *state;
	server_start(f);
	for (size_t i = 0; i < ARRAY_SIZE(refused_heads); i++) {
		AUTO_BUF struct buf input = {0};
		int fd = client_open(f);
		client_send(fd, refused_heads[i].head);
		client_send(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
		int status = client_answer(fd, &input, NULL, NULL);
		if (status != refused_heads[i].status || !client_ended(fd))
			fail_msg("%s: %d", refused_heads[i].head, status);
	}
	assert_int_equal(f->requests, 0);
	assert_int_equal(client_ask(f, "GET /echo HTTP/1.1\r\n" HOST "X:\r\nY: \ta \r\nZ: \xc3\xa9\r\n\r\n"), 200);
}

/* A NUL anywhere: the library would take what is before it. */
static void
refuses_nul(void **state)
{
	struct fixture *f = *state;
	static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nX: y\r\n\r\n{}";
	server_start(f);
	for (size_t at = 0; at < strlen(head) - 2; at++) {
		AUTO_BUF struct buf input = {0};
		int fd = client_open(f);
		(void)client_send_bytes(fd, head, at);
		(void)client_send_bytes(fd, "", 1);
		client_send(fd, head + at);
		client_send(fd, head);
		int status = client_answer(fd, &input, NULL, NULL);
		if ((status != 0 && status != 400 && status != 505) || !client_ended(fd))
			fail_msg("%zu: %d", at, status);
	}
	assert_int_equal(f->requests, 0);
}

static void
bounds_heads(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *nine = xmalloc(9001);
	(void)memset(nine, 'x', 9000);
	nine[9000] = '\0';
	AUTO_FREE char *half = xstrndup(nine, 4500);
	AUTO_FREE char *long_head = xasprintf("GET /echo HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", nine);
	AUTO_FREE char *long_url = xasprintf("GET /echo?%s HTTP/1.1\r\n" HOST "\r\n", nine);
	AUTO_FREE char *good_head = xasprintf("GET /echo HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", half);
	AUTO_FREE char *good_url = xasprintf("GET /echo?%s HTTP/1.1\r\n" HOST "\r\n", half);
	AUTO_BUF struct buf many = {0};
	server_start(f);
	assert_int_equal(client_ask(f, good_head), 200);
	assert_int_equal(client_ask(f, good_url), 200);
	assert_int_equal(client_ask(f, long_head), 431);
	assert_int_equal(client_ask(f, long_url), 414);
	buf_adds(&many, "GET /echo HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 300; i++)
		buf_adds(&many, "a: b\r\n");
	buf_adds(&many, "\r\n");
	assert_int_equal(client_ask(f, many.data), 431);
	assert_int_equal(f->requests, 2);
}

/* The same piece again and again in a head, from once to so often. */
struct repeated {
	const char *before, *piece, *after;
	unsigned times, step;
	bool may_close; /* the library answers nothing to so many cookies */
};

/*
 * Every head is answered, whatever it fills of the connection's memory. The host's time does not move, so that the server
 * does not end a connection that waits.
 */
static void
answers_all_heads(void **state)
{
	struct fixture *f = *state;
	static const struct repeated all[] = {
		{"GET /echo?", "a&", " HTTP/1.1\r\n" HOST "\r\n", 400, 1, false},
		{"GET /echo?", "name=and+the+value&", " HTTP/1.1\r\n" HOST "\r\n", 600, 1, false},
		{"GET /echo?", "x", " HTTP/1.1\r\n" HOST "\r\n", 11000, 13, false},
		{"GET /echo HTTP/1.1\r\n" HOST "X: ", "x", "\r\n\r\n", 11000, 13, false},
		{"GET /echo HTTP/1.1\r\n" HOST, "a: b\r\n", "\r\n", 200, 1, false},
		{"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nX: ", "x", "\r\n\r\n{}", 11000, 13, false},
		{"GET /echo HTTP/1.1\r\n" HOST "Cookie: a=b", "; a=b", "\r\n\r\n", 200, 1, true},
		{"GET /echo HTTP/1.1\r\n" HOST "Cookie: a=", "x", "\r\n\r\n", 11000, 13, true},
	};
	unsigned good = 0;
	server_start(f);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		AUTO_BUF struct buf head = {0};
		const struct repeated *repeated = &all[i];
		buf_adds(&head, repeated->before);
		for (unsigned times = 1; times <= repeated->times; times++) {
			buf_adds(&head, repeated->piece);
			if (times % repeated->step != 0)
				continue;
			size_t size = head.len;
			buf_adds(&head, repeated->after);
			int status = client_ask(f, head.data);
			good += status == 200;
			if (status != 200 && status != 414 && status != 431 && !(repeated->may_close && status == 0))
				fail_msg("%u times \"%s\": %d", times, repeated->piece, status);
			head.len = size;
		}
	}
	assert_int_equal(f->requests, good);
}

/* Who is client, and whether by TLS, where a proxy says it. */
static void
trusts_proxies(void **state)
{
	struct fixture *f = *state;
	static const char *const proxies[] = {"127.0.0.0/8", "10.0.0.1", NULL};
	static const char forwarded[] =
		"GET /echo HTTP/1.1\r\n" HOST "X-Forwarded-For: 6.6.6.6, 192.0.2.7\r\nX-Forwarded-For: 10.0.0.1\r\n"
		"X-Forwarded-Proto: https\r\n\r\n";
	server_start(f);
	int fd = client_open(f);
	ask(fd, forwarded, 200, "0 /echo? [echo] x 127.0.0.1 plain 0:");
	(void)close(fd);
	server_stop(f);
	server_await_stop(f);
	f->rules.trusted_proxies = proxies;
	server_start(f);
	fd = client_open(f);
	ask(fd, forwarded, 200, "0 /echo? [echo] x 192.0.2.7 secure 0:");
	ask(fd, "GET /echo HTTP/1.1\r\n" HOST "X-Forwarded-Proto: http\r\n\r\n", 200,
		"0 /echo? [echo] x 127.0.0.1 plain 0:");
	(void)close(fd);
	server_stop(f);
	server_await_stop(f);
	static const char *const wrong[] = {"10.0.0.0/40", NULL};
	struct kettle_error err = {0};
	f->rules.trusted_proxies = wrong;
	assert_int_equal(server_try(f, &err), KETTLE_EINVAL);
	assert_string_equal(err.member, "trusted_proxies");
}

/* What the access log gets: no query, the size of what was sent, also of what the server refuses itself. */
static void
reports_answers(void **state)
{
	struct fixture *f = *state;
	server_start(f);
	assert_int_equal(client_ask(f, "GET /echo?secret=1 HTTP/1.1\r\n" HOST "\r\n"), 200);
	await(f, &f->answered, 1);
	assert_int_equal(f->last_status, 200);
	assert_string_equal(f->last_path, "/echo");
	assert_string_equal(f->last_method, "GET");
	assert_string_equal(f->last_address, "127.0.0.1");
	assert_int_equal(f->last_bytes, strlen("0 /echo?secret=1 [echo] x 127.0.0.1 plain 0:"));
	assert_int_equal(client_ask(f, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5000\r\n\r\n"), 413);
	await(f, &f->answered, 2);
	assert_int_equal(f->last_status, 413);
	assert_int_equal(f->last_bytes, 0);
	assert_int_equal(client_ask(f, "GET /x%zz HTTP/1.1\r\n" HOST "\r\n"), 400);
	await(f, &f->answered, 3);
	assert_int_equal(f->last_status, 400);
	assert_string_equal(f->last_path, "");
	int fd = client_open(f);
	client_send(fd, "GET /echo HTTP/1.1\r\nHost: ");
	(void)client_fill(fd, 11000);
	await(f, &f->answered, 4);
	assert_int_equal(f->last_status, 431);
	(void)close(fd);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(answers, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(answers_on_the_loop, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(pipelines, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(takes_bodies, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(refuses_heads, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(refuses_nul, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(bounds_heads, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(answers_all_heads, server_setup_simulated, server_teardown),
	cmocka_unit_test_setup_teardown(trusts_proxies, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(reports_answers, server_setup, server_teardown),
};

UNIT_TESTS(test_server, .words = "tsan");
