/* SPDX-License-Identifier: MIT */
/* The fake host answers, keeps and passes on what a plugin's test needs, and tells what was left. */
#include <config.h>

#include <kettle/testing.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

struct fixture {
	struct kettle_fake *fake;
	const struct kettle_host *host;
	struct kettle_error err;
	int answers, events;
	int code;
	char text[1200];
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (kettle_fake_new("probe", &f->fake, &f->err) != 0)
		return -1;
	f->host = kettle_fake_host(f->fake);
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	int rc = kettle_fake_free(f->fake, &f->err);
	free(f);
	return rc;
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct fixture *f = arg;
	AUTO_FREE char *text = result ? json_dumps(result, JSON_ENCODE_ANY) : NULL;
	f->answers++;
	f->code = err->code;
	(void)snprintf(f->text, sizeof(f->text), "%s", text ? text : err->message);
}

static int
has_answer(void *arg)
{
	return ((struct fixture *)arg)->answers > 0;
}

static void
wait_answer_of(struct kettle_fake *fake, struct fixture *f)
{
	assert_int_equal(f->answers, 0); /* never before the call returned */
	assert_int_equal(kettle_fake_run(fake, has_answer, f, 10000), 0);
	assert_int_equal(f->answers, 1);
	f->answers = 0;
}

static void
wait_answer(struct fixture *f)
{
	wait_answer_of(f->fake, f);
}

static int
answer_call(void *arg, const json_t *actor, const char *command, const json_t *args, json_t **ret_result,
	struct kettle_error *err)
{
	(void)arg;
	if (strcmp(command, "echo") != 0)
		return kettle_fail(err, KETTLE_EACCES, "No.");
	*ret_result = json_pack("{s:O, s:O}", "actor", (json_t *)actor, "args", (json_t *)args);
	return 0;
}

static void
test_calls(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *actor = json_pack("{s:s}", "name", "alice"), *args = json_pack("{s:i}", "a", 1);
	assert_int_equal(f->host->call(f->host, actor, "echo", args, on_answer, f), 0);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_ENOENT);
	kettle_fake_answer(f->fake, answer_call, NULL);
	assert_int_equal(f->host->call(f->host, actor, "echo", args, on_answer, f), 0);
	wait_answer(f);
	assert_int_equal(f->code, 0);
	assert_string_equal(f->text, "{\"actor\": {\"name\": \"alice\"}, \"args\": {\"a\": 1}}");
	assert_int_equal(f->host->call(f->host, actor, "other", args, on_answer, f), 0);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_EACCES);
	assert_string_equal(f->text, "No.");
}

static void
add_kind(void *arg, const json_t *event)
{
	struct fixture *f = arg;
	(void)strcat(strcat(f->text, json_string_value(json_object_get(event, "kind"))), " ");
}

static void
set_flag(void *arg)
{
	*(int *)arg = 1;
}

static int
is_set(void *arg)
{
	return *(int *)arg;
}

