/* SPDX-License-Identifier: MIT */
/* People: listed, banned at whatever moment, given roles, merged. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/jobs.h"

#include <ctype.h>
#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", NULL))

#define NAME(name) json_pack("{s:s}", "name", name)
#define BAN(name, why) json_pack("{s:s, s:s}", "name", name, "reason", why)
#define ROLE(name, role_) json_pack("{s:s, s:s}", "name", name, "role", role_)

static json_t *
passed(double score)
{
	return json_pack("{s:s, s:f}", "state", "passed", "score", score);
}

static int64_t
job_of(int64_t submission)
{
	char sql[100];
	(void)snprintf(sql, sizeof(sql), "SELECT max(id) FROM jobs WHERE submission = %lld", (long long)submission);
	return fixture_int(&c.f, sql);
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, job_of(id), passed(score));
	return id;
}

/* "bob 1, alice 2" of the ranking on the CPU. */
static const char *
ranking(void)
{
	static char text[200];
	const json_t *board = commands_must(&c, "owner", "leaderboard.show", NAME("arena"));
	size_t i, used = 0;
	json_t *entry;
	text[0] = '\0';
	json_array_foreach(commands_at(board, "rankings.0.entries"), i, entry)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %d", i ? ", " : "",
			commands_text(entry, "user_name"), (int)commands_number(entry, "rank"));
	return text;
}

static void
test_list_and_show(void **state)
{
	(void)state;
	ranked("alice", 1.0);
	ranked("bob", 2.0);
	commands_must(&c, "owner", "user.role", ROLE("bob", "creator"));
	assert_int_equal(json_array_size(commands_must(&c, "owner", "user.list", json_object())), 3);
	assert_string_equal(commands_text(c.result, "0.user_name"), "alice");
	assert_int_equal(commands_number(c.result, "0.submissions"), 1);
	assert_string_equal(commands_text(c.result, "0.identities.0.provider"), "cli");
	assert_int_equal(
		json_array_size(commands_must(&c, "owner", "user.list", json_pack("{s:s}", "role", "creator"))), 1);
	commands_must(&c, "owner", "user.list", json_pack("{s:i, s:i}", "limit", 1, "offset", 1));
	assert_string_equal(commands_text(c.result, "0.user_name"), "bob");
	commands_refused(&c, "alice", "user.list", json_object(), KETTLE_EACCES);
	commands_must(&c, "alice", "user.show", json_object());
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	assert_string_equal(commands_text(c.result, "identities.0.subject"), "alice");
	assert_int_equal(commands_number(c.result, "ranks.0.rank"), 1);
	assert_int_equal(commands_number(c.result, "ranks.0.of"), 2);
	AUTO_JSON json_t *number = json_sprintf("#%s", commands_text(c.result, "user_id"));
	commands_must(&c, "owner", "user.show", json_pack("{s:O}", "name", number));
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	commands_must(&c, "alice", "user.show", NAME("ALICE"));
	commands_refused(&c, "alice", "user.show", NAME("bob"), KETTLE_EACCES);
	commands_refused(&c, "alice", "user.show", NAME("nobody"), KETTLE_EACCES);
	commands_refused(&c, "owner", "user.show", NAME("bobb"), KETTLE_ENOENT);
	commands_refused(&c, "owner", "user.show", NAME("#999"), KETTLE_ENOENT);
	commands_refused(&c, "stranger", "user.show", json_object(), KETTLE_ENOENT);
}

/* ---- ban ---- */

