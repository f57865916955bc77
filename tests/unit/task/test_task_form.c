/* SPDX-License-Identifier: MIT */
/* Zips and single reference files: what loads means the same as the folder, and every hostile archive gets its
 * sentence. */
#include <config.h>

#include "task/task.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "lib/languages.h"
#include "lib/unit_test.h"
#include "task/archive.h"
#include "task/folder.h"
#include "unit/scratch.h"

#define YML \
	"files: [{name: s.py, source: \"@SUBMISSION@\"}, {name: e.py, source: e.py}]\nlang: py\nconfig: {main: e.py}\n" \
	"tests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n"

/* Writes X.zip into the folder; new string: its path. files: alternating names and contents, as json_pack's {s:s…}. */
static char *
zip(const char *scratch, const char *top, json_t *files_take)
{
	AUTO_JSON json_t *files = files_take, *contents = json_object();
	AUTO_FREE char *data = NULL;
	const char *name;
	json_t *text;
	size_t size = 0;
	char *path = path_join(scratch, "x.zip");
	json_object_foreach(files, name, text)
		json_object_set_new(contents, name, json_pack("{s:O}", "text", text));
	assert_int_equal(task_archive_write(top, contents, &data, &size, NULL), 0);
	assert_int_equal(file_write(path, data, size, 0600, NULL), 0);
	return path;
}

static void
expect(const char *path, const char *lang, const char *sentence)
{
	AUTO_JSON json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (task_read_as(languages, path, lang, &bundle, &err) == 0)
		fail_msg("no error, but wanted: %s", sentence);
	assert_string_equal(err.message, sentence);
}

static void
expect_zip(json_t *files_take, const char *sentence)
{
	char *scratch = scratch_make();
	AUTO_FREE char *path = zip(scratch, "", files_take), *whole = path_join(scratch, sentence);
	expect(path, NULL, whole);
	scratch_remove(scratch);
}

static json_t *
must_read(const char *path, const char *lang)
{
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (task_read_as(languages, path, lang, &bundle, &err))
		fail_msg("%s", err.message);
	return bundle;
}

/* ---- zips ---- */

/* At the top, in a folder, and beside shared files that ../ reaches: one task. */
static void
test_places(void **state)
{
	(void)state;
	char *scratch = scratch_make(), *other = scratch_make();
	AUTO_FREE char *at_top = zip(scratch, "", json_pack("{s:s, s:s}", "task.yml", YML, "e.py", "pass\n"));
	AUTO_JSON json_t *first = must_read(at_top, NULL);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "x");
	AUTO_FREE char *in_folder = zip(other, "sort",
		json_pack("{s:s, s:s, s:s, s:s}", "task.yml", YML, "e.py", "pass\n", ".DS_Store", "x", "sub/.DS_Store", "x"));
	AUTO_JSON json_t *second = must_read(in_folder, NULL);
	assert_string_equal(json_string_value(json_object_get(second, "name")), "sort");
	assert_true(json_equal(json_object_get(first, "hash"), json_object_get(second, "hash")));
	free(zip(other, "",
		json_pack("{s:s, s:s, s:s}", "sort/task.yml",
			"files: [{name: s.py, source: \"@SUBMISSION@\"}, {name: e.py, source: ../shared/e.py}]\nlang: "
			"py\nconfig: {main: e.py}\ntests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n",
			"shared/e.py", "pass\n", "__MACOSX/task.yml", "x")));
	AUTO_JSON json_t *third = must_read(in_folder, NULL);
	assert_true(json_equal(json_object_get(first, "hash"), json_object_get(third, "hash")));
	scratch_remove(scratch);
	scratch_remove(other);
}

static void
test_no_task(void **state)
{
	(void)state;
	expect_zip(json_pack("{s:s}", "a.txt", "x"),
		"x.zip: it has no task.yml at its top or in a folder there, and no competition file at its top.");
	expect_zip(json_pack("{s:s}", "a/b/task.yml", YML),
		"x.zip: it has no task.yml at its top or in a folder there, and no competition file at its top (but "
		"`a/b/task.yml`).");
	expect_zip(json_pack("{s:s, s:s}", "a/task.yml", YML, "b/task.yml", YML),
		"x.zip: it contains 2 tasks (`a`, `b`); a task's archive must contain exactly one.");
	expect_zip(
		json_pack("{s:s}", "task.yml", YML), "x.zip: task.yml:1:68: the file `e.py` does not exist in the archive.");
	expect_zip(json_pack("{s:s, s:s}", "task.yml", YML, "e.py/x", "x"),
		"x.zip: task.yml:1:68: `e.py` is a folder, not a regular file.");
	char *scratch = scratch_make();
	AUTO_FREE char *path = zip(scratch, "", json_pack("{s:s}", "set.yaml", "problems: []\n"));
	AUTO_BUF struct buf sentence = {0};
	buf_printf(&sentence,
		"`%s` contains a competition (set.yaml), not one task: name the folder of one of its tasks, or sync the "
		"competition.",
		path);
	expect(path, NULL, sentence.data);
	scratch_remove(scratch);
}

