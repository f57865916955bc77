/* SPDX-License-Identifier: MIT */
/* The command table, who may do what, leaderboards and submissions as they are shown. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "maintenance/maintenance.h"
#include "model/jobs.h"
#include "program/global_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

COMMANDS_FIXTURE()

/* ---- the table ---- */

/* Each brace of a template is closed. */
static void
assert_closed(const char *template)
{
	int depth = 0;
	for (const char *p = template ? template : ""; *p; p++) {
		depth += (*p == '{') - (*p == '}');
		assert_true(depth >= 0);
	}
	assert_int_equal(depth, 0);
}

static void
check_view(const struct view *view)
{
	assert_closed(view->sentence);
	assert_closed(view->line);
	assert_closed(view->empty);
	for (const struct view_column *column = view->columns; column && column->title; column++)
		assert_closed(column->cell);
}

/* A global option is taken wherever it stands, so no option of a command that people type may have its name. */
static void
assert_no_global(const char *name)
{
	struct globals globals;
	struct kettle_error err;
	AUTO_FREE char *option = xasprintf("--%s", name);
	char *argv[] = {"kettle", "command", option, "value", NULL};
	assert_int_equal(globals_parse(4, argv, &globals, &err), 0);
	assert_int_equal(globals.argc, 3);
	free(globals.argv);
}

static void
test_table(void **state)
{
	(void)state;
	AUTO_JSON json_t *table = command_data(commands);
	size_t count = 0;
	for (const struct command *command = commands; command->name; command++, count++) {
		assert_non_null(command->help);
		check_view(&command->view);
		assert_true(command->right >= RIGHT_ANYBODY && command->right <= RIGHT_ADMIN);
		bool on_store = command->kind == COMMAND_READ || command->kind == COMMAND_WRITE;
		assert_true(on_store ? command->run && !command->engine : !command->run && command->engine);
		assert_ptr_equal(command_find(commands, command->name), command);
		const json_t *row = json_array_get(table, count);
		assert_string_equal(commands_text(row, "name"), command->name);
		size_t arguments = 0;
		for (const struct argument *argument = command->arguments; argument && argument->name;
			 argument++, arguments++) {
			assert_non_null(argument->help);
			assert_true((argument->type == ARGUMENT_CHOICE) == (argument->choices != NULL));
			assert_false(argument->required && argument->default_value);
			for (const char *p = argument->name; *p; p++)
				assert_true(islower((unsigned char)*p) || *p == '_');
			if (!argument->positional && !command->hidden && !command->internal)
				assert_no_global(argument->name);
		}
		assert_int_equal(json_array_size(commands_at(row, "args")), arguments);
	}
	assert_int_equal(json_array_size(table), count);
	assert_null(command_find(commands, "leaderboard.creat"));
}

static void
refused(const char *command, json_t *args_take)
{
	AUTO_JSON json_t *args = args_take, *checked = NULL;
	struct kettle_error err = {0};
	assert_true(command_check(command_find(commands, command), args, &checked, &err) < 0);
	assert_null(checked);
	assert_sentence(err.message);
}

/* People do not type the table's names, so no message about arguments has one. */
static void
test_no_names(void **state)
{
	(void)state;
	for (const struct command *row = commands; row->name; row++) {
		AUTO_JSON json_t *tries = json_pack("[{}, {s:i}, []]", "nonsense", 1);
		const json_t *one;
		size_t i;
		json_array_foreach(tries, i, one) {
			AUTO_JSON json_t *checked = NULL, *again = NULL;
			struct kettle_error err = {0};
			int rc = command_check(row, one, &checked, &err);
			if (rc < 0 && strchr(row->name, '.') && strstr(err.message, row->name))
				fail_msg("%s", err.message);
			/* Of a client's call its owner checks what the client has made of it. */
			if (rc == 0 && (command_check(row, checked, &again, &err) < 0 || !json_equal(checked, again)))
				fail_msg("%s: %s", row->name, err.message);
		}
	}
}

