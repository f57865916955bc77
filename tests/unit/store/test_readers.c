/* SPDX-License-Identifier: MIT */
/* Connections that stay open between reads: which one is taken, how many are kept, and when none is. */
#include <config.h>

#include "unit/store_fixture.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "store/readers.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

/* How many files of this process lie in the folder. */
static size_t
open_files(const char *folder)
{
	size_t count = 0;
	DIR *list = opendir("/proc/self/fd");
	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));) {
		char target[4096];
		ssize_t got = readlinkat(dirfd(list), entry->d_name, target, sizeof(target) - 1);
		target[got > 0 ? got : 0] = '\0';
		count += strncmp(target, folder, strlen(folder)) == 0;
	}
	(void)closedir(list);
	return count;
}

static struct db *
take(struct readers *readers)
{
	struct db *db = NULL;
	struct kettle_error err = {0};
	if (readers_take(readers, &db, &err) < 0)
		fail_msg("%s", err.message);
	return db;
}

static int64_t
count_settings(struct db *db)
{
	int64_t count = 0;
	assert_int_equal(db_int(db, &count, NULL, "SELECT count(*) FROM settings WHERE key LIKE 'test%'", NULL), 0);
	return count;
}

static void
test_kept(void **state)
{
	(void)state;
	struct fixture f;
	struct readers readers;
	fixture_open(&f);
	readers_init(&readers, f.path);
	struct db *db = take(&readers);
	assert_int_equal(count_settings(db), 0);
	const struct db_statement *prepared = db->statements;
	assert_non_null(prepared);
	readers_give(&readers, db);
	/* The same one, with its statements, sees what was written since. */
	fixture_sql(&f, "INSERT INTO settings (key, value_json) VALUES ('test', '1')");
	assert_ptr_equal(take(&readers), db);
	assert_int_equal(count_settings(db), 1);
	assert_ptr_equal(db->statements, prepared);
	/* One that is in a transaction still is not kept. */
	assert_int_equal(db_exec(db, NULL, "BEGIN", NULL), 0);
	readers_give(&readers, db);
	assert_int_equal(readers.count, 0);
	readers_free(&readers);
	fixture_close(&f);
}

static void
test_bounded(void **state)
{
	(void)state;
	struct fixture f;
	struct readers readers;
	struct db *taken[READERS_IDLE_MAX + 2];
	fixture_open(&f);
	readers_init(&readers, f.path);
	size_t before = open_files(f.dir);
	for (size_t i = 0; i < READERS_IDLE_MAX + 2; i++)
		(void)count_settings(taken[i] = take(&readers));
	for (size_t i = 0; i < READERS_IDLE_MAX + 2; i++)
		readers_give(&readers, taken[i]);
	assert_int_equal(readers.count, READERS_IDLE_MAX);
	/* After the end each is closed, but still serves who takes one. */
	struct db *late = take(&readers);
	readers_close(&readers);
	assert_int_equal(readers.count, 0);
	assert_int_equal(count_settings(late), 0);
	readers_give(&readers, late);
	readers_give(&readers, take(&readers));
	assert_int_equal(readers.count, 0);
	readers_free(&readers);
	/* SQLite closes the files of a database with its last connection there, since to close one loses its locks. */
	fixture_stop(&f);
	assert_true(before > 0);
	assert_int_equal(open_files(f.dir), 0);
	fixture_close(&f);
}

/* The place of a database that was moved is read anew. */
static void
test_moved(void **state)
{
	(void)state;
	struct fixture f;
	struct readers readers;
	fixture_open(&f);
	readers_init(&readers, f.path);
	struct db *db = take(&readers);
	assert_int_equal(count_settings(db), 0);
	readers_give(&readers, db);
	fixture_sql(&f, "INSERT INTO settings (key, value_json) VALUES ('test', '1')");
	fixture_stop(&f);
	AUTO_FREE char *moved = xasprintf("%s.moved", f.path);
	assert_int_equal(rename(f.path, moved), 0);
	fixture_database(f.path);
	db = take(&readers);
	assert_int_equal(count_settings(db), 0);
	readers_give(&readers, db);
	assert_int_equal(readers.count, 1);
	readers_free(&readers);
	assert_int_equal(open_files(f.dir), 0);
	fixture_close(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_kept),
	cmocka_unit_test(test_bounded),
	cmocka_unit_test(test_moved),
};

UNIT_TESTS(test_readers, .words = "tsan");
