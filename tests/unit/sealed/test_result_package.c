/* SPDX-License-Identifier: MIT */
/* The content of a sealed result: packed and read back; a malformed or damaged one is refused. */
#include <config.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "sealed/result_package.h"
#include "unit/scratch.h"

#define MAX 100000
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* SHA-256 of "abc" */
#define HEAD "{\"protocol\":1,\"version\":\"0.1.0\",\"completion\":{\"status\":\"done\"},\"files\":["
#define ENTRY(path, size, sha256) "{\"path\":\"" path "\",\"size\":" size ",\"sha256\":\"" sha256 "\"}"

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

/* A completion with two artifacts, which it puts into the folder. New reference. */
static json_t *
make_job(const char *spool)
{
	AUTO_FREE char *folder = path_join(spool, "run/deep");
	assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
	free(scratch_write(spool, "run/deep/abc", "abc"));
	free(scratch_write(spool, "run/empty", ""));
	char empty[65];
	sha256_hex("", 0, empty);
	return json_pack("{s:s, s:s, s:[{s:s, s:[{s:s, s:i, s:s}, {s:s, s:i, s:s}]}, {s:s}]}", "event", "done", "status",
		"done", "outcomes", "step", "run", "artifacts", "name", "deep/abc", "size", 3, "sha256", ABC, "name", "empty",
		"size", 0, "sha256", empty, "step", "other");
}

/* What a package is read as, `piece` bytes at a time. */
static int
read_pieces(const char *data, size_t size, size_t piece, const char *spool, json_t **ret_completion, char **ret_run,
	struct kettle_error *err)
{
	struct result_reader *reader = result_reader_new(spool, MAX);
	int rc = 0;
	for (size_t at = 0; at < size && rc == 0; at += piece) {
		/* Exactly as many bytes as are given: a sanitizer sees what is read beyond. */
		AUTO_FREE char *part = xmemdup(data + at, size - at < piece ? size - at : piece);
		rc = result_reader_take(reader, part, size - at < piece ? size - at : piece, err);
		/* Nothing is there before all of it is. */
		if (spool && size > piece && at == 0)
			assert_int_not_equal(access(spool, F_OK), 0);
	}
	if (rc == 0)
		rc = result_reader_finish(reader, ret_completion, ret_run, err);
	result_reader_free(reader);
	AUTO_FREE char *stage = xasprintf("%s" RESULT_PACKAGE_STAGE, spool ? spool : "/nonexistent");
	assert_int_not_equal(access(stage, F_OK), 0);
	return rc;
}

static int
read_package(
	const char *data, size_t size, const char *spool, json_t **ret_completion, char **ret_run, struct kettle_error *err)
{
	return read_pieces(data, size, size ? size : 1, spool, ret_completion, ret_run, err);
}

