/* SPDX-License-Identifier: MIT */
/* The schema: applied once and whole, consistent in itself, with an index for every key and every hot query. */
#include <config.h>

#include "unit/store_fixture.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/embedded_text.h"
#include "lib/unit_test.h"
#include "model/name.h"
#include "store/db_file.h"

#include <string.h>

static void
test_apply_twice(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	sqlite3 *one = NULL, *two = NULL;
	fixture_folder(&f);
	assert_int_equal(db_file_open(f.path, "owner", &one, &err), 0);
	assert_int_equal(migrations_apply(one, "other", &err), 0);
	/* A second process that begins at the same time finds everything done. */
	assert_int_equal(db_file_open(f.path, "other", &two, &err), 0);
	sqlite3_close(two);
	sqlite3_close(one);
	assert_int_equal(fixture_store(&f, &err), 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM users"), 1);
	fixture_close(&f);
}

/* What fails in the middle leaves no half of a schema. */
static void
test_all_or_nothing(void **state)
{
	(void)state;
	sqlite3 *handle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "CREATE TABLE events (a)", NULL, NULL, NULL), SQLITE_OK);
	assert_true(migrations_apply(handle, "owner", &err) < 0);
	assert_says(&err, "events");
	sqlite3_stmt *count = NULL;
	assert_int_equal(sqlite3_prepare_v2(handle, "SELECT count(*) FROM sqlite_schema", -1, &count, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(count), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(count, 0), 1);
	sqlite3_finalize(count);
	sqlite3_close(handle);
}

