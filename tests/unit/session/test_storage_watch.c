/* SPDX-License-Identifier: MIT */
/* A disk that is full: the events of it, which cannot be stored while it is. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

struct statement {
	const char *sql;
	bool done;
};

static int
run_statement(struct db *db, void *arg, struct kettle_error *err)
{
	(void)err;
	const struct statement *statement = arg;
	return sqlite3_exec(db->handle, statement->sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : KETTLE_EINTERNAL;
}

static void
statement_ran(void *arg, const struct kettle_error *err)
{
	struct statement *statement = arg;
	assert_null(err);
	statement->done = true;
}

/* On the connection that writes: pragmas hold for it alone. */
static void
sql(const char *text)
{
	struct statement statement = {text, false};
	store_write(cores.core[0]->store, run_statement, statement_ran, &statement);
	until(statement.done);
}

static void
keep_event(void *arg, const json_t *event)
{
	(void)json_array_append_new(arg, json_deep_copy(event));
}

static size_t
count(const json_t *events, const char *kind)
{
	size_t i, found = 0;
	json_t *event;
	json_array_foreach(events, i, event)
		found += strcmp(commands_text(event, "kind"), kind) == 0;
	return found;
}

static const json_t *
last(const json_t *events)
{
	return json_array_get(events, json_array_size(events) - 1);
}

static int
submit_much(void)
{
	AUTO_FREE char *code = xmalloc(900001);
	memset(code, ' ', 900000);
	code[900000] = '\0';
	return cores_run(0, "ada", "submit",
		json_pack("{s:o, s:s, s:s}", "file", commands_file("a.cpp", code), "leaderboard", "arena", "mode", "test"));
}

static void
serve(void)
{
	cores_close(0);
	cores_make(0, true);
	cores_must(0, "ada", "leaderboard.list", json_object());
}

/* Told at once, stored when that is possible, and to admins alone. */
static void
test_full(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	uint64_t id = 0, other = 0;
	AUTO_JSON json_t *admin = cores_actor("owner"), *user = cores_actor("ada"), *filter = json_object();
	AUTO_JSON json_t *seen = json_array(), *nothing = json_array();
	serve();
	cores_must(0, "ada", "submit", cores_file("arena")); /* so ada is a user */
	assert_int_equal(cores_subscribe(cores.core[0], admin, filter, -1, keep_event, seen, &id, &err), 0);
	assert_int_equal(cores_subscribe(cores.core[0], user, filter, -1, keep_event, nothing, &other, &err), 0);
	cores_must(0, "owner", "admin.pause", json_object());
	cores_must(0, "owner", "admin.resume", json_object());
	until(count(seen, "admin.accepting") == 2);
	sql("CREATE TEMP TRIGGER full BEFORE INSERT ON main.events WHEN NEW.kind = 'storage.full' BEGIN SELECT "
		"raise(ABORT, "
		"'no room'); END");
	sql("PRAGMA max_page_count = 1"); /* no more than there are */
	assert_int_equal(submit_much(), KETTLE_EIO);
	assert_says(&cores_answer.err, "is full: nothing was stored");
	until(count(seen, "storage.full") == 1);
	const json_t *live = last(seen);
	assert_non_null(strstr(commands_text(live, "data.error"), "is full"));
	assert_null(json_object_get(live, "seq"));
	/* A small write, which finds room, does not make the server ready. */
	const json_t *ready = cores_must(0, "web", "engine.ready", json_object());
	assert_true(json_is_false(commands_at(ready, "ready")));
	assert_string_equal(commands_text(ready, "checks.1.name"), "store");
	assert_string_equal(commands_text(ready, "checks.1.code"), kettle_error_name(KETTLE_EIO));
	assert_string_equal(commands_text(ready, "checks.1.error"), commands_text(live, "data.error"));
	/* The next failure is no news. */
	assert_int_equal(submit_much(), KETTLE_EIO);
	cores_pass(2 * STORAGE_TRY_MS);
	assert_non_null(cores.core[0]->storage.data);
	assert_int_equal(count(seen, "storage.full"), 1);
	sql("PRAGMA max_page_count = 1073741823");
	sql("DROP TRIGGER full");
	cores_pass(STORAGE_TRY_MS);
	assert_int_equal(count(seen, "storage.ok"), 1);
	assert_int_equal(count(seen, "storage.full"), 2);
	assert_true(commands_number(last(seen), "seq") > 0);
	assert_string_equal(commands_text(last(seen), "data.since"), commands_text(live, "data.since"));
	until(!cores.core[0]->storage.data);
	assert_int_equal(submit_much(), 0);
	until(count(nothing, "submission.accepted") == 1);
	assert_int_equal(count(nothing, "storage.full") + count(nothing, "storage.ok"), 0);
	assert_int_equal(core_unsubscribe(cores.core[0], id, NULL, NULL), 0);
	assert_int_equal(core_unsubscribe(cores.core[0], other, NULL, NULL), 0);
}

/* The end does not wait for room; nor does a process that is no server tell anything. */
static void
test_ends_full(void **state)
{
	(void)state;
	sql("PRAGMA max_page_count = 1");
	assert_int_equal(submit_much(), KETTLE_EIO);
	assert_null(cores.core[0]->storage.data);
	serve();
	sql("PRAGMA max_page_count = 1");
	assert_int_equal(submit_much(), KETTLE_EIO);
	assert_non_null(cores.core[0]->storage.data);
	cores_close(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)
static const struct CMUnitTest tests[] = {TEST(test_full), TEST(test_ends_full)};

UNIT_TESTS(test_storage_watch, .words = "waiting");