/* As in the engine: what is wrong is refused, what is cancelled is answered, and a caller ends what it has. */
static void
test_callers(void **state)
{
	struct fixture *f = *state;
	const struct kettle_host *host = f->host;
	AUTO_JSON json_t *actor = json_pack("{s:s, s:s}", "provider", "web", "subject", "a"),
					 *event = json_pack("{s:s}", "kind", "x");
	struct kettle_request request = {
		.size = sizeof(request), .actor = actor, .command = "echo", .outside = true, .done = on_answer, .arg = f};
	uint64_t id = 0, caller = 0, left = 0;
	int ended = 0;
	kettle_fake_answer(f->fake, answer_call, NULL);
	assert_int_equal(host->request(host, &request, &id, &f->err), 0);
	wait_answer(f);
	assert_int_equal(f->code, 0);
	assert_int_equal(host->request(host, &request, &id, &f->err), 0);
	host->request_cancel(host, id);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_ECANCELED);
	request.caller = 99;
	assert_int_equal(host->request(host, &request, &id, &f->err), KETTLE_EINVAL);
	assert_int_equal(host->caller_open(host, &caller, &f->err), 0);
	request.caller = caller;
	json_object_set_new(actor, "role", json_string("admin"));
	assert_int_equal(host->request(host, &request, &id, &f->err), KETTLE_EACCES);
	json_object_del(actor, "role");
	f->text[0] = '\0';
	assert_int_equal(kettle_fake_event(f->fake, event), 0);
	const struct kettle_subscription subscription = {
		.size = sizeof(subscription), .actor = actor, .caller = caller, .outside = true, .fn = add_kind, .arg = f};
	assert_int_equal(host->follow(host, &subscription, &id, &f->err), 0);
	assert_int_equal(kettle_fake_event(f->fake, event), 0);
	assert_string_equal(f->text, "x caught_up x ");
	assert_int_equal(host->request(host, &request, &id, &f->err), 0);
	assert_int_equal(host->caller_close(host, caller, set_flag, &ended), 0);
	assert_int_equal(ended, 0);
	assert_int_equal(kettle_fake_run(f->fake, is_set, &ended, 10000), 0);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, KETTLE_ECANCELED);
	f->answers = 0;
	assert_int_equal(host->caller_close(host, caller, NULL, NULL), KETTLE_EINVAL);
	/* One that is left is named. */
	struct kettle_fake *other = NULL;
	assert_int_equal(kettle_fake_new("other", &other, &f->err), 0);
	host = kettle_fake_host(other);
	assert_int_equal(host->caller_open(host, &left, &f->err), 0);
	assert_int_equal(kettle_fake_free(other, &f->err), KETTLE_EINTERNAL);
	assert_sentence(f->err.message);
}

static void
test_state_and_log(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *value = json_pack("[i]", 5);
	assert_int_equal(f->host->state_put(f->host, "k", value, on_answer, f), 0);
	wait_answer(f);
	assert_int_equal(f->host->state_get(f->host, "k", on_answer, f), 0);
	wait_answer(f);
	assert_string_equal(f->text, "[5]");
	assert_int_equal(f->host->state_put(f->host, "k", NULL, on_answer, f), 0);
	wait_answer(f);
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 0);
	assert_int_equal(f->host->state_get(f->host, "k", on_answer, f), 0);
	wait_answer(f);
	assert_string_equal(f->text, "null");
	assert_int_equal(f->host->state_put(f->host, "m.2", value, NULL, NULL), 0);
	assert_int_equal(f->host->state_put(f->host, "m.1", value, NULL, NULL), 0);
	assert_int_equal(f->host->state_put(f->host, "n", value, NULL, NULL), 0);
	assert_int_equal(f->host->state_list(f->host, "m.", NULL, 1, on_answer, f), 0);
	wait_answer(f);
	assert_string_equal(f->text, "{\"items\": [{\"key\": \"m.1\", \"value\": [5]}], \"more\": true}");
	assert_int_equal(f->host->state_list(f->host, "m.", "m.1", 0, on_answer, f), 0);
	wait_answer(f);
	assert_string_equal(f->text, "{\"items\": [{\"key\": \"m.2\", \"value\": [5]}], \"more\": false}");
	f->host->log(f->host, KETTLE_LOG_WARNING, "%d bottles", 99);
	const json_t *entry = json_array_get(kettle_fake_log(f->fake), 0);
	assert_string_equal(json_string_value(json_object_get(entry, "level")), "warning");
	assert_string_equal(json_string_value(json_object_get(entry, "message")), "99 bottles");
}

/* The engine's rule, with the links in memory. */
static void
test_links(void **state)
{
	struct fixture *f = *state;
	struct kettle_blob blob = {.size = sizeof(blob), .data = "a plan", .data_size = 6};
	assert_int_equal(f->host->publish(f->host, &blob, 60, on_answer, f, &f->err), 0);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_EUNAVAIL);
	assert_int_equal(f->host->link_base(f->host, "ftp://x/", &f->err), KETTLE_EINVAL);
	assert_int_equal(f->host->link_base(f->host, "http://127.0.0.1/l/", &f->err), 0);
	assert_int_equal(f->host->publish(f->host, &blob, 0, on_answer, f, &f->err), KETTLE_EINVAL);
	assert_int_equal(f->host->publish(f->host, &blob, 60, on_answer, f, &f->err), 0);
	wait_answer(f);
	assert_int_equal(f->code, 0);
	const json_t *link = json_array_get(kettle_fake_links(f->fake), 0);
	const char *url = json_string_value(json_object_get(link, "url"));
	assert_int_equal(strlen(url), strlen("http://127.0.0.1/l/") + 43);
	assert_non_null(strstr(f->text, url));
	assert_string_equal(json_string_value(json_object_get(link, "text")), "a plan");
	assert_int_equal(json_integer_value(json_object_get(link, "ttl")), 60);
	assert_int_equal(f->host->link_base(f->host, NULL, &f->err), 0);
	assert_int_equal(f->host->publish(f->host, &blob, 60, on_answer, f, &f->err), 0);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_EUNAVAIL);
}

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct fixture *f = arg;
	f->answers++;
	f->code = err->code;
	(void)snprintf(f->text, sizeof(f->text), "%s", answer ? "an answer" : err->message);
}

