/* SPDX-License-Identifier: MIT */
/* task.unpack: a task that a user sends as a file, read where no path of the machine can be meant. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "task/archive.h"

#define YML \
	"files: [{name: s.cpp, source: \"@SUBMISSION@\"}, {name: e.cpp, source: e.cpp}]\nlang: cpp\nconfig: {sources: " \
	"[s.cpp, e.cpp]}\ntests: [{n: 1, seed: 1}]\nbenchmarks: [{n: 2, seed: 2}]\n"
#define REFERENCE \
	"using input_t = int;\nusing output_t = int;\ninput_t generate_input() { return 1; }\n" \
	"output_t ref_kernel(input_t x) { return x; }\n" \
	"bool check_implementation(output_t a, output_t b) { return a == b; }\n"

static json_t *
sent(const char *name, const void *data, size_t size)
{
	AUTO_FREE char *base64 = base64_encode(data, size);
	return json_pack("{s:{s:s, s:s}}", "file", "name", name, "base64", base64);
}

static json_t *
sent_zip(const char *name, json_t *files_take)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	assert_int_equal(task_archive_write("", files_take, &data, &size, NULL), 0);
	json_decref(files_take);
	return sent(name, data, size);
}

static void
assert_refused(json_t *args_take, int code, const char *sentence)
{
	assert_int_equal(cores_run(0, "carol:creator", "task.unpack", args_take), code);
	assert_string_equal(cores_answer.err.message, sentence);
}

/* What it answers is a task for leaderboard.create. */
static void
test_zip(void **state)
{
	(void)state;
	json_t *files = json_pack("{s:{s:s}, s:{s:s}}", "task.yml", "text", YML, "e.cpp", "text", "int main() {}\n");
	AUTO_JSON json_t *bundle = json_deep_copy(
		cores_must(0, "carol:creator", "task.unpack", sent_zip("C:\\tasks\\adds.zip", json_incref(files))));
	assert_string_equal(json_text_or_empty(bundle, "name"), "adds");
	assert_int_equal(json_object_size(json_object_get(bundle, "files")), 1);
	const json_t *board = cores_must(0, "carol:creator", "leaderboard.create",
		json_pack("{s:s, s:O, s:[s], s:b}", "name", "adds", "task", bundle, "device", "CPU", "no_try", 1));
	assert_string_equal(json_text_or_empty(board, "name"), "adds");
	/* Not its name says what it is. */
	assert_string_equal(
		json_text_or_empty(cores_must(0, "carol:creator", "task.unpack", sent_zip("adds", files)), "name"), "adds");
}

static void
test_single(void **state)
{
	(void)state;
	json_t *args = sent("../double.cpp", REFERENCE, strlen(REFERENCE));
	/* The only language that runs it on the device; then the one that is named. */
	const json_t *bundle = cores_must(0, "carol:creator", "task.unpack", json_deep_copy(args));
	assert_string_equal(json_text_or_empty(json_object_get(bundle, "task"), "lang"), "cpp");
	(void)json_object_set_new(args, "lang", json_string("cpp"));
	bundle = cores_must(0, "carol:creator", "task.unpack", args);
	assert_string_equal(json_text_or_empty(bundle, "name"), "double");
	assert_string_equal(json_text_or_empty(json_object_get(bundle, "task"), "lang"), "cpp");
}

static void
test_refusals(void **state)
{
	(void)state;
	static char large[2u << 20];
	assert_int_equal(cores_run(0, "alice", "task.unpack", sent("a.cpp", "x", 1)), KETTLE_EACCES);
	assert_refused(json_pack("{s:{s:s, s:s}}", "file", "name", "a.zip", "base64", "%"), KETTLE_EINVAL,
		"The contents of the file are not base64.");
	assert_refused(sent("a/\xe2\x80\x8b", "x", 1), KETTLE_EINVAL,
		"The file has no name; the extension of the name tells a zip from a reference file.");
	assert_refused(
		sent("a.zip", "x", 1), KETTLE_EINVAL, "a.zip: the archive is damaged or not a zip: Not a zip archive.");
	assert_refused(sent("a.cpp", "\xff", 1), KETTLE_EINVAL,
		"`a.cpp` is neither a zip nor a reference file: it is not UTF-8 text.");
	assert_refused(sent("a.cpp", large, sizeof(large)), KETTLE_ETOOBIG,
		"`a.cpp` exceeds the limit of 1 MiB for a reference file.");
	/* A path of this machine is a name like any other. */
	assert_refused(sent("/etc/passwd", "x", 1), KETTLE_EINVAL,
		"`passwd` is neither a task's folder nor its task.yml, nor a zip, nor a reference file of a loaded language: "
		"cpp, cu, py.");
	assert_refused(sent_zip("a.zip", json_pack("{s:{s:s}}", "task.yml", "text", YML)), KETTLE_ENOENT,
		"a.zip: task.yml:1:70: the file `e.cpp` does not exist in the archive.");
	assert_refused(sent_zip("a.zip", json_pack("{s:{s:s}}", "set.yaml", "text", "problems: []\n")), KETTLE_EINVAL,
		"`a.zip` contains a competition (set.yaml), not one task: name the folder of one of its tasks, or sync the "
		"competition.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)
static const struct CMUnitTest tests[] = {TEST(test_zip), TEST(test_single), TEST(test_refusals)};

UNIT_TESTS(test_cmd_task);
