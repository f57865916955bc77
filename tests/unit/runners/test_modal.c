/* SPDX-License-Identifier: MIT */
/* The runner modal between the fake host and a server that plays modal_app.py, mostly badly. */
#include <config.h>

#include <kettle/plugin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/held_pool.h"
#include "lib/unit_test.h"
#include "sealed/result_package.h"
#include "sealed/sealed.h"
#include "unit/discord/rest_server.h"

#define PATIENCE_MS 120000
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define HASH "00000000000000000000000000000000000000000000000000000000000000aa"
#define PREFIX "kettle-1f0c9a3e-"
#define NAME PREFIX "12.1"
#define TOKEN_ID "wk-first"
#define TOKEN_SECRET "ws-second"
#define CALL "{\"id\": \"fc-1\", \"interface\": 1}"
#define STATE(state) "{\"calls\": {\"fc-1\": \"" state "\"}}"
#define UNKNOWN "{\"error\": \"There is no such call.\", \"state\": \"unknown\"}"

static struct kettle_fake *fake;
static struct server server;
static void *self;
static const struct kettle_runner *ops;
static struct kettle_error err;
static int stops, answers;
static char *said; /* by the last inquiry */

/* url NULL: the server's. */
static int
configure(const char *url, const char *secret, int patience_s)
{
	AUTO_FREE char *own = xasprintf("http://127.0.0.1:%d/", server.port);
	AUTO_JSON json_t *section = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "url", url ? url : own, "token_id",
		TOKEN_ID, "token_secret", secret, "key", KEY, "answer_s", 60, "send_s", patience_s, "quiet_s", patience_s);
	err = (struct kettle_error){0};
	return kettle_plugin.configure(self, section, &err);
}

static int
setup(void **state)
{
	(void)state;
	err = (struct kettle_error){0};
	stops = answers = 0;
	said = NULL;
	ops = kettle_plugin.runner;
	if (kettle_fake_new("modal", &fake, &err) != 0)
		return -1;
	kettle_fake_simulate(fake, INT64_C(1790000000000));
	server_start(&server, fake);
	if (kettle_plugin.create(kettle_fake_host(fake), &self, &err) != 0 || configure(NULL, TOKEN_SECRET, 60) != 0)
		return -1;
	return kettle_plugin.start(self, &err);
}

static void
on_stopped(void *arg)
{
	(void)arg;
	stops++;
}

static int
is_positive(void *arg)
{
	return *(int *)arg > 0;
}

/* Also: no secret is in the log, and nothing is left. */
static int
teardown(void **state)
{
	(void)state;
	plugin_stop(fake, &kettle_plugin, self);
	kettle_plugin.destroy(self);
	server_stop(&server);
	AUTO_FREE char *log = json_dumps(kettle_fake_log(fake), 0);
	assert_null(strstr(log, TOKEN_SECRET));
	assert_null(strstr(log, KEY));
	free(said);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	return 0;
}

static json_t *
unit_of(const char *function)
{
	return json_pack("{s:s, s:s, s:{s:s}}", "name", "FAR", "runner", "modal", "options", "function", function);
}

/* Its name is PREFIX and the reference. */
static int
submit_to(const char *ref, const char *function)
{
	AUTO_JSON json_t *unit = unit_of(function), *plan = json_pack("{s:i, s:s}", "version", 1, "seed", "31337");
	AUTO_FREE char *name = xasprintf(PREFIX "%s", ref);
	const struct kettle_job job = {.size = sizeof(job),
		.ref = ref,
		.device = "FAR",
		.unit = unit,
		.deadline_ms = 1000,
		.name = name,
		.plan_hash = HASH};
	return ops->submit(self, &job, plan, &err);
}

static void
submit(void)
{
	assert_int_equal(submit_to("12.1", "gpu"), 0);
}

