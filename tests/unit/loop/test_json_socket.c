/* SPDX-License-Identifier: MIT */
/* One end of the database's socket against another end that says whatever it likes. */
#include <config.h>

#include "loop/json_socket.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static uv_loop_t loop;
static struct json_socket *peer;
static int other; /* the other end */
static int closed, messages;
static json_t *last;
static bool close_at_message, ready;
static struct json_socket_pool pool;
static size_t held_by_others;

static void
on_message(void *arg, const json_t *message, size_t size)
{
	(void)size;
	assert_ptr_equal(arg, &loop);
	assert_int_equal(closed, 0);
	messages++;
	json_decref(last);
	last = json_deep_copy(message);
	if (close_at_message)
		json_socket_close(peer);
}

static void
on_closed(void *arg)
{
	assert_ptr_equal(arg, &loop);
	closed++;
}

static bool
is_ready(void *arg)
{
	assert_ptr_equal(arg, &loop);
	return ready;
}

static const struct json_socket_events events = {
	.message = on_message, .ready = is_ready, .closed = on_closed, .pool = &pool, .most_values = 100};

static int
setup(void **state)
{
	int fds[2];
	struct kettle_error err = {0};
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	closed = messages = 0;
	pool = (struct json_socket_pool){0};
	held_by_others = 0;
	last = NULL;
	close_at_message = false;
	ready = true;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	other = fds[1];
	return json_socket_open(&loop, fds[0], &events, &loop, &peer, &err);
}

