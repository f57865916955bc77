/* SPDX-License-Identifier: MIT */
/* Followed submissions: the live message in its thread, and reports, when Discord or the engine fails. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "discord/flows/submission_message.h"
#include "lib/unit_test.h"
#include "unit/discord/announce_fixture.h"

#define WAIT_MS 600000
#define SUBMISSIONS "600" /* the channel */
#define THREAD "1000"
#define LIVE "/api/channels/" THREAD "/messages/1001"
#define POST_THREAD "POST /api/channels/" THREAD "/messages"
#define POST_THREADS "POST /api/channels/" SUBMISSIONS "/threads"

static unsigned failures;      /* of submission.show that are to come */
static const char *visibility; /* of the board */
static bool closes;            /* ... when it has been shown once */
static json_t *asked;          /* jobs of each queue.place */

static int
on_call(void *arg, const json_t *actor, const char *command, const json_t *args, json_t **ret_result,
	struct kettle_error *err)
{
	(void)arg, (void)actor;
	if (strcmp(command, "queue.place") == 0) {
		json_array_append(asked, json_object_get(args, "job"));
		*ret_result = json_pack("{s:[]}", "places");
	} else if (strcmp(command, "leaderboard.show") == 0) {
		*ret_result =
			json_pack("{s:{s:i, s:s, s:s, s:s, s:[s], s:n, s:n, s:b}}", "leaderboard", "id", 7, "name", "vec_add",
				"description", "", "visibility", visibility, "gpu_types", "CPU", "deadline", "opens", "ended", 0);
		visibility = closes ? "closed" : "public";
	} else if (strcmp(command, "submission.show") != 0)
		*ret_result = json_array();
	else if (failures == 0)
		*ret_result =
			json_pack("{s:i, s:[{s:i, s:s, s:s}]}", "id", 1, "jobs", "job", 5, "device", "CPU", "state", "passed");
	else
		return kettle_fail(err, failures-- % 2 ? KETTLE_EIO : KETTLE_EUNAVAIL, "The disk has a fault.");
	return 0;
}

static void
on_begun(void *arg)
{
	*(bool *)arg = true;
}

static int
is_true(void *arg)
{
	return *(bool *)arg;
}

/* A followed submission; moved: its live message is in the thread of its first job. begun_ms: of its interaction. */
static int
setup_submission(void **state, int count, int64_t begun_ms, bool moved)
{
	(void)announce_fixture_setup(state);
	struct fixture *f = *state;
	json_t *kept = kettle_fake_state(f->fake);
	bool begun = false;
	json_t *jobs = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(jobs, json_pack("{s:i, s:s}", "job", 5 + i, "device", "CPU"));
	asked = json_array();
	failures = 0;
	closes = false;
	visibility = "public";
	kettle_fake_answer(f->fake, on_call, NULL);
	json_object_set_new(kept, "sub/1",
		json_pack("{s:{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s}, s:I}, s:i, s:s, s:s, s:s, s:b, s:o}", "interaction",
			"id", "900", "token", "T", "channel", SUBMISSIONS, "parent", "", "user", "77", "actor", "provider",
			"discord", "subject", "77", "name", "ada", "begun", (json_int_t)begun_ms, "id", 1, "board", "vec_add",
			"mode", "test", "file_name", "a.cpp", "practice", 0, "jobs", jobs));
	if (moved)
		json_object_set_new(
			kept, "out/sub/1/live", json_pack("{s:s, s:i, s:s}", "channel", THREAD, "since", 0, "id", "1001"));
	json_object_set_new(kept, "out/sub/1/5/thread",
		json_pack("{s:s, s:i, s:s, s:{s:s, s:i}}", "channel", SUBMISSIONS, "since", 0, "id", THREAD, "what", "name",
			"ada on vec_add, submission 1", "type", 12));
	announce_fixture_stop(f);
	fixture_start(f);
	f->bot.lives = lives_new(&f->bot, on_begun, &begun);
	assert_int_equal(kettle_fake_run(f->fake, is_true, &begun, WAIT_MS), 0);
	return 0;
}

static int
setup(void **state)
{
	return setup_submission(state, 1, 0, true);
}

static int
setup_many(void **state)
{
	return setup_submission(state, 205, 0, true);
}

/* Its answer would soon move to a thread, but can still be edited. */
static int
setup_late(void **state)
{
	return setup_submission(state, 1, AT_MS, false);
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	json_decref(STEAL(asked));
	announce_fixture_stop(f);
	lives_stop(f->bot.lives);
	(void)kettle_fake_run(f->fake, NULL, NULL, 1);
	lives_free(STEAL(f->bot.lives));
	fixture_start(f);
	return announce_fixture_teardown(state);
}