static void
test_leaves_archive(void **state)
{
	(void)state;
	expect_zip(json_pack("{s:s}", "task.yml",
				   "files: [{name: s.py, source: \"@SUBMISSION@\"}, {name: e.py, source: ../e.py}]\nlang: py\nconfig: "
				   "{main: e.py}\ntests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n"),
		"x.zip: task.yml:1:68: the source `../e.py` is outside of the archive; `kettle task pack` writes a "
		"self-contained one.");
}

/* ---- hostile archives ---- */

struct hostile {
	const char *name, *sentence;
	mode_t type; /* 0: a regular file */
	zip_uint8_t system;
	zip_uint16_t encryption;
	const char *again; /* another entry, which gets the same name when all is written */
};

static void
add_hostile(zip_t *writer, const struct hostile *hostile, const char *name)
{
	mode_t type = hostile->type ? hostile->type : S_IFREG;
	zip_int64_t at = zip_file_add(writer, name, zip_source_buffer(writer, "abc", 3, 0), ZIP_FL_ENC_CP437);
	assert_true(at >= 0);
	assert_int_equal(zip_file_set_external_attributes(writer, (zip_uint64_t)at, 0,
						 hostile->system ? hostile->system : ZIP_OPSYS_UNIX, (type | 0644u) << 16),
		0);
	if (hostile->encryption)
		assert_int_equal(zip_file_set_encryption(writer, (zip_uint64_t)at, hostile->encryption, "secret"), 0);
}

static void
rename_all(struct buf *out, const char *from, const char *to)
{
	size_t len = strlen(from);
	for (size_t at = 0; at + len <= out->len; at++)
		if (memcmp(out->data + at, from, len) == 0)
			memcpy(out->data + at, to, len);
}

static void
make_hostile(const struct hostile *hostile, struct buf *out)
{
	zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, NULL);
	char chunk[4096];
	zip_source_keep(source);
	zip_t *writer = zip_open_from_source(source, ZIP_TRUNCATE, NULL);
	assert_non_null(writer);
	add_hostile(writer, hostile, hostile->name);
	if (hostile->again)
		add_hostile(writer, hostile, hostile->again);
	assert_int_equal(zip_close(writer), 0);
	assert_int_equal(zip_source_open(source), 0);
	for (zip_int64_t got; (got = zip_source_read(source, chunk, sizeof(chunk))) > 0;)
		buf_add(out, chunk, (size_t)got);
	(void)zip_source_close(source);
	zip_source_free(source);
	if (hostile->again)
		rename_all(out, hostile->again, hostile->name);
}

static void
test_hostile(void **state)
{
	(void)state;
	static const struct hostile all[] = {
		{.name = "/etc/passwd", .sentence = "the entry `/etc/passwd` has an absolute name; names must be relative."},
		{.name = "../x",
			.sentence = "the entry `../x` has a name that does not stay inside the archive: no part of it may be "
						"empty, `.`, `..` or hold control or invisible characters."},
		{.name = "a/../../x",
			.sentence = "the entry `a/../../x` has a name that does not stay inside the archive: no part of it may be "
						"empty, `.`, `..` or hold control or invisible characters."},
		{.name = "a\x1b[31mb",
			.sentence = "the entry `a\xef\xbf\xbd[31mb` has a name that does not stay inside the archive: no part of "
						"it may be empty, `.`, `..` or hold control or invisible characters."},
		{.name = "a\xff"
				 "b",
			.sentence = "the entry `a\xef\xbf\xbd"
						"b` has a name that is not UTF-8."},
		{.name = "link",
			.type = S_IFLNK,
			.sentence = "the entry `link` is a link; put the file itself into the archive."},
		{.name = "mac",
			.type = S_IFLNK,
			.system = ZIP_OPSYS_OS_X,
			.sentence = "the entry `mac` is a link; put the file itself into the archive."},
		{.name = "fifo",
			.type = S_IFIFO,
			.sentence = "the entry `fifo` is a device, a FIFO or a socket, not a regular file."},
		{.name = "device/",
			.type = S_IFBLK,
			.sentence = "the entry `device/` is a device, a FIFO or a socket, not a regular file."},
		{.name = "..\\x",
			.system = ZIP_OPSYS_WINDOWS_NTFS,
			.sentence = "the entry `../x` has a name that does not stay inside the archive: no part of it may be "
						"empty, `.`, `..` or hold control or invisible characters."},
		{.name = "twice", .again = "twicf", .sentence = "the entry `twice` occurs twice in the archive."},
		{.name = "locked",
			.encryption = ZIP_EM_AES_256,
			.sentence = "the entry `locked` is encrypted; send the archive without a password."},
		{.name = "bolted",
			.encryption = ZIP_EM_TRAD_PKWARE,
			.sentence = "the entry `bolted` is encrypted; send the archive without a password."},
	};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		AUTO_BUF struct buf data = {0};
		AUTO_BUF struct buf sentence = {0};
		struct task_archive *archive = NULL;
		struct kettle_error err = {0};
		make_hostile(&all[i], &data);
		buf_printf(&sentence, "x.zip: %s", all[i].sentence);
		assert_int_equal(task_archive_read("x.zip", data.data, data.len, &archive, &err), KETTLE_EINVAL);
		assert_string_equal(err.message, sentence.data);
	}
}