static int
recover(const char *handle)
{
	AUTO_JSON json_t *unit = unit_of("gpu");
	const struct kettle_job job = {
		.size = sizeof(job), .ref = "12.1", .device = "FAR", .unit = unit, .name = NAME, .plan_hash = HASH};
	return ops->recover(self, &job, handle, &err);
}

/* Its one completion, of this status and with these words in its sentence. */
static const json_t *
await(const char *ref, const char *status, const char *words)
{
	const json_t *done = job_completion(fake, ref);
	if (strcmp(json_text_or_empty(done, "status"), status) != 0 || !strstr(json_text_or_empty(done, "error"), words))
		fail_msg("%s: %s: %s", ref, json_text_or_empty(done, "status"), json_text_or_empty(done, "error"));
	return done;
}

static int
is_seen(void *arg)
{
	return server_seen(&server, arg) > 0;
}

static void
await_request(const char *line)
{
	if (kettle_fake_run(fake, is_seen, (void *)line, PATIENCE_MS) != 0)
		fail_msg("no request %s", line);
}

static int
is_running(void *arg)
{
	(void)arg;
	return json_array_size(job_reports(fake, "12.1", "events")) > 1;
}

static const char *
event(size_t number)
{
	return json_text_or_empty(json_array_get(job_reports(fake, "12.1", "events"), number), "event");
}

static bool
has_header(size_t number, const char *header)
{
	return strcasestr(server.requests[number].head, header);
}

/* What kettle-exec would answer for the job, as text. New string. */
static char *
seal_result(void)
{
	unsigned char key[SEALED_KEY_SIZE], attempt[SEALED_KEY_SIZE];
	const struct sealed_scope scope = {NAME, HASH};
	AUTO_JSON json_t *done = json_pack("{s:s, s:s, s:[]}", "event", "done", "status", "done", "outcomes");
	AUTO_FREE char *packed = NULL, *sealed = NULL;
	size_t size;
	assert_int_equal(result_package_write(done, "/nonexistent", NULL, 1 << 20, &packed, &size, &err), 0);
	assert_int_equal(sealed_key_parse(KEY, key, &err), 0);
	sealed_key_derive(key, NAME, attempt);
	assert_int_equal(sealed_seal(attempt, SEALED_RESULT, &scope, packed, size, &sealed, &size, &err), 0);
	return sealed_to_text(sealed, size);
}

/* ---- jobs ---- */

/* A cold start is waiting; what begins, begins once. */
static void
test_whole_life(void **state)
{
	(void)state;
	AUTO_FREE char *result = seal_result();
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("starting"));
	server_step(&server, "POST /poll", 200, NULL, STATE("later"));
	server_step(&server, "POST /poll", 200, NULL, STATE("running"));
	server_step(&server, "POST /poll", 200, NULL, STATE("done"));
	server_step(&server, "GET /result/fc-1", 200, NULL, result);
	submit();
	assert_int_equal(server.count, 0); /* nothing before it is stored */
	await("12.1", "done", "");
	assert_string_equal(event(0), "waiting");
	assert_string_equal(event(1), "started");
	assert_int_equal(json_array_size(job_reports(fake, "12.1", "events")), 2);
	AUTO_JSON json_t *handle = json_loads(json_string_value(job_reports(fake, "12.1", "handle")), 0, NULL);
	assert_string_equal(json_text_or_empty(handle, "name"), NAME);
	assert_string_equal(json_text_or_empty(handle, "call"), "fc-1");
	assert_int_equal(server.count, 6);
	for (size_t i = 0; i < server.count; i++)
		assert_true(
			has_header(i, "Modal-Key: " TOKEN_ID "\r\n") && has_header(i, "Modal-Secret: " TOKEN_SECRET "\r\n"));
	assert_true(has_header(0, "Idempotency-Key: " NAME "\r\n"));
	assert_memory_equal(server.requests[0].body, "KTLE1\n", 6);
	assert_null(memmem(server.requests[0].body, server.requests[0].size, "31337", 5));
	assert_string_equal(server.requests[1].body, "{\"ids\":[\"fc-1\"]}");
}

