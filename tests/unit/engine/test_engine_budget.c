/* SPDX-License-Identifier: MIT */
/* Budgets of devices: what counts, who waits, until when, and what a restart remembers. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

/* CPU on this runner with this budget. */
static json_t *
device_with(const char *runner, const char *budget)
{
	json_t *parsed = json_loads(budget, 0, NULL);
	assert_non_null(parsed);
	return json_pack("{s:{s:o, s:[{s:s}]}}", "CPU", "budget", parsed, "units", "runner", runner);
}

static void
restart(const char *runner, const char *budget)
{
	world_stop(0);
	world_start(device_with(runner, budget));
}

/* The first job of the runner ends; it had its device for these seconds, and its kettle-exec one more. */
static void
end_after(const char *status, int64_t seconds)
{
	json_t *end = fake_completion(0, status);
	int64_t begun = 2000000000;
	if (seconds < 1000)
		world_pass((uint64_t)(seconds + 1) * 1000);
	(void)json_object_set_new(end, "stamps",
		json_pack("{s:I, s:I, s:I}", "received_ns", (json_int_t)begun - 1000000000, "device_ns", (json_int_t)begun,
			"done_ns", (json_int_t)(begun + seconds * 1000000000)));
	fake_end_with(0, end);
}

static int64_t
stored_ms(const char *who)
{
	char sql[300];
	(void)snprintf(sql, sizeof(sql), "SELECT coalesce(sum(ms), 0) FROM device_usage WHERE user = %s",
		*who ? "(SELECT id FROM users WHERE name = 'alice')" : "0");
	return fixture_int(&world.c.f, sql);
}

/* What the queue says of a job. New reference. */
static json_t *
position_of(int64_t job)
{
	return engine_queue_position(world.engine, job, 0);
}

static void
test_waits(void **state)
{
	(void)state;
	restart("fake", "{\"seconds_per_day\": 5}");
	int64_t first = world_submit(), second = world_submit(), third = world_submit();
	until(fake.count > 0 && world_job_is(first, "running"));
	end_after("done", 3);
	until(world_job_is(first, "passed"));
	until(fake.count > 0 && world_job_is(second, "running"));
	end_after("done", 2);
	until(world_job_is(second, "passed"));
	/* It had been started before the device seconds were used up, as the next one that builds. */
	until(fake.count == 1 && world_job_is(third, "running"));
	int64_t last = world_submit();
	until(engine_job_find(world.engine, last));
	engine_schedule(world.engine);
	assert_int_equal(fake.count, 1);
	AUTO_JSON json_t *position = position_of(last), *devices = engine_devices(world.engine);
	assert_non_null(strstr(
		json_string_value(json_object_get(position, "waits")), "The 5 device seconds a day of `CPU` are used up; the"));
	assert_null(json_object_get(position, "wait_s"));
	const json_t *device = json_array_get(devices, 0), *budget = json_object_get(device, "budget");
	assert_non_null(strstr(json_string_value(json_object_get(device, "waits")), "are used up"));
	assert_true(json_integer_value(json_object_get(budget, "used_s")) == 5);
	assert_true(json_integer_value(json_object_get(budget, "left_s")) == 0);
	end_after("done", 1);
	until(world_job_is(third, "passed"));
	assert_int_equal(stored_ms(""), 6000);
	world_next_day(1);
	until(fake.count == 1);
	end_after("done", 1);
	until(world_job_is(last, "passed"));
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_usage"), 2);
}

/* Those of others go on; the restart remembers who has used what. */
static void
test_users(void **state)
{
	(void)state;
	restart("fake", "{\"user_seconds_per_day\": 2}");
	int64_t job = world_submit();
	until(fake.count == 1);
	end_after("done", 3);
	until(world_job_is(job, "passed"));
	assert_int_equal(stored_ms("alice"), 3000);
	restart("fake", "{\"user_seconds_per_day\": 2}");
	int64_t waits = world_submit(), cancelled = world_submit(), others = world_submit_as("bob", "test");
	until(fake.count == 1);
	assert_true(world_job_is(others, "running"));
	AUTO_JSON json_t *position = position_of(waits);
	assert_non_null(strstr(json_string_value(json_object_get(position, "waits")),
		"The 2 device seconds a day that each user has on `CPU` are used up"));
	assert_null(json_object_get(position, "place"));
	world_cancel(cancelled);
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(devices, 0), "queued")), 1);
	end_after("done", 1);
	until(world_job_is(others, "passed"));
	assert_int_equal(fake.count, 0);
	/* A larger budget lets it start at once. */
	struct kettle_error err = {0};
	AUTO_JSON json_t *larger = device_with("fake", "{\"user_seconds_per_day\": 20}");
	assert_int_equal(engine_reload(world.engine, larger, &err), 0);
	until(fake.count == 1);
	end_after("done", 1);
	until(world_job_is(waits, "passed"));
}