static void
expect_archive(const char *data, size_t size, int code, const char *part)
{
	struct task_archive *archive = NULL;
	struct kettle_error err = {0};
	assert_int_equal(task_archive_read("x.zip", data, size, &archive, &err), code);
	assert_null(archive);
	if (!strstr(err.message, part))
		fail_msg("%zu bytes: \"%s\"", size, err.message);
}

/* A good archive, cut off at every place, or with a byte changed: never more than an error. */
static void
test_damaged(void **state)
{
	(void)state;
	AUTO_JSON json_t *files =
		json_pack("{s:{s:s}, s:{s:s}}", "a.txt", "text", "aaaaaaaaaaaaaaaaaaaa", "b", "text", "b");
	AUTO_FREE char *data = NULL, *again = NULL;
	size_t size = 0, size_again = 0;
	assert_int_equal(task_archive_write("top", files, &data, &size, NULL), 0);
	assert_int_equal(task_archive_write("top", files, &again, &size_again, NULL), 0);
	assert_int_equal(size, size_again);
	assert_memory_equal(data, again, size);
	for (size_t cut = 0; cut < size; cut++) {
		AUTO_FREE char *part = malloc(cut + 1);
		memcpy(part, data, cut);
		expect_archive(part, cut, KETTLE_EINVAL, "x.zip: ");
	}
	for (size_t at = 0; at < size; at++) {
		struct task_archive *archive = NULL;
		data[at] ^= 0x55;
		if (task_archive_read("x.zip", data, size, &archive, NULL) == 0)
			task_archive_free(archive);
		data[at] ^= 0x55;
	}
	/* A method that is not supported is no damage. */
	char *central = memmem(data, size, "PK\1\2", 4);
	data[8] = central[10] = 14;
	expect_archive(data, size, KETTLE_EINVAL, "the method 14 (LZMA)");
	data[8] = central[10] = 77;
	expect_archive(data, size, KETTLE_EINVAL, "the method 77, ");
	expect_archive("nothing", 7, KETTLE_EINVAL, "damaged or not a zip");
	expect_archive("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, KETTLE_EINVAL, "there is no file in");
}

/* Both a file and a folder; and too much of everything. */
static void
test_limits(void **state)
{
	(void)state;
	AUTO_JSON json_t *both = json_pack("{s:{s:s}, s:{s:s}}", "a", "text", "x", "a/b", "text", "x");
	AUTO_JSON json_t *many = json_object(), *large = json_object();
	AUTO_FREE char *data = NULL, *more = NULL, *bomb = NULL, *zeros = calloc(1, 8u << 20);
	size_t size = 0;
	assert_int_equal(task_archive_write("", both, &data, &size, NULL), 0);
	expect_archive(data, size, KETTLE_EINVAL, "the entry `a` is both a file and a folder.");
	for (int i = 0; i <= TASK_ARCHIVE_MAX_ENTRIES; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "%d", i);
		json_object_set_new(many, name, json_pack("{s:s}", "text", ""));
	}
	assert_int_equal(task_archive_write("", many, &more, &size, NULL), 0);
	expect_archive(more, size, KETTLE_ETOOBIG, "exceeds the limit of 5000 entries");
	memset(zeros, 'x', (8u << 20) - 1);
	json_object_set_new(large, "zeros", json_pack("{s:s}", "text", zeros));
	assert_int_equal(task_archive_write("", large, &bomb, &size, NULL), 0);
	expect_archive(bomb, size, KETTLE_ETOOBIG, "it unpacks to more than 100 times its size");
}

/* ---- single files ---- */

#define REFERENCE \
	"using input_t = int;\nusing output_t = int;\ninput_t generate_input() { return 1; }\n" \
	"output_t ref_kernel(input_t x) { return x; }\n" \
	"bool check_implementation(output_t a, output_t b) { return a == b; }\n"

