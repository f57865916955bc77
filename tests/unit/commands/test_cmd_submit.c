/* SPDX-License-Identifier: MIT */
/* What is accepted, and every refusal of a submission: its sentence, its code, its place in the order. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/times.h"
#include "lib/unit_test.h"
#include "model/rate_limit.h"

#include <stdlib.h>
#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "vectoradd_cpp", NULL);
				 commands_board(&c, "both", json_pack("[s, s]", "h100", "cpu")))

/* Arguments for a submission; NULL leaves one out. */
static json_t *
args(const char *board, const char *device, const char *name, const char *code)
{
	return json_pack("{s:s*, s:s*, s:o}", "leaderboard", board, "device", device, "file", commands_file(name, code));
}

static void
refused(json_t *args_take, int code)
{
	commands_refused(&c, "alice", "submit", args_take, code);
}

static void
test_accepted(void **state)
{
	(void)state;
	const json_t *result =
		commands_must(&c, "alice", "submit", args("BOTH", NULL, "dir/k.CPP", "//!POPCORN gpus cpu h100\n"));
	assert_string_equal(commands_text(result, "leaderboard"), "both");
	assert_string_equal(commands_text(result, "mode"), "ranked");
	assert_int_equal(json_array_size(commands_at(result, "jobs")), 2);
	assert_string_equal(commands_text(result, "jobs.0.device"), "CPU");
	assert_string_equal(commands_text(result, "jobs.1.device"), "H100");
	const json_t *event = fixture_event(&c.f, "submission.accepted");
	assert_int_equal(commands_number(event, "seq"), commands_number(result, "seq"));
	assert_int_equal(commands_number(event, "submission"), commands_number(result, "id"));
	assert_string_equal(commands_text(event, "data.file_name"), "k.CPP");
	assert_true(json_equal(commands_at(event, "data.jobs"), commands_at(result, "jobs")));
	assert_string_equal(commands_text(event, "scope"), "u");
	AUTO_FREE char *dump = json_dumps(event, 0);
	assert_null(strstr(dump, "seed"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(DISTINCT seed) FROM jobs"), 1);
	commands_submit(&c, "alice", "vectoradd_cpp", "leaderboard");
	assert_int_equal(fixture_int(&c.f, "SELECT count(DISTINCT seed) FROM jobs"), 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions WHERE mode = 'ranked'"), 2);
	/* The argument wins over the header. */
	result = commands_must(&c, "alice", "submit", args("both", "H100", "k.cpp", "//!POPCORN gpus CPU\n"));
	assert_int_equal(json_array_size(commands_at(result, "devices")), 1);
	assert_string_equal(commands_text(result, "devices.0"), "H100");
	/* The board from the header alone, and its only device. */
	result = commands_must(
		&c, "alice", "submit", args(NULL, NULL, "k.cpp", "//!POPCORN leaderboard VectorAdd_cpp\nint a;\n"));
	assert_string_equal(commands_text(result, "leaderboard"), "vectoradd_cpp");
	assert_string_equal(commands_text(result, "devices.0"), "CPU");
}

static void
test_content_is_stored_once(void **state)
{
	(void)state;
	int64_t before = fixture_int(&c.f, "SELECT count(*) FROM blobs");
	for (int i = 0; i < 3; i++)
		commands_must(&c, "alice", "submit", args("vectoradd_cpp", NULL, "k.cpp", "the same\n"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs") - before, 1);
}

static json_t *
requested(const char *request, const char *mode)
{
	json_t *made = args("both", NULL, "k.cpp", "//!POPCORN gpus cpu h100\n");
	(void)json_object_set_new(made, "request", json_string(request));
	(void)json_object_set_new(made, "mode", json_string(mode));
	return made;
}

/* The same request of a user is the same submission, whatever else it says. */
static void
test_request(void **state)
{
	(void)state;
	char longer[102] = "";
	memset(longer, 'r', sizeof(longer) - 1);
	AUTO_JSON json_t *first = json_deep_copy(commands_must(&c, "alice", "submit", requested("discord:1", "test")));
	assert_string_equal(commands_text(fixture_event(&c.f, "submission.accepted"), "data.request"), "discord:1");
	const json_t *again = commands_must(&c, "alice", "submit", requested("discord:1", "ranked"));
	assert_true(json_equal(again, first));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM events WHERE kind = 'submission.accepted'"), 1);
	again = commands_must(&c, "alice", "submit", requested("discord:2", "test"));
	assert_int_not_equal(commands_number(again, "id"), commands_number(first, "id"));
	again = commands_must(&c, "bob", "submit", requested("discord:1", "test"));
	assert_int_not_equal(commands_number(again, "id"), commands_number(first, "id"));
	refused(requested("", "test"), KETTLE_EINVAL);
	refused(requested(longer, "test"), KETTLE_EINVAL);
}

static void
test_names(void **state)
{
	(void)state;
	refused(args("vectorad", NULL, "k.cpp", "x\n"), KETTLE_ENOENT);
	refused(args("zzz", NULL, "k.cpp", "x\n"), KETTLE_ENOENT);
	refused(args(NULL, NULL, "k.cpp", "x\n"), KETTLE_EINVAL);
	refused(args(NULL, NULL, "k.cpp", "// !POPCORN leaderboard both\n"), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "k\xe2\x80\xaeppc.py", "x\n"), KETTLE_EINVAL);
	refused(args("both", NULL, "k.cpp", "x\n"), KETTLE_EINVAL);
	refused(args("both", "H10", "k.cpp", "x\n"), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", "H100", "k.cpp", "x\n"), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "k.cpp", "//!POPCORN gpus A100\n"), KETTLE_EINVAL);
	char note[502] = "";
	memset(note, 'n', sizeof(note) - 1);
	json_t *noted = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	(void)json_object_set_new(noted, "note", json_string(note));
	refused(noted, KETTLE_EINVAL);
	json_t *bad = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	(void)json_object_set_new(bad, "mode", json_string("rankd"));
	refused(bad, KETTLE_EINVAL);
}

static void
test_files(void **state)
{
	(void)state;
	AUTO_FREE char *big = malloc(1000002);
	memset(big, 'x', 1000001);
	big[1000001] = '\0';
	refused(args("vectoradd_cpp", NULL, "k.cpp", ""), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "k.cpp", big), KETTLE_ETOOBIG);
	big[1000000] = '\0';
	commands_must(&c, "alice", "submit", args("vectoradd_cpp", NULL, "k.cpp", big));
	refused(args("vectoradd_cpp", NULL, "k.cpp", "ab\xff"), KETTLE_EINVAL);
	refused(json_pack("{s:s, s:{s:s, s:s}}", "leaderboard", "vectoradd_cpp", "file", "name", "k.cpp", "base64", "YQBi"),
		KETTLE_EINVAL);
	refused(json_pack("{s:s, s:{s:s, s:s}}", "leaderboard", "vectoradd_cpp", "file", "name", "k.cpp", "base64", "a!"),
		KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "k.py", "x\n"), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "\x01\x1b/", "x\n"), KETTLE_EINVAL);
	commands_must(&c, "alice", "submit", args("vectoradd_cpp", NULL, "a\x1b[31m.cpp", "x\n"));
	assert_string_equal(
		commands_text(fixture_event(&c.f, "submission.accepted"), "data.file_name"), "a\xef\xbf\xbd[31m.cpp");
}

static void
test_header(void **state)
{
	(void)state;
	refused(args("vectoradd_cpp", NULL, "k.cpp", "//!POPCORN leaderboard both\n"), KETTLE_EINVAL);
	refused(args("vectoradd_cpp", NULL, "k.cpp", "//!POPCORN leaderbord both\n"), KETTLE_EINVAL);
	/* Without the header the board is unknown, so that is the error then. */
	refused(args(NULL, NULL, "k.cpp", "//!POPCORN leaderbord both\n"), KETTLE_EINVAL);
	refused(args(NULL, NULL, "k.cpp", ""), KETTLE_EINVAL);
}

/* What is wrong beside the device is said before one has to be chosen of several. */
static void
test_choice_is_last(void **state)
{
	(void)state;
	refused(args("both", NULL, "k.py", "x\n"), KETTLE_EINVAL);
	refused(args("both", NULL, "k.cpp", "//!POPCORN leaderboard vectoradd_cpp\n"), KETTLE_EINVAL);
	commands_must(&c, "alice", "submit", args("vectoradd_cpp", NULL, "k.cpp", "x\n"));
	commands_must(&c, "dave:admin", "user.ban", json_pack("{s:s, s:s}", "name", "alice", "reason", "noise"));
	refused(args("both", NULL, "k.cpp", "x\n"), KETTLE_EACCES);
	commands_must(&c, "dave:admin", "user.unban", json_pack("{s:s}", "name", "alice"));
	refused(args("both", NULL, "k.cpp", "x\n"), KETTLE_EINVAL);
	assert_string_equal(c.err.member, "device");
}

/* Where none of the devices would take it now, that is said before one has to be chosen: by the one that will first. */
static void
test_choice_of_none(void **state)
{
	(void)state;
	fixture_sql(&c.f,
		"INSERT INTO rate_limits SELECT id, 'leaderboard', 'H100', 1 FROM leaderboards WHERE name = 'both';"
		"INSERT INTO rate_limits SELECT id, 'leaderboard', 'CPU', 0 FROM leaderboards WHERE name = 'both'");
	refused(args("both", NULL, "a.cpp", "x\n"), KETTLE_EINVAL);
	(void)commands_must(&c, "alice", "submit", args("both", "H100", "a.cpp", "x\n"));
	refused(args("both", NULL, "a.cpp", "x\n"), KETTLE_ERATE);
	assert_true(c.err.retry_s > 0);
	fixture_sql(&c.f, "DELETE FROM rate_limits WHERE device = 'CPU'");
	refused(args("both", NULL, "a.cpp", "x\n"), KETTLE_EINVAL);
}

/* Fails unless this is all that leaderboard.devices says of a device: the code with which `submit` refuses it alone, or 0. */
static void
assert_device(const char *device, int code)
{
	const json_t *result =
		commands_must(&c, "alice", "leaderboard.devices", json_pack("{s:s, s:s}", "name", "BOTH", "mode", "ranked"));
	size_t i, found = 0;
	const json_t *row;
	assert_string_equal(json_text_or_empty(result, "leaderboard"), "both");
	json_array_foreach(json_object_get(result, "devices"), i, row)
		if (member_is(row, "device", device)) {
			found++;
			assert_int_equal(json_is_null(json_object_get(row, "refused")), code == 0);
			assert_true(code == 0 || *json_text_or_empty(row, "refused"));
		}
	assert_int_equal(found, 1);
	assert_int_equal(i, 2);
	if (code)
		refused(args("both", device, "k.cpp", "x\n"), code);
}

/* What one device alone would refuse is known before a device is chosen. */
static void
test_devices(void **state)
{
	(void)state;
	json_t *all = (json_t *)c.env.devices, *few = json_pack("{s:{}}", "H100");
	assert_device("CPU", 0);
	assert_device("H100", 0);
	fixture_sql(
		&c.f, "INSERT INTO rate_limits SELECT id, 'leaderboard', 'CPU', 0 FROM leaderboards WHERE name = 'both'");
	assert_device("CPU", KETTLE_ERATE);
	assert_device("H100", 0);
	refused(args("both", NULL, "k.cpp", "x\n"), KETTLE_EINVAL);
	fixture_sql(&c.f, "DELETE FROM rate_limits");
	c.env.devices = few;
	assert_device("CPU", KETTLE_EUNAVAIL);
	assert_device("H100", 0);
	c.env.devices = all;
	json_decref(few);
	commands_refused(&c, "alice", "leaderboard.devices", json_pack("{s:s}", "name", "nowhere"), KETTLE_ENOENT);
	fixture_sql(&c.f, "UPDATE boards SET visibility = 'closed' WHERE name = 'both'");
	commands_refused(&c, "alice", "leaderboard.devices", json_pack("{s:s}", "name", "both"), KETTLE_ENOENT);
}

static const json_t *
devices(const char *who)
{
	return commands_must(&c, who, "leaderboard.devices", json_pack("{s:s}", "name", "both"));
}

/* What the limits leave is each user's own; deleting gives nothing back. */
static void
test_left(void **state)
{
	(void)state;
	assert_int_equal(json_array_size(commands_at(devices("alice"), "limits")), 0);
	fixture_sql(&c.f,
		"INSERT INTO rate_limits SELECT id, 'test', '', 3 FROM leaderboards WHERE name = 'both';"
		"INSERT INTO rate_limits SELECT id, 'leaderboard', 'H100', 1 FROM leaderboards WHERE name = 'both';"
		"INSERT INTO rate_limits SELECT id, 'leaderboard', 'CPU', 0 FROM leaderboards WHERE name = 'both'");
	const json_t *left = devices("alice");
	assert_string_equal(commands_text(left, "limits.0.category"), "test");
	assert_true(json_is_null(commands_at(left, "limits.0.device")));
	assert_int_equal(commands_number(left, "limits.0.left"), 3);
	assert_true(json_is_null(commands_at(left, "limits.0.next")));
	assert_int_equal(commands_number(left, "limits.1.left"), 0);
	assert_true(json_is_null(commands_at(left, "limits.1.next")));
	assert_int_equal(commands_number(left, "limits.2.left"), 1);
	json_t *test = args("both", "CPU", "a.cpp", "x\n");
	json_object_set_new(test, "mode", json_string("test"));
	commands_must(&c, "alice", "submit", test);
	commands_must(&c, "alice", "submit", args("both", "H100", "a.cpp", "x\n"));
	commands_must(&c, "alice", "submission.delete_own", json_object());
	left = devices("alice");
	assert_int_equal(commands_number(left, "limits.0.left"), 2);
	assert_true(json_is_null(commands_at(left, "limits.0.next")));
	assert_int_equal(commands_number(left, "limits.2.left"), 0);
	assert_true(strcmp(commands_text(left, "limits.2.next"), TIME_TEXT(clock_utc_ms(&c.f.clock))) > 0);
	assert_int_equal(commands_number(devices("bob"), "limits.2.left"), 1);
	assert_int_equal(commands_number(devices("stranger"), "limits.0.left"), 3);
}

/* Of a device's budget only what is each user's. */
static void
test_budget_left(void **state)
{
	(void)state;
	json_t *all = (json_t *)c.env.devices;
	c.env.devices = json_pack("{s:{s:{s:i, s:i, s:s}}, s:{s:{s:i}}}", "CPU", "budget", "user_seconds_per_day", 60,
		"seconds_per_day", 600, "beyond", "refuse", "H100", "budget", "seconds_per_day", 600);
	commands_must(&c, "alice", "submit", args("both", "H100", "a.cpp", "x\n"));
	fixture_sql(
		&c.f, "INSERT INTO device_usage SELECT 'CPU', now_ms() / 86400000, id, 45500 FROM users WHERE name = 'alice'");
	const json_t *left = devices("alice");
	assert_int_equal(json_array_size(commands_at(left, "budgets")), 1);
	assert_string_equal(commands_text(left, "budgets.0.device"), "CPU");
	assert_int_equal(commands_number(left, "budgets.0.per_day"), 60);
	assert_int_equal(commands_number(left, "budgets.0.left"), 14);
	assert_non_null(strstr(commands_text(left, "budgets.0.next"), "T00:00:00"));
	assert_int_equal(commands_number(devices("bob"), "budgets.0.left"), 60);
	json_decref((json_t *)c.env.devices);
	c.env.devices = all;
}

/* Each fault of a submission hides all those behind it. */
static void
test_order(void **state)
{
	(void)state;
	static const char bad_header[] = "//!POPCORN leaderbord both\n";
	fixture_sql(&c.f,
		"INSERT INTO settings VALUES ('accepting', 'false');"
		"INSERT INTO users (id, name, created_at, banned_at, ban_reason) VALUES (50, 'eve', 0, 1, 'cheating');"
		"INSERT INTO identities VALUES ('cli', 'eve', 50, 'eve', 0);"
		"UPDATE boards SET visibility = 'closed', deadline_at = 1 WHERE name = 'vectoradd_cpp';"
		"INSERT INTO rate_limits VALUES ((SELECT id FROM leaderboards WHERE name = 'vectoradd_cpp'), 'leaderboard', "
		"'', 0)");
#define EVE(board, device, name, text, code) \
	commands_refused(&c, "eve", "submit", args(board, device, name, text), code)
	EVE("nowhere", "X", "k.py", "", KETTLE_ENOENT);
	/* Of a closed board nothing is told: neither its devices nor its language. */
	EVE("vectoradd_cpp", "X", "k.py", "", KETTLE_ENOENT);
	fixture_sql(&c.f, "INSERT INTO access SELECT id, 50, NULL, 0 FROM leaderboards WHERE name = 'vectoradd_cpp'");
	EVE("vectoradd_cpp", "X", "k.py", "", KETTLE_EINVAL);
	EVE("vectoradd_cpp", NULL, "k.py", "", KETTLE_EINVAL);
	EVE("vectoradd_cpp", NULL, "k.py", bad_header, KETTLE_EUNAVAIL);
	fixture_sql(&c.f, "UPDATE settings SET value_json = 'true'");
	EVE("vectoradd_cpp", NULL, "k.py", bad_header, KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE users SET banned_at = NULL");
	EVE("vectoradd_cpp", NULL, "k.py", bad_header, KETTLE_EINVAL);
	EVE("vectoradd_cpp", NULL, "k.cpp", bad_header, KETTLE_EINVAL);
	EVE("vectoradd_cpp", NULL, "k.cpp", "x\n", KETTLE_ERATE);
	fixture_sql(&c.f, "DELETE FROM rate_limits");
	EVE("vectoradd_cpp", NULL, "k.cpp", "x\n", KETTLE_EINVAL);
	fixture_sql(&c.f, "UPDATE boards SET deadline_at = NULL");
	commands_must(&c, "eve", "submit", args("vectoradd_cpp", NULL, "k.cpp", "x\n"));
	/* Nothing of what was refused is there. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 1);
	assert_int_equal(fixture_events(&c.f, "submission.accepted"), 1);
}

static void
test_device_not_configured(void **state)
{
	(void)state;
	json_t *cpu = json_pack("{s:{}}", "CPU"), *all = (json_t *)c.env.devices;
	c.env.devices = cpu;
	refused(args("both", "H100", "k.cpp", "x\n"), KETTLE_EUNAVAIL);
	c.env.devices = all;
	json_decref(cpu);
}

static int
use_op(struct db *db, void *arg, struct kettle_error *err)
{
	return device_usage_add(db, "CPU", *(int64_t *)arg, 2000, err);
}

/* What is beyond a budget that refuses is refused, today; one that lets jobs wait takes it. */
static void
test_budget(void **state)
{
	(void)state;
	json_t *all = (json_t *)c.env.devices;
	json_t *few = json_pack("{s:{s:{s:i, s:i, s:s}}, s:{}}", "cpu", "budget", "seconds_per_day", 5,
		"user_seconds_per_day", 2, "beyond", "refuse", "H100");
	c.env.devices = few;
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	int64_t alice = fixture_int(&c.f, "SELECT id FROM users WHERE name = 'alice'"), other = 77;
	assert_int_equal(fixture_write(&c.f, use_op, &alice, NULL), 0);
	refused(args("both", "CPU", "k.cpp", "x\n"), KETTLE_ERATE);
	assert_true(c.err.retry_s > 0 && c.err.retry_s <= 86400);
	assert_device("CPU", KETTLE_ERATE);
	assert_device("H100", 0);
	commands_must(&c, "alice", "submit", args("both", "H100", "k.cpp", "x\n"));
	commands_submit(&c, "bob", "vectoradd_cpp", "test");
	assert_int_equal(fixture_write(&c.f, use_op, &other, NULL), 0);
	commands_submit(&c, "bob", "vectoradd_cpp", "test");
	assert_int_equal(fixture_write(&c.f, use_op, &other, NULL), 0);
	commands_refused(&c, "bob", "submit", args("both", "CPU", "k.cpp", "x\n"), KETTLE_ERATE);
	json_object_set_new(json_object_get(json_object_get(few, "cpu"), "budget"), "beyond", json_string("wait"));
	commands_submit(&c, "bob", "vectoradd_cpp", "test");
	json_object_set_new(json_object_get(json_object_get(few, "cpu"), "budget"), "beyond", json_string("refuse"));
	fixture_sql(&c.f, "UPDATE device_usage SET day = day - 1");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	c.env.devices = all;
	json_decref(few);
}

static int64_t
job_of(int64_t submission)
{
	char sql[100];
	(void)snprintf(sql, sizeof(sql), "SELECT id FROM jobs WHERE submission = %lld", (long long)submission);
	return fixture_int(&c.f, sql);
}

/* What a profile looks at is kept with the submission, and a rerun looks at the same. */
static void
test_capture(void **state)
{
	(void)state;
	json_t *given = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	(void)json_object_update_new(
		given, json_pack("{s:s, s:[i], s:s}", "mode", "profile", "benchmark", 0, "kernel", "k"));
	commands_must(&c, "alice", "submit", json_deep_copy(given));
	assert_int_equal(
		fixture_int(&c.f, "SELECT capture = '{\"kernel\":\"k\",\"benchmarks\":[0]}' FROM submissions ORDER BY id DESC "
						  "LIMIT 1"),
		1);
	(void)json_object_set_new(given, "benchmark", json_pack("[i]", 1000));
	refused(json_deep_copy(given), KETTLE_EINVAL);
	(void)json_object_del(given, "benchmark");
	(void)json_object_set_new(given, "mode", json_string("ranked"));
	refused(given, KETTLE_EINVAL);
}

static void
test_rate(void **state)
{
	(void)state;
	fixture_sql(&c.f,
		"INSERT INTO rate_limits SELECT id, 'test', '', 2 FROM leaderboards WHERE name = 'vectoradd_cpp';"
		"INSERT INTO rate_limits SELECT id, 'leaderboard', 'H100', 1 FROM leaderboards WHERE name = 'both'");
	int64_t first = commands_submit(&c, "alice", "vectoradd_cpp", "test");
	commands_submit(&c, "alice", "vectoradd_cpp", "benchmark");
	json_t *third = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	(void)json_object_set_new(third, "mode", json_string("profile"));
	refused(json_incref(third), KETTLE_ERATE);
	assert_true(c.err.retry_s > 3500 && c.err.retry_s <= 3600);
	/* Others and the other category are free; deleting gives nothing back; what the engine failed does not count. */
	commands_submit(&c, "bob", "vectoradd_cpp", "test");
	commands_submit(&c, "alice", "vectoradd_cpp", "ranked");
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)first));
	refused(json_incref(third), KETTLE_ERATE);
	int64_t second = fixture_int(&c.f, "SELECT max(id) FROM submissions WHERE mode = 'benchmark'");
	commands_finish(&c, job_of(second), json_pack("{s:s, s:s}", "state", "error", "error", "The machine broke."));
	commands_must(&c, "alice", "submit", third);
	/* Unless the run itself said so, which a submission can do whenever it does not like its times. */
	int64_t ranked = fixture_int(&c.f, "SELECT id FROM submissions WHERE mode = 'ranked'");
	fixture_sql(
		&c.f, "INSERT INTO rate_limits SELECT id, 'leaderboard', '', 1 FROM leaderboards WHERE name = 'vectoradd_cpp'");
	commands_finish(&c, job_of(ranked),
		json_pack(
			"{s:s, s:s, s:s, s:b}", "state", "error", "blame", "task", "error", "The task is wrong.", "claimed", 1));
	json_t *fourth = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	refused(json_incref(fourth), KETTLE_ERATE);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)ranked));
	refused(fourth, KETTLE_ERATE);
	/* An hour later. */
	fixture_sql(
		&c.f, "UPDATE submissions SET created_at = created_at - 3600000; UPDATE rate_spent SET at = at - 3600000");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	json_t *fifth = args("vectoradd_cpp", NULL, "k.cpp", "x\n");
	(void)json_object_set_new(fifth, "mode", json_string("test"));
	refused(fifth, KETTLE_ERATE);
	fixture_sql(&c.f, "UPDATE submissions SET created_at = created_at - 3600000");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	/* Uses that a wrong clock dated in the future do not count. */
	fixture_sql(&c.f, "UPDATE submissions SET created_at = created_at + 1e9; UPDATE rate_spent SET at = at + 1e9");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	commands_submit(&c, "alice", "vectoradd_cpp", "test");
	/* One device's limit is no other's. */
	commands_must(&c, "alice", "submit", args("both", "H100", "k.cpp", "x\n"));
	refused(args("both", "H100", "k.cpp", "x\n"), KETTLE_ERATE);
	commands_must(&c, "alice", "submit", args("both", "CPU", "k.cpp", "x\n"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_accepted, setup, teardown),
	cmocka_unit_test_setup_teardown(test_content_is_stored_once, setup, teardown),
	cmocka_unit_test_setup_teardown(test_names, setup, teardown),
	cmocka_unit_test_setup_teardown(test_files, setup, teardown),
	cmocka_unit_test_setup_teardown(test_request, setup, teardown),
	cmocka_unit_test_setup_teardown(test_header, setup, teardown),
	cmocka_unit_test_setup_teardown(test_choice_is_last, setup, teardown),
	cmocka_unit_test_setup_teardown(test_choice_of_none, setup, teardown),
	cmocka_unit_test_setup_teardown(test_order, setup, teardown),
	cmocka_unit_test_setup_teardown(test_device_not_configured, setup, teardown),
	cmocka_unit_test_setup_teardown(test_capture, setup, teardown),
	cmocka_unit_test_setup_teardown(test_rate, setup, teardown),
	cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
	cmocka_unit_test_setup_teardown(test_devices, setup, teardown),
	cmocka_unit_test_setup_teardown(test_left, setup, teardown),
	cmocka_unit_test_setup_teardown(test_budget_left, setup, teardown),
};

UNIT_TESTS(test_cmd_submit);
