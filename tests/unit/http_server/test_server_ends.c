/* SPDX-License-Identifier: MIT */
/* Connections: their number, their time, clients that leave, TLS, unix sockets, and the end of a server. */
#include <config.h>

#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/http_server/server_fixture.h"
#include "unit/scratch.h"

#define HOST "Host: x\r\n"
#define ECHO "GET /echo HTTP/1.1\r\n" HOST "\r\n"
#define HELD "GET /held HTTP/1.1\r\n" HOST "\r\n"
#define STEP_MS 20

static char *folder; /* of the certificates */

/* ---- numbers ---- */

/* A thousand connections of one address: those over its limit are closed, and there is room again when others end. */
static void
bounds_addresses(void **state)
{
	struct fixture *f = *state;
	int fds[100];
	f->rules.address_connections = ARRAY_SIZE(fds);
	server_start(f);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = client_open(f);
	for (size_t i = ARRAY_SIZE(fds); i < 1000; i++)
		assert_true(client_ended(client_open(f)));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		AUTO_BUF struct buf input = {0};
		client_send(fds[i], ECHO);
		assert_int_equal(client_answer(fds[i], &input, NULL, NULL), 200);
		(void)shutdown(fds[i], SHUT_WR);
		assert_true(client_ended(fds[i]));
	}
	assert_int_equal(client_ask(f, ECHO), 200);
	server_stop(f);
	server_await_stop(f);
	/* A proxy's address has no limit of its own. */
	static const char *const proxies[] = {"127.0.0.1", NULL};
	f->rules.trusted_proxies = proxies;
	f->rules.address_connections = 1;
	f->rules.connections = 3;
	server_start(f);
	for (size_t i = 0; i < 3; i++)
		fds[i] = client_open(f);
	assert_true(client_ended(client_open(f)));
	for (size_t i = 0; i < 3; i++)
		(void)close(fds[i]);
}

/* Clients of one address that announce bodies of a MiB and wait. */
static void
announce(const struct fixture *f, int *fds, size_t count, const char *address)
{
	AUTO_FREE char *head = xasprintf("POST /large HTTP/1.1\r\n" HOST
									 "X-Forwarded-For: %s\r\nExpect: 100-continue\r\nContent-Length: 1048576\r\n\r\n",
		address);
	for (size_t i = 0; i < count; i++) {
		AUTO_BUF struct buf input = {0};
		fds[i] = client_open(f);
		client_send(fds[i], head);
		client_until(fds[i], &input, "100 Continue");
	}
}

#define SMALLEST(address) "POST /echo HTTP/1.1\r\n" HOST "X-Forwarded-For: " address "\r\nContent-Length: 1\r\n\r\nx"

/* What all bodies together may have: announced is taken. One address cannot take all of it. */
static void
bounds_bodies(void **state)
{
	struct fixture *f = *state;
	static const char *const proxies[] = {"127.0.0.1", NULL};
	const size_t count = HTTP_SERVER_BODIES / LARGE, half = count / 2, quarter = count / 4;
	AUTO_FREE int *fds = xcalloc(count, sizeof(*fds));
	f->rules.trusted_proxies = proxies;
	server_start(f);
	announce(f, fds, half, "192.0.2.1");
	assert_int_equal(client_ask(f, SMALLEST("192.0.2.1")), 503);
	announce(f, fds + half, quarter, "192.0.2.2");
	assert_int_equal(client_ask(f, SMALLEST("192.0.2.2")), 503);
	announce(f, fds + half + quarter, quarter, "192.0.2.3");
	assert_int_equal(client_ask(f, SMALLEST("192.0.2.4")), 503);
	assert_int_equal(client_ask(f, ECHO), 200);
	(void)close(fds[0]);
	await(f, &f->gone_early, 1);
	assert_int_equal(client_ask(f, SMALLEST("192.0.2.4")), 200);
	for (size_t i = 1; i < count; i++)
		(void)close(fds[i]);
	await(f, &f->gone_early, (unsigned)count);
}

