/* SPDX-License-Identifier: MIT */
/* The engine's devices: several at once, and those that are not in order. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

/* ---- several devices at once ---- */

/* The plan of the board's task, made to need so many. */
static void
need_devices(int count)
{
	char sql[400];
	(void)snprintf(sql, sizeof(sql),
		"UPDATE tasks SET bundle_json = json_set(bundle_json, '$.task.multi_gpu', json('true'), "
		"'$.task.tests', json('[{\"seed\": 1, \"world_size\": %d}]'))",
		count);
	fixture_sql(&world.c.f, sql);
}

static void
test_several_units(void **state)
{
	(void)state;
	world_stop(0);
	world_start(world_devices(3, NULL));
	fake.same_machine = true;
	need_devices(2);
	int64_t job = world_submit();
	until(fake.count == 1);
	const struct engine_job *known = engine_job_find(world.engine, job);
	assert_int_equal(known->more_count, 1);
	assert_int_equal(fake_task(0)->units, 2);
	assert_int_equal(world_unit(0)->active, 1);
	assert_int_equal(world_unit(1)->active, 1);
	assert_int_equal(world_unit(2)->active, 0);
	fake_say(0, json_pack("{s:s}", "event", "device"));
	assert_int_equal(world_unit(1)->running, 1);
	/* The next one gets the free unit, and one that it waits for. */
	int64_t next = world_submit();
	until(fake.count == 2);
	assert_string_equal(fake_task(1)->unit, "CPU.2");
	assert_int_equal(world_unit(0)->active, 2);
	fake_end(0, "done");
	fake_end(0, "done");
	until(world_job_is(job, "passed") && world_job_is(next, "passed"));
	until(world.engine->in_flight == 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(world_unit(i)->active + world_unit(i)->running, 0);
}

static void
test_too_few_units(void **state)
{
	(void)state;
	world_stop(0);
	world_start(world_devices(2, NULL));
	fake.same_machine = true;
	need_devices(3);
	int64_t job = world_submit();
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "needs 3 devices at once, but `CPU` has 2"));
	assert_string_equal(world_text("fault", job), "task");
	assert_int_equal(fake.submits, 0);
	until(world.engine->in_flight == 0);
}

/* Its device has enough, but not now: it waits, no attempt counts, and those that need less go on. */
static void
test_waits_for_units(void **state)
{
	(void)state;
	world_stop(0);
	fixture_sql(&world.c.f, "INSERT INTO device_units (device, unit, state, cause, reason, changed_at) VALUES ('CPU', "
							"'CPU.1', 'disabled', 'operator', 'by hand', 1)");
	world_start(world_devices(2, NULL));
	fake.same_machine = true;
	need_devices(2);
	int64_t job = world_submit();
	const struct engine_job *known = engine_job_find(world.engine, job);
	until(known->held.why && world.engine->in_flight == 0);
	assert_true(world_job_is(job, "queued"));
	assert_non_null(strstr(world_text("error", job), "of the 2 of `CPU` only 1 are available"));
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
	AUTO_JSON json_t *place = engine_queue_position(world.engine, job, 0);
	assert_string_equal(json_string_value(json_object_get(place, "waits")), known->held.why);
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	const json_t *device = json_array_get(devices, 0);
	assert_int_equal(json_integer_value(json_object_get(device, "queued")), 1);
	assert_string_equal(json_string_value(json_object_get(device, "waits")), known->held.why);
	const json_t *shown = commands_must(
		&world.c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)world_number("submission", job)));
	const json_t *told = json_array_get(json_object_get(shown, "jobs"), 0);
	assert_string_equal(json_string_value(json_object_get(told, "waits")), known->held.why);
	assert_true(json_is_null(json_object_get(told, "error")));
	need_devices(1);
	int64_t small = world_submit();
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(small, "passed"));
	assert_true(world_job_is(job, "queued"));
	/* The next engine holds it too. */
	need_devices(2);
	world_stop(0);
	world_start(world_devices(2, NULL));
	int64_t other = world_submit();
	until(world.engine->devices->awaiting_units.count == 2 && world.engine->in_flight == 0);
	world_cancel(other);
	until(world.engine->devices->awaiting_units.count == 1);
	world_set("CPU.1", false, "mended");
	until(fake.count == 1);
	assert_int_equal(fake_task(0)->units, 2);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("error IS NULL", job), 1);
}

