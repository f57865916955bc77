/* SPDX-License-Identifier: MIT */
/* Units whose machine is chosen for each job: which model they expect, from when on, and what another one costs. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/jobs.h"
#include "model/settings.h"

/* CPU on a runner that does not describe its machines, with these members besides. */
static json_t *
devices_with(const char *units)
{
	json_t *list = json_loads(units, 0, NULL), *unit;
	size_t i;
	json_array_foreach(list, i, unit)
		(void)json_object_set_new(unit, "runner", json_string("forgetful"));
	return json_pack("{s:{s:o}}", "CPU", "units", list);
}

static void
restart(const char *units)
{
	world_stop(0);
	world_start(devices_with(units));
}

/* The runner's job ends as done, on this machine. */
static void
end_on(size_t task, const char *kind, const char *model)
{
	json_t *done = fake_completion(task, "done");
	(void)json_object_set_new(done, "system", json_pack("{s:s}", kind, model));
	fake_end_with(task, done);
}

static void
run_on(const char *kind, const char *model)
{
	int64_t job = world_submit();
	until(fake.count == 1);
	end_on(0, kind, model);
	until(world_job_is(job, "passed"));
}

static void
expects(const char *expected)
{
	int64_t job = world_submit();
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->expect, expected);
	world_cancel(job);
	until(fake.count == 0);
}

static void
test_learned(void **state)
{
	(void)state;
	restart("[{}, {\"number\": 1}]");
	expects("");
	run_on("cpu", "Z80");
	expects("{\"cpu\":\"Z80\",\"whole\":true}");
	assert_string_equal(world_unit(0)->machine.learned, "Z80");
	/* Another engine on the same database, and the device's other unit. */
	restart("[{\"number\": 1}, {}]");
	expects("{\"cpu\":\"Z80\",\"whole\":true}");
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	const json_t *units = json_object_get(json_array_get(devices, 0), "units");
	assert_null(json_object_get(json_array_get(units, 0), "model"));
	assert_string_equal(json_string_value(json_object_get(json_array_get(units, 1), "model")), "Z80");
	/* Another unit is another machine. */
	restart("[{\"number\": 2}]");
	expects("");
}

static int
enable_op(struct db *db, void *arg, struct kettle_error *err)
{
	return settings_unit_set(db, arg, UNIT_ENABLED, true, err);
}

static void
test_forgotten(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	restart("[{}]");
	run_on("cpu", "Z80");
	AUTO_JSON json_t *units = engine_units(world.engine, "CPU");
	json_t *unit = json_array_get(units, 0);
	(void)json_object_set_new(unit, "reason", json_string("by root"));
	assert_int_equal(fixture_write(&world.c.f, enable_op, unit, &err), 0);
	engine_unit_set(world.engine, unit, false, "by root");
	expects("");
	restart("[{}]");
	expects("");
	run_on("cpu", "6502");
	expects("{\"cpu\":\"6502\",\"whole\":true}");
}

/* Jobs that began before the first one ended expected nothing: their completions are compared. */
static void
test_another_machine(void **state)
{
	(void)state;
	fake.slots = 2;
	restart("[{}]");
	int64_t first = world_submit(), second = world_submit();
	until(fake.count == 2);
	end_on(0, "cpu", "Z80");
	until(world_job_is(first, "passed"));
	for (int attempt = 1; attempt <= JOB_MAX_LOST_WITH_ENGINE; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt - uncharged_attempts", second), 1);
		assert_int_equal(world_unit(0)->losses.count, 0);
		end_on(0, "cpu", "6502");
	}
	until(world_job_is(second, "error"));
	assert_non_null(strstr(world_text("error", second), "Its machine is 6502, but `CPU` needs `Z80`."));
	assert_string_equal(world_unit(0)->machine.learned, "Z80");
}

static void
test_configured(void **state)
{
	(void)state;
	restart("[{\"model\": \"h100\", \"gpu\": 0}]");
	expects("{\"gpu\":\"h100\"}");
	int64_t job = world_submit();
	until(fake.count == 1);
	end_on(0, "gpu", "NVIDIA A100");
	until(fake.count == 1);
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
	end_on(0, "gpu", "NVIDIA H100 80GB HBM3");
	until(world_job_is(job, "passed"));
	/* What the configuration accepts stays; what came last is shown. */
	run_on("gpu", "NVIDIA H100 PCIe");
	assert_string_equal(world_unit(0)->machine.learned, "NVIDIA H100 PCIe");
	expects("{\"gpu\":\"h100\"}");
	/* It is the same unit without it. */
	restart("[{\"gpu\": 0}]");
	expects("{\"gpu\":\"NVIDIA H100 PCIe\",\"whole\":true}");
}

/* Names that say nothing, or too much, decide nothing. */
static void
test_no_name(void **state)
{
	(void)state;
	char name[600];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	restart("[{}]");
	run_on("cpu", "");
	run_on("cpu", name);
	run_on("gpu", "NVIDIA H100");
	expects("");
}

/* A runner that describes its machines is refused the unit itself. */
static void
test_described(void **state)
{
	(void)state;
	fake.facts = json_pack("{s:{s:s}}", "machine", "cpu", "Z80");
	world_stop(0);
	world_start(json_pack("{s:{s:[{s:s, s:s}]}}", "CPU", "units", "runner", "fake", "model", "H100"));
	(void)world_submit();
	until(world_unit(0)->disabled.cause);
	assert_string_equal(
		world_unit(0)->disabled.why, "Its machine is Z80, but `CPU` needs one whose name contains `H100`.");
	assert_int_equal(fake.submits, 0);
	world_stop(0);
	world_start(json_pack("{s:{s:[{s:s, s:s}]}}", "CPU", "units", "runner", "fake", "model", "z8"));
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->expect, "{\"cpu\":\"z8\"}");
	fake_end(0, "done");
}

#define MODEL_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	MODEL_TEST(test_learned),
	MODEL_TEST(test_forgotten),
	MODEL_TEST(test_another_machine),
	MODEL_TEST(test_configured),
	MODEL_TEST(test_no_name),
	MODEL_TEST(test_described),
};

UNIT_TESTS(test_engine_model, .words = "waiting");
