/* SPDX-License-Identifier: MIT */
/* Outgoing HTTP: what is sent and what comes back, limits, redirects, TLS, proxies, retries. */
#include <config.h>

#include "unit/http/http_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "lib/unit_test.h"

#define BIG (3u << 20)

static void
expect_error(struct fixture *f, struct kettle_http_request *request, int code, const char *words)
{
	AUTO_OUTCOME struct outcome o = {0};
	exchange(f, request, &o);
	if (o.code != code || !strstr(o.sentence, words))
		fail_msg("%s: %d %s", request->url, o.code ? o.code : o.status, o.sentence);
	assert_null(strstr(o.sentence, "secret"));
}

/* A GET that fails. */
static void
expect_get_error(struct fixture *f, const char *url, int code, const char *words)
{
	struct kettle_http_request request = REQUEST(.url = url, .max_redirects = 5);
	expect_error(f, &request, code, words);
}

static const json_t *
sent_header(const json_t *seen, const char *name)
{
	return json_object_get(json_object_get(seen, "headers"), name);
}

/* ---- what is sent ---- */

static void
test_methods(void **state)
{
	struct fixture *f = *state;
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"};
	static const char *const headers[] = {"X-Mine: a b ", "X-Empty:", "User-Agent: me/1", NULL};
	for (size_t i = 0; i < ARRAY_SIZE(methods) * 2; i++) {
		AUTO_OUTCOME struct outcome o = {0};
		const char *body = i % 2 ? "hello" : NULL, *method = methods[i / 2];
		struct kettle_http_request request = REQUEST(.method = method, .url = address("http", "/echo?a=b#part"),
			.headers = headers, .body = body, .body_size = body ? 5 : 0);
		exchange(f, &request, &o);
		assert_int_equal(o.status, 200);
		assert_string_equal(o.etag, "\"e1\"");
		assert_int_equal(o.headers, 4);
		AUTO_JSON json_t *seen = body_json(&o);
		assert_string_equal(json_text_or_empty(seen, "method"), method);
		assert_string_equal(json_text_or_empty(seen, "query"), "a=b");
		assert_string_equal(json_text_or_empty(seen, "body"), body ? "hello" : "");
		assert_string_equal(json_string_value(sent_header(seen, "x-mine")), "a b");
		assert_string_equal(json_string_value(sent_header(seen, "x-empty")), "");
		assert_string_equal(json_string_value(sent_header(seen, "user-agent")), "me/1");
		assert_null(sent_header(seen, "content-type"));
		assert_null(sent_header(seen, "expect"));
	}
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request head = REQUEST(.method = "HEAD", .url = address("http", "/echo"));
	exchange(f, &head, &o);
	assert_int_equal(o.status, 200);
	assert_int_equal(o.size, 0);
	assert_string_equal(o.etag, "\"e1\"");
	/* Statuses of errors are answers. */
	get(f, address("http", "/status/404"), &o);
	assert_int_equal(o.status, 404);
	assert_string_equal(o.body.data, "status");
	get(f, address("http", "/status/503"), &o);
	assert_int_equal(o.status, 503);
}

