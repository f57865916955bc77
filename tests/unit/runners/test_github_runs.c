/* SPDX-License-Identifier: MIT */
/* Runs of a workflow against a server that answers as a test says: from the dispatch to the artifact, and all that goes wrong. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/unit_test.h"
#include "runners/github/github.h"
#include "unit/discord/rest_server.h"

#define WAIT_MS 3600000
#define POLL_MS 500
#define GIVE_UP_S 60
#define NOW INT64_C(1790000000000)
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define HASH "00000000000000000000000000000000000000000000000000000000000000aa"
#define PREFIX "kettle-1f0c9a3e-"
#define NAME PREFIX "12.1"
#define TOKEN_ONE "ghp_first"
#define TOKEN_TWO "ghp_second"
#define REPO "/repos/o/r/actions"
#define DISPATCH "POST " REPO "/workflows/kettle.yml/dispatches"
#define LIST "GET " REPO "/workflows/kettle.yml/runs"
#define RUN "GET " REPO "/runs/7?"
#define ARTIFACTS "GET " REPO "/runs/7/artifacts"
#define PAGE "<html>"
#define LISTED(id, status, event) \
	"{\"id\": " id ", \"status\": \"" status "\", \"event\": \"" event "\", \"display_title\": \"" NAME "\"}"
#define STATE(status) LISTED("7", status, "workflow_dispatch")
#define CANCEL "POST " REPO "/runs/7/cancel"
#define FORCE "POST " REPO "/runs/7/force-cancel"
#define ENDED(conclusion) \
	"{\"id\": 7, \"status\": \"completed\", \"conclusion\": \"" conclusion \
	"\", \"run_attempt\": 2, \"display_title\": \"" NAME "\"}"
#define MANY (RUNS_SINGLE_MAX + 1)

static struct kettle_fake *fake;
static struct server server;
static void *self;
static const struct kettle_runner *ops;
static json_t *unit;
static int stops;

extern const struct kettle_plugin kettle_plugin;

static void
count_up(void *arg)
{
	++*(int *)arg;
}

static int
is_positive(void *arg)
{
	return *(int *)arg > 0;
}

static int
setup(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	ops = kettle_plugin.runner;
	stops = 0;
	assert_int_equal(kettle_fake_new("github", &fake, &err), 0);
	kettle_fake_simulate(fake, NOW);
	server_start(&server, fake);
	AUTO_FREE char *base = xasprintf("http://127.0.0.1:%d/", server.port);
	AUTO_JSON json_t *section = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "url", base, "api_version", "2026-03-10",
		"token", TOKEN_ONE "\n" TOKEN_TWO "\n", "key", KEY, "poll_ms", POLL_MS, "give_up_s", GIVE_UP_S);
	unit = json_pack("{s:s, s:s, s:{s:s}}", "runner", "github", "name", "T4", "options", "repo", "o/r");
	assert_int_equal(kettle_plugin.create(kettle_fake_host(fake), &self, &err), 0);
	assert_int_equal(kettle_plugin.configure(self, section, &err), 0);
	/* So that the first dispatch need not wait for a change of the process before. */
	kettle_fake_host(fake)->timer_start(kettle_fake_host(fake), TOKENS_CHANGE_MS, 0, count_up, &stops, NULL, &err);
	assert_int_equal(kettle_fake_run(fake, is_positive, &stops, WAIT_MS), 0);
	stops = 0;
	return kettle_plugin.start(self, &err);
}

/* Also: no token is in the log, and nothing is left. */
static int
teardown(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	kettle_plugin.stop(self, count_up, &stops);
	assert_int_equal(kettle_fake_run(fake, is_positive, &stops, WAIT_MS), 0);
	kettle_plugin.destroy(self);
	server_stop(&server);
	json_decref(unit);
	AUTO_FREE char *log = json_dumps(kettle_fake_log(fake), 0);
	assert_null(strstr(log, "ghp_"));
	assert_int_equal(kettle_fake_free(fake, &err), 0);
	return 0;
}

static struct kettle_job
describe(const char *ref, const char *name)
{
	return (struct kettle_job){.size = sizeof(struct kettle_job),
		.ref = ref,
		.device = "T4",
		.unit = unit,
		.deadline_ms = 1000,
		.name = name,
		.plan_hash = HASH};
}

