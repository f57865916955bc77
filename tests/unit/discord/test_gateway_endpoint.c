/* SPDX-License-Identifier: MIT */
/* The HTTP endpoint for interactions: signatures, requests of every kind, clients that stall. */
#include <config.h>

#include "discord/gateway/endpoint.h"

#include <arpa/inet.h>
#include <kettle/testing.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "discord/gateway/signature.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

#define PATIENCE_MS 60000
#define STEP_MS 5
#define COMMAND "{\"type\":2,\"id\":\"%d\",\"token\":\"t\"}"

struct fixture {
	struct kettle_fake *fake;
	struct endpoint *endpoint;
	EVP_PKEY *key;
	char public_key[65];
	unsigned interactions;
	json_int_t last_id;
	int stopped;
	unsigned request_s;
	const char *certificate;
};

static char *folder; /* of the certificates */

static void
on_interaction(void *arg, json_t *data_take)
{
	struct fixture *f = arg;
	assert_false(f->stopped);
	f->interactions++;
	f->last_id = atoll(json_text_or_empty(data_take, "id"));
	json_decref(data_take);
}

static void
to_hex(const unsigned char *bytes, size_t count, char *hex)
{
	for (size_t i = 0; i < count; i++)
		(void)sprintf(hex + 2 * i, "%02x", bytes[i]);
}

static void
sign(const struct fixture *f, const char *timestamp, const char *body, size_t size, char hex[129])
{
	unsigned char signature[64];
	size_t len = sizeof(signature);
	AUTO_BUF struct buf text = {0};
	buf_adds(&text, timestamp);
	buf_add(&text, body, size);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	assert_int_equal(EVP_DigestSignInit(context, NULL, NULL, NULL, f->key), 1);
	assert_int_equal(EVP_DigestSign(context, signature, &len, (unsigned char *)text.data, text.len), 1);
	EVP_MD_CTX_free(context);
	to_hex(signature, 64, hex);
}

static int
setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	unsigned char key[32];
	size_t len = sizeof(key);
	f->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	if (!f->key || EVP_PKEY_get_raw_public_key(f->key, key, &len) != 1 ||
		kettle_fake_new("discord", &f->fake, NULL) != 0)
		return -1;
	to_hex(key, 32, f->public_key);
	*state = f;
	return 0;
}

static void
on_stopped(void *arg)
{
	((struct fixture *)arg)->stopped = 1;
}

static int
is_stopped(void *arg)
{
	return ((struct fixture *)arg)->stopped;
}

static void
stop_endpoint(struct fixture *f)
{
	if (!f->endpoint)
		return;
	endpoint_stop(f->endpoint, on_stopped, f);
	f->endpoint = NULL;
	assert_int_equal(kettle_fake_run(f->fake, is_stopped, f, PATIENCE_MS), 0);
	f->stopped = 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	stop_endpoint(f);
	int rc = kettle_fake_free(f->fake, &err);
	if (rc)
		print_message("# %s\n", err.message);
	EVP_PKEY_free(f->key);
	free(f);
	return rc;
}

static int
start(struct fixture *f, const char *listen_at)
{
	const struct endpoint_rules rules = {
		.listen = listen_at, .public_key = f->public_key, .request_s = f->request_s, .certificate = f->certificate};
	return endpoint_new(kettle_fake_host(f->fake), &rules, on_interaction, f, &f->endpoint, NULL);
}

static int
open_connection(const struct fixture *f)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)endpoint_port(f->endpoint))};
	const struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void
send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* it was refused before its end */
		data += sent;
		size -= (size_t)sent;
	}
}

/* Whether an answer is there as a whole. */
static bool
is_whole(const struct buf *answer)
{
	const char *end = answer->data ? strstr(answer->data, "\r\n\r\n") : NULL;
	const char *length = end ? strstr(answer->data, "Content-Length: ") : NULL;
	return end && strlen(end + 4) >= (length ? strtoul(length + strlen("Content-Length: "), NULL, 10) : 0);
}

