/* SPDX-License-Identifier: MIT */
/* Jobs of the engine in every state meet completions, losses, cancels, deadlines and stops. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

/* ---- the usual way ---- */

static void
test_at_once(void **state)
{
	(void)state;
	fake.on_submit = AT_ONCE;
	int64_t job = world_submit_as("alice", "ranked");
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.submits, 1);
	until(world.engine->in_flight == 0);
	assert_int_equal(world_unit(0)->active, 0);
	assert_null(engine_job_find(world.engine, job));
	/* What storing the verdict took comes after it, with the next write. */
	fixture_sql(&world.c.f, "DELETE FROM settings WHERE key = 'none'");
	assert_true(world_number("coalesce(json_extract(timing_json, '$.parts.record_ns'), -1)", job) >= 0);
	assert_true(world_number("coalesce(json_extract(timing_json, '$.parts.queue_ns'), -1)", job) >= 0);
}

static void
test_slots_and_prefetch(void **state)
{
	(void)state;
	int64_t first = world_submit(), second = world_submit(), third = world_submit();
	until(fake.count == 2);
	AUTO_JSON json_t *place = engine_queue_position(world.engine, third, 0);
	assert_int_equal(commands_number(place, "place"), 0);
	assert_null(engine_queue_position(world.engine, first, 0));
	int64_t alice = engine_job_find(world.engine, third)->user;
	AUTO_JSON json_t *own = engine_queue_position(world.engine, third, alice);
	assert_non_null(own);
	assert_null(engine_queue_position(world.engine, third, alice + 1));
	fake_say(0, json_pack("{s:s}", "event", "device"));
	assert_int_equal(world_unit(0)->running, 1);
	fake_end(0, "done");
	until(fake.submits == 3);
	assert_int_equal(world_unit(0)->running, 0);
	fake_end(0, "done");
	fake_end(0, "done");
	until(world_job_is(first, "passed") && world_job_is(second, "passed") && world_job_is(third, "passed"));
}

/* What the last jobs took tells how long the next ones wait; an engine that begins learns it from the database. */
static void
test_expected_wait(void **state)
{
	(void)state;
	struct device *device = world_unit(0)->device;
	unsigned slots = world_unit(0)->slots;
	assert_int_equal(expected_wait_s(device, 0), -1);
	expected_wait_add(device, 90000);
	expected_wait_add(device, 2000);
	expected_wait_add(device, 3000);
	world_unit(0)->slots = 1;
	assert_int_equal(expected_wait_s(device, 0), 3);
	assert_int_equal(expected_wait_s(device, 3), 12);
	world_unit(0)->slots = 2;
	assert_int_equal(expected_wait_s(device, 3), 6);
	world_unit(0)->disabled.cause = UNIT_FAULT;
	assert_int_equal(expected_wait_s(device, 3), -1);
	world_unit(0)->disabled.cause = UNIT_ENABLED;
	/* When a unit's operator or network mends it is not known. */
	for (int wait = 0; wait < UNIT_WAITS; wait++) {
		world_unit(0)->obstacles[wait].said_ns = 1;
		assert_int_equal(expected_wait_s(device, 3), -1);
		world_unit(0)->obstacles[wait].said_ns = 0;
	}
	/* Only the last ones count. */
	for (size_t i = 0; i < ENGINE_RECENT; i++)
		expected_wait_add(device, 1000);
	world_unit(0)->slots = slots;
	fake.on_submit = AT_ONCE;
	int64_t job = world_submit();
	until(world_job_is(job, "passed"));
	fixture_sql(&world.c.f, "UPDATE jobs SET done_at = started_at + 7000");
	world_stop(0);
	world_start(world_devices(1, NULL));
	until(engine_loaded(world.engine));
	device = world_unit(0)->device;
	assert_int_equal(device->recent.count, 1);
	assert_int_equal(device->recent.ms[0], 7000);
}

static void
test_idle_unit_first(void **state)
{
	(void)state;
	world_stop(0);
	world_start(world_devices(2, NULL));
	world_submit();
	world_submit();
	world_submit();
	until(fake.count == 3);
	assert_string_equal(fake_task(0)->unit, "CPU.0");
	assert_string_equal(fake_task(1)->unit, "CPU.1");
	assert_string_equal(fake_task(2)->unit, "CPU.0");
}

