/* SPDX-License-Identifier: MIT */
/* Taking over what a step has left: bounds, links, special files, and bringing it to the next step. */
#include <config.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "exec/util/collect_outputs.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

struct place {
	char *dir, *out, *kept;
	int fd;
	struct manifest manifest;
	struct kettle_error err;
};

static void
place_make(struct place *place)
{
	*place = (struct place){.dir = scratch_make()};
	place->out = path_join(place->dir, "out");
	place->kept = path_join(place->dir, "kept");
	assert_int_equal(mkdir(place->out, 0700), 0);
	assert_int_equal(mkdir(place->kept, 0700), 0);
	place->fd = open(place->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
place_remove(struct place *place)
{
	close(place->fd);
	manifest_free(&place->manifest);
	free(place->out);
	free(place->kept);
	scratch_remove(place->dir);
}

static void
put(struct place *place, const char *name, const char *text, mode_t mode)
{
	AUTO_FREE char *path = path_join(place->out, name);
	assert_int_equal(collect_outputs_make_parents(path, NULL), 0);
	assert_int_equal(file_write(path, text, strlen(text), mode, NULL), 0);
}

static int
collect(struct place *place, const char *name, uint64_t max, enum outputs_kind kind)
{
	AUTO_STRINGS struct strings names = {0};
	strings_add(&names, name);
	return collect_outputs_collect(place->fd, &names, place->kept, max, kind, &place->manifest, &place->err);
}

static void
collects_files_and_folders(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "p", "program", 0700);
	put(&place, "lib/a", "one", 0666);
	put(&place, "lib/deep/b", "", 0600);
	assert_int_equal(collect(&place, "p", 100, OUTPUTS_PLAIN), 0);
	assert_int_equal(collect(&place, "lib", 100, OUTPUTS_PLAIN), 0);
	assert_int_equal(place.manifest.count, 5);
	const struct output_file *file = &place.manifest.files[0];
	assert_int_equal(file->mode, 0755);
	assert_int_equal(file->size, 7);
	assert_string_equal(file->sha256, "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8");
	place_remove(&place);
}

/* What was declared itself stays. */
static void
takes_no_locks_of_a_cache(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "cache/ext/lock", "", 0600);
	put(&place, "cache/ext/lib.so", "x", 0600);
	put(&place, "cache/locks/key.lock", "", 0600);
	put(&place, "cache/soft.lock", "4711", 0600);
	put(&place, "lock", "", 0600);
	put(&place, "empty/lock", "", 0600);
	assert_int_equal(collect(&place, "cache", 100, OUTPUTS_CACHE), 0);
	assert_int_equal(collect(&place, "lock", 100, OUTPUTS_CACHE), 0);
	assert_int_equal(collect(&place, "empty", 100, OUTPUTS_CACHE), 0);
	static const char *const names[] = {"cache", "cache/ext", "cache/ext/lib.so", "lock", "empty"};
	assert_int_equal(place.manifest.count, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(place.manifest.files[i].path, names[i]);
	AUTO_FREE char *locks = path_join(place.kept, "cache/locks");
	assert_int_not_equal(access(locks, F_OK), 0);
	place_remove(&place);
}

static void
names_twice_are_one(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "p", "program", 0700);
	assert_int_equal(collect(&place, "p", 100, OUTPUTS_PLAIN), 0);
	assert_int_equal(collect(&place, "p", 100, OUTPUTS_PLAIN), 0);
	assert_int_equal(place.manifest.count, 1);
	place_remove(&place);
}

static void
refuses_what_is_no_file(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "file", "x", 0600);
	assert_int_equal(symlinkat("file", place.fd, "link"), 0);
	assert_int_equal(symlinkat("/etc", place.fd, "folder"), 0);
	assert_int_equal(linkat(place.fd, "file", place.fd, "hard", 0), 0);
	assert_int_equal(mkfifoat(place.fd, "fifo", 0600), 0);
	static const struct {
		const char *name, *why;
		int code;
	} cases[] = {
		{"link", "symbolic link", KETTLE_EINVAL},
		{"folder/passwd", "not a folder", KETTLE_EINVAL},
		{"file/x", "not a folder", KETTLE_EINVAL},
		{"hard", "hard link", KETTLE_EINVAL},
		{"fifo", "FIFO", KETTLE_EINVAL},
		{"absent", "does not exist", KETTLE_ENOENT},
		{"absent/x", "does not exist", KETTLE_ENOENT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(collect(&place, cases[i].name, 100, OUTPUTS_PLAIN), cases[i].code);
		assert_non_null(strstr(place.err.message, cases[i].why));
	}
	assert_int_equal(collect(&place, "absent", 100, OUTPUTS_ARTIFACTS), 0);
	assert_int_equal(collect(&place, "fifo", 100, OUTPUTS_ARTIFACTS), KETTLE_EINVAL);
	assert_int_equal(place.manifest.count, 0);
	place_remove(&place);
}

