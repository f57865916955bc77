/* SPDX-License-Identifier: MIT */
/* Units whose GPUs are unfit to score: ranked jobs are tried again, wait, and go on; all others run. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gpu_fitness.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

/* So many units with a GPU each, 0, 1, …; they prefetch nothing. */
static void
restart(int units)
{
	world_stop(0);
	fake.prefetch = 0;
	json_t *devices = world_devices(units, NULL);
	json_array_each_at(json_object_get(json_object_get(devices, "CPU"), "units"), i, unit)
		json_object_set_new(unit, "gpu", json_integer((json_int_t)i));
	world_start(devices);
}

/* The task ends, and kettle-exec says this of its GPUs: {gpu: [cause]}. */
static void
end_unfit(size_t index, json_t *unfit_take)
{
	json_t *done = fake_completion(index, "done");
	(void)json_object_set_new(
		done, "device", json_pack("{s:[s], s:{}, s:o}", "checked", "0", "faults", "unfit", unfit_take));
	fake_end_with(index, done);
}

static json_t *
unfit(const char *cause)
{
	return json_pack("{s:[s]}", "0", cause);
}

/* kettle-exec refused to run any step. */
static void
refuse_unfit(size_t index, const char *cause)
{
	json_t *done = fake_completion(index, "done");
	(void)json_object_set_new(
		done, "device", json_pack("{s:[s], s:{}, s:o}", "checked", "0", "faults", "unfit", unfit(cause)));
	json_array_each(json_object_get(done, "outcomes"), outcome)
		json_object_update_new(
			outcome, json_pack("{s:s, s:s, s:n, s:{}}", "state", "error", "error", "not fit", "exit", "result"));
	fake_end_with(index, done);
}

/* What the machine of all units says of GPU 0. */
static void
greet(const char *cause)
{
	json_decref(fake.facts);
	fake.facts = json_pack("{s:[{s:i, s:[]}]}", "gpus", "index", 0, "unfit");
	if (cause)
		json_array_append_new(
			json_object_get(json_array_get(json_object_get(fake.facts, "gpus"), 0), "unfit"), json_string(cause));
}

static json_t *
unit_shown(size_t index)
{
	AUTO_JSON json_t *devices = engine_devices(world.engine);
	return json_incref(json_array_get(json_object_get(json_array_get(devices, 0), "units"), index));
}

/* It becomes unfit while a ranked job runs: that is tried again when it is fit, and other jobs run meanwhile. */
static void
test_in_a_run(void **state)
{
	(void)state;
	restart(1);
	greet("power-brake");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	assert_true(fake_task(0)->score);
	end_unfit(0, unfit("power-brake"));
	until(world_job_is(job, "queued") && fixture_events(&world.c.f, "unit.unfit") == 1);
	assert_string_equal(world_text("loss", job), "unfit");
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
	assert_int_equal(
		fixture_int(&world.c.f, "SELECT data_json ->> '$.causes[0]' = 'power-brake' FROM events WHERE kind = "
								"'unit.unfit'"),
		1);
	AUTO_JSON json_t *unit = unit_shown(0), *place = engine_queue_position(world.engine, job, 0);
	const json_t *why = json_object_get(unit, "unfit");
	assert_string_equal(json_text_or_empty(unit, "state"), "idle");
	assert_string_equal(json_text_or_empty(why, "cause"), "unfit");
	assert_true(list_has_text(json_object_get(why, "causes"), "power-brake"));
	assert_true(json_equal(json_object_get(place, "obstacle"), why));
	assert_non_null(json_object_get(place, "waits"));
	/* A test runs, whatever its GPU is, and changes nothing. */
	int64_t other = world_submit();
	until(fake.count == 1);
	assert_false(fake_task(0)->score);
	end_unfit(0, json_object());
	until(world_job_is(other, "passed"));
	/* It is still unfit at the first test. */
	until(fake.describes > 0);
	size_t described = fake.describes;
	until(fake.describes > described);
	assert_true(world_job_is(job, "queued"));
	greet(NULL);
	until(fake.count == 1 && fixture_events(&world.c.f, "unit.fit") == 1);
	end_unfit(0, json_object());
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_events(&world.c.f, "unit.unfit"), 1);
	AUTO_JSON json_t *well = unit_shown(0);
	assert_null(json_object_get(well, "unfit"));
	assert_null(json_object_get(well, "reason"));
}