/* A submission whose answer is lost or says "later" is the same one, again. */
static void
test_submit_again(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", SERVER_DROP, NULL, NULL);
	server_step(&server, "POST /submit/gpu", 503, NULL, "{\"error\": \"not now\"}");
	server_step(&server, "POST /submit/gpu", 404, NULL, "<html>");
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("failed"));
	server_step(&server, "GET /result/fc-1", 410, NULL, "{\"error\": \"no\\u001b[1m GPU\", \"state\": \"failed\"}");
	submit();
	const json_t *done =
		await("12.1", "lost", "The runner could not get a result: modal_app.py answered 410: no\xef\xbf\xbd[1m GPU");
	assert_true(member_is(done, "loss", "failed"));
	for (size_t i = 1; i < 4; i++) {
		assert_true(has_header(i, "Idempotency-Key: " NAME "\r\n"));
		assert_memory_equal(server.requests[i].body, server.requests[0].body, server.requests[0].size);
	}
}

/* 303 within the host is followed with the token, and to another one without, and what that says is no answer. */
static void
test_redirects(void **state)
{
	(void)state;
	AUTO_FREE char *there = xasprintf("Location: http://localhost:%d/elsewhere\r\n", server.port);
	server_step(&server, "POST /submit/gpu", 303, there, "");
	server_step(&server, "GET /elsewhere", 200, NULL, CALL);
	server_step(&server, "POST /submit/gpu", 303, "Location: /submit/gpu?__modal_function_call_id=7\r\n", "");
	server_step(&server, "GET /submit/gpu?__modal_function_call_id=7", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("unknown"));
	server_step(&server, "GET /result/fc-1", 404, NULL, UNKNOWN);
	submit();
	const json_t *done = await("12.1", "lost", "it keeps results for 7 days");
	assert_true(member_is(done, "loss", "gone"));
	assert_string_equal(server.requests[1].line, "GET /elsewhere");
	assert_false(has_header(1, "Modal-") || has_header(1, TOKEN_ID) || has_header(1, TOKEN_SECRET));
	assert_false(has_header(1, "Idempotency-Key"));
	assert_true(has_header(3, "Modal-Secret: " TOKEN_SECRET "\r\n"));
	assert_int_equal(server_seen(&server, "POST /submit/gpu"), 2);
}

/* Answers that make no sense end a job after a few: of a submission, and of a call that has ended and has not. */
static void
test_nonsense(void **state)
{
	(void)state;
	static const char *const bodies[] = {
		"<html>", "[]", "{\"id\": \"../x\", \"interface\": 1}", "{\"id\": 1}", "{\"id\""};
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		server_step(&server, "POST /submit/other", 200, NULL, bodies[i]);
		server_step(&server, "POST /poll", 200, NULL, STATE("done"));
		server_step(&server, "GET /result/fc-1", 202, NULL, "{\"state\": \"running\"}");
	}
	submit();
	assert_int_equal(submit_to("13.1", "other"), 0);
	await("13.1", "lost", "The runner could not use the answers of Modal: Modal's answer is not one of modal_app.py");
	await("12.1", "lost", "reported that a job has ended, and later that it has not");
	assert_int_equal(server_seen(&server, "POST /submit/other"), 5);
}

/* What the app or Modal refuses is not tried again. */
static void
test_refusals(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", 401, NULL, "modal-http: missing credentials");
	server_step(&server, "POST /submit/none", 404, NULL, "{\"error\": \"modal_app.py has no device 'none'\"}");
	submit();
	const json_t *ended = await("12.1", "lost", "could not submit the job: Modal answered 401: it refuses the token");
	assert_true(member_is(ended, "loss", "unusable"));
	assert_int_equal(submit_to("13.1", "none"), 0);
	ended = await("13.1", "lost", "modal_app.py answered 404: modal_app.py has no device 'none'");
	assert_true(member_is(ended, "loss", "unusable"));
	assert_int_equal(remote_errors(fake, "credential", 0, "Modal answered 401"), 1);
	assert_int_equal(server.count, 2);
}