/* A database of the first version, with what was in it. */
static void
test_from_first(void **state)
{
	(void)state;
	static const char before[] =
		"PRAGMA user_version = 1; INSERT INTO device_units (device, unit, changed_at, calibration_json, state) "
		"VALUES ('CPU', 'CPU.0', 5, '{\"names\": {}}', 'aside'); INSERT INTO events (at, kind, scope, closed) VALUES "
		"(5, "
		"'device.aside', 'a', 0); INSERT INTO tasks (content_hash, run_hash, name, bundle_json, created_at) VALUES "
		"('h', 'r', 't', "
		"'{\"task\": {\"lang\": \"cu\"}}', 1); INSERT INTO users (id, name, created_at) VALUES (7, 'ada', 1), (8, "
		"'bob', 1); "
		"INSERT INTO submissions (id, leaderboard, task, user, mode, file_name, code, created_at) VALUES (3, 1, 1, 7, "
		"'ranked', 'x.cpp', 1, 9), (4, 1, 1, 8, 'ranked', 'x.cpp', 1, 9); INSERT INTO best (leaderboard, device, user, "
		"submission, job, score, low, high, bucket) VALUES (1, 'CPU', 7, 3, 1, 0.5, 0.4, 0.6, 2), (1, 'CPU', 8, 4, 2, "
		"0.5, NULL, NULL, 2)";
	static const char after[] =
		"SELECT (SELECT user_version FROM pragma_user_version) * 1000 + (SELECT count(*) FROM device_units WHERE unit "
		"= 'CPU.0' AND state = 'disabled' AND EXISTS (SELECT 1 FROM events WHERE kind = 'device.disabled') AND "
		"facts_json IS NULL AND calibration_json <> "
		"'') * 100 + (SELECT count(*) FROM best WHERE user_name IN ('lovelace', 'bob') AND file_name = 'x.cpp' AND "
		"low IS NULL AND high IS NULL AND created_at = 9) * 10 + (SELECT count(*) FROM sqlite_schema WHERE name = "
		"'submissions_page' AND (SELECT language FROM tasks) = 'cu')";
	sqlite3 *handle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0001, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, "owner", &err), 0);
	assert_int_equal(
		sqlite3_exec(handle, "UPDATE users SET name = 'lovelace' WHERE id = 7", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_stmt *found = NULL;
	assert_int_equal(sqlite3_prepare_v2(handle, after, -1, &found, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(found, 0), migrations_newest() * 1000 + 121);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* Names that read as identities or numbers become others, whatever names there are already. */
static void
test_names_of_users(void **state)
{
	static const char before[] =
		"INSERT INTO users (id, name, created_at) VALUES (1, 'discord:4242', 1), (2, 'Discord-4242-1', 1), (3, "
		"'DISCORD-4242-1.1', 1), (4, '#1', 1), (5, '##: #', 1), (6, '#', 1), (7, 'user-6', 1), (8, '#:', 1), (9, "
		"'a#b', 1), (10, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:', 1);"
		"INSERT INTO events (at, kind, scope, closed, user, user_name) VALUES (5, 'user.banned', 'u', 0, 1, "
		"'discord:4242')";
	static const char *const after[] = {"discord-4242-1.2", "Discord-4242-1", "DISCORD-4242-1.1", "1-4", "- #-5",
		"user-6.1", "user-6", "--8", "a#b", "aaaaaaaaaaaaaaaaaaaaaaaa-10"};
	(void)state;
	sqlite3 *handle = NULL;
	sqlite3_stmt *found = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(handle, "PRAGMA user_version = 15", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0017, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, "SELECT name FROM users ORDER BY id", -1, &found, NULL), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		assert_int_equal(sqlite3_step(found), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(found, 0), after[i]);
	}
	sqlite3_finalize(found);
	assert_int_equal(sqlite3_prepare_v2(handle, "SELECT user_name FROM events", -1, &found, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(found, 0), after[0]);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* What the flows of the frontend discord knew of their messages is in its outbox. */
static void
test_outbox_of_discord(void **state)
{
	static const char before[] =
		"INSERT INTO boards (id, name, description, task, creator, created_at, updated_at) VALUES (7, 'vectors', "
		"'', "
		"1, 1, 1, 1);"
		"INSERT INTO plugin_state (plugin, key, value_json, updated_at) VALUES"
		"('discord', 'post/7', '{\"channel\": \"801\", \"forum\": true, \"message\": \"801\", \"text\": \"T\", "
		"\"mention\": \"55\", \"hidden\": false}', 1),"
		"('discord', 'post/8', '{\"channel\": \"700\", \"forum\": false, \"text\": \"T\", \"since\": 5}', 1),"
		"('discord', 'sub/8', '{\"id\": 8, \"message\": \"5\", \"channel\": \"6\", \"jobs\": [{\"job\": 3, "
		"\"thread\": \"6\", \"result\": \"7\"}, {\"job\": 4, \"thread\": \"\"}]}', 1),"
		"('other', 'post/7', '{}', 1)";
	static const char *const after[] = {
		"out/post/7 {\"channel\":\"801\",\"since\":0,\"id\":\"801\",\"ping\":\"55\",\"what\":{\"name\":\"vectors\","
		"\"archived\":false,\"locked\":false,\"message\":{\"content\":\"<@&55>\\nT\"}}}",
		"out/post/8 {\"channel\":\"700\",\"since\":5,\"what\":{\"content\":\"T\"}}",
		"out/sub/8/3/result {\"channel\":\"\",\"since\":0,\"id\":\"7\",\"what\":{}}",
		"out/sub/8/3/thread {\"channel\":\"\",\"since\":0,\"id\":\"6\",\"what\":{}}",
		"out/sub/8/live {\"channel\":\"6\",\"since\":0,\"id\":\"5\"}", "post/7 {}"};
	(void)state;
	sqlite3 *handle = NULL;
	sqlite3_stmt *found = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0024, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(handle,
			"SELECT key || ' ' || value_json FROM plugin_state WHERE key <> 'sub/8' ORDER BY key", -1, &found, NULL),
		SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		assert_int_equal(sqlite3_step(found), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(found, 0), after[i]);
	}
	assert_int_equal(sqlite3_step(found), SQLITE_DONE);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* A database before the version that took words for pages. */
static sqlite3 *
before_pages(const char *sql)
{
	sqlite3 *handle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(
		sqlite3_exec(handle, "INSERT INTO users (id, name, created_at) VALUES (1, 'ada', 1)", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, "ALTER TABLE users DROP COLUMN profile", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0025, NULL, NULL, NULL), SQLITE_OK);
	return handle;
}

/* Leaderboards whose names are words of pages get others, whatever names there are already, and their creators hear of it. */
static void
test_names_of_boards(void **state)
{
	static const char before[] = "INSERT INTO boards (id, name, description, task, creator, created_at, updated_at, "
								 "visibility) VALUES (1, 'Users', '', 1, 1, "
								 "1, 1, 'closed'), (2, 'USERS-board', '', 1, 1, 1, 1, 'public'), (3, 'users-board-2', "
								 "'', 1, 1, 1, 1, 'public'), (4, "
								 "'diff', '', 1, 1, 1, 1, 'public'), (5, 'vectors', '', 1, 1, 1, 1, 'public');"
								 "INSERT INTO boards (id, name, description, task, creator, created_at, updated_at, "
								 "hidden_at) VALUES (6, 'login', "
								 "'', 1, 1, 1, 1, 9);"
								 "INSERT INTO events (at, kind, scope, closed, leaderboard, leaderboard_name) VALUES "
								 "(5, 'leaderboard.created', 'p', 0, "
								 "4, 'diff'), (6, 'leaderboard.created', 'p', 0, 5, 'vectors')";
	static const char *const after[] = {"Users-board-3", "USERS-board", "users-board-2", "diff-board", "vectors",
		"login", "5 leaderboard.created diff-board -", "6 leaderboard.created vectors -",
		"now leaderboard.renamed Users-board-3 u 1 1 ada {\"name\":\"Users-board-3\",\"was\":\"Users\"}",
		"now leaderboard.renamed diff-board u 0 1 ada {\"name\":\"diff-board\",\"was\":\"diff\"}"};
	static const char found_sql[] = "SELECT * FROM (SELECT name FROM boards ORDER BY id) UNION ALL SELECT * FROM "
									"(SELECT iif(at > 9, 'now', at) || ' ' || kind "
									"|| ' ' || leaderboard_name || ' ' || coalesce(scope || ' ' || closed || ' ' || "
									"user || ' ' || user_name || ' ' || "
									"data_json, '-') FROM events ORDER BY seq)";
	(void)state;
	sqlite3_stmt *found = NULL;
	sqlite3 *handle = before_pages(before);
	assert_int_equal(sqlite3_prepare_v2(handle, found_sql, -1, &found, NULL), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
		assert_int_equal(sqlite3_step(found), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(found, 0), after[i]);
	}
	assert_int_equal(sqlite3_step(found), SQLITE_DONE);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* Every word that a name may not be has become another one. */
static void
test_reserved_names(void **state)
{
	AUTO_BUF struct buf before = {0};
	int count = 0;
	(void)state;
	for (; names_reserved[count]; count++)
		buf_printf(&before,
			"INSERT INTO boards (name, description, task, creator, created_at, updated_at) VALUES ('%s', '', 1, 1, 1, "
			"1);",
			names_reserved[count]);
	sqlite3_stmt *found = NULL;
	sqlite3 *handle = before_pages(before.data);
	assert_int_equal(
		sqlite3_prepare_v2(handle, "SELECT count(*) FROM boards WHERE name LIKE '%-board'", -1, &found, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(found, 0), count);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* Why a unit is disabled was the beginning of its reason. */
static void
test_causes_of_units(void **state)
{
	static const char before[] =
		"INSERT INTO device_units (device, unit, state, reason, changed_at) VALUES ('CPU', 'a', 'disabled', 'by ada: "
		"repair', 1), ('CPU', 'b', 'disabled', 'its kettle-exec has not answered for 30 s; it may hang', 1), ('CPU', "
		"'c', 'disabled', '2 times in a row: by now it is dirty', 1), ('CPU', 'd', 'disabled', NULL, 1), ('CPU', 'e', "
		"'ready', 'by ada', 1)";
	(void)state;
	sqlite3 *handle = NULL;
	sqlite3_stmt *found = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(handle, "ALTER TABLE device_units DROP COLUMN cause", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0018, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(handle,
			"SELECT group_concat(coalesce(cause, '-')) FROM (SELECT cause FROM device_units ORDER BY unit)", -1, &found,
			NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(found, 0), "operator,silent,fault,fault,-");
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* Entries of a ranking count the submissions that were made before entries did. */
static void
test_tries_of_entries(void **state)
{
	static const char before[] =
		"DROP TRIGGER competitions_end; DROP TABLE competitions; DROP TABLE audit; DROP TABLE calibrations; DROP INDEX "
		"events_podium; DROP INDEX submissions_state;"
		"DROP TRIGGER best_tried; DROP TRIGGER best_untried; DROP INDEX best_page; ALTER TABLE best DROP COLUMN tries;"
		"CREATE INDEX best_page ON best (leaderboard, device, score);"
		"INSERT INTO boards (id, name, description, task, creator, created_at, updated_at, counts_from) VALUES (1, "
		"'arena', '', "
		"1, 1, 1, 1, 2);"
		"INSERT INTO submissions (id, leaderboard, task, user, mode, file_name, code, created_at, practice) VALUES (1, "
		"1, 1, 7, "
		"'ranked', 'x', 1, 9, 0), (2, 1, 1, 7, 'ranked', 'x', 1, 9, 0), (3, 1, 1, 7, 'ranked', 'x', 1, 9, 0), (4, 1, "
		"1, 7, "
		"'test', 'x', 1, 9, 0), (5, 1, 1, 7, 'ranked', 'x', 1, 9, 1), (6, 1, 1, 7, 'ranked', 'x', 1, 9, 0), (7, 1, 1, "
		"8, "
		"'ranked', 'x', 1, 9, 0);"
		"INSERT INTO jobs (submission, device, superseded, seed, queued_at, changed_at, state, done_at) SELECT id, "
		"iif(id = 6, 'H100', 'CPU'), 0, 1, 1, 1, iif(id = 3, 'queued', 'failed'), iif(id = 3, NULL, 1) FROM "
		"submissions;"
		"INSERT INTO jobs (submission, device, superseded, seed, queued_at, changed_at, state, done_at) VALUES (2, "
		"'CPU', "
		"9, 1, 1, 1, 'error', 1);"
		"INSERT INTO best (leaderboard, device, user, submission, job, score, bucket) VALUES (1, 'cpu', 7, 2, 2, 0.5, "
		"2)";
	(void)state;
	sqlite3 *handle = NULL;
	sqlite3_stmt *found = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0026, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle, "SELECT tries FROM best", -1, &found, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(found, 0), 1);
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* What a bundle says of itself is beside it, and what was a record is one. */
static void
test_records_of_runs(void **state)
{
	static const char before[] =
		"DROP TABLE records; ALTER TABLE tasks DROP COLUMN harness; ALTER TABLE tasks DROP COLUMN judging_json;"
		"INSERT INTO tasks (content_hash, run_hash, name, bundle_json, created_at) VALUES ('a', 'a', 'a', '{\"task\": "
		"{}}', 1), ('b', 'b', 'b', '{\"task\": {\"harness\": \"kettle\"}, \"judging\": {\"cpu\": \"referee\"}}', 1);"
		"INSERT INTO boards (id, name, description, task, creator, created_at, updated_at, counts_from) VALUES (1, "
		"'arena', '', 1, 1, 1, 1, 2);"
		"INSERT INTO users (id, name, created_at, banned_at) VALUES (7, 'ada', 1, NULL), (8, 'bob', 1, NULL), (9, "
		"'eve', "
		"1, 1);"
		"INSERT INTO submissions (id, leaderboard, task, user, mode, file_name, code, created_at, practice) SELECT "
		"value ->> 0, 1, 1, value ->> 1, value ->> 2, 'x', 1, 9, value ->> 3 FROM json_each('[[1, 7, \"ranked\", 0], "
		"[2, "
		"7, \"ranked\", 0], [3, 8, \"ranked\", 0], [4, 7, \"ranked\", 0], [5, 8, \"ranked\", 0], [6, 8, \"test\", 0], "
		"[7, "
		"8, \"ranked\", 1], [8, 9, \"ranked\", 0], [9, 7, \"ranked\", 0]]');"
		"INSERT INTO jobs (submission, device, seed, queued_at, changed_at, state, done_at, score) SELECT id, 'CPU', "
		"1, "
		"1, 1, 'passed', 1, CASE id WHEN 1 THEN 1 WHEN 2 THEN 9 WHEN 3 THEN 10 WHEN 4 THEN 9 WHEN 5 THEN 8 WHEN 9 THEN "
		"7 ELSE 2 END FROM submissions;";
	(void)state;
	sqlite3 *handle = NULL;
	sqlite3_stmt *found = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(handle, before, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, schema_0027, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle,
						 "SELECT (SELECT group_concat(user || ' ' || submission || ' ' || score, ', ') FROM records) "
						 "|| '; ' || (SELECT "
						 "group_concat(harness || ' ' || coalesce(judging_json, '-'), ', ') FROM tasks)",
						 -1, &found, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(found), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(found, 0),
		"0 2 9.0, 0 5 8.0, 0 9 7.0, 7 2 9.0, 7 9 7.0, 8 3 10.0, 8 5 8.0; task -, kettle {\"cpu\":\"referee\"}");
	sqlite3_finalize(found);
	sqlite3_close(handle);
}

/* The former names of leaderboards, which come from either kind of event, and then from every change of a name. */
static void
test_former_names(void **state)
{
	static const char before[] =
		"DROP TRIGGER former_names_add; DROP TABLE former_names; INSERT INTO boards (id, name, description, task, "
		"creator, created_at, updated_at, hidden_at) VALUES (1, 'a3', '', 1, 1, 1, 1, NULL), (2, 'b2', '', 1, 1, 1, 1, "
		"NULL), (3, 'c2', '', 1, 1, 1, 1, 9);"
		"INSERT INTO events (seq, at, kind, scope, closed, leaderboard, data_json) VALUES (9, 1, "
		"'leaderboard.updated', 'p', 0, 1, '{\"was\": \"A1\"}'), (3, 1, 'leaderboard.renamed', 'u', 0, 1, '{\"was\": "
		"\"a1\"}'), (5, 1, 'leaderboard.updated', 'p', 0, 1, '{\"was\": \"a2\"}'), (7, 1, 'leaderboard.renamed', 'u', "
		"0, 2, '{\"was\": \"a1\"}'), (6, 1, 'leaderboard.updated', 'p', 0, 3, '{\"was\": \"a1\"}'), (8, 1, "
		"'leaderboard.updated', 'p', 0, 2, '{}'), (10, 1, 'leaderboard.created', 'p', 0, 2, '{\"was\": \"b\"}')";
	/* Only the case changes; there and back; a hidden one. */
	static const char changes[] =
		"UPDATE boards SET name = 'B2' WHERE id = 2; UPDATE boards SET name = 'b3' WHERE id = "
		"2; UPDATE boards SET name = 'b2' WHERE id = 2; UPDATE boards SET name = 'c3' WHERE "
		"id = 3";
	static const char many[] = "UPDATE boards SET name = 'x' || (CAST(substr(name, 2) AS INTEGER) + 1) WHERE id = 1";
	static const char sql[] = "SELECT group_concat(name || ' ' || leaderboard, ', ') FROM (SELECT * FROM former_names "
							  "ORDER BY id)";
	static const char kept[] =
		"SELECT count(*) || ' ' || (SELECT group_concat(name) FROM (SELECT name FROM former_names "
		"WHERE leaderboard = 1 ORDER BY id LIMIT 2)) FROM former_names WHERE leaderboard = 1";
	static const struct {
		const char *run, *sql, *found;
		int times;
	} steps[] = {{before, "SELECT 'ready'", "ready", 1}, {schema_0028, sql, "a2 1, a1 2, A1 1", 1},
		{changes, sql, "a2 1, a1 2, A1 1, B2 2, b3 2", 1}, {many, kept, "20 x4,x5", 21}};
	(void)state;
	sqlite3 *handle = NULL;
	struct kettle_error err = {0};
	assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
	assert_int_equal(migrations_apply(handle, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		sqlite3_stmt *found = NULL;
		for (int turn = 0; turn < steps[i].times; turn++)
			assert_int_equal(sqlite3_exec(handle, steps[i].run, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_prepare_v2(handle, steps[i].sql, -1, &found, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(found), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(found, 0), steps[i].found);
		sqlite3_finalize(found);
	}
	sqlite3_close(handle);
}

static void
test_sound(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(
		fixture_int(&f, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%STRICT%' AND "
						"name NOT LIKE 'sqlite_%'"),
		0);
	/* Deleting asks for every key that refers to a board or to what hangs off it: each needs an index. */
	assert_int_equal(
		fixture_int(&f,
			"SELECT count(*) FROM sqlite_schema t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table' AND "
			"k.\"table\" IN ('boards', 'submissions', 'jobs', 'tasks', 'blobs', 'invites') AND NOT EXISTS "
			"(SELECT 1 FROM pragma_index_list(t.name) i, pragma_index_info(i.name) c WHERE c.seqno = 0 AND "
			"c.name = k.\"from\") AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE name = k.\"from\" AND "
			"pk = "
			"1)"),
		0);
	fixture_close(&f);
}

/* The plan of a query, all lines of it. */
static int
plan_line(void *arg, sqlite3_stmt *row)
{
	char *text = arg;
	size_t len = strlen(text);
	(void)snprintf(text + len, 2000 - len, "%s\n", (const char *)sqlite3_column_text(row, 3));
	return 0;
}

struct plan {
	const char *sql;
	char text[2000];
};

static int
plan_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct plan *plan = arg;
	return db_query(db, err, plan_line, plan->text, plan->sql, NULL);
}

static void
test_indices(void **state)
{
	(void)state;
	static const struct {
		const char *sql, *uses;
	} cases[] = {
		{"SELECT id FROM submissions WHERE user = 1 ORDER BY id DESC LIMIT 50", "submissions_user"},
		{"SELECT id FROM submissions WHERE leaderboard = 1 AND state = 'failed' AND done_at IS NOT NULL AND id < 7 "
		 "ORDER BY id DESC LIMIT 50",
			"submissions_state (leaderboard=? AND state=? AND rowid<?)"},
		{"SELECT id FROM submissions WHERE user = 1 AND leaderboard = 2 ORDER BY created_at DESC, id DESC LIMIT 50",
			"submissions_own"},
		{"SELECT id FROM submissions WHERE leaderboard = 1 AND id > 7 ORDER BY id LIMIT 50",
			"submissions_page (leaderboard=? AND rowid>?)"},
		{"SELECT id FROM submissions WHERE leaderboard = 1 AND id < 7 AND id >= 3 ORDER BY id DESC LIMIT 50",
			"submissions_page (leaderboard=? AND rowid>? AND rowid<?)"},
		{"SELECT id FROM submissions WHERE leaderboard = 1 AND id < 7 ORDER BY id DESC LIMIT 1 OFFSET 9",
			"COVERING INDEX submissions_page (leaderboard=? AND rowid<?)"},
		{"SELECT 1 FROM best WHERE submission = 5", "best_submission"},
		{"SELECT id FROM jobs WHERE done_at IS NULL ORDER BY id", "jobs_open"},
		{"SELECT user, submission, score, low, high FROM best WHERE leaderboard = 1 AND device = 'CPU' ORDER BY score, "
		 "submission LIMIT 100",
			"COVERING INDEX best_page"},
		{"SELECT submission, file_name, created_at, user, user_name, low, high FROM best WHERE leaderboard = 1 AND "
		 "device = 'CPU' ORDER BY score, submission LIMIT 100 OFFSET 200",
			"COVERING INDEX best_page"},
		{"SELECT count(*) FROM best WHERE leaderboard = 1 AND device = 'CPU' AND score < 1.0",
			"COVERING INDEX best_page"},
		{"SELECT * FROM events WHERE seq > 5 ORDER BY seq LIMIT 10", "PRIMARY KEY"},
		{"SELECT * FROM events WHERE submission = 5 AND seq > 5 ORDER BY seq LIMIT 10", "events_submission"},
		{"SELECT * FROM runs WHERE job = 5 ORDER BY id", "runs_job"},
	};
	struct fixture f;
	fixture_open(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char sql[300];
		struct plan plan = {.sql = sql};
		(void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", cases[i].sql);
		assert_int_equal(fixture_query(&f, plan_op, &plan, NULL), 0);
		if (!strstr(plan.text, cases[i].uses) || strstr(plan.text, "TEMP B-TREE") ||
			(strstr(plan.text, "SCAN ") && !strstr(plan.text, "INDEX jobs_open")))
			fail_msg("%s:\n%s", cases[i].sql, plan.text);
	}
	fixture_close(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_apply_twice),
	cmocka_unit_test(test_all_or_nothing),
	cmocka_unit_test(test_from_first),
	cmocka_unit_test(test_names_of_users),
	cmocka_unit_test(test_outbox_of_discord),
	cmocka_unit_test(test_names_of_boards),
	cmocka_unit_test(test_reserved_names),
	cmocka_unit_test(test_causes_of_units),
	cmocka_unit_test(test_tries_of_entries),
	cmocka_unit_test(test_records_of_runs),
	cmocka_unit_test(test_former_names),
	cmocka_unit_test(test_sound),
	cmocka_unit_test(test_indices),
};

UNIT_TESTS(test_migrations);
