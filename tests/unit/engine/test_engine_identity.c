/* SPDX-License-Identifier: MIT */
/* What is remembered of units belongs to what they are, not to their places in the configuration. */
#include <config.h>

#include "unit/engine_fixture.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/settings.h"

#include <string.h>

static struct kettle_error err;

/* Units of CPU, each with its own member of the list, [{…}]. */
static json_t *
devices_of(const char *units)
{
	json_t *list = json_loads(units, 0, NULL), *unit;
	size_t i;
	json_array_foreach(list, i, unit)
		(void)json_object_set_new(unit, "runner", json_string("fake"));
	return json_pack("{s:{s:o}}", "CPU", "units", list);
}

static void
restart(const char *units)
{
	world_stop(0);
	world_start(devices_of(units));
}

static void
reload(const char *units)
{
	AUTO_JSON json_t *devices = devices_of(units);
	assert_int_equal(engine_reload(world.engine, devices, &err), 0);
	until(engine_loaded(world.engine));
}

static int
set_op(struct db *db, void *arg, struct kettle_error *ret_err)
{
	return settings_unit_set(db, arg, UNIT_OPERATOR, true, ret_err);
}

/* As device.disable does. */
static void
disable(const char *label)
{
	AUTO_JSON json_t *units = engine_units(world.engine, label);
	json_t *unit = json_array_get(units, 0);
	(void)json_object_set_new(unit, "reason", json_string("by root"));
	assert_int_equal(fixture_write(&world.c.f, set_op, unit, &err), 0);
	engine_unit_set(world.engine, unit, true, "by root");
}

static void
use_gpu(const char *uuid)
{
	json_decref(fake.facts);
	fake.facts = json_pack("{s:[{s:i, s:s}]}", "gpus", "index", 0, "uuid", uuid);
}

static void
pass_job(void)
{
	int64_t job = world_submit();
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed") && world.engine->in_flight == 0);
}

static void
test_place_in_list(void **state)
{
	(void)state;
	restart("[{\"cores\": \"0\"}, {\"cores\": \"1\"}]");
	disable("CPU.1");
	/* Without the first one it is CPU.0; the first one alone is in order. */
	restart("[{\"cores\": \"1\", \"slots\": 3}]");
	assert_true(world_unit(0)->disabled.cause);
	restart("[{\"cores\": \"0\"}]");
	assert_false(world_unit(0)->disabled.cause);
	restart("[{\"cores\": \"1\"}, {\"cores\": \"0\"}]");
	assert_true(world_unit(0)->disabled.cause);
	assert_false(world_unit(1)->disabled.cause);
	reload("[{\"cores\": \"0\"}, {\"cores\": \"1\"}]");
	assert_false(world_unit(0)->disabled.cause);
	assert_true(world_unit(1)->disabled.cause);
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_units WHERE label = 'CPU.1'"), 1);
}

/* Of units that nothing tells apart the first ones stay. */
static void
test_twins(void **state)
{
	(void)state;
	restart("[{}, {}, {}]");
	assert_string_equal(world_unit(0)->key, "{\"runner\":\"fake\"}");
	assert_string_equal(world_unit(2)->key, "{\"runner\":\"fake\"} #3");
	disable("CPU.2");
	restart("[{}, {}]");
	assert_false(world_unit(0)->disabled.cause || world_unit(1)->disabled.cause);
	restart("[{}, {}, {}]");
	assert_true(world_unit(2)->disabled.cause);
}

/* A unit that moves up in the list is not drained, and its job goes on. */
static void
test_reload_moves(void **state)
{
	(void)state;
	restart("[{\"cores\": \"0\"}, {\"cores\": \"1\"}]");
	world_set("CPU.0", true, "by root");
	int64_t job = world_submit();
	until(fake.count == 1);
	const struct unit *unit = world_unit(1);
	assert_int_equal(unit->active, 1);
	reload("[{\"cores\": \"1\"}]");
	assert_ptr_equal(engine_unit_find(world.engine, "CPU", unit->key), unit);
	assert_string_equal(unit->label, "CPU.0");
	assert_string_equal(json_string_value(json_object_get(unit->config, "unit")), "CPU.0");
	assert_int_equal(unit->active, 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A GPU that is named by its index is the one whose UUID its machine says. */
static void
test_uuid(void **state)
{
	(void)state;
	use_gpu("GPU-a");
	restart("[{\"gpu\": 0}]");
	pass_job();
	disable("CPU.0");
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_units WHERE unit = 'gpu-a' AND state = "
											 "'disabled'"),
		1);
	/* Another one has its index: it comes back by itself, and what is known of the first one stays. */
	use_gpu("GPU-b");
	restart("[{\"gpu\": 0}]");
	pass_job();
	assert_false(world_unit(0)->disabled.cause);
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_units WHERE unit = 'gpu-a' AND state = "
											 "'disabled' AND key IS NULL"),
		1);
	/* By its UUID it is found at once, and a job never starts on it. */
	restart("[{\"gpu\": \"GPU-A\"}]");
	assert_true(world_unit(0)->disabled.cause);
	use_gpu("GPU-b");
	restart("[{\"gpu\": 0}]");
	use_gpu("GPU-a");
	int64_t job = world_submit();
	until(world_unit(0)->disabled.cause && world.engine->in_flight == 0);
	assert_true(world_job_is(job, "queued"));
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
}

/* What an operator said before the machine was asked counts. */
static void
test_said_before_known(void **state)
{
	(void)state;
	restart("[{\"gpu\": 0}]");
	disable("CPU.0");
	use_gpu("GPU-a");
	restart("[{\"gpu\": 0}]");
	until(world.engine->in_flight == 0);
	assert_true(world_unit(0)->disabled.cause);
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_units WHERE unit = 'gpu-a' AND state = "
											 "'disabled' AND label = 'CPU.0'"),
		1);
}

