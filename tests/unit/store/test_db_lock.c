/* SPDX-License-Identifier: MIT */
/* DB.lock: one holder at a time, whatever the file says. */
#include <config.h>

#include "store/db_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static char *dir;
static struct kettle_error err;

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	err = (struct kettle_error){0};
	return dir ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static void
test_one_holder(void **state)
{
	(void)state;
	AUTO_FREE char *database = path_join(dir, "new/folder/k.db");
	int fd = -1, other = -1;
	struct lock_holder holder = {0};
	struct stat info;
	assert_int_equal(db_lock_take(database, true, &fd, &holder, &err), 0);
	assert_true(fd >= 0);
	AUTO_FREE char *folder = path_join(dir, "new/folder");
	assert_int_equal(stat(folder, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	assert_int_equal(db_lock_take(database, false, &other, &holder, &err), KETTLE_ECONFLICT);
	assert_int_equal(holder.pid, getpid());
	assert_true(holder.is_server);
	assert_int_equal(other, -1);
	assert_non_null(strstr(err.message, database));
	assert_int_equal(db_lock_take(database, false, &other, NULL, &err), KETTLE_ECONFLICT);
	close(fd);
	assert_int_equal(db_lock_take(database, false, &fd, &holder, &err), 0);
	assert_int_equal(db_lock_take(database, true, &other, &holder, &err), KETTLE_ECONFLICT);
	assert_false(holder.is_server);
	close(fd);
}

/* What died holds nothing, and is not named as the holder. */
static void
test_dead_holder(void **state)
{
	(void)state;
	AUTO_FREE char *database = path_join(dir, "k.db");
	AUTO_FREE char *file = path_join(dir, "k.db.lock");
	int fd = -1, other = -1;
	struct lock_holder holder = {.pid = 1};
	pid_t child = fork();
	if (child == 0)
		_exit(db_lock_take(database, true, &fd, NULL, &err) == 0 ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(db_lock_take(database, false, &fd, NULL, &err), 0);
	char text[64];
	(void)snprintf(text, sizeof(text), "%ld serve\n", (long)child);
	assert_int_equal(file_write(file, text, strlen(text), 0600, NULL), 0);
	if (db_lock_take(database, false, &other, &holder, &err) == 0) {
		/* The file was replaced: then the lock was too, and nothing is told at all. */
		close(other);
	} else {
		assert_int_equal(holder.pid, 0);
		assert_false(holder.is_server);
	}
	close(fd);
}

static void
test_words(void **state)
{
	(void)state;
	static const char *const words[] = {"", "x\n", "-5\n", "0 serve\n", "99999999999999999999\n"};
	AUTO_FREE char *database = path_join(dir, "k.db");
	AUTO_FREE char *file = path_join(dir, "k.db.lock");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int fd = -1, other = -1;
		struct lock_holder holder = {.pid = 1};
		assert_int_equal(db_lock_take(database, false, &fd, NULL, &err), 0);
		FILE *to = fopen(file, "w");
		assert_non_null(to);
		(void)fputs(words[i], to);
		(void)fclose(to);
		assert_int_equal(db_lock_take(database, false, &other, &holder, &err), KETTLE_ECONFLICT);
		assert_int_equal(holder.pid, 0);
		close(fd);
	}
}

static void
test_impossible(void **state)
{
	(void)state;
	int fd = -1;
	AUTO_FREE char *file = scratch_write(dir, "file", "x");
	AUTO_FREE char *below = path_join(file, "k.db");
	AUTO_FREE char *database = path_join(dir, "k.db");
	AUTO_FREE char *link = path_join(dir, "k.db.lock");
	assert_true(db_lock_take(below, false, &fd, NULL, &err) < 0);
	assert_true(err.message[0]);
	/* Somebody else's file is not locked and not written. */
	assert_int_equal(symlink(file, link), 0);
	assert_int_equal(db_lock_take(database, false, &fd, NULL, &err), KETTLE_EIO);
	assert_non_null(strstr(err.message, "k.db.lock"));
	assert_int_equal(fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_one_holder),
	TEST(test_dead_holder),
	TEST(test_words),
	TEST(test_impossible),
};

UNIT_TESTS(test_db_lock);