static void
test_ban(void **state)
{
	(void)state;
	ranked("alice", 1.0);
	ranked("bob", 2.0);
	commands_must(&c, "owner", "user.ban", BAN("Alice", "attacks\tthe machine"));
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	assert_string_equal(ranking(), "bob 1");
	const json_t *event = fixture_event(&c.f, "user.banned");
	assert_string_equal(commands_text(event, "data.reason"), "attacks the machine");
	assert_string_equal(commands_text(event, "user_name"), "alice");
	commands_refused(&c, "alice", "user.link", json_object(), KETTLE_EACCES);
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena"), KETTLE_EACCES);
	commands_must(&c, "alice", "user.show", json_object());
	assert_string_equal(commands_text(c.result, "ban_reason"), "attacks the machine");
	assert_int_equal(json_array_size(commands_must(&c, "owner", "user.list", json_pack("{s:b}", "banned", 1))), 1);
	commands_refused(&c, "owner", "user.ban", BAN("alice", "x"), KETTLE_ECONFLICT);
	commands_refused(&c, "owner", "user.ban", BAN("bob", "  "), KETTLE_EINVAL);
	commands_refused(&c, "owner", "user.ban", BAN("owner", "x"), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "user.role", ROLE("bob", "admin"));
	commands_refused(&c, "owner", "user.ban", BAN("bob", "x"), KETTLE_ECONFLICT);
	commands_refused(&c, "owner", "user.role", ROLE("alice", "creator"), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "user.unban", NAME("alice"));
	assert_string_equal(ranking(), "alice 1, bob 2");
	assert_int_equal(fixture_events(&c.f, "user.unbanned"), 1);
	commands_refused(&c, "owner", "user.unban", NAME("alice"), KETTLE_ECONFLICT);
	static const char *const names[] = {"user.ban", "user.unban", "user.role", "user.merge"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *args = i == 0 ? BAN("bob", "x") : i == 2 ? ROLE("bob", "user") : NAME("bob");
		if (i == 3)
			json_object_set_new(args, "into", json_string("alice"));
		commands_refused(&c, "carol:creator", names[i], args, KETTLE_EACCES);
	}
}

struct attempt {
	int64_t job, attempt;
	json_t *verdict;
};

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct attempt *attempt = arg;
	return jobs_start(db, attempt->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt->attempt, err);
}

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct attempt *attempt = arg;
	return commands_jobs_finish(db, attempt->job, attempt->attempt, attempt->verdict, err);
}

/* Banned while one job runs and another waits: both are cancelled, and what the machine says later is dropped. */
static void
test_ban_while_running(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	int64_t first = commands_submit(&c, "alice", "arena", "ranked"),
			second = commands_submit(&c, "alice", "arena", "test"), other = commands_submit(&c, "bob", "arena", "test");
	AUTO_JSON json_t *verdict = passed(1.0);
	struct attempt attempt = {.job = job_of(first), .verdict = verdict};
	assert_int_equal(fixture_write(&c.f, start_op, &attempt, &err), 0);
	commands_must(&c, "owner", "user.ban", BAN("alice", "x"));
	assert_int_equal(commands_number(c.result, "cancelled.0"), first);
	assert_int_equal(commands_number(c.result, "cancelled.1"), second);
	assert_int_equal(fixture_events(&c.f, "submission.cancelled"), 2);
	assert_int_equal(fixture_write(&c.f, finish_op, &attempt, &err), KETTLE_ECONFLICT);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE done_at IS NULL"), 1);
	commands_finish(&c, job_of(other), passed(1.0));
	commands_must(&c, "owner", "user.unban", NAME("alice"));
	assert_string_equal(ranking(), "");
}

/* ---- roles ---- */

static void
test_roles(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "arena", "test");
	commands_refused(&c, "owner", "user.role", ROLE("owner", "user"), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "user.role", ROLE("alice", "admin"));
	assert_string_equal(commands_text(c.result, "was"), "user");
	assert_string_equal(commands_text(fixture_event(&c.f, "user.role"), "data.role"), "admin");
	commands_must(&c, "owner", "user.role", ROLE("owner", "user"));
	commands_refused(&c, "owner", "user.list", json_object(), KETTLE_EACCES);
	commands_refused(&c, "alice", "user.role", ROLE("alice", "creator"), KETTLE_ECONFLICT);
	commands_refused(&c, "alice", "user.role", ROLE("owner", "king"), KETTLE_EINVAL);
	commands_must(&c, "alice", "user.role", ROLE("owner", "creator"));
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
}

/* ---- joining ---- */

#define CODE(code_, confirm_) json_pack("{s:O, s:b}", "code", code_, "confirm", confirm_)

static json_t *
make_code(const char *who)
{
	return json_incref((json_t *)commands_at(commands_must(&c, who, "user.link", json_object()), "code"));
}