/* Those that waited go on in the order in which they came, of one user and of several. */
static void
test_goes_on_in_order(void **state)
{
	static const char *const who[] = {"alice", "alice", "bob", "alice"};
	static const size_t expected[] = {2, 0, 1, 3}; /* bob was served once, alice three times */
	int64_t jobs[ARRAY_SIZE(who)];
	(void)state;
	world_stop(0);
	fake.prefetch = 0;
	world_start(world_devices(2, NULL));
	fake.same_machine = true;
	need_devices(2);
	world_set("CPU.1", true, "by root");
	for (size_t i = 0; i < ARRAY_SIZE(who); i++)
		jobs[i] = world_submit_as(who[i], "test");
	until(world.engine->devices->awaiting_units.count == ARRAY_SIZE(who) && world.engine->in_flight == 0);
	world_set("CPU.1", false, "mended");
	for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
		until(fake.count >= 1); /* another may have got the second unit first, and wait for this one's */
		assert_int_equal(atoll(fake_task(0)->ref), jobs[expected[i]]);
		fake_end(0, "done");
	}
	until(world.engine->in_flight == 0);
}

/* ---- devices that are not in order ---- */

static void
end_with_fault(const char *fault)
{
	json_t *done = fake_completion(0, "done");
	json_t *faults = fault ? json_pack("{s:s}", "0", fault) : json_object();
	(void)json_object_set_new(done, "device", json_pack("{s:[s], s:o}", "checked", "0", "faults", faults));
	fake_end_with(0, done);
}

/* One unit, with a GPU. New reference. */
static json_t *
devices_with_gpu(void)
{
	json_t *devices = world_devices(1, NULL);
	(void)json_object_set_new(
		json_array_get(json_object_get(json_object_get(devices, "CPU"), "units"), 0), "gpu", json_integer(0));
	return devices;
}

static void
test_faults(void **state)
{
	(void)state;
	world_stop(0);
	json_t *devices = devices_with_gpu();
	AUTO_JSON json_t *copy = json_deep_copy(devices);
	world_start(devices);
	static const char *const faults[] = {"dirty", NULL, "dirty", "dirty again"};
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		int64_t job = world_submit();
		until(fake.count == 1);
		assert_false(world_unit(0)->disabled.cause);
		end_with_fault(faults[i]);
		until(world_job_is(job, "passed"));
	}
	assert_string_equal(world_unit(0)->disabled.why, "2 times in a row: dirty again");
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
	/* The next engine knows it; a trial that fails changes nothing, one that passes brings it back. */
	world_stop(0);
	world_start(STEAL(copy));
	assert_true(world_unit(0)->disabled.cause == UNIT_FAULT);
	int64_t job = world_submit();
	fake.facts = json_pack("{s:[{s:i, s:b}]}", "gpus", "index", 0, "occupied", 1);
	until(fake.describes == 1);
	assert_true(world_unit(0)->disabled.cause);
	(void)json_object_set_new(json_array_get(json_object_get(fake.facts, "gpus"), 0), "occupied", json_false());
	until(fake.count == 1);
	assert_false(world_unit(0)->disabled.cause);
	end_with_fault(NULL);
	until(world_job_is(job, "passed") && fixture_events(&world.c.f, "unit.returned") == 1);
}

