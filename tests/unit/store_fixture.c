/* SPDX-License-Identifier: MIT */
/* A database in a temporary folder, for tests: operations run as in the engine, waited for. */
#include <config.h>

#include "unit/store_fixture.h"

#include "base/file.h"
#include "base/times.h"

#include <stdlib.h>
#include <string.h>

#define DATABASE_BYTES_MAX (16U << 20) /* of an empty one */

struct wait {
	bool done;
	struct kettle_error err;
};

static void
on_events(void *arg, const json_t *events)
{
	struct fixture *fixture = arg;
	assert_true(json_array_size(events) > 0);
	assert_int_equal(json_array_extend(fixture->events, (json_t *)events), 0);
}

static void
on_done(void *arg, const struct kettle_error *err)
{
	struct wait *wait = arg;
	assert_false(wait->done);
	wait->done = true;
	if (err)
		wait->err = *err;
}

static void
on_closed(void *arg)
{
	*(bool *)arg = true;
}

void
fixture_folder(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	strcpy(fixture->dir, "/tmp/kettle-test-XXXXXX");
	assert_non_null(mkdtemp(fixture->dir));
	(void)snprintf(fixture->path, sizeof(fixture->path), "%s/kettle.db", fixture->dir);
	assert_int_equal(uv_loop_init(&fixture->loop), 0);
	clock_simulate(&fixture->clock, time_now_ms());
	fixture->events = json_array();
}

int
fixture_store(struct fixture *fixture, struct kettle_error *err)
{
	return store_open(
		&fixture->loop, &fixture->clock, fixture->path, "owner", on_events, fixture, &fixture->store, err);
}

void
fixture_database(const char *path)
{
	static char *made;
	static size_t size;
	struct kettle_error err = {0};
	if (!made) {
		struct fixture first;
		fixture_folder(&first);
		if (fixture_store(&first, &err) < 0)
			fail_msg("%s", err.message);
		fixture_stop(&first);
		assert_int_equal(file_read(first.path, DATABASE_BYTES_MAX, &made, &size, &err), 0);
		fixture_close(&first);
	}
	assert_int_equal(file_write(path, made, size, 0600, &err), 0);
}

void
fixture_open(struct fixture *fixture)
{
	struct kettle_error err = {0};
	fixture_folder(fixture);
	fixture_database(fixture->path);
	if (fixture_store(fixture, &err) < 0)
		fail_msg("%s", err.message);
}

void
fixture_stop(struct fixture *fixture)
{
	fixture->closed = false;
	store_close(fixture->store, on_closed, &fixture->closed);
	while (!fixture->closed)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	fixture->store = NULL;
}

void
fixture_close(struct fixture *fixture)
{
	if (fixture->store)
		fixture_stop(fixture);
	while (uv_run(&fixture->loop, UV_RUN_NOWAIT))
		;
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	json_decref(fixture->events);
	assert_int_equal(file_remove_tree(fixture->dir, NULL), 0);
}

typedef void (*queue_fn)(struct store *store, store_op op, store_done done, void *arg);

struct call {
	store_op op;
	void *arg;
	struct wait wait;
};

static int
call_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return call->op(db, call->arg, err);
}

static void
call_done(void *arg, const struct kettle_error *err)
{
	on_done(&((struct call *)arg)->wait, err);
}

static int
run(struct fixture *fixture, queue_fn queue, store_op op, void *arg, struct kettle_error *err)
{
	struct call call = {.op = op, .arg = arg};
	queue(fixture->store, call_op, call_done, &call);
	while (!call.wait.done)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	if (err)
		*err = call.wait.err;
	return call.wait.err.code;
}

int
fixture_write(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err)
{
	return run(fixture, store_write, op, arg, err);
}

int
fixture_read(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err)
{
	return run(fixture, store_read, op, arg, err);
}

int
fixture_query(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err)
{
	return run(fixture, store_query, op, arg, err);
}

struct integer {
	const char *sql;
	int64_t value;
};

static int
integer_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct integer *integer = arg;
	return db_int(db, &integer->value, err, integer->sql, NULL);
}

int64_t
fixture_int(struct fixture *fixture, const char *sql)
{
	struct integer integer = {.sql = sql};
	struct kettle_error err = {0};
	if (fixture_query(fixture, integer_op, &integer, &err) < 0)
		fail_msg("%s: %s", sql, err.message);
	return integer.value;
}

static int
sql_op(struct db *db, void *arg, struct kettle_error *err)
{
	char *message = NULL;
	if (sqlite3_exec(db->handle, arg, NULL, NULL, &message) == SQLITE_OK)
		return 0;
	(void)kettle_fail(err, KETTLE_EINTERNAL, "%s", message);
	sqlite3_free(message);
	return KETTLE_EINTERNAL;
}

void
fixture_sql(struct fixture *fixture, const char *sql)
{
	struct kettle_error err = {0};
	if (fixture_write(fixture, sql_op, (void *)sql, &err) < 0)
		fail_msg("%s: %s", sql, err.message);
}

size_t
fixture_events(const struct fixture *fixture, const char *kind)
{
	size_t count = 0, i;
	json_t *event;
	json_array_foreach(fixture->events, i, event)
		count += strcmp(json_string_value(json_object_get(event, "kind")), kind) == 0;
	return count;
}

const json_t *
fixture_event(const struct fixture *fixture, const char *kind)
{
	const json_t *found = NULL;
	size_t i;
	json_t *event;
	json_array_foreach(fixture->events, i, event)
		if (strcmp(json_string_value(json_object_get(event, "kind")), kind) == 0)
			found = event;
	return found;
}

void
assert_says(const struct kettle_error *err, const char *word)
{
	if (!strstr(err->message, word))
		fail_msg("\"%s\" does not say \"%s\"", err->message, word);
}