static void
progress(struct fixture *f, const char *name)
{
	AUTO_JSON json_t *event = json_pack("{s:s, s:i, s:i, s:i, s:s, s:{s:s}}", "kind", "progress", "submission", 1,
		"user", 1, "job", 5, "device", "CPU", "event", "event", name);
	assert_int_equal(kettle_fake_event(f->fake, event), 0);
}

/* Two edits are on their way when the thread turns out to be deleted: it is one loss, and the message moves once. */
static void
test_thread_is_lost_once(void **state)
{
	struct fixture *f = *state;
	server_step(&f->server, "PATCH " LIVE, SERVER_HOLD, NULL, NULL);
	server_step(&f->server, POST_THREAD, 404, NULL, NULL);
	server_step(&f->server, POST_THREADS, 200, NULL, "{\"id\": \"2000\"}");
	server_step(&f->server, "POST /api/channels/2000/messages", 200, NULL, "{\"id\": \"2001\"}");
	server_step(&f->server, POST_THREADS, 200, NULL, "{\"id\": \"3000\"}");
	fixture_seen(f, "PATCH " LIVE, 1);
	progress(f, "started");
	kettle_fake_advance(f->fake, 3000); /* the next edit is put behind it */
	server_release(&f->server, 0, 404);
	fixture_seen(f, "POST /api/channels/2000/messages", 1);
	(void)kettle_fake_run(f->fake, NULL, NULL, 3000);
	assert_int_equal(server_seen(&f->server, POST_THREAD), 0);
	assert_int_equal(server_seen(&f->server, POST_THREADS), 1);
}

/* A message that a moderator has deleted does not come again, and its thread is not lost. */
static void
test_deleted_message_stays_away(void **state)
{
	struct fixture *f = *state;
	server_step(&f->server, "PATCH " LIVE, SERVER_HOLD, NULL, NULL);
	fixture_seen(f, "PATCH " LIVE, 1);
	progress(f, "started");
	kettle_fake_advance(f->fake, 3000); /* the next edit is put behind it */
	server_release_with(&f->server, 0, 404, "{\"code\": 10008}");
	(void)kettle_fake_run(f->fake, NULL, NULL, 6000);
	assert_int_equal(f->server.count, 1);
}

/* What the engine cannot answer for a moment is no reason to leave a report out. */
static void
test_report_waits_for_the_engine(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:i, s:i, s:{s:i, s:s, s:s, s:s}}", "kind", "job.done", "at", AT,
		"seq", 9, "submission", 1, "data", "job", 5, "device", "CPU", "state", "passed", "mode", "test");
	failures = 4;
	assert_true(lives_event(&f->bot, event));
	fixture_done(f, 1);
	assert_int_equal(failures, 0);
	assert_int_equal(server_seen(&f->server, POST_THREAD), 1);
}

/* An end is shown in the command's answer for as long as Discord takes that, also when the message would have moved. */
static void
test_end_in_a_late_answer(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *event = json_pack("{s:s, s:i, s:i}", "kind", "submission.cancelled", "seq", 9, "submission", 1);
	assert_true(lives_event(&f->bot, event));
	fixture_done(f, 1);
	assert_int_equal(f->server.count, 1);
	assert_int_equal(server_seen(&f->server, "PATCH /api/webhooks/"), 1);
	AUTO_JSON json_t *body = fixture_body(f, 0);
	assert_non_null(strstr(json_text_or_empty(body, "content"), "⚪ CPU: cancelled"));
}

/* The first line says what became of this submission, not of its user's best one. */
static void
test_line_names_the_better_one(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:i, s:i, s:{s:i, s:s, s:s, s:s, s:f, s:{s:i, s:f, s:i}}}", "kind",
		"job.done", "at", AT, "seq", 9, "submission", 1, "data", "job", 5, "device", "CPU", "state", "passed", "mode",
		"ranked", "score", 0.00953, "better", "submission", 2, "score", 0.0005654, "rank", 1);
	assert_true(lives_event(&f->bot, event));
	fixture_seen(f, POST_THREAD, 1);
	AUTO_JSON json_t *body = fixture_body(f, f->server.count - 1);
	const char *line = "✅ **CPU**: passed, 9.530 ms, not your best: submission 2, 565.4 µs, rank 1\n";
	assert_int_equal(strncmp(json_text_or_empty(body, "content"), line, strlen(line)), 0);
}

static int
has_asked(void *arg)
{
	return json_array_size(asked) >= *(const size_t *)arg;
}

/* A question for places takes 100 jobs: of more it is asked in pieces, each job once. */
static void
test_places_in_pieces(void **state)
{
	struct fixture *f = *state;
	size_t pieces = 3, i;
	json_int_t next = 5;
	assert_int_equal(kettle_fake_run(f->fake, has_asked, &pieces, WAIT_MS), 0);
	for (size_t piece = 0; piece < pieces; piece++) {
		const json_t *jobs = json_array_get(asked, piece), *job;
		assert_in_range(json_array_size(jobs), 1, 100);
		json_array_foreach(jobs, i, job)
			assert_int_equal(json_integer_value(job), next++);
	}
	assert_int_equal(next, 5 + 205);
}