/* Every cause makes a score void. */
static void
test_causes(void **state)
{
	static const char *const causes[] = {
#define X(name, word, text) word,
		GPU_UNFIT_CAUSES(X)
#undef X
	};
	(void)state;
	restart(1);
	greet(NULL);
	int64_t job = world_submit_as("alice", "ranked");
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		until(fake.count == 1);
		end_unfit(0, unfit(causes[i]));
		until(world_job_is(job, "queued"));
	}
	until(fake.count == 1);
	end_unfit(0, json_object());
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_events(&world.c.f, "unit.unfit"), ARRAY_SIZE(causes));
	assert_int_equal(fixture_events(&world.c.f, "unit.fit"), ARRAY_SIZE(causes));
}

/* What is none of the words says nothing. */
static void
test_nonsense(void **state)
{
	static const char *const said[] = {"{\"0\": [\"warm\", 7, null, \"\", [\"ecc\"]]}", "{\"0\": \"ecc\"}", "[\"ecc\"]",
		"7", "{\"0\": {\"ecc\": true}}", "null"};
	(void)state;
	restart(1);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		int64_t job = world_submit_as("alice", "ranked");
		until(fake.count == 1);
		end_unfit(0, json_loads(said[i], JSON_DECODE_ANY, NULL));
		until(world_job_is(job, "passed"));
		assert_null(world_unit(0)->fitness.causes);
	}
}

/* Of several units ranked jobs take those that are fit, and others leave them free. */
static void
test_other_unit(void **state)
{
	(void)state;
	restart(2);
	greet("ecc");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.0");
	end_unfit(0, unfit("ecc"));
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	/* The next ranked one waits for it; a test that comes later does not. */
	int64_t next = world_submit_as("alice", "ranked"), test = world_submit();
	until(fake.count == 2);
	assert_string_equal(fake_task(1)->unit, "CPU.0");
	assert_int_equal(atoll(fake_task(1)->ref), test);
	AUTO_JSON json_t *place = engine_queue_position(world.engine, next, 0);
	assert_null(json_object_get(place, "obstacle"));
	fake_end(0, "done");
	until(world_job_is(job, "passed") && fake.count == 2);
	assert_string_equal(fake_task(1)->unit, "CPU.1");
	fake_end(1, "done");
	fake_end(0, "done");
	until(world_job_is(next, "passed") && world_job_is(test, "passed"));
}

/* A program that failed has failed, but not if errors of the memory, or the memory that others use, may be why. */
static void
test_failed(void **state)
{
	(void)state;
	static const char *const causes[] = {"thermal", "ecc", "processes"};
	restart(1);
	greet(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		int64_t job = world_submit_as("alice", "ranked");
		until(fake.count == 1);
		json_t *done = fake_completion(0, "done");
		json_array_each(json_object_get(done, "outcomes"), outcome)
			if (member_is(outcome, "kind", "run"))
				json_object_update_new(outcome, json_pack("{s:s, s:i, s:{}}", "state", "failed", "exit", 1, "result"));
		(void)json_object_set_new(
			done, "device", json_pack("{s:[s], s:{}, s:o}", "checked", "0", "faults", "unfit", unfit(causes[i])));
		fake_end_with(0, done);
		until(world_job_is(job, i ? "queued" : "failed"));
		until(!world_unit(0)->fitness.causes);
		if (i == 0)
			continue;
		until(fake.count == 1);
		fake_end(0, "done");
		until(world_job_is(job, "passed"));
	}
}

/* Where kettle-exec refuses each time, as while other processes come and go, the job waits, but not for ever. */
static void
test_refused(void **state)
{
	(void)state;
	restart(1);
	greet(NULL);
	int64_t job = world_submit_as("alice", "ranked");
	for (int i = 0; i < 30; i++) {
		until(fake.count == 1);
		refuse_unfit(0, "ecc");
		until(world_job_is(job, "queued"));
		assert_int_equal(world_number("attempt - uncharged_attempts", job), 0);
		assert_int_equal(world_number("lost_with_engine", job), 0);
	}
	/* Nothing says that it is fit again. */
	greet("processes");
	until(world.engine->devices->units->fitness.causes && fake.count == 0);
	size_t submits = fake.submits;
	world_pass(ENGINE_UNFIT_MAX_MS);
	until(world_job_is(job, "error"));
	assert_int_equal(fake.submits, submits);
	assert_string_equal(world_text("fault", job), "machine");
	assert_sentence(world_text("error", job));
}

/* While jobs use the unit its machine does not know whose processes there are: one ranked job a minute finds out. */
static void
test_trial(void **state)
{
	(void)state;
	fake.slots = 2;
	restart(1);
	greet("processes");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	end_unfit(0, unfit("processes"));
	until(world_job_is(job, "queued"));
	(void)world_submit();
	until(fake.count == 1);
	greet(NULL);
	for (int i = 0; i < 3; i++) {
		until(fake.count == 2);
		refuse_unfit(1, "processes");
		until(world_job_is(job, "queued"));
		assert_int_equal(fixture_events(&world.c.f, "unit.fit"), 0);
	}
	until(fake.count == 2);
	end_unfit(1, json_object());
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_events(&world.c.f, "unit.unfit"), 1);
	assert_int_equal(fixture_events(&world.c.f, "unit.fit"), 1);
	fake_end(0, "done");
}

