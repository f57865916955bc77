/* SPDX-License-Identifier: MIT */
/* What a leaderboard shows is kept, and never shown when something in it has changed, or to whom it is not meant. */
#include <config.h>

#include "model/board_cache.h"
#include "model/jobs.h"
#include "model/ranking.h"
#include "unit/command_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/unit_test.h"

#define STEPS 400
#define USERS 9

static struct commands_fixture c;

static int
set_up(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	commands_close(&c);
	return 0;
}

struct asking {
	const char *who;
	struct board_view_request asked;
	json_t *answer;
};

static int
ask_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct asking *asking = arg;
	struct actor actor = {.name = "x", .role = RIGHT_ANYBODY};
	struct board board;
	int code = board_find(db, &actor, "arena", &board, err);
	return code < 0 ? code : board_cache_get(db, &board, &asking->asked, &asking->answer, err);
}

/* On the connection that keeps answers. New reference. */
static json_t *
ask(int64_t limit, int64_t offset, const char *device)
{
	struct asking asking = {.asked = {.env = &c.env, .device = device, .limit = limit, .offset = offset}};
	struct kettle_error err = {0};
	if (fixture_query(&c.f, ask_op, &asking, &err) < 0)
		fail_msg("%s", err.message);
	return asking.answer;
}

/* On the one that writes, and keeps none. New reference. */
static json_t *
ask_anew(int64_t limit, int64_t offset, const char *device)
{
	struct asking asking = {.asked = {.env = &c.env, .device = device, .limit = limit, .offset = offset}};
	struct kettle_error err = {0};
	if (fixture_read(&c.f, ask_op, &asking, &err) < 0)
		fail_msg("%s", err.message);
	return asking.answer;
}

static const json_t *last;

/* Whether it is still the same answer; and it is right in any case. */
static bool
kept(void)
{
	AUTO_JSON json_t *now = ask(100, 0, NULL), *anew = ask_anew(100, 0, NULL);
	assert_true(json_equal(now, anew));
	bool same = now == last;
	last = now;
	return same;
}

static int64_t
newest_job(void)
{
	return fixture_int(&c.f, "SELECT max(id) FROM jobs");
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, newest_job(), json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
	return id;
}

#define ID(id) json_pack("{s:I}", "id", (json_int_t)(id))
#define NAME(name) json_pack("{s:s}", "name", name)

static void
test_every_change(void **state)
{
	(void)state;
	last = NULL;
	assert_false(kept());
	assert_true(kept());
	int64_t first = ranked("alice", 2.0);
	assert_false(kept());
	int64_t second = ranked("bob", 1.0);
	assert_false(kept());
	/* One try more. */
	ranked("alice", 3.0);
	assert_false(kept());
	/* What changes nothing that is shown leaves it as it is. */
	commands_submit(&c, "carol", "arena", "test");
	commands_board(&c, "other", NULL);
	assert_true(kept());
	commands_must(
		&c, "owner", "submission.flag", json_pack("{s:I, s:s}", "id", (json_int_t)second, "reason", "a cheat"));
	assert_false(kept());
	commands_must(&c, "owner", "submission.unflag", ID(second));
	assert_false(kept());
	commands_must(&c, "owner", "user.ban", json_pack("{s:s, s:s}", "name", "bob", "reason", "enough"));
	assert_false(kept());
	commands_must(&c, "owner", "user.unban", NAME("bob"));
	assert_false(kept());
	commands_must(&c, "alice", "submission.delete", ID(first));
	assert_false(kept());
	commands_must(&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "bob", "into", "alice"));
	assert_false(kept());
	fixture_sql(&c.f, "UPDATE users SET name = 'lovelace' WHERE name = 'alice'");
	assert_false(kept());
	fixture_sql(&c.f, "UPDATE users SET name = 'boss' WHERE name = 'owner'");
	assert_false(kept());
	assert_true(kept());
}

static void
update(const char *key, json_t *value_take)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:o}", "name", "arena", key, value_take));
	assert_false(kept());
	assert_true(kept());
}

static void
test_updates(void **state)
{
	(void)state;
	last = NULL;
	ranked("alice", 2.0);
	update("description", json_string("another"));
	update("deadline", json_string("+30d"));
	update("code", json_string("always"));
	update("visibility", json_string("closed"));
	update("visibility", json_string("public"));
	/* A device that goes and comes back brings no old page with it. */
	update("device", json_pack("[s]", "H100"));
	update("device", json_pack("[s, s]", "H100", "CPU"));
	AUTO_JSON json_t *before = ask(100, 0, "cpu");
	update("device", json_pack("[s]", "H100"));
	update("device", json_pack("[s, s]", "CPU", "H100"));
	AUTO_JSON json_t *after = ask(100, 0, "cpu"), *anew = ask_anew(100, 0, "cpu");
	assert_true(before != after && json_equal(after, anew));
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
	commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
	assert_false(kept());
}

