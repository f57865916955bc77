/* SPDX-License-Identifier: MIT */
/* Competitions: what is shown of them, and the points of their standings. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "one", json_pack("[s, s]", "CPU", "H100"));
				 commands_board(&c, "two", json_pack("[s]", "CPU"));
				 fixture_sql(&c.f, "UPDATE boards SET problem_set = 'Spring', source_json = '{}'");
				 commands_board(&c, "other", json_pack("[s]", "CPU")))

static void
passes(const char *who, const char *board, const char *device, double score)
{
	json_t *args = json_pack(
		"{s:s, s:s, s:o}", "leaderboard", board, "device", device, "file", commands_file("a.cpp", "int x;\n"));
	(void)commands_must(&c, who, "submit", args);
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
}

static const json_t *
show(const char *who)
{
	return commands_must(&c, who, "competition.show", json_pack("{s:s}", "name", "spring"));
}

static void
expect(size_t place, const char *user, int64_t rank, double points, int64_t places)
{
	const json_t *entry = json_array_get(commands_at(c.result, "standings"), place);
	assert_non_null(entry);
	assert_string_equal(commands_text(entry, "user_name"), user);
	assert_int_equal(commands_number(entry, "rank"), rank);
	assert_int_equal(commands_number(entry, "places"), places);
	double got = json_number_value(json_object_get(entry, "points"));
	if (got < points - 0.006 || got > points + 0.006)
		fail_msg("%s has %g points, not %g", user, got, points);
}

static void
test_points(void **state)
{
	(void)state;
	passes("ada", "one", "CPU", 1.0);
	passes("bob", "one", "CPU", 2.0);
	passes("cleo", "one", "CPU", 2.0);
	passes("ada", "one", "H100", 5.0);
	passes("bob", "two", "CPU", 1.0);
	passes("dan", "two", "CPU", 2.0);
	passes("dan", "other", "CPU", 0.1);
	/* ada: 10 + 10; bob: (9 + 8) / 2 + 10; dan: 9; cleo: (9 + 8) / 2. */
	const json_t *shown = show("ada");
	assert_int_equal(commands_number(shown, "count"), 4);
	expect(0, "ada", 1, 20, 2);
	expect(1, "bob", 2, 18.5, 2);
	expect(2, "dan", 3, 9, 1);
	expect(3, "cleo", 4, 8.5, 1);
	assert_string_equal(commands_text(shown, "leaderboards.0.name"), "one");
	assert_string_equal(commands_text(shown, "leaderboards.0.devices.1.device"), "H100");
	assert_string_equal(commands_text(shown, "leaderboards.1.devices.0.leader.user_name"), "bob");
	assert_int_equal(json_array_size(commands_at(shown, "leaderboards")), 2);
	/* Equal sums share a rank. */
	passes("cleo", "two", "CPU", 3.0);
	passes("eve", "two", "CPU", 1.0);
	/* two: bob and eve 9.5 each, dan 8, cleo 7: ada 20, bob 18, cleo 15.5, eve 9.5, dan 8. */
	(void)show("ada");
	expect(1, "bob", 2, 18, 2);
	expect(2, "cleo", 3, 15.5, 2);
	expect(4, "dan", 5, 8, 1);
	(void)commands_must(
		&c, "ada", "competition.show", json_pack("{s:s, s:i, s:i}", "name", "Spring", "limit", 1, "offset", 3));
	assert_int_equal(json_array_size(commands_at(c.result, "standings")), 1);
	expect(0, "eve", 4, 9.5, 1);
}

/* Only ten places give points, and those who share the tenth share what is left. */
static void
test_ten_places(void **state)
{
	(void)state;
	char name[20];
	for (int i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "user%d", i);
		passes(name, "two", "CPU", 1.0 + i);
	}
	for (int i = 9; i < 13; i++) {
		(void)snprintf(name, sizeof(name), "user%d", i);
		passes(name, "two", "CPU", 20.0);
	}
	passes("last", "two", "CPU", 30.0);
	assert_int_equal(commands_number(show("ada"), "count"), 13);
	expect(8, "user8", 9, 2, 1);
	expect(9, "user10", 10, 0.25, 1);
	expect(12, "user9", 10, 0.25, 1);
}

static void
test_shown(void **state)
{
	(void)state;
	const json_t *list = commands_must(&c, "ada", "competition.list", json_object());
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(commands_text(list, "0.name"), "Spring");
	assert_int_equal(commands_number(list, "0.leaderboards"), 2);
	assert_int_equal(json_array_size(commands_at(show("ada"), "standings")), 0);
	/* What is not for the actor to see does not count either. */
	passes("bob", "two", "CPU", 1.0);
	(void)commands_must(
		&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "two", "visibility", "closed"));
	assert_int_equal(json_array_size(commands_at(show("ada"), "leaderboards")), 1);
	assert_int_equal(json_array_size(commands_at(show("ada"), "standings")), 0);
	assert_int_equal(json_array_size(commands_at(show("owner"), "standings")), 1);
	fixture_sql(&c.f, "UPDATE boards SET source_json = '{\"standings\": false}' WHERE name = 'one'");
	assert_true(json_is_null(commands_at(show("owner"), "standings")));
	commands_refused(&c, "ada", "competition.show", json_pack("{s:s}", "name", "Sprng"), KETTLE_ENOENT);
	fixture_sql(&c.f, "UPDATE boards SET visibility = 'closed'");
	commands_refused(&c, "ada", "competition.show", json_pack("{s:s}", "name", "Spring"), KETTLE_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {TEST(test_points), TEST(test_ten_places), TEST(test_shown)};

UNIT_TESTS(test_standings);