/* A job that makes its GPU unfit each time ends as well. */
static void
test_heats_it(void **state)
{
	(void)state;
	restart(1);
	greet(NULL);
	int64_t job = world_submit_as("alice", "ranked");
	size_t runs = 0;
	for (; !world_job_is(job, "error"); runs++) {
		until(fake.count == 1 || world_job_is(job, "error"));
		if (fake.count == 1)
			end_unfit(0, unfit("thermal"));
		until(!world_job_is(job, "running"));
	}
	assert_in_range(runs, 9, 11);
	assert_string_equal(world_text("fault", job), "machine");
	assert_string_equal(world_text("loss", job), "unfit");
}

/* An operator who enables the unit does not wait for its test; a machine that says nothing leaves it as it is. */
static void
test_by_operator(void **state)
{
	(void)state;
	restart(1);
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	end_unfit(0, unfit("hardware-slowdown"));
	until(world_job_is(job, "queued"));
	world_pass(10 * ENGINE_TEST_MS);
	assert_int_equal(fake.count, 0);
	fake.facts = json_pack("{s:[]}", "gpus");
	world_pass(2 * ENGINE_TEST_MS);
	assert_int_equal(fake.count, 0);
	world_set("CPU.0", false, "by root");
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A job of two devices waits for units that are fit. */
static void
test_several_devices(void **state)
{
	(void)state;
	restart(2);
	fake.same_machine = true;
	greet("ecc");
	fixture_sql(&world.c.f, "UPDATE tasks SET bundle_json = json_set(bundle_json, '$.task.multi_gpu', json('true'), "
							"'$.task.benchmarks', json('[{\"seed\": 1, \"world_size\": 2}]'))");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	assert_int_equal(fake_task(0)->units, 2);
	end_unfit(0, unfit("ecc"));
	until(engine_job_find(world.engine, job)->held.why && world.engine->in_flight == 0);
	assert_false(world_unit(1)->fitness.causes);
	greet(NULL);
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* A runner that cannot describe its machines gets another one each time: the job goes on at once, ten times. */
static void
test_not_described(void **state)
{
	(void)state;
	world_stop(0);
	world_start(json_pack("{s:{s:[{s:s, s:i}]}}", "CPU", "units", "runner", "forgetful", "gpu", 0));
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	refuse_unfit(0, "ecc");
	until(fake.count == 1);
	end_unfit(0, unfit("processes"));
	until(fake.count == 1);
	assert_null(world_unit(0)->fitness.causes);
	assert_int_equal(world_number("lost_with_engine", job), 2);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_events(&world.c.f, "unit.unfit"), 0);
}

/* Where one unit is fit, jobs wait in its queue without a limit, whatever another unit is. */
static void
test_long_queue(void **state)
{
	(void)state;
	restart(2);
	greet("ecc");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	end_unfit(0, unfit("ecc"));
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	int64_t next = world_submit_as("alice", "ranked");
	world_pass(2 * ENGINE_UNFIT_MAX_MS);
	assert_true(world_job_is(next, "queued"));
	fake_end(0, "done");
	until(world_job_is(job, "passed") && fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	/* Once that is unfit as well, the time begins. */
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	int64_t last = world_submit_as("alice", "ranked");
	AUTO_JSON json_t *shown = unit_shown(0);
	unit_fitness_take(world.engine, world_unit(1), json_object_get(json_object_get(shown, "unfit"), "causes"));
	world_pass(ENGINE_UNFIT_MAX_MS / 2);
	assert_true(world_job_is(last, "queued"));
	world_pass(ENGINE_UNFIT_MAX_MS / 2 + ENGINE_TEST_MS);
	until(world_job_is(last, "error"));
	assert_true(world_job_is(next, "running"));
	fake_end(0, "done");
	until(world_job_is(next, "passed"));
}

/* Tests that heat the GPU do not keep it from ranked jobs: it is read while it is idle, and a ranked one comes first. */
static void
test_hot_tests(void **state)
{
	(void)state;
	restart(1);
	greet("thermal");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	end_unfit(0, unfit("thermal"));
	until(world_job_is(job, "queued"));
	size_t described = fake.describes;
	int64_t test = world_submit_as("bob", "test"), other = world_submit_as("bob", "test");
	world_pass(ENGINE_TEST_MS / 2);
	assert_int_equal(fake.count, 0);
	/* It is no cooler while idle, so tests run for a while. */
	until(fake.count == 1);
	assert_true(fake.describes > described);
	assert_int_equal(atoll(fake_task(0)->ref), test);
	world_pass(ENGINE_TEST_MS + ENGINE_TEST_MS / 2);
	fake_end(0, "done");
	until(world_job_is(test, "passed"));
	assert_int_equal(fake.count, 0);
	greet(NULL);
	until(fake.count == 1);
	assert_int_equal(atoll(fake_task(0)->ref), job);
	end_unfit(0, json_object());
	until(world_job_is(job, "passed") && fake.count == 1);
	assert_int_equal(atoll(fake_task(0)->ref), other);
	fake_end(0, "done");
	until(world_job_is(other, "passed"));
	assert_null(world_unit(0)->fitness.causes);
}

/* The third score of a job that heats a GPU on which others score counts. Rate limits count no run that was dropped. */
static void
test_heats_on_purpose(void **state)
{
	(void)state;
	restart(1);
	greet(NULL);
	int64_t other = world_submit_as("bob", "ranked");
	until(fake.count == 1);
	end_unfit(0, json_object());
	until(world_job_is(other, "passed"));
	int64_t job = world_submit_as("alice", "ranked");
	for (int i = 0; i < 3; i++) {
		until(fake.count == 1);
		end_unfit(0, unfit("thermal"));
		until(world_job_is(job, i < 2 ? "queued" : "passed"));
	}
	assert_int_equal(fixture_int(&world.c.f, "SELECT count(*) FROM rate_spent"), 0);
	/* Errors of the memory never count. */
	int64_t wrong = world_submit_as("alice", "ranked");
	for (int i = 0; i < 3; i++) {
		until(fake.count == 1);
		end_unfit(0, unfit("ecc"));
		until(world_job_is(wrong, "queued"));
	}
	until(fake.count == 1);
	end_unfit(0, json_object());
	until(world_job_is(wrong, "passed"));
}

/* The trial of the second unit is used while the first has room; a queue without jobs that could start is not searched. */
static void
test_each_unit(void **state)
{
	(void)state;
	AUTO_JSON json_t *causes = json_pack("[s]", "processes");
	restart(2);
	for (size_t i = 0; i < 2; i++)
		unit_fitness_take(world.engine, world_unit(i), causes);
	int64_t job = world_submit_as("alice", "ranked");
	world_pass(ENGINE_TEST_MS);
	assert_int_equal(fake.count, 0);
	assert_false(unit_fitness_may_allow(world.engine, world_unit(0)));
	world_unit(1)->fitness.trial = true;
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	assert_false(unit_fitness_may_allow(world.engine, world_unit(0)));
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	/* Tests are counted when they come, start, and are cancelled. */
	int64_t first = world_submit(), second = world_submit();
	until(fake.count == 2);
	int64_t third = world_submit();
	assert_int_equal(world.engine->devices->unranked, 1);
	world_cancel(third);
	until(world.engine->devices->unranked == 0);
	fake_end(0, "done");
	fake_end(0, "done");
	until(world_job_is(first, "passed") && world_job_is(second, "passed"));
}

/* A job that was kept by unfit units and then lacks a disabled one waits on. */
static void
test_disabled_meanwhile(void **state)
{
	(void)state;
	restart(2);
	fake.same_machine = true;
	greet("ecc");
	fixture_sql(&world.c.f, "UPDATE tasks SET bundle_json = json_set(bundle_json, '$.task.multi_gpu', json('true'), "
							"'$.task.benchmarks', json('[{\"seed\": 1, \"world_size\": 2}]'))");
	int64_t job = world_submit_as("alice", "ranked");
	until(fake.count == 1);
	end_unfit(0, unfit("ecc"));
	until(engine_job_find(world.engine, job)->held.why && world.engine->in_flight == 0);
	world_set("CPU.1", true, "by root");
	greet(NULL);
	until(!world_unit(0)->fitness.causes);
	world_pass(ENGINE_UNFIT_MAX_MS + ENGINE_TEST_MS);
	assert_true(world_job_is(job, "queued"));
	world_set("CPU.1", false, "by root");
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_in_a_run),
	TEST(test_causes),
	TEST(test_nonsense),
	TEST(test_other_unit),
	TEST(test_failed),
	TEST(test_refused),
	TEST(test_trial),
	TEST(test_heats_it),
	TEST(test_by_operator),
	TEST(test_several_devices),
	TEST(test_not_described),
	TEST(test_long_queue),
	TEST(test_hot_tests),
	TEST(test_heats_on_purpose),
	TEST(test_each_unit),
	TEST(test_disabled_meanwhile),
};

UNIT_TESTS(test_engine_fitness, .words = "waiting");
