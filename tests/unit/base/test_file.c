/* SPDX-License-Identifier: MIT */
/* Files: bounded reads, whole writes, and trees that are hard to remove. */
#include <config.h>

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/installed.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static int
setup(void **state)
{
	*state = scratch_make();
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	scratch_remove(*state);
	return 0;
}

static bool
exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static void
expect_way(const char *from, const char *to, const char *way)
{
	AUTO_FREE char *found = installed_relative_path(from, to);
	assert_string_equal(found, way);
}

static void
test_installed(void **state)
{
	(void)state;
	expect_way("/usr/local/bin", "/usr/local/lib/kettle", "../lib/kettle");
	expect_way("/usr/bin", "/etc/kettle/kettle.yml", "../../etc/kettle/kettle.yml");
	expect_way("/opt/x/bin", "/opt/x/bin/kettle", "kettle");
	expect_way("/opt/x//bin/", "//opt/x/binaries", "../binaries");
	expect_way("/opt/x/bin", "/opt", "../..");
	expect_way("/bin", "/bin", "");
	expect_way("/", "/lib", "lib");
	/* This program is no part of an installation: what is not near it is not taken from where configure said. */
	AUTO_FREE char *program = path_program_dir(), *above = path_above(program, 1);
	AUTO_FREE char *beside = path_join(program, "none"), *there = installed_path("x", KETTLE_BIN_DIR "/none");
	assert_string_equal(there, beside);
	AUTO_FREE char *up = path_join(above, "none"), *bin_up = path_above(KETTLE_BIN_DIR, 1);
	AUTO_FREE char *configured = path_join(bin_up, "none"), *moved = installed_path("x", configured);
	assert_string_equal(moved, up);
}

static void
test_read(void **state)
{
	AUTO_FREE char *path = scratch_write(*state, "f", "hello"), *data = NULL, *proc = NULL;
	AUTO_FREE char *fifo = path_join(*state, "fifo"), *link = path_join(*state, "link"),
				   *none = path_join(*state, "none");
	struct kettle_error err = {0};
	size_t size = 0;
	assert_int_equal(file_read(path, 5, &data, &size, &err), 0);
	assert_int_equal(size, 5);
	assert_string_equal(data, "hello");
	char *other = NULL;
	assert_int_equal(file_read(path, 4, &other, &size, &err), KETTLE_ETOOBIG);
	assert_non_null(strstr(err.message, "larger than the 4 bytes allowed"));
	assert_int_equal(file_read(*state, 100, &other, &size, &err), KETTLE_EINVAL);
	assert_int_equal(file_read("/dev/zero", 100, &other, &size, &err), KETTLE_EINVAL);
	assert_int_equal(file_read(none, 100, &other, &size, &err), KETTLE_ENOENT);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(file_read(fifo, 100, &other, &size, &err), KETTLE_EINVAL);
	assert_null(other);
	/* A file of /proc says that it has no bytes. */
	assert_int_equal(file_read("/proc/self/status", 100000, &proc, &size, &err), 0);
	assert_true(size > 100);
	assert_int_equal(file_read("/proc/self/status", 10, &other, &size, &err), KETTLE_ETOOBIG);
	assert_int_equal(symlink(path, link), 0);
	AUTO_FD int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(file_read_at(dir, "link", 100, &other, &size, &err), KETTLE_EINVAL);
	assert_int_equal(file_read_at(dir, "f", 100, &other, &size, &err), 0);
	free(other);
	free(scratch_write(*state, "empty", ""));
	assert_int_equal(file_read_at(dir, "empty", 0, &other, &size, &err), 0);
	assert_int_equal(size, 0);
	free(other);
}

