/* SPDX-License-Identifier: MIT */
/* Events: who may read which, cursors; the small durable values beside them. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/events.h"
#include "model/settings.h"

#include <string.h>

#define STEPS 100

COMMANDS_FIXTURE()

struct reading {
	const char *who;
	enum access_right role;
	json_t *filter, *events;
	int64_t after, limit, next, steps;
};

static int
read_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct reading *reading = arg;
	struct actor actor = {.role = reading->role};
	if (reading->who)
		(void)db_int(db, &actor.user, NULL, "SELECT id FROM users WHERE name = ?", "s", reading->who);
	return events_after(
		db, &actor, reading->filter, reading->after, reading->limit, &reading->events, &reading->next, err);
}

/* Each stands for STEPS steps of SQLite's machine. */
static int
count_steps(void *arg)
{
	++*(int64_t *)arg;
	return 0;
}

static int
read_counted(struct db *db, void *arg, struct kettle_error *err)
{
	struct reading *reading = arg;
	reading->steps = 0;
	sqlite3_progress_handler(db->handle, STEPS, count_steps, &reading->steps);
	int rc = read_op(db, arg, err);
	sqlite3_progress_handler(db->handle, 0, NULL, NULL);
	return rc;
}

/* How many events of a kind (NULL: of any) somebody sees. */
static size_t
seen(const char *who, const char *kind, json_t *filter_take)
{
	struct reading reading = {.who = who, .filter = filter_take, .role = RIGHT_ANYBODY};
	struct kettle_error err = {0};
	size_t i, count = 0;
	json_t *event;
	if (who && strcmp(who, "admin") == 0)
		reading.role = RIGHT_ADMIN;
	if (fixture_query(&c.f, read_op, &reading, &err) < 0)
		fail_msg("%s", err.message);
	json_array_foreach(reading.events, i, event) {
		count += !kind || strcmp(commands_text(event, "kind"), kind) == 0;
	}
	json_decref(reading.events);
	json_decref(filter_take);
	return count;
}

static void
test_visibility(void **state)
{
	(void)state;
	commands_board(&c, "open", NULL);
	commands_board(&c, "shut", NULL);
	fixture_sql(&c.f, "UPDATE boards SET visibility = 'closed' WHERE name = 'shut'");
	commands_submit(&c, "alice", "open", "test");
	commands_must(
		&c, "owner", "submit", json_pack("{s:o, s:s}", "file", commands_file("a.cpp", "x"), "leaderboard", "shut"));
	assert_int_equal(seen("alice", "leaderboard.created", NULL), 1);
	assert_int_equal(seen(NULL, NULL, NULL), 1);
	assert_int_equal(seen("owner", "leaderboard.created", NULL), 2);
	assert_int_equal(seen("alice", "submission.accepted", NULL), 1);
	assert_int_equal(seen("owner", "submission.accepted", NULL), 1);
	assert_int_equal(seen("admin", "submission.accepted", NULL), 2);
	assert_int_equal(seen("alice", "user.created", NULL), 0);
	assert_int_equal(seen("admin", "user.created", NULL), 1);
	fixture_sql(&c.f,
		"INSERT INTO access SELECT b.id, u.id, NULL, 0 FROM leaderboards b, users u WHERE b.name = 'shut' AND u.name = "
		"'alice'");
	assert_int_equal(seen("alice", "leaderboard.created", NULL), 2);
	assert_int_equal(seen("admin", NULL, json_pack("{s:i}", "submission", 1)), 1);
	assert_int_equal(seen("admin", NULL, json_pack("{s:s}", "leaderboard", "OPEN")), 2);
	/* A board that is gone stays as visible as it was. */
	commands_submit(&c, "bob", "open", "test");
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "open", "force", 1));
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "shut", "force", 1));
	assert_int_equal(seen("bob", "leaderboard.deleted", NULL), 1);
	assert_true(json_is_true(commands_at(fixture_event(&c.f, "leaderboard.deleted"), "closed")));
}