static json_t *
cpu(const char *name)
{
	return json_pack("{s:{s:s}}", "machine", "cpu", name);
}

/* All units of a device are one model: that of the first. A unit that is another gets no job, with a GPU or without. */
static void
test_other_model(void **state)
{
	(void)state;
	fake.facts = json_pack("{s:o, s:o, s:o}", "CPU.0", cpu("Zen 4"), "CPU.1", cpu("Zen 3"), "CPU.2", cpu("Zen 4"));
	restart("[{\"cores\": \"0\"}, {\"cores\": \"1\"}, {\"cores\": \"2\"}]");
	assert_int_equal(fake.describes, 0);
	/* The first job asks all of them, and waits only for its own. */
	pass_job();
	assert_int_equal(fake.describes, 3);
	until(fixture_events(&world.c.f, "unit.quarantined") == 1);
	assert_true(world_unit(1)->disabled.cause == UNIT_FAULT);
	assert_non_null(strstr(world_unit(1)->disabled.why, "another model than unit CPU.0: Zen 3, not Zen 4"));
	assert_false(world_unit(0)->disabled.cause || world_unit(2)->disabled.cause);
	/* The next engine remembers it, and its test fails until the machine is what the others are. */
	restart("[{\"cores\": \"0\"}, {\"cores\": \"1\"}, {\"cores\": \"2\"}]");
	pass_job();
	size_t before = fake.describes;
	until(fake.describes == before + 1);
	assert_true(world_unit(1)->disabled.cause);
	(void)json_object_set_new(fake.facts, "CPU.1", cpu("Zen 4"));
	until(fixture_events(&world.c.f, "unit.returned") == 1);
	assert_false(world_unit(1)->disabled.cause);
	/* An operator's word holds until the machine is asked again. */
	(void)json_object_set_new(fake.facts, "CPU.2", cpu("Zen 2"));
	world_set("CPU.2", false, "by root");
	world_set("CPU.0", true, "by root");
	world_set("CPU.1", true, "by root");
	int64_t job = world_submit();
	until(world_unit(2)->disabled.cause && world.engine->in_flight == 0);
	assert_true(world_job_is(job, "queued"));
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
}

/* A GPU that cannot run what is built for its device is refused, even where it is the only one. */
static void
test_other_architecture(void **state)
{
	static const struct {
		const char *unit, *gpu, *why;
	} tries[] = {
		{"{\"gpu\": 0, \"sm\": \"90a\"}", "{\"index\": 0, \"compute\": \"8.0\"}",
			"capability 8.0, but `sm` of the device is 90a"},
		{"{\"gpu\": 0, \"sm\": \"100a\"}", "{\"index\": 0, \"compute\": \"10.3\"}", NULL},
		{"{\"gpu\": 0, \"gfx\": \"gfx942\"}", "{\"index\": 0, \"gfx\": \"gfx90a:xnack-\"}",
			"a gfx90a, but `gfx` of the device is gfx942"},
		{"{\"gpu\": 0, \"gfx\": \"gfx942\"}", "{\"index\": 0, \"gfx\": \"gfx942:xnack-\"}", NULL},
		{"{\"gpu\": 0, \"gfx\": \"gfx9-generic\"}", "{\"index\": 0, \"gfx\": \"gfx942\"}", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		AUTO_FREE char *units = xasprintf("[%s]", tries[i].unit);
		json_decref(fake.facts);
		fake.facts = json_pack("{s:[o]}", "gpus", json_loads(tries[i].gpu, 0, NULL));
		fixture_sql(&world.c.f, "DELETE FROM device_units");
		restart(units);
		if (!tries[i].why) {
			pass_job();
			continue;
		}
		int64_t job = world_submit();
		until(world_unit(0)->disabled.cause && world.engine->in_flight == 0);
		assert_non_null(strstr(world_unit(0)->disabled.why, tries[i].why));
		world_cancel(job);
	}
}

/* Rows of before the sixth version have labels: they are the units' that have them at the first load. */
static void
test_old_rows(void **state)
{
	(void)state;
	fixture_sql(&world.c.f,
		"INSERT INTO device_units (device, unit, state, cause, reason, changed_at, facts_json) VALUES ('CPU', 'CPU.0', "
		"'disabled', 'operator', 'by hand', 1, '{\"gpus\": [{\"index\": 0, \"uuid\": \"GPU-a\"}]}'), ('CPU', 'CPU.1', "
		"'disabled', "
		"'operator', 'by hand', 1, '{\"gpus\": [{\"index\": 1, \"uuid\": \"GPU-b\"}]}')");
	/* The second label is another GPU's by now. */
	restart("[{\"gpu\": 0}, {\"gpu\": 2}]");
	assert_true(world_unit(0)->disabled.cause);
	assert_false(world_unit(1)->disabled.cause);
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM device_units WHERE unit IN ('gpu-a', 'CPU.1')"), 2);
	restart("[{\"gpu\": 2}, {\"gpu\": 0}]");
	assert_false(world_unit(0)->disabled.cause);
	assert_true(world_unit(1)->disabled.cause);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_place_in_list),
	TEST(test_twins),
	TEST(test_reload_moves),
	TEST(test_uuid),
	TEST(test_said_before_known),
	TEST(test_other_model),
	TEST(test_other_architecture),
	TEST(test_old_rows),
};

UNIT_TESTS(test_engine_identity, .words = "waiting");