/* Lost and cancelled attempts count; a machine that comes for the job alone counts from the job's receipt. */
static void
test_counted(void **state)
{
	(void)state;
	restart("forgetful", "{\"seconds_per_day\": 1000}");
	int64_t job = world_submit();
	until(fake.count == 1);
	end_after("lost", 1);
	until(fake.count == 1);
	assert_int_equal(stored_ms(""), 2000);
	world_cancel(job);
	until(world.engine->in_flight == 0);
	(void)world_submit();
	until(fake.count == 1);
	/* Numbers that cannot be count for nothing. */
	end_after("done", 4000000);
	until(world.engine->in_flight == 0);
	assert_int_equal(stored_ms(""), 2000);
}

/* Without stamps the engine's own clock counts, from when the job has its device until it sends what it has left. */
static void
test_no_stamps(void **state)
{
	(void)state;
	restart("fake", "{\"seconds_per_day\": 1000}");
	(void)world_submit();
	until(fake.count == 1);
	const struct engine_job *job = world.engine->jobs.first;
	assert_true(job->used.from_ms == 0);
	fake_say(0, json_pack("{s:s}", "event", "device"));
	assert_true(job->used.from_ms > 0);
	world_pass(3000);
	fake_say(0, json_pack("{s:s, s:i}", "event", "sending", "bytes", 1 << 20));
	world_pass(2000);
	fake_end(0, "done");
	until(world.engine->in_flight == 0);
	assert_int_equal(stored_ms(""), 3000);
	assert_int_equal(stored_ms("alice"), 3000);
}

/* What builds in another place first, without the device, takes none; its runs do. */
static void
test_elsewhere(void **state)
{
	(void)state;
	restart("forgetful", "{\"seconds_per_day\": 1000}");
	(void)world_submit();
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	fake_say(0, json_pack("{s:s, s:b}", "event", "started", "elsewhere", 1));
	world_pass(3000);
	fake_end(0, "lost");
	until(fake.count == 1);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	fake_say(0, json_pack("{s:s, s:b}", "event", "started", "elsewhere", 1));
	world_pass(3000);
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	fake_say(0, json_pack("{s:s}", "event", "started"));
	world_pass(2000);
	fake_end(0, "lost");
	until(fake.count == 1);
	assert_int_equal(stored_ms(""), 2000);
	world_pass(6000);
	json_t *end = fake_completion(0, "done");
	json_object_set_new(end, "elsewhere", json_true());
	json_object_set_new(end, "stamps",
		json_pack("{s:I, s:i, s:I}", "received_ns", (json_int_t)1000000000, "device_ns", 0, "done_ns",
			(json_int_t)5000000000));
	fake_end_with(0, end);
	until(world.engine->in_flight == 0);
	assert_int_equal(stored_ms(""), 2000);
}

/* A clock that is set back a little after midnight, and the name of the device in other letters, change no budget. */
static void
test_stays(void **state)
{
	(void)state;
	restart("fake", "{\"seconds_per_day\": 3}");
	(void)world_submit();
	until(fake.count == 1);
	end_after("done", 3);
	until(world.engine->in_flight == 0);
	const struct device *device = world.engine->devices;
	assert_true(budget_is_spent(device));
	world_next_day(-1);
	world_pass(ENGINE_TICK_MS);
	assert_true(budget_is_spent(device));
	world_next_day(1);
	struct kettle_error err = {0};
	AUTO_JSON json_t *renamed = device_with("fake", "{\"seconds_per_day\": 3}");
	(void)json_object_set(renamed, "Cpu", json_object_get(renamed, "CPU"));
	(void)json_object_del(renamed, "CPU");
	assert_int_equal(engine_reload(world.engine, renamed, &err), 0);
	until(engine_loaded(world.engine));
	assert_true(budget_is_spent(device));
	assert_null(device->next);
}

static void
test_none(void **state)
{
	(void)state;
	(void)world_submit();
	until(fake.count == 1);
	end_after("done", 5);
	until(world.engine->in_flight == 0);
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_usage"), 0);
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	assert_null(json_object_get(json_array_get(devices, 0), "budget"));
}

#define BUDGET_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	BUDGET_TEST(test_waits),
	BUDGET_TEST(test_users),
	BUDGET_TEST(test_counted),
	BUDGET_TEST(test_no_stamps),
	BUDGET_TEST(test_elsewhere),
	BUDGET_TEST(test_stays),
	BUDGET_TEST(test_none),
};

UNIT_TESTS(test_engine_budget, .words = "waiting");
