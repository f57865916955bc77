/* SPDX-License-Identifier: MIT */
/* Runs of a workflow against a server that answers as a test says: from the dispatch to the artifact, and all that goes wrong. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/github/runs_internal.h"
#include "unit/discord/rest_server.h"

#define WAIT_MS 3600000
#define POLL_MS 500
#define GIVE_UP_MS 60000
#define NAME "kettle-1f0c9a3e-12.1"
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

/* What a run has told. */
struct told {
	struct run *run;
	int found, started, ended;
	enum run_end how;
	int64_t id;
	char *sentence;
};

static struct kettle_fake *fake;
static struct server server;
static struct api *api;
static struct runs *runs;
static char *base;
static const struct run_place place = {.repo = "o/r", .workflow = "kettle.yml", .ref = "main"};

static void
on_found(void *arg, int64_t id)
{
	struct told *told = arg;
	told->found++;
	told->id = id;
}

static void
on_started(void *arg)
{
	struct told *told = arg;
	told->started++;
}

static void
on_ended(void *arg, enum run_end how, const char *sentence, struct result_files *files)
{
	struct told *told = arg;
	told->ended++;
	told->how = how;
	told->sentence = xstrdup(sentence);
	(void)files;
}

static const struct run_events events = {.found = on_found, .started = on_started, .ended = on_ended};

static int
setup(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	assert_int_equal(kettle_fake_new("github", &fake, &err), 0);
	kettle_fake_simulate(fake, INT64_C(1790000000000));
	server_start(&server, fake);
	base = xasprintf("http://127.0.0.1:%d/", server.port);
	const struct api_settings settings = {
		.base = base, .version = "2026-03-10", .tokens = TOKEN_ONE "\n" TOKEN_TWO "\n", .most_ms = API_TOTAL_MS};
	assert_int_equal(api_new(kettle_fake_host(fake), &settings, &api, &err), 0);
	runs = runs_new(kettle_fake_host(fake), api, &(struct runs_rules){.poll_ms = POLL_MS, .give_up_ms = GIVE_UP_MS});
	return 0;
}

/* Also: no token is in the log, and nothing is left. */
static int
teardown(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	runs_free(runs);
	api_free(api);
	server_stop(&server);
	AUTO_FREE char *log = json_dumps(kettle_fake_log(fake), 0);
	assert_null(strstr(log, "ghp_"));
	assert_int_equal(kettle_fake_free(fake, &err), 0);
	free(base);
	return 0;
}

static int
has_ended(void *arg)
{
	return ((const struct told *)arg)->ended > 0;
}

static int
has_started(void *arg)
{
	return ((const struct told *)arg)->started > 0;
}

static void
free_told(struct told *told)
{
	free(told->sentence);
}

/* Dispatches a run and waits for its end, which comes once. */
static struct told
run_to_end(void)
{
	struct told told = {0};
	told.run = runs_dispatch(runs, &place, NAME, "S1RMRTEK", &events, &told);
	assert_int_equal(kettle_fake_run(fake, has_ended, &told, WAIT_MS), 0);
	assert_int_equal(told.ended, 1);
	return told;
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
	struct told told = run_to_end();
	assert_int_equal(told.how, RUN_BROKE);
	assert_true(told.found == 1 && told.started == 1 && told.id == 7);
	assert_non_null(strstr(
		body_of(DISPATCH), "\"payload\":\"S1RMRTEK\",\"runner\":\"[\\\"ubuntu-24.04\\\"]\",\"run_name\":\"" NAME "\""));
	assert_string_equal(header_of(DISPATCH, 0, "Authorization:"), "Authorization: Bearer " TOKEN_ONE);
	assert_string_equal(header_of(DISPATCH, 0, "X-GitHub-Api-Version:"), "X-GitHub-Api-Version: 2026-03-10");
	assert_string_equal(header_of(RUN, 0, "If-None-Match:"), "");
	assert_string_equal(header_of(RUN, 1, "If-None-Match:"), "If-None-Match: \"a\"");
	assert_string_equal(header_of(RUN, 3, "If-None-Match:"), "If-None-Match: \"b\"");
	assert_string_equal(header_of("GET /file", 0, "Authorization:"), "");
	assert_int_equal(server_seen(&server, DISPATCH), 1);
	assert_non_null(strstr(told.sentence, "is no zip"));
	free_told(&told);
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
	struct told told = run_to_end();
	assert_true(told.how == RUN_BROKE && told.found == 1 && told.id == 7 && told.started == 0);
	assert_non_null(strstr(told.sentence, "skipped"));
	assert_int_equal(server_seen(&server, DISPATCH), 1);
	free_told(&told);
}