static int
teardown(void **state)
{
	(void)state;
	if (!closed)
		json_socket_close(peer);
	while (uv_run(&loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(closed, 1);
	assert_int_equal(pool.held, held_by_others);
	assert_null(pool.peers);
	assert_int_equal(uv_loop_close(&loop), 0);
	json_decref(last);
	if (other >= 0)
		close(other);
	return 0;
}

static void
on_timer(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

static void
until(const int *what, int count)
{
	bool late = false;
	uv_timer_t timer;
	(void)uv_timer_init(&loop, &timer);
	timer.data = &late;
	(void)uv_timer_start(&timer, on_timer, 20000, 0);
	while (*what < count && !late)
		(void)uv_run(&loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&loop, UV_RUN_NOWAIT);
	assert_false(late);
}

static void
say(const char *text)
{
	assert_int_equal(write(other, text, strlen(text)), strlen(text));
}

/* Small values take much more memory than their text: a line of too many is not read. Text may hold what it likes. */
static void
test_values(void **state)
{
	(void)state;
	char text[300] = "";
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = ",[{"[i % 3];
	AUTO_FREE char *long_text = xasprintf("{\"a\\\"b\": \"%s\\\\\", \"c\": [1]}\n", text);
	say(long_text);
	until(&messages, 1);
	assert_int_equal(json_string_length(json_object_get(last, "a\"b")), sizeof(text));
	for (size_t most = 98; most <= 99; most++) {
		say("{\"a\": [0");
		for (size_t i = 0; i < most; i++)
			say(",0");
		say("]}\n");
		until(most == 98 ? &messages : &closed, most == 98 ? 2 : 1);
	}
	assert_int_equal(messages, 2);
}

static void
test_messages(void **state)
{
	(void)state;
	say("{\"a\": 1}\n{\"a\"");
	until(&messages, 1);
	say(": 2}\n");
	until(&messages, 2);
	assert_int_equal(json_integer_value(json_object_get(last, "a")), 2);
	json_socket_send(peer, last);
	char text[100] = "";
	assert_int_equal(read(other, text, sizeof(text) - 1), 8);
	assert_string_equal(text, "{\"a\":2}\n");
}

static void
test_nonsense(void **state)
{
	(void)state;
	static const char *const nonsense[] = {
		"words\n", "[]\n", "1\n", "\n", "{\n", "{\"a\":1,\"a\":2}\n", "{\"a\":\"\\u0000\"}\n", "{\"a\":\"\xff\"}\n"};
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		say(nonsense[i]);
		until(&closed, 1);
		assert_int_equal(messages, 0);
		if (i + 1 == ARRAY_SIZE(nonsense))
			break;
		teardown(NULL);
		setup(NULL);
	}
}

/* So deep that a parser without a bound would use up its stack. */
static void
test_deep(void **state)
{
	(void)state;
	AUTO_FREE char *text = malloc(200000);
	memset(text, '[', 200000);
	memcpy(text, "{\"a\":", 5);
	text[199998] = '\n';
	text[199999] = '\0';
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	for (size_t at = 0; at < 199999 && !closed;) {
		ssize_t got = write(other, text + at, 199999 - at);
		at += got > 0 ? (size_t)got : 0;
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	}
	until(&closed, 1);
}

static void
test_endless_line(void **state)
{
	(void)state;
	static char chunk[1 << 20];
	size_t sent = 0;
	memset(chunk, 'x', sizeof(chunk));
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	while (!closed && sent < (size_t)JSON_SOCKET_MAX_LINE + (4u << 20)) {
		ssize_t got = write(other, chunk, sizeof(chunk));
		sent += got > 0 ? (size_t)got : 0;
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	}
	until(&closed, 1);
	assert_true(sent > JSON_SOCKET_MAX_LINE / 2);
}

static void
test_end(void **state)
{
	(void)state;
	say("{\"half\": ");
	close(other);
	other = -1;
	until(&closed, 1);
	assert_int_equal(messages, 0);
}

/* The other end has gone while something is sent to it. */
static void
test_send_to_nobody(void **state)
{
	(void)state;
	AUTO_JSON json_t *message = json_pack("{s:i}", "a", 1);
	close(other);
	other = -1;
	for (int i = 0; i < 100; i++)
		json_socket_send(peer, message);
	until(&closed, 1);
}

static void
test_no_message(void **state)
{
	(void)state;
	json_socket_send(peer, NULL);
	until(&closed, 1);
}

/* Nothing is read any more once a message has closed it, though the next one is here already. */
static void
test_close_at_message(void **state)
{
	(void)state;
	close_at_message = true;
	say("{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n");
	until(&closed, 1);
	assert_int_equal(messages, 1);
}

/* Who does not read is dropped, and does not use up the memory. */
static void
test_slow_reader(void **state)
{
	(void)state;
	AUTO_FREE char *text = malloc(1 << 20);
	memset(text, 'x', (1 << 20) - 1);
	text[(1 << 20) - 1] = '\0';
	AUTO_JSON json_t *message = json_pack("{s:s}", "a", text);
	int sent = 0;
	while (!closed && sent < 200) {
		json_socket_send(peer, message);
		sent++;
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	}
	until(&closed, 1);
	assert_true(sent > 60 && sent < 80);
}

/* All connections together hold a bounded number of bytes: what goes over it closes the one that holds most. */
static void
test_held(void **state)
{
	(void)state;
	AUTO_FREE char *text = malloc(2001);
	memset(text, ' ', 2000);
	text[2000] = '\0';
	pool.held = held_by_others = JSON_SOCKET_MAX_HELD - 1000;
	say("{\"a\": 1}\n{\"b\": ");
	until(&messages, 1);
	assert_int_equal(pool.held, held_by_others + 6);
	say("2}\n");
	until(&messages, 2);
	assert_int_equal(pool.held, held_by_others);
	assert_int_equal(closed, 0);
	say(text);
	until(&closed, 1);
}

static void
on_other_closed(void *arg)
{
	++*(int *)arg;
}

/* One that holds much and never goes on does not keep the others out. */
static void
test_held_by_another(void **state)
{
	(void)state;
	const struct json_socket_events its_events = {.message = on_message, .closed = on_other_closed, .pool = &pool};
	struct kettle_error err = {0};
	struct json_socket *idle;
	int fds[2], idle_closed = 0;
	char text[801];
	memset(text, ' ', 800);
	text[800] = '\0';
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(json_socket_open(&loop, fds[0], &its_events, &idle_closed, &idle, &err), 0);
	pool.held = held_by_others = JSON_SOCKET_MAX_HELD - 1000;
	assert_int_equal(write(fds[1], text, 800), 800);
	while (pool.held < held_by_others + 800)
		(void)uv_run(&loop, UV_RUN_ONCE);
	text[300] = '\0';
	say(text);
	until(&idle_closed, 1);
	assert_int_equal(pool.held, held_by_others + 300);
	say("{}\n");
	until(&messages, 1);
	assert_int_equal(closed, 0);
	close(fds[1]);
}

/* What was sent before the end arrives, whole; what is sent after it does not. */
static void
test_finish(void **state)
{
	(void)state;
	AUTO_FREE char *text = malloc(3 << 20), *got = malloc(4 << 20);
	memset(text, 'x', (3 << 20) - 1);
	text[(3 << 20) - 1] = '\0';
	AUTO_JSON json_t *message = json_pack("{s:s}", "a", text);
	json_socket_send(peer, message);
	json_socket_finish(peer);
	json_socket_finish(peer);
	json_socket_send(peer, message);
	size_t total = 0;
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	for (ssize_t size = 1; size != 0;) {
		(void)uv_run(&loop, UV_RUN_NOWAIT);
		size = read(other, got, 4 << 20);
		total += size > 0 ? (size_t)size : 0;
	}
	until(&closed, 1);
	assert_int_equal(total, (3 << 20) + 8);
}

/* Writes as many lines as go; the number. */
static int
say_many(void)
{
	int count = 0;
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	while (write(other, "{\"a\": 1}\n", 9) == 9)
		count++;
	return count;
}

/* A turn of the loop takes a share of what waits. */
static void
test_share(void **state)
{
	(void)state;
	int said = say_many();
	assert_true(said > 2 * JSON_SOCKET_TURN_MESSAGES);
	for (int before = 0; messages < said; before = messages) {
		(void)uv_run(&loop, UV_RUN_NOWAIT);
		assert_true(messages - before <= JSON_SOCKET_TURN_MESSAGES);
	}
	say("{\"a\": 2}\n");
	until(&messages, said + 1);
}

/* What waits for a peer that is not ready stays where it is, and nothing more is read. */
static void
test_not_ready(void **state)
{
	(void)state;
	int said = say_many();
	ready = false;
	for (int i = 0; i < 10; i++) {
		(void)uv_run(&loop, UV_RUN_NOWAIT);
		json_socket_resume(peer);
	}
	assert_int_equal(messages, 0);
	int more = say_many();
	assert_int_equal(say_many(), 0);
	ready = true;
	json_socket_resume(peer);
	json_socket_resume(peer);
	until(&messages, said + more);
	ready = false;
	say("{\"a\": 2}\n");
	(void)uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(messages, said + more);
	json_socket_close(peer);
	json_socket_resume(peer);
}

/* What is sent to a peer that takes nothing holds up what it says; taking it goes on. */
static void
test_answers_first(void **state)
{
	(void)state;
	AUTO_FREE char *text = malloc(3 << 20);
	memset(text, 'x', (3 << 20) - 1);
	text[(3 << 20) - 1] = '\0';
	AUTO_JSON json_t *message = json_pack("{s:s}", "a", text);
	json_socket_send(peer, message);
	say("{\"a\": 1}\n");
	for (int i = 0; i < 10; i++)
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(messages, 0);
	(void)fcntl(other, F_SETFL, O_NONBLOCK);
	for (int got = 0; messages == 0; got += read(other, text, 65536) > 0) {
		assert_true(got < 100);
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	}
}

/* ---- long lines ---- */

static void
wait_for_go(uv_work_t *work)
{
	uv_sem_wait(work->data);
}

static int gone, second_closed;

static void
on_gone(uv_work_t *work, int status)
{
	(void)work, (void)status;
	gone++;
}

static void
on_second_closed(void *arg)
{
	(void)arg;
	second_closed++;
}

#define POOL_THREADS 4 /* of libuv */

/* Writes a line that is long: the start of its object, so many bytes of a string, its end. */
static void
say_long(int to, const char *start, const char *end)
{
	AUTO_FREE char *text = malloc(JSON_SOCKET_LONG);
	memset(text, 'x', JSON_SOCKET_LONG);
	const struct {
		const char *data;
		size_t size;
	} parts[] = {{start, strlen(start)}, {text, JSON_SOCKET_LONG}, {end, strlen(end)}};
	(void)fcntl(to, F_SETFL, O_NONBLOCK);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (size_t at = 0; at < parts[i].size && !closed;) {
			ssize_t got = write(to, parts[i].data + at, parts[i].size - at);
			at += got > 0 ? (size_t)got : 0;
			(void)uv_run(&loop, UV_RUN_NOWAIT);
		}
}

/* A long line is not read on the loop: others go on meanwhile, what is behind it waits, and one at a time is read. */
static void
test_long(void **state)
{
	(void)state;
	const struct json_socket_events its_events = {.message = on_message, .closed = on_second_closed, .pool = &pool};
	struct kettle_error err = {0};
	struct json_socket *second;
	uv_work_t works[POOL_THREADS];
	uv_sem_t go;
	int fds[2];
	gone = second_closed = 0;
	assert_int_equal(uv_sem_init(&go, 0), 0);
	for (size_t i = 0; i < POOL_THREADS; i++) {
		works[i].data = &go;
		assert_int_equal(uv_queue_work(&loop, &works[i], wait_for_go, on_gone), 0);
	}
	say_long(other, "{\"a\": \"", "\"}\n{\"b\": 1}\n");
	for (int i = 0; i < 10; i++)
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	bool waited = messages == 0 && pool.reading && pool.held >= JSON_SOCKET_LONG;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(json_socket_open(&loop, fds[0], &its_events, &loop, &second, &err), 0);
	assert_int_equal(write(fds[1], "{}\n", 3), 3);
	for (int i = 0; i < 10; i++)
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	waited = waited && messages == 1;
	say_long(fds[1], "{\"c\": \"", "\"}\n");
	for (size_t i = 0; i < POOL_THREADS; i++)
		uv_sem_post(&go);
	until(&gone, POOL_THREADS);
	until(&messages, 4);
	assert_true(json_object_get(last, "c") || json_object_get(last, "b"));
	assert_false(pool.reading);
	assert_int_equal(pool.held, 0);
	json_socket_close(second);
	until(&second_closed, 1);
	close(fds[1]);
	uv_sem_destroy(&go);
	assert_true(waited);
}

/* One that is no message ends its peer, like a short one; and a peer may be closed while its line is being read. */
static void
test_long_ends(void **state)
{
	(void)state;
	say_long(other, "{\"a\": \"", "\n");
	until(&closed, 1);
	assert_int_equal(messages, 0);
	teardown(NULL);
	setup(NULL);
	say_long(other, "{\"a\": \"", "\"}\n");
	json_socket_close(peer);
	until(&closed, 1);
	assert_true(messages <= 1);
	assert_false(pool.reading);
}

/* ---- addresses ---- */

static void
try_address(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct kettle_error err = {0};
	AUTO_FD int dir = -1, fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct stat info;
	assert_int_equal(json_socket_address(path, address.sun_path, &dir, &err), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(stat(path, &info), 0);
}

static void
test_address(void **state)
{
	(void)state;
	char *dir = scratch_make(), name[120];
	memset(name, 'n', sizeof(name));
	name[60] = '\0';
	AUTO_FREE char *first = path_join(dir, name), *second = path_join(first, name), *third = path_join(second, name);
	AUTO_FREE char *near = path_join(dir, "k.sock"), *far = path_join(third, "k.sock");
	struct kettle_error err = {0};
	char address[108];
	int fd = -1;
	try_address(near);
	assert_int_equal(json_socket_address(far, address, &fd, &err), KETTLE_EINVAL); /* there is no such folder yet */
	assert_int_equal(file_mkdirs(third, 0700, &err), 0);
	try_address(far);
	name[60] = 'n';
	name[119] = '\0';
	AUTO_FREE char *longest = path_join(third, name);
	assert_int_equal(json_socket_address(longest, address, &fd, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "too long"));
	assert_int_equal(fd, -1);
	scratch_remove(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_messages),
	TEST(test_values),
	TEST(test_nonsense),
	TEST(test_deep),
	TEST(test_endless_line),
	TEST(test_end),
	TEST(test_send_to_nobody),
	TEST(test_no_message),
	TEST(test_close_at_message),
	TEST(test_slow_reader),
	TEST(test_held),
	TEST(test_held_by_another),
	TEST(test_finish),
	TEST(test_share),
	TEST(test_not_ready),
	TEST(test_answers_first),
	TEST(test_long),
	TEST(test_long_ends),
	cmocka_unit_test(test_address),
};

UNIT_TESTS(test_json_socket);