/* One whose first answer was lost may be there: it waits until the operator has given a token that is taken. */
static void
test_refused_again(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", 503, NULL, "");
	server_step(&server, "POST /submit/gpu", 401, NULL, "modal-http: missing credentials");
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("running"));
	submit();
	assert_int_equal(kettle_fake_run(fake, is_running, NULL, PATIENCE_MS), 0);
	assert_int_equal(remote_errors(fake, "reached", 0, "Modal answered 401"), 1);
	assert_int_equal(json_array_size(job_reports(fake, "12.1", "completions")), 0);
	ops->detach(self, "12.1");
}

/* ---- a restart ---- */

/* Without its call a job is looked for; only the app itself can say that it is not there. */
static void
test_recover_name(void **state)
{
	(void)state;
	server_step(&server, "POST /find/" NAME, 404, NULL, "<html>");
	server_step(&server, "POST /find/" NAME, 202, NULL, "{}");
	server_step(&server, "POST /find/" NAME, 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("running"));
	assert_int_equal(recover("{\"name\":\"" NAME "\"}"), 0);
	assert_int_equal(kettle_fake_run(fake, is_running, NULL, PATIENCE_MS), 0);
	AUTO_JSON json_t *handle = json_loads(json_string_value(job_reports(fake, "12.1", "handle")), 0, NULL);
	assert_string_equal(json_text_or_empty(handle, "name"), NAME);
	assert_string_equal(json_text_or_empty(handle, "call"), "fc-1");
	assert_int_equal(server_seen(&server, "POST /submit"), 0);
	ops->detach(self, "12.1");
	server_step(&server, "POST /find/" NAME, 404, NULL, UNKNOWN);
	assert_int_equal(recover("{\"name\":\"" NAME "\"}"), 0);
	const json_t *done = await("12.1", "lost", "it was not submitted before the engine ended");
	assert_true(member_is(done, "loss", "unstarted"));
	assert_int_equal(recover("{\"name\":\"kettle-1f0c9a3e-12.2\"}"), KETTLE_ENOENT);
	assert_int_equal(recover("{"), KETTLE_ENOENT);
}

/* ---- cancelling ---- */

static void
test_cancel(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("running"));
	server_step(&server, "POST /cancel/fc-1", 500, NULL, "");
	server_step(&server, "POST /cancel/fc-1", 200, NULL, "{\"id\": \"fc-1\"}");
	submit();
	assert_int_equal(kettle_fake_run(fake, is_running, NULL, PATIENCE_MS), 0);
	ops->cancel(self, "12.1");
	ops->cancel(self, "12.1");
	await("12.1", "cancelled", "");
	assert_int_equal(server_seen(&server, "POST /cancel/fc-1"), 2);
}

/* Before its call is known it is looked for, so that what is under way comes too late, or is cancelled. */
static void
test_cancel_submission(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", SERVER_HOLD, NULL, NULL);
	server_step(&server, "POST /find/" NAME, 503, NULL, "{\"error\": \"A request is about to submit this job.\"}");
	server_step(&server, "POST /find/" NAME, 200, NULL, CALL);
	server_step(&server, "POST /cancel/fc-1", 404, NULL, UNKNOWN);
	submit();
	await_request("POST /submit/gpu");
	ops->cancel(self, "12.1");
	await("12.1", "cancelled", "");
	assert_int_equal(server_seen(&server, "POST /find"), 2);
	assert_int_equal(server_seen(&server, "POST /cancel"), 1);
}

/* A request that cannot even be sent any more ends the job when the patience does. */
static void
test_broken_while_away(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", 200, NULL, STATE("done"));
	server_step(&server, "GET /result/fc-1", 503, NULL, "");
	submit();
	await_request("GET /result/fc-1");
	assert_int_equal(configure("https://[", TOKEN_SECRET, 1), 0);
	await("12.1", "lost", "The runner could not reach Modal for 1 s");
}

