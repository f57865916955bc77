/* SPDX-License-Identifier: MIT */
/* Copies of a database have names of their own on remote sides; the same file, moved or not, keeps its own. */
#include <config.h>

#include "unit/command_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/remote_names.h"
#include "store/backup.h"
#include "store/db_file.h"

COMMANDS_FIXTURE_SET_UP_BY_FILE
static struct remote_names names;

static int
load_op(struct db *db, void *arg, struct kettle_error *err)
{
	return remote_names_load(db, arg, err);
}

static int
renew_op(struct db *db, void *arg, struct kettle_error *err)
{
	return remote_names_renew(db, arg, err);
}

static int
confirm_op(struct db *db, void *arg, struct kettle_error *err)
{
	return remote_names_confirm(db, arg, err);
}

/* As an engine starts. */
static void
begin(void)
{
	assert_int_equal(fixture_write(&c.f, load_op, &names, NULL), 0);
	assert_int_equal(fixture_write(&c.f, confirm_op, &names, NULL), 0);
}

/* Long enough for the next start to have a new epoch. */
static void
let_time_pass(void)
{
	fixture_sql(&c.f, "UPDATE settings SET value_json = json_set(value_json, '$.at', 5) WHERE key = 'remote_place'");
}

static void
stop(void)
{
	fixture_stop(&c.f);
}

static void
open_again(const char *path)
{
	struct kettle_error err = {0};
	(void)snprintf(c.f.path, sizeof(c.f.path), "%s", path);
	if (fixture_store(&c.f, &err) < 0)
		fail_msg("%s", err.message);
	begin();
}

/* Copies a file, over one that is there. */
static void
copy(const char *from, const char *to)
{
	AUTO_FREE char *data = NULL;
	size_t size;
	assert_int_equal(file_read(from, 64 << 20, &data, &size, NULL), 0);
	AUTO_FILE FILE *file = fopen(to, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
}

static char *
beside(const char *name)
{
	return path_join(c.f.dir, name);
}

/* A job that ran on a remote side. */
static void
add_running(void)
{
	(void)commands_submit(&c, "alice", "arena", "test");
	fixture_sql(&c.f,
		"UPDATE jobs SET state = 'running', attempt = 1, handle = 'remote-7', runner = 'github', plan_hash "
		"= 'abc'");
}

static int64_t
handles(void)
{
	return fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE handle = 'remote-7'");
}

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", NULL);
	begin();
	assert_int_equal(strlen(names.prefix), 8);
	assert_false(names.copied);
	add_running();
	return 0;
}

static void
test_same(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *first = xstrdup(names.database_epoch);
	for (int i = 0; i < 3; i++) {
		stop();
		open_again(path);
		assert_string_equal(names.prefix, prefix);
		assert_string_equal(names.database_epoch, "");
	}
	let_time_pass();
	stop();
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	assert_true(*names.database_epoch && strcmp(names.database_epoch, first) != 0);
	assert_int_equal(handles(), 1);
}

static void
test_moved(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix);
	AUTO_FREE char *to = beside("moved.db"), *epoch = xasprintf("%s.mark", to), *old = xasprintf("%s.mark", path);
	stop();
	assert_int_equal(rename(path, to), 0);
	open_again(to);
	assert_string_equal(names.prefix, prefix);
	/* Back, with its epoch. */
	let_time_pass();
	stop();
	open_again(to);
	stop();
	assert_int_equal(rename(to, path), 0);
	assert_int_equal(rename(epoch, old), 0);
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	assert_int_equal(handles(), 1);
}