static void
test_check(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *args = json_pack("{s:s, s:s}", "name", "x", "device", "CPU"), *checked = NULL;
	assert_int_equal(command_check(command_find(commands, "leaderboard.show"), args, &checked, &err), 0);
	assert_int_equal(commands_number(checked, "limit"), 100);
	assert_true(json_is_false(commands_at(checked, "mine")));
	/* Other names of commands and arguments are taken; what leaves this goes by the first one. */
	AUTO_JSON json_t *also = json_pack("{s:s, s:s}", "name", "x", "gpu", "CPU"), *found = NULL;
	assert_int_equal(command_check(command_find(commands, "leaderboard.show"), also, &found, &err), 0);
	assert_true(json_equal(found, checked));
	assert_ptr_equal(command_find(commands, "eval_code"), command_find(commands, "harness.show"));
	assert_ptr_equal(command_find(commands, "admin.stop"), command_find(commands, "admin.pause"));
	assert_ptr_equal(command_find(commands, "user.join"), command_find(commands, "user.merge"));
	refused("leaderboard.show", json_pack("{s:s, s:i}", "nam", "x", "limit", 3));
	refused("leaderboard.show", json_pack("{}"));
	refused("leaderboard.show", json_pack("[]"));
	refused("leaderboard.show", json_pack("{s:s, s:i}", "name", "x", "limit", 0));
	refused("leaderboard.show", json_pack("{s:s, s:s}", "name", "x", "limit", "3"));
	refused("leaderboard.show", json_pack("{s:s, s:s}", "name", "x", "mine", "yes"));
	refused("leaderboard.show", json_pack("{s:s}", "name", ""));
	refused("leaderboard.show", json_pack("{s:s}", "name", "a\x1b[1m"));
	refused("leaderboard.show", json_pack("{s:s}", "name", "a\xe2\x80\xae"));
	refused("submission.show", json_pack("{s:i}", "id", -1));
	refused("submission.show", json_pack("{s:s}", "id", "1"));
	refused("submit", json_pack("{s:s}", "file", "x"));
	refused("submit", json_pack("{s:{s:s}}", "file", "name", "x"));
	refused("leaderboard.create", json_pack("{s:s, s:{}, s:s}", "name", "x", "task", "deadline", "soon"));
	refused("leaderboard.create", json_pack("{s:s, s:s}", "name", "x", "task", "y"));
	json_decref(STEAL(checked));
	json_decref(args);
	/* One value stands for a list, a choice gets its own case, null is absent. */
	args = json_pack(
		"{s:o, s:s, s:s, s:n}", "file", commands_file("a", "b"), "device", "CPU", "mode", "TEST", "leaderboard");
	assert_int_equal(command_check(command_find(commands, "submit"), args, &checked, &err), 0);
	assert_string_equal(commands_text(checked, "device.0"), "CPU");
	assert_string_equal(commands_text(checked, "mode"), "test");
	assert_null(commands_at(checked, "leaderboard"));
	json_decref(STEAL(checked));
	json_decref(args);
	/* Another word for a choice becomes that choice. */
	args = json_pack("{s:s, s:s, s:s}", "path", "x", "file", "y", "mode", "Leaderboard");
	assert_int_equal(command_check(command_find(commands, "task.run"), args, &checked, &err), 0);
	assert_string_equal(commands_text(checked, "mode"), "ranked");
}

static void
test_clean(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{"plain", "plain"},
		{"  two \t\n words  ", "two words"},
		{"a\xe2\x80\x8b"
		 "b\xe2\x80\xae"
		 "c\xef\xbb\xbf",
			"abc"},
		{"\xc2\xa0x\xe3\x80\x80y", "x y"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xf3\xa0\x81\x81tag", "tag"},
		{"one\xe2\x80\xa8two\xe2\x80\xa9three", "one two three"},
		{"soft\xc2\xadhyphen \xe1\xa0\x8e\xe3\x85\xa4\xef\xbe\xa0.", "softhyphen ."},
		/* A family becomes its members, a red heart a heart. */
		{"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 \xe2\x9d\xa4\xef\xb8\x8f",
			"\xf0\x9f\x91\xa9\xf0\x9f\x91\xa7 \xe2\x9d\xa4"},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_FREE char *clean = sanitize_line(pairs[i][0], 100);
		assert_string_equal(clean, pairs[i][1]);
	}
	AUTO_FREE char *cut = sanitize_line("\xc3\xbc\xc3\xbc\xc3\xbc", 2), *text = sanitize_text("a\n  b\r\nc \n\n", 100);
	assert_string_equal(cut, "\xc3\xbc\xc3\xbc");
	assert_string_equal(text, "a\n  b\nc");
}

/* ---- people ---- */