static void
test_pages(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	for (int i = 0; i < 10; i++)
		commands_submit(&c, "alice", "arena", "test");
	struct reading reading = {.who = "owner", .role = RIGHT_ADMIN, .limit = 4};
	int64_t last = 0, count = 0;
	for (size_t got = 4; got == 4;) {
		size_t i;
		json_t *event;
		assert_int_equal(fixture_query(&c.f, read_op, &reading, NULL), 0);
		got = json_array_size(reading.events);
		json_array_foreach(reading.events, i, event) {
			assert_int_equal(commands_number(event, "seq"), last + 1);
			last = reading.after = commands_number(event, "seq");
			/* What was posted when it happened is what is read later. */
			assert_true(json_equal(event, json_array_get(c.f.events, (size_t)count)));
			count++;
		}
		json_decref(reading.events);
	}
	assert_int_equal(count, json_array_size(c.f.events));
}

static int
cursor_op(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t *value = arg;
	int code = events_cursor_get(db, "plugin:a", &value[0], err);
	if (code == 0)
		code = events_cursor_set(db, "plugin:a", 7, err);
	if (code == 0)
		code = events_cursor_set(db, "plugin:a", 3, err);
	if (code == 0)
		code = events_cursor_get(db, "plugin:a", &value[1], err);
	if (code == 0)
		code = events_cursor_begin(db, "plugin:a", err);
	if (code == 0)
		code = events_cursor_begin(db, "plugin:b", err);
	if (code == 0)
		code = events_cursor_get(db, "plugin:a", &value[2], err);
	if (code == 0)
		code = events_cursor_get(db, "plugin:b", &value[3], err);
	return code < 0 ? code : events_last(db, &value[4], err);
}

static void
test_cursors(void **state)
{
	(void)state;
	int64_t value[5] = {-1, -1, -1, -1, -1};
	commands_board(&c, "arena", NULL);
	assert_int_equal(fixture_write(&c.f, cursor_op, value, NULL), 0);
	assert_int_equal(value[0], 0);
	assert_int_equal(value[1], 7);
	assert_int_equal(value[2], 7);
	assert_int_equal(value[3], 1);
	assert_int_equal(value[4], 1);
}

static int
state_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	AUTO_JSON json_t *value = json_pack("{s:[i]}", "a", 1), *read = NULL, *none = NULL, *other = NULL;
	int code = settings_state_put(db, "discord", "k", value, err);
	if (code == 0)
		code = settings_state_put(db, "discord", "k", value, err);
	if (code == 0)
		code = settings_state_get(db, "discord", "k", &read, err);
	if (code == 0)
		code = settings_state_get(db, "web", "k", &other, err);
	if (code == 0)
		code = settings_state_put(db, "discord", "k", NULL, err);
	if (code == 0)
		code = settings_state_get(db, "discord", "k", &none, err);
	if (code == 0 && (!json_equal(read, value) || !json_is_null(other) || !json_is_null(none)))
		return kettle_fail(err, KETTLE_EINTERNAL, "a value differs");
	return code;
}

static int
state_limits_op(struct db *db, void *arg, struct kettle_error *err)
{
	char *big = arg, key[202];
	AUTO_JSON json_t *value = json_string(big);
	memset(key, 'k', 201);
	key[201] = '\0';
	if (settings_state_put(db, "p", "k", value, NULL) != KETTLE_ETOOBIG ||
		settings_state_put(db, "p", "", value, NULL) != KETTLE_EINVAL ||
		settings_state_put(db, "p", key, value, NULL) != KETTLE_EINVAL)
		return kettle_fail(err, KETTLE_EINTERNAL, "a limit does not hold");
	return 0;
}

static int
units_op(struct db *db, void *arg, struct kettle_error *err)
{
	AUTO_JSON json_t *calibration = json_pack("{s:f}", "ns", 1.5);
	int code = settings_unit_calibrate(db, "CPU", "cores", calibration, err);
	AUTO_JSON json_t *unit =
		json_pack("{s:s, s:s, s:s, s:s}", "device", "cpu", "unit", "CPU.0", "key", "cores", "reason", "too hot");
	if (code == 0)
		code = settings_unit_set(db, unit, UNIT_OPERATOR, true, err);
	if (code == 0)
		code = settings_units(db, arg, err);
	return code;
}

/* Learns `steps`, [{"facts", "partly"}], one after the other, and returns what is known then. */
struct lessons {
	json_t *steps, *units;
};

