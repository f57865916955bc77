/* SPDX-License-Identifier: MIT */
/* Jobs that their runner loses: what counts as an attempt, how long the unit pauses, what the participant learns. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <string.h>

#include "base/cleanup.h"
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
	for (int attempt = 1; attempt <= JOB_MAX_ORPHANED; attempt++) {
		until(fake.count == 1);
		assert_int_equal(world_number("attempt", job), attempt);
		assert_int_equal(world_number("attempt - spared", job), 1);
		assert_int_equal(world_unit(0)->losses, 0);
		lose(true, true, "Another machine came.");
	}
	until(world_job_is(job, "error"));
	until(world.engine->in_flight == 0);
	assert_non_null(strstr(world_text("error", job), "The runner could not finish it: 10 attempts ended"));
	assert_non_null(strstr(world_text("error", job), "says nothing about the code"));
	assert_non_null(strstr(world_text("error", job), "Another machine came."));
}

/* A broken connection: the unit pauses, and the three attempts stay. */
static void
test_broken_connection(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	lose(false, true, "The connection broke.");
	assert_int_equal(world_unit(0)->losses, 1);
	assert_true(world_unit(0)->pause_until_ms > 0);
	until(fake.count == 1);
	for (int attempt = 1; attempt <= JOB_MAX_ATTEMPTS; attempt++) {
		until(fake.count == 1);
		assert_false(world_job_is(job, "error"));
		lose(true, false, "it is lost");
	}
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "The runner could not finish it: its machines failed 3 times"));
	assert_non_null(strstr(world_text("error", job), "says nothing about the code"));
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
	assert_int_equal(unit->losses, 1);
	assert_true(unit->pause_until_ms <= uv_now(&world.c.f.loop) + ENGINE_PAUSE_MS);
	until(fake.count > 0);
	uint64_t now = uv_now(&world.c.f.loop);
	lose(false, true, "The connection broke again.");
	assert_int_equal(unit->losses, 2);
	assert_true(unit->pause_until_ms >= now + 2 * (uint64_t)ENGINE_PAUSE_MS);
}

int
main(void)
{
#define LOST_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		LOST_TEST(test_uncounted),
		LOST_TEST(test_broken_connection),
		LOST_TEST(test_one_loss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
