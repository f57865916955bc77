/* SPDX-License-Identifier: MIT */
/* What a build read: each change of it is seen, and nothing else. */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "exec/build/build.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

/* In place, with its size and time of change as before. */
static void
rewrite(const char *path, const char *text)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	const struct timespec times[] = {st.st_atim, st.st_mtim};
	assert_int_equal(futimens(fd, times), 0);
}

static bool
holds(const struct reads *reads)
{
	return reads_hold(reads->records.data, reads->records.len);
}

/* However soon a change follows on the one before. */
static void
sees_changes_in_place(void **state)
{
	(void)state;
	char *dir = scratch_make();
	for (int i = 0; i < 20; i++) {
		AUTO_FREE char *path = scratch_write(dir, "h.h", "one");
		struct reads reads = {0};
		reads_add(&reads, READS_ENTRIES, path);
		reads_add(&reads, READS_AT, path);
		assert_int_equal(reads.count, 1);
		assert_false(reads.unsure);
		assert_true(holds(&reads));
		rewrite(path, "two");
		assert_false(holds(&reads));
		reads_free(&reads);
	}
	scratch_remove(dir);
}

static void
sees_what_comes_and_goes(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *path = path_join(dir, "h.h"), *nowhere = path_join(dir, "no/where");
	struct reads reads = {0};
	reads_add(&reads, READS_AT, nowhere);
	reads_add(&reads, READS_AT, path);
	assert_true(holds(&reads));
	free(scratch_write(dir, "h.h", ""));
	assert_false(holds(&reads));
	assert_int_equal(unlink(path), 0);
	assert_true(holds(&reads));
	reads_free(&reads);
	scratch_remove(dir);
}

/* A folder that was only passed through may get entries; one that was listed may not. */
static void
tells_folders_from_their_entries(void **state)
{
	(void)state;
	char *dir = scratch_make();
	struct reads passed = {0}, listed = {0};
	reads_add(&passed, READS_AT, dir);
	reads_add(&listed, READS_AT, dir);
	reads_add(&listed, READS_ENTRIES, dir);
	assert_int_equal(listed.count, 1);
	free(scratch_write(dir, "new", ""));
	assert_true(holds(&passed));
	assert_false(holds(&listed));
	reads_free(&passed);
	reads_free(&listed);
	scratch_remove(dir);
}

static void
follows_links_and_looks_at_them(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *link = path_join(dir, "link"), *other = path_join(dir, "other");
	free(scratch_write(dir, "a", "same"));
	free(scratch_write(dir, "b", "same"));
	assert_int_equal(symlink("a", link), 0);
	struct reads through = {0}, itself = {0};
	reads_add(&through, READS_AT, link);
	reads_add(&itself, READS_AT, link);
	reads_add(&itself, READS_LINK, link);
	assert_int_equal(itself.count, 2);
	AUTO_FREE char *plain = path_join(dir, "a");
	reads_add(&itself, READS_AT, plain);
	reads_add(&itself, READS_LINK, plain);
	assert_int_equal(itself.count, 3);
	assert_int_equal(symlink("a", other), 0);
	assert_int_equal(rename(other, link), 0);
	assert_true(holds(&through));
	assert_false(holds(&itself));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("b", link), 0);
	assert_false(holds(&through));
	reads_free(&through);
	reads_free(&itself);
	scratch_remove(dir);
}

static void
refuses_damage(void **state)
{
	(void)state;
	struct reads reads = {0};
	reads_add(&reads, READS_AT, "/nowhere");
	for (size_t size = 1; size < reads.records.len; size++)
		assert_false(reads_hold(reads.records.data, size));
	assert_true(holds(&reads));
	assert_true(reads_hold("", 0));
	reads_free(&reads);
}

/* It ends by being unsure, and takes no more memory. */
static void
bounds_what_it_notes(void **state)
{
	(void)state;
	struct reads reads = {0};
	for (int i = 0; i < 100000; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "/nowhere/%d", i);
		reads_add(&reads, READS_AT, path);
	}
	assert_true(reads.unsure);
	assert_true(reads.records.len <= READS_MAX_BYTES);
	reads_free(&reads);
}

/* A build that never starts, and one that does not send its listener. */
static void
ends_without_a_build(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct strings none = {0};
		struct reads reads = {0};
		int socket = -1;
		struct recorder *recorder = recorder_new(&none, "/nowhere", false, &socket);
		assert_non_null(recorder);
		if (i == 1)
			assert_int_equal(write(socket, "", 1), 1);
		enum recorder_end end = recorder_end(recorder, &reads);
		assert_true(end != RECORDER_WHOLE);
		close(socket);
		assert_int_equal(reads.count, 0);
		reads_free(&reads);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sees_changes_in_place),
	cmocka_unit_test(sees_what_comes_and_goes),
	cmocka_unit_test(tells_folders_from_their_entries),
	cmocka_unit_test(follows_links_and_looks_at_them),
	cmocka_unit_test(refuses_damage),
	cmocka_unit_test(bounds_what_it_notes),
	cmocka_unit_test(ends_without_a_build),
};

UNIT_TESTS(test_reads, .words = "waiting");