static void
test_unknown_completion(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	world.host.table.job_done(&world.host.table, "77.1", json_pack("{s:s}", "status", "done"));
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, fake_task(0)->ref, sizeof(ref));
	fake_end(0, "done");
	world.host.table.job_done(&world.host.table, ref, json_pack("{s:s}", "status", "lost"));
	until(world_job_is(job, "passed"));
	until(world.engine->in_flight == 0);
	assert_int_equal(fixture_events(&world.c.f, "job.done"), 1);
}

/* Nothing at all is a completion too. */
static void
test_empty_completion(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	fake_end_with(0, NULL);
	until(fake.count == 1);
	assert_int_equal(world_number("attempt", job), 2);
}

/* What a submission has a part in belongs to its user in the machine's cache, by a name that does not tell who that is. */
static void
test_owner(void **state)
{
	(void)state;
	char owner[32];
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	(void)snprintf(owner, sizeof(owner), "user-%lld", (long long)engine_job_find(world.engine, job)->user);
	size_t i, owned = 0, cached = 0;
	json_t *step;
	json_array_foreach(json_object_get(fake_task(0)->plan, "steps"), i, step) {
		const char *found = json_text_or_null(step, "owner");
		cached += member_true(step, "cache");
		owned += found != NULL;
		assert_true(!found || strcmp(found, owner) == 0);
	}
	assert_true(owned > 0 && owned < cached);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* ---- what may be shown ---- */

static void
test_progress(void **state)
{
	(void)state;
	world_submit_as("alice", "ranked");
	until(fake.count == 1);
	const char *secret = NULL, *open = NULL;
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(fake_task(0)->plan, "steps"), i, step) {
		const json_t *run = json_object_get(step, "run");
		const char **id = json_is_true(json_object_get(run, "secret")) ? &secret : &open;
		if (run)
			*id = json_string_value(json_object_get(step, "id"));
	}
	assert_true(secret && open);
	json_array_clear(world.progress);
	fake_say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "result", "step", secret, "key", "k", "value", "LEAK"));
	fake_say(0, json_pack("{s:s, s:s, s:s}", "event", "result", "key", "k", "value", "LEAK"));
	fake_say(0, json_pack("{s:s, s:s, s:s}", "event", "result", "step", "none", "value", "LEAK"));
	fake_say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "step", "step", secret, "state", "running", "argv", "LEAK"));
	fake_say(0, json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}}", "event", "outcome", "outcome", "step", secret, "state",
					"failed", "message", "LEAK", "result", "k", "LEAK"));
	fake_say(0, json_pack("{s:s, s:s}", "event", "new", "text", "LEAK"));
	fake_say(0, json_pack("{s:i}", "event", 1));
	fake_say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "result", "step", open, "key", "k", "value", "shown"));
	AUTO_FREE char *text = json_dumps(world.progress, 0);
	assert_null(strstr(text, "LEAK"));
	assert_non_null(strstr(text, "shown"));
	assert_int_equal(json_array_size(world.progress), 3);
}

