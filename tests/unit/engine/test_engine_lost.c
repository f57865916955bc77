/* SPDX-License-Identifier: MIT */
/* Jobs that their runner loses: what counts as an attempt, how long the unit pauses, what the participant learns. */
#include <config.h>

#include "base/json_access.h"
#include "unit/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/jobs.h"

/* The runner loses its first job, with these two members. */
static void
lose(bool gone, bool uncounted, const char *error)
{
	fake_end_with(
		0, json_pack("{s:s, s:b, s:b, s:s}", "status", "lost", "gone", gone, "uncounted", uncounted, "error", error));
}

/* Neither job nor machine failed: attempts of their own kind, up to a limit of their own. */
static void
test_uncounted(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt", job), attempt);
		assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
		assert_int_equal(world_unit(0)->losses.count, 0);
		lose(true, true, "Another machine came.");
	}
	assert_string_equal(commands_text(fixture_event(&world.c.f, "job.requeued"), "data.loss"), "unstarted");
	until(world_job_is(job, "error"));
	until(world.engine->in_flight == 0);
	assert_non_null(strstr(world_text("error", job), "The runner could not finish the job: 10 attempts failed"));
	assert_non_null(strstr(world_text("error", job), "the code was not judged"));
	assert_non_null(strstr(world_text("error", job), "Another machine came."));
	assert_string_equal(world_text("loss", job), "unstarted");
}

/* A broken connection: the unit pauses, and the three attempts stay. */
static void
test_broken_connection(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	lose(false, true, "The connection broke.");
	assert_int_equal(world_unit(0)->losses.count, 1);
	assert_true(world_unit(0)->pause_until_ms > 0);
	until(fake.count == 1);
	for (int attempt = 1; attempt <= JOB_MAX_ATTEMPTS; attempt++) {
		until(fake.count == 1);
		assert_false(world_job_is(job, "error"));
		lose(true, false, "it is lost");
	}
	until(world_job_is(job, "error"));
	assert_non_null(
		strstr(world_text("error", job), "The runner could not finish the job: its machines failed 3 times"));
	assert_string_equal(world_text("fault", job), "machine");
	assert_string_equal(world_text("loss", job), "gone");
	assert_non_null(strstr(world_text("error", job), "the code was not judged"));
	until(world.engine->in_flight == 0);
}

/* All jobs of a machine that ends are one loss; only the next one makes the pause longer. */
static void
test_one_loss(void **state)
{
	(void)state;
	struct unit *unit = world_unit(0);
	fake.slots = 4;
	struct kettle_error err = {0};
	AUTO_JSON json_t *devices = world_devices(1, NULL);
	assert_int_equal(engine_reload(world.engine, devices, &err), 0);
	for (int i = 0; i < 4; i++)
		(void)world_submit();
	until(fake.count == 4);
	while (fake.count > 0)
		lose(false, true, "The connection broke.");
	assert_int_equal(unit->losses.count, 1);
	assert_true(unit->pause_until_ms <= world_now() + ENGINE_PAUSE_MS);
	until(fake.count > 0);
	uint64_t now = world_now();
	lose(false, true, "The connection broke again.");
	assert_int_equal(unit->losses.count, 2);
	assert_true(unit->pause_until_ms >= now + 2 * (uint64_t)ENGINE_PAUSE_MS);
}

/* What its machine never had is tried for as long as it takes. */
static void
test_unstarted(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE + 2; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt", job), attempt);
		assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
		fake_end_with(0, json_pack("{s:s, s:b, s:b, s:s}", "status", "lost", "uncounted", 1, "unstarted", 1, "error",
							 "No route to host."));
	}
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A remote side that loses everything takes the attempts of one job, not of one after the other. */
static void
test_loses_everything(void **state)
{
	(void)state;
	struct unit *unit = world_unit(0);
	int64_t jobs[4];
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = world_submit();
	uint64_t pause = 0;
	for (int lost = 0; lost < 20; lost++) {
		until(fake.count >= 1);
		/* From the second loss on it gets one job at a time. */
		assert_true(fake.count == 1 || lost < 2);
		while (fake.count > 0)
			lose(false, false, "The token is refused.");
		uint64_t left = unit->pause_until_ms - world_now();
		assert_true(left >= pause || left + 5 >= ENGINE_PAUSE_MAX_MS);
		assert_true(left <= ENGINE_PAUSE_MAX_MS);
		pause = left;
		until(world.engine->in_flight == 0 || fake.count > 0);
	}
	size_t ended = 0, tried = 0;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		ended += world_job_is(jobs[i], "error");
		tried += world_number("lost_with_engine", jobs[i]) > 0;
	}
	assert_true(ended <= 1);
	assert_int_equal(tried, ARRAY_SIZE(jobs) - ended); /* in turns */
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	const json_t *shown = json_array_get(json_object_get(json_array_get(devices, 0), "units"), 0);
	assert_string_equal(json_string_value(json_object_get(shown, "reason")), "The token is refused.");
	/* It works again: all others pass, and it has all of its room. */
	until(fake.count == 1);
	fake_end(0, "done");
	until(unit->losses.count == 0);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		until(fake.count > 0 ? (fake_end(0, "done"), false)
							 : !world_job_is(jobs[i], "queued") && !world_job_is(jobs[i], "running"));
	size_t passed = 0;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		passed += world_job_is(jobs[i], "passed");
	assert_int_equal(passed, ARRAY_SIZE(jobs) - ended);
}