static void
test_users(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	commands_submit(&c, "alice", "arena", "test");
	commands_submit(&c, "alice", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = 'alice'"), 1);
	/* Another who would be called the same; the identity is what tells them apart. */
	commands_submit(&c, "ALICE", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = 'ALICE-2'"), 1);
	assert_int_equal(fixture_events(&c.f, "user.created"), 2);
	/* Who only reads leaves nothing behind, and neither does who is refused. */
	commands_must(&c, "reader", "leaderboard.list", json_object());
	commands_refused(&c, "nobody", "submission.cancel", json_pack("{s:i}", "id", 999), KETTLE_ENOENT);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name IN ('reader', 'nobody')"), 0);
	commands_refused(&c, "", "leaderboard.list", json_object(), KETTLE_EINVAL);
	char hostile[] = "\x01"
					 "a";
	commands_refused(&c, hostile, "leaderboard.list", json_object(), KETTLE_EINVAL);
	commands_submit(&c, "\xe2\x80\xae@every one", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = '@every one'"), 1);
}

static void
test_rights(void **state)
{
	(void)state;
#define CREATE(name) json_pack("{s:s, s:o, s:[s]}", "name", name, "task", commands_task(NULL), "device", "CPU")
	commands_refused(&c, "alice", "leaderboard.create", CREATE("a"), KETTLE_EACCES);
	commands_must(&c, "carol:creator", "leaderboard.create", CREATE("a"));
	commands_must(&c, "owner", "leaderboard.create", CREATE("b"));
	commands_refused(&c, "carol:creator", "leaderboard.delete", json_pack("{s:s}", "name", "b"), KETTLE_EACCES);
	commands_must(&c, "dave:admin", "leaderboard.delete", json_pack("{s:s}", "name", "b"));
	commands_must(&c, "carol:creator", "leaderboard.delete", json_pack("{s:s}", "name", "A"));
	fixture_sql(&c.f, "UPDATE users SET banned_at = 1 WHERE name = 'carol'");
	commands_refused(&c, "carol:creator", "leaderboard.create", CREATE("a"), KETTLE_EACCES);
	commands_must(&c, "carol:creator", "leaderboard.list", json_object());
}

/* ---- leaderboards ---- */

static void
test_create(void **state)
{
	(void)state;
	const json_t *board = commands_must(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:[s, s], s:s}", "name", "Vec.1", "task", commands_task(NULL), "device", "cpu", "CPU",
			"deadline", "2999-01-31"));
	assert_string_equal(commands_text(board, "name"), "Vec.1");
	assert_string_equal(commands_text(board, "deadline"), "2999-01-31T23:59:59.999Z");
	assert_string_equal(commands_text(board, "description"), "adds");
	assert_string_equal(commands_text(board, "task.lang"), "cpp");
	assert_int_equal(json_array_size(commands_at(board, "gpu_types")), 1);
	assert_string_equal(commands_text(board, "gpu_types.0"), "CPU");
	assert_string_equal(commands_text(fixture_event(&c.f, "leaderboard.created"), "data.name"), "Vec.1");
#define REFUSED(name, code) commands_refused(&c, "owner", "leaderboard.create", CREATE(name), code)
	REFUSED("vec.1", KETTLE_ECONFLICT);
	REFUSED(".x", KETTLE_EINVAL);
	REFUSED("a b", KETTLE_EINVAL);
	REFUSED("Admin", KETTLE_EINVAL);
	REFUSED("gpus", KETTLE_EINVAL);
	REFUSED("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", KETTLE_EINVAL);
	commands_refused(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:[s]}", "name", "x", "task", commands_task(NULL), "device", "H10"), KETTLE_EINVAL);
	commands_refused(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o}", "name", "x", "task", commands_task(NULL)), KETTLE_EINVAL);
	commands_refused(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:s}", "name", "x", "task", commands_task("tets: 1\n"), "device", "CPU"), KETTLE_EINVAL);
	board = commands_must(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o}", "name", "y", "task", commands_task("gpus: [h100]\n")));
	assert_string_equal(commands_text(board, "gpu_types.0"), "H100");
	commands_refused(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:s, s:s}", "name", "old", "task", commands_task(NULL), "device", "CPU", "deadline",
			"2001-01-01"),
		KETTLE_ECONFLICT);
	assert_string_equal(c.err.member, "force");
	board = commands_must(&c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:s, s:s, s:b}", "name", "old", "task", commands_task(NULL), "device", "CPU", "deadline",
			"2001-01-01", "force", 1));
	assert_string_equal(commands_text(board, "remarks.1"), "The deadline has already passed.");
	/* The same task is one version, whatever boards it has. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tasks"), 2);
}

static void
test_list_and_closed(void **state)
{
	(void)state;
	commands_board(&c, "one", NULL);
	commands_board(&c, "two", NULL);
	commands_board(&c, "ended", NULL);
	fixture_sql(&c.f, "UPDATE boards SET deadline_at = 1 WHERE name = 'ended';"
					  "UPDATE boards SET visibility = 'closed' WHERE name = 'two'");
	assert_int_equal(json_array_size(commands_must(&c, "alice", "leaderboard.list", json_object())), 1);
	assert_string_equal(commands_text(c.result, "0.name"), "one");
	assert_int_equal(json_array_size(commands_must(&c, "alice", "leaderboard.list", json_pack("{s:b}", "all", 1))), 2);
	assert_true(json_is_true(commands_at(c.result, "0.ended")));
	assert_int_equal(json_array_size(commands_must(&c, "owner", "leaderboard.list", json_object())), 2);
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "two"), KETTLE_ENOENT);
	/* A name that is near a closed board's is no way to learn that there is one. */
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "twoo"), KETTLE_ENOENT);
	commands_must(&c, "owner", "leaderboard.show", json_pack("{s:s}", "name", "two"));
}