/* ---- what an operator wants to know ---- */

static void
on_inquiry(void *arg, const struct kettle_error *why, json_t *answer)
{
	(void)arg;
	free(said);
	said = why->code < 0 ? xstrdup(why->message) : json_dumps(answer, JSON_COMPACT);
	answers++;
}

static const char *
await_inquiry(int rc)
{
	assert_int_equal(rc, 0);
	answers = 0;
	assert_int_equal(kettle_fake_run(fake, is_positive, &answers, PATIENCE_MS), 0);
	return said;
}

static void
test_status(void **state)
{
	(void)state;
	server_step(&server, "POST /submit/gpu", 200, NULL, CALL);
	server_step(&server, "POST /poll", SERVER_HOLD, NULL, NULL);
	server_step(&server, "GET /health", 200, NULL, "{\"version\": \"1\", \"devices\": [{\"name\": \"gpu\"}]}");
	server_step(&server, "GET /health", 200, NULL, "7");
	server_step(&server, "GET /health", 500, NULL, "{\"error\": \"no\"}");
	submit();
	await_request("POST /poll");
	assert_string_equal(await_inquiry(ops->status(self, on_inquiry, NULL, &err)),
		"{\"jobs\":[{\"job\":\"12.1\",\"state\":\"waiting\",\"where\":\"fc-1\"}],\"text\":\"kettle-exec 1; gpu\"}");
	assert_non_null(strstr(await_inquiry(ops->status(self, on_inquiry, NULL, &err)), "is not one of modal_app.py"));
	assert_string_equal(await_inquiry(ops->status(self, on_inquiry, NULL, &err)), "Modal answered 500: no");
}

static void
on_long(void *arg, const struct kettle_error *why, json_t *answer)
{
	*(int *)arg = why->code < 0 ? why->code : (int)json_object_size(answer);
}

static int
is_set(void *arg)
{
	return *(int *)arg != 0;
}

static int
is_asked(void *arg)
{
	return server_seen(&server, "GET /health") >= *(size_t *)arg;
}

/* A long answer is read by a thread of the pool; a short one is heard meanwhile, and a stop waits for nothing. */
static void
test_long_answer(void **state)
{
	(void)state;
	AUTO_FREE char *report = xasprintf("{\"version\": \"2\", \"x\": \"%0300000d\"}", 0);
	int codes[2] = {0};
	for (int i = 0; i < 2; i++) {
		server_step(&server, "GET /health", 200, NULL, report);
		server_step(&server, "GET /health", 200, NULL, "{\"version\": \"1\"}");
	}
	for (int i = 0; i < 2; i++) {
		pool_hold(fake);
		assert_int_equal(ops->status(self, on_long, &codes[i], &err), 0);
		size_t asked = server_seen(&server, "GET /health") + 1;
		assert_int_equal(kettle_fake_run(fake, is_asked, &asked, PATIENCE_MS), 0);
		(void)await_inquiry(ops->status(self, on_inquiry, NULL, &err));
		int before = codes[i];
		if (i == 1)
			kettle_plugin.stop(self, on_stopped, NULL);
		pool_release(fake);
		assert_int_equal(kettle_fake_run(fake, is_set, &codes[i], PATIENCE_MS), 0);
		assert_int_equal(before, 0);
	}
	assert_true(codes[0] > 0);
	assert_int_equal(codes[1], KETTLE_ECANCELED);
	assert_int_equal(kettle_fake_run(fake, is_positive, &stops, PATIENCE_MS), 0);
	stops = 0;
}