static int
has_found(void *arg)
{
	return ((const struct told *)arg)->found > 0;
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
	struct told told = {0}, other = {0};
	server_step(&server, LIST, 200, "ETag: \"a\"\r\n", "{\"workflow_runs\": [" STATE("queued") "]}");
	server_step(&server, LIST, 200, "ETag: \"a\"\r\n", "{\"workflow_runs\": [" STATE("queued") "]}");
	told.run = runs_follow(runs, &place, NAME, 0, 0, &events, &told);
	assert_int_equal(kettle_fake_run(fake, has_found, &told, WAIT_MS), 0);
	run_forget(told.run);
	other.run = runs_follow(runs, &place, NAME "1", 0, 0, &events, &other);
	assert_int_equal(kettle_fake_run(fake, listed_twice, NULL, WAIT_MS), 0);
	assert_string_equal(header_of(LIST, 1, "If-None-Match:"), "");
	run_forget(other.run);
}

/* One that never arrived is known as such after some looks, however long the runner is patient where it did arrive. */
static void
test_never_dispatched(void **state)
{
	(void)state;
	runs->rules.give_up_ms = 10 * (uint64_t)WAIT_MS;
	server_step(&server, DISPATCH, 502, NULL, "<html>");
	for (int i = 0; i < RUNS_SEEK_LOOKS; i++)
		server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	struct told told = run_to_end();
	assert_true(told.how == RUN_UNSTARTED && told.found == 0);
	assert_int_equal(server_seen(&server, DISPATCH), 1);
	assert_int_equal(server_seen(&server, LIST), RUNS_SEEK_LOOKS);
	free_told(&told);
}

/* What GitHub refuses was not dispatched. */
static void
test_refused_dispatch(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, 422, NULL, "{\"message\": \"No ref found for: \\u001bmain\"}");
	struct told told = run_to_end();
	assert_int_equal(told.how, RUN_UNUSABLE);
	assert_non_null(strstr(told.sentence, "status 422: No ref found for: "));
	assert_null(strchr(told.sentence, '\x1b'));
	assert_int_equal(server.count, 1);
	free_told(&told);
	/* As a repository answers that has another name now. */
	server_step(&server, DISPATCH, 307, "Location: /repositories/1\r\n", "{\"message\": \"Temporary Redirect\"}");
	told = run_to_end();
	assert_int_equal(told.how, RUN_UNUSABLE);
	assert_non_null(strstr(told.sentence, "status 307: Temporary Redirect"));
	assert_int_equal(server.count, 2);
	free_told(&told);
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
	struct told told = run_to_end();
	assert_int_equal(told.how, RUN_UNREACHED);
	assert_string_equal(header_of(DISPATCH, 0, "Authorization:"), "Authorization: Bearer " TOKEN_ONE);
	assert_string_equal(header_of(DISPATCH, 2, "Authorization:"), "Authorization: Bearer " TOKEN_TWO);
	assert_string_equal(header_of(RUN, 0, "Authorization:"), "Authorization: Bearer " TOKEN_TWO);
	assert_non_null(strstr(told.sentence, "refuses all tokens"));
	assert_int_equal(server_seen(&server, DISPATCH), 3);
	free_told(&told);
}

/* A token that is refused keeps nothing waiting that another one was answered, and is not what the sentence is about. */
static void
test_refused_beside_others(void **state)
{
	(void)state;
	server_step(&server, DISPATCH, 401, NULL, "{\"message\": \"Bad credentials\"}");
	for (int i = 0; i < 2; i++) {
		server_step(&server, DISPATCH, 404, NULL, "{\"message\": \"Not Found\"}");
		struct told told = run_to_end();
		assert_non_null(strstr(told.sentence, "status 404: Not Found"));
		free_told(&told);
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
	struct told told = run_to_end();
	assert_int_equal(told.how, RUN_UNREACHED);
	assert_true(told.sentence[0] != '\0' && server_seen(&server, RUN) >= 3);
	free_told(&told);
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
		struct told told = {0};
		told.run = runs_follow(runs, &place, NAME, 7, 0, &events, &told);
		assert_int_equal(kettle_fake_run(fake, has_ended, &told, WAIT_MS), 0);
		assert_int_equal(told.how, RUN_UNREACHED);
		free_told(&told);
	}
}

