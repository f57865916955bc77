/* SPDX-License-Identifier: MIT */
/* Bodies that come in parts, as of a stream of events: in time and in order, bounded, cancelled, silent, broken off. */
#include <config.h>

#include "lib/unit_test.h"
#include "unit/http/http_fixture.h"

#define LONG_MS 100000 /* far more than a test takes */
#define BIG 16000000

/* Lets the stream send a text. */
static void
push(struct fixture *f, const char *name, const char *text)
{
	AUTO_OUTCOME struct outcome o = {0};
	AUTO_FREE char *path = xasprintf("/push/%s?%s", name, text);
	get(f, address("http", path), &o);
	assert_int_equal(o.status, 204);
}

/* Until the server of /held cannot send: without the loop, which takes nothing meanwhile. */
static void
wait_blocked(void)
{
	char line[100];
	assert_non_null(fgets(line, sizeof(line), world.server));
	assert_string_equal(line, "blocked\n");
}

static void
test_as_they_come(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request request = REQUEST(.url = address("http", "/stream/come"), .on_part = note_part);
	(void)send_request(f, &request, &o);
	push(f, "come", "one");
	run_until(f, &o.received, 3);
	assert_string_equal(o.body.data, "one");
	push(f, "come", "two");
	push(f, "come", "three");
	run_until(f, &o.received, 11);
	assert_string_equal(o.body.data, "onetwothree");
	assert_int_equal(o.calls, 0);
	push(f, "come", "end");
	run_until(f, &o.calls, 1);
	assert_int_equal(o.status, 200);
	assert_int_equal(o.size, 11);
	assert_false(o.in_memory);
	assert_string_equal(o.body.data, "onetwothree");
	AUTO_JSON json_t *seen = server_saw(f, "/stream/come");
	assert_null(json_object_get(json_object_get(json_object_get(seen, "last"), "headers"), "accept-encoding"));
}

/* What the loop does not take is not read: neither memory nor a part grows. */
static void
test_bounded(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request request = REQUEST(.url = address("http", "/held/16000000"), .on_part = note_part,
		.max_body = UINT64_MAX, .idle_ms = LONG_MS);
	(void)send_request(f, &request, &o);
	wait_blocked();
	run_until(f, &o.calls, 1);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.size, BIG);
	assert_int_equal(o.received, BIG);
	assert_int_equal(strspn(o.body.data, "x"), BIG);
	assert_true(o.largest <= HTTP_PARTS_MAX);
	/* A limit is one, whatever was taken before. */
	outcome_free(&o);
	request.max_body = 1000000;
	request.url = address("http", "/endless");
	(void)send_request(f, &request, &o);
	run_until(f, &o.calls, 1);
	assert_int_equal(o.code, KETTLE_ETOOBIG);
	assert_true(o.received <= 1000000);
}

struct cancelling {
	struct fixture *f;
	uint64_t id;
	int parts;
};

static void
cancel_itself(void *arg, const void *data, size_t size)
{
	struct cancelling *cancelling = arg;
	(void)data;
	(void)size;
	cancelling->parts++;
	http_cancel(cancelling->f->http, cancelling->f, cancelling->id);
}

static void
never(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	(void)arg;
	(void)err;
	(void)answer;
	fail_msg("done of a cancelled request");
}

static void
test_cancel(void **state)
{
	struct fixture *f = *state;
	struct cancelling cancelling = {.f = f};
	const struct kettle_http_request request = REQUEST(.url = address("http", "/endless"), .on_part = cancel_itself,
		.done = never, .arg = &cancelling, .max_body = UINT64_MAX, .idle_ms = LONG_MS);
	assert_int_equal(http_send(f->http, f, &request, &cancelling.id, NULL), 0);
	run_until(f, &cancelling.parts, 1);
	assert_int_equal(http_left(f->http), 0);
	run_for(f, 100);
	assert_int_equal(cancelling.parts, 1);
	/* One whose body has paused, since the loop takes nothing. */
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request held = REQUEST(.url = address("http", "/held/16000000"), .on_part = note_part,
		.max_body = UINT64_MAX, .idle_ms = LONG_MS);
	uint64_t id = send_request(f, &held, &o);
	wait_blocked();
	http_cancel(f->http, f, id);
	run_for(f, 100);
	assert_int_equal(o.received, 0);
	assert_int_equal(o.calls, 0);
}

