/* SPDX-License-Identifier: MIT */
/* The conformance checks say of every wrong plugin what is wrong with it, and survive it. */
#include <config.h>

#include "conformance/conformance.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"

static json_t *
run_with(const char *name, const json_t *options)
{
	const char *build = getenv("top_builddir");
	AUTO_FREE char *folder = path_join(build ? build : ".", "tests/plugins"), *file = NULL;
	if (asprintf(&file, "%s/%s.so", folder, name) < 0)
		abort();
	const struct conformance_setup setup = {
		.file = file, .stop_ms = 300, .options = options, .options_file = "needs.yml", .options_base = "/tmp"};
	struct kettle_error err = {0};
	json_t *results = NULL;
	if (conformance_run(&setup, &results, &err) != 0)
		fail_msg("%s", err.message);
	return results;
}

static json_t *
run(const char *name)
{
	return run_with(name, NULL);
}

/* Whether all passed; what did not is printed. */
static bool
is_ok(const json_t *results)
{
	size_t i;
	json_t *test;
	json_array_foreach(json_object_get(results, "tests"), i, test) {
		if (!json_is_true(json_object_get(test, "passed")) && !json_is_true(json_object_get(test, "skipped")))
			print_message("# %s: %s\n", json_string_value(json_object_get(test, "name")),
				json_string_value(json_object_get(test, "message")));
	}
	return json_is_true(json_object_get(results, "ok"));
}

static void
test_good_ones(void **state)
{
	(void)state;
	const char *const names[] = {"fix_good", "fix_runner", "fix_slow", "fix_twice", "fix_listens"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_JSON json_t *results = run(names[i]);
		assert_true(is_ok(results));
		assert_int_equal(json_array_size(json_object_get(results, "tests")), 11);
	}
}

/* The numbers of checks that passed and that were skipped. */
static void
count(const json_t *results, int *ret_passed, int *ret_skipped)
{
	size_t i;
	json_t *test;
	*ret_passed = *ret_skipped = 0;
	json_array_foreach(json_object_get(results, "tests"), i, test) {
		*ret_passed += json_is_true(json_object_get(test, "passed"));
		*ret_skipped += json_is_true(json_object_get(test, "skipped"));
	}
}

/* A frontend that takes connections is tried with some. */
static void
test_listening(void **state)
{
	(void)state;
	int passed, skipped;
	AUTO_JSON json_t *results = run("fix_listens");
	count(results, &passed, &skipped);
	assert_int_equal(skipped, 2); /* for languages */
	assert_int_equal(passed, 9);
}

/* At least one check fails with a sentence that holds `part`. */
static void
expect(const char *name, const char *part)
{
	AUTO_JSON json_t *results = run(name);
	size_t i;
	json_t *test;
	assert_false(json_is_true(json_object_get(results, "ok")));
	json_array_foreach(json_object_get(results, "tests"), i, test) {
		const char *message = json_string_value(json_object_get(test, "message"));
		if (!json_is_true(json_object_get(test, "passed")) && message && strstr(message, part))
			return;
	}
	AUTO_FREE char *text = json_dumps(results, JSON_INDENT(1));
	fail_msg("%s: nothing says \"%s\": %s", name, part, text);
}

static void
test_wrong_ones(void **state)
{
	(void)state;
	expect("no_such", "cannot be loaded: No such file");
	expect("fix_magic", "is not a Kettle plugin");
	expect("fix_crash", "It crashes: signal 6 (Aborted).");
	expect("fix_create", "The moon is not full.");
	expect("fix_configure", "cannot be configured");
	expect("fix_start", "The door is locked.");
	expect("fix_hang", "It does not stop: done was not called within 300 ms.");
	expect("fix_waits", "It does not stop");
	expect("fix_leaks", "It leaves 1 descriptor(s) open");
	expect("fix_timer", "The plugin left behind: 1 timer(s).");
	expect("fix_extra", "It exports `fix_extra` as well");
	expect("fix_extension", "`fix` among its extensions is not a dot and an ending");
	expect("fix_plan", "steps[0].");
}

/* What could not run is neither passed nor failed; with its options the plugin is started. */
static void
test_options(void **state)
{
	(void)state;
	int passed, skipped;
	AUTO_JSON json_t *none = run("fix_needs");
	assert_true(is_ok(none));
	count(none, &passed, &skipped);
	assert_int_equal(skipped, 6); /* three that start it, two for languages, one for frontends */
	assert_int_equal(passed, 5);
	const json_t *life = json_array_get(json_object_get(none, "tests"), 5);
	assert_string_equal(json_string_value(json_object_get(life, "message")),
		"It needs options: name a file with its section by --options. needs.yml: the top level lacks the key `url`.");
	AUTO_JSON json_t *options = json_pack("{s:s, s:s}", "url", "https://example.org", "folder", "here");
	AUTO_JSON json_t *all = run_with("fix_needs", options);
	assert_true(is_ok(all));
	count(all, &passed, &skipped);
	assert_int_equal(skipped, 3);
	assert_int_equal(passed, 8);
	AUTO_JSON json_t *wrong = json_pack("{s:s, s:i}", "url", "https://example.org", "cuont", 3);
	AUTO_JSON json_t *refused = run_with("fix_needs", wrong);
	assert_false(is_ok(refused));
	AUTO_FREE char *text = json_dumps(refused, 0);
	assert_non_null(strstr(text, "Its options are refused: "));
	assert_non_null(strstr(text, "did you mean `count`?"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_good_ones),
	cmocka_unit_test(test_listening),
	cmocka_unit_test(test_wrong_ones),
	cmocka_unit_test(test_options),
};

UNIT_TESTS(test_conformance, .words = "waiting");
