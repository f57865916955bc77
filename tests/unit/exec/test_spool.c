/* SPDX-License-Identifier: MIT */
/* The spool of a kettle-exec: a folder for each job, apart from each other on disk, and none after its end. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/machine/machine.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static void
has_a_folder_for_each_job(void **state)
{
	struct spool spool;
	AUTO_FREE char *first = NULL, *second = NULL;
	assert_int_equal(spool_open(&spool, *state, NULL), 0);
	assert_int_equal(spool_make(&spool, "job-", &first, NULL), 0);
	assert_int_equal(spool_make(&spool, "job-", &second, NULL), 0);
	assert_string_not_equal(first, second);
	AUTO_FREE char *dir = path_join(spool.dir, "lock");
	assert_int_equal(access(first, F_OK) + access(second, F_OK) + access(dir, F_OK), 0);
	spool_close(&spool);
	assert_int_not_equal(access(first, F_OK), 0);
	assert_int_not_equal(access(dir, F_OK), 0);
}

/* 0: the file system has no such flag. */
static int
add_flag(const char *path, int flag)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;
	assert_true(fd >= 0);
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return 0;
	flags |= flag;
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return 0;
	return flags & flag;
}

static int
flag_of(const char *path, int flag)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;
	return fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 ? flags & flag : 0;
}

/* Where the file system can do that at all. */
static void
lays_jobs_out_apart(void **state)
{
	struct spool spool;
	assert_int_equal(spool_open(&spool, *state, NULL), 0);
	int found = flag_of(spool.dir, FS_TOPDIR_FL);
	AUTO_FREE char *other = path_join(*state, "other");
	assert_int_equal(file_mkdirs(other, 0700, NULL), 0);
	assert_int_equal(found, add_flag(other, FS_TOPDIR_FL));
	spool_close(&spool);
}

static int
setup(void **state)
{
	*state = scratch_make();
	return 0;
}

static int
teardown(void **state)
{
	scratch_remove(*state);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(has_a_folder_for_each_job, setup, teardown),
	cmocka_unit_test_setup_teardown(lays_jobs_out_apart, setup, teardown),
};

UNIT_TESTS(test_spool);
