/* SPDX-License-Identifier: MIT */
/* Zips that the engine sent: what is in order comes out of them, and no other file is touched. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "cli/actions/actions.h"
#include "lib/unit_test.h"

#define ZIP "CPU/profile-0/profile.zip"

struct entry {
	const char *name, *text;
	mode_t mode; /* 0: a regular file */
};

static char folder[] = "/tmp/kettle-test-unpack-XXXXXX";

/* Writes a zip with these entries, until one without a name. */
static void
make_zip(const struct entry *entries)
{
	AUTO_FREE char *path = path_join(folder, ZIP), *above = path_join(folder, "CPU/profile-0");
	assert_int_equal(file_mkdirs(above, 0755, NULL), 0);
	zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
	assert_non_null(zip);
	for (; entries->name; entries++) {
		zip_source_t *source = zip_source_buffer(zip, entries->text, strlen(entries->text), 0);
		zip_int64_t index = zip_file_add(zip, entries->name, source, ZIP_FL_ENC_UTF_8);
		assert_true(index >= 0);
		mode_t mode = entries->mode ? entries->mode : S_IFREG | 0644;
		assert_int_equal(
			zip_file_set_external_attributes(zip, (zip_uint64_t)index, 0, ZIP_OPSYS_UNIX, (zip_uint32_t)mode << 16), 0);
	}
	assert_int_equal(zip_close(zip), 0);
}

static char *
contents_of(const char *below)
{
	AUTO_FREE char *path = path_join(folder, below);
	char *text = NULL;
	size_t size = 0;
	return file_read(path, 1000, &text, &size, NULL) == 0 ? text : NULL;
}

static void
test_unpacks(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *files = NULL;
	make_zip((const struct entry[]){{"manifest.json", "{}", 0}, {"more/a.txt", "a", 0}, {NULL, NULL, 0}});
	assert_int_equal(unpack_zip(folder, ZIP, &files, &err), 0);
	assert_int_equal(json_array_size(files), 2);
	AUTO_FREE char *manifest = contents_of("CPU/profile-0/manifest.json"), *a = contents_of("CPU/profile-0/more/a.txt");
	assert_string_equal(manifest, "{}");
	assert_string_equal(a, "a");
	AUTO_FREE char *zip = contents_of(ZIP), *path = path_join(folder, "CPU/profile-0/more/a.txt");
	assert_null(zip);
	assert_string_equal(json_text_or_null(json_array_get(files, 1), "path"), path);
	/* What is there stays as it is. */
	json_t *none = NULL;
	make_zip((const struct entry[]){{"manifest.json", "other", 0}, {NULL, NULL, 0}});
	assert_int_equal(unpack_zip(folder, ZIP, &none, &err), KETTLE_ECONFLICT);
	assert_non_null(strstr(err.message, "already exists and is not overwritten"));
	assert_null(none);
	AUTO_FREE char *same = contents_of("CPU/profile-0/manifest.json");
	assert_string_equal(same, "{}");
}

static void
test_hostile(void **state)
{
	(void)state;
	static const struct entry bad[] = {{"../escaped", "x", 0}, {"/tmp/kettle-test-unpack-escaped", "x", 0},
		{"a/../../../escaped", "x", 0}, {"link", "/etc/passwd", S_IFLNK | 0777}, {"fifo", "", S_IFIFO | 0666},
		{".", "x", 0}, {"folder/", "", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kettle_error err = {0};
		json_t *files = NULL;
		make_zip((const struct entry[]){{"first.txt", "x", 0}, bad[i], {NULL, NULL, 0}});
		assert_int_equal(unpack_zip(folder, ZIP, &files, &err), KETTLE_EINVAL);
		assert_null(files);
		/* Nothing is written before all is looked at. */
		AUTO_FREE char *first = contents_of("CPU/profile-0/first.txt"), *escaped = contents_of("CPU/escaped");
		assert_null(first);
		assert_null(escaped);
		assert_int_not_equal(access("/tmp/kettle-test-unpack-escaped", F_OK), 0);
	}
}

/* A folder on the way may be a link that another entry cannot make, but that lies there. */
static void
test_links(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	json_t *files = NULL;
	AUTO_FREE char *link = path_join(folder, "CPU/profile-0/linked"), *elsewhere = path_join(folder, "elsewhere");
	assert_int_equal(mkdir(elsewhere, 0755), 0);
	make_zip((const struct entry[]){{"linked/a.txt", "x", 0}, {NULL, NULL, 0}});
	assert_int_equal(symlink(elsewhere, link), 0);
	assert_int_equal(unpack_zip(folder, ZIP, &files, &err), KETTLE_ECONFLICT);
	AUTO_FREE char *text = contents_of("elsewhere/a.txt");
	assert_null(text);
}

static void
test_bounds(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	json_t *files = NULL;
	static char names[UNPACK_MAX_ENTRIES + 1][8];
	struct entry many[UNPACK_MAX_ENTRIES + 2] = {{0}};
	for (size_t i = 0; i <= UNPACK_MAX_ENTRIES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
		many[i] = (struct entry){names[i], "x", 0};
	}
	make_zip(many);
	assert_int_equal(unpack_zip(folder, ZIP, &files, &err), KETTLE_ETOOBIG);
	AUTO_FREE char *path = path_join(folder, ZIP);
	assert_true(file_write(path, "no zip", 6, 0644, NULL) >= 0);
	assert_int_equal(unpack_zip(folder, ZIP, &files, &err), KETTLE_EINVAL);
	assert_null(files);
}

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	(void)file_remove_tree(folder, NULL);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_unpacks),
	cmocka_unit_test(test_hostile),
	cmocka_unit_test(test_links),
	cmocka_unit_test(test_bounds),
};

UNIT_TESTS(test_cli_unpack, .setup = setup, .teardown = teardown);