/* A runner that stops answers at once. */
static void
test_doctor(void **state)
{
	(void)state;
	AUTO_JSON json_t *unit = unit_of("gpu");
	server_step(&server, "POST /doctor/gpu", 200, NULL, CALL);
	server_step(&server, "GET /result/fc-1", 202, NULL, "{\"state\": \"starting\"}");
	server_step(&server, "GET /result/fc-1", 200, NULL, "{\"level\": \"reduced\"}");
	server_step(&server, "POST /doctor/gpu", 200, NULL, "{\"id\": \"/\", \"interface\": 1}");
	server_step(&server, "POST /doctor/gpu", SERVER_HOLD, NULL, NULL);
	assert_string_equal(await_inquiry(ops->doctor(self, unit, on_inquiry, NULL, &err)), "{\"level\":\"reduced\"}");
	assert_non_null(
		strstr(await_inquiry(ops->doctor(self, unit, on_inquiry, NULL, &err)), "is not one of modal_app.py"));
	assert_int_equal(ops->doctor(self, unit, on_inquiry, NULL, &err), 0);
	answers = 0;
	kettle_plugin.stop(self, on_stopped, NULL);
	assert_int_equal(answers, 1);
	assert_string_equal(said, "The runner stops.");
	assert_int_equal(kettle_fake_run(fake, is_positive, &stops, PATIENCE_MS), 0);
	stops = 0;
}

/* ---- options ---- */

static void
test_options(void **state)
{
	(void)state;
	static const char *const wrong[] = {"ftp://a.modal.run", "a.modal.run", "", "https://", "https:///x",
		"http://a.modal.run", "http://127.0.0.1.example", "http://localhostile", "https://user@a.modal.run",
		"https://a.modal.run/?x", "https://a.modal.run/#x", "https://a modal.run", "https://a.modal.run\\@b"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (configure(wrong[i], TOKEN_SECRET, 60) != KETTLE_EINVAL)
			fail_msg("`%s` is taken", wrong[i]);
		assert_non_null(strstr(err.message, "`url` must be that of the app"));
	}
	static const char *const right[] = {
		"https://a.modal.run", "https://a.modal.run/", "http://127.0.0.1:80", "http://localhost/x", "http://[::1]:1"};
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		assert_int_equal(configure(right[i], TOKEN_SECRET, 60), 0);
	assert_int_equal(configure(NULL, "ws-a\r\nX: y", 60), KETTLE_EINVAL);
	assert_sentence(err.message);
	assert_null(strstr(err.message, "ws-a"));
	assert_int_equal(configure(NULL, TOKEN_SECRET, 60), 0);
	assert_int_equal(submit_to("13.1", "a/b"), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`options: {function: NAME}`"));
	AUTO_JSON json_t *many = json_pack("{s:{s:s}, s:i}", "options", "function", "gpu", "slots", 10001);
	unsigned slots, prefetch;
	assert_int_equal(ops->capacity(self, many, &slots, &prefetch, &err), KETTLE_EINVAL);
	json_object_set_new(many, "slots", json_integer(8));
	assert_int_equal(ops->capacity(self, many, &slots, &prefetch, &err), 0);
	assert_int_equal(slots, 8);
	AUTO_JSON json_t *empty = json_object();
	assert_int_equal(kettle_plugin.configure(self, empty, &err), 0);
	assert_int_equal(submit_to("13.1", "gpu"), 0);
	assert_true(member_is(await("13.1", "lost", "has no `url`"), "loss", "unusable"));
	AUTO_JSON json_t *no_token = json_pack("{s:s}", "url", "https://a.modal.run");
	assert_int_equal(kettle_plugin.configure(self, no_token, &err), 0);
	assert_int_equal(ops->status(self, on_inquiry, NULL, &err), KETTLE_EUNAVAIL);
	assert_non_null(strstr(err.message, "has no token"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {TEST(test_whole_life), TEST(test_submit_again), TEST(test_redirects),
	TEST(test_nonsense), TEST(test_refusals), TEST(test_refused_again), TEST(test_recover_name), TEST(test_cancel),
	TEST(test_cancel_submission), TEST(test_broken_while_away), TEST(test_status), TEST(test_long_answer),
	TEST(test_doctor), TEST(test_options)};

UNIT_TESTS(test_modal, .words = "waiting");
