/* SPDX-License-Identifier: MIT */
/* What compilers kept in a run: what a layer takes of it, what it leaves out, and its limits. */
#include <config.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "exec/build/build.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

#define OWN 1  /* of the folders below: what an earlier run left */
#define OURS 1 /* what a prepare step left */

/* A cache that a run has left, what the run began with, and where its layer goes. */
struct place {
	char *dir, *cache, *own, *ours, *to;
	int fd;
	struct jit_cache_layer layer;
	struct kettle_error err;
};

static char *
make_folder(const struct place *place, const char *name)
{
	char *path = path_join(place->dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static int
setup(void **state)
{
	struct place *place = *state = test_calloc(1, sizeof(*place));
	place->dir = scratch_make();
	place->cache = make_folder(place, "cache");
	place->own = make_folder(place, "own");
	place->ours = make_folder(place, "ours");
	place->to = path_join(place->dir, "to");
	place->fd = open(place->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->fd >= 0);
	return 0;
}

static int
teardown(void **state)
{
	struct place *place = *state;
	close(place->fd);
	jit_cache_layer_free(&place->layer);
	scratch_remove(place->dir);
	free(place->cache);
	free(place->own);
	free(place->ours);
	free(place->to);
	test_free(place);
	return 0;
}

static void
put(const char *folder, const char *name, const char *text)
{
	AUTO_FREE char *path = path_join(folder, name);
	assert_int_equal(collect_outputs_make_parents(path, NULL), 0);
	assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
}

/* The same time for files that are the same. */
static void
put_old(const char *folder, const char *name, const char *text)
{
	const struct timespec times[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	AUTO_FREE char *path = path_join(folder, name);
	put(folder, name, text);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int
take_beside(struct place *place, uint64_t bytes, size_t entries)
{
	const char *const below[] = {place->own, place->ours};
	const struct jit_cache_source source = {
		.below = below, .count = OWN + OURS, .own = OWN, .bytes = bytes, .entries = entries};
	return jit_cache_layer_take(place->fd, &source, place->to, &place->layer, &place->err);
}

static int
take(struct place *place)
{
	return take_beside(place, 0, 0);
}

/* Whether the layer has a file or folder, in its manifest and on disk alike. */
static bool
has(const struct place *place, const char *name)
{
	AUTO_FREE char *path = path_join(place->to, name);
	bool listed = false;
	for (size_t i = 0; i < place->layer.files.count; i++)
		listed = listed || strcmp(place->layer.files.files[i].path, name) == 0;
	struct stat st;
	assert_int_equal(lstat(path, &st) == 0, listed);
	return listed;
}

static void
takes_files_and_folders(void **state)
{
	struct place *place = *state;
	struct stat st;
	put_old(place->cache, "triton/ab/kernel", "kernel");
	put(place->cache, "triton/ab/more", "more!");
	put(place->cache, "plain", "p");
	assert_int_equal(fchmodat(place->fd, "plain", 0700, 0), 0);
	assert_int_equal(take(place), 0);
	assert_true(has(place, "triton/ab/kernel") && has(place, "triton/ab/more") && has(place, "triton/ab"));
	assert_int_equal(place->layer.count, 3);
	assert_int_equal(place->layer.bytes, 12);
	assert_int_equal(member_int(place->layer.folders, "triton"), 2);
	AUTO_FREE char *kernel = path_join(place->to, "triton/ab/kernel"), *plain = path_join(place->to, "plain");
	assert_int_equal(stat(kernel, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(stat(plain, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0777);
}

static void
counts_by_few_folders(void **state)
{
	struct place *place = *state;
	char name[32];
	put(place->cache, "top", "x");
	for (int i = 0; i < 2 * JIT_CACHE_LAYER_MAX_FOLDERS; i++) {
		(void)snprintf(name, sizeof(name), "folder-%d/file", i);
		put(place->cache, name, "x");
	}
	assert_int_equal(take(place), 0);
	assert_in_range(
		json_object_size(place->layer.folders), JIT_CACHE_LAYER_MAX_FOLDERS, JIT_CACHE_LAYER_MAX_FOLDERS + 1);
	assert_true(member_int(place->layer.folders, JIT_CACHE_LAYER_OTHERS) >= JIT_CACHE_LAYER_MAX_FOLDERS);
}

static void
leaves_out_what_is_no_file(void **state)
{
	struct place *place = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	put(place->cache, "file", "x");
	put(place->dir, "outside/secret", "secret");
	assert_int_equal(linkat(place->fd, "file", place->fd, "hard", 0), 0);
	assert_int_equal(symlinkat("../outside/secret", place->fd, "link"), 0);
	assert_int_equal(symlinkat("../outside", place->fd, "folder"), 0);
	assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
	AUTO_FD int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/socket", place->fd);
	assert_int_equal(bind(listener, (const struct sockaddr *)&name, sizeof(name)), 0);
	bool device = mknodat(place->fd, "device", S_IFCHR | 0600, 0) == 0;
	assert_int_equal(take(place), 0);
	assert_int_equal(place->layer.files.count, 0);
	/* As overlays mark what was removed; only root can make it. */
	assert_true(device || geteuid() != 0);
}

static void
leaves_out_odd_names(void **state)
{
	struct place *place = *state;
	static const char *const names[] = {"line\nend", "bell\a", "\xff\xfe", "tab\t"};
	char deep[2 * OUTPUT_MAX_DEPTH + 8] = "d", longer[PATH_INSIDE_MAX + 2] = "";
	for (int i = 0; i <= OUTPUT_MAX_DEPTH; i++)
		strcat(deep, "/d");
	memset(longer, 'x', sizeof(longer) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(place->cache, names[i], "x");
	put(place->cache, deep, "x");
	put(place->cache, longer, "x");
	put(place->cache, "a b,c", "x");
	assert_int_equal(take(place), 0);
	assert_int_equal(place->layer.count, 1);
	assert_true(has(place, "a b,c"));
}

/* By being empty, whatever they are called; or by their name or that of their folder, where they say who holds them. */
static void
leaves_out_locks(void **state)
{
	struct place *place = *state;
	static const char *const names[] = {
		"ext/lock", "triton/key/lock", "jax/.lockfile", "inductor/locks/key.lock", "own", "deep/mutex/.keep", "LOCK"};
	static const char *const holders[] = {"soft.lock", ".lock", "julia/x.ji.pidfile", "lck/owner", "ext/locks/5",
		"kernel.lock.5", "b/Lock.d/holder", "ext/my_lock", "ext/baton", "build-lock"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(place->cache, names[i], "");
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		put(place->cache, holders[i], "4711\nhost\n");
	assert_int_equal(mkdirat(place->fd, "folder", 0700), 0);
	assert_int_equal(take(place), 0);
	assert_int_equal(place->layer.files.count, 0);
	struct stat st;
	AUTO_FREE char *folder = path_join(place->to, "deep");
	assert_int_not_equal(lstat(folder, &st), 0);
}

static void
takes_what_is_called_like_locks(void **state)
{
	struct place *place = *state;
	static const char *const names[] = {
		"block", "clock/a", "lock_free_add/.ninja_log", "spin_lock.json", "pids", "tmp.pid_3/a"};
	char text[OUTPUT_MAX_LOCK + 2] = "";
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(place->cache, names[i], "x");
	put(place->cache, "ext/lock.so", text);
	assert_int_equal(take(place), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(has(place, names[i]));
	assert_true(has(place, "ext/lock.so"));
}

static void
takes_what_is_new(void **state)
{
	struct place *place = *state;
	put_old(place->own, "same", "one");
	put_old(place->cache, "same", "one");
	put_old(place->own, "changed", "one");
	put(place->cache, "changed", "two");
	assert_int_equal(take(place), 0);
	assert_false(has(place, "same"));
	assert_true(has(place, "changed"));
}

/* What the run finds below the layers of its own job stays as it is for later ones. */
static void
replaces_nothing_of_ours(void **state)
{
	struct place *place = *state;
	put(place->ours, "header", "ours");
	put(place->ours, "folder/file", "ours");
	put(place->ours, "name", "ours");
	put(place->cache, "header", "theirs");
	put(place->cache, "folder/file", "theirs");
	put(place->cache, "folder/own", "theirs");
	put(place->cache, "name/file", "theirs");
	assert_int_equal(take(place), 0);
	assert_false(has(place, "header") || has(place, "folder/file") || has(place, "name") || has(place, "name/file"));
	assert_true(has(place, "folder/own"));
}

static void
replaces_no_folder_of_ours(void **state)
{
	struct place *place = *state;
	put(place->ours, "folder/file", "ours");
	put(place->cache, "folder", "theirs");
	assert_int_equal(take(place), 0);
	assert_int_equal(place->layer.files.count, 0);
}

static void
assert_dropped(struct place *place)
{
	assert_int_equal(take(place), KETTLE_ETOOBIG);
	assert_non_null(strstr(place->err.message, "50000 files or 1024 MiB"));
	assert_int_not_equal(access(place->to, F_OK), 0);
	assert_null(place->layer.path);
}

/* A file counts as what it says that it has, whatever it takes on disk. */
static void
is_bounded_in_bytes(void **state)
{
	struct place *place = *state;
	put(place->cache, "a", "x");
	put(place->cache, "sparse", "");
	AUTO_FD int fd = openat(place->fd, "sparse", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)JIT_CACHE_LAYER_MAX_BYTES + 1), 0);
	assert_dropped(place);
}

/* All that the runs of a job left is within the limits. */
static void
is_bounded_with_others(void **state)
{
	struct place *place = *state;
	put(place->cache, "a", "xy");
	put(place->cache, "b", "xy");
	assert_int_equal(take_beside(place, JIT_CACHE_LAYER_MAX_BYTES - 3, 0), KETTLE_ETOOBIG);
	assert_int_equal(take_beside(place, 0, JIT_CACHE_LAYER_MAX_FILES - 1), KETTLE_ETOOBIG);
	assert_int_equal(take_beside(place, JIT_CACHE_LAYER_MAX_BYTES - 4, JIT_CACHE_LAYER_MAX_FILES - 2), 0);
	assert_int_equal(place->layer.count, 2);
}

static int64_t
ns_of(struct timespec time)
{
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* When the file system says that something was made; where it does not, `other`. */
static int64_t
birth_of(const struct place *place, const char *name, int64_t other)
{
	struct statx st;
	assert_int_equal(statx(place->fd, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st), 0);
	return st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec : other;
}

static int64_t
change_of(const struct place *place, const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return ns_of(st.st_ctim);
}

/* From the birth of a folder to the last write in it, whatever times a program sets; other files for themselves. */
static void
tells_when_compilers_worked(void **state)
{
	struct place *place = *state;
	put(place->cache, "jax/flat", "x");
	put_old(place->cache, "triton/ab/first", "x");
	put_old(place->cache, "triton/ab/last", "x");
	assert_int_equal(take(place), 0);
	const struct interval_sum *work = &place->layer.work;
	assert_int_equal(work->count, 2);
	struct interval whole = {0};
	int64_t total = interval_sum_union(work, &whole), last = change_of(place, "triton/ab/last");
	int64_t flat = change_of(place, "jax/flat"),
			begin = birth_of(place, "triton/ab", change_of(place, "triton/ab/first"));
	assert_int_equal(work->list[0].from, birth_of(place, "jax/flat", flat));
	assert_int_equal(work->list[0].to, flat);
	assert_int_equal(work->list[1].from, begin);
	assert_int_equal(work->list[1].to, last);
	assert_int_equal(whole.to, last);
	assert_true(total >= last - begin && total <= whole.to - whole.from);
}

/* A folder that was there before tells nothing. */
static void
tells_of_new_folders(void **state)
{
	struct place *place = *state;
	put(place->own, "triton/ab/old", "x");
	put(place->cache, "triton/ab/new", "x");
	assert_int_equal(take(place), 0);
	const struct interval_sum *work = &place->layer.work;
	assert_int_equal(work->count, 1);
	assert_int_equal(work->list[0].from, birth_of(place, "triton/ab/new", change_of(place, "triton/ab/new")));
}

static void
adds_up_spans(void **state)
{
	(void)state;
	struct interval_sum spans = {0};
	struct interval whole = {7, 7};
	assert_int_equal(interval_sum_union(&spans, &whole), 0);
	assert_int_equal(whole.from, 7);
	interval_sum_add(&spans, 50, 60);
	interval_sum_add(&spans, 10, 30);
	interval_sum_add(&spans, 20, 25);
	interval_sum_add(&spans, 28, 40);
	interval_sum_add(&spans, 45, 44);
	assert_int_equal(interval_sum_union(&spans, &whole), 30 + 10);
	assert_true(whole.from == 10 && whole.to == 60);
	interval_sum_free(&spans);
}

/* A run that leaves too much costs no writing of it. */
static void
counts_before_it_copies(void **state)
{
	struct place *place = *state;
	put(place->cache, "a", "xy");
	put(place->cache, "b", "xy");
	free(place->to);
	place->to = path_join(place->dir, "missing/to");
	assert_int_equal(take_beside(place, JIT_CACHE_LAYER_MAX_BYTES - 3, 0), KETTLE_ETOOBIG);
	assert_int_equal(take_beside(place, 0, JIT_CACHE_LAYER_MAX_FILES - 1), KETTLE_ETOOBIG);
}

static void
says_what_the_machine_lacks(void **state)
{
	struct place *place = *state;
	put(place->cache, "file", "x");
	free(place->to);
	place->to = path_join(place->dir, "missing/to");
	assert_int_equal(take(place), KETTLE_EIO);
	assert_non_null(strstr(place->err.message, "could not be created"));
}

#define PLACE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static const struct CMUnitTest tests[] = {
	PLACE_TEST(takes_files_and_folders),
	PLACE_TEST(counts_by_few_folders),
	PLACE_TEST(leaves_out_what_is_no_file),
	PLACE_TEST(leaves_out_odd_names),
	PLACE_TEST(leaves_out_locks),
	PLACE_TEST(takes_what_is_called_like_locks),
	PLACE_TEST(takes_what_is_new),
	PLACE_TEST(replaces_nothing_of_ours),
	PLACE_TEST(replaces_no_folder_of_ours),
	PLACE_TEST(is_bounded_in_bytes),
	PLACE_TEST(is_bounded_with_others),
	PLACE_TEST(tells_when_compilers_worked),
	PLACE_TEST(tells_of_new_folders),
	cmocka_unit_test(adds_up_spans),
	PLACE_TEST(counts_before_it_copies),
	PLACE_TEST(says_what_the_machine_lacks),
};

UNIT_TESTS(test_layer);