/* Requests are really sent; one that is left is named at the end. */
static void
test_http(void **state)
{
	struct fixture *f = *state;
	struct kettle_http_request request = {
		.size = sizeof(request), .url = "http://127.0.0.1:1/", .done = on_http, .arg = f};
	if (!KETTLE_HAVE_HTTP) {
		assert_int_equal(f->host->http(f->host, &request, NULL, &f->err), KETTLE_EUNAVAIL);
		assert_non_null(strstr(f->err.message, "libcurl4-openssl-dev"));
		return;
	}
	uint64_t id = 0;
	f->host->http_cancel(f->host, 1);
	assert_int_equal(f->host->http(f->host, &request, &id, &f->err), 0);
	wait_answer(f);
	assert_int_equal(f->code, KETTLE_EUNAVAIL);
	assert_non_null(strstr(f->text, "127.0.0.1:1 cannot be reached"));
	assert_int_equal(f->host->http(f->host, &request, &id, &f->err), 0);
	f->host->http_cancel(f->host, id);
	struct kettle_fake *other = NULL;
	assert_int_equal(kettle_fake_new("other", &other, &f->err), 0);
	const struct kettle_host *host = kettle_fake_host(other);
	kettle_fake_http(other, "http://127.0.0.1:2", NULL);
	request.url = "http://far.example/";
	assert_int_equal(host->http(host, &request, NULL, &f->err), 0);
	wait_answer_of(other, f);
	assert_non_null(strstr(f->text, "through http.proxy"));
	assert_int_equal(host->http(host, &request, NULL, &f->err), 0);
	assert_int_equal(kettle_fake_free(other, &f->err), KETTLE_EINTERNAL);
	assert_string_equal(f->err.message, "The plugin left behind: 1 HTTP request(s).");
	assert_int_equal(f->answers, 0);
}

static void
on_event(void *arg, const json_t *event)
{
	struct fixture *f = arg;
	f->events += (int)json_integer_value(json_object_get(event, "seq"));
}

static void
test_events(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *mine = json_pack("{s:i}", "submission", 7), *other = json_pack("{s:i}", "submission", 8);
	uint64_t one, two;
	assert_int_equal(kettle_fake_event(f->fake, mine), 0);
	assert_int_equal(f->host->subscribe(f->host, NULL, mine, 0, on_event, f, &one, NULL), 0);
	assert_int_equal(f->events, 1);
	assert_int_equal(f->host->subscribe(f->host, NULL, mine, -1, on_event, f, &two, NULL), 0);
	assert_int_equal(f->events, 1);
	assert_int_equal(kettle_fake_event(f->fake, other), 0);
	assert_int_equal(f->events, 1);
	(void)f->host->unsubscribe(f->host, two, NULL, NULL);
	assert_int_equal(kettle_fake_event(f->fake, mine), 0);
	assert_int_equal(f->events, 4);
	(void)f->host->unsubscribe(f->host, one, NULL, NULL);
	(void)f->host->unsubscribe(f->host, 12345, NULL, NULL);
	assert_int_equal(f->host->event_done(f->host, 2), 0);
	assert_int_equal(json_integer_value(json_array_get(kettle_fake_events_done(f->fake), 0)), 2);
}