/* Its run has the name PREFIX and the reference. */
static void
submit(const char *ref)
{
	struct kettle_error err = {0};
	AUTO_FREE char *name = xasprintf(PREFIX "%s", ref);
	AUTO_JSON json_t *plan = json_pack("{s:i}", "version", 1);
	const struct kettle_job job = describe(ref, name);
	assert_int_equal(ops->submit(self, &job, plan, &err), 0);
}

/* id 0: not known. */
static void
follow(const char *ref, int id)
{
	struct kettle_error err = {0};
	AUTO_FREE char *name = xasprintf(PREFIX "%s", ref);
	AUTO_FREE char *handle =
		id ? xasprintf("{\"name\": \"%s\", \"run\": %d}", name, id) : xasprintf("{\"name\": \"%s\"}", name);
	const struct kettle_job job = describe(ref, name);
	assert_int_equal(ops->recover(self, &job, handle, &err), 0);
}

static const json_t *
reports(const char *ref, const char *what)
{
	return json_object_get(json_object_get(kettle_fake_jobs(fake), ref), what);
}

/* What the handle that is stored says of the run; 0: nothing. */
static json_int_t
found(const char *ref)
{
	AUTO_JSON json_t *handle = json_loads(json_string_value(reports(ref, "handle")), 0, NULL);
	return member_int(handle, "run");
}

static int
has_found(void *arg)
{
	return reports(arg, "handle") && found(arg) > 0;
}

static int
has_started(void *arg)
{
	const json_t *events = reports(arg, "events");
	return member_is(json_array_get(events, json_array_size(events) - 1), "event", "started");
}

static int
has_ended(void *arg)
{
	return json_array_size(reports(arg, "completions")) > 0;
}

static void
wait_for(int (*condition)(void *arg), void *arg)
{
	assert_int_equal(kettle_fake_run(fake, condition, arg, WAIT_MS), 0);
}

/* Its one end, which is this loss, or "cancelled". The sentence. */
static const char *
ends_as(const char *ref, const char *how)
{
	wait_for(has_ended, (void *)ref);
	assert_int_equal(json_array_size(reports(ref, "completions")), 1);
	const json_t *completion = json_array_get(reports(ref, "completions"), 0);
	bool lost = member_is(completion, "status", "lost");
	assert_string_equal(json_text_or_empty(completion, lost ? "loss" : "status"), how);
	return json_text_or_empty(completion, "error");
}

/* The header of a request; "" where it has none. Borrowed until the next call. */
static const char *
header_of(const char *line, size_t number, const char *name)
{
	static char value[200];
	for (size_t i = 0; i < server.count; i++) {
		if (strncmp(server.requests[i].line, line, strlen(line)) != 0 || number-- > 0)
			continue;
		const char *at = strcasestr(server.requests[i].head, name);
		(void)snprintf(value, sizeof(value), "%.*s", at ? (int)strcspn(at, "\r\n") : 0, at ? at : "");
		return value;
	}
	fail_msg("no request %s", line);
	return "";
}

static const char *
body_of(const char *line)
{
	for (size_t i = 0; i < server.count; i++)
		if (strncmp(server.requests[i].line, line, strlen(line)) == 0)
			return server.requests[i].body;
	fail_msg("no request %s", line);
	return "";
}

