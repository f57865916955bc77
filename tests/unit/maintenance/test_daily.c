/* SPDX-License-Identifier: MIT */
/* What a server removes by itself: ten minutes after its start, and then once a day. */
#include <config.h>

#include "unit/core_fixture.h"

#include "lib/unit_test.h"
#include "maintenance/maintenance.h"

static int64_t count;
static bool done;

static int
add_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(db, err, "INSERT INTO links (hash, expires_at) VALUES ('old', 1)", "");
}

static int
count_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_int(db, &count, err, "SELECT count(*) FROM links", "");
}

static void
on_done(void *arg, const struct kettle_error *err)
{
	(void)arg;
	if (err)
		fail_msg("%s", err->message);
	done = true;
}

/* A link that has expired. */
static void
add_old(void)
{
	done = false;
	store_write(cores.core[0]->store, add_op, on_done, NULL);
	until(done);
}

static bool
is_there(void)
{
	done = false;
	store_read(cores.core[0]->store, count_op, on_done, NULL);
	until(done);
	return count > 0;
}

static void
test_daily(void **state)
{
	(void)state;
	cores_close(0);
	cores_make(0, true);
	cores_must(0, "ada", "leaderboard.list", json_object());
	add_old();
	cores_pass(GC_FIRST_MS / 2);
	assert_true(is_there());
	cores_pass(GC_FIRST_MS / 2);
	until(!cores.core[0]->maintenance.gc);
	assert_false(is_there());
	add_old();
	cores_pass(GC_EVERY_MS - GC_FIRST_MS);
	assert_true(is_there());
	cores_pass(GC_FIRST_MS);
	until(!cores.core[0]->maintenance.gc);
	assert_false(is_there());
}

/* A command line removes nothing by itself. */
static void
test_command_line(void **state)
{
	(void)state;
	add_old();
	cores_pass(2 * GC_FIRST_MS);
	assert_true(is_there());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)
static const struct CMUnitTest tests[] = {TEST(test_daily), TEST(test_command_line)};

UNIT_TESTS(test_daily);