static void
test_round_trip(void **state)
{
	AUTO_FREE char *from = path_join(*state, "from"), *to = path_join(*state, "to"), *data = NULL, *run = NULL,
				   *text = NULL;
	assert_int_equal(mkdir(from, 0700), 0);
	AUTO_JSON json_t *completion = make_job(from);
	AUTO_JSON json_t *read = NULL;
	size_t size = 0, len = 0;
	struct kettle_error err = {0};
	if (result_package_write(completion, from, "run 7", MAX, &data, &size, &err) ||
		read_package(data, size, to, &read, &run, &err))
		fail_msg("%s", err.message);
	assert_true(json_equal(completion, read));
	assert_string_equal(run, "run 7");
	AUTO_FREE char *path = path_join(to, "run/deep/abc"), *empty = path_join(to, "run/empty");
	assert_int_equal(file_read(path, 10, &text, &len, NULL), 0);
	assert_string_equal(text, "abc");
	struct stat st;
	assert_int_equal(stat(empty, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	/* A second time it takes the place of what is there, as after a crash. */
	AUTO_FREE char *old = scratch_write(to, "run/old", "x");
	AUTO_JSON json_t *again = NULL, *checked = NULL;
	AUTO_FREE char *none = NULL, *nothing = NULL;
	assert_int_equal(read_package(data, size, to, &again, &none, NULL), 0);
	assert_int_not_equal(access(old, F_OK), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(read_package(data, size, NULL, &checked, &nothing, NULL), 0);
}

/* Wherever it is cut into pieces, and wherever it ends. */
static void
test_pieces(void **state)
{
	static const char text[] = HEAD ENTRY("run/abc", "3", ABC) "," ENTRY("run/none", "0",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") "," ENTRY("b/abc", "3", ABC) "]}\nabcabc";
	const size_t size = strlen(text);
	AUTO_FREE char *to = path_join(*state, "to"), *path = path_join(to, "b/abc");
	for (size_t piece = 1; piece <= size; piece++) {
		AUTO_JSON json_t *read = NULL, *partly = NULL;
		AUTO_FREE char *run = NULL, *none = NULL;
		assert_int_equal(read_pieces(text, size, piece, to, &read, &run, NULL), 0);
		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(file_remove_tree(to, NULL), 0);
		assert_int_equal(read_pieces(text, piece - 1, 7, to, &partly, &none, NULL), KETTLE_EINVAL);
		assert_int_not_equal(access(to, F_OK), 0);
	}
}

/* What it announces is refused before a byte of it has come. */
static void
test_read_refuses_early(void **state)
{
	static const char *const heads[] = {HEAD ENTRY("run/abc", "100001", ABC) "]}\n",
		HEAD ENTRY("run/a", "60000", ABC) "," ENTRY("run/b", "60000", ABC) "]}\n",
		HEAD ENTRY("run/abc", "9223372036854775807", ABC) "," ENTRY("run/b", "9223372036854775807", ABC) "]}\n"};
	AUTO_FREE char *to = path_join(*state, "to"), *stage = xasprintf("%s" RESULT_PACKAGE_STAGE, to);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct kettle_error err = {0};
		struct result_reader *reader = result_reader_new(to, MAX);
		assert_int_equal(result_reader_take(reader, heads[i], strlen(heads[i]), &err), KETTLE_ETOOBIG);
		assert_int_not_equal(access(stage, F_OK), 0);
		result_reader_free(reader);
	}
}

static void
test_without_run(void **state)
{
	AUTO_JSON json_t *completion = json_pack("{s:s}", "status", "lost"), *read = NULL;
	AUTO_FREE char *data = NULL, *run = NULL;
	size_t size = 0;
	assert_int_equal(result_package_write(completion, *state, NULL, MAX, &data, &size, NULL), 0);
	assert_int_equal(read_package(data, size, *state, &read, &run, NULL), 0);
	assert_null(run);
	assert_true(json_equal(completion, read));
}

static void
test_write_refuses(void **state)
{
	static const struct {
		const char *step, *name, *sha256;
		json_int_t size;
		size_t max;
		int code;
	} cases[] = {
		{"run", "deep/abc", ABC, 3, MAX, 0},
		{"run", "deep/abc", ABC, 4, MAX, KETTLE_EIO},
		{"run", "empty", ABC, 0, MAX, KETTLE_EIO},
		{"run", "missing", ABC, 3, MAX, KETTLE_ENOENT},
		{"run", "../run/deep/abc", ABC, 3, MAX, KETTLE_EINVAL},
		{"run", "deep/abc", ABC, 3, 2, KETTLE_ETOOBIG},
		{"run", "deep/abc", ABC, 3, 100, KETTLE_ETOOBIG},
		{"", "etc/passwd", ABC, 3, MAX, KETTLE_EINVAL},
	};
	json_decref(make_job(*state));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *completion = json_pack("{s:[{s:s, s:[{s:s, s:I, s:s}]}]}", "outcomes", "step", cases[i].step,
			"artifacts", "name", cases[i].name, "size", cases[i].size, "sha256", cases[i].sha256);
		AUTO_FREE char *data = NULL;
		size_t size = 0;
		struct kettle_error err = {0};
		assert_int_equal(
			result_package_write(completion, *state, NULL, cases[i].max, &data, &size, &err), cases[i].code);
		assert_int_equal(err.code, cases[i].code);
	}
}

/* Whatever a job has left, its result can be packed: files that do not fit are missing there. */
static void
test_write_leaves_out(void **state)
{
	AUTO_JSON json_t *completion = make_job(*state);
	AUTO_FREE char *line = json_dumps(completion, JSON_COMPACT);
	const size_t bare =
		strlen(line) + sizeof("{\"protocol\":1,\"version\":\"" PACKAGE_VERSION "\",\"completion\":,\"files\":[]}");
	const size_t abc = strlen(ENTRY("run/deep/abc", "3", ABC)) + 4, empty = strlen(ENTRY("run/empty", "0", ABC)) + 1;
	const struct {
		size_t max, files;
	} cases[] = {{bare, 0}, {bare + empty - 1, 0}, {bare + empty, 1}, {bare + abc, 1}, {bare + abc + empty - 1, 1},
		{bare + abc + empty, 2}};
	AUTO_FREE char *none = NULL;
	size_t size = 0;
	assert_int_equal(result_package_write(completion, *state, NULL, bare - 1, &none, &size, NULL), KETTLE_ETOOBIG);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *data = NULL, *run = NULL;
		AUTO_JSON json_t *read = NULL;
		struct kettle_error err = {0};
		if (result_package_write(completion, *state, NULL, cases[i].max, &data, &size, &err) ||
			read_package(data, size, NULL, &read, &run, &err))
			fail_msg("%zu: %s", i, err.message);
		AUTO_JSON json_t *head = json_loadb(data, size, JSON_DISABLE_EOF_CHECK, NULL);
		assert_int_equal(json_array_size(json_object_get(head, "files")), cases[i].files);
		assert_true(size <= cases[i].max && json_equal(read, completion));
	}
}