/* total_ms is for the time before the body, idle_ms for each silence in it. */
static void
test_idle(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request request =
		REQUEST(.url = address("http", "/stream/idle"), .on_part = note_part, .total_ms = 200, .idle_ms = LONG_MS);
	push(f, "idle", "a");
	(void)send_request(f, &request, &o);
	run_until(f, &o.received, 1);
	run_for(f, 400);
	assert_int_equal(o.calls, 0);
	push(f, "idle", "b");
	push(f, "idle", "end");
	run_until(f, &o.calls, 1);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.body.data, "ab");
	static const struct {
		const char *path, *words;
		uint32_t idle_ms;
	} late[] = {{"/stream/mute", "has sent nothing for 150 ms", 150},
		{"/half?secret", "has sent nothing for 150 ms", 150},
		{"/silent?secret", "did not answer completely within 200 ms", LONG_MS}};
	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		outcome_free(&o);
		request.url = address("http", late[i].path);
		request.idle_ms = late[i].idle_ms;
		request.retries = 3;
		(void)send_request(f, &request, &o);
		run_until(f, &o.calls, 1);
		assert_int_equal(o.code, KETTLE_EUNAVAIL);
		if (!strstr(o.sentence, late[i].words) || strstr(o.sentence, "secret"))
			fail_msg("%s", o.sentence);
	}
	push(f, "mute", "break");
}

static void
test_broken(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request request =
		REQUEST(.url = address("http", "/stream/broken"), .on_part = note_part, .retries = 5);
	push(f, "broken", "a");
	push(f, "broken", "break");
	exchange(f, &request, &o);
	assert_int_equal(o.code, KETTLE_EIO);
	assert_string_equal(o.body.data, "a");
	AUTO_JSON json_t *seen = server_saw(f, "/stream/broken");
	assert_int_equal(member_int(seen, "count"), 1);
	/* An answer of another status is no stream, nor is a redirect on the way. */
	request.url = address("http", "/status/404");
	exchange(f, &request, &o);
	assert_int_equal(o.status, 404);
	assert_int_equal(o.received, 0);
	assert_string_equal(o.body.data, "status");
	request.url = address("http", "/redirect/302?/bytes/5");
	request.max_redirects = 1;
	exchange(f, &request, &o);
	assert_int_equal(o.received, 5);
	assert_string_equal(o.body.data, "xxxxx");
}

static void
test_malformed(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	const struct kettle_http_request requests[] = {
		REQUEST(.url = "http://127.0.0.1:1/", .on_part = note_part, .answer_file = "/nowhere"),
		REQUEST(.url = "http://127.0.0.1:1/", .idle_ms = 1)};
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		assert_int_equal(http_send(f->http, f, &requests[i], NULL, &err), KETTLE_EINVAL);
		assert_sentence(err.message);
	}
	/* A caller of an older version has no such members: what follows its struct is not read. */
	AUTO_OUTCOME struct outcome o = {0};
	struct kettle_http_request old = requests[1];
	old.size = offsetof(struct kettle_http_request, on_part);
	old.url = address("http", "/echo");
	exchange(f, &old, &o);
	assert_int_equal(o.status, 200);
}

/* A close ends a stream without a callback, whatever waits. */
static void
test_close(void **state)
{
	struct fixture *f = *state;
	struct outcome o = {0};
	struct kettle_http_request request = REQUEST(.url = address("http", "/held/16000000"), .on_part = note_part,
		.max_body = UINT64_MAX, .idle_ms = LONG_MS);
	(void)send_request(f, &request, &o);
	wait_blocked();
	http_close(f->http);
	f->http = http_new(f->io, &f->settings);
	run_for(f, 50);
	assert_int_equal(o.received, 0);
	assert_int_equal(o.calls, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_as_they_come),
	TEST(test_bounded),
	TEST(test_cancel),
	TEST(test_idle),
	TEST(test_broken),
	TEST(test_malformed),
	TEST(test_close),
};

UNIT_TESTS(test_http_parts, .words = "waiting tsan", .setup = world_setup, .teardown = world_teardown);