static void
test_link(void **state)
{
	(void)state;
	int64_t mine = ranked("alice", 3.0), theirs = ranked("discord7", 1.0);
	ranked("bob", 2.0);
	commands_must(&c, "discord7", "leaderboard.list", json_object());
	AUTO_JSON json_t *code = make_code("discord7");
	assert_int_equal(json_string_length(code), 11);
	/* Nothing of it is stored but its hash, and nothing told. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tokens WHERE kind = 'link' AND length(hash) = 64"), 1);
	AUTO_FREE char *told = json_dumps(c.f.events, 0);
	assert_null(strstr(told, json_string_value(code)));
	commands_refused(&c, "discord7", "user.link", CODE(code, 1), KETTLE_ECONFLICT);
	/* First whom it would be. */
	commands_must(&c, "alice", "user.link", CODE(code, 0));
	assert_true(json_is_false(commands_at(c.result, "merged")));
	assert_string_equal(commands_text(c.result, "from.user_name"), "discord7");
	assert_string_equal(ranking(), "discord7 1, bob 2, alice 3");
	/* As somebody types it who reads it from a screen. */
	char typed[20];
	(void)snprintf(typed, sizeof(typed), "%s", json_string_value(code));
	for (char *p = typed; *p; p++)
		*p = (char)(*p == '-' ? ' ' : *p == '0' ? 'o' : *p == '1' ? 'l' : tolower((unsigned char)*p));
	commands_must(&c, "alice", "user.link", json_pack("{s:s, s:b}", "code", typed, "confirm", 1));
	assert_true(json_is_true(commands_at(c.result, "merged")));
	assert_string_equal(ranking(), "alice 1, bob 2");
	assert_int_equal(fixture_int(&c.f, "SELECT ranked FROM leaderboard_devices"), 2);
	commands_refused(&c, "bob", "user.link", CODE(code, 1), KETTLE_ENOENT);
	/* Both identities are one user, both names lead to it. */
	commands_must(&c, "discord7", "user.show", json_object());
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	assert_int_equal(commands_number(c.result, "submissions"), 2);
	assert_string_equal(commands_text(c.result, "merged.0"), "discord7");
	commands_must(&c, "owner", "user.show", NAME("discord7"));
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	commands_must(&c, "discord7", "submission.show", json_pack("{s:I}", "id", (json_int_t)mine));
	commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)theirs));
	assert_string_equal(commands_text(fixture_event(&c.f, "user.merged"), "data.name"), "discord7");
	assert_int_equal(json_array_size(commands_must(&c, "owner", "user.list", json_object())), 3);
	/* Who is called so from now on is somebody else. */
	commands_submit(&c, "DISCORD7", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = 'DISCORD7-2'"), 1);
}

static void
test_codes(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "arena", "test");
	AUTO_JSON json_t *first = make_code("alice");
	AUTO_JSON json_t *second = make_code("alice");
	commands_refused(&c, "bob", "user.link", CODE(first, 1), KETTLE_ENOENT);
	fixture_sql(&c.f, "UPDATE tokens SET expires_at = 1");
	commands_refused(&c, "bob", "user.link", CODE(second, 1), KETTLE_ENOENT);
	static const char *const wrong[] = {"", "x", "00000-0000", "00000-00000-0", "\xc3\xbc", "0000000000"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		commands_refused(&c, "bob", "user.link", json_pack("{s:s}", "code", wrong[i]), KETTLE_ENOENT);
	/* A ban ends what a code of before it could do. */
	AUTO_JSON json_t *third = make_code("alice");
	commands_must(&c, "owner", "user.ban", BAN("alice", "x"));
	commands_refused(&c, "bob", "user.link", CODE(third, 1), KETTLE_EACCES);
	commands_refused(
		&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "owner", "into", "alice"), KETTLE_EACCES);
}