/* The longest name of a file of a step. */
static void
test_long_name(void **state)
{
	char name[PATH_INSIDE_MAX + 1] = "";
	memset(name, 'n', sizeof(name) - 1);
	AUTO_FREE char *from = path_join(*state, "from"), *to = path_join(*state, "to"), *path = xasprintf("run/%s", name);
	AUTO_FREE char *folder = path_join(from, "run"), *data = NULL, *run = NULL, *text = NULL;
	AUTO_JSON json_t *completion = json_pack("{s:[{s:s, s:[{s:s, s:i, s:s}]}]}", "outcomes", "step", "run", "artifacts",
		"name", name, "size", 3, "sha256", ABC);
	AUTO_JSON json_t *read = NULL;
	size_t size = 0;
	assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
	free(scratch_write(from, path, "abc"));
	assert_int_equal(result_package_write(completion, from, NULL, MAX, &data, &size, NULL), 0);
	assert_int_equal(read_package(data, size, to, &read, &run, NULL), 0);
	AUTO_FREE char *there = path_join(to, path);
	assert_int_equal(file_read(there, 10, &text, &size, NULL), 0);
	assert_string_equal(text, "abc");
}

/* What came from the other side, and why it is refused. */
static void
test_read_refuses(void **state)
{
	static const struct {
		const char *text, *words;
		int code;
	} cases[] = {
		{HEAD ENTRY("run/abc", "3", ABC) "]}\nabc", NULL, 0},
		{HEAD "]}\n", NULL, 0},
		{"", "no end", KETTLE_EINVAL},
		{HEAD "]}", "no end", KETTLE_EINVAL},
		{"\n", "valid JSON", KETTLE_EINVAL},
		{"[]\n", "JSON object", KETTLE_EINVAL},
		{"{\"protocol\":1}\n", "`version`", KETTLE_EINVAL},
		{"{\"protocol\":2,\"version\":\"9.9\\u001b[1m\"}\n",
			"kettle-exec 9.9\xef\xbf\xbd[1m in format 2, and Kettle " PACKAGE_VERSION, KETTLE_EVERSION},
		{"{\"protocol\":1,\"version\":\"1\",\"files\":[]}\n", "`completion`", KETTLE_EINVAL},
		{"{\"protocol\":1,\"version\":\"1\",\"completion\":{}}\n", "`files`", KETTLE_EINVAL},
		{"{\"protocol\":1,\"version\":\"1\",\"run\":7,\"completion\":{},\"files\":[]}\n", "`run`", KETTLE_EINVAL},
		{HEAD "],\"protocol\":1}\n", "valid JSON", KETTLE_EINVAL},
		{HEAD "]}\nx", "follow", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "3", ABC) "]}\nabcd", "follow", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "3", ABC) "]}\nab", "longer", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "3", ABC) "]}\nabd", "digest", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "-1", ABC) "]}\nabc", "no size", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "9223372036854775807", ABC) "]}\nabc", "allowed", KETTLE_ETOOBIG},
		{HEAD ENTRY("run/abc", "\"3\"", ABC) "]}\nabc", "no size", KETTLE_EINVAL},
		{HEAD ENTRY("run/abc", "3", "") "]}\nabc", "digest", KETTLE_EINVAL},
		{HEAD ENTRY("abc", "3", ABC) "]}\nabc", "STEP/NAME", KETTLE_EINVAL},
		{HEAD ENTRY("/run/abc", "3", ABC) "]}\nabc", "empty", KETTLE_EINVAL},
		{HEAD ENTRY("../abc", "3", ABC) "]}\nabc", "inside", KETTLE_EINVAL},
		{HEAD ENTRY("run/../../abc", "3", ABC) "]}\nabc", "inside", KETTLE_EINVAL},
		{HEAD ENTRY("run/./abc", "3", ABC) "]}\nabc", "inside", KETTLE_EINVAL},
		{HEAD ENTRY("run/", "3", ABC) "]}\nabc", "empty", KETTLE_EINVAL},
		{HEAD ENTRY("run/a\\nb", "3", ABC) "]}\nabc", "not allowed", KETTLE_EINVAL},
		{HEAD "{\"size\":3}]}\nabc", "STEP/NAME", KETTLE_EINVAL},
		{HEAD "7]}\n", "STEP/NAME", KETTLE_EINVAL},
		/* Two of one name, and one below another: found when they are written. */
		{HEAD ENTRY("run/abc", "3", ABC) "," ENTRY("run/abc", "3", ABC) "]}\nabcabc", "exists", KETTLE_EIO},
		{HEAD ENTRY("run/abc", "3", ABC) "," ENTRY("run/abc/x", "3", ABC) "]}\nabcabc", "a file has that name",
			KETTLE_ECONFLICT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *spool = xasprintf("%s/%zu", (const char *)*state, i), *run = NULL;
		AUTO_JSON json_t *completion = NULL;
		struct kettle_error err = {0};
		size_t size = strlen(cases[i].text);
		/* Without a NUL behind it. */
		AUTO_FREE char *data = xmalloc(size);
		memcpy(data, cases[i].text, size);
		int rc = read_package(data, size, spool, &completion, &run, &err);
		if (rc != cases[i].code || (rc && !strstr(err.message, cases[i].words)))
			fail_msg("%s: %d, %s", cases[i].text, rc, err.message);
		assert_true((rc == 0) == (completion != NULL));
		/* Nothing is there before all of it is checked. */
		if (rc)
			assert_int_not_equal(access(spool, F_OK), 0);
	}
}