/* The status of the answer, 0 if there is none before the end; the answer is kept in *ret_answer. */
static int
read_answer(int fd, struct buf *ret_answer)
{
	char part[4096];
	int status = 0;
	ssize_t got;
	while (!is_whole(ret_answer) && (got = recv(fd, part, sizeof(part), 0)) > 0)
		buf_add(ret_answer, part, (size_t)got);
	(void)close(fd);
	if (ret_answer->data)
		(void)sscanf(ret_answer->data, "HTTP/1.%*d %d", &status);
	return status;
}

static int
request(const struct fixture *f, const char *head, const char *body, size_t size)
{
	AUTO_BUF struct buf answer = {0};
	int fd = open_connection(f);
	send_all(fd, head, strlen(head));
	send_all(fd, body, size);
	return read_answer(fd, &answer);
}

/* A whole request of this age, the answer's body in *ret_answer; spoil: the signature is another one. */
static int
post(const struct fixture *f, const char *body, int64_t age_s, bool spoil, struct buf *ret_answer)
{
	char hex[129];
	AUTO_FREE char *timestamp = xasprintf("%lld", (long long)(time_now_ms() / 1000 - age_s));
	sign(f, timestamp, body, strlen(body), hex);
	hex[3] = spoil ? (hex[3] == '0' ? '1' : '0') : hex[3];
	AUTO_FREE char *head =
		xasprintf("POST / HTTP/1.1\r\nHost: bot.test\r\nContent-Type: application/json\r\n"
				  "X-Signature-Ed25519: %s\r\nX-Signature-Timestamp: %s\r\nContent-Length: %zu\r\n\r\n",
			hex, timestamp, strlen(body));
	int fd = open_connection(f);
	send_all(fd, head, strlen(head));
	/* In two pieces: what is signed is what they make together. */
	send_all(fd, body, strlen(body) / 2);
	send_all(fd, body + strlen(body) / 2, strlen(body) - strlen(body) / 2);
	return read_answer(fd, ret_answer);
}

static int
post_status(const struct fixture *f, const char *body, int64_t age_s, bool spoil)
{
	AUTO_BUF struct buf answer = {0};
	return post(f, body, age_s, spoil, &answer);
}

static void
await_interactions(struct fixture *f, unsigned count)
{
	for (unsigned ms = 0; f->interactions < count && ms < PATIENCE_MS; ms += STEP_MS)
		(void)kettle_fake_run(f->fake, NULL, NULL, STEP_MS);
	assert_int_equal(f->interactions, count);
}

static void
checks_signatures(void **state)
{
	struct fixture *f = *state;
	struct signature_key *key = NULL;
	char hex[129];
	static const char *const wrong_keys[] = {
		"", "12", "zz", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0"};
	static const char *const wrong_times[] = {
		"", "-1", "+1000", " 1000", "1000x", "99999999999999999999", "0x3e8", "1000.0"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong_keys); i++)
		assert_int_equal(signature_key_new(wrong_keys[i], &key, NULL), KETTLE_EINVAL);
	assert_int_equal(signature_key_new(f->public_key, &key, NULL), 0);
	sign(f, "1000", "body", 4, hex);
	assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1000, 300), 0);
	assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1300, 300), 0);
	assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1301, 300), KETTLE_EACCES);
	assert_int_equal(signature_check(key, hex, "1000", "body", 4, 699, 300), KETTLE_EACCES);
	assert_int_equal(signature_check(key, hex, "1001", "body", 4, 1000, 300), KETTLE_EACCES);
	assert_int_equal(signature_check(key, hex, "1000", "bodY", 4, 1000, 300), KETTLE_EACCES);
	assert_int_equal(signature_check(key, hex, "1000", "body", 3, 1000, 300), KETTLE_EACCES);
	assert_int_equal(signature_check(key, hex, "100", "0body", 5, 300, 300), 0); /* what Discord's scheme cannot tell */
	for (size_t i = 0; i < ARRAY_SIZE(wrong_times); i++) {
		char signed_hex[129];
		sign(f, wrong_times[i], "body", 4, signed_hex);
		assert_int_equal(signature_check(key, signed_hex, wrong_times[i], "body", 4, 1000, 300), KETTLE_EACCES);
	}
	for (size_t i = 0; i < 128; i++) {
		char kept = hex[i];
		hex[i] = 'g';
		assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1000, 300), KETTLE_EACCES);
		hex[i] = kept == '0' ? '1' : '0';
		assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1000, 300), KETTLE_EACCES);
		hex[i] = kept;
	}
	hex[127] = '\0';
	assert_int_equal(signature_check(key, hex, "1000", "body", 4, 1000, 300), KETTLE_EACCES);
	signature_key_free(key);
}