static json_t *
passed(double score)
{
	return json_pack(
		"{s:s, s:f, s:f, s:f, s:[{s:s, s:b, s:b, s:s, s:{s:s}, s:I, s:I, s:{s:s}}, {s:s, s:b, s:b, s:f, s:s, "
		"s:{s:s}}]}",
		"state", "passed", "score", score, "low", score - 0.1, "high", score + 0.1, "runs", "mode", "test", "secret", 0,
		"passed", 1, "state", "passed", "result", "test-count", "1", "start_ns", (json_int_t)1000, "wall_ns",
		(json_int_t)2000000000, "stdout", "text", "hello", "mode", "leaderboard", "secret", 1, "passed", 1, "score",
		score, "message", "SECRET", "result", "benchmark.0.mean", "SECRET");
}

static int64_t
job_of(int64_t submission, const char *device)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT id FROM jobs WHERE submission = %lld AND device = '%s'",
		(long long)submission, device);
	return fixture_int(&c.f, sql);
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, job_of(id, "CPU"), passed(score));
	return id;
}

static void
test_show(void **state)
{
	(void)state;
	commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
	ranked("alice", 2.0);
	ranked("bob", 1.0);
	ranked("carol", 1.0);
	ranked("alice", 3.0);
	const json_t *show = commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "ARENA"));
	assert_string_equal(commands_text(show, "leaderboard.name"), "arena");
	assert_int_equal(json_array_size(commands_at(show, "rankings")), 2);
	assert_int_equal(commands_number(show, "rankings.0.count"), 3);
	assert_int_equal(commands_number(show, "rankings.0.entries.0.rank"), 1);
	assert_int_equal(commands_number(show, "rankings.0.entries.1.rank"), 1);
	assert_int_equal(commands_number(show, "rankings.0.entries.2.rank"), 3);
	const json_t *entry = commands_at(show, "rankings.0.entries.2");
	assert_string_equal(commands_text(entry, "user_name"), "alice");
	assert_true(json_is_string(commands_at(entry, "user_id")));
	assert_string_equal(commands_text(entry, "gpu_type"), "CPU");
	assert_string_equal(commands_text(entry, "submission_name"), "a.cpp");
	assert_string_equal(commands_text(entry, "leaderboard_name"), "arena");
	assert_float_equal(json_real_value(commands_at(entry, "submission_score")), 2.0, 0);
	assert_float_equal(json_real_value(commands_at(entry, "low")), 1.9, 1e-9);
	assert_int_equal(commands_number(show, "rankings.1.count"), 0);
	show = commands_must(
		&c, "alice", "leaderboard.show", json_pack("{s:s, s:s, s:b}", "name", "arena", "device", "cpu", "mine", 1));
	assert_int_equal(commands_number(show, "rankings.0.count"), 2);
	assert_int_equal(commands_number(show, "rankings.0.entries.0.rank"), 3);
	assert_true(json_is_null(commands_at(show, "rankings.0.entries.1.rank")));
	commands_refused(
		&c, "alice", "leaderboard.show", json_pack("{s:s, s:s}", "name", "arena", "device", "H200"), KETTLE_EINVAL);
}

static void
test_delete_board(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	commands_board(&c, "other", NULL);
	ranked("alice", 2.0);
	int64_t open = commands_submit(&c, "bob", "arena", "test");
	commands_must(&c, "bob", "submit",
		json_pack("{s:o, s:s}", "file", commands_file("b.cpp", "only here\n"), "leaderboard", "arena"));
	int64_t shared = commands_submit(&c, "bob", "other", "test");
	fixture_sql(&c.f,
		"INSERT INTO invites VALUES ('one', 1, 0, NULL, NULL), ('both', 1, 0, NULL, NULL);"
		"INSERT INTO invite_boards SELECT 'one', id FROM leaderboards WHERE name = 'arena';"
		"INSERT INTO invite_boards SELECT 'both', id FROM leaderboards;"
		"INSERT INTO access SELECT id, 1, 'one', 0 FROM leaderboards;"
		"INSERT INTO rate_limits SELECT id, 'test', '', 100 FROM leaderboards;"
		"INSERT INTO artifacts (job, name, size, sha256, created_at) SELECT id, 'x', 1, 'y', 0 FROM jobs");
	int64_t blobs = fixture_int(&c.f, "SELECT count(*) FROM blobs");
	commands_refused(&c, "owner", "leaderboard.delete", json_pack("{s:s}", "name", "arena"), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
	const json_t *event = fixture_event(&c.f, "leaderboard.deleted");
	assert_int_equal(json_array_size(commands_at(event, "data.jobs")), 2);
	assert_int_equal(commands_number(event, "data.jobs.0.submission"), open);
	assert_string_equal(commands_text(event, "leaderboard_name"), "arena");
	static const char *const tables[] = {"leaderboards", "leaderboard_devices", "submissions", "jobs", "artifacts",
		"access", "rate_limits", "invites", "invite_boards", "tasks"};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		char sql[80];
		(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[i]);
		assert_int_equal(fixture_int(&c.f, sql), 1);
	}
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM runs"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs"), blobs - 1);
	commands_must(&c, "bob", "submission.delete", json_pack("{s:I}", "id", (json_int_t)shared));
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s}", "name", "other"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tasks"), 0);
}

