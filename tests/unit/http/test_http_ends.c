/* SPDX-License-Identifier: MIT */
/* How requests end that do not come to an answer by themselves: time-outs, cancels, owners that go, the close. */
#include <config.h>

#include "lib/unit_test.h"
#include "unit/http/http_fixture.h"

#include <poll.h>
#include <unistd.h>

#define LONG_MS 100000 /* far more than a test takes */
#define PATIENCE_MS 120000

static void
expect_error(struct fixture *f, struct kettle_http_request *request, const char *words)
{
	AUTO_OUTCOME struct outcome o = {0};
	exchange(f, request, &o);
	if (o.code != KETTLE_EUNAVAIL || !strstr(o.sentence, words))
		fail_msg("%s: %d %s", request->url, o.code ? o.code : o.status, o.sentence);
	assert_null(strstr(o.sentence, "secret"));
}

static void
test_time_outs(void **state)
{
	struct fixture *f = *state;
	struct kettle_http_request silent = REQUEST(.url = address("http", "/silent?secret"), .total_ms = 200);
	expect_error(f, &silent, "did not answer completely within 200 ms");
	silent.url = address("http", "/half?secret");
	expect_error(f, &silent, "did not answer completely within 200 ms");
	/* A server that takes no connection, and one whose other side is no TLS and says nothing. */
	struct kettle_http_request full = REQUEST(.url = address("full", "/?secret"), .connect_ms = 200);
	expect_error(f, &full, "did not accept a connection within 200 ms");
	struct kettle_http_request mute =
		REQUEST(.url = address_at("https", "127.0.0.1", "mute", "/?secret"), .connect_ms = 200);
	expect_error(f, &mute, "did not agree on TLS within 200 ms");
	struct kettle_http_request refused = REQUEST(.url = "http://127.0.0.1:1/?secret");
	expect_error(f, &refused, "127.0.0.1:1 cannot be reached: Connection refused");
	struct kettle_http_request unknown = REQUEST(.url = "http://nowhere.invalid/?secret");
	expect_error(f, &unknown, "The name nowhere.invalid cannot be resolved");
	/* Retries count into the time. */
	struct kettle_http_request again =
		REQUEST(.url = address("http", "/retry/a/503/9?0.15"), .total_ms = 400, .retries = 100);
	AUTO_OUTCOME struct outcome o = {0};
	exchange(f, &again, &o);
	assert_true(o.status == 503 || o.code == KETTLE_EUNAVAIL);
	/* And redirects. */
	struct kettle_http_request redirected =
		REQUEST(.url = address("http", "/redirect/302?/silent"), .total_ms = 200, .max_redirects = 3);
	expect_error(f, &redirected, "did not answer completely within 200 ms");
}

/* A name server that is silent holds its request alone, and neither its end nor the close waits for it. */
static void
test_silent_name_server(void **state)
{
	struct fixture *f = *state;
	AUTO_OUTCOME struct outcome hanging = {0}, o = {0};
	struct kettle_http_request hang = REQUEST(.url = "http://hang.test/?secret", .connect_ms = 300);
	(void)send_request(f, &hang, &hanging);
	for (int i = 0; i < 10; i++)
		get(f, address("http", "/echo"), &o);
	assert_int_equal(o.status, 200);
	run_until(f, &hanging.calls, 1);
	assert_int_equal(hanging.code, KETTLE_EUNAVAIL);
	assert_non_null(strstr(hanging.sentence, "hang.test did not accept a connection within 300 ms"));
	get(f, address("http", "/echo"), &o);
	assert_int_equal(o.status, 200);
	AUTO_OUTCOME struct outcome never = {0};
	hang.connect_ms = hang.total_ms = LONG_MS;
	(void)send_request(f, &hang, &never);
	run_for(f, 50);
}

/* ---- cancels ---- */

struct phase {
	const char *port, *path;
	unsigned wait_ms;
	uint32_t retries;
	const char *answer_file;
};