static void
takes_interactions(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf answer = {0};
	assert_int_equal(start(f, "127.0.0.1:0"), 0);
	assert_int_equal(post(f, "{\"type\":1}", 0, false, &answer), 200);
	assert_non_null(strstr(answer.data, "\r\n\r\n{\"type\":1}"));
	AUTO_FREE char *command = xasprintf(COMMAND, 7), *other = xasprintf(COMMAND, 8);
	assert_int_equal(post_status(f, command, 0, false), 202);
	await_interactions(f, 1);
	assert_int_equal(f->last_id, 7);
	/* Again, as whoever has read it could send it. */
	assert_int_equal(post_status(f, command, 0, false), 202);
	assert_int_equal(post_status(f, other, 100, false), 202);
	await_interactions(f, 2);
	assert_int_equal(f->last_id, 8);
	assert_int_equal(post_status(f, command, 0, true), 401);
	assert_int_equal(post_status(f, "{\"type\":1}", 0, true), 401);
	assert_int_equal(post_status(f, command, 1000, false), 401);
	assert_int_equal(post_status(f, command, -1000, false), 401);
	/* Signed, but nonsense. */
	static const char *const nonsense[] = {"x", "[]", "{}", "{\"type\":\"2\"}", "{\"type\":2}", "{\"type\":2,\"id\":5}",
		"{\"type\":2,\"id\":\"x\"}", "{\"type\":2,\"id\":\"-5\"}", "{\"type\":2,\"id\":\"9\"",
		"{\"type\":2,\"id\":\"\xff\"}"};
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++)
		assert_int_equal(post_status(f, nonsense[i], 0, false), 400);
	AUTO_FREE char *large = xmalloc(ENDPOINT_BODY_MAX + 1);
	(void)memset(large, ' ', ENDPOINT_BODY_MAX);
	(void)memcpy(large, command, strlen(command));
	large[ENDPOINT_BODY_MAX] = '\0';
	assert_int_equal(post_status(f, large, 0, false), 202);
	assert_int_equal(f->interactions, 2);
}

static void
refuses_other_requests(void **state)
{
	struct fixture *f = *state;
#define SIGNED "X-Signature-Ed25519: 00\r\nX-Signature-Timestamp: 1\r\n"
	static const struct {
		const char *head;
		int status;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 404},
		{"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 405},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 401},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 2\r\n\r\n{}", 401},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "\r\n", 411},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 0\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: -1\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 1048577\r\n\r\n", 413},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 5x\r\n\r\n{}", 400},
		{"POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 99999999999999999999\r\n\r\n", 413},
		{"nonsense\r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
		 "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
			0},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
			0},
	};
	assert_int_equal(start(f, "127.0.0.1:0"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = request(f, cases[i].head, "", 0);
		/* 0: whatever the library says, as long as it is no success. */
		if (cases[i].status ? status != cases[i].status : status > 0 && status < 300)
			fail_msg("%s: %d", cases[i].head, status);
	}
	/* A head without an end. */
	AUTO_FREE char *endless = xmalloc(100000);
	(void)memset(endless, 'x', 100000);
	int status = request(f, "POST / HTTP/1.1\r\nX-Long: ", endless, 100000);
	assert_true(status == 0 || status >= 400);
	assert_int_equal(post_status(f, "{\"type\":1}", 0, false), 200);
	assert_int_equal(f->interactions, 0);
}