static void
test_whole_life(void **state)
{
	(void)state;
	/* The server has no zip, but bytes with the right digest: what is no zip ends as a sentence, after the right requests. */
	char digest[65];
	sha256_hex(PAGE, strlen(PAGE), digest);
	AUTO_FREE char *link = xasprintf("Location: http://localhost:%d/file?sig=1\r\n", server.port);
	AUTO_FREE char *artifacts =
		xasprintf("{\"artifacts\": [{\"id\": 9, \"name\": \"kettle-result\", \"size_in_bytes\": %zu, "
				  "\"digest\": \"sha256:%s\"}]}",
			strlen(PAGE), digest);
	server_step(&server, DISPATCH, 200, NULL, "{\"workflow_run_id\": 7, \"run_url\": \"\", \"html_url\": \"\"}");
	server_step(&server, RUN, 200, "ETag: \"a\"\r\n", STATE("queued"));
	server_step(&server, RUN, 304, "ETag: \"a\"\r\n", "");
	server_step(&server, RUN, 200, "ETag: \"b\"\r\n", STATE("in_progress"));
	server_step(&server, RUN, 200, NULL, ENDED("success"));
	server_step(&server, ARTIFACTS, 200, NULL, artifacts);
	server_step(&server, "GET " REPO "/artifacts/9/zip", 302, link, "");
	server_step(&server, "GET /file?sig=1", 200, NULL, PAGE);
	submit("12.1");
	const char *sentence = ends_as("12.1", "failed");
	assert_true(found("12.1") == 7 && has_started("12.1"));
	assert_non_null(strstr(body_of(DISPATCH), "\"payload\":\"S1RMRTEK"));
	assert_non_null(strstr(body_of(DISPATCH), "\",\"runner\":\"[\\\"ubuntu-24.04\\\"]\",\"run_name\":\"" NAME "\""));
	assert_string_equal(header_of(DISPATCH, 0, "Authorization:"), "Authorization: Bearer " TOKEN_ONE);
	assert_string_equal(header_of(DISPATCH, 0, "X-GitHub-Api-Version:"), "X-GitHub-Api-Version: 2026-03-10");
	assert_string_equal(header_of(RUN, 0, "If-None-Match:"), "");
	assert_string_equal(header_of(RUN, 1, "If-None-Match:"), "If-None-Match: \"a\"");
	assert_string_equal(header_of(RUN, 3, "If-None-Match:"), "If-None-Match: \"b\"");
	assert_string_equal(header_of("GET /file", 0, "Authorization:"), "");
	assert_int_equal(server_seen(&server, DISPATCH), 1);
	assert_non_null(strstr(sentence, "is not a zip"));
}

/* A dispatch whose answer is lost is not sent again: the run is found by its name, which that of a pull request may have too. */
static void
test_lost_answer(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, SERVER_DROP, NULL, NULL);
	server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	server_step(&server, LIST, 200, NULL,
		"{\"workflow_runs\": [{\"id\": 8, \"status\": \"queued\", \"display_title\": \"" NAME "0\"}, "
		"{\"nonsense\": 1}, " LISTED("9", "queued", "pull_request") ", " STATE("queued") "]}");
	server_step(&server, RUN, 200, NULL, ENDED("skipped"));
	server_step(&server, ARTIFACTS, 200, NULL, "{\"artifacts\": []}");
	server_step(&server, ARTIFACTS, 200, NULL, "{\"artifacts\": []}");
	submit("12.1");
	assert_non_null(strstr(ends_as("12.1", "failed"), "skipped"));
	assert_true(found("12.1") == 7 && !has_started("12.1"));
	assert_int_equal(server_seen(&server, DISPATCH), 1);
}

static int
listed_twice(void *arg)
{
	(void)arg;
	return server_seen(&server, LIST) == 2;
}

/* A list that has not changed since may have a run that is sought only now. */
static void
test_sought_later(void **state)
{
	(void)state;
	server_step(&server, LIST, 200, "ETag: \"a\"\r\n", "{\"workflow_runs\": [" STATE("queued") "]}");
	server_step(&server, LIST, 200, "ETag: \"a\"\r\n", "{\"workflow_runs\": [" STATE("queued") "]}");
	follow("12.1", 0);
	wait_for(has_found, "12.1");
	ops->detach(self, "12.1");
	follow("12.11", 0);
	wait_for(listed_twice, NULL);
	assert_string_equal(header_of(LIST, 1, "If-None-Match:"), "");
	ops->detach(self, "12.11");
}

/* One that never arrived is known as such after some looks, however long the runner is patient where it did arrive. */
static void
test_never_dispatched(void **state)
{
	(void)state;
	struct github *github = self;
	github->remote.pace.send_ms = github->remote.pace.quiet_ms = 10 * (uint64_t)WAIT_MS;
	server_step(&server, DISPATCH, 502, NULL, "<html>");
	for (int i = 0; i < RUNS_SEEK_LOOKS; i++)
		server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	submit("12.1");
	(void)ends_as("12.1", "unstarted");
	assert_int_equal(server_seen(&server, DISPATCH), 1);
	assert_int_equal(server_seen(&server, LIST), RUNS_SEEK_LOOKS);
}