static void
is_bounded(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "big", "0123456789", 0600);
	assert_int_equal(collect(&place, "big", 9, OUTPUTS_PLAIN), KETTLE_ETOOBIG);
	put(&place, "d/a", "01234", 0600);
	put(&place, "d/b", "01234", 0600);
	assert_int_equal(collect(&place, "d", 9, OUTPUTS_PLAIN), KETTLE_ETOOBIG);
	/* A name that no JSON could hold. */
	put(&place, "e/\xff", "", 0600);
	assert_int_equal(collect(&place, "e", 9, OUTPUTS_PLAIN), KETTLE_EINVAL);
	char path[200] = "f";
	for (int i = 0; i < OUTPUT_MAX_DEPTH + 1; i++)
		strcat(path, "/d");
	put(&place, path, "", 0600);
	assert_int_equal(collect(&place, "f", 9, OUTPUTS_PLAIN), KETTLE_EINVAL);
	assert_non_null(strstr(place.err.message, "nested deeper"));
	place_remove(&place);
}

static void
assert_content(const char *dir, const char *name, const char *text, mode_t mode)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	struct stat st;
	assert_int_equal(file_read(path, 100, &data, &size, NULL), 0);
	assert_string_equal(data, text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void
places_files_and_folders(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	put(&place, "p", "program", 0700);
	put(&place, "lib/a", "one", 0666);
	put(&place, "lib/deep/b", "two", 0600);
	put(&place, "library", "no", 0600);
	assert_int_equal(collect(&place, "p", 100, OUTPUTS_PLAIN), 0);
	assert_int_equal(collect(&place, "lib", 100, OUTPUTS_PLAIN), 0);
	for (int link = 0; link < 2; link++) {
		AUTO_FREE char *to = path_join(place.dir, link ? "linked" : "copied");
		assert_int_equal(mkdir(to, 0755), 0);
		assert_int_equal(collect_outputs_link(&place.manifest, place.kept, "p", to, "bin/q", link, NULL), 0);
		assert_int_equal(collect_outputs_link(&place.manifest, place.kept, "lib", to, "tree", link, NULL), 0);
		assert_int_equal(collect_outputs_link(&place.manifest, place.kept, "lib/deep/b", to, "b", link, NULL), 0);
		assert_content(to, "bin/q", "program", 0755);
		assert_content(to, "tree/a", "one", 0644);
		assert_content(to, "tree/deep/b", "two", 0644);
		assert_content(to, "b", "two", 0644);
		assert_int_equal(
			collect_outputs_link(&place.manifest, place.kept, "li", to, "x", link, &place.err), KETTLE_ENOENT);
		/* Never over what is there. */
		assert_int_equal(collect_outputs_link(&place.manifest, place.kept, "p", to, "b", link, &place.err), KETTLE_EIO);
	}
	place_remove(&place);
}

static void
manifests_survive_json(void **state)
{
	(void)state;
	struct place place;
	struct manifest again = {0};
	place_make(&place);
	put(&place, "lib/a", "one", 0600);
	assert_int_equal(collect(&place, "lib", 100, OUTPUTS_PLAIN), 0);
	AUTO_JSON json_t *list = manifest_json(&place.manifest);
	assert_true(manifest_read(list, &again));
	AUTO_JSON json_t *same = manifest_json(&again);
	assert_true(json_equal(list, same));
	assert_int_equal(manifest_bytes(&again), 3);
	manifest_free(&again);
	json_object_set_new(json_array_get(list, 1), "path", json_string("../a"));
	assert_false(manifest_read(list, &again));
	assert_false(manifest_read(NULL, &again));
	place_remove(&place);
}

/* A step may leave more outputs than artifacts, which travel one by one. */
static void
limits_the_number(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	for (int i = 1; i < OUTPUT_MAX_ARTIFACTS; i++) {
		AUTO_FREE char *name = xasprintf("d/%d", i);
		put(&place, name, "", 0600);
	}
	assert_int_equal(collect(&place, "d", 9, OUTPUTS_ARTIFACTS), 0);
	assert_int_equal(place.manifest.count, OUTPUT_MAX_ARTIFACTS);
	put(&place, "d/more", "", 0600);
	manifest_free(&place.manifest);
	assert_int_equal(file_remove_tree(place.kept, NULL), 0);
	assert_int_equal(collect(&place, "d", 9, OUTPUTS_ARTIFACTS), KETTLE_ETOOBIG);
	assert_non_null(strstr(place.err.message, "more than 1000 files"));
	manifest_free(&place.manifest);
	assert_int_equal(file_remove_tree(place.kept, NULL), 0);
	assert_int_equal(collect(&place, "d", 9, OUTPUTS_PLAIN), 0);
	place_remove(&place);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(collects_files_and_folders),
	cmocka_unit_test(takes_no_locks_of_a_cache),
	cmocka_unit_test(names_twice_are_one),
	cmocka_unit_test(refuses_what_is_no_file),
	cmocka_unit_test(is_bounded),
	cmocka_unit_test(limits_the_number),
	cmocka_unit_test(places_files_and_folders),
	cmocka_unit_test(manifests_survive_json),
};

UNIT_TESTS(test_collect_outputs);
