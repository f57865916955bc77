/* SPDX-License-Identifier: MIT */
/* The conformance checks say of every wrong plugin what is wrong with it, and survive it. */
#include <config.h>

#include "conformance/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"

static json_t *
run(const char *name)
{
	const char *build = getenv("top_builddir");
	AUTO_FREE char *folder = path_join(build ? build : ".", "tests/plugins/.libs"), *file = NULL;
	if (asprintf(&file, "%s/%s.so", folder, name) < 0)
		abort();
	const struct conformance_setup setup = {.file = file, .stop_ms = 300};
	struct kettle_error err = {0};
	json_t *results = NULL;
	if (conformance_run(&setup, &results, &err) != 0)
		fail_msg("%s", err.message);
	return results;
}

/* Whether all passed; what did not is printed. */
static bool
is_ok(const json_t *results)
{
	size_t i;
	json_t *test;
	json_array_foreach(json_object_get(results, "tests"), i, test) {
		if (!json_is_true(json_object_get(test, "passed")))
			print_message("# %s: %s\n", json_string_value(json_object_get(test, "name")),
				json_string_value(json_object_get(test, "message")));
	}
	return json_is_true(json_object_get(results, "ok"));
}

static void
test_good_ones(void **state)
{
	(void)state;
	const char *const names[] = {"fix_good", "fix_runner", "fix_slow", "fix_twice"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_JSON json_t *results = run(names[i]);
		assert_true(is_ok(results));
		assert_int_equal(json_array_size(json_object_get(results, "tests")), 10);
	}
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
	expect("fix_leaks", "It leaves 1 descriptor(s) open");
	expect("fix_timer", "The plugin left behind: 1 timer(s).");
	expect("fix_extra", "It exports `fix_extra` as well");
	expect("fix_extension", "`fix` among its extensions is not a dot and an ending");
	expect("fix_plan", "steps[0].");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_ones),
		cmocka_unit_test(test_wrong_ones),
	};
	return cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
}