/* What an operator disables is not tried. */
static void
test_by_hand(void **state)
{
	(void)state;
	world_set("CPU.0", true, "by root");
	world_pass(3 * ENGINE_TEST_MS);
	assert_int_equal(fake.describes, 0);
	int64_t job = world_submit();
	assert_true(world_unit(0)->disabled.cause);
	world_set("cpu.0", false, "by root");
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A job that is accepted before the engine has loaded which units are disabled does not start on one of them. */
static void
test_disabled_before_loaded(void **state)
{
	(void)state;
	world_stop(0);
	fixture_sql(&world.c.f, "INSERT INTO device_units (device, unit, state, cause, reason, changed_at) VALUES ('CPU', "
							"'CPU.0', 'disabled', 'operator', 'mending', 1)");
	world_engine(world_devices(1, NULL));
	int64_t job = world_submit();
	const struct engine_job *known = engine_job_find(world.engine, job);
	assert_int_equal(known->state, JOB_QUEUED);
	engine_start(world.engine);
	assert_false(engine_loaded(world.engine));
	until(engine_loaded(world.engine));
	assert_true(world_unit(0)->disabled.cause);
	assert_int_equal(known->state, JOB_QUEUED);
	/* A unit that a reload brings back is as the database says, too. */
	AUTO_JSON json_t *none = json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake");
	AUTO_JSON json_t *again = world_devices(1, NULL);
	struct kettle_error err = {0};
	assert_int_equal(engine_reload(world.engine, none, &err), 0);
	assert_int_equal(engine_reload(world.engine, again, &err), 0);
	assert_int_equal(known->state, JOB_QUEUED);
	until(engine_loaded(world.engine));
	assert_true(world_unit(0)->disabled.cause);
	assert_int_equal(known->state, JOB_QUEUED);
	assert_int_equal(fake.submits, 0);
}

/* A driver that does not answer at the start does not hide what its GPU is from all jobs to come. */
static void
test_late_gpu(void **state)
{
	(void)state;
	world_stop(0);
	fake.facts = json_pack("{s:[], s:[{s:s}]}", "gpus", "gpu_errors", "error", "the driver hangs");
	world_start(devices_with_gpu());
	for (int i = 0; i < 3; i++) {
		int64_t job = world_submit();
		until(fake.count == 1);
		assert_int_equal(fake.describes, i < 2 ? i + 1 : 2);
		assert_int_equal(json_array_size(json_object_get(world_unit(0)->machine.facts, "gpus")), i > 0);
		end_with_fault(NULL);
		until(world_job_is(job, "passed"));
		json_decref(fake.facts);
		fake.facts = json_pack("{s:[{s:i, s:s}]}", "gpus", "index", 0, "compute", "9.0");
	}
}

/* ---- machines that do not answer ---- */

static void
keep_error(void *arg, struct engine *engine, struct unit *unit, const struct kettle_error *err)
{
	(void)engine;
	assert_string_equal(unit->label, "CPU.0");
	*(struct kettle_error *)arg = *err;
}

static void
silent_world(void)
{
	world_stop(0);
	fake.facts = json_pack("{s:[{s:i}]}", "gpus", "index", 0);
	fake.on_describe = NEVER;
	world_start(devices_with_gpu());
}

/* A wait for the facts of a machine that times out. */
static void
lose_patience(size_t describes)
{
	until(fake.describes == describes && world.engine->requests);
	uint64_t begun = world_now();
	until(!world.engine->requests);
	assert_in_range(world_now() - begun, ENGINE_DESCRIBE_MS - ENGINE_TICK_MS, ENGINE_DESCRIBE_MS + ENGINE_TICK_MS);
}

static void
test_silent_machine(void **state)
{
	(void)state;
	silent_world();
	int64_t job = world_submit();
	lose_patience(1);
	until(fake.describes == 2);
	assert_int_equal(world_number("attempt", job), 2);
	assert_int_equal(world_unit(0)->losses.count, 1);
	/* What comes too late changes nothing. */
	fake_describe_end();
	assert_null(world_unit(0)->machine.facts);
	fake_describe_end();
	assert_non_null(world_unit(0)->machine.facts);
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* Nothing of the job has come to it: that costs none of its attempts, however long it takes. */
static void
test_silent_for_ever(void **state)
{
	(void)state;
	silent_world();
	int64_t job = world_submit();
	for (size_t attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE + 2; attempt++)
		lose_patience(attempt);
	until(world_job_is(job, "queued") && world.engine->in_flight == 0);
	assert_int_equal(world_number("attempt - uncharged_attempts + lost_with_engine", job), 0);
	assert_string_equal(world_text("loss", job), "away");
	assert_non_null(strstr(world_unit(0)->losses.why, "did not describe itself within 60 s"));
	assert_int_equal(fake.submits, 0);
	fake.on_describe = AT_ONCE;
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* Nor does the end of the engine, or of the job, wait for it. */
static void
test_silent_at_the_end(void **state)
{
	(void)state;
	silent_world();
	int64_t job = world_submit();
	until(world.engine->requests);
	world_stop(0);
	assert_true(world_job_is(job, "queued"));
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
	world_start(devices_with_gpu());
	until(world.engine->requests);
	world_cancel(job);
	lose_patience(2);
	until(world.engine->in_flight == 0);
	assert_true(world_job_is(job, "cancelled"));
	/* A trial: it fails. */
	struct kettle_error told = {0};
	AUTO_JSON json_t *units = engine_units(world.engine, "CPU.0");
	assert_int_equal(engine_unit_test(world.engine, json_array_get(units, 0), keep_error, &told, NULL), 0);
	lose_patience(3);
	assert_int_equal(told.code, KETTLE_EUNAVAIL);
	assert_false(world_unit(0)->disabled.testing);
	assert_int_equal(world.engine->in_flight, 0);
}

/* ---- a kettle-exec that hangs ---- */

static void
test_silent_kettle_exec(void **state)
{
	(void)state;
	world_stop(0);
	fake.beats = false;
	fake.on_cancel = WAITS;
	fake.prefetch = 0;
	world_start(world_devices(2, NULL));
	int64_t job = world_submit();
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.0");
	until(world_unit(0)->heartbeat.open);
	world_pass(ENGINE_HEARTBEAT_SILENT_MS - ENGINE_TICK_MS);
	assert_false(world_unit(0)->disabled.cause);
	until(world_unit(0)->disabled.cause);
	assert_true(world_unit(0)->disabled.cause == UNIT_SILENT);
	assert_non_null(strstr(world_unit(0)->disabled.why, "not answered for 30 s"));
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
	/* Its job is cancelled there and goes on elsewhere; what the hung one still says of it counts for nothing. */
	until(fake.count == 2);
	assert_true(fake_task(0)->cancelled);
	assert_string_equal(fake_task(1)->unit, "CPU.1");
	assert_int_equal(world_number("attempt", job), 2);
	void (*hung)(void *arg, const struct kettle_error *err) = STEAL(fake.heartbeat.done);
	void *arg = fake.heartbeat.arg;
	fake.beats = true;
	fake_end(0, "done");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	/* The answer brings it back; nothing tests it meanwhile. */
	world_pass(3 * ENGINE_TEST_MS);
	assert_int_equal(fake.describes, 0);
	fake.heartbeat.done = hung;
	fake.heartbeat.arg = arg;
	fake_heartbeat_end(false);
	assert_false(world_unit(0)->disabled.cause);
	until(fixture_events(&world.c.f, "unit.returned") == 1);
}

/* The unit comes back with the kettle-exec that follows one that ended; its job was tried again there. */
static void
test_hung_and_ended(void **state)
{
	(void)state;
	fake.beats = false;
	int64_t job = world_submit();
	until(fake.count == 1);
	until(world_unit(0)->disabled.cause == UNIT_SILENT && fake.count == 0 && world.engine->in_flight == 0);
	assert_true(world_job_is(job, "queued"));
	size_t before = fake.heartbeats;
	fake_heartbeat_end(true);
	assert_true(world_unit(0)->disabled.cause == UNIT_SILENT);
	fake.beats = true;
	until(world_unit(0)->disabled.cause != UNIT_SILENT);
	assert_true(fake.heartbeats > before && !world_unit(0)->disabled.cause);
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* An engine that starts anew starts a kettle-exec anew; one that an operator disabled stays so. */
static void
test_hung_before(void **state)
{
	(void)state;
	world_stop(0);
	fixture_sql(&world.c.f, "INSERT INTO device_units (device, unit, state, cause, reason, changed_at) VALUES ('CPU', "
							"'CPU.0', 'disabled', 'silent', 'by nobody', 1)");
	world_start(world_devices(1, NULL));
	assert_false(world_unit(0)->disabled.cause);
	until(fixture_events(&world.c.f, "unit.returned") == 1);
	fake.beats = false;
	fake.on_cancel = WAITS;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_set("CPU.0", true, "by root");
	until(world_job_is(job, "queued") && world.engine->in_flight == 0);
	fake_heartbeat_end(false);
	assert_string_equal(world_unit(0)->disabled.why, "by root");
	fake_end(0, "cancelled");
}

/* A cancel that a hung kettle-exec does not carry out does not disable its unit for good; the engine's own pauses count little. */
static void
test_cancel_of_hung(void **state)
{
	(void)state;
	fake.on_cancel = WAITS;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_cancel(job);
	struct engine_job *known = engine_job_find(world.engine, job);
	until(known->stop == STOP_CANCEL);
	world_pass(ENGINE_CANCEL_MS / 2);
	fake.beats = false;
	until(world_unit(0)->heartbeat.open);
	world_pass(ENGINE_CANCEL_MS / 2);
	assert_ptr_equal(engine_job_find(world.engine, job), known);
	clock_stall(&world.c.f.clock, 10 * ENGINE_HEARTBEAT_SILENT_MS);
	world_pass(0);
	assert_ptr_equal(engine_job_find(world.engine, job), known);
	assert_false(world_unit(0)->disabled.cause);
	assert_true(world_unit(0)->heartbeat.open->waited_ms < ENGINE_HEARTBEAT_SILENT_MS);
	fake_heartbeat_end(false);
	assert_false(world_unit(0)->disabled.cause);
	fake_end(0, "cancelled");
	until(world_job_is(job, "cancelled") && world.engine->in_flight == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_silent_kettle_exec),
	TEST(test_hung_and_ended),
	TEST(test_hung_before),
	TEST(test_cancel_of_hung),
	TEST(test_several_units),
	TEST(test_too_few_units),
	TEST(test_waits_for_units),
	TEST(test_goes_on_in_order),
	TEST(test_faults),
	TEST(test_by_hand),
	TEST(test_disabled_before_loaded),
	TEST(test_late_gpu),
	TEST(test_silent_machine),
	TEST(test_silent_for_ever),
	TEST(test_silent_at_the_end),
};

UNIT_TESTS(test_engine_devices, .words = "waiting");