/* A process that has just been forked has all descriptors, so that closing one here does not end its file. */
static void
forgets_what_others_have(void **state)
{
	struct fixture *f = *state;
	int ends[2], fds[20];
	server_start(f);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		AUTO_BUF struct buf input = {0};
		fds[i] = client_open(f);
		client_send(fds[i], "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5000\r\n\r\n");
		assert_int_equal(client_answer(fds[i], &input, NULL, NULL), 413);
	}
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		char end;
		(void)close(ends[1]);
		_exit(read(ends[0], &end, 1) != 0);
	}
	(void)close(ends[0]);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		(void)shutdown(fds[i], SHUT_RDWR);
		(void)close(fds[i]);
		assert_int_equal(client_ask(f, ECHO), 200);
	}
	server_stop(f);
	server_await_stop(f);
	(void)close(ends[1]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- time ---- */

/* Sends a byte now and then, so that the connection is never silent, until the server has enough of it. */
static void
drip(int fd)
{
	struct pollfd ended = {.fd = fd, .events = POLLIN | POLLRDHUP};
	while (poll(&ended, 1, STEP_MS) == 0)
		(void)client_send_bytes(fd, "x", 1);
	assert_true(client_ended(fd));
}

static void
bounds_time(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0};
	f->rules.request_s = 1;
	server_start(f);
	int silent = client_open(f), head = client_open(f), body = client_open(f), kept = client_open(f);
	client_send(head, "GET /echo HTTP/1.1\r\nX: ");
	client_send(body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n");
	client_send(kept, ECHO);
	assert_int_equal(client_answer(kept, &input, NULL, NULL), 200);
	drip(head);
	drip(body);
	assert_true(client_ended(silent));
	assert_true(client_ended(kept));
	await(f, &f->gone_early, 1);
	assert_int_equal(f->requests, 1);
	/* One that waits for its answer has all the time. */
	int fd = client_open(f);
	client_send(fd, HELD);
	struct http_request *request = await_held(f, 0);
	for (int i = 0; i < 2; i++)
		drip(client_open(f));
	answer_held(request, "late");
	buf_free(&input);
	assert_int_equal(client_answer(fd, &input, NULL, NULL), 200);
	(void)close(fd);
}

/* ---- clients that leave ---- */

static void
sees_clients_leave(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, body = {0};
	const struct linger abort = {.l_onoff = 1};
	server_start(f);
	/* In the middle of a body, by an end and by a reset. */
	for (unsigned i = 0; i < 2; i++) {
		int fd = client_open(f);
		client_send(fd, "POST /held HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n");
		client_until(fd, &input, "100 Continue\r\n\r\n");
		buf_free(&input);
		client_send(fd, "hello");
		if (i == 1)
			assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort)), 0);
		(void)close(fd);
		await(f, &f->gone_early, i + 1);
	}
	assert_int_equal(f->requests, 0);
	/* While the request waits. */
	int fd = client_open(f);
	client_send(fd, HELD);
	struct http_request *request = await_held(f, 0);
	(void)close(fd);
	await(f, &f->gone, 1);
	answer_held(request, "too late");
	await(f, &f->answered, 1);
	/* One that only ends what it sends gets its answer. */
	fd = client_open(f);
	client_send(fd, HELD);
	(void)shutdown(fd, SHUT_WR);
	request = await_held(f, 1);
	await(f, &f->gone, 2);
	answer_held(request, "in time");
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_string_equal(body.data, "in time");
	assert_true(client_ended(fd));
	assert_int_equal(f->gone_early, 2);
}