#define ID(id) json_pack("{s:I}", "id", (json_int_t)(id))

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t attempt = 0;
	return jobs_start(db, *(int64_t *)arg, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt, err);
}

static int
part_op(struct db *db, void *arg, struct kettle_error *err)
{
	return board_delete_part(db, arg, err);
}

/* A thousand submissions, numbers 1000 to 1999, with a job and a run each. */
static void
fill_board(void)
{
	fixture_sql(&c.f,
		"WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) INSERT INTO submissions "
		"(id, leaderboard, task, user, mode, file_name, code, state, created_at, done_at) SELECT i, s.leaderboard, "
		"s.task, "
		"s.user, 'ranked', 'a.cpp', s.code, 'passed', i, i FROM n, submissions s WHERE s.id = (SELECT min(id) FROM "
		"submissions);"
		"INSERT INTO jobs (submission, device, state, seed, queued_at, changed_at, done_at, score) SELECT id, 'CPU', "
		"'passed', 1, 0, 0, 0, 9.0 FROM submissions WHERE id >= 1000;"
		"INSERT INTO runs (job, mode, secret, passed, state) SELECT id, 'test', 0, 1, 'passed' FROM jobs WHERE "
		"submission >= 1000");
}

/* No command shows a deleted board, nor the submissions first (alice's), open (bob's) and 1999 on it. */
static void
assert_hidden(int64_t first, int64_t open)
{
	commands_refused(&c, "owner", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	assert_int_equal(json_array_size(commands_must(&c, "owner", "leaderboard.list", json_pack("{s:b}", "all", 1))), 1);
	assert_int_equal(json_array_size(commands_must(&c, "alice", "submission.list", json_object())), 0);
	commands_refused(&c, "alice", "submission.show", ID(first), KETTLE_ENOENT);
	commands_refused(&c, "owner", "submission.show", ID(1999), KETTLE_ENOENT);
	commands_refused(&c, "owner", "submission.delete", ID(1999), KETTLE_ENOENT);
	commands_refused(&c, "bob", "submission.cancel", ID(open), KETTLE_ENOENT);
	commands_refused(&c, "owner", "submission.download", ID(1999), KETTLE_ENOENT);
	commands_refused(&c, "owner", "submission.rerun", ID(1999), KETTLE_ENOENT);
	assert_int_equal(
		commands_number(commands_must(&c, "owner", "admin.stats", json_object()), "stats.num_submissions"), 1);
	const json_t *user = commands_must(&c, "owner", "user.show", json_pack("{s:s}", "name", "alice"));
	assert_int_equal(commands_number(user, "submissions"), 0);
	assert_int_equal(json_array_size(commands_at(user, "ranks")), 0);
	int64_t events =
		fixture_int(&c.f, "SELECT count(*) FROM events WHERE kind IN ('rank.changed', 'submission.cancelled')");
	commands_must(&c, "owner", "user.ban", json_pack("{s:s, s:s}", "name", "alice", "reason", "x"));
	commands_must(&c, "owner", "user.unban", json_pack("{s:s}", "name", "alice"));
	assert_int_equal(
		fixture_int(&c.f, "SELECT count(*) FROM events WHERE kind IN ('rank.changed', 'submission.cancelled')"),
		events);
}

/* A board of more submissions than one transaction removes: gone at once; the next owner removes the rest. */
static void
test_delete_large_board(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	commands_board(&c, "other", NULL);
	int64_t first = ranked("alice", 2.0);
	commands_must(&c, "bob", "submit",
		json_pack("{s:o, s:s}", "file", commands_file("b.cpp", "elsewhere\n"), "leaderboard", "other"));
	fill_board();
	int64_t open = commands_submit(&c, "bob", "arena", "ranked"), job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	int64_t board = fixture_int(&c.f, "SELECT id FROM leaderboards WHERE name = 'arena'");
	const json_t *answer =
		commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
	assert_int_equal(commands_number(answer, "submissions"), 1002);
	/* In the middle: killed here, the next one finds it so. */
	struct kettle_error err = {0};
	fixture_stop(&c.f);
	assert_int_equal(fixture_store(&c.f, &err), 0);
	assert_true(fixture_int(&c.f, "SELECT count(*) FROM submissions") > 500);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM boards WHERE hidden_at IS NOT NULL"), 1);
	assert_hidden(first, open);
	/* No job of it is begun, and no verdict comes of it. */
	assert_int_equal(fixture_int(&c.f, "SELECT done_at IS NULL FROM jobs ORDER BY id DESC"), 1);
	assert_int_equal(fixture_write(&c.f, start_op, &job, &err), KETTLE_ECONFLICT);
	/* The name is free meanwhile, and the new one has nothing of the old one. */
	commands_board(&c, "arena", NULL);
	commands_board(&c, "BOARD-2", NULL);
	assert_int_equal(
		commands_number(
			commands_must(&c, "owner", "leaderboard.show", json_pack("{s:s}", "name", "arena")), "rankings.0.count"),
		0);
	bool more = true;
	int parts = 0;
	for (; more; parts++)
		assert_int_equal(fixture_write(&c.f, part_op, &more, &err), 0);
	assert_int_equal(parts, 1002 / BOARD_REMOVE_PART);
	char sql[120];
	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM boards WHERE id = %lld", (long long)board);
	assert_int_equal(fixture_int(&c.f, sql), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM runs"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs WHERE CAST(data AS TEXT) LIKE 'int a%'"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	/* There is nothing more to do. */
	assert_int_equal(fixture_write(&c.f, part_op, &more, &err), 0);
	assert_false(more);
}

/* ---- submissions ---- */

static const json_t *
show(const char *who, int64_t id)
{
	return commands_must(&c, who, "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
}

static void
test_submission(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	int64_t id = commands_submit(&c, "alice", "arena", "ranked");
	const json_t *status = show("alice", id);
	assert_string_equal(commands_text(status, "job.status"), "initial");
	assert_true(json_is_false(commands_at(status, "done")));
	commands_finish(&c, job_of(id, "CPU"), passed(1.5));
	status = show("alice", id);
	assert_true(json_is_true(commands_at(status, "done")));
	assert_string_equal(commands_text(status, "job.status"), "succeeded");
	assert_true(json_is_null(commands_at(status, "job.error")));
	assert_string_equal(commands_text(status, "code"), "int a;\n");
	assert_string_equal(commands_text(status, "leaderboard_name"), "arena");
	assert_string_equal(commands_text(status, "mode"), "ranked");
	assert_int_equal(commands_number(status, "rank.CPU"), 1);
	assert_int_equal(commands_number(status, "jobs.0.rank.of"), 1);
	assert_string_equal(commands_text(status, "jobs.0.unit"), "CPU.0");
	assert_string_equal(commands_text(status, "jobs.0.runs.0.stdout.text"), "hello");
	assert_string_equal(commands_text(status, "runs.0.result.test-count"), "1");
	assert_string_equal(commands_text(status, "runs.0.runner"), "CPU");
	assert_true(json_is_string(commands_at(status, "runs.0.start_time")));
	/* Of the secret run three things, and the word in it is not even stored. */
	assert_true(json_is_null(commands_at(status, "runs.1.result")));
	assert_int_equal(json_object_size(commands_at(status, "jobs.0.runs.1")), 4);
	AUTO_FREE char *dump = json_dumps(status, 0);
	assert_null(strstr(dump, "SECRET"));
	assert_null(strstr(dump, "seed"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM runs WHERE secret AND coalesce(message, result_json, "
									   "detail_json) IS NOT NULL"),
		0);
	commands_refused(&c, "bob", "submission.show", json_pack("{s:I}", "id", (json_int_t)id), KETTLE_EACCES);
	show("owner", id);
}

static json_t *
failed(const char *state, const char *error)
{
	return json_pack("{s:s, s:s?, s:[{s:s, s:b, s:b}, {s:s, s:b, s:b}]}", "state", state, "error", error, "runs",
		"mode", "leaderboard", "secret", 0, "passed", 1, "mode", "leaderboard", "secret", 1, "passed", 0);
}

static void
test_statuses(void **state)
{
	(void)state;
	static const struct {
		const char *state, *status, *error;
	} cases[] = {
		{"failed", "failed", "not the secret ones"},
		{"timed_out", "timed_out", "not the secret ones"},
		{"error", "failed", "The machine broke."},
	};
	commands_board(&c, "arena", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t id = commands_submit(&c, "alice", "arena", "ranked");
		commands_finish(&c, job_of(id, "CPU"), failed(cases[i].state, i == 2 ? cases[i].error : NULL));
		const json_t *status = show("alice", id);
		assert_string_equal(commands_text(status, "job.status"), cases[i].status);
		assert_non_null(strstr(commands_text(status, "job.error"), cases[i].error));
		assert_true(json_is_null(commands_at(status, "rank.CPU")));
	}
	int64_t id = ranked("alice", 1.0);
	fixture_sql(&c.f, "UPDATE submissions SET flagged_at = 1, flag_reason = 'copied' WHERE state = 'passed'");
	assert_string_equal(commands_text(show("alice", id), "job.status"), "hacked");
	assert_string_equal(commands_text(c.result, "job.error"), "It was marked as a cheat: copied");
	commands_refused(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)id), KETTLE_EACCES);
}

static void
test_several_devices(void **state)
{
	(void)state;
	commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100"));
	const json_t *result = commands_must(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:[s, s]}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "device",
			"CPU", "H100"));
	int64_t id = commands_number(result, "id");
	commands_finish(&c, job_of(id, "CPU"), passed(1.0));
	assert_string_equal(commands_text(show("alice", id), "job.status"), "running");
	assert_true(json_is_false(commands_at(c.result, "done")));
	assert_int_equal(fixture_events(&c.f, "submission.done"), 0);
	commands_finish(&c, job_of(id, "H100"), failed("failed", "It is wrong."));
	assert_string_equal(commands_text(show("alice", id), "job.status"), "failed");
	assert_string_equal(commands_text(c.result, "job.error"), "H100: It is wrong.");
	assert_int_equal(fixture_events(&c.f, "submission.done"), 1);
	/* What passed on its device counts there. */
	assert_int_equal(commands_number(c.result, "rank.CPU"), 1);
	assert_true(json_is_null(commands_at(c.result, "rank.H100")));
}