/* Waiting for the device is a state that no deadline counts, and neither repeats nor their lack lose a count. */
static void
test_phases(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	struct engine_job *known = engine_job_find(world.engine, job);
	assert_true(known->deadline_ms > 0);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	assert_int_equal(known->deadline_ms, 0);
	/* It waited in the queue of a remote side: the clock of builds begins. */
	fake_say(0, json_pack("{s:s}", "event", "started"));
	assert_int_equal(known->phase, PHASE_BUILDING);
	assert_true(known->deadline_ms > 0);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	fake_say(0, json_pack("{s:s}", "event", "device"));
	fake_say(0, json_pack("{s:s}", "event", "started"));
	assert_int_equal(known->phase, PHASE_RUNNING);
	fake_say(0, json_pack("{s:s}", "event", "device"));
	assert_true(known->deadline_ms > 0);
	assert_int_equal(world_unit(0)->running, 1);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	assert_int_equal(world_unit(0)->running, 0);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* ---- losses ---- */

static void
test_refused(void **state)
{
	(void)state;
	fake.on_submit = REFUSES;
	int64_t job = world_submit();
	until(world_job_is(job, "error"));
	assert_int_equal(fake.submits, 3);
	assert_non_null(strstr(world_text("error", job), "failed 3 times"));
	assert_non_null(strstr(world_text("error", job), "not in the mood"));
	assert_int_equal(world_unit(0)->losses.count, 3);
	assert_true(world_unit(0)->pause_until_ms > 0);
	fake.on_submit = AT_ONCE;
	int64_t next = world_submit();
	until(world_job_is(next, "passed"));
	assert_int_equal(world_unit(0)->losses.count, 0);
}

/* An answer that says nothing is an attempt that failed. */
static void
test_odd_answers(void **state)
{
	(void)state;
	const int odd[] = {7, KETTLE_EIO};
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		fake.odd = odd[i];
		int64_t job = world_submit();
		until(fake.count == 1);
		assert_int_equal(world_number("attempt", job), 2);
		assert_int_equal(world_number("uncharged_attempts", job), 0);
		fake_end(0, "done");
		until(world_job_is(job, "passed"));
	}
}

static void
test_other_unit_takes_over(void **state)
{
	(void)state;
	world_stop(0);
	world_start(world_devices(2, NULL));
	fake.refuses = "CPU.0";
	world_unit(0)->losses.count = 16; /* its pause is longer than a machine that is busy takes for the second attempt */
	int64_t job = world_submit();
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	assert_int_equal(world_number("attempt", job), 2);
	assert_int_equal(world_number("uncharged_attempts", job), 1); /* the unit loses everything */
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

static void
test_lost(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= 3; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt", job), attempt);
		fake_end(0, "lost");
	}
	until(world_job_is(job, "error"));
	until(world.engine->in_flight == 0);
	assert_int_equal(fixture_events(&world.c.f, "submission.done"), 1);
}

/* Who looks at devices sees how long a job that comes now is likely to wait; a job says where it runs. */
static void
test_wait_of_device(void **state)
{
	(void)state;
	AUTO_JSON json_t *idle = engine_devices(world.engine);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(idle, 0), "wait_s")), 0);
	int64_t job = world_submit();
	until(fake.count == 1);
	assert_string_equal(world_text("unit", job), "CPU.0");
	assert_string_equal(world_text("runner", job), "fake");
	AUTO_JSON json_t *unknown = engine_devices(world.engine);
	assert_null(json_object_get(json_array_get(unknown, 0), "wait_s"));
	for (size_t i = 0; i < ENGINE_RECENT; i++)
		expected_wait_add(world.engine->devices, 7000);
	AUTO_JSON json_t *busy = engine_devices(world.engine);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(busy, 0), "wait_s")), 7);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_string_equal(world_text("runner", job), "fake");
}

/* The remote side knows nothing of it: an attempt less, and the unit does not pause. */
static void
test_gone(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= 3; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_unit(0)->losses.count, 0);
		assert_int_equal(world_unit(0)->pause_until_ms, 0);
		fake_end_with(0, json_pack("{s:s, s:b, s:s}", "status", "lost", "gone", 1, "error", "there is no such job"));
	}
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "there is no such job"));
	until(world.engine->in_flight == 0);
}

/* A submission may claim that the machine has failed: the job is tried again, and the unit keeps its health. */
static void
test_says_lost(void **state)
{
	(void)state;
	int64_t job = world_submit();
	for (int attempt = 1; attempt <= 3; attempt++) {
		until(fake.count == 1);
		json_t *done = fake_completion(0, "done"), *outcomes = json_object_get(done, "outcomes");
		json_t *last = json_array_get(outcomes, json_array_size(outcomes) - 1);
		json_object_set_new(last, "state", json_string("failed"));
		json_object_set_new(last, "exit", json_integer(110));
		json_object_set_new(json_object_get(last, "result"), "fault", json_string("machine"));
		fake_end_with(0, done);
		assert_int_equal(world_unit(0)->losses.count, 0);
		assert_true(world_unit(0)->pause_until_ms <= world_now() + ENGINE_PAUSE_MS);
	}
	until(world_job_is(job, "error"));
	/* Each was a run for rate limits: two that were made again, and the last. */
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM rate_spent"), 2);
	assert_int_equal(fixture_int(&world.c.f, "SELECT spent FROM jobs"), 1);
	until(world.engine->in_flight == 0);
}

