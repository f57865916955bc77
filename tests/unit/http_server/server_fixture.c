/* SPDX-License-Identifier: MIT */
/* A server with a frontend that does what the path says, and its clients over real sockets. */
#include <config.h>

#include "unit/http_server/server_fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

#define STEP_MS 5
#define START_UTC_MS INT64_C(1800000000000)

static void
count(unsigned *counter)
{
	(void)__atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
}

/* ---- the frontend ---- */

static bool
is_below(const struct http_request *request, const char *name)
{
	const char *first = http_segment(request, 0);
	return first && strcmp(first, name) == 0;
}

static size_t
on_head(void *arg, struct http_request *request)
{
	static const struct http_header why[] = {{"X-Why", "because"}, {NULL, NULL}};
	assert_null(http_context(request));
	http_set_context(request, arg);
	if (is_below(request, "forbidden"))
		http_answer(request, 403, http_content_new("text/plain", "no", 2, why));
	return is_below(request, "large") ? LARGE : SMALL;
}

static void
echo(struct http_request *request)
{
	AUTO_BUF struct buf text = {0};
	size_t size;
	const char *body = http_body(request, &size), *host = http_header_value(request, "hOST"), *segment;
	buf_printf(&text, "%d %s?%s", (int)http_method(request), http_path(request), http_query(request));
	for (size_t i = 0; (segment = http_segment(request, i)); i++)
		buf_printf(&text, " [%s]", segment);
	buf_printf(&text, " %s %s %s %zu:", host ? host : "-", http_address(request),
		http_is_secure(request) ? "secure" : "plain", size);
	buf_add(&text, body, size);
	assert_int_equal(body[size], '\0');
	http_answer(request, 200, http_content_new("text/plain", text.data, text.len, NULL));
}

static void
echo_on_loop(void *arg)
{
	echo(arg);
}

static void
send_file(const struct fixture *f, struct http_request *request)
{
	AUTO_FREE char *path = scratch_write(f->folder, "file", "a file");
	http_answer(request, 200, http_content_file("text/plain", open(path, O_RDONLY | O_CLOEXEC), 6, NULL));
}

static void
on_request(void *arg, struct http_request *request)
{
	struct fixture *f = arg;
	assert_ptr_equal(http_context(request), f);
	if (is_below(request, "echo") || is_below(request, "large")) {
		echo(request);
	} else if (is_below(request, "loop")) {
		assert_int_equal(kettle_fake_host(f->fake)->post(kettle_fake_host(f->fake), echo_on_loop, request), 0);
	} else if (is_below(request, "file")) {
		send_file(f, request);
	} else if (is_below(request, "none") || is_below(request, "same")) {
		http_answer(request, is_below(request, "none") ? 204 : 304, http_content_new(NULL, "", 0, NULL));
	} else {
		(void)pthread_mutex_lock(&f->lock);
		assert_true(f->held_count < HELD_MAX);
		f->held[f->held_count++] = request;
		(void)pthread_mutex_unlock(&f->lock);
	}
	count(&f->requests);
}

static void
on_gone(void *arg, struct http_request *request)
{
	struct fixture *f = arg;
	bool announced = false;
	(void)pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < f->held_count; i++)
		announced = announced || f->held[i] == request;
	(void)pthread_mutex_unlock(&f->lock);
	count(announced ? &f->gone : &f->gone_early);
}

static void
on_answered(void *arg, const struct http_record *record)
{
	struct fixture *f = arg;
	(void)pthread_mutex_lock(&f->lock);
	f->last_status = record->status;
	f->last_bytes = record->bytes;
	(void)snprintf(f->last_path, sizeof(f->last_path), "%s", record->path);
	(void)snprintf(f->last_method, sizeof(f->last_method), "%s", record->method);
	(void)snprintf(f->last_address, sizeof(f->last_address), "%s", record->address);
	(void)pthread_mutex_unlock(&f->lock);
	count(&f->answered);
}

void
on_closed(void *fixture)
{
	count(&((struct fixture *)fixture)->closed);
}

static const struct http_events events = {
	.head = on_head, .request = on_request, .gone = on_gone, .answered = on_answered};

/* ---- the server ---- */

int
server_setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	(void)pthread_mutex_init(&f->lock, NULL);
	f->folder = scratch_make();
	*state = f;
	return kettle_fake_new("web", &f->fake, NULL);
}

int
server_setup_simulated(void **state)
{
	int rc = server_setup(state);
	if (rc == 0)
		kettle_fake_simulate(((struct fixture *)*state)->fake, START_UTC_MS);
	return rc;
}

int
server_try(struct fixture *f, struct kettle_error *err)
{
	if (!f->rules.listen)
		f->rules.listen = "127.0.0.1:0";
	return http_server_start(kettle_fake_host(f->fake), &f->rules, &events, f, &f->server, err);
}

void
server_start(struct fixture *f)
{
	struct kettle_error err = {0};
	if (server_try(f, &err) != 0)
		fail_msg("%s", err.message);
}

static void
on_stopped(void *arg)
{
	((struct fixture *)arg)->stopped = 1;
}

void
server_stop(struct fixture *f)
{
	f->stopped = 0;
	http_server_stop(f->server, on_stopped, f);
	f->server = NULL;
}