static void
test_cancel(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *file = xstrdup(in_folder("cancelled"));
	const struct phase phases[] = {
		{.port = "http", .path = "/silent"}, /* before the thread has it */
		{.port = "http", .path = "/silent", .wait_ms = 100},
		{.port = "full", .path = "/", .wait_ms = 100}, /* while it connects */
		{.port = "http", .path = "/half", .wait_ms = 100, .answer_file = file},
		{.port = "http", .path = "/endless", .wait_ms = 100, .answer_file = file},
		{.port = "http", .path = "/retry/cancelled/503/9?50", .wait_ms = 100, .retries = 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		struct outcome o = {0};
		struct kettle_http_request request = REQUEST(.url = address(phases[i].port, phases[i].path),
			.answer_file = phases[i].answer_file, .retries = phases[i].retries, .total_ms = LONG_MS,
			.connect_ms = LONG_MS, .max_body = UINT64_C(1) << 40);
		uint64_t id = send_request(f, &request, &o);
		if (phases[i].wait_ms)
			run_for(f, phases[i].wait_ms);
		assert_int_equal(http_left(f->http), 1);
		http_cancel(f->http, &o, id); /* another owner's */
		http_cancel(f->http, f, id + 1000);
		assert_int_equal(http_left(f->http), 1);
		http_cancel(f->http, f, id);
		http_cancel(f->http, f, id);
		assert_int_equal(http_left(f->http), 0);
		/* Others go on, and the file is gone when the thread has heard of it. */
		AUTO_OUTCOME struct outcome other = {0};
		get(f, address("http", "/echo"), &other);
		assert_int_equal(other.status, 200);
		run_for(f, 20);
		assert_false(is_there(file));
		assert_int_equal(o.calls, 0);
	}
}

/* Until an answer waits for the loop, without running it. */
static void
wait_called(struct fixture *f)
{
	struct pollfd calls = {.fd = uv_backend_fd(&f->loop), .events = POLLIN};
	assert_int_equal(poll(&calls, 1, PATIENCE_MS), 1);
}

struct chain {
	struct fixture *f;
	struct outcome outcome;
	uint64_t ids[3];
	int calls;
};

/* Cancels itself, which is over, and the next one, and sends another. */
static void
cancel_next(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct chain *chain = arg;
	struct kettle_http_request again = REQUEST(.url = address("http", "/echo"), .done = note, .arg = &chain->outcome);
	assert_int_equal(err->code, 0);
	assert_int_equal(answer->status, 200);
	for (size_t i = 0; i < ARRAY_SIZE(chain->ids); i++)
		http_cancel(chain->f->http, chain->f, chain->ids[i]);
	assert_int_equal(http_send(chain->f->http, chain->f, &again, NULL, NULL), 0);
	chain->calls++;
}

/* A request may be cancelled when its answer is there already: no callback, and no file of it is left. */
static void
test_cancel_in_callback(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *file = xstrdup(in_folder("late"));
	struct chain chain = {.f = f};
	struct kettle_http_request request = REQUEST(.url = address("http", "/echo"), .done = cancel_next, .arg = &chain);
	for (size_t i = 0; i < ARRAY_SIZE(chain.ids); i++)
		assert_int_equal(http_send(f->http, f, &request, &chain.ids[i], NULL), 0);
	run_until(f, &chain.outcome.calls, 1);
	assert_int_equal(chain.calls, 1);
	struct outcome o = {0};
	struct kettle_http_request down = REQUEST(.url = address("http", "/bytes/10"), .answer_file = file);
	uint64_t id = send_request(f, &down, &o);
	for (int i = 0; i < 1000 && !is_there(file); i++)
		(void)usleep(10000);
	wait_called(f);
	http_cancel(f->http, f, id);
	for (int i = 0; i < 1000 && is_there(file); i++)
		run_for(f, 10);
	assert_false(is_there(file));
	assert_int_equal(o.calls, 0);
	outcome_free(&chain.outcome);
}

/* ---- owners ---- */

/* One plugin with more requests than can be under way does not hold up another, and takes all of its own with it. */
static void
test_owners(void **state)
{
	struct fixture *f = *state;
	struct outcome mine = {0}, more = {0};
	int owner = 0;
	struct kettle_http_request silent =
		REQUEST(.url = address("http", "/silent"), .done = note, .arg = &mine, .total_ms = LONG_MS);
	struct kettle_http_request quick = REQUEST(.url = address("http", "/echo"), .done = note, .arg = &more);
	uint64_t first = 0, last = 0;
	for (int i = 0; i < HTTP_OPEN_MAX + 20; i++) {
		assert_int_equal(http_send(f->http, &owner, &silent, &last, NULL), 0);
		first = first ? first : last;
	}
	AUTO_OUTCOME struct outcome o = {0};
	get(f, address("http", "/echo"), &o);
	assert_int_equal(o.status, 200);
	/* The next ones of the first owner wait for their turn, which cancelled ones give away. */
	assert_int_equal(http_send(f->http, &owner, &quick, NULL, NULL), 0);
	run_for(f, 100);
	assert_int_equal(more.calls, 0);
	http_cancel(f->http, &owner, last);
	for (uint64_t id = first; id < first + 21; id++)
		http_cancel(f->http, &owner, id);
	run_until(f, &more.calls, 1);
	assert_int_equal(more.status, 200);
	http_cancel_all(f->http, &owner);
	http_cancel_all(f->http, &owner);
	assert_int_equal(http_left(f->http), 0);
	struct kettle_error err = {0};
	for (int i = 0; i < HTTP_OPEN_MAX + HTTP_WAITING_MAX; i++)
		assert_int_equal(http_send(f->http, &first, &silent, NULL, &err), 0);
	assert_int_equal(http_send(f->http, &first, &silent, NULL, &err), KETTLE_ETOOBIG);
	assert_non_null(strstr(err.message, "wait for their turn"));
	get(f, address("http", "/echo"), &o);
	assert_int_equal(o.status, 200);
	assert_int_equal(mine.calls, 0);
	outcome_free(&more);
}

/* ---- the close ---- */

/* Requests in every phase: none of them is waited for, none calls back, no file is left. */
static void
test_close(void **state)
{
	struct fixture *f = *state;
	static const char *const paths[] = {
		"/silent", "/half", "/endless", "/retry/closed/503/9?1000", "/echo", "/bytes/10"};
	struct outcome o = {0};
	AUTO_OUTCOME struct outcome seen = {0};
	get(f, address_at("https", "localhost", "tls", "/echo"), &seen);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct kettle_http_request request = REQUEST(.url = address("http", paths[i]), .done = note, .arg = &o,
			.total_ms = 86400000, .retries = 1, .answer_file = in_folder(paths[i] + 1), .max_body = UINT64_C(1) << 40);
		if (strchr(paths[i] + 1, '/'))
			request.answer_file = NULL;
		assert_int_equal(http_send(f->http, f, &request, NULL, NULL), 0);
	}
	struct kettle_http_request hang =
		REQUEST(.url = "http://hang.test/", .done = note, .arg = &o, .total_ms = 86400000);
	struct kettle_http_request full =
		REQUEST(.url = address("full", "/"), .done = note, .arg = &o, .connect_ms = LONG_MS, .total_ms = LONG_MS);
	assert_int_equal(http_send(f->http, f, &hang, NULL, NULL), 0);
	assert_int_equal(http_send(f->http, f, &full, NULL, NULL), 0);
	wait_called(f);
	uint64_t begin = time_monotonic_ns();
	http_close(f->http);
	assert_true(time_monotonic_ns() - begin < UINT64_C(1000000) * LONG_MS);
	run_for(f, 50);
	assert_int_equal(o.calls, 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_false(is_there(in_folder(paths[i] + 1)));
	f->http = http_new(f->io, &f->settings);
	get(f, address("http", "/echo"), &seen);
	assert_int_equal(seen.status, 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_time_outs),
	TEST(test_silent_name_server),
	TEST(test_cancel),
	TEST(test_cancel_in_callback),
	TEST(test_owners),
	TEST(test_close),
};

UNIT_TESTS(test_http_ends, .words = "waiting tsan", .setup = world_setup, .teardown = world_teardown);