/* A machine that reports what its plan does not have is at fault, even where that would fail or pass the submission. */
static void
test_other_outcomes(void **state)
{
	(void)state;
	int64_t job = world_submit();
	static const char *const states[] = {"failed", "passed", "failed"};
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		until(fake.count == 1);
		json_t *done = fake_completion(0, "done"), *outcomes = json_object_get(done, "outcomes");
		AUTO_JSON json_t *again = json_deep_copy(json_array_get(outcomes, 0));
		json_object_set_new(again, "state", json_string(states[i]));
		json_array_set(outcomes, json_array_size(outcomes) - 1, again);
		fake_end_with(0, done);
		assert_int_equal(world_unit(0)->losses.count, i + 1);
	}
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "the code was not judged"));
	assert_non_null(strstr(world_text("error", job), "several results of the step"));
	until(world.engine->in_flight == 0);
}

/* Times of a machine that cannot be put no run into the future, nor before its job. */
static void
test_other_times(void **state)
{
	(void)state;
	static const int64_t starts[] = {900000000000000000, 1, -900000000000000000, 2082758400000000000};
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		int64_t job = world_submit();
		until(fake.count == 1);
		json_t *done = fake_completion(0, "done"), *outcomes = json_object_get(done, "outcomes"), *outcome;
		size_t number;
		json_array_foreach(outcomes, number, outcome)
			json_object_set_new(outcome, "start_ns",
				json_integer(number + 1 < json_array_size(outcomes) ? INT64_C(1000000000000) : (json_int_t)starts[i]));
		json_object_set_new(json_array_get(outcomes, json_array_size(outcomes) - 1), "wall_ns",
			json_integer(i % 2 ? 900000000000000 : -5));
		fake_end_with(0, done);
		until(world_job_is(job, "passed"));
		until(world.engine->in_flight == 0);
		assert_int_equal(
			fixture_int(&world.c.f, "SELECT count(*) FROM runs WHERE end_at - start_at NOT BETWEEN 0 AND 1000"), 0);
		assert_int_equal(fixture_int(&world.c.f,
							 "SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job WHERE r.start_at < j.queued_at - "
							 "1000 OR r.end_at > j.done_at"),
			0);
	}
}

static void
test_aside(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	json_t *done = json_pack("{s:s, s:s, s:s}", "status", "lost", "error", "it hangs", "disabled", "the GPU hangs");
	fake_end_with(0, done);
	until(world_job_is(job, "queued"));
	AUTO_JSON json_t *list = engine_devices(world.engine);
	assert_string_equal(commands_text(list, "0.units.0.state"), "disabled");
	assert_string_equal(commands_text(list, "0.units.0.reason"), "the GPU hangs");
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
}

/* No plan, no start: the sentence is the verdict. */
static void
test_no_plan(void **state)
{
	(void)state;
	struct languages none = {0};
	world_stop(0);
	const struct languages *all = world.c.env.languages;
	world.c.env.languages = &none;
	world_start(world_devices(1, NULL));
	world.c.env.languages = all;
	int64_t job = world_submit();
	until(world_job_is(job, "error"));
	assert_int_equal(fake.submits, 0);
	assert_non_null(strstr(world_text("error", job), "not loaded"));
	until(world.engine->in_flight == 0);
}

/* ---- cancels ---- */

static void
test_cancel_queued(void **state)
{
	(void)state;
	world_submit();
	world_submit();
	int64_t job = world_submit();
	until(fake.count == 2);
	world_cancel(job);
	assert_null(engine_job_find(world.engine, job));
	assert_int_equal(fake.cancels, 0);
	fake_end(0, "done");
	fake_end(0, "done");
	until(world.engine->in_flight == 0);
	assert_int_equal(fake.submits, 2);
	assert_true(world_job_is(job, "cancelled"));
}