static int
learn_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct lessons *lessons = arg;
	size_t i;
	json_t *step;
	int code = 0;
	json_array_foreach(lessons->steps, i, step)
		if (code == 0)
			code = settings_unit_store_facts(
				db, "CPU", "CPU.0", json_object_get(step, "facts"), json_is_true(json_object_get(step, "partly")), err);
	return code < 0 ? code : settings_units(db, &lessons->units, err);
}

/* What one job says of its tools adds to what is known; what a machine says of itself is all there is. */
static void
test_learning(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *steps = json_loads(
		"[{\"facts\": {\"level\": \"full\", \"tools\": {\"g++\": \"12\"}}, \"partly\": true}, {\"facts\": {\"tools\": "
		"{\"python3\": \"3.11\"}, \"packages\": {\"python3\": {\"numpy\": \"1\"}}}, \"partly\": true}]",
		0, NULL);
	struct lessons lessons = {.steps = steps};
	assert_int_equal(fixture_write(&c.f, learn_op, &lessons, &err), 0);
	AUTO_JSON json_t *units = lessons.units;
	assert_string_equal(commands_text(units, "0.state"), "ready");
	assert_string_equal(commands_text(units, "0.facts.level"), "full");
	assert_string_equal(commands_text(units, "0.facts.tools.g++"), "12");
	assert_string_equal(commands_text(units, "0.facts.tools.python3"), "3.11");
	assert_string_equal(commands_text(units, "0.facts.packages.python3.numpy"), "1");
	(void)json_object_set_new(json_array_get(steps, 1), "partly", json_false());
	assert_int_equal(fixture_write(&c.f, learn_op, &lessons, &err), 0);
	AUTO_JSON json_t *after = lessons.units;
	assert_true(json_equal(commands_at(after, "0.facts"), json_object_get(json_array_get(steps, 1), "facts")));
}

static void
test_state(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	static char big[STATE_VALUE_MAX + 2];
	memset(big, 'x', sizeof(big) - 1);
	if (fixture_write(&c.f, state_op, NULL, &err) < 0 || fixture_write(&c.f, state_limits_op, big, &err) < 0)
		fail_msg("%s", err.message);
	AUTO_JSON json_t *units = NULL;
	assert_int_equal(fixture_write(&c.f, units_op, &units, &err), 0);
	assert_int_equal(json_array_size(units), 1);
	assert_string_equal(commands_text(units, "0.state"), "disabled");
	assert_string_equal(commands_text(units, "0.reason"), "too hot");
	assert_float_equal(json_real_value(commands_at(units, "0.calibration.ns")), 1.5, 0);
}

/*
 * A reading looks at a bounded number of events, however many there are that the actor may not see, and says where the next
 * one goes on: of all, of a board and of a submission.
 */
static void
test_pieces(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	fixture_sql(&c.f, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO "
					  "events (at, kind, "
					  "scope, closed, leaderboard, leaderboard_name, submission, user) SELECT 0, 'job.started', 'u', "
					  "0, 1, 'arena', 1, "
					  "1 FROM n");
	commands_submit(&c, "alice", "arena", "test");
	fixture_sql(&c.f, "UPDATE events SET submission = 1");
	json_t *filters[] = {
		json_object(), json_pack("{s:s}", "leaderboard", "arena"), json_pack("{s:i}", "submission", 1)};
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct reading reading = {.who = "alice", .role = RIGHT_ANYBODY, .filter = filters[i]};
		size_t accepted = 0, readings = 0;
		do {
			struct kettle_error err = {0};
			if (fixture_query(&c.f, read_counted, &reading, &err) < 0)
				fail_msg("%s", err.message);
			assert_true(reading.steps < 100 * EVENTS_LOOK_MAX / STEPS);
			assert_true(reading.next == 0 || reading.next > reading.after);
			for (size_t k = 0; k < json_array_size(reading.events); k++)
				accepted +=
					strcmp(commands_text(json_array_get(reading.events, k), "kind"), "submission.accepted") == 0;
			json_decref(reading.events);
			reading.after = reading.next;
			readings++;
		} while (reading.next > 0);
		assert_int_equal(accepted, 1);
		assert_true(readings > 20000 / EVENTS_LOOK_MAX);
		json_decref(filters[i]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_visibility),
	TEST(test_pages),
	TEST(test_pieces),
	TEST(test_cursors),
	TEST(test_state),
	TEST(test_learning),
};

UNIT_TESTS(test_events);
