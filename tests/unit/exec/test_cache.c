/* SPDX-License-Identifier: MIT */
/* The build cache's folder: entries whole or not at all, damage noticed, size and age bounded. */
#include <config.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "exec/build/build.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

struct place {
	char *dir, *files, *to, *scratch;
	struct cache cache;
};

static void
place_make(struct place *place, uint64_t max_bytes, unsigned max_days)
{
	place->dir = scratch_make();
	place->files = path_join(place->dir, "files");
	place->to = path_join(place->dir, "to");
	place->scratch = path_join(place->dir, "scratch");
	assert_int_equal(mkdir(place->files, 0755), 0);
	assert_int_equal(mkdir(place->to, 0755), 0);
	assert_int_equal(cache_open(&place->cache, place->dir, max_bytes, max_bytes / 2, max_days, NULL), 0);
}

static void
place_remove(struct place *place)
{
	cache_close(&place->cache);
	free(place->files);
	free(place->to);
	free(place->scratch);
	scratch_remove(place->dir);
}

static void
key_of(int number, char key[65])
{
	sha256_hex(&number, sizeof(number), key);
}

static int
put_of(struct place *place, int number, const char *owner, const char *text)
{
	char hex[65], key[65];
	AUTO_FREE char *path = scratch_write(place->files, "p", text);
	sha256_hex(text, strlen(text), hex);
	key_of(number, key);
	struct output_file list[] = {
		{.path = (char *)"p", .mode = 0755, .size = strlen(text)}, {.path = (char *)"d", .folder = true}};
	strcpy(list[0].sha256, hex);
	const struct manifest files = {list, ARRAY_SIZE(list)};
	AUTO_JSON json_t *more = json_pack("{s:s}", "note", text);
	int rc = cache_put(&place->cache, key, owner, &files, place->files, NULL, more, place->scratch, NULL);
	assert_int_not_equal(access(place->scratch, F_OK), 0);
	return rc;
}

static void
put(struct place *place, int number, const char *text)
{
	assert_int_equal(put_of(place, number, NULL, text), 0);
}