static void
check_copied(const char *prefix)
{
	assert_true(names.copied);
	assert_int_equal(strlen(names.prefix), 8);
	assert_string_not_equal(names.prefix, prefix);
	assert_int_equal(names.released, 1);
	assert_int_equal(handles(), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE state = 'running'"), 1);
}

static void
test_copied(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *to = beside("copy.db");
	AUTO_FREE char *epoch = xasprintf("%s.mark", path), *copied_mark = xasprintf("%s.mark", to);
	stop();
	copy(path, to);
	copy(epoch, copied_mark);
	open_again(to);
	check_copied(prefix);
	/* It keeps its own names, and the original its own. */
	AUTO_FREE char *own = xstrdup(names.prefix);
	stop();
	open_again(to);
	assert_string_equal(names.prefix, own);
	assert_false(names.copied);
	stop();
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	assert_int_equal(handles(), 1);
}

/* An older copy takes the place of the file, which keeps its number. */
static void
test_put_back(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *older = beside("older.db");
	let_time_pass();
	stop();
	copy(path, older);
	open_again(path);
	assert_true(*names.database_epoch);
	stop();
	copy(older, path);
	open_again(path);
	check_copied(prefix);
}

/* The same where one engine went on after the copy. */
static void
test_put_back_later(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *older = beside("older.db");
	stop();
	copy(path, older);
	open_again(path);
	assert_string_equal(names.database_epoch, "");
	assert_int_equal(fixture_write(&c.f, renew_op, &names, NULL), 0);
	assert_true(*names.database_epoch);
	assert_int_equal(fixture_write(&c.f, confirm_op, &names, NULL), 0);
	stop();
	open_again(path);
	assert_false(names.copied);
	stop();
	copy(older, path);
	open_again(path);
	check_copied(prefix);
}

/* A crash between the epoch in the file and its commit, and one before the confirmation. */
static void
test_crashes(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *older = beside("older.db");
	let_time_pass();
	stop();
	copy(path, older);
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(&c.f, &err), 0);
	assert_int_equal(fixture_write(&c.f, load_op, &names, NULL), 0);
	stop();
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	let_time_pass();
	stop();
	copy(path, older);
	assert_int_equal(fixture_store(&c.f, &err), 0);
	assert_int_equal(fixture_write(&c.f, load_op, &names, NULL), 0);
	stop();
	copy(older, path);
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	assert_int_equal(handles(), 1);
}

static void
test_backup(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *to = beside("backup.db");
	sqlite3 *handle = NULL;
	int64_t bytes = 0;
	assert_int_equal(db_file_open_reader(path, &handle, &err), 0);
	assert_int_equal(backup_make(handle, to, NULL, NULL, &bytes, &err), 0);
	(void)sqlite3_close(handle);
	/* In the original's place, at once. */
	stop();
	copy(to, path);
	open_again(path);
	assert_string_not_equal(names.prefix, prefix);
	assert_int_equal(names.released, 1);
	assert_int_equal(handles(), 0);
}

/* Without an epoch the numbers of file and disk decide. */
static void
test_no_mark(void **state)
{
	(void)state;
	AUTO_FREE char *path = xstrdup(c.f.path), *prefix = xstrdup(names.prefix), *epoch = xasprintf("%s.mark", path);
	let_time_pass();
	stop();
	assert_int_equal(unlink(epoch), 0);
	assert_int_equal(mkdir(epoch, 0700), 0);
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	assert_string_equal(names.database_epoch, "");
	stop();
	open_again(path);
	assert_string_equal(names.prefix, prefix);
	fixture_sql(
		&c.f, "UPDATE settings SET value_json = json_set(value_json, '$.device', 5) WHERE key = 'remote_place'");
	stop();
	open_again(path);
	check_copied(prefix);
	assert_int_equal(rmdir(epoch), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_same, setup, teardown),
	cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
	cmocka_unit_test_setup_teardown(test_copied, setup, teardown),
	cmocka_unit_test_setup_teardown(test_put_back, setup, teardown),
	cmocka_unit_test_setup_teardown(test_put_back_later, setup, teardown),
	cmocka_unit_test_setup_teardown(test_crashes, setup, teardown),
	cmocka_unit_test_setup_teardown(test_backup, setup, teardown),
	cmocka_unit_test_setup_teardown(test_no_mark, setup, teardown),
};

UNIT_TESTS(test_remote_names);