/* GitHub may not know a run at first; one that it forgets is gone. */
static void
test_gone(void **state)
{
	(void)state;
	struct told told = {0};
	/* Each time both tokens are tried. */
	for (int i = 0; i < 2 * 5; i++)
		server_step(&server, RUN, 404, NULL, "{\"message\": \"Not Found\"}");
	server_step(&server, RUN, 200, NULL, STATE("in_progress"));
	for (int i = 0; i < 2 * 6; i++)
		server_step(&server, RUN, 404, NULL, "{\"message\": \"Not Found\"}");
	told.run = runs_follow(runs, &place, NAME, 7, 0, &events, &told);
	assert_int_equal(kettle_fake_run(fake, has_ended, &told, WAIT_MS), 0);
	assert_true(told.how == RUN_GONE && told.started == 1);
	free_told(&told);
}

static void
test_cancel(void **state)
{
	(void)state;
	struct told told = {0}, waiting = {0};
	for (int i = 0; i < 3; i++)
		server_step(&server, RUN, 200, NULL, STATE("in_progress"));
	server_step(&server, "POST " REPO "/runs/7/cancel", 202, NULL, "{}");
	told.run = runs_follow(runs, &place, NAME, 7, 0, &events, &told);
	assert_int_equal(kettle_fake_run(fake, has_started, &told, WAIT_MS), 0);
	run_cancel(told.run);
	for (int i = 0; i < 8; i++)
		server_step(&server, RUN, 200, NULL, ENDED("cancelled"));
	assert_int_equal(kettle_fake_run(fake, has_ended, &told, WAIT_MS), 0);
	assert_int_equal(told.how, RUN_CANCELLED);
	assert_int_equal(server_seen(&server, "POST " REPO "/runs/7/cancel"), 1);
	/* One that was not sent yet is just taken back. */
	waiting.run = runs_dispatch(runs, &place, NAME, "", &events, &waiting);
	run_cancel(waiting.run);
	assert_int_equal(kettle_fake_run(fake, has_ended, &waiting, WAIT_MS), 0);
	assert_int_equal(waiting.how, RUN_CANCELLED);
	assert_int_equal(server_seen(&server, DISPATCH), 0);
	free_told(&told);
	free_told(&waiting);
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
	struct told told = {0};
	for (int i = 0; i < 2; i++)
		server_step(&server, DISPATCH, 429, "Retry-After: 600\r\n", "{}");
	told.run = runs_dispatch(runs, &place, NAME, "", &events, &told);
	assert_int_equal(kettle_fake_run(fake, has_tried_both, NULL, WAIT_MS), 0);
	run_cancel(told.run);
	assert_int_equal(kettle_fake_run(fake, has_ended, &told, WAIT_MS), 0);
	assert_int_equal(told.how, RUN_CANCELLED);
	free_told(&told);
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
	struct told told = {0};
	server_step(&server, CANCEL, 202, NULL, "{}");
	server_step(&server, FORCE, 500, NULL, "{}");
	server_step(&server, FORCE, 202, NULL, "{}");
	told.run = runs_follow(runs, &place, NAME, 7, 0, &events, &told);
	run_cancel(told.run);
	assert_int_equal(kettle_fake_run(fake, forced_twice, NULL, WAIT_MS), 0);
	assert_int_equal(server_seen(&server, CANCEL), 1);
	run_forget(told.run);
}

static int
is_empty(void *arg)
{
	return !((const struct runs *)arg)->first;
}

/* A run whose job does not wait for it any more is cancelled at GitHub nevertheless, as soon as a token may. */
static void
test_abandoned(void **state)
{
	(void)state;
	struct told told = {0}, other = {0};
	server_step(&server, RUN, 200, NULL, STATE("in_progress"));
	server_step(&server, CANCEL, 202, NULL, "{}");
	server_step(&server, RUN, 200, NULL, ENDED("cancelled"));
	told.run = runs_follow(runs, &place, NAME, 7, 0, &events, &told);
	run_cancel(told.run);
	run_abandon(told.run);
	/* One that was not cancelled goes on at GitHub, for the next process. */
	other.run = runs_follow(runs, &place, NAME, 8, 0, &events, &other);
	run_abandon(other.run);
	assert_int_equal(kettle_fake_run(fake, is_empty, runs, WAIT_MS), 0);
	assert_int_equal(server_seen(&server, CANCEL), 1);
	assert_int_equal(server_seen(&server, "GET " REPO "/runs/8"), 0);
	assert_true(told.ended == 0 && told.started == 0);
}