/* What GitHub refuses was not dispatched. */
static void
test_refused_dispatch(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, 422, NULL, "{\"message\": \"No ref found for: \\u001bmain\"}");
	submit("12.1");
	const char *sentence = ends_as("12.1", "unusable");
	assert_non_null(strstr(sentence, "status 422: No ref found for: "));
	assert_null(strchr(sentence, '\x1b'));
	assert_int_equal(server.count, 1);
	/* As a repository answers that has another name now. */
	server_step(&server, DISPATCH, 307, "Location: /repositories/1\r\n", "{\"message\": \"Temporary Redirect\"}");
	submit("12.2");
	assert_non_null(strstr(ends_as("12.2", "unusable"), "status 307: Temporary Redirect"));
	assert_int_equal(server.count, 2);
}

/* A refused token is passed over; where all are, the sentence says so. What is limited waits. */
static void
test_tokens_and_limits(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, 401, NULL, "{\"message\": \"Bad credentials\"}");
	server_step(
		&server, DISPATCH, 403, "Retry-After: 1\r\n", "{\"message\": \"You have exceeded a secondary rate limit\"}");
	server_step(&server, DISPATCH, 200, NULL, "{\"workflow_run_id\": 7}");
	server_step(&server, RUN, 401, NULL, "{}");
	submit("12.1");
	const char *sentence = ends_as("12.1", "unreached");
	assert_string_equal(header_of(DISPATCH, 0, "Authorization:"), "Authorization: Bearer " TOKEN_ONE);
	assert_string_equal(header_of(DISPATCH, 2, "Authorization:"), "Authorization: Bearer " TOKEN_TWO);
	assert_string_equal(header_of(RUN, 0, "Authorization:"), "Authorization: Bearer " TOKEN_TWO);
	assert_non_null(strstr(sentence, "refuses all tokens"));
	assert_int_equal(server_seen(&server, DISPATCH), 3);
}

/* A token that is refused keeps nothing waiting that another one was answered, and is not what the sentence is about. */
static void
test_refused_beside_others(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, 401, NULL, "{\"message\": \"Bad credentials\"}");
	for (int i = 0; i < 2; i++) {
		server_step(&server, DISPATCH, 404, NULL, "{\"message\": \"Not Found\"}");
		submit(i ? "13.1" : "12.1");
		assert_non_null(strstr(ends_as(i ? "13.1" : "12.1", "unusable"), "status 404: Not Found"));
	}
	assert_int_equal(server_seen(&server, DISPATCH), 3);
}

/* Answers that say nothing usable end the run when they have come for long enough. */
static void
test_nonsense(void **state)
{
	(void)state;
	static const char *const bodies[] = {
		"<html>", "[]", "{\"id\": 7}", "{\"id\": 8, \"status\": \"queued\"}", "{\"id\": 7, "};
	server_step(&server, DISPATCH, 200, NULL, "{\"workflow_run_id\": 7}");
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		server_step(&server, RUN, 200, NULL, bodies[i]);
	submit("12.1");
	(void)ends_as("12.1", "unreached");
	assert_true(server_seen(&server, RUN) >= 3);
}

/* The run has ended, and its result cannot be asked for: GitHub is away for long enough, or answers with faults. */
static void
test_unreached_result(void **state)
{
	(void)state;
	static const int faults[] = {500, SERVER_DROP};
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		server.steps_count = 0;
		server_step(&server, RUN, 200, NULL, ENDED("success"));
		for (size_t step = 1; step < SERVER_STEPS_MAX; step++)
			server_step(&server, ARTIFACTS, faults[i], NULL, NULL);
		const size_t calls = json_array_size(kettle_fake_remote(fake));
		follow(i ? "13.1" : "12.1", 7);
		(void)ends_as(i ? "13.1" : "12.1", "unreached");
		assert_true(remote_errors(fake, "reached", calls, ""));
	}
}