/* It refuses them when they are submitted: the same. */
static void
test_refuses_everything(void **state)
{
	(void)state;
	int64_t jobs[3];
	fake.on_submit = REFUSES;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = world_submit();
	for (size_t lost = 1; lost < 15; lost++) {
		until(fake.submits >= lost && world.engine->in_flight == 0);
	}
	size_t ended = 0;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		ended += world_job_is(jobs[i], "error");
	assert_true(ended <= 1);
	fake.on_submit = AT_ONCE;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		until(world_job_is(jobs[i], "error") || world_job_is(jobs[i], "passed"));
}

/* A remote side that forgets every job is to blame as well, from the fourth job in a row on. */
static void
test_forgets_everything(void **state)
{
	(void)state;
	struct unit *unit = world_unit(0);
	int64_t first = world_submit(), second = world_submit();
	for (int attempt = 1; attempt <= ENGINE_GONE_MAX; attempt++) {
		until(fake.count >= 1);
		assert_int_equal(unit->losses.count, 0);
		lose(true, false, "There is no such job.");
		until(fake.count >= 1);
	}
	until(fake.count >= 1);
	lose(true, false, "There is no such job.");
	assert_int_equal(unit->losses.count, 1);
	assert_true(unit->pause_until_ms > 0);
	fake.on_submit = AT_ONCE;
	while (fake.count > 0)
		fake_end(0, "done");
	for (int64_t job = first; job <= second; job++)
		until(world_job_is(job, "error") || world_job_is(job, "passed"));
	assert_int_equal(unit->losses.unknown, 0);
}

/* The runner loses its first job in the way of this member, which stands beside those that an older engine knows. */
static void
lose_as(const char *member, const char *error)
{
	fake_end_with(0,
		json_pack("{s:s, s:b, s:b, s:b, s:s}", "status", "lost", "gone", 1, "uncounted", 1, member, 1, "error", error));
}

/* No other attempt can succeed: the job ends at once, and its unit is as it was. */
static void
test_final(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	lose_as("final", "Its plan is too large.");
	until(world_job_is(job, "error"));
	assert_int_equal(world_number("attempt", job), 1);
	assert_non_null(strstr(world_text("error", job), "The runner cannot run the job"));
	assert_string_equal(world_text("fault", job), "operator");
	assert_string_equal(world_text("stage", job), "queue");
	assert_non_null(strstr(world_text("error", job), "the code was not judged"));
	assert_non_null(strstr(world_text("error", job), "Its plan is too large."));
	assert_true(world_unit(0)->losses.count == 0 && world_unit(0)->pause_until_ms == 0);
	int64_t next = world_submit();
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(next, "passed"));
}

/* The unit of engine_devices, and why its device serves no job. */
static void
assert_shown(const char *state, const char *reason)
{
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	const json_t *device = json_array_get(devices, 0), *unit = json_array_get(json_object_get(device, "units"), 0);
	assert_string_equal(json_string_value(json_object_get(unit, "state")), state);
	const char *shown = json_string_value(json_object_get(unit, "reason"));
	const char *waits = json_string_value(json_object_get(device, "waits"));
	if (reason) {
		assert_string_equal(shown, reason);
		assert_non_null(strstr(waits, reason));
	} else {
		assert_true(!shown && !waits);
	}
}

/*
 * No job can run on the unit as it is configured: jobs wait for as long as that takes, one at a time finds out whether it has
 * been mended, and admins are told once.
 */
