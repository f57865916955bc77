/* SPDX-License-Identifier: MIT */
/* The folder that engine and nodes share: claims, progress, last words, and files that are not what they should be. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/slurm/slurm_internal.h"
#include "unit/scratch.h"

static char *dir;
static struct kettle_error err;

static int
set_up(void **state)
{
	(void)state;
	dir = scratch_make();
	err = (struct kettle_error){0};
	return shared_folder_make(dir, &err);
}

static int
tear_down(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static void
write_file(const char *name, const char *text)
{
	AUTO_FREE char *path = scratch_write(dir, name, text);
}

static void
test_claim(void **state)
{
	(void)state;
	assert_int_equal(shared_folder_claim(dir, "a", &err), 0); /* there is no such job */
	assert_false(shared_folder_has(dir, "a"));
	assert_int_equal(shared_folder_put(dir, "a", "plan", 4, NULL, 0, &err), 0);
	assert_int_equal(shared_folder_put(dir, "a", "plan", 4, NULL, 0, &err), 0);
	assert_true(shared_folder_has(dir, "a"));
	assert_int_equal(shared_folder_claim(dir, "a", &err), 1);
	/* By an engine that was killed, too: nothing can have begun. */
	assert_int_equal(shared_folder_claim(dir, "a", &err), 1);
	AUTO_FREE char *claimed = path_join(dir, "jobs/a/claim"), *begun = path_join(dir, "jobs/b/claim");
	assert_int_equal(mkdir(claimed, 0700), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(shared_folder_put(dir, "b", "plan", 4, NULL, 0, &err), 0);
	assert_int_equal(mkdir(begun, 0700), 0);
	assert_int_equal(shared_folder_claim(dir, "b", &err), 0);
	assert_null(shared_folder_claim_id(dir, "b"));
	free(scratch_write(begun, "id", "; 7\n"));
	assert_null(shared_folder_claim_id(dir, "b"));
	free(scratch_write(begun, "id", "17\n"));
	AUTO_FREE char *id = shared_folder_claim_id(dir, "b");
	assert_string_equal(id, "17");
	shared_folder_remove(dir, "b");
	assert_false(shared_folder_has(dir, "b"));
	/* A folder that is away says nothing of a job. */
	AUTO_FREE char *away = path_join(dir, "away");
	assert_true(shared_folder_is_there(dir) && !shared_folder_is_there(away));
	assert_int_equal(shared_folder_claim(away, "a", &err), KETTLE_EIO);
	assert_int_equal(shared_folder_put(dir, "a", "plan", 4, NULL, 0, &err), KETTLE_ECONFLICT);
	struct stat there;
	AUTO_FREE char *plan = path_join(dir, "jobs/a/plan.kettle"), *folder = path_join(dir, "jobs");
	assert_int_equal(stat(plan, &there), 0);
	assert_int_equal(there.st_mode & 07777, 0600);
	assert_int_equal(stat(folder, &there), 0);
	assert_int_equal(there.st_mode & 07777, 0700);
	shared_folder_remove(dir, "a");
	assert_int_not_equal(access(plan, F_OK), 0);
	assert_int_equal(shared_folder_make("/nonexistent/folder", &err), KETTLE_ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/folder"));
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(shared_folder_make(dir, &err), KETTLE_EACCES);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(shared_folder_make(dir, &err), 0);
}

static bool
there_is(const char *name)
{
	struct stat there;
	AUTO_FREE char *path = path_join(dir, name);
	return lstat(path, &there) == 0;
}

static void
make_old(const char *name, time_t seconds)
{
	AUTO_FREE char *path = path_join(dir, name);
	const struct timespec times[2] = {
		{.tv_sec = time_now_ms() / 1000 - seconds}, {.tv_sec = time_now_ms() / 1000 - seconds}};
	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* A result outlives its job by a day, and can be had back until then. */
static void
test_retire(void **state)
{
	(void)state;
	assert_int_equal(shared_folder_put(dir, "a", "plan", 4, "a.array", 0, &err), 0);
	assert_int_equal(shared_folder_put(dir, "b", "plan", 4, "a.array", 1, &err), 0);
	assert_int_equal(shared_folder_put_list(dir, "a.array", "a\nb\n", &err), 0);
	write_file("results/a", "the result");
	make_old("results/a", 40 * 86400); /* no engine has looked for it for long */
	shared_folder_retire(dir, "a", NULL);
	assert_false(there_is("jobs/a") || there_is("results/a"));
	assert_true(there_is("jobs/a.array"));
	shared_folder_retire(dir, "b", "a.array");
	assert_false(there_is("jobs/b") || there_is("jobs/a.array") || there_is("done/b"));
	shared_folder_sweep(dir, time_now_ms());
	shared_folder_restore(dir, "b");
	shared_folder_restore(dir, "a");
	assert_true(there_is("results/a"));
	assert_false(there_is("done/a") || there_is("results/b"));
	/* A link is moved as it is. */
	AUTO_FREE char *outside = scratch_write(dir, "outside", "x"), *link = path_join(dir, "results/c");
	assert_int_equal(symlink(outside, link), 0);
	shared_folder_retire(dir, "c", NULL);
	assert_true(there_is("done/c") && there_is("outside"));
	write_file("done/d", "x");
	make_old("done/c", 2 * 86400);
	make_old("done/d", 3600);
	shared_folder_sweep(dir, time_now_ms());
	assert_false(there_is("done/c"));
	assert_true(there_is("done/d") && there_is("outside") && there_is("results/a"));
}

/* So does the claim of a job without a result: an engine that has not stored the loss still knows whether the job had begun. */
static void
test_retire_claim(void **state)
{
	(void)state;
	for (int given_up = 0; given_up < 2; given_up++) {
		assert_int_equal(shared_folder_put(dir, "a", "plan", 4, NULL, 0, &err), 0);
		AUTO_FREE char *claim = path_join(dir, "jobs/a/claim");
		assert_int_equal(given_up ? shared_folder_claim(dir, "a", &err) : mkdir(claim, 0700), given_up);
		shared_folder_retire(dir, "a", NULL);
		assert_false(shared_folder_has(dir, "a"));
		shared_folder_sweep(dir, time_now_ms());
		shared_folder_restore(dir, "a");
		assert_true(shared_folder_has(dir, "a"));
		assert_int_equal(shared_folder_claim(dir, "a", &err), given_up);
		shared_folder_retire(dir, "a", NULL);
		make_old("done/a.claim", 2 * 86400);
		shared_folder_sweep(dir, time_now_ms());
		shared_folder_restore(dir, "a");
		assert_false(shared_folder_has(dir, "a"));
	}
}

static void
test_array(void **state)
{
	(void)state;
	size_t task = 7;
	assert_int_equal(shared_folder_put(dir, "b", "plan", 4, "x.array", 499, &err), 0);
	assert_int_equal(shared_folder_put_list(dir, "x.array", "a\nb\n", &err), 0);
	AUTO_FREE char *array = shared_folder_array(dir, "b", &task);
	assert_string_equal(array, "x.array");
	assert_int_equal(task, 499);
	static const char *const wrong[] = {"", "x", "x ", "x y", "x -1", "x 500", "x 1 2", "x 99999999999999999999",
		"../x 1", "/x 1", "-x 1", ". 1", "a,b 1", "a*b 1"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		write_file("jobs/b/task", wrong[i]);
		AUTO_FREE char *none = shared_folder_array(dir, "b", &task);
		if (none)
			fail_msg("`%s` names an array", wrong[i]);
	}
	assert_int_equal(task, 499);
}

static void
test_progress(void **state)
{
	(void)state;
	size_t offset = 0;
	AUTO_FREE char *none = shared_folder_progress(dir, "c", &offset);
	assert_null(none);
	assert_int_equal(shared_folder_put(dir, "c", "plan", 4, NULL, 0, &err), 0);
	write_file("jobs/c/progress", "one\ntwo\nhal");
	AUTO_FREE char *first = shared_folder_progress(dir, "c", &offset);
	assert_string_equal(first, "one\ntwo");
	AUTO_FREE char *again = shared_folder_progress(dir, "c", &offset);
	assert_null(again);
	write_file("jobs/c/progress", "one\ntwo\nhalf\n");
	AUTO_FREE char *rest = shared_folder_progress(dir, "c", &offset);
	assert_string_equal(rest, "half");
	/* A line without an end is read no further. */
	AUTO_FREE char *endless = xmalloc(100001);
	memset(endless, 'x', 100000);
	endless[100000] = '\0';
	offset = 0;
	write_file("jobs/c/progress", endless);
	AUTO_FREE char *huge = shared_folder_progress(dir, "c", &offset);
	assert_null(huge);
	assert_int_equal(offset, SHARED_PROGRESS_MAX);
	/* Nor is a link, or something that waits. */
	AUTO_FREE char *path = path_join(dir, "jobs/c/progress");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	offset = 0;
	AUTO_FREE char *link = shared_folder_progress(dir, "c", &offset);
	assert_null(link);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	AUTO_FREE char *fifo = shared_folder_progress(dir, "c", &offset);
	assert_null(fifo);
}

static void
test_last_words(void **state)
{
	(void)state;
	AUTO_FREE char *none = shared_folder_last_words(dir, "d", NULL, 0);
	assert_string_equal(none, "");
	assert_int_equal(shared_folder_put(dir, "d", "plan", 4, NULL, 0, &err), 0);
	write_file("jobs/d/log", "first\nkettle-exec: the last line\n\n");
	AUTO_FREE char *words = shared_folder_last_words(dir, "d", NULL, 0);
	assert_string_equal(words, "kettle-exec: the last line");
	assert_int_equal(shared_folder_put_list(dir, "y.array", "d\n", &err), 0);
	write_file("jobs/y.array/log.3", "of the task");
	AUTO_FREE char *task = shared_folder_last_words(dir, "d", "y.array", 3);
	assert_string_equal(task, "of the task");
}

static void
test_results(void **state)
{
	(void)state;
	write_file("results/kettle-a-1.1", "x");
	write_file("results/.kettle-a-2.1.new", "x");
	make_old("results/.kettle-a-2.1.new", 61 * 86400);
	AUTO_JSON json_t *names = NULL, *few = NULL;
	assert_int_equal(shared_folder_results(dir, 100, &names, &err), 0);
	assert_int_equal(json_array_size(names), 1);
	write_file("results/kettle-a-3.1", "x");
	assert_int_equal(shared_folder_results(dir, 1, &few, &err), 0);
	assert_int_equal(json_array_size(few), 1);
	/* What is old goes, what is not stays. */
	AUTO_FREE char *old = path_join(dir, "results/kettle-a-1.1"), *newer = path_join(dir, "results/kettle-a-3.1");
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
	shared_folder_sweep(dir, time_now_ms());
	assert_int_not_equal(access(old, F_OK), 0);
	assert_false(there_is("results/.kettle-a-2.1.new"));
	assert_int_equal(access(newer, F_OK), 0);
	scratch_remove(path_join(dir, "results"));
	AUTO_JSON json_t *gone = NULL;
	assert_int_equal(shared_folder_results(dir, 100, &gone, &err), KETTLE_ENOENT);
}

static void
test_script(void **state)
{
	(void)state;
	assert_int_equal(shared_folder_put_script(dir, &err), 0);
	AUTO_FREE char *path = path_join(dir, SHARED_SCRIPT), *text = NULL;
	size_t size;
	write_file(SHARED_SCRIPT, "of another version");
	assert_int_equal(shared_folder_put_script(dir, &err), 0);
	assert_int_equal(file_read(path, 1 << 20, &text, &size, &err), 0);
	assert_string_equal(text, slurm_job_script);
	assert_memory_equal(text, "#!/bin/sh\n", 10);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_claim, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_retire, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_retire_claim, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_array, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_progress, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_last_words, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_results, set_up, tear_down),
	cmocka_unit_test_setup_teardown(test_script, set_up, tear_down),
};

UNIT_TESTS(test_shared_folder);