static void
test_write(void **state)
{
	AUTO_FREE char *path = path_join(*state, "f"), *deep = path_join(*state, "no/f");
	struct kettle_error err = {0};
	struct stat st;
	assert_int_equal(file_write(path, "one", 3, 0640, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(file_write(path, "longer", 6, 0600, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(file_write(deep, "x", 1, 0600, &err), KETTLE_ENOENT);
	/* A folder cannot be replaced by a file, and nothing stays behind. */
	assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
	assert_int_equal(file_write(deep, "x", 1, 0600, &err), KETTLE_EIO);
	AUTO_FREE char *folder = path_join(*state, "no");
	assert_int_equal(rmdir(deep), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void
test_mkdirs(void **state)
{
	AUTO_FREE char *deep = path_join(*state, "a//b/c/"), *file = scratch_write(*state, "f", "");
	AUTO_FREE char *below = path_join(*state, "f/g"), *b = path_join(*state, "a/b");
	struct kettle_error err = {0};
	assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
	assert_int_equal(file_mkdirs(deep, 0700, &err), 0);
	assert_int_equal(file_mkdirs("/", 0700, &err), 0);
	assert_true(exists(b));
	assert_int_equal(file_mkdirs(file, 0700, &err), KETTLE_ECONFLICT);
	assert_int_equal(file_mkdirs(below, 0700, &err), KETTLE_ECONFLICT);
	assert_non_null(strstr(err.message, "a file has that name"));
}

static void
test_remove_simple(void **state)
{
	AUTO_FREE char *none = path_join(*state, "none"), *file = scratch_write(*state, "f", "x");
	AUTO_FREE char *link = path_join(*state, "link"), *tree = path_join(*state, "t"), *inner = path_join(*state, "t/l");
	struct kettle_error err = {0};
	assert_int_equal(file_remove_tree(none, &err), 0);
	/* Links go, what they point to stays. */
	assert_int_equal(symlink(file, link), 0);
	assert_int_equal(file_remove_tree(link, &err), 0);
	assert_false(exists(link));
	assert_true(exists(file));
	assert_int_equal(file_mkdirs(tree, 0700, &err), 0);
	assert_int_equal(symlink(*state, inner), 0);
	assert_int_equal(file_remove_tree(tree, &err), 0);
	assert_false(exists(tree));
	assert_true(exists(file));
	assert_int_equal(file_remove_tree(file, &err), 0);
	assert_false(exists(file));
}

/* Deeper than paths are long and descriptors are many. */
static void
test_remove_deep(void **state)
{
	AUTO_FREE char *tree = path_join(*state, "t");
	assert_int_equal(mkdir(tree, 0700), 0);
	AUTO_FD int at = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(mkdirat(at, "a_name_of_some_length", 0700), 0);
		assert_int_equal(mkdirat(at, ".removed-0", 0700), 0);
		int next = openat(at, "a_name_of_some_length", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	struct kettle_error err = {0};
	if (file_remove_tree(tree, &err) != 0)
		fail_msg("%s", err.message);
	assert_false(exists(tree));
}

/* Folders that their owner locked, as a submission may. */
static void
test_remove_locked(void **state)
{
	AUTO_FREE char *tree = path_join(*state, "t"), *b = path_join(*state, "t/a/b"), *a = path_join(*state, "t/a");
	AUTO_FREE char *inner = path_join(*state, "t/a/b/c");
	struct kettle_error err = {0};
	assert_int_equal(file_mkdirs(inner, 0700, &err), 0);
	free(scratch_write(b, "f", "x"));
	assert_int_equal(chmod(inner, 0), 0);
	assert_int_equal(chmod(b, 0), 0);
	assert_int_equal(chmod(a, 0500), 0);
	if (file_remove_tree(tree, &err) != 0)
		fail_msg("%s", err.message);
	assert_false(exists(tree));
}

static void
test_paths(void **state)
{
	(void)state;
	const char *const joined[][3] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {"a", "/b", "/b"}};
	for (size_t i = 0; i < ARRAY_SIZE(joined); i++) {
		AUTO_FREE char *path = path_join(joined[i][0], joined[i][1]);
		assert_string_equal(path, joined[i][2]);
	}
	const char *const good[] = {"a", "a/b.c", "..a", "a..", ".hidden", "a b", "\xc3\xa9/x"};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(path_check_inside(good[i], NULL), 0);
	char longest[300];
	memset(longest, 'x', sizeof(longest));
	longest[PATH_INSIDE_MAX] = '\0';
	assert_int_equal(path_check_inside(longest, NULL), 0);
	longest[PATH_INSIDE_MAX] = 'x';
	longest[sizeof(longest) - 1] = '\0';
	const char *const bad[] = {"", "/a", "..", "../a", "a/..", "a/../b", "a//b", "a/", "/", ".", "./a", "a/./b", "a\nb",
		"a\x1b", "\xff", "a\xe2\x80\x8b", "\xe2\x80\xaeyp.a", "a\xc2\xad/b", longest};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kettle_error err = {0};
		if (path_check_inside(bad[i], &err) != KETTLE_EINVAL)
			fail_msg("\"%s\" is taken", bad[i]);
		assert_true(strlen(err.message) > 10);
	}
	static const struct {
		const char *path, *above;
		unsigned levels;
	} cut[] = {
		{"/a/b/c", "/a/b", 1}, {"/a/b/c", "/a", 2}, {"/a", "", 1}, {"/a/b", "", 3}, {"a", "", 1}, {"a/b", "a/b", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(cut); i++) {
		AUTO_FREE char *above = path_above(cut[i].path, cut[i].levels);
		assert_string_equal(above, cut[i].above);
	}
	assert_string_equal(path_below("a/b", "a/b"), "");
	assert_string_equal(path_below("a/b/c", "a"), "/b/c");
	assert_null(path_below("ab", "a"));
	assert_null(path_below("a", "a/b"));
	AUTO_FREE char *program = path_program_dir();
	assert_non_null(strstr(program, "tests/unit"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_installed),
	TEST(test_read),
	TEST(test_write),
	TEST(test_mkdirs),
	TEST(test_remove_simple),
	TEST(test_remove_deep),
	TEST(test_remove_locked),
	TEST(test_paths),
};

UNIT_TESTS(test_file);