static void
test_list(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	commands_board(&c, "other", NULL);
	int64_t first = ranked("alice", 1.0), second = commands_submit(&c, "alice", "other", "test");
	commands_submit(&c, "bob", "arena", "test");
	const json_t *list = commands_must(&c, "alice", "submission.list", json_object());
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(commands_number(list, "0.id"), second);
	assert_int_equal(commands_number(list, "1.id"), first);
	assert_string_equal(commands_text(list, "1.state"), "passed");
	assert_string_equal(commands_text(list, "1.runs.0.gpu_type"), "CPU");
	assert_true(json_is_null(commands_at(list, "0.runs.0.score")));
	list = commands_must(&c, "alice", "submission.list", json_pack("{s:s}", "leaderboard", "arena"));
	assert_int_equal(json_array_size(list), 1);
	list = commands_must(&c, "alice", "submission.list", json_pack("{s:i, s:i}", "limit", 1, "offset", 1));
	assert_int_equal(commands_number(list, "0.id"), first);
	assert_int_equal(json_array_size(commands_must(&c, "stranger", "submission.list", json_object())), 0);
}

/* Some commands take the last submission of the user where they are given none. */
static void
test_latest(void **state)
{
	static const char *const commands_of[] = {"submission.show", "submission.watch", "submission.download"};
	(void)state;
	commands_board(&c, "arena", NULL);
	commands_refused(&c, "alice", "submission.show", json_object(), KETTLE_ENOENT);
	ranked("alice", 1.0);
	int64_t last = commands_submit(&c, "alice", "arena", "test");
	commands_submit(&c, "bob", "arena", "test");
	for (size_t i = 0; i < ARRAY_SIZE(commands_of); i++)
		commands_must(&c, "alice", commands_of[i], json_object());
	assert_int_equal(commands_number(commands_must(&c, "alice", "submission.watch", json_object()), "id"), last);
	assert_int_equal(
		commands_number(commands_must(&c, "alice", "submission.show", json_pack("{s:s}", "id", "Latest")), "id"), last);
	assert_int_equal(commands_number(commands_must(&c, "alice", "submission.cancel", json_object()), "id"), last);
	commands_refused(&c, "alice", "submission.show", json_pack("{s:s}", "id", "last"), KETTLE_EINVAL);
	commands_refused(&c, "alice", "submission.show", ID(0), KETTLE_EINVAL);
	commands_refused(&c, "alice", "submission.delete", json_object(), KETTLE_EINVAL);
	commands_refused(&c, "alice", "submission.delete", json_pack("{s:s}", "id", "latest"), KETTLE_EINVAL);
}