static void
test_unusable(void **state)
{
	(void)state;
	int64_t jobs[] = {world_submit(), world_submit()};
	until(fake.count == 2);
	lose_as("unusable", "There is no such workflow.");
	lose_as("unusable", "There is no such workflow.");
	until(world.engine->in_flight == 0);
	assert_shown("paused", "There is no such workflow.");
	assert_true(world_unit(0)->pause_until_ms > world_now() + ENGINE_TEST_MS / 2);
	for (int trial = 0; trial < 2 * JOB_MAX_LOST_WITH_ENGINE; trial++) {
		until(fake.count == 1);
		assert_shown("paused", "There is no such workflow.");
		lose_as("unusable", "There is no such workflow.");
		until(world.engine->in_flight == 0);
	}
	assert_int_equal(world_number("lost_with_engine", jobs[0]) + world_number("lost_with_engine", jobs[1]), 1);
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s, s:s}", "event", "started", "job", fake_task(0)->ref));
	until(fake.count == 2); /* it has all of its room again */
	assert_shown("building", NULL);
	until(fixture_events(&world.c.f, "unit.returned") == 1);
	fake_end(0, "done");
	fake_end(0, "done");
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		until(world_job_is(jobs[i], "passed"));
		assert_true(world_number("attempt - uncharged_attempts", jobs[i]) == 1);
	}
	assert_int_equal(fixture_events(&world.c.f, "unit.quarantined"), 1);
}

/* What builds in another place first says nothing about the unit's own. */
static void
test_unusable_after_build(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int trial = 0; trial < 2 * JOB_MAX_LOST_WITH_ENGINE; trial++) {
		until(fake.count == 1);
		fake_say(0, json_pack("{s:s}", "event", "waiting"));
		fake_say(0, json_pack("{s:s, s:b}", "event", "started", "elsewhere", 1));
		lose_as("unusable", "There is no such function.");
		until(world.engine->in_flight == 0);
		assert_shown("paused", "There is no such function.");
	}
	assert_int_equal(world_number("lost_with_engine", job), 1);
	until(fake.count == 1);
	json_t *end = fake_completion(0, "done");
	json_object_set_new(end, "elsewhere", json_true());
	fake_end_with(0, end);
	until(world_job_is(job, "passed"));
	assert_true(world_unit(0)->obstacles[UNIT_UNUSABLE].said_ns > 0);
	assert_int_equal(fixture_events(&world.c.f, "unit.returned"), 0);
}

/* Where others pass in between, it is the job, which ends as what is lost without counting does. */
static void
test_unusable_for_one(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE; attempt++) {
		until(fake.count == 1);
		assert_int_equal(atoll(fake_task(0)->ref), job);
		assert_false(world_job_is(job, "error"));
		lose_as("unusable", "Inputs are wrong.");
		int64_t other = world_submit();
		until(fake.count >= 1);
		assert_int_equal(atoll(fake_task(0)->ref), other);
		fake_end(0, "done");
		until(world_job_is(other, "passed"));
	}
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "Inputs are wrong."));
}

#define LOST_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static json_t *
listed_unit(size_t number)
{
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	return json_incref(json_array_get(json_object_get(json_array_get(devices, 0), "units"), number));
}

/*
 * The remote side of a runner cannot be reached: its unit says so with the time and the reason, and so does the job that the runner has
 * and the one behind it, which stays in the queue.
 */
static void
test_unreached(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	engine_reached(world.engine, "fake", NULL, "connection refused");
	int64_t behind = world_submit();
	until(engine_job_find(world.engine, behind) != NULL);
	AUTO_JSON json_t *unit = listed_unit(0), *place = engine_queue_position(world.engine, job, 0),
					 *next = engine_queue_position(world.engine, behind, 0);
	const json_t *obstacle = json_object_get(unit, "obstacle");
	assert_string_equal(json_text_or_empty(unit, "state"), "waiting");
	assert_string_equal(json_text_or_empty(obstacle, "cause"), "unreachable");
	assert_string_equal(json_text_or_empty(obstacle, "error"), "connection refused");
	assert_true(json_equal(json_object_get(place, "obstacle"), obstacle));
	assert_true(json_equal(json_object_get(next, "obstacle"), obstacle));
	assert_non_null(strstr(json_text_or_empty(place, "waits"), "out of reach since "));
	assert_non_null(strstr(json_text_or_empty(next, "waits"), "connection refused"));
	/* The time is that of the first word; another runner's word, and one on other units, are of no concern. */
	world_pass(60000);
	engine_reached(world.engine, "fake", NULL, "no route to host");
	engine_reached(world.engine, "other", NULL, NULL);
	AUTO_JSON json_t *others = json_pack("{s:s}", "host", "far"), *again = listed_unit(0);
	engine_reached(world.engine, "fake", others, NULL);
	assert_string_equal(
		json_text_or_empty(json_object_get(again, "obstacle"), "since"), json_text_or_empty(obstacle, "since"));
	assert_string_equal(json_text_or_empty(json_object_get(again, "obstacle"), "error"), "no route to host");
	assert_int_equal(fake.count, 1);
	engine_reached(world.engine, "fake", NULL, NULL);
	until(fake.count == 2);
	AUTO_JSON json_t *well = listed_unit(0), *none = engine_queue_position(world.engine, job, 0);
	assert_null(json_object_get(well, "obstacle"));
	assert_null(none);
	fake_end(0, "done");
	fake_end(0, "done");
	until(world_job_is(job, "passed") && world_job_is(behind, "passed"));
}