void
server_await_stop(struct fixture *f)
{
	/* Not by kettle_fake_run, which lets simulated time jump. */
	while (!f->stopped)
		(void)uv_run(kettle_fake_loop(f->fake), UV_RUN_ONCE);
}

int
server_teardown(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	if (f->server) {
		server_stop(f);
		server_await_stop(f);
	}
	int rc = kettle_fake_free(f->fake, &err);
	if (rc)
		print_message("# %s\n", err.message);
	scratch_remove(f->folder);
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
	return rc;
}

void
await(struct fixture *f, const unsigned *counter, unsigned wanted)
{
	for (unsigned ms = 0; __atomic_load_n(counter, __ATOMIC_ACQUIRE) < wanted && ms < PATIENCE_MS; ms += STEP_MS)
		(void)kettle_fake_run(f->fake, NULL, NULL, STEP_MS);
	assert_int_equal(__atomic_load_n(counter, __ATOMIC_ACQUIRE), wanted);
}

struct http_request *
await_held(struct fixture *f, unsigned index)
{
	struct http_request *request = NULL;
	for (unsigned ms = 0; !request && ms < PATIENCE_MS; ms += STEP_MS) {
		(void)kettle_fake_run(f->fake, NULL, NULL, STEP_MS);
		(void)pthread_mutex_lock(&f->lock);
		request = f->held[index];
		(void)pthread_mutex_unlock(&f->lock);
	}
	assert_non_null(request);
	return request;
}

void
answer_held(struct http_request *request, const char *text)
{
	http_answer(request, 200, http_content_new("text/plain", text, strlen(text), NULL));
}

/* ---- clients ---- */

int
client_open(const struct fixture *f)
{
	const struct sockaddr_in tcp = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)http_server_port(f->server))};
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
	bool is_local = http_server_port(f->server) == 0;
	if (is_local)
		(void)snprintf(local.sun_path, sizeof(local.sun_path), "%s", f->rules.listen + strlen("unix:"));
	int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(connect(fd, is_local ? (const struct sockaddr *)&local : (const struct sockaddr *)&tcp,
						 is_local ? sizeof(local) : sizeof(tcp)),
		0);
	return fd;
}

bool
client_send_bytes(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		data += sent;
		size -= (size_t)sent;
	}
	return true;
}

void
client_send(int fd, const char *text)
{
	(void)client_send_bytes(fd, text, strlen(text));
}

bool
client_fill(int fd, size_t size)
{
	AUTO_FREE char *bytes = xmalloc(size + 1);
	(void)memset(bytes, 'x', size);
	return client_send_bytes(fd, bytes, size);
}

/* Reads more; false: nothing more comes. */
static bool
more(int fd, struct buf *input)
{
	char part[4096];
	ssize_t got = recv(fd, part, sizeof(part), 0);
	if (got > 0)
		buf_add(input, part, (size_t)got);
	return got > 0;
}

static void
drop(struct buf *input, size_t size)
{
	(void)memmove(input->data, input->data + size, input->len - size + 1);
	input->len -= size;
}

static bool
move(int fd, struct buf *input, struct buf *to, size_t size)
{
	while (input->len < size)
		if (!more(fd, input))
			return false;
	if (to)
		buf_add(to, input->data ? input->data : "", size);
	if (size > 0)
		drop(input, size);
	return true;
}

static bool
move_chunks(int fd, struct buf *input, struct buf *to)
{
	for (;;) {
		char *end;
		while (!input->data || !strstr(input->data, "\r\n"))
			if (!more(fd, input))
				return false;
		size_t size = strtoul(input->data, &end, 16);
		drop(input, (size_t)(end - input->data) + 2);
		if (!move(fd, input, to, size) || !move(fd, input, NULL, 2))
			return false;
		if (size == 0)
			return true;
	}
}

int
client_answer(int fd, struct buf *input, struct buf *ret_head, struct buf *ret_body)
{
	AUTO_BUF struct buf head = {0};
	int status = 0;
	const char *end = NULL;
	while (!input->data || !(end = strstr(input->data, "\r\n\r\n")))
		if (!more(fd, input))
			return 0;
	assert_true(move(fd, input, &head, (size_t)(end - input->data) + 4));
	assert_int_equal(sscanf(head.data, "HTTP/1.1 %d", &status), 1);
	if (ret_head)
		buf_add(ret_head, head.data, head.len);
	const char *length = strstr(head.data, "Content-Length: ");
	if (strstr(head.data, "Transfer-Encoding: chunked"))
		return move_chunks(fd, input, ret_body) ? status : 0;
	return move(fd, input, ret_body, length ? strtoul(length + strlen("Content-Length: "), NULL, 10) : 0) ? status : 0;
}

void
client_until(int fd, struct buf *input, const char *text)
{
	while (!input->data || !strstr(input->data, text))
		if (!more(fd, input))
			fail_msg("the connection ended before %s: %s", text, input->data ? input->data : "");
}

bool
client_ended(int fd)
{
	char byte;
	bool ended = recv(fd, &byte, 1, 0) <= 0;
	(void)close(fd);
	return ended;
}

int
client_ask(const struct fixture *f, const char *text)
{
	AUTO_BUF struct buf input = {0};
	int fd = client_open(f);
	client_send(fd, text);
	int status = client_answer(fd, &input, NULL, NULL);
	(void)close(fd);
	return status;
}
