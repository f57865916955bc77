/* SPDX-License-Identifier: MIT */
/* The global options, from the command line and from the environment. */
#include <config.h>

#include "lib/unit_test.h"
#include "program/global_options.h"

#include <stdlib.h>
#include <string.h>

static struct globals globals;
static struct kettle_error err;

static int
parse(const char *words)
{
	static char line[400];
	char *argv[20] = {"kettle"};
	int argc = 1;
	(void)snprintf(line, sizeof(line), "%s", words);
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = strcmp(word, "''") == 0 ? "" : word;
	return globals_parse(argc, argv, &globals, &err);
}

static int
setup(void **state)
{
	static const char *const names[] = {
		"KETTLE_SERVER", "KETTLE_USER", "KETTLE_LOG_FORMAT", "KETTLE_LOG_LEVEL", "KETTLE_JSON", "KETTLE_QUIET"};
	(void)state;
	globals = (struct globals){0};
	err = (struct kettle_error){0};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(globals.argv);
	return 0;
}

/* The rest is what it is, in its order. */
static void
assert_rest(const char *words)
{
	char text[400] = "";
	for (int i = 0; i < globals.argc; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", globals.argv[i]);
	assert_string_equal(text, words);
	assert_null(globals.argv[globals.argc]);
}

static void
test_anywhere(void **state)
{
	(void)state;
	assert_int_equal(parse("--config a.yml submit --json file --db=k.db --user ada --mode test --quiet"), 0);
	assert_string_equal(globals.config, "a.yml");
	assert_string_equal(globals.database, "k.db");
	assert_string_equal(globals.user, "ada");
	assert_true(globals.json && globals.quiet && !globals.version);
	assert_rest("submit file --mode test");
}

static void
test_others_stay(void **state)
{
	(void)state;
	assert_int_equal(parse("a --configure x --js --json=1 -u --dbx=3 --no-wait -"), 0);
	assert_false(globals.json);
	assert_null(globals.config);
	assert_rest("a --configure x --js --json=1 -u --dbx=3 --no-wait -");
}

static void
test_end_of_options(void **state)
{
	(void)state;
	assert_int_equal(parse("submit -- --json --db x"), 0);
	assert_false(globals.json);
	assert_rest("submit -- --json --db x");
}

static void
test_missing_value(void **state)
{
	(void)state;
	static const char *const wrong[] = {"submit --db", "--config=", "--user ''", "--log-level"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i]), KETTLE_EINVAL);
		assert_non_null(strstr(err.message, "takes a value"));
		assert_null(globals.argv);
	}
}

static void
test_last_wins(void **state)
{
	(void)state;
	assert_int_equal(parse("--db a --db=b"), 0);
	assert_string_equal(globals.database, "b");
	assert_rest("");
}

static void
test_environment(void **state)
{
	(void)state;
	(void)setenv("KETTLE_USER", "grace", 1);
	(void)setenv("KETTLE_LOG_LEVEL", "debug", 1);
	(void)setenv("KETTLE_LOG_FORMAT", "", 1);
	(void)setenv("KETTLE_JSON", "1", 1);
	(void)setenv("KETTLE_QUIET", "0", 1);
	assert_int_equal(parse("--log-level error list"), 0);
	assert_string_equal(globals.user, "grace");
	assert_string_equal(globals.log_level, "error");
	assert_null(globals.log_format);
	assert_true(globals.json);
	assert_false(globals.quiet);
}

static void
test_flags_off(void **state)
{
	(void)state;
	static const char *const off[] = {"0", "no", "false", "off", "No", "FALSE"};
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		(void)setenv("KETTLE_JSON", off[i], 1);
		assert_int_equal(parse("list"), 0);
		assert_false(globals.json);
		free(globals.argv);
		globals.argv = NULL;
	}
}

/* The address of a server is one, whether an option or a variable names it. */
static void
test_server(void **state)
{
	(void)state;
	assert_int_equal(parse("--server HTTPS://kettle.example leaderboard list"), 0);
	assert_string_equal(globals.server, "HTTPS://kettle.example");
	free(globals.argv);
	globals = (struct globals){0};
	static const char *const wrong[] = {"kettle.example:8481", "ftp://kettle.example", "http:/kettle.example"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)setenv("KETTLE_SERVER", wrong[i], 1);
		assert_int_equal(parse("leaderboard list"), KETTLE_EINVAL);
	}
	assert_sentence(err.message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_anywhere),
	TEST(test_server),
	TEST(test_others_stay),
	TEST(test_end_of_options),
	TEST(test_missing_value),
	TEST(test_last_wins),
	TEST(test_environment),
	TEST(test_flags_off),
};

UNIT_TESTS(test_global_options);
