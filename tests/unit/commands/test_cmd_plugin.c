/* SPDX-License-Identifier: MIT */
/* The conformance test as a command: a plugin with required options, and files that hold none. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static char *scratch;

static int
setup(void **state)
{
	scratch = scratch_make();
	return cores_setup(state);
}

static int
teardown(void **state)
{
	scratch_remove(scratch);
	return cores_teardown(state);
}

/* With a file that holds this text, or none. */
static json_t *
arguments(const char *text)
{
	const char *build = getenv("top_builddir");
	AUTO_FREE char *plugin = path_join(build ? build : ".", "tests/plugins/fix_needs.so");
	AUTO_FREE char *file = text ? scratch_write(scratch, "needs.yml", text) : NULL;
	return json_pack("{s:s, s:s*}", "file", plugin, "options", file);
}

static int
count(const json_t *results, const char *member)
{
	size_t i;
	json_t *test;
	int found = 0;
	json_array_foreach(json_object_get(results, "tests"), i, test)
		found += member_true(test, member);
	return found;
}

static void
test_options(void **state)
{
	(void)state;
	const json_t *results =
		cores_must(0, "alice", "plugin.test", arguments("url: https://example.org\nfolder: here\n"));
	assert_true(member_true(results, "ok"));
	assert_int_equal(count(results, "skipped"), 3); /* those for languages and frontends */
	results = cores_must(0, "alice", "plugin.test", arguments(NULL));
	assert_true(member_true(results, "ok"));
	assert_int_equal(count(results, "skipped"), 6);
	results = cores_must(0, "alice", "plugin.test", arguments("url: [1]\n"));
	assert_false(member_true(results, "ok"));
}

static void
test_refusals(void **state)
{
	(void)state;
	assert_int_equal(cores_run(0, "alice", "plugin.test", arguments("- url\n")), KETTLE_EINVAL);
	assert_sentence(cores_answer.err.message);
	assert_int_equal(cores_run(0, "alice", "plugin.test", arguments("url: [\n")), KETTLE_EINVAL);
	assert_sentence(cores_answer.err.message);
	AUTO_JSON json_t *absent = json_pack("{s:s, s:s}", "file", "x.so", "options", "/no/such.yml");
	assert_int_equal(cores_run(0, "alice", "plugin.test", json_incref(absent)), KETTLE_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {TEST(test_options), TEST(test_refusals)};

UNIT_TESTS(test_cmd_plugin);