/* Those on which a file can be submitted, and what runs it there. */
static void
test_takes(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	assert_int_equal(
		json_array_size(commands_must(&c, "alice", "leaderboard.list", json_pack("{s:s}", "takes", "a.cpp"))), 1);
	assert_int_equal(
		json_array_size(commands_must(&c, "alice", "leaderboard.list", json_pack("{s:s}", "takes", "a.py"))), 0);
	const json_t *board = commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	assert_string_equal(commands_text(board, "tools.0"), "g++");
}

static void
test_cancel_and_delete(void **state)
{
	(void)state;
	commands_board(&c, "arena", NULL);
	int64_t id = commands_submit(&c, "alice", "arena", "ranked");
	commands_refused(&c, "bob", "submission.cancel", ID(id), KETTLE_EACCES);
	commands_must(&c, "alice", "submission.cancel", ID(id));
	assert_int_equal(
		commands_number(fixture_event(&c.f, "submission.cancelled"), "data.jobs.0.job"), job_of(id, "CPU"));
	assert_string_equal(commands_text(fixture_event(&c.f, "submission.done"), "data.state"), "cancelled");
	commands_refused(&c, "alice", "submission.cancel", ID(id), KETTLE_ECONFLICT);
	assert_string_equal(commands_text(show("alice", id), "job.status"), "failed");
	assert_string_equal(commands_text(c.result, "job.error"), "It was cancelled.");
	int64_t better = ranked("alice", 1.0), worse = ranked("alice", 2.0),
			open = commands_submit(&c, "alice", "arena", "ranked");
	ranked("bob", 1.5);
	size_t changes = fixture_events(&c.f, "rank.changed");
	commands_must(&c, "alice", "submission.delete", ID(better));
	assert_int_equal(fixture_events(&c.f, "rank.changed"), changes + 1);
	const json_t *event = fixture_event(&c.f, "rank.changed");
	assert_int_equal(commands_number(event, "data.before"), 1);
	assert_int_equal(commands_number(event, "data.after"), 2);
	assert_int_equal(commands_number(show("alice", worse), "rank.CPU"), 2);
	commands_must(&c, "owner", "submission.delete", ID(open));
	assert_int_equal(json_array_size(commands_at(fixture_event(&c.f, "submission.deleted"), "data.jobs")), 1);
	commands_must(&c, "alice", "submission.delete", ID(worse));
	assert_true(json_is_null(commands_at(fixture_event(&c.f, "rank.changed"), "data.after")));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT ranked FROM leaderboard_devices"), 1);
	commands_refused(&c, "alice", "submission.show", ID(worse), KETTLE_ENOENT);
}

