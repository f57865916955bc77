/* SPDX-License-Identifier: MIT */
/* Figures for monitoring: what is counted as jobs come and end, and whether a unit can take one. */
#include <config.h>

#include "unit/engine_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

static int64_t
figure(const char *path)
{
	AUTO_JSON json_t *metrics = engine_metrics(world.engine);
	const json_t *found = commands_at(metrics, path);
	return found ? json_integer_value(found) : -1;
}

static void
test_counts(void **state)
{
	(void)state;
	/* One runs, one builds, one waits. */
	(void)world_submit_as("alice", "ranked");
	(void)world_submit();
	(void)world_submit();
	until(fake.count == 2);
	fake_say(0, json_pack("{s:s}", "event", "device"));
	assert_int_equal(figure("devices.0.queued"), 1);
	assert_int_equal(figure("devices.0.active"), 2);
	assert_int_equal(figure("devices.0.running"), 1);
	assert_int_equal(figure("devices.0.units.running"), 1);
	assert_int_equal(figure("submissions.ranked.accepted"), 1);
	assert_int_equal(figure("submissions.test.accepted"), 2);
	assert_int_equal(figure("submissions.ranked.passed"), -1);
	assert_int_equal(figure("devices.0.seconds.total.count"), 0);
	world_pass(40000);
	fake_end(0, "done");
	until(figure("submissions.ranked.passed") == 1);
	assert_int_equal(figure("devices.0.units.running"), 0);
	assert_int_equal(figure("devices.0.units.disabled"), 0);
	assert_int_equal(figure("devices.0.seconds.total.count"), 1);
	assert_int_equal(figure("devices.0.seconds.total.buckets.14.count"), 0); /* 30 s */
	assert_int_equal(figure("devices.0.seconds.total.buckets.15.count"), 1); /* 60 s */
	assert_int_equal(figure("devices.0.seconds.wait.count"), 1);
	assert_int_equal(figure("devices.0.seconds.build.count"), 1);
	assert_int_equal(figure("devices.0.seconds.run.count"), 1);
	/* The public run and the secret one. */
	assert_int_equal(figure("devices.0.runs.leaderboard.passed"), 2);
	assert_int_equal(figure("devices.0.runs.leaderboard.error"), 0);
	assert_int_equal(figure("devices.0.runs.profile.error"), 0);
	assert_int_equal(figure("devices.0.runs.test.passed"), 1 + 1);
	assert_true(figure("devices.0.builds.built") + figure("devices.0.builds.cached") > 0);
	/* Those that are cancelled ended, too, without a verdict. */
	until(fake.count == 2);
	fake.on_cancel = AT_ONCE;
	world_cancel(2);
	until(figure("submissions.test.cancelled") == 1);
	assert_int_equal(figure("devices.0.seconds.total.count"), 1);
	fake_end(0, "done");
	until(figure("submissions.test.passed") == 1);
	assert_int_equal(figure("devices.0.queued"), 0);
	assert_int_equal(figure("devices.0.units.idle"), 1);
}

static int
ready(void)
{
	struct kettle_error err = {0};
	int rc = engine_ready(world.engine, &err);
	if (rc < 0)
		assert_sentence(err.message);
	return rc;
}

static void
test_ready(void **state)
{
	(void)state;
	assert_int_equal(ready(), 0);
	/* A unit that is busy can take one later. */
	(void)world_submit();
	until(fake.count == 1);
	assert_int_equal(ready(), 0);
	world_set("CPU.0", true, "a fan is broken");
	assert_int_equal(ready(), KETTLE_EUNAVAIL);
	world_set("CPU.0", false, NULL);
	assert_int_equal(ready(), 0);
	fake_end(0, "done");
	until(world.engine->in_flight == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_counts),
	TEST(test_ready),
};

UNIT_TESTS(test_engine_metrics);