/* GitHub may not know a run at first; one that it forgets is gone. */
static void
test_gone(void **state)
{
	(void)state;
	/* Each time both tokens are tried. */
	for (int i = 0; i < 2 * 5; i++)
		server_step(&server, RUN, 404, NULL, "{\"message\": \"Not Found\"}");
	server_step(&server, RUN, 200, NULL, STATE("in_progress"));
	for (int i = 0; i < 2 * 6; i++)
		server_step(&server, RUN, 404, NULL, "{\"message\": \"Not Found\"}");
	follow("12.1", 7);
	(void)ends_as("12.1", "gone");
	assert_true(has_started("12.1"));
}

static void
test_cancel(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		server_step(&server, RUN, 200, NULL, STATE("in_progress"));
	server_step(&server, "POST " REPO "/runs/7/cancel", 202, NULL, "{}");
	follow("12.1", 7);
	wait_for(has_started, "12.1");
	ops->cancel(self, "12.1");
	for (int i = 0; i < 8; i++)
		server_step(&server, RUN, 200, NULL, ENDED("cancelled"));
	(void)ends_as("12.1", "cancelled");
	assert_int_equal(server_seen(&server, "POST " REPO "/runs/7/cancel"), 1);
	/* One that was not sent yet is just taken back. */
	submit("13.1");
	ops->cancel(self, "13.1");
	(void)ends_as("13.1", "cancelled");
	assert_int_equal(server_seen(&server, DISPATCH), 0);
}

static uint64_t
now_ms(void)
{
	return kettle_fake_host(fake)->monotonic_ms(kettle_fake_host(fake));
}

static int
has_tried_both(void *arg)
{
	(void)arg;
	return server_seen(&server, DISPATCH) == 2;
}

/* A dispatch that waits for a limit of GitHub's is taken back, also where the cancel came before the answer. */
static void
test_cancel_of_a_limited_one(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		server_step(&server, DISPATCH, 429, "Retry-After: 600\r\n", "{}");
	submit("12.1");
	wait_for(has_tried_both, NULL);
	uint64_t cancelled_ms = now_ms();
	ops->cancel(self, "12.1");
	(void)ends_as("12.1", "cancelled");
	assert_true(now_ms() - cancelled_ms < REMOTE_CANCEL_MS);
}

static int
forced_twice(void *arg)
{
	(void)arg;
	return server_seen(&server, FORCE) == 2;
}

/* A run that does not hear is ended by force, and again where GitHub could not take that. */
static void
test_forced(void **state)
{
	(void)state;
	server_step(&server, CANCEL, 202, NULL, "{}");
	server_step(&server, FORCE, 500, NULL, "{}");
	server_step(&server, FORCE, 202, NULL, "{}");
	follow("12.1", 7);
	ops->cancel(self, "12.1");
	wait_for(forced_twice, NULL);
	assert_int_equal(server_seen(&server, CANCEL), 1);
}

static int
is_empty(void *arg)
{
	return !((const struct github *)arg)->remote.jobs;
}

/* A run whose job does not wait for it any more is cancelled at GitHub nevertheless, as soon as that answers. */
static void
test_left(void **state)
{
	(void)state;
	struct github *github = self;
	uint64_t begun_ms = now_ms();
	for (int i = 0; i < SERVER_STEPS_MAX; i++)
		server_step(&server, CANCEL, 500, NULL, "{}");
	follow("12.1", 7);
	ops->cancel(self, "12.1");
	(void)ends_as("12.1", "cancelled");
	assert_true(now_ms() - begun_ms >= REMOTE_CANCEL_MS);
	assert_non_null(github->remote.jobs);
	size_t tried = server_seen(&server, CANCEL);
	server.steps_count = 0;
	server_step(&server, CANCEL, 202, NULL, "{}");
	server_step(&server, RUN, 200, NULL, ENDED("cancelled"));
	wait_for(is_empty, github);
	assert_true(server_seen(&server, CANCEL) > tried);
	/* One that was not cancelled goes on at GitHub, for the next process. */
	follow("13.1", 8);
	ops->detach(self, "13.1");
	assert_null(github->remote.jobs);
	assert_int_equal(server_seen(&server, "GET " REPO "/runs/8"), 0);
}

/* Those with the ids from 100 on. */
static const char *
ref_of(int number)
{
	static char ref[16];
	(void)snprintf(ref, sizeof(ref), "%d.1", 100 + number);
	return ref;
}