/* Nothing is written when a deadline passes. */
static void
test_deadline(void **state)
{
	(void)state;
	last = NULL;
	char sql[100];
	(void)snprintf(sql, sizeof(sql), "UPDATE boards SET deadline_at = %lld", (long long)clock_utc_ms(&c.f.clock) + 300);
	fixture_sql(&c.f, sql);
	AUTO_JSON json_t *before = ask(100, 0, NULL);
	clock_advance(&c.f.clock, 300);
	AUTO_JSON json_t *at = ask(100, 0, NULL);
	assert_ptr_equal(before, at);
	assert_false(json_is_true(commands_at(at, "leaderboard.ended")));
	clock_advance(&c.f.clock, 1);
	AUTO_JSON json_t *after = ask(100, 0, NULL);
	assert_true(json_is_true(commands_at(after, "leaderboard.ended")));
}

static void
test_rights(void **state)
{
	(void)state;
	ranked("alice", 2.0);
	commands_must(&c, "alice", "leaderboard.show", NAME("arena"));
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "visibility", "closed"));
	/* Who may see it fills the place where it is kept; who may not gets nothing of it. */
	for (int i = 0; i < 3; i++) {
		assert_true(
			json_is_true(commands_at(commands_must(&c, "owner", "leaderboard.show", NAME("arena")), "code_open")));
		commands_refused(&c, "alice", "leaderboard.show", NAME("arena"), KETTLE_ENOENT);
	}
	AUTO_JSON json_t *invite =
		json_incref((json_t *)commands_must(&c, "owner", "invite.create", json_pack("{s:[s]}", "name", "arena")));
	commands_must(&c, "alice", "leaderboard.join", json_pack("{s:s}", "code", commands_text(invite, "codes.0")));
	assert_false(json_is_true(commands_at(commands_must(&c, "alice", "leaderboard.show", NAME("arena")), "code_open")));
	commands_must(&c, "owner", "invite.revoke", json_pack("{s:s}", "code", commands_text(invite, "codes.0")));
	commands_refused(&c, "alice", "leaderboard.show", NAME("arena"), KETTLE_ENOENT);
	/* Own runs are nobody else's. */
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "visibility", "public"));
	const json_t *own =
		commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s, s:b}", "name", "arena", "mine", 1));
	assert_int_equal(commands_number(own, "rankings.0.count"), 1);
	own = commands_must(&c, "bob", "leaderboard.show", json_pack("{s:s, s:b}", "name", "arena", "mine", 1));
	assert_int_equal(commands_number(own, "rankings.0.count"), 0);
}

/* As a reload gives the devices: CPU with a peak (NULL: none). */
static void
set_peak(json_t *peak_take)
{
	json_decref((json_t *)c.env.devices);
	c.env.devices = json_pack("{s:{s:[], s:o*}, s:{s:[]}}", "CPU", "units", "peak", peak_take, "H100", "units");
}

static double
number_at(const json_t *answer, const char *path)
{
	return json_number_value(commands_at(answer, path));
}

/* The limit comes from task and configuration, neither of which a kept answer may outlive. */
static void
test_limits(void **state)
{
	(void)state;
	last = NULL;
	int64_t id = ranked("alice", 2.0);
	ranked("bob", 4.0);
	json_t *find = json_pack("{s:s, s:s}", "name", "arena", "find", "bob");
	commands_must(&c, "owner", "leaderboard.update",
		json_pack("{s:s, s:o}", "name", "arena", "task", commands_task("work: {bytes: 1000 * size}\n")));
	set_peak(NULL);
	assert_false(kept());
	assert_null(commands_at(last, "rankings.0.limit"));
	assert_null(commands_at(last, "rankings.0.entries.0.share"));
	/* Of no use for this work: all the same the answer is made again, once. */
	set_peak(json_pack("{s:f}", "operations", 1e9));
	assert_false(kept());
	assert_true(kept());
	assert_null(commands_at(last, "rankings.0.limit"));
	/* Two thousand bytes. */
	set_peak(json_pack("{s:f}", "bytes", 2000.0));
	assert_false(kept());
	assert_true(kept());
	assert_true(number_at(last, "rankings.0.limit") == 1 && number_at(last, "rankings.0.entries.0.share") == 0.5);
	assert_null(commands_at(last, "rankings.1.limit"));
	assert_true(number_at(commands_must(&c, "bob", "leaderboard.show", find), "rankings.0.found.entry.share") == 0.25);
	const json_t *own =
		commands_must(&c, "bob", "leaderboard.show", json_pack("{s:s, s:b}", "name", "arena", "mine", 1));
	assert_true(number_at(own, "rankings.0.limit") == 1 && number_at(own, "rankings.0.entries.0.share") == 0.25);
	const json_t *shown = commands_must(&c, "alice", "submission.show", ID(id));
	assert_null(commands_at(shown, "jobs.0.share")); /* it was submitted for a task that states no work */
	id = ranked("alice", 1.0);
	shown = commands_must(&c, "alice", "submission.show", ID(id));
	assert_true(number_at(shown, "jobs.0.limit") == 1 && number_at(shown, "jobs.0.share") == 1);
	assert_false(kept());
	set_peak(json_pack("{s:i}", "bytes", 1000));
	assert_false(kept());
	assert_true(number_at(last, "rankings.0.entries.0.share") == 2);
	set_peak(NULL);
	assert_false(kept());
	assert_null(commands_at(last, "rankings.0.entries.0.share"));
}