/* As many connections as there may be, all silent; they end by themselves, or with the endpoint. */
static void
bounds_connections(void **state)
{
	struct fixture *f = *state;
	int fds[ENDPOINT_CONNECTIONS_MAX + 50];
	char byte;
	size_t ended = 0;
	f->request_s = 2;
	assert_int_equal(start(f, "127.0.0.1:0"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = open_connection(f);
	/* Those over the limit are closed at once. */
	for (size_t i = ENDPOINT_CONNECTIONS_MAX; i < ARRAY_SIZE(fds); i++)
		ended += recv(fds[i], &byte, 1, 0) <= 0;
	assert_int_equal(ended, 50);
	assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
	/* The first one is given up after a time, and there is room again. */
	assert_int_equal(recv(fds[0], &byte, 1, 0), 0);
	for (size_t i = 1; i < ENDPOINT_CONNECTIONS_MAX; i++)
		assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
	assert_int_equal(post_status(f, "{\"type\":1}", 0, false), 200);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	/* One that is in the middle of its request at the end. */
	int fd = open_connection(f);
	const char *head = "POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 9\r\n\r\n{";
	send_all(fd, head, strlen(head));
	stop_endpoint(f);
	(void)close(fd);
}

/* Without a proxy, with a certificate of its own; HTTP/2 is not offered. */
static void
serves_tls(void **state)
{
	struct fixture *f = *state;
	const unsigned char wanted[] = "\x02h2\x08http/1.1", *chosen = NULL;
	unsigned chosen_size = 0;
	char answer[200] = "";
	AUTO_FREE char *pem = path_join(folder, "tls.pem");
	f->certificate = pem;
	assert_int_equal(start(f, "127.0.0.1:0"), 0);
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *tls = SSL_new(context);
	int fd = open_connection(f);
	const char *head = "POST / HTTP/1.1\r\nHost: x\r\n" SIGNED "Content-Length: 2\r\n\r\n{}";
	assert_int_equal(SSL_set_alpn_protos(tls, wanted, sizeof(wanted) - 1), 0);
	assert_int_equal(SSL_set_fd(tls, fd), 1);
	assert_int_equal(SSL_connect(tls), 1);
	SSL_get0_alpn_selected(tls, &chosen, &chosen_size);
	assert_int_equal(chosen_size, 8);
	assert_memory_equal(chosen, "http/1.1", 8);
	assert_int_equal(SSL_write(tls, head, (int)strlen(head)), strlen(head));
	assert_true(SSL_read(tls, answer, sizeof(answer) - 1) > 0);
	assert_int_equal(strncmp(answer, "HTTP/1.1 401", 12), 0);
	SSL_free(tls);
	SSL_CTX_free(context);
	(void)close(fd);
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

static void
refuses_rules(void **state)
{
	struct fixture *f = *state;
	static const char *const wrong[] = {
		"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1:80", "[::1]", "[::1:80", "[]:80"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(start(f, wrong[i]), KETTLE_EINVAL);
	assert_int_equal(start(f, "localhost:0"), KETTLE_EINVAL);
	assert_int_equal(start(f, "127.0.0.1:0"), 0);
	struct endpoint *first = f->endpoint;
	AUTO_FREE char *same = xasprintf("127.0.0.1:%d", endpoint_port(first));
	assert_int_equal(start(f, same), KETTLE_EUNAVAIL);
	assert_int_equal(start(f, "192.0.2.1:80"), KETTLE_EUNAVAIL);
	f->certificate = "/nonexistent.pem";
	assert_int_equal(start(f, "127.0.0.1:0"), KETTLE_EUNAVAIL);
	f->endpoint = first;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(checks_signatures, setup, teardown),
	cmocka_unit_test_setup_teardown(takes_interactions, setup, teardown),
	cmocka_unit_test_setup_teardown(refuses_other_requests, setup, teardown),
	cmocka_unit_test_setup_teardown(bounds_connections, setup, teardown),
	cmocka_unit_test_setup_teardown(serves_tls, setup, teardown),
	cmocka_unit_test_setup_teardown(refuses_rules, setup, teardown),
};

UNIT_TESTS(test_gateway_endpoint, .words = "waiting tsan", .setup = world_setup, .teardown = world_teardown);