static void
follow_many(void)
{
	for (int i = 0; i < MANY; i++)
		follow(ref_of(i), 100 + i);
}

static void
forget_many(void)
{
	for (int i = 0; i < MANY; i++)
		ops->detach(self, ref_of(i));
}

static int
all_started(void *arg)
{
	(void)arg;
	for (int i = 0; i < MANY; i++)
		if (!has_started((void *)ref_of(i)))
			return 0;
	return 1;
}

/* Many runs are looked at by their list; the first ones before they are so many are looked at by themselves. */
static void
test_many(void **state)
{
	(void)state;
	AUTO_BUF struct buf list = {0};
	buf_adds(&list, "{\"workflow_runs\": [");
	for (int i = 0; i < MANY; i++)
		buf_printf(&list, "%s{\"id\": %d, \"status\": \"in_progress\"}", i ? ", " : "", 100 + i);
	buf_adds(&list, "]}");
	server_step(&server, LIST, 200, NULL, list.data);
	follow_many();
	wait_for(all_started, NULL);
	assert_int_equal(server.count, 1);
	forget_many();
}

static struct run *
run_of(const char *ref)
{
	const struct github *github = self;
	return remote_find(&github->remote, ref)->own;
}

static int
all_alone(void *arg)
{
	(void)arg;
	for (int i = 0; i < MANY; i++)
		if (!run_of(ref_of(i))->alone)
			return 0;
	return 1;
}

/* A list that is empty by mistake does not lead to a request for every run at once. */
static void
test_many_unseen(void **state)
{
	(void)state;
	uint64_t first = UINT64_MAX, last = 0;
	server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	follow_many();
	wait_for(all_alone, NULL);
	for (int i = 0; i < MANY; i++) {
		uint64_t at = run_of(ref_of(i))->job->due;
		first = at < first ? at : first;
		last = at > last && at < UINT64_MAX ? at : last;
	}
	assert_true(last - first >= (MANY - 2) * RUNS_POINTS_MS / 2);
	forget_many();
}

static int
is_second(void *arg)
{
	(void)arg;
	return server_seen(&server, LIST) == 2;
}

/* The list of a workflow that has no runs any more takes no share of the requests. */
static void
test_idle_list(void **state)
{
	(void)state;
	json_t *options = json_object_get(unit, "options");
	json_object_set_new(options, "repo", json_string("o/idle"));
	follow("12.1", 0);
	server_step(&server, "GET /repos/o/idle/", 200, NULL, "{\"workflow_runs\": [" STATE("queued") "]}");
	wait_for(has_found, "12.1");
	ops->detach(self, "12.1");
	json_object_set_new(options, "repo", json_string("o/r"));
	for (int i = 0; i < 2; i++)
		server_step(&server, LIST, 500, NULL, "{}");
	follow_many();
	uint64_t begun_ms = now_ms();
	wait_for(is_second, NULL);
	assert_true(now_ms() - begun_ms <= RUNS_PAGE_MS / 2 + POLL_MS); /* there are two tokens */
	forget_many();
}

static const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_whole_life, setup, teardown),
	cmocka_unit_test_setup_teardown(test_lost_answer, setup, teardown),
	cmocka_unit_test_setup_teardown(test_unreached_result, setup, teardown),
	cmocka_unit_test_setup_teardown(test_sought_later, setup, teardown),
	cmocka_unit_test_setup_teardown(test_never_dispatched, setup, teardown),
	cmocka_unit_test_setup_teardown(test_refused_dispatch, setup, teardown),
	cmocka_unit_test_setup_teardown(test_tokens_and_limits, setup, teardown),
	cmocka_unit_test_setup_teardown(test_refused_beside_others, setup, teardown),
	cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
	cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
	cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
	cmocka_unit_test_setup_teardown(test_cancel_of_a_limited_one, setup, teardown),
	cmocka_unit_test_setup_teardown(test_forced, setup, teardown),
	cmocka_unit_test_setup_teardown(test_left, setup, teardown),
	cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	cmocka_unit_test_setup_teardown(test_many_unseen, setup, teardown),
	cmocka_unit_test_setup_teardown(test_idle_list, setup, teardown)};

UNIT_TESTS(test_github_runs, .words = "waiting");