/* Bodies from memory and from a file, answers into both. */
static void
test_files(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	AUTO_FREE char *big = xmalloc(BIG), *answer_file = xstrdup(in_folder("answer")),
				   *body_file = xstrdup(in_folder("body"));
	char digest[65];
	struct stat st;
	memset(big, 'b', BIG);
	sha256_hex(big, BIG, digest);
	assert_int_equal(file_write(body_file, big, BIG, 0600, NULL), 0);
	struct kettle_http_request requests[] = {
		REQUEST(.method = "POST", .url = address("http", "/echo"), .body = big, .body_size = BIG),
		REQUEST(.method = "PUT", .url = address("http", "/echo"), .body_file = body_file),
	};
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		exchange(f, &requests[i], &o);
		AUTO_JSON json_t *seen = body_json(&o);
		assert_int_equal(member_int(seen, "size"), BIG);
		assert_string_equal(json_text_or_empty(seen, "sha256"), digest);
	}
	struct kettle_http_request down = REQUEST(.url = address("http", "/bytes/3000000"), .answer_file = answer_file);
	exchange(f, &down, &o);
	assert_int_equal(o.status, 200);
	assert_false(o.in_memory);
	assert_int_equal(o.size, 3000000);
	assert_int_equal(stat(answer_file, &st), 0);
	assert_int_equal(st.st_size, 3000000);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* It is never overwritten. */
	expect_error(f, &down, KETTLE_ECONFLICT, "cannot be created: File exists");
	assert_int_equal(unlink(answer_file), 0);
	/* Another status: no file, and the body in memory. */
	down.url = address("http", "/status/404");
	exchange(f, &down, &o);
	assert_int_equal(o.status, 404);
	assert_string_equal(o.body.data, "status");
	assert_false(is_there(answer_file));
	down.url = address("http", "/short");
	expect_error(f, &down, KETTLE_EIO, "ended before it was complete");
	assert_false(is_there(answer_file));
	requests[1].body_file = in_folder("missing");
	expect_error(f, &requests[1], KETTLE_ENOENT, "missing cannot be read: No such file");
	requests[1].body_file = in_folder("fifo");
	assert_int_equal(mkfifo(requests[1].body_file, 0600), 0);
	expect_error(f, &requests[1], KETTLE_EINVAL, "not a regular file");
	down.answer_file = in_folder("no/folder");
	expect_error(f, &down, KETTLE_ENOENT, "cannot be created");
	/* As a full disk. */
	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 100000, .rlim_max = before.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	struct kettle_http_request full = REQUEST(.url = address("http", "/bytes/3000000"), .answer_file = answer_file);
	expect_error(f, &full, KETTLE_EIO, "answer cannot be written: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(is_there(answer_file));
}

static void
test_compressed(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	static const char *const plain[] = {"Accept-Encoding: identity", NULL};
	get(f, address("http", "/gzip"), &o);
	assert_int_equal(o.size, 6000);
	assert_memory_equal(o.body.data, "hello hello ", 12);
	struct kettle_http_request request = REQUEST(.url = address("http", "/gzip"), .headers = plain);
	exchange(f, &request, &o);
	assert_true(o.size < 6000);
}

/* One connection serves many requests, of any owner; no child inherits it. */
static void
test_kept_connections(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	json_int_t connection = 0;
	for (int i = 0; i < 5; i++) {
		get(f, address("http", "/echo"), &o);
		AUTO_JSON json_t *seen = body_json(&o);
		if (i > 0)
			assert_int_equal(member_int(seen, "connection"), connection);
		connection = member_int(seen, "connection");
	}
	int found = 0;
	for (int fd = 3; fd < 1000; fd++) {
		struct sockaddr_in peer = {0};
		socklen_t size = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || peer.sin_family != AF_INET)
			continue;
		found++;
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	assert_true(found >= 1);
}