/* Between the order to start and its answer. */
static void
test_cancel_starting(void **state)
{
	(void)state;
	int64_t job = world_submit_held();
	engine_schedule(world.engine);
	assert_int_equal(engine_job_find(world.engine, job)->state, JOB_STARTING);
	engine_job_stop(engine_job_find(world.engine, job), STOP_CANCEL);
	world_cancel(job);
	until(world.engine->in_flight == 0);
	assert_int_equal(fake.submits, 0);
	assert_true(world_job_is(job, "cancelled"));
}

static void
test_cancel_active(void **state)
{
	(void)state;
	int64_t first = world_submit(), second = world_submit();
	until(fake.count == 2);
	world_cancel(first);
	assert_int_equal(fake.cancels, 1);
	assert_null(engine_job_find(world.engine, first)); /* it completed inside of cancel */
	fake.on_cancel = WAITS;
	world_cancel(second);
	assert_true(fake_task(0)->cancelled);
	assert_int_equal(world_unit(0)->active, 1);
	fake_end(0, "done"); /* it had ended by itself meanwhile */
	until(world.engine->in_flight == 0);
	assert_true(world_job_is(first, "cancelled") && world_job_is(second, "cancelled"));
	fake.on_submit = AT_ONCE;
	int64_t third = world_submit();
	until(world_job_is(third, "passed"));
}

static void
test_cancel_never_ends(void **state)
{
	(void)state;
	fake.on_cancel = NEVER;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_cancel(job);
	world_pass(ENGINE_CANCEL_MS - ENGINE_TICK_MS);
	assert_non_null(engine_job_find(world.engine, job));
	until(!engine_job_find(world.engine, job));
	assert_true(world_unit(0)->disabled.cause);
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
	assert_int_equal(world_unit(0)->active, 0);
	int64_t next = world_submit();
	assert_int_equal(engine_job_find(world.engine, next)->state, JOB_QUEUED);
	fake_end(0, "cancelled"); /* far too late: logged and dropped */
}

static void
test_cancel_ending(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	fake_end(0, "lost");
	assert_int_equal(engine_job_find(world.engine, job)->state, JOB_ENDING);
	engine_job_stop(engine_job_find(world.engine, job), STOP_CANCEL);
	until(world.engine->in_flight == 0);
	assert_int_equal(fake.submits, 1);
}

static void
test_delete_active(void **state)
{
	(void)state;
	fake.on_cancel = WAITS;
	int64_t job = world_submit(), other = world_submit();
	until(fake.count == 2);
	commands_must(
		&world.c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)world_number("submission", job)));
	world_feed();
	assert_true(fake_task(0)->cancelled);
	fake_end(0, "done");
	commands_must(&world.c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
	world_feed();
	assert_true(fake_task(0)->cancelled);
	fake_end(0, "done");
	until(world.engine->in_flight == 0);
	assert_null(engine_job_find(world.engine, other));
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM jobs"), 0);
}

/* ---- deadlines ---- */