/* More questions than are kept, and pages that are too long for that. */
static void
test_many(void **state)
{
	(void)state;
	char name[30];
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "user%d", i);
		ranked(name, 1.0 + i / 3);
	}
	for (int round = 0; round < 2; round++)
		for (int64_t i = 0; i < 2 * BOARD_ANSWERS_MAX; i++) {
			AUTO_JSON json_t *now = ask(1 + i % 5, i, i % 2 ? "CPU" : NULL),
							 *again = ask(1 + i % 5, i, i % 2 ? "CPU" : NULL);
			AUTO_JSON json_t *anew = ask_anew(1 + i % 5, i, i % 2 ? "CPU" : NULL);
			assert_ptr_equal(now, again);
			assert_true(json_equal(now, anew));
		}
}

/* ---- at random ---- */

static int
ban_op(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t user = *(int64_t *)arg;
	int code =
		db_exec(db, err, "UPDATE users SET banned_at = CASE WHEN banned_at IS NULL THEN 1 END WHERE id = ?", "i", user);
	return code < 0 ? code : ranking_recompute_user(db, user, err);
}

static int
fail_op(struct db *db, void *arg, struct kettle_error *err)
{
	int code = ban_op(db, arg, err);
	return code < 0 ? code : kettle_fail(err, KETTLE_ECONFLICT, "It is undone.");
}

struct adding {
	int64_t user;
	double score;
};

static int
add_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct adding *adding = arg;
	int64_t attempt = 0;
	AUTO_JSON json_t *verdict = json_pack("{s:s, s:f, s:f, s:f, s:[]}", "state", "passed", "score", adding->score,
		"low", adding->score * 0.9, "high", adding->score * 1.1, "runs");
	int code = db_exec(db, err,
		"INSERT INTO submissions (leaderboard, task, user, mode, file_name, code, created_at) SELECT id, task, ?, "
		"'ranked', 'a.cpp', (SELECT min(id) FROM blobs), ? FROM leaderboards",
		"ii", adding->user, db->now_ms);
	if (code == 0)
		code = db_exec(db, err,
			"INSERT INTO jobs (submission, device, seed, queued_at, changed_at) VALUES (?, 'CPU', 7, 0, 0)", "i",
			db_last_id(db));
	int64_t job = db_last_id(db);
	if (code == 0)
		code = jobs_start(db, job, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt, err);
	return code < 0 ? code : commands_jobs_finish(db, job, attempt, verdict, err);
}

static void
test_random(void **state)
{
	(void)state;
	unsigned seed = 20260702;
	fixture_sql(&c.f,
		"WITH RECURSIVE n (i) AS (SELECT 50 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO users (id, "
		"name, created_at) SELECT i, 'user' || i, 0 FROM n");
	for (int i = 0; i < STEPS; i++) {
		int64_t user = 50 + rand_r(&seed) % USERS;
		struct adding adding = {user, 1.0 + rand_r(&seed) % 30 / 8.0};
		struct kettle_error err = {0};
		int kind = rand_r(&seed) % 8;
		int code = kind == 0   ? fixture_write(&c.f, ban_op, &user, &err)
				   : kind == 1 ? fixture_write(&c.f, fail_op, &user, &err)
							   : fixture_write(&c.f, add_op, &adding, &err);
		assert_int_equal(code, kind == 1 ? KETTLE_ECONFLICT : 0);
		for (int page = 0; page < 3; page++) {
			AUTO_JSON json_t *now = ask(page == 2 ? 3 : 100, page, NULL);
			AUTO_JSON json_t *anew = ask_anew(page == 2 ? 3 : 100, page, NULL);
			assert_true(json_equal(now, anew));
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	TEST(test_every_change),
	TEST(test_updates),
	TEST(test_deadline),
	TEST(test_rights),
	TEST(test_limits),
	TEST(test_many),
	TEST(test_random),
};

UNIT_TESTS(test_board_cache);