/* One that sends much more than is accepted can do so to its end, and sees why it is refused. */
static void
lets_clients_finish(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0};
	server_start(f);
	int fd = client_open(f);
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 33554432\r\n\r\n");
	assert_true(client_fill(fd, 33554432));
	assert_int_equal(client_answer(fd, &input, NULL, NULL), 413);
	assert_true(client_ended(fd));
	/* But not for ever. */
	fd = client_open(f);
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 33554432\r\n\r\n");
	assert_int_equal(client_answer(fd, &input, NULL, NULL), 413);
	while (client_fill(fd, 65536)) {
		kettle_fake_advance(f->fake, 1000);
		assert_int_equal(client_ask(f, ECHO), 200); /* has the server look at its time */
	}
	(void)close(fd);
	/* And a server that stops does not wait for it. */
	fd = client_open(f);
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 33554432\r\n\r\n");
	assert_int_equal(client_answer(fd, &input, NULL, NULL), 413);
	server_stop(f);
	server_await_stop(f);
	(void)close(fd);
}

/* ---- TLS ---- */

/* A handshake, a request, and its answer up to the end of `until`; the name in the server's certificate. */
static void
send_by_tls(const struct fixture *f, const char *text, const char *until, char ret_name[100])
{
	const unsigned char wanted[] = "\x02h2\x08http/1.0\x08http/1.1", *chosen = NULL;
	unsigned chosen_size = 0;
	char answer[500] = "";
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *tls = SSL_new(context);
	int fd = client_open(f);
	assert_int_equal(SSL_set_alpn_protos(tls, wanted, sizeof(wanted) - 1), 0);
	assert_int_equal(SSL_set_fd(tls, fd), 1);
	assert_int_equal(SSL_connect(tls), 1);
	SSL_get0_alpn_selected(tls, &chosen, &chosen_size);
	assert_int_equal(chosen_size, 8);
	assert_memory_equal(chosen, "http/1.1", 8);
	X509 *certificate = SSL_get1_peer_certificate(tls);
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, ret_name, 100);
	X509_free(certificate);
	assert_int_equal(SSL_write(tls, text, (int)strlen(text)), strlen(text));
	for (int got = 1, at = 0; got > 0 && !strstr(answer, until); at += got)
		got = SSL_read(tls, answer + at, (int)sizeof(answer) - 1 - at);
	assert_non_null(strstr(answer, until));
	SSL_free(tls);
	SSL_CTX_free(context);
	(void)close(fd);
}

static void
ask_by_tls(const struct fixture *f, char ret_name[100])
{
	send_by_tls(f, ECHO, "127.0.0.1 secure 0:", ret_name);
}

static void
copy(const char *name, const char *to)
{
	AUTO_FREE char *from = path_join(folder, name), *text = NULL;
	size_t size = 0;
	assert_int_equal(file_read(from, 1 << 20, &text, &size, NULL), 0);
	assert_int_equal(file_write(to, text, size, 0600, NULL), 0);
}