/*
 * The time of a job passes while its remote side cannot be reached: that costs none of its three attempts, also where the answer
 * comes with the cancellation. It ends all the same where it is so each time.
 */
static void
test_unreached_in_time(void **state)
{
	(void)state;
	int64_t job = world_submit();
	fake.on_cancel = WAITS;
	for (int attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
		engine_reached(world.engine, "fake", NULL, "connection refused");
		until(fake_task(0)->cancelled);
		engine_reached(world.engine, "fake", NULL, NULL);
		fake_end_with(0, json_pack("{s:s}", "status", "cancelled"));
	}
	until(world_job_is(job, "error"));
	assert_string_equal(world_text("loss", job), "unreached");
	assert_non_null(strstr(world_text("error", job), "connection refused"));
	/* What the runner knows better, it says. */
	int64_t next = world_submit();
	until(fake.count == 1);
	engine_reached(world.engine, "fake", NULL, "connection refused");
	until(fake_task(0)->cancelled);
	lose(true, true, "It never began.");
	until(world_job_is(next, "queued"));
	assert_string_equal(world_text("loss", next), "unstarted");
}

/* Since when the unit's jobs wait; "": they do not. New string. */
static char *
since(void)
{
	AUTO_JSON json_t *unit = listed_unit(0);
	return xstrdup(json_text_or_empty(json_object_get(unit, "obstacle"), "since"));
}

static void
assert_since(const char *wanted)
{
	AUTO_FREE char *shown = since();
	assert_string_equal(shown, wanted);
}

/* How many units of the database wait; the writes that may wait have gone with another one. */
static int64_t
stored_waits(const char *column)
{
	AUTO_FREE char *sql = xasprintf("SELECT count(%s) FROM device_units", column);
	return fixture_int(&world.c.f, sql);
}

static void
restart_later(void)
{
	world_pass(90000);
	world_stop(0);
	world_start(world_devices(1, NULL));
	assert_since(""); /* nothing has said so yet */
	world_pass(90000);
}

/* The time since when a unit's jobs wait goes on in the next engine, and ends with what they wait for. */
static void
test_waits_go_on(void **state)
{
	(void)state;
	engine_reached(world.engine, "fake", NULL, "connection refused");
	AUTO_FREE char *first = since();
	int64_t job = world_submit();
	until(stored_waits("away_at") == 1);
	restart_later();
	engine_reached(world.engine, "fake", NULL, "no route to host");
	assert_since(first);
	engine_reached(world.engine, "fake", NULL, NULL);
	until(fake.count == 1);
	lose_as("unusable", "There is no such workflow.");
	AUTO_FREE char *second = since();
	assert_string_not_equal(second, first);
	until(stored_waits("away_at") == 0 && stored_waits("unusable_at") == 1);
	restart_later();
	until(fake.count == 1);
	lose_as("unusable", "There is no such workflow.");
	assert_since(second);
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s, s:s}", "event", "started", "job", fake_task(0)->ref));
	assert_since("");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	until(stored_waits("unusable_at") == 0);
	engine_reached(world.engine, "fake", NULL, "connection refused");
	AUTO_FREE char *third = since();
	assert_string_not_equal(third, first);
}

static const struct CMUnitTest tests[] = {
	LOST_TEST(test_uncounted),
	LOST_TEST(test_unstarted),
	LOST_TEST(test_broken_connection),
	LOST_TEST(test_one_loss),
	LOST_TEST(test_loses_everything),
	LOST_TEST(test_refuses_everything),
	LOST_TEST(test_forgets_everything),
	LOST_TEST(test_final),
	LOST_TEST(test_unusable),
	LOST_TEST(test_unreached),
	LOST_TEST(test_unreached_in_time),
	LOST_TEST(test_waits_go_on),
	LOST_TEST(test_unusable_after_build),
	LOST_TEST(test_unusable_for_one),
};

UNIT_TESTS(test_engine_lost, .words = "waiting");
