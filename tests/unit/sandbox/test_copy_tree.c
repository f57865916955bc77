/* SPDX-License-Identifier: MIT */
/* Copying over what is there already: every kind of file over every other. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"
#include "sandbox/copy_tree.h"
#include "unit/scratch.h"

static const mode_t kinds[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR};

/* Something of a kind that is called `name`; a folder has a file in it. False: only root can make it. */
static bool
make(const char *folder, const char *name, mode_t kind, const char *text)
{
	AUTO_FREE char *path = path_join(folder, name);
	if (kind == S_IFDIR) {
		assert_int_equal(mkdir(path, 0700), 0);
		AUTO_FREE char *file = path_join(path, text);
		return file_write(file, text, strlen(text), 0600, NULL) == 0;
	}
	if (kind == S_IFREG)
		return file_write(path, text, strlen(text), 0600, NULL) == 0;
	if (kind == S_IFLNK)
		return symlink(text, path) == 0;
	return mknod(path, kind | 0600, makedev(0, 0)) == 0;
}

static mode_t
kind_of(const char *folder, const char *name)
{
	AUTO_FREE char *path = path_join(folder, name);
	struct stat st;
	return lstat(path, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

/* Copies what is of one kind over what is of another, beside a file of its own. */
static void
copy_over(const char *scratch, mode_t source, mode_t target)
{
	AUTO_FREE char *from = path_join(scratch, "from"), *to = path_join(scratch, "to");
	assert_int_equal(mkdir(from, 0700) || mkdir(to, 0700), 0);
	if (make(from, "k", source, "new") && make(to, "k", target, "old")) {
		assert_true(make(from, "beside", S_IFREG, "new"));
		assert_int_equal(copy_tree(from, to, -1), 0);
		assert_int_equal(kind_of(to, "k"), target);
		assert_int_equal(kind_of(to, "beside"), S_IFREG);
		assert_int_equal(kind_of(to, "k/old"), target == S_IFDIR ? S_IFREG : 0);
		assert_int_equal(kind_of(to, "k/new"), target == S_IFDIR && source == S_IFDIR ? S_IFREG : 0);
	} else {
		assert_int_not_equal(geteuid(), 0);
	}
	assert_int_equal(file_remove_tree(from, NULL) || file_remove_tree(to, NULL), 0);
}

static void
keeps_what_is_there(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	/* A tree has files, folders and links. */
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			copy_over(scratch, kinds[i], kinds[k]);
	scratch_remove(scratch);
}

static void
copies_no_other_kind(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *from = path_join(scratch, "from"), *to = path_join(scratch, "to");
	assert_int_equal(mkdir(from, 0700) || mkdir(to, 0700), 0);
	assert_true(make(from, "k", S_IFIFO, ""));
	assert_int_equal(copy_tree(from, to, -1), -1);
	assert_int_equal(errno, EINVAL);
	scratch_remove(scratch);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(keeps_what_is_there),
	cmocka_unit_test(copies_no_other_kind),
};

UNIT_TESTS(test_copy_tree);