/* What would take too much memory is said to be too large, not damaged: another attempt would report as much. */
static void
test_read_refuses_large_lines(void **state)
{
	(void)state;
	AUTO_BUF struct buf text = {0};
	AUTO_JSON json_t *completion = NULL;
	AUTO_FREE char *run = NULL;
	struct kettle_error err = {0};
	buf_adds(&text, "{\"protocol\":1,\"version\":\"1\",\"files\":[],\"completion\":{\"x\":[{}");
	for (int i = 0; i < BOUNDED_JSON_RESULT / 2; i++)
		buf_adds(&text, ",{}");
	buf_adds(&text, "]}}\n");
	assert_int_equal(read_package(text.data, text.len, NULL, &completion, &run, &err), KETTLE_ETOOBIG);
	text.len = 0;
	while (text.len < RESULT_PACKAGE_MAX_LINE)
		buf_adds(&text, "                                                                ");
	assert_int_equal(read_package(text.data, text.len, NULL, &completion, &run, &err), KETTLE_ETOOBIG);
}

/* Links that are there already lead nothing out of the folder. */
static void
test_links(void **state)
{
	static const char text[] = HEAD ENTRY("run/abc", "3", ABC) "]}\nabc";
	static const char *const folders[] = {"spool/run", "spool" RESULT_PACKAGE_STAGE "/run"};
	AUTO_FREE char *spool = path_join(*state, "spool"), *to = path_join(*state, "to"), *run = NULL;
	AUTO_FREE char *read = path_join(*state, "spool/run/abc");
	AUTO_JSON json_t *completion = NULL;
	struct stat st;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		AUTO_FREE char *folder = path_join(*state, folders[i]), *link = path_join(folder, "abc");
		assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
		assert_int_equal(symlink(to, link), 0);
	}
	assert_int_equal(read_pieces(text, strlen(text), strlen(text), spool, &completion, &run, NULL), 0);
	assert_int_not_equal(access(to, F_OK), 0);
	assert_true(lstat(read, &st) == 0 && S_ISREG(st.st_mode));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
	cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
	cmocka_unit_test_setup_teardown(test_read_refuses_early, setup, teardown),
	cmocka_unit_test_setup_teardown(test_without_run, setup, teardown),
	cmocka_unit_test_setup_teardown(test_write_refuses, setup, teardown),
	cmocka_unit_test_setup_teardown(test_write_leaves_out, setup, teardown),
	cmocka_unit_test_setup_teardown(test_long_name, setup, teardown),
	cmocka_unit_test_setup_teardown(test_read_refuses, setup, teardown),
	cmocka_unit_test(test_read_refuses_large_lines),
	cmocka_unit_test_setup_teardown(test_links, setup, teardown),
};

UNIT_TESTS(test_result_package);