static void
test_single(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *cpp = scratch_write(scratch, "double it.cpp", REFERENCE);
	AUTO_FREE char *cuda = scratch_write(scratch, "double.cuh", REFERENCE);
	AUTO_FREE char *text = scratch_write(scratch, "double.txt", REFERENCE);
	expect(cpp, NULL,
		"`double it.cpp` makes a CUDA task, for which the language cu is not loaded; for a host C++ task, name the "
		"language cpp (`lang`).");
	expect(cuda, NULL,
		"`double.cuh` makes a CUDA task, for which the language cu is not loaded; for a host C++ task, name the "
		"language cpp (`lang`).");
	expect(cpp, "cp", "There is no language `cp` (did you mean `cpp`?); loaded languages: cpp, cu, py.");
	expect(cpp, "cu", "The language cu has no tasks of a single reference file; make a folder with a task.yml.");
	expect(text, NULL,
		"`double.txt` is neither a task's folder nor its task.yml, nor a zip, nor a reference file of a loaded "
		"language: cpp, cu, py.");
	AUTO_JSON json_t *bundle = must_read(cpp, "C++");
	const json_t *task = json_object_get(bundle, "task");
	assert_string_equal(json_string_value(json_object_get(bundle, "name")), "task"); /* for want of a plain name */
	assert_string_equal(json_string_value(json_object_get(bundle, "submission")), "train.h");
	assert_int_equal(json_array_size(json_object_get(task, "tests")), 1);
	assert_int_equal(json_array_size(json_object_get(task, "benchmarks")), 1);
	assert_int_equal(json_object_size(json_object_get(bundle, "files")), 5); /* harness.h among them */
	assert_int_equal(json_array_size(json_object_get(bundle, "remarks")), 1);
	scratch_remove(scratch);
}

/* Between which languages is to choose: by the file's ending, where it fits another than the one that takes it by default. */
static void
test_single_languages(void **state)
{
	(void)state;
	static const struct {
		const char *name, *fits;
	} cases[] = {{"relu.cpp", "[\"cpp\"]"}, {"relu.CPP", "[\"cpp\"]"}, {"relu.cu", "[]"}, {"relu.py", "[]"},
		{"relu.zip", "[]"}, {"cpp", "[]"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *names = task_single_languages(languages, cases[i].name);
		AUTO_FREE char *text = json_dumps(names, JSON_COMPACT);
		assert_string_equal(text, cases[i].fits);
	}
}

/* The references of the fixtures, by the endings that KernelBot uses. */
static void
test_single_fixtures(void **state)
{
	(void)state;
	static const char *const endings[] = {"cpp", "cu", "cuh"};
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		AUTO_BUF struct buf path = {0}, sentence = {0};
		buf_printf(&path, "%s/tests/fixtures/tasks/single/double.%s", getenv("top_srcdir"), endings[i]);
		buf_printf(&sentence,
			"`double.%s` makes a CUDA task, for which the language cu is not loaded; for a host C++ task, name the "
			"language cpp (`lang`).",
			endings[i]);
		expect(path.data, NULL, sentence.data);
		AUTO_JSON json_t *bundle = must_read(path.data, "cpp");
		assert_string_equal(json_string_value(json_object_get(bundle, "name")), "double");
	}
}

static void
test_bad_single(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *lacks = scratch_write(scratch, "lacks.cpp", "int ref_kernel;\n");
	AUTO_FREE char *binary = scratch_write(scratch, "binary.cpp", "\xff\xfe");
	AUTO_FREE char *yml = scratch_write(scratch, "task.yml", YML);
	AUTO_FREE char *harness = scratch_write(scratch, "e.py", "");
	AUTO_BUF struct buf sentence = {0};
	expect(lacks, "cpp",
		"The reference `lacks.cpp` does not define `input_t`; it must define input_t, output_t, generate_input(), "
		"ref_kernel(input_t) and check_implementation(output_t, output_t).");
	buf_printf(&sentence,
		"`%s` is neither a task's folder nor its task.yml, nor a zip, nor a reference file: it is not UTF-8 text.",
		binary);
	expect(binary, "cpp", sentence.data);
	AUTO_JSON json_t *bundle = must_read(scratch, "python");
	AUTO_BUF struct buf other = {0};
	buf_printf(&other, "%s/task.yml: the task's language is py, not cpp as requested.", scratch);
	expect(scratch, "cpp", other.data);
	expect("/dev/null", NULL, "`/dev/null` is a device, a FIFO or a socket, not a task.");
	scratch_remove(scratch);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_places),
	cmocka_unit_test(test_no_task),
	cmocka_unit_test(test_leaves_archive),
	cmocka_unit_test(test_hostile),
	cmocka_unit_test(test_damaged),
	cmocka_unit_test(test_limits),
	cmocka_unit_test(test_single),
	cmocka_unit_test(test_single_languages),
	cmocka_unit_test(test_single_fixtures),
	cmocka_unit_test(test_bad_single),
};

UNIT_TESTS(test_task_form, .setup = languages_setup, .teardown = languages_teardown);