static void
test_deadline(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_pass(ENGINE_SLACK_MS);
	assert_int_equal(fake.cancels, 0);
	until(fake.cancels == 1);
	until(fake.count == 1 && fake.submits == 2);
	assert_int_equal(world_number("attempt", job), 2);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* What a machine sends after the run has a limit by its size, and the unit may run another job meanwhile. */
static void
test_sending(void **state)
{
	(void)state;
	const int64_t seconds = 10000;
	int64_t job = world_submit();
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s}", "event", "device"));
	fake_say(0, json_pack("{s:s, s:I}", "event", "sending", "bytes", seconds * ENGINE_SENDING_BYTES_A_SECOND));
	assert_int_equal(world_unit(0)->running, 0);
	world_pass((uint64_t)seconds * 1000);
	/* Neither a second word nor an event of a run gives it more time. */
	fake_say(0, json_pack("{s:s, s:I}", "event", "sending", "bytes", seconds * ENGINE_SENDING_BYTES_A_SECOND));
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	assert_int_equal(fake.cancels, 0);
	world_pass(ENGINE_SLACK_MS);
	until(fake.cancels == 1);
	until(fake.count == 1 && fake.submits == 2);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

static void
test_deadline_never_ends(void **state)
{
	(void)state;
	world_stop(0);
	world_start(world_devices(2, NULL));
	fake.on_cancel = NEVER;
	int64_t job = world_submit();
	until(fake.count == 1);
	until(fake.cancels == 1);
	until(fake.count == 2);
	assert_string_equal(fake_task(1)->unit, "CPU.1");
	assert_true(world_unit(0)->disabled.cause);
	fake_end(0, "done"); /* of the first attempt: dropped */
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A runner that completes all its jobs when one is cancelled, while the engine iterates over them. */
static void
test_many_overdue(void **state)
{
	(void)state;
	fake.slots = 8;
	world_stop(0);
	world_start(world_devices(1, NULL));
	fake.cancel_ends_all = true;
	for (int i = 0; i < 8; i++) {
		int64_t job = world_submit();
		until(fake.count == (size_t)i + 1);
		engine_job_find(world.engine, job)->stop = i % 2 ? STOP_CANCEL : STOP_NO;
	}
	until(world.engine->in_flight == 0);
	assert_true(fake.cancels > 0 && fake.count == 0);
}

/* ---- stops ---- */

static void
test_hand_back(void **state)
{
	(void)state;
	int64_t first = world_submit(), second = world_submit(), third = world_submit();
	until(fake.count == 2);
	world_stop(0);
	assert_true(world_job_is(first, "queued") && world_job_is(second, "queued") && world_job_is(third, "queued"));
	assert_int_equal(world_number("uncharged_attempts", first), 1);
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(first, "passed") && world_job_is(second, "passed") && world_job_is(third, "passed"));
	assert_int_equal(world_number("attempt", first), 2);
}

static void
test_grace(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	engine_stop(world.engine, 60000, world_stopped_once, NULL);
	int64_t late = world_submit(); /* accepted, but no engine has it now */
	world_pass(59000);
	assert_false(world.stopped);
	assert_int_equal(fake.submits, 1);
	fake_end(0, "done");
	until(world.stopped);
	assert_true(world_job_is(job, "passed") && world_job_is(late, "queued"));
	engine_free(STEAL(world.engine));
}

static void
test_shorter_grace(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	engine_stop(world.engine, 60000, world_stopped_once, NULL);
	world_stop(0);
	assert_true(world_job_is(job, "queued"));
}

static void
test_stop_while_starting(void **state)
{
	(void)state;
	int64_t job = world_submit_held();
	engine_schedule(world.engine);
	assert_int_equal(engine_job_find(world.engine, job)->state, JOB_STARTING);
	world_stop(60000);
	assert_int_equal(fake.submits, 0);
	assert_true(world_job_is(job, "queued"));
	assert_int_equal(world_number("uncharged_attempts", job), world_number("attempt", job));
}

/* The open jobs are still being read. */
static void
test_stop_while_loading(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_stop(0);
	world_engine(world_devices(1, NULL));
	engine_start(world.engine);
	world_stop(0);
	assert_true(world_job_is(job, "queued"));
	assert_int_equal(fake.submits, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_at_once),
	TEST(test_slots_and_prefetch),
	TEST(test_expected_wait),
	TEST(test_idle_unit_first),
	TEST(test_unknown_completion),
	TEST(test_empty_completion),
	TEST(test_owner),
	TEST(test_progress),
	TEST(test_phases),
	TEST(test_refused),
	TEST(test_odd_answers),
	TEST(test_other_unit_takes_over),
	TEST(test_lost),
	TEST(test_gone),
	TEST(test_wait_of_device),
	TEST(test_says_lost),
	TEST(test_other_outcomes),
	TEST(test_other_times),
	TEST(test_aside),
	TEST(test_no_plan),
	TEST(test_cancel_queued),
	TEST(test_cancel_starting),
	TEST(test_cancel_active),
	TEST(test_cancel_never_ends),
	TEST(test_cancel_ending),
	TEST(test_delete_active),
	TEST(test_deadline),
	TEST(test_sending),
	TEST(test_deadline_never_ends),
	TEST(test_many_overdue),
	TEST(test_hand_back),
	TEST(test_grace),
	TEST(test_shorter_grace),
	TEST(test_stop_while_starting),
	TEST(test_stop_while_loading),
};

UNIT_TESTS(test_engine, .words = "waiting tsan");