/* A code raises no role: not of who made it, nor of who enters it, nor when one of them got it meanwhile. */
static void
test_code_and_roles(void **state)
{
	static const char *const pairs[][2] = {{"alice", "owner"}, {"owner", "alice"}, {"alice", "carol"},
		{"carol", "alice"}, {"carol", "owner"}, {"owner", "carol"}};
	(void)state;
	commands_submit(&c, "alice", "arena", "test");
	commands_submit(&c, "carol", "arena", "test");
	commands_must(&c, "owner", "user.role", ROLE("carol", "creator"));
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_JSON json_t *code = make_code(pairs[i][0]);
		assert_string_equal(commands_text(c.result, "user.user_name"), pairs[i][0]);
		assert_non_null(commands_text(c.result, "user.role"));
		for (int confirm = 0; confirm < 2; confirm++)
			commands_refused(&c, pairs[i][1], "user.link", CODE(code, confirm), KETTLE_EACCES);
		/* What a frontend vouches for does not change that. */
		AUTO_FREE char *admin = xasprintf("%s:admin", pairs[i][1]);
		commands_refused(&c, admin, "user.link", CODE(code, 1), KETTLE_EACCES);
	}
	commands_submit(&c, "bob", "arena", "test");
	AUTO_JSON json_t *code = make_code("bob");
	commands_must(&c, "alice", "user.link", CODE(code, 0));
	commands_must(&c, "owner", "user.role", ROLE("bob", "creator"));
	commands_refused(&c, "alice", "user.link", CODE(code, 1), KETTLE_EACCES);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE merged_into IS NOT NULL"), 0);
	/* By an admin's word. */
	commands_must(&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "bob", "into", "alice"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = 'alice' AND role = 'creator'"), 1);
}

/* What two have moves to one, with a job that runs meanwhile, and no right is lost. */
static void
test_join(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	ranked("ada", 2.0);
	int64_t open = commands_submit(&c, "ada-cli", "arena", "ranked");
	AUTO_JSON json_t *verdict = passed(1.0);
	struct attempt attempt = {.job = job_of(open), .verdict = verdict};
	assert_int_equal(fixture_write(&c.f, start_op, &attempt, &err), 0);
	commands_must(&c, "owner", "user.role", ROLE("ada-cli", "creator"));
	commands_must(&c, "ada-cli", "leaderboard.create",
		json_pack("{s:s, s:o, s:[s]}", "name", "hers", "task", commands_task(NULL), "device", "CPU"));
	fixture_sql(&c.f,
		"INSERT INTO access (leaderboard, user, granted_at) SELECT 1, id, 1 FROM users WHERE name LIKE 'ada%';"
		"INSERT INTO rate_spent SELECT 1, id, 1, 1, 'CPU', 'test' FROM users WHERE name LIKE 'ada%';"
		"UPDATE boards SET accuser = (SELECT id FROM users WHERE name = 'ada-cli') WHERE name = 'hers';"
		"INSERT INTO device_usage (device, day, user, ms) SELECT 'CPU', 7, id, 5 FROM users WHERE name LIKE 'ada%';"
		"INSERT INTO device_usage (device, day, user, ms) SELECT 'H100', 7, id, 3 FROM users WHERE name = 'ada-cli'");
	commands_must(&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "ada-cli", "into", "ada"));
	assert_int_equal(fixture_write(&c.f, finish_op, &attempt, &err), 0);
	assert_string_equal(ranking(), "ada 1");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM access"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM rate_spent"), 1);
	/* Their word on a task stays that of one person. */
	assert_int_equal(
		fixture_int(&c.f, "SELECT accuser = (SELECT id FROM users WHERE name = 'ada') FROM boards WHERE name = 'hers'"),
		1);
	/* What both have used of a day's budgets. */
	assert_int_equal(
		fixture_int(&c.f, "SELECT sum(ms * iif(device = 'CPU', 1, 100)) * 10 + count(*) FROM device_usage d JOIN "
						  "users u ON u.id = d.user AND u.name = 'ada'"),
		3102);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 1);
	commands_must(&c, "ada", "user.show", json_object());
	assert_string_equal(commands_text(c.result, "role"), "creator");
	commands_must(&c, "ada", "leaderboard.delete", NAME("hers"));
	commands_refused(
		&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "ada-cli", "into", "ada"), KETTLE_ECONFLICT);
	/* The owner as well: an admin is left. */
	commands_must(&c, "owner", "user.merge", json_pack("{s:s, s:s}", "name", "owner", "into", "ada-cli"));
	commands_must(&c, "ada", "user.list", json_object());
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE merged_into = (SELECT id FROM users WHERE "
									   "name = 'ada')"),
		2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_list_and_show),
	TEST(test_ban),
	TEST(test_ban_while_running),
	TEST(test_roles),
	TEST(test_link),
	TEST(test_codes),
	TEST(test_code_and_roles),
	TEST(test_join),
};

UNIT_TESTS(test_user);