/* Whether an entry is there; its note must be text. */
static bool
get(struct place *place, int number, const char *text)
{
	char key[65];
	key_of(number, key);
	assert_int_equal(file_remove_tree(place->to, NULL), 0);
	assert_int_equal(mkdir(place->to, 0755), 0);
	struct manifest files = {0};
	AUTO_JSON json_t *entry = cache_get(&place->cache, key, place->to, number % 2, &files);
	if (!entry)
		return false;
	assert_int_equal(files.count, 2);
	manifest_free(&files);
	AUTO_FREE char *path = path_join(place->to, "p");
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	struct stat st;
	assert_string_equal(json_string_value(json_object_get(entry, "note")), text);
	assert_int_equal(file_read(path, 100000, &data, &size, NULL), 0);
	assert_string_equal(data, text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	return true;
}

/* An entry gives way to one of the same key at once. */
static void
replaces(void **state)
{
	(void)state;
	struct place place;
	char key[65];
	place_make(&place, 1u << 20, 30);
	AUTO_FREE char *folder = path_join(place.dir, "cache");
	struct output_file file = {.path = (char *)"q", .mode = 0644, .size = 3};
	const struct manifest files = {&file, 1};
	sha256_hex("new", 3, file.sha256);
	key_of(1, key);
	for (int before = 0; before < 2; before++) {
		if (before)
			put(&place, 1, "one");
		AUTO_FREE char *path = scratch_write(place.files, "q", "new");
		assert_int_equal(cache_replace(&place.cache, key, "user-1", &files, place.files, place.scratch, NULL), 0);
		struct manifest found = {0};
		AUTO_JSON json_t *entry = cache_get(&place.cache, key, place.to, false, &found);
		assert_non_null(entry);
		assert_int_equal(found.count, 1);
		assert_string_equal(found.files[0].path, "q");
		manifest_free(&found);
		/* The files are moved, and what was there before is away. */
		assert_int_not_equal(access(place.files, F_OK), 0);
		assert_int_equal(access(place.scratch, F_OK) == 0, before);
		assert_int_equal(file_remove_tree(place.scratch, NULL) || mkdir(place.files, 0700), 0);
		assert_int_equal(file_remove_tree(folder, NULL) || mkdir(folder, 0700), 0);
		assert_int_equal(file_remove_tree(place.to, NULL) || mkdir(place.to, 0755), 0);
	}
	place_remove(&place);
}

static void
keeps_and_finds(void **state)
{
	(void)state;
	struct place place;
	place_make(&place, 1u << 20, 30);
	assert_false(get(&place, 1, "one"));
	put(&place, 1, "one");
	put(&place, 2, "two");
	assert_true(get(&place, 1, "one"));
	assert_true(get(&place, 2, "two"));
	/* What already exists stays. */
	put(&place, 1, "other");
	assert_true(get(&place, 1, "one"));
	place_remove(&place);
}

static void
notices_damage(void **state)
{
	(void)state;
	struct place place;
	char key[65];
	key_of(3, key);
	place_make(&place, 1u << 20, 30);
	AUTO_BUF struct buf file = {0};
	buf_printf(&file, "%s/cache/%s/files/p", place.dir, key);
	put(&place, 3, "three");
	assert_true(get(&place, 3, "three"));
	assert_int_equal(unlink(file.data), 0);
	assert_int_equal(file_write(file.data, "threE", 5, 0755, NULL), 0);
	assert_false(get(&place, 3, "three"));
	assert_int_not_equal(access(file.data, F_OK), 0);
	put(&place, 3, "three");
	assert_true(get(&place, 3, "three"));
	place_remove(&place);
}

static void
set_age(struct place *place, int number, int days)
{
	char key[65];
	key_of(number, key);
	AUTO_BUF struct buf path = {0};
	buf_printf(&path, "%s/cache/%s/manifest.json", place->dir, key);
	struct timespec times[2] = {{.tv_sec = time(NULL) - days * 86400}, {.tv_sec = time(NULL) - days * 86400}};
	assert_int_equal(utimensat(AT_FDCWD, path.data, times, 0), 0);
}

static void
fill_text(char *text, size_t size)
{
	memset(text, 'x', size - 1);
	text[size - 1] = '\0';
}

static void
trims_by_age_and_size(void **state)
{
	(void)state;
	struct place place;
	char text[10001];
	fill_text(text, sizeof(text));
	/* Each entry is the file and a manifest that repeats it. */
	place_make(&place, 70000, 10);
	for (int i = 0; i < 4; i++) {
		put(&place, i, text);
		set_age(&place, i, 8 - i);
	}
	set_age(&place, 3, 11);
	AUTO_FREE char *rubbish = path_join(place.cache.dir, "rubbish");
	assert_int_equal(mkdir(rubbish, 0700), 0);
	cache_trim(&place.cache, place.scratch);
	assert_int_not_equal(access(rubbish, F_OK), 0);
	assert_false(get(&place, 3, text));
	assert_false(get(&place, 0, text));
	assert_true(get(&place, 1, text));
	assert_true(get(&place, 2, text));
	place_remove(&place);
}

static void
bounds_each_user(void **state)
{
	(void)state;
	struct place place;
	char text[10001];
	fill_text(text, sizeof(text));
	/* A user's share holds two entries, all of the cache five. */
	place_make(&place, 120000, 10);
	put(&place, 0, text);
	set_age(&place, 0, 9);
	assert_int_equal(put_of(&place, 1, "ada", text), 0);
	set_age(&place, 1, 8);
	for (int i = 2; i < 6; i++) {
		assert_int_equal(put_of(&place, i, "eve", text), 0);
		set_age(&place, i, 7 - i);
	}
	cache_trim(&place.cache, place.scratch);
	/* Each kept: the board's own and the other user's, though they are older. */
	assert_true(get(&place, 0, text));
	assert_true(get(&place, 1, text));
	assert_false(get(&place, 2, text));
	assert_false(get(&place, 3, text));
	assert_true(get(&place, 4, text));
	assert_true(get(&place, 5, text));
	place_remove(&place);
}

/* What alone exceeds a user's share is not kept at all. */
static void
refuses_too_large(void **state)
{
	(void)state;
	struct place place;
	char text[10001];
	fill_text(text, sizeof(text));
	place_make(&place, 18000, 10);
	assert_int_equal(put_of(&place, 0, "eve", text), KETTLE_ETOOBIG);
	assert_false(get(&place, 0, text));
	put(&place, 1, text);
	assert_true(get(&place, 1, text));
	place_remove(&place);
}

/* Where many users fill it together, the one with most makes room, and boards only for boards. */
static void
takes_from_who_has_most(void **state)
{
	(void)state;
	struct place place;
	char text[10001];
	fill_text(text, sizeof(text));
	place_make(&place, 120000, 10);
	for (int i = 0; i < 4; i++) {
		put(&place, i, text);
		set_age(&place, i, 9 - i);
	}
	assert_int_equal(put_of(&place, 4, "ada", text), 0);
	set_age(&place, 4, 4);
	assert_int_equal(put_of(&place, 5, "eve", text), 0);
	set_age(&place, 5, 3);
	assert_int_equal(put_of(&place, 6, "eve", text), 0);
	cache_trim(&place.cache, place.scratch);
	/* Boards have three quarters at most; of what is left eve gives one. */
	assert_false(get(&place, 0, text));
	for (int i = 1; i < 5; i++)
		assert_true(get(&place, i, text));
	assert_false(get(&place, 5, text));
	assert_true(get(&place, 6, text));
	place_remove(&place);
}

/* An entry that does not say whose it is comes from another version: no bound would be true of it. */
static void
drops_what_has_no_owner(void **state)
{
	(void)state;
	struct place place;
	char key[65];
	key_of(1, key);
	place_make(&place, 1u << 20, 10);
	put(&place, 1, "one");
	put(&place, 2, "two");
	AUTO_BUF struct buf owner = {0};
	buf_printf(&owner, "%s/cache/%s/owner", place.dir, key);
	assert_int_equal(unlink(owner.data), 0);
	cache_trim(&place.cache, place.scratch);
	assert_false(get(&place, 1, "one"));
	assert_true(get(&place, 2, "two"));
	place_remove(&place);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(keeps_and_finds),
	cmocka_unit_test(replaces),
	cmocka_unit_test(notices_damage),
	cmocka_unit_test(trims_by_age_and_size),
	cmocka_unit_test(bounds_each_user),
	cmocka_unit_test(refuses_too_large),
	cmocka_unit_test(takes_from_who_has_most),
	cmocka_unit_test(drops_what_has_no_owner),
};

UNIT_TESTS(test_cache);
