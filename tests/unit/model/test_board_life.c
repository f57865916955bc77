/* SPDX-License-Identifier: MIT */
/* Leaderboards open and end at their times, and each is told once; a fault of a task is, too. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/board.h"
#include "model/events.h"

#include <string.h>

COMMANDS_FIXTURE_SET_UP_BY_FILE
static struct board_life life;

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
	life = (struct board_life){0};
	return 0;
}

static int
step_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return board_life_step(db, &life, err);
}

static void
step(void)
{
	assert_int_equal(fixture_write(&c.f, step_op, NULL, NULL), 0);
}

static void
update(const char *key, const char *value)
{
	(void)commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", key, value));
}

static void
finish(const char *state, double score, const char *blame)
{
	json_t *verdict = json_pack("{s:s, s:[], s:s*, s:s*}", "state", state, "runs", "blame", blame, "error",
		blame ? "The task is at fault: no." : NULL);
	if (score > 0)
		(void)json_object_set_new(verdict, "score", json_real(score));
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), verdict);
}

static int64_t
submit(const char *who, const char *mode, bool late)
{
	json_t *args = json_pack("{s:s, s:s, s:s, s:o, s:b}", "leaderboard", "arena", "mode", mode, "device", "CPU", "file",
		commands_file("a.cpp", "int x;\n"), "late", (int)late);
	return commands_number(commands_must(&c, who, "submit", args), "id");
}

static bool
sees(const char *who)
{
	const json_t *boards = commands_must(&c, who, "leaderboard.list", json_pack("{s:b}", "all", 1));
	return json_array_size(boards) == 1;
}

/* The end waits for the last ranked job, and comes once; a later deadline takes it back. */
static void
test_end(void **state)
{
	(void)state;
	step();
	assert_int_equal(life.next_ms, 0);
	update("deadline", "+1d");
	step();
	assert_int_equal(life.next_ms, fixture_int(&c.f, "SELECT deadline_at + 1 FROM boards"));
	submit("alice", "ranked", false);
	finish("passed", 2.0, NULL);
	submit("bob", "ranked", false);
	update("deadline", "2020-01-01");
	step();
	assert_true(life.waiting && !life.more);
	assert_int_equal(fixture_events(&c.f, "leaderboard.ended"), 0);
	finish("passed", 1.0, NULL);
	step();
	assert_false(life.waiting);
	step();
	assert_int_equal(fixture_events(&c.f, "leaderboard.ended"), 1);
	const json_t *event = fixture_event(&c.f, "leaderboard.ended");
	assert_string_equal(commands_text(event, "leaderboard_name"), "arena");
	assert_string_equal(commands_text(event, "data.devices.0.device"), "CPU");
	assert_string_equal(commands_text(event, "data.devices.0.podium.0.user_name"), "bob");
	assert_string_equal(commands_text(event, "data.devices.0.podium.1.user_name"), "alice");
	assert_int_equal(json_array_size(commands_at(event, "data.devices.1.podium")), 0);
	update("deadline", "+1d");
	step();
	update("deadline", "2020-01-02");
	step();
	assert_int_equal(fixture_events(&c.f, "leaderboard.ended"), 2);
	/* Nothing but the deadline ends it, nor does the end of one that is hidden count. */
	update("deadline", "none");
	step();
	assert_int_equal(life.next_ms, 0);
}

/* Practice and other modes keep no board from ending. */
static void
test_end_beside(void **state)
{
	(void)state;
	update("after_deadline", "practice");
	update("deadline", "2020-01-01");
	submit("alice", "test", false);
	submit("alice", "ranked", false);
	step();
	assert_int_equal(fixture_events(&c.f, "leaderboard.ended"), 1);
}

static void
test_late(void **state)
{
	(void)state;
	update("deadline", "2020-01-01");
	json_t *args = json_pack("{s:s, s:s, s:s, s:o, s:b}", "leaderboard", "arena", "mode", "ranked", "device", "CPU",
		"file", commands_file("a.cpp", "int x;\n"), "late", 1);
	commands_refused(&c, "alice:creator", "submit", json_incref(args), KETTLE_EACCES);
	(void)json_object_set_new(args, "late", json_false());
	commands_refused(&c, "dave:admin", "submit", args, KETTLE_EINVAL);
	submit("dave:admin", "ranked", true);
	finish("passed", 1.0, NULL);
	const json_t *shown = commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	assert_string_equal(commands_text(shown, "rankings.0.entries.0.user_name"), "dave");
}

struct reading {
	const char *who;
	size_t count;
};

static int
read_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct reading *reading = arg;
	AUTO_JSON json_t *identity = json_pack("{s:s, s:s}", "provider", "cli", "subject", reading->who), *events = NULL;
	AUTO_JSON json_t *filter = json_pack("{s:s}", "leaderboard", "arena");
	struct actor actor = {0};
	int64_t next;
	int rc = actor_resolve(db, identity, NULL, &actor, err);
	if (rc == 0)
		rc = events_after(db, &actor, filter, 0, 100, &events, &next, err);
	reading->count = json_array_size(events);
	return rc;
}

static size_t
events_of(const char *who)
{
	struct reading reading = {who, 0};
	assert_int_equal(fixture_write(&c.f, read_op, &reading, NULL), 0);
	return reading.count;
}

