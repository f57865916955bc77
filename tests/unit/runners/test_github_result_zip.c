/* SPDX-License-Identifier: MIT */
/* The zip of a run's artifact: right ones, bombs, liars, and other bytes. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/github/github.h"

#define BOMB (64u << 20)

struct entry {
	const char *name, *data;
	size_t size;
};

/* A zip of some entries; new. */
static char *
pack(const struct entry *entries, size_t count, size_t *ret_size)
{
	zip_error_t error;
	zip_stat_t stat;
	zip_error_init(&error);
	zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &error);
	assert_non_null(source);
	zip_source_keep(source);
	zip_t *zip = zip_open_from_source(source, ZIP_TRUNCATE, &error);
	assert_non_null(zip);
	for (size_t i = 0; i < count; i++)
		assert_true(
			zip_file_add(zip, entries[i].name, zip_source_buffer(zip, entries[i].data, entries[i].size, 0), 0) >= 0);
	assert_int_equal(zip_close(zip), 0);
	assert_int_equal(zip_source_open(source), 0);
	assert_int_equal(zip_source_stat(source, &stat), 0);
	char *data = xmalloc((size_t)stat.size);
	assert_int_equal(zip_source_read(source, data, stat.size), (zip_int64_t)stat.size);
	(void)zip_source_close(source);
	zip_source_free(source);
	*ret_size = (size_t)stat.size;
	return data;
}

/* Reads a zip that arrived with these bytes. */
static int
read_bytes(const void *data, size_t size, size_t claimed, const char *digest, struct result_files *ret_files,
	struct kettle_error *err)
{
	AUTO_FD int fd = memfd_create("zip", MFD_CLOEXEC);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return result_zip_read(fd, claimed, digest, ret_files, err);
}

static const struct entry right[] = {{"result.kettle", "S1RMRTEK", 8}, {"error.txt", "", 0}, {"other/../x", "y", 1}};

static void
assert_result(const struct result_files *files, const char *text)
{
	char found[100] = "";
	assert_int_equal(pread(files->result, found, sizeof(found) - 1, 0), (ssize_t)strlen(text));
	assert_string_equal(found, text);
}

static void
test_right(void **state)
{
	(void)state;
	char digest[65];
	size_t size;
	struct result_files files = RESULT_FILES_NONE;
	AUTO_FREE char *zip = pack(right, ARRAY_SIZE(right), &size);
	sha256_hex(zip, size, digest);
	assert_int_equal(read_bytes(zip, size, size, digest, &files, NULL), 0);
	assert_result(&files, "S1RMRTEK");
	assert_string_equal(files.error, "");
	assert_null(files.report);
	result_files_free(&files);
	/* The same without a digest. */
	assert_int_equal(read_bytes(zip, size, size, "", &files, NULL), 0);
	assert_result(&files, "S1RMRTEK");
	result_files_free(&files);
	struct kettle_error err = {0};
	assert_int_equal(read_bytes(zip, size, size + 1, digest, &files, &err), KETTLE_ECONFLICT);
	assert_int_equal(result_zip_read(-1, size, digest, &files, &err), KETTLE_EIO);
}

/* Every prefix of a zip, and a zip with any byte changed, is refused by its digest, and without one does no harm. */
static void
test_damaged(void **state)
{
	(void)state;
	char digest[65];
	size_t size;
	struct result_files files = RESULT_FILES_NONE;
	AUTO_FREE char *zip = pack(right, ARRAY_SIZE(right), &size);
	sha256_hex(zip, size, digest);
	for (size_t i = 0; i < size; i++) {
		struct kettle_error err = {0};
		AUTO_FREE char *part = xmemdup(zip, i + 1);
		if (i + 1 < size)
			assert_int_equal(read_bytes(part, i + 1, i + 1, "", &files, &err), KETTLE_EINVAL);
		zip[i] ^= 0x5a;
		assert_int_equal(read_bytes(zip, size, size, digest, &files, &err), KETTLE_ECONFLICT);
		if (read_bytes(zip, size, size, "", &files, &err) == 0)
			result_files_free(&files);
		zip[i] ^= 0x5a;
	}
}

static void
test_bombs(void **state)
{
	(void)state;
	size_t size;
	struct result_files files = RESULT_FILES_NONE;
	struct kettle_error err = {0};
	AUTO_FREE char *zeros = xcalloc(1, BOMB);
	static const char *const names[] = {"result.kettle", "error.txt", "doctor.json"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct entry bomb = {names[i], zeros, BOMB};
		AUTO_FREE char *zip = pack(&bomb, 1, &size);
		assert_int_equal(read_bytes(zip, size, size, "", &files, &err), KETTLE_ETOOBIG);
		/* One that says it is small: the size in the directory and in the entry's own header. */
		for (size_t at = 0; at + 4 <= size; at++)
			if (memcmp(zip + at, "\0\0\0\4", 4) == 0)
				memcpy(zip + at, "\10\0\0\0", 4);
		assert_int_equal(read_bytes(zip, size, size, "", &files, &err), KETTLE_EINVAL);
	}
	struct entry many[RESULT_ZIP_ENTRIES + 1];
	char many_names[RESULT_ZIP_ENTRIES + 1][2] = {{0}};
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many_names[i][0] = (char)('a' + i);
		many[i] = (struct entry){many_names[i], "", 0};
	}
	AUTO_FREE char *zip = pack(many, ARRAY_SIZE(many), &size);
	assert_int_equal(read_bytes(zip, size, size, "", &files, &err), KETTLE_ETOOBIG);
	assert_int_equal(read_bytes("<html>", 6, 6, "", &files, &err), KETTLE_EINVAL);
	assert_int_equal(files.result, -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_right), cmocka_unit_test(test_damaged), cmocka_unit_test(test_bombs)};

UNIT_TESTS(test_github_result_zip);