/* ---- a state that cannot be read or written ---- */

static int (*real_put)(
	const struct kettle_host *host, const char *key, const json_t *value, kettle_answer done, void *arg);
static unsigned faults; /* accesses that fail still */
static kettle_answer failing;

static void
fail_access(void *arg)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_EIO, "The disk has a fault.");
	failing(arg, &err, NULL);
}

static int
put(const struct kettle_host *host, const char *key, const json_t *value, kettle_answer done, void *arg)
{
	if (!done || strcmp(key, "sub/1") != 0 || faults == 0)
		return real_put(host, key, value, done, arg);
	faults--;
	failing = done;
	return host->post(host, fail_access, arg);
}

/* An event that is never dealt with keeps those after it from the bot, until it starts again. */
static void
test_told_on_a_full_disk(void **state)
{
	struct fixture *f = *state;
	struct kettle_host *host = (struct kettle_host *)f->bot.host;
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:i, s:i, s:{s:i, s:s, s:s, s:s}}", "kind", "job.done", "at", AT,
		"seq", 9, "submission", 1, "data", "job", 5, "device", "CPU", "state", "passed", "mode", "test");
	real_put = host->state_put;
	host->state_put = put;
	faults = 3;
	assert_true(lives_event(&f->bot, event));
	fixture_done(f, 1);
	host->state_put = real_put;
	assert_int_equal(faults, 0);
	assert_int_equal(server_seen(&f->server, POST_THREAD), 1);
}

static int (*real_list)(const struct kettle_host *host, const char *prefix, const char *after, unsigned limit,
	kettle_answer done, void *arg);

static int
list(const struct kettle_host *host, const char *prefix, const char *after, unsigned limit, kettle_answer done,
	void *arg)
{
	if (faults == 0)
		return real_list(host, prefix, after, limit, done, arg);
	faults--;
	failing = done;
	return host->post(host, fail_access, arg);
}

/* Without what an earlier process has left, the bot would take its events for those of others. */
static void
test_begins_when_the_state_is_read(void **state)
{
	struct fixture *f = *state;
	struct kettle_host *host = (struct kettle_host *)f->bot.host;
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:i, s:i, s:{s:i, s:s, s:s, s:s}}", "kind", "job.done", "at", AT,
		"seq", 9, "submission", 1, "data", "job", 5, "device", "CPU", "state", "passed", "mode", "test");
	bool begun = false;
	lives_stop(f->bot.lives);
	(void)kettle_fake_run(f->fake, NULL, NULL, 1);
	lives_free(STEAL(f->bot.lives));
	real_list = host->state_list;
	host->state_list = list;
	faults = 3;
	f->bot.lives = lives_new(&f->bot, on_begun, &begun);
	assert_int_equal(kettle_fake_run(f->fake, is_true, &begun, WAIT_MS), 0);
	host->state_list = real_list;
	assert_int_equal(faults, 0);
	assert_true(lives_event(&f->bot, event));
	fixture_done(f, 1);
}

/* A board that closes while the thread of a result is on its way: what is made then goes again, and says no more. */
static void
test_result_of_a_board_that_closes(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *event =
		json_pack("{s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:b, s:{s:i, s:s, s:s, s:s, s:i, s:i, s:f, s:b}}", "kind",
			"job.done", "at", AT, "seq", 9, "submission", 1, "leaderboard", 7, "leaderboard_name", "vec_add",
			"user_name", "ada", "closed", 0, "data", "job", 5, "device", "CPU", "state", "passed", "mode", "ranked",
			"rank", 1, "of", 1, "score", 1e-3, "best", 1);
	closes = true;
	server_step(&f->server, POST_THREADS, 200, NULL, "{\"id\": \"2000\"}");
	assert_true(lives_event(&f->bot, event));
	fixture_done(f, 1);
	fixture_seen(f, "DELETE /api/channels/2000", 1);
	assert_int_equal(server_seen(&f->server, "POST /api/channels/2000/messages"), 0);
	(void)kettle_fake_run(f->fake, NULL, NULL, 1000);
	assert_null(json_object_get(kettle_fake_state(f->fake), "result/7/2000"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_thread_is_lost_once),
	TEST(test_deleted_message_stays_away),
	TEST(test_report_waits_for_the_engine),
	cmocka_unit_test_setup_teardown(test_end_in_a_late_answer, setup_late, teardown),
	TEST(test_line_names_the_better_one),
	cmocka_unit_test_setup_teardown(test_places_in_pieces, setup_many, teardown),
	TEST(test_told_on_a_full_disk),
	TEST(test_begins_when_the_state_is_read),
	TEST(test_result_of_a_board_that_closes),
};

UNIT_TESTS(test_submission_message);