static void
test_malformed(void **state)
{
	struct fixture *f = *state;
	static const char *const bad_headers[][2] = {{"X-A: b\r\nX-Secret: secret", NULL}, {"X-A: b\nc", NULL},
		{"X A: b", NULL}, {"no colon", NULL}, {": empty", NULL}, {"Content-Length: 5", NULL},
		{"transfer-encoding: chunked", NULL}, {"Host: other", NULL}, {"X-A: \x7f", NULL}};
	static const char *const bad_urls[] = {NULL, "", "ftp://x/", "file:///etc/passwd", "http:/x", "http://",
		"http:///path", "http://user:secret@x/", "http://x/ y", "http://x/\r\nX-Secret: secret", "http://x/\xc3\xa4",
		"//x/", "http://a\\@b/"};
	static const char *const bad_methods[] = {
		"", "GET /", "GE\r\nT", "CONNECT", "G(T", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
	struct kettle_error err = {0};
	for (size_t i = 0; i < ARRAY_SIZE(bad_headers); i++) {
		const struct kettle_http_request request = REQUEST(.url = "http://127.0.0.1:1/", .headers = bad_headers[i]);
		assert_int_equal(http_send(f->http, f, &request, NULL, &err), KETTLE_EINVAL);
		assert_null(strstr(err.message, "secret"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad_urls); i++) {
		const struct kettle_http_request request = REQUEST(.url = bad_urls[i]);
		assert_int_equal(http_send(f->http, f, &request, NULL, &err), KETTLE_EINVAL);
		assert_null(strstr(err.message, "secret"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad_methods); i++) {
		const struct kettle_http_request request = REQUEST(.url = "http://127.0.0.1:1/", .method = bad_methods[i]);
		assert_int_equal(http_send(f->http, f, &request, NULL, &err), KETTLE_EINVAL);
	}
	const struct kettle_http_request both = REQUEST(.url = "http://x/", .body = "x", .body_size = 1, .body_file = "y");
	assert_int_equal(http_send(f->http, f, &both, NULL, &err), KETTLE_EINVAL);
	const struct kettle_http_request large = REQUEST(.url = "http://x/", .body = "x", .body_size = HTTP_BODY_MAX + 1);
	assert_int_equal(http_send(f->http, f, &large, NULL, &err), KETTLE_ETOOBIG);
	assert_non_null(strstr(err.message, "body_file"));
	expect_get_error(f, "http://[::1/", KETTLE_EINVAL, "not valid");
	expect_get_error(f, "http://x:99999999/?secret", KETTLE_EINVAL, "not valid");
	/* A caller of an older minor, whose struct ends before `done`. */
	struct kettle_http_request old = REQUEST(.url = address("http", "/echo"));
	old.size = offsetof(struct kettle_http_request, done);
	assert_int_equal(http_send(f->http, f, &old, NULL, &err), 0);
}

/* ---- limits ---- */

static void
test_limits(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	const char *file = in_folder("limited");
	expect_get_error(f, address("http", "/headers/long?secret"), KETTLE_ETOOBIG, "more than 65536 bytes of headers");
	expect_get_error(f, address("http", "/headers/many"), KETTLE_ETOOBIG, "more than 256 headers");
	expect_get_error(f, address("http", "/headers/interim"), KETTLE_ETOOBIG, "headers");
	struct kettle_http_request line = REQUEST(.url = address("http", "/headers/line"));
	exchange(f, &line, &o);
	assert_true(o.code < 0); /* libcurl has a limit of its own for one line */
	expect_get_error(f, address("http", "/endless"), KETTLE_ETOOBIG, "larger than 16777216 bytes");
	expect_get_error(f, address("http", "/announced"), KETTLE_ETOOBIG, "larger than 16777216 bytes");
	expect_get_error(f, address("http", "/bomb"), KETTLE_ETOOBIG, "larger than 16777216 bytes");
	struct kettle_http_request small = REQUEST(.url = address("http", "/bytes/1000"), .max_body = 1000);
	exchange(f, &small, &o);
	assert_int_equal(o.size, 1000);
	small.max_body = 999;
	expect_error(f, &small, KETTLE_ETOOBIG, "larger than 999 bytes");
	small.answer_file = file;
	expect_error(f, &small, KETTLE_ETOOBIG, "larger than 999 bytes");
	assert_false(is_there(file));
	struct kettle_http_request headers = REQUEST(.url = address("http", "/echo"), .max_headers = 20);
	expect_error(f, &headers, KETTLE_ETOOBIG, "more than 20 bytes of headers");
	/* What is no HTTP, or breaks off. */
	expect_get_error(f, address("http", "/short"), KETTLE_EIO, "ended before it was complete");
	expect_get_error(f, address("http", "/garbage"), KETTLE_EIO, "not HTTP");
	expect_get_error(f, address("http", "/bad-gzip"), KETTLE_EIO, "damaged");
	expect_get_error(f, address("http", "/chunks"), KETTLE_EIO, "127.0.0.1");
	expect_get_error(f, address("http", "/length/-5"), KETTLE_EIO, "127.0.0.1");
	expect_get_error(f, address("http", "/length/ten"), KETTLE_EIO, "127.0.0.1");
	/* What comes after the body is not the next answer. */
	get(f, address("http", "/length/2"), &o);
	assert_string_equal(o.body.data, "hi");
	get(f, address("http", "/bytes/4"), &o);
	assert_string_equal(o.body.data, "xxxx");
}

/* ---- redirects ---- */

static const char *const secrets[] = {
	"Authorization: Bearer secret", "Cookie: secret", "X-Token: secret", "Accept: text/plain", NULL};

/* Follows a redirect and returns what the last server saw. New reference. */
static json_t *
follow(struct fixture *f, const char *from, const char *to, const char *method, const char *body)
{
	AUTO_OUTCOME struct outcome o = {0};
	AUTO_FREE char *url = xasprintf("%s?%s", from, to);
	struct kettle_http_request request = REQUEST(.method = method, .url = url, .headers = secrets, .body = body,
		.body_size = body ? strlen(body) : 0, .max_redirects = 3);
	exchange(f, &request, &o);
	if (o.status != 200)
		fail_msg("%d %s", o.code, o.sentence);
	return body_json(&o);
}

static void
expect_secrets(const json_t *seen, bool wanted)
{
	assert_int_equal(sent_header(seen, "authorization") != NULL, wanted);
	assert_int_equal(sent_header(seen, "cookie") != NULL, wanted);
	assert_int_equal(sent_header(seen, "x-token") != NULL, wanted);
	assert_string_equal(json_string_value(sent_header(seen, "accept")), "text/plain");
}

static void
test_redirects_and_credentials(void **state)
{
	struct fixture *f = *state;
	const char *from = address("http", "/redirect/302");
	AUTO_JSON json_t *same = follow(f, from, address("http", "/echo"), "GET", NULL);
	expect_secrets(same, true);
	AUTO_JSON json_t *relative = follow(f, from, "../echo?a", "GET", NULL);
	assert_string_equal(json_text_or_empty(relative, "path"), "/echo");
	expect_secrets(relative, true);
	AUTO_JSON json_t *port = follow(f, from, address("other", "/echo"), "GET", NULL);
	expect_secrets(port, false);
	AUTO_JSON json_t *host = follow(f, from, address_at("http", "two.test", "http", "/echo"), "GET", NULL);
	expect_secrets(host, false);
	AUTO_JSON json_t *scheme = follow(f, from, address_at("https", "127.0.0.1", "tls", "/echo"), "GET", NULL);
	expect_secrets(scheme, false);
	/* Nor on the way back. */
	AUTO_FREE char *there = xasprintf("%s?%s", address("other", "/redirect/307"), address("http", "/echo"));
	AUTO_JSON json_t *back = follow(f, from, there, "GET", NULL);
	assert_string_equal(json_text_or_empty(back, "port"), "http");
	expect_secrets(back, false);
	/* Host names have no case. */
	AUTO_JSON json_t *upper = follow(f, address_at("http", "two.test", "http", "/redirect/302"),
		address_at("http", "TWO.test", "http", "/echo"), "GET", NULL);
	expect_secrets(upper, true);
}

static void
test_redirects(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	static const struct {
		const char *path, *method, *then;
		bool body;
	} cases[] = {{"/redirect/301", "POST", "GET", false}, {"/redirect/302", "POST", "GET", false},
		{"/redirect/303", "PUT", "GET", false}, {"/redirect/302", "PUT", "PUT", true},
		{"/redirect/307", "POST", "POST", true}, {"/redirect/308", "PATCH", "PATCH", true},
		{"/big-redirect", "POST", "GET", false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *seen =
			follow(f, address("http", cases[i].path), address("http", "/echo"), cases[i].method, "hello");
		assert_string_equal(json_text_or_empty(seen, "method"), cases[i].then);
		assert_string_equal(json_text_or_empty(seen, "body"), cases[i].body ? "hello" : "");
	}
	/* Not followed without the caller's word. */
	get(f, address("http", "/redirect/302?/echo"), &o);
	assert_int_equal(o.status, 302);
	assert_string_equal(o.body.data, "elsewhere");
	expect_get_error(f, address("http", "/circle?secret"), KETTLE_EIO, "redirects more than 5 times");
	expect_get_error(f, address("http", "/redirect/302?file:///etc/passwd"), KETTLE_EIO, "no address of HTTP");
	expect_get_error(f, address("http", "/redirect/302?gopher://127.0.0.1/"), KETTLE_EIO, "no address of HTTP");
	expect_get_error(f, address("http", "/redirect/302?http://u:secret@127.0.0.1/"), KETTLE_EIO, "no address of HTTP");
	AUTO_FREE char *down =
		xasprintf("%s?%s", address_at("https", "localhost", "tls", "/redirect/302"), address("http", "/echo"));
	expect_get_error(f, down, KETTLE_EIO, "from https to http");
}

/* ---- TLS, proxies, sockets ---- */

static void
test_certificates(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	get(f, address_at("https", "localhost", "tls", "/bytes/4"), &o);
	assert_string_equal(o.body.data, "xxxx");
	get(f, address_at("https", "127.0.0.1", "tls", "/bytes/4"), &o);
	assert_int_equal(o.status, 200);
	expect_get_error(f, address_at("https", "localhost", "wrong", "/?secret"), KETTLE_EUNAVAIL,
		"is not accepted: SSL: no alternative certificate subject name matches");
	expect_get_error(f, address_at("https", "localhost", "expired", "/"), KETTLE_EUNAVAIL, "certificate has expired");
	expect_get_error(f, address_at("https", "localhost", "http", "/"), KETTLE_EUNAVAIL, "TLS with localhost:");
	fixture_restart(f, NULL, NULL);
	expect_get_error(f, address_at("https", "localhost", "tls", "/"), KETTLE_EUNAVAIL, "The certificate of localhost:");
	fixture_restart(f, NULL, "/nonexistent/ca.pem");
	expect_get_error(
		f, address_at("https", "localhost", "tls", "/"), KETTLE_EUNAVAIL, "/nonexistent/ca.pem (http.ca_file)");
}

static void
test_proxy(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	AUTO_FREE char *ca = xstrdup(in_folder("ca.pem")), *proxy = xstrdup(address("proxy", ""));
	fixture_restart(f, proxy, ca);
	get(f, "http://far.invalid/away?x", &o);
	AUTO_JSON json_t *seen = body_json(&o);
	assert_string_equal(json_text_or_empty(seen, "port"), "proxy");
	assert_string_equal(json_text_or_empty(seen, "path"), "http://far.invalid/away");
	/* Through a tunnel, which sees no header of the request. */
	struct kettle_http_request request = REQUEST(.url = "https://far.test/echo", .headers = secrets);
	exchange(f, &request, &o);
	AUTO_JSON json_t *inside = body_json(&o);
	assert_string_equal(json_text_or_empty(inside, "port"), "tls");
	expect_secrets(inside, true);
	AUTO_OUTCOME struct outcome log = {0};
	get(f, address("http", "/seen?far.test:443"), &log); /* this machine itself is never behind the proxy */
	AUTO_JSON json_t *tunnel = body_json(&log);
	assert_int_equal(member_int(tunnel, "count"), 1);
	assert_null(sent_header(json_object_get(tunnel, "last"), "authorization"));
	expect_get_error(f, "https://denied.test/", KETTLE_EUNAVAIL, "with status 403");
	fixture_restart(f, "http://127.0.0.1:1", ca);
	expect_get_error(f, "http://far.test/", KETTLE_EUNAVAIL, "through http.proxy");
}

static void
test_unix_socket(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	AUTO_FREE char *elsewhere = xasprintf("http://docker/redirect/302?%s", address("http", "/echo"));
	struct kettle_http_request request = REQUEST(.url = "http://docker/echo",
		.unix_socket = json_text_or_empty(world.ports, "unix"), .max_redirects = 2);
	exchange(f, &request, &o);
	AUTO_JSON json_t *seen = body_json(&o);
	assert_string_equal(json_text_or_empty(seen, "port"), "unix");
	assert_string_equal(json_string_value(sent_header(seen, "host")), "docker");
	request.url = "http://docker/redirect/302?/echo";
	exchange(f, &request, &o);
	assert_int_equal(o.status, 200);
	request.url = elsewhere;
	expect_error(f, &request, KETTLE_EIO, "redirects to another server");
	request.unix_socket = in_folder("nobody.sock");
	expect_error(f, &request, KETTLE_EUNAVAIL, "nobody.sock cannot be reached: No such file");
}

/* ---- retries ---- */

static void
test_retries(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	const char *file = in_folder("retried");
	get(f, address("http", "/retry/a/503/2"), &o);
	assert_int_equal(o.status, 503);
	struct kettle_http_request request = REQUEST(.method = "POST", .url = address("http", "/retry/b/429/1?0.05"),
		.retries = 2, .body = "x", .body_size = 1);
	exchange(f, &request, &o);
	assert_string_equal(o.body.data, "at last");
	/* What an earlier attempt left is gone. */
	request.url = address("http", "/retry/c/503/1?0");
	request.answer_file = file;
	exchange(f, &request, &o);
	assert_int_equal(o.size, 7);
	request.answer_file = NULL;
	/* No wait beyond the end of the time, in seconds or as a date. */
	request.url = address("http", "/retry/d/503/1?100");
	request.total_ms = 50000;
	exchange(f, &request, &o);
	assert_int_equal(o.status, 503);
	request.url = address("http", "/retry/e/503/1?Fri,%2031%20Dec%202049%2023:59:59%20GMT");
	exchange(f, &request, &o);
	assert_int_equal(o.status, 503);
	request.url = address("http", "/retry/f/503/1?Mon,%2001%20Jan%202001%2000:00:00%20GMT");
	exchange(f, &request, &o);
	assert_int_equal(o.status, 200);
	/* As often as was said, and no more. */
	request.url = address("http", "/retry/g/502/9?0");
	exchange(f, &request, &o);
	assert_int_equal(o.status, 502);
	AUTO_JSON json_t *seen = server_saw(f, "/retry/g/502/9");
	assert_int_equal(member_int(seen, "count"), 3);
	request.url = address("http", "/hang-up/a/1");
	exchange(f, &request, &o);
	assert_string_equal(o.body.data, "at last");
	/* A certificate gets no better. */
	request.url = address_at("https", "localhost", "wrong", "/");
	expect_error(f, &request, KETTLE_EUNAVAIL, "is not accepted");
}

/* On a kept connection that breaks, what must not be repeated is not, with a body and without. */
static void
test_sent_once(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 2; i++) {
		AUTO_OUTCOME struct outcome o = {0};
		struct kettle_http_request request = REQUEST(.method = "POST", .url = address("http", "/second"),
			.body = i ? "x" : NULL, .body_size = i ? 1 : 0);
		get(f, address("http", "/echo"), &o); /* there is a connection now */
		AUTO_JSON json_t *before = server_saw(f, "/second");
		exchange(f, &request, &o);
		AUTO_JSON json_t *after = server_saw(f, "/second");
		assert_int_equal(member_int(after, "count"), member_int(before, "count") + 1);
		if (i)
			assert_non_null(strstr(o.sentence, "closed the connection without a response"));
		else
			assert_string_equal(o.body.data, "first");
	}
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request put =
		REQUEST(.method = "PUT", .url = address("http", "/second"), .body = "x", .body_size = 1);
	exchange(f, &put, &o);
	assert_string_equal(o.body.data, "first");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_methods),
	TEST(test_files),
	TEST(test_compressed),
	TEST(test_kept_connections),
	TEST(test_malformed),
	TEST(test_limits),
	TEST(test_redirects_and_credentials),
	TEST(test_redirects),
	TEST(test_certificates),
	TEST(test_proxy),
	TEST(test_unix_socket),
	TEST(test_retries),
	TEST(test_sent_once),
};

UNIT_TESTS(test_http, .words = "tsan", .setup = world_setup, .teardown = world_teardown);