/* Before it opens, a board is its creator's and the admins' alone. */
static void
test_opening(void **state)
{
	(void)state;
	commands_refused(&c, "owner", "leaderboard.update",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "opens", "2031-01-02", "deadline", "2031-01-01"), KETTLE_EINVAL);
	/* On the day of its deadline it may open: a date is its beginning there. */
	update("deadline", "2031-01-02");
	update("opens", "2031-01-02");
	commands_refused(&c, "owner", "leaderboard.update",
		json_pack("{s:s, s:s}", "name", "arena", "deadline", "2030-01-01"), KETTLE_EINVAL);
	(void)commands_must(&c, "alice:creator", "leaderboard.list", json_object());
	assert_false(sees("alice:creator"));
	assert_true(sees("owner") && sees("dave:admin"));
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_refused(&c, "alice:creator", "leaderboard.update",
		json_pack("{s:s, s:s}", "name", "arena", "deadline", "none"), KETTLE_ENOENT);
	commands_refused(&c, "alice", "submit",
		json_pack(
			"{s:s, s:s, s:o}", "leaderboard", "arena", "device", "CPU", "file", commands_file("a.cpp", "int x;\n")),
		KETTLE_ENOENT);
	/* Its creator tries it, outside of the ranking. */
	int64_t id = submit("owner", "ranked", false);
	assert_int_equal(fixture_int(&c.f, "SELECT practice FROM submissions"), 1);
	assert_int_equal(id, 1);
	finish("passed", 1.0, NULL);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(events_of("alice"), 0);
	assert_true(events_of("owner") > 0);
	assert_true(json_is_true(commands_at(fixture_event(&c.f, "leaderboard.updated"), "closed")));
	step();
	assert_int_equal(life.next_ms, fixture_int(&c.f, "SELECT opens_at FROM boards"));
	assert_int_equal(fixture_events(&c.f, "leaderboard.opened"), 0);
	fixture_sql(&c.f, "UPDATE boards SET opens_at = 5000");
	step();
	step();
	assert_int_equal(fixture_events(&c.f, "leaderboard.opened"), 1);
	assert_true(sees("alice") && events_of("alice") > 0);
	submit("alice", "ranked", false);
	/* Again in the future it is hidden again, and opens again. */
	update("opens", "+1h");
	assert_false(sees("alice"));
	update("opens", "2020-01-01");
	step();
	assert_int_equal(fixture_events(&c.f, "leaderboard.opened"), 2);
	assert_string_equal(commands_text(commands_must(&c, "alice", "leaderboard.list", json_object()), "0.opens"),
		"2020-01-01T00:00:00.000Z");
}

/* A version for caches: it grows with what is shown, and only then. */
static void
test_version(void **state)
{
	(void)state;
	const json_t *boards = commands_must(&c, "alice", "leaderboard.list", json_object());
	int64_t version = commands_number(boards, "0.version");
	json_t *show = json_pack("{s:s}", "name", "arena");
	assert_int_equal(
		commands_number(commands_must(&c, "alice", "leaderboard.show", json_incref(show)), "version"), version);
	submit("alice", "ranked", false);
	assert_int_equal(
		commands_number(commands_must(&c, "alice", "leaderboard.show", json_incref(show)), "version"), version);
	finish("passed", 1.0, NULL);
	assert_true(commands_number(commands_must(&c, "alice", "leaderboard.show", show), "version") > version);
	assert_true(commands_number(commands_must(&c, "alice", "leaderboard.list", json_object()), "0.version") > version);
}

static void
test_fault(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		submit("alice", "ranked", false);
		finish("error", 0, "task");
	}
	assert_int_equal(fixture_events(&c.f, "leaderboard.fault"), 1);
	submit("alice", "ranked", false);
	finish("passed", 1.0, NULL);
	submit("alice", "ranked", false);
	finish("error", 0, "task");
	assert_int_equal(fixture_events(&c.f, "leaderboard.fault"), 2);
	assert_string_equal(commands_text(fixture_event(&c.f, "leaderboard.fault"), "user_name"), "owner");
}

/* The same by the word of a run, which one participant can forge alone. */
static void
test_accused(void **state)
{
	(void)state;
	static const struct {
		const char *user;
		int told; /* so far */
	} runs[] = {{"alice", 0}, {"alice", 0}, {"bob", 1}, {"alice", 1}, {NULL, 1}, {"bob", 1}, {"owner", 2}};
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		submit(runs[i].user ? runs[i].user : "bob", "ranked", false);
		if (runs[i].user)
			commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
				json_pack(
					"{s:s, s:s, s:s, s:b}", "state", "error", "blame", "task", "error", "It says so.", "claimed", 1));
		else
			finish("passed", 1.0, NULL);
		assert_int_equal(fixture_events(&c.f, "leaderboard.fault"), runs[i].told);
	}
}

static void
test_names(void **state)
{
	(void)state;
	static const char *const words[] = {"Profile", "submission", "submissions", "leaderboard", "leaderboards", "admin",
		"auth", "user", "users", "gpus", "runner_queue", "submission_count", "health", "ready", "metrics", "api",
		"docs", "openapi.json", "login", "logout", "invite", "devices", "static", "diff", "join", "Operator", "board"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		commands_refused(&c, "owner", "leaderboard.create",
			json_pack("{s:s, s:o}", "name", words[i], "task", commands_task(NULL)), KETTLE_EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_end),
	TEST(test_end_beside),
	TEST(test_late),
	TEST(test_opening),
	TEST(test_version),
	TEST(test_fault),
	TEST(test_accused),
	TEST(test_names),
};

UNIT_TESTS(test_board_life);