/* The files may change while the server runs; what cannot be used leaves the old certificate. */
static void
renews_certificates(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	char first[100], name[100];
	AUTO_FREE char *pem = path_join(f->folder, "server.pem"), *none = path_join(f->folder, "none.pem");
	f->rules.certificate = none;
	assert_int_equal(server_try(f, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.member, "certificate");
	copy("tls.pem", pem);
	f->rules.certificate = pem;
	f->rules.private_key = none;
	assert_int_equal(server_try(f, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.member, "private_key");
	AUTO_FREE char *other = path_join(folder, "wrong.pem");
	f->rules.private_key = other;
	assert_int_equal(server_try(f, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.member, "private_key");
	f->rules.private_key = NULL;
	server_start(f);
	ask_by_tls(f, first);
	copy("wrong.pem", pem);
	assert_int_equal(http_server_reload(f->server, &err), 0);
	ask_by_tls(f, name);
	assert_string_not_equal(name, first);
	assert_int_equal(file_write(pem, "no PEM", 6, 0600, NULL), 0);
	assert_int_equal(http_server_reload(f->server, &err), KETTLE_EUNAVAIL);
	ask_by_tls(f, name);
	assert_string_not_equal(name, first);
	/* It looks itself after a while. */
	copy("tls.pem", pem);
	ask_by_tls(f, name);
	assert_string_not_equal(name, first);
	kettle_fake_advance(f->fake, 10000);
	ask_by_tls(f, name);
	assert_string_equal(name, first);
}

/* A head that leaves the library no room for an answer's. */
static void
refuses_heads_by_tls(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *pem = path_join(folder, "tls.pem"), *text = xmalloc(9800);
	char name[100];
	(void)memset(text, 'x', 9799);
	text[9799] = '\0';
	AUTO_FREE char *head = xasprintf("GET /echo HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", text);
	f->rules.certificate = pem;
	server_start(f);
	send_by_tls(f, head, "HTTP/1.1 431 ", name);
	await(f, &f->answered, 1);
	assert_int_equal(f->last_status, 431);
	assert_int_equal(f->requests, 0);
}

/* Those who do not speak TLS, or not to the end. */
static void
bounds_handshakes(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *pem = path_join(folder, "tls.pem");
	char name[100];
	f->rules.certificate = pem;
	f->rules.request_s = 1;
	server_start(f);
	int silent = client_open(f), plain = client_open(f), half = client_open(f);
	client_send(plain, ECHO);
	(void)client_send_bytes(half, "\x16\x03\x01\x02\x00\x01", 6);
	assert_true(client_ended(silent));
	(void)client_ended(plain); /* it may get an alert first */
	assert_true(client_ended(half));
	ask_by_tls(f, name);
	assert_int_equal(f->requests, 1);
}

/* ---- unix sockets ---- */

static void
serves_unix_sockets(void **state)
{
	struct fixture *f = *state;
	struct stat info;
	struct kettle_error err = {0};
	AUTO_FREE char *path = path_join(f->folder, "socket"), *listen_at = xasprintf("unix:%s", path);
	f->rules.listen = listen_at;
	server_start(f);
	assert_int_equal(http_server_port(f->server), 0);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	AUTO_BUF struct buf input = {0}, body = {0};
	int fd = client_open(f);
	client_send(
		fd, ECHO "GET /echo HTTP/1.1\r\n" HOST "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n");
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_int_equal(client_answer(fd, &input, NULL, &body), 200);
	assert_string_equal(body.data, "0 /echo? [echo] x unix plain 0:0 /echo? [echo] x 192.0.2.7 secure 0:");
	(void)close(fd);
	/* Another server does not take it away. */
	struct http_server *first = f->server;
	assert_int_equal(server_try(f, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.member, "listen");
	f->server = first;
	assert_int_equal(client_ask(f, ECHO), 200);
	server_stop(f);
	server_await_stop(f);
	assert_int_equal(stat(path, &info), -1);
	/* One that a killed server left is replaced, any other file is not. */
	f->rules.socket_mode = 0660;
	server_start(f);
	AUTO_FREE char *aside = path_join(f->folder, "aside");
	assert_int_equal(rename(path, aside), 0);
	server_stop(f);
	server_await_stop(f);
	assert_int_equal(rename(aside, path), 0);
	server_start(f);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0660);
	assert_int_equal(client_ask(f, ECHO), 200);
	server_stop(f);
	server_await_stop(f);
	assert_int_equal(file_write(path, "x", 1, 0600, NULL), 0);
	assert_int_equal(server_try(f, &err), KETTLE_EUNAVAIL);
	assert_int_equal(stat(path, &info), 0);
}

/* ---- ends ---- */

/* What is under way is finished: a request that waits, one whose body comes, and one that is being answered. */
static void
drains(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0}, body = {0}, upload = {0};
	server_start(f);
	int idle = client_open(f), waits = client_open(f), sends = client_open(f);
	client_send(idle, ECHO);
	assert_int_equal(client_answer(idle, &input, NULL, NULL), 200);
	client_send(sends, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	client_until(sends, &upload, "100 Continue\r\n\r\n");
	buf_free(&upload);
	client_send(waits, HELD HELD);
	struct http_request *request = await_held(f, 0);
	int port = http_server_port(f->server);
	server_stop(f);
	assert_true(client_ended(idle));
	client_send(sends, "hi");
	assert_int_equal(client_answer(sends, &upload, NULL, NULL), 200);
	assert_true(client_ended(sends));
	assert_int_equal(f->stopped, 0);
	answer_held(request, "done");
	assert_int_equal(client_answer(waits, &input, NULL, &body), 200);
	assert_string_equal(body.data, "done");
	/* The second one of this connection is refused, or not read any more. */
	int status = client_answer(waits, &input, NULL, NULL);
	assert_true(status == 0 || status == 503);
	(void)close(waits);
	server_await_stop(f);
	/* Somebody else can have the port. */
	AUTO_FREE char *same = xasprintf("127.0.0.1:%d", port);
	f->rules.listen = same;
	server_start(f);
	f->rules.listen = NULL;
}

/* The server does not wait longer than it should; what is answered later goes nowhere. */
static void
stops_while_requests_wait(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf input = {0};
	f->rules.drain_s = 1;
	server_start(f);
	int waits = client_open(f), sends = client_open(f), takes = client_open(f);
	client_send(waits, HELD);
	struct http_request *request = await_held(f, 0);
	client_send(takes, HELD);
	struct http_request *stream = await_held(f, 1);
	client_send(sends, "POST /held HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	client_until(sends, &input, "100 Continue");
	server_stop(f);
	server_await_stop(f);
	assert_true(client_ended(waits));
	assert_true(client_ended(takes));
	assert_true(client_ended(sends));
	assert_int_equal(f->gone, 2);
	assert_int_equal(f->gone_early, 1);
	assert_string_equal(http_path(request), "/held");
	assert_null(http_header_value(request, "Host"));
	answer_held(request, "late");
	struct http_stream *late = http_stream_open(stream, "text/event-stream", NULL, on_closed, f);
	struct http_chunk *chunk = http_chunk_new("x", 1);
	assert_false(http_stream_send(late, chunk));
	http_chunk_unref(chunk);
	http_stream_end(late);
	assert_int_equal(f->closed, 0);
}

/* Requests of many clients wait on the loop while the server stops. */
static void
stops_under_load(void **state)
{
	struct fixture *f = *state;
	int fds[50];
	server_start(f);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = client_open(f);
		client_send(fds[i], "GET /loop HTTP/1.1\r\n" HOST "\r\n");
	}
	while (__atomic_load_n(&f->requests, __ATOMIC_ACQUIRE) < ARRAY_SIZE(fds) / 2)
		(void)sched_yield();
	server_stop(f);
	server_await_stop(f);
	unsigned answered = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		AUTO_BUF struct buf input = {0};
		answered += client_answer(fds[i], &input, NULL, NULL) == 200;
		(void)close(fds[i]);
	}
	assert_true(answered >= ARRAY_SIZE(fds) / 2);
}

static int
world_setup(void **state)
{
	const char *build = getenv("top_builddir");
	(void)state;
	folder = scratch_make();
	AUTO_FREE char *command = xasprintf("%s/tests/peers/certificates %s", build ? build : ".", folder);
	return system(command);
}

static int
world_teardown(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(bounds_addresses, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(forgets_what_others_have, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(bounds_bodies, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(bounds_time, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(sees_clients_leave, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(lets_clients_finish, server_setup_simulated, server_teardown),
	cmocka_unit_test_setup_teardown(renews_certificates, server_setup_simulated, server_teardown),
	cmocka_unit_test_setup_teardown(refuses_heads_by_tls, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(bounds_handshakes, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(serves_unix_sockets, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(drains, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(stops_while_requests_wait, server_setup, server_teardown),
	cmocka_unit_test_setup_teardown(stops_under_load, server_setup, server_teardown),
};

UNIT_TESTS(test_server_ends, .words = "waiting tsan", .setup = world_setup, .teardown = world_teardown);