/* ---- the shape of an answer ---- */

static const char *const colours[] = {"red", "green", NULL};
static const struct shape point_shape[] = {MEMBER("x", SHAPE_INT), MEMBER("y", SHAPE_NUMBER, .null = true), {0}};
static const struct command shaped = {.name = "shaped",
	ANSWER(OBJECT(MEMBER("at", ARRAY(SHARED("point", point_shape))), MEMBER("by", MAP(SHAPE_BOOL), .optional = true),
		MEMBER("colour", SHAPE_STRING, .choices = colours, .null = true), MEMBER("any", SHAPE_ANY, .optional = true)))};

static void
test_shape(void **state)
{
	static const struct {
		const char *json;
		bool fits;
	} cases[] = {
		{"{\"at\": [{\"x\": 1, \"y\": 2.5}, {\"x\": 0, \"y\": null}], \"colour\": \"red\"}", true},
		{"{\"at\": [], \"colour\": null, \"by\": {\"a\": true}, \"any\": [{}]}", true},
		{"{\"at\": [], \"colour\": null, \"by\": {}, \"any\": null}", true},
		{"{\"at\": [{\"x\": 1, \"y\": 3}], \"colour\": \"green\"}", true},
		{"{\"at\": []}", false},                                                 /* one is missing */
		{"{\"at\": [], \"colour\": null, \"more\": 1}", false},                  /* one is not known */
		{"{\"at\": [{\"x\": 1, \"y\": 1, \"z\": 1}], \"colour\": null}", false}, /* nor inside */
		{"{\"at\": [{\"x\": null, \"y\": 1}], \"colour\": null}", false},
		{"{\"at\": [{\"x\": 1.5, \"y\": 1}], \"colour\": null}", false},
		{"{\"at\": null, \"colour\": null}", false},
		{"{\"at\": [], \"colour\": \"blue\"}", false},
		{"{\"at\": [], \"colour\": null, \"by\": {\"a\": 1}}", false},
		{"[]", false},
		{"null", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kettle_error err = {0};
		AUTO_JSON json_t *answer = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
		assert_non_null(answer);
		if ((command_check_answer(&shaped, answer, &err) == 0) != cases[i].fits)
			fail_msg("%s: %s", cases[i].json, err.message);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_table),
	cmocka_unit_test(test_no_names),
	cmocka_unit_test(test_check),
	cmocka_unit_test(test_clean),
	cmocka_unit_test(test_shape),
	TEST(test_users),
	TEST(test_rights),
	TEST(test_create),
	TEST(test_list_and_closed),
	TEST(test_show),
	TEST(test_delete_board),
	TEST(test_delete_large_board),
	TEST(test_submission),
	TEST(test_statuses),
	TEST(test_several_devices),
	TEST(test_list),
	TEST(test_latest),
	TEST(test_takes),
	TEST(test_cancel_and_delete),
};

UNIT_TESTS(test_command_table);