static void
test_jobs(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *event = json_pack("{s:s}", "event", "started");
	f->host->job_event(f->host, "12.1", event);
	assert_int_equal(f->host->job_handle(f->host, "12.1", "H", on_answer, f), 0);
	wait_answer(f);
	f->host->job_done(f->host, "12.1", json_pack("{s:s}", "status", "done"));
	AUTO_FREE char *text = json_dumps(kettle_fake_jobs(f->fake), JSON_SORT_KEYS);
	assert_string_equal(text,
		"{\"12.1\": {\"completions\": [{\"status\": \"done\"}], \"events\": [{\"event\": \"started\"}], \"handle\": "
		"\"H\"}}");
}

static void
test_remote(void **state)
{
	struct fixture *f = *state;
	f->host->credential(f->host, "The token is bad.");
	f->host->credential(f->host, NULL);
	f->host->reached(f->host, NULL, "It is away.");
	AUTO_JSON json_t *wanted = json_pack("[{s:s, s:s}, {s:s, s:n}, {s:s, s:s}]", "call", "credential", "error",
		"The token is bad.", "call", "credential", "error", "call", "reached", "error", "It is away.");
	assert_true(json_equal(kettle_fake_remote(f->fake), wanted));
}

static void
nothing(void *arg)
{
	(void)arg;
}

static void
count_one(void *arg)
{
	++*(int *)arg;
}

static int
is_three(void *arg)
{
	return *(int *)arg == 3;
}

/* Time passes by the hour where the plugin only waits, and the two clocks of the host go with it. */
static void
test_simulated_time(void **state)
{
	struct fixture *f = *state;
	const int64_t begin = INT64_C(1790000000000);
	int count = 0, works = 0;
	struct kettle_timer *timer;
	kettle_fake_simulate(f->fake, begin);
	uint64_t ms = f->host->monotonic_ms(f->host);
	assert_int_equal(f->host->utc_ms(f->host), begin);
	assert_int_equal(f->host->timer_start(f->host, 3600000, 3600000, count_one, &count, &timer, NULL), 0);
	assert_int_equal(kettle_fake_run(f->fake, is_three, &count, 86400000), 0);
	assert_int_equal(f->host->monotonic_ms(f->host) - ms, 3 * 3600000);
	assert_int_equal(f->host->utc_ms(f->host) - begin, 3 * 3600000);
	assert_int_equal(kettle_fake_run(f->fake, is_three, &works, 1000), KETTLE_EUNAVAIL);
	assert_int_equal(f->host->utc_ms(f->host) - begin, 3 * 3600000 + 1000);
	/* What was given to a thread has ended when it returns. */
	assert_int_equal(f->host->work(f->host, nothing, count_one, &works, NULL), 0);
	kettle_fake_advance(f->fake, 3600000 - 1001);
	assert_true(count == 3 && works == 1);
	kettle_fake_advance(f->fake, 1);
	assert_int_equal(count, 4);
	f->host->timer_stop(f->host, timer);
}

static void
test_what_is_left(void **state)
{
	(void)state;
	struct fixture f = {0};
	assert_int_equal(kettle_fake_new("probe", &f.fake, &f.err), 0);
	f.host = kettle_fake_host(f.fake);
	struct kettle_timer *timer;
	uint64_t id;
	const char *const argv[] = {"sleep", "1000", NULL};
	const struct kettle_spawn spawn = {.size = sizeof(spawn), .file = "sleep", .argv = argv};
	struct kettle_process *process;
	assert_int_equal(f.host->timer_start(f.host, 100000, 0, nothing, NULL, &timer, NULL), 0);
	assert_int_equal(f.host->spawn(f.host, &spawn, &process, NULL), 0);
	assert_int_equal(f.host->subscribe(f.host, NULL, NULL, -1, on_event, &f, &id, NULL), 0);
	assert_int_equal(kettle_fake_free(f.fake, &f.err), KETTLE_EINTERNAL);
	assert_string_equal(f.err.message, "The plugin left behind: 1 timer(s), 1 child process(es), 1 subscription(s).");
	assert_int_equal(kettle_fake_free(NULL, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_calls),
	TEST(test_callers),
	TEST(test_state_and_log),
	TEST(test_links),
	TEST(test_http),
	TEST(test_events),
	TEST(test_jobs),
	TEST(test_remote),
	TEST(test_simulated_time),
	cmocka_unit_test(test_what_is_left),
};

UNIT_TESTS(test_fake_host);