static int
all_started(void *arg)
{
	const struct told *told = arg;
	for (int i = 0; i < MANY; i++)
		if (!told[i].started)
			return 0;
	return 1;
}

/* Many runs are looked at by their list. */
static void
test_many(void **state)
{
	(void)state;
	struct told told[MANY] = {{0}};
	AUTO_BUF struct buf list = {0};
	buf_adds(&list, "{\"workflow_runs\": [");
	for (int i = 0; i < MANY; i++)
		buf_printf(&list, "%s{\"id\": %d, \"status\": \"in_progress\"}", i ? ", " : "", 100 + i);
	buf_adds(&list, "]}");
	server_step(&server, LIST, 200, NULL, list.data);
	for (int i = 0; i < MANY; i++)
		told[i].run = runs_follow(runs, &place, NAME, 100 + i, 0, &events, &told[i]);
	assert_int_equal(kettle_fake_run(fake, all_started, told, WAIT_MS), 0);
	assert_int_equal(server.count, 1);
	for (int i = 0; i < MANY; i++)
		run_forget(told[i].run);
}

static int
all_alone(void *arg)
{
	const struct told *told = arg;
	for (int i = 0; i < MANY; i++)
		if (!told[i].run->alone)
			return 0;
	return 1;
}

/* A list that is empty by mistake does not lead to a request for every run at once. */
static void
test_many_unseen(void **state)
{
	(void)state;
	struct told told[MANY] = {{0}};
	uint64_t first = UINT64_MAX, last = 0;
	server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	for (int i = 0; i < MANY; i++)
		told[i].run = runs_follow(runs, &place, NAME, 100 + i, 0, &events, &told[i]);
	assert_int_equal(kettle_fake_run(fake, all_alone, told, WAIT_MS), 0);
	for (int i = 0; i < MANY; i++) {
		uint64_t at = told[i].run->next_at;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	assert_true(last - first >= (MANY - 2) * RUNS_POINTS_MS / 2);
	for (int i = 0; i < MANY; i++)
		run_forget(told[i].run);
}

static int
is_over(void *arg)
{
	const struct run_list *list = ((const struct runs *)arg)->lists;
	return list && list->next_at > 0;
}

/* The list of a workflow that has no runs any more takes no share of the requests. */
static void
test_idle_list(void **state)
{
	(void)state;
	struct told told[MANY] = {{0}}, sought = {0};
	const struct run_place other = {.repo = "o/idle", .workflow = "kettle.yml", .ref = "main"};
	sought.run = runs_follow(runs, &other, NAME, 0, 0, &events, &sought);
	server_step(&server, "GET /repos/o/idle/", 200, NULL, "{\"workflow_runs\": [" STATE("queued") "]}");
	assert_int_equal(kettle_fake_run(fake, is_over, runs, WAIT_MS), 0);
	run_forget(sought.run);
	server_step(&server, LIST, 200, NULL, "{\"workflow_runs\": []}");
	for (int i = 0; i < MANY; i++)
		told[i].run = runs_follow(runs, &place, NAME, 100 + i, 0, &events, &told[i]);
	assert_int_equal(kettle_fake_run(fake, all_alone, told, WAIT_MS), 0);
	assert_string_equal(runs->lists->repo, place.repo);
	assert_true(runs->lists->next_at <= runs_now_ms(runs) + RUNS_PAGE_MS / 2); /* there are two tokens */
	for (int i = 0; i < MANY; i++)
		run_forget(told[i].run);
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
	cmocka_unit_test_setup_teardown(test_abandoned, setup, teardown),
	cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	cmocka_unit_test_setup_teardown(test_many_unseen, setup, teardown),
	cmocka_unit_test_setup_teardown(test_idle_list, setup, teardown)};

UNIT_TESTS(test_github_runs, .words = "waiting");
