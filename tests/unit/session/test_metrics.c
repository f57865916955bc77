/* SPDX-License-Identifier: MIT */
/* Figures and health of a process that has the database, and of one that has it not. */
#include <config.h>

#include "unit/core_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"

static void
test_figures(void **state)
{
	(void)state;
	const json_t *figures = cores_must(0, "web", "engine.metrics", json_object());
	int64_t newest = commands_number(figures, "events.newest"),
			commits = commands_number(figures, "store.commits.count");
	assert_int_equal(commands_number(figures, "events.oldest"), 1);
	assert_true(newest >= 1 && commits >= 1);
	assert_true(commands_number(figures, "store.bytes") > 0);
	assert_true(commands_number(figures, "store.log_bytes") > 0);
	assert_string_equal(commands_text(figures, "devices.0.name"), "CPU");
	cores_must(0, "ada", "submit", cores_file("arena"));
	figures = cores_must(0, "web", "engine.metrics", json_object());
	assert_true(commands_number(figures, "events.newest") > newest);
	assert_true(commands_number(figures, "store.commits.count") > commits);
	assert_int_equal(commands_number(figures, "submissions.test.accepted"), 1);
	/* The caller is a frontend, and does not become a user. */
	assert_int_equal(cores_run(0, "owner:admin", "user.show", json_pack("{s:s}", "name", "web")), KETTLE_ENOENT);
}

static void
test_ready(void **state)
{
	(void)state;
	static const char *const names[] = {"owner", "store", "units"};
	const json_t *answer = cores_must(0, "web", "engine.ready", json_object());
	assert_true(json_is_true(commands_at(answer, "ready")));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *check = json_array_get(commands_at(answer, "checks"), i);
		assert_string_equal(commands_text(check, "name"), names[i]);
		assert_true(json_is_true(commands_at(check, "ok")));
	}
	/* A process that is a client of this one judges nothing. */
	cores_make(1, false);
	cores_must(1, "ada", "leaderboard.list", json_object());
	answer = cores_must(1, "web", "engine.ready", json_object());
	assert_true(json_is_false(commands_at(answer, "ready")));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *check = json_array_get(commands_at(answer, "checks"), i);
		assert_string_equal(commands_text(check, "code"), kettle_error_name(KETTLE_EUNAVAIL));
		assert_sentence(commands_text(check, "error"));
	}
	assert_int_equal(cores_run(1, "web", "engine.metrics", json_object()), KETTLE_EACCES);
	cores_close(1);
}

/* A commit proves for some seconds that the disk takes changes; then one is made. */
static void
test_ready_writes(void **state)
{
	(void)state;
	cores_must(0, "ada", "submit", cores_file("arena"));
	cores_pass(0); /* its job is written, too */
	uint64_t wrote_ns = store_wrote_ns(cores.core[0]->store);
	for (int i = 0; i < 3; i++)
		assert_true(json_is_true(commands_at(cores_must(0, "web", "engine.ready", json_object()), "ready")));
	assert_true(wrote_ns > 0 && store_wrote_ns(cores.core[0]->store) == wrote_ns);
	cores_pass(6000);
	assert_true(store_wrote_ns(cores.core[0]->store) == wrote_ns);
	assert_true(json_is_true(commands_at(cores_must(0, "web", "engine.ready", json_object()), "ready")));
	assert_true(store_wrote_ns(cores.core[0]->store) > wrote_ns);
}

/* Without a unit that works nothing is ready, whatever else is. */
static void
test_units(void **state)
{
	(void)state;
	cores_must(0, "owner:admin", "device.disable", json_pack("{s:s}", "unit", "CPU"));
	const json_t *answer = cores_must(0, "web", "engine.ready", json_object());
	assert_true(json_is_false(commands_at(answer, "ready")));
	assert_true(json_is_true(commands_at(answer, "checks.1.ok")));
	assert_sentence(commands_text(answer, "checks.2.error"));
	cores_must(0, "owner:admin", "device.enable", json_pack("{s:s}", "unit", "CPU"));
	assert_true(json_is_true(commands_at(cores_must(0, "web", "engine.ready", json_object()), "ready")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_figures),
	TEST(test_ready),
	TEST(test_ready_writes),
	TEST(test_units),
};

UNIT_TESTS(test_metrics);
