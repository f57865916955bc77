/* SPDX-License-Identifier: MIT */
/* The command line's parser: every form of option, every refusal. */
#include <config.h>

#include "base/cleanup.h"
#include "cli/args/args.h"
#include "lib/unit_test.h"

static const char table_text[] =
#include "lib/cli_table.h"
	;

static const struct args_option own[] = {
	{"output", 'o', "FILE", "where to"}, {"no-look", 'n', NULL, "at once"}, {NULL, 0, NULL, NULL}};

static int
setup(void **state)
{
	*state = json_loads(table_text, 0, NULL);
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	json_decref(*state);
	return 0;
}

/* Finds the command and parses its arguments; the message is in err. */
static int
parse(const json_t *table, struct args *args, struct kettle_error *err, const char *const *argv)
{
	const json_t *command = NULL;
	int argc = 0, words = 0;
	while (argv[argc])
		argc++;
	*args = (struct args){0};
	int rc = args_find(table, argc, argv, &command, &words, err);
	assert_int_equal(rc, 0);
	assert_non_null(command);
	return args_parse(command, own, argc - words, argv + words, args, err);
}

static void
assert_parsed(const json_t *table, const char *values, const char *owns, const char *const *argv)
{
	struct args args;
	struct kettle_error err = {0};
	int rc = parse(table, &args, &err, argv);
	if (rc)
		fail_msg("%s", err.message);
	AUTO_JSON json_t *expected = json_loads(values, 0, NULL);
	AUTO_JSON json_t *expected_own = json_loads(owns, 0, NULL);
	AUTO_FREE char *found = json_dumps(args.values, 0);
	if (!json_equal(args.values, expected))
		fail_msg("%s is not %s", found, values);
	assert_true(json_equal(args.own, expected_own));
	args_free(&args);
}

static void
assert_refused(const json_t *table, const char *sentence, const char *const *argv)
{
	struct args args;
	struct kettle_error err = {0};
	assert_int_equal(parse(table, &args, &err, argv), KETTLE_EINVAL);
	assert_string_equal(err.message, sentence);
	args_free(&args);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PARSED(values, owns, ...) assert_parsed(*state, values, owns, WORDS(__VA_ARGS__))
#define REFUSED(sentence, ...) assert_refused(*state, sentence, WORDS(__VA_ARGS__))

static void
test_forms(void **state)
{
	PARSED("{\"name\":\"b\",\"task\":\"p\"}", "{}", "leaderboard", "create", "b", "--task", "p");
	PARSED("{\"name\":\"b\",\"task\":\"p\"}", "{}", "leaderboard", "create", "--task=p", "b");
	PARSED("{\"name\":\"b\",\"task\":\"\"}", "{}", "leaderboard", "create", "--task=", "b");
	PARSED("{\"name\":\"--task\",\"task\":\"p\"}", "{}", "leaderboard", "create", "--task", "p", "--", "--task");
	PARSED("{\"name\":\"b\",\"task\":\"--x\"}", "{}", "leaderboard", "create", "--task", "--x", "b");
	PARSED("{\"name\":\"b\",\"task\":\"p\",\"device\":[\"A\",\"B\"]}", "{}", "leaderboard", "create", "b", "--task",
		"p", "--device", "A", "--device=B");
	PARSED("{\"path\":[\"a\",\"b\"]}", "{}", "task", "check", "a", "b");
	PARSED("{\"id\":12}", "{}", "submission", "show", "12");
	PARSED("{\"name\":\"b\",\"limit\":-3,\"mine\":true}", "{}", "leaderboard", "show", "b", "--limit", "-3", "--mine");
	PARSED("{\"name\":\"b\",\"mine\":false}", "{}", "leaderboard", "show", "b", "--mine=false");
	PARSED("{\"file\":\"-\"}", "{}", "submit", "-");
	/* The other name of a command. */
	PARSED("{\"id\":12}", "{}", "submission", "stop", "12");
	PARSED("{\"device\":[\"A\",\"B\",\"C\"],\"file\":\"x\",\"leaderboard\":\"b\",\"mode\":\"test\"}", "{}", "submit",
		"-l", "b", "-mtest", "-d", "A", "--gpu", "B", "--gpu=C", "x");
}

static void
test_own_options(void **state)
{
	PARSED("{\"file\":\"f\"}", "{\"output\":\"x\",\"no-look\":true}", "submit", "-o", "x", "f", "--no-look");
	PARSED("{\"file\":\"f\"}", "{\"output\":\"x\",\"no-look\":true}", "submit", "-nox", "f");
	PARSED("{\"file\":\"f\"}", "{\"output\":\"x\",\"json\":true,\"quiet\":true}", "submit", "--output=x", "f", "--json",
		"--quiet");
	/* With --help nothing else is checked. */
	PARSED("{}", "{\"help\":true}", "submit", "--help");
	REFUSED("--no-look takes no value.", "submit", "f", "--no-look=1");
	REFUSED("-o needs a value: -o FILE.", "submit", "f", "-o");
}

static void
test_refusals(void **state)
{
	REFUSED("`kettle submit` needs FILE.", "submit");
	REFUSED("`kettle leaderboard create` needs NAME and --task PATH.", "leaderboard", "create");
	REFUSED("`kettle submit` has no option `--devise`; did you mean `--device`?", "submit", "f", "--devise", "x");
	REFUSED("`kettle submit` has no option `--dev`; did you mean `--device`?", "submit", "f", "--dev");
	REFUSED("`kettle submit` has no option `-x`; `kettle help submit` lists its options.", "submit", "f", "-x");
	REFUSED("--leaderboard was given twice.", "submit", "f", "--leaderboard", "a", "--leaderboard", "b");
	REFUSED("--mode needs a value: --mode MODE.", "submit", "f", "--mode");
	REFUSED("--limit takes a whole number, not `1.5`.", "leaderboard", "show", "b", "--limit", "1.5");
	REFUSED("--limit takes a whole number, not `99999999999999999999`.", "leaderboard", "show", "b", "--limit",
		"99999999999999999999");
	REFUSED("ID takes the number of a submission, not `abc`.", "submission", "show", "abc");
	REFUSED("--mine must be true or false, not `maybe`.", "leaderboard", "show", "b", "--mine=maybe");
	REFUSED("`kettle submit` takes no further arguments, but got `g`.", "submit", "f", "g");
	REFUSED("The value of --leaderboard is not valid UTF-8.", "submit", "f", "--leaderboard", "\xff");
}

static void
test_find(void **state)
{
	const json_t *command = NULL;
	struct kettle_error err = {0};
	int words = -1;
	assert_int_equal(args_find(*state, 1, WORDS("leaderboard"), &command, &words, &err), 0);
	assert_null(command);
	assert_int_equal(words, 1);
	assert_int_equal(args_find(*state, 1, WORDS("--help"), &command, &words, &err), 0);
	assert_int_equal(words, 0);
	assert_int_equal(args_find(*state, 1, WORDS("xyzzy"), &command, &words, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "There is no command `xyzzy`; `kettle help` lists the commands.");
	assert_int_equal(args_find(*state, 2, WORDS("submission", "shwo"), &command, &words, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "There is no command `submission shwo`; did you mean `submission show`?");
	assert_int_equal(args_find(*state, 1, WORDS("srve"), &command, &words, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "There is no command `srve`; did you mean `serve`?");
	assert_int_equal(args_find(*state, 2, WORDS("serve", "x"), &command, &words, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "`kettle serve` takes no further arguments, but got `x`.");
	/* A command that only one group has is found without its group. */
	assert_int_equal(args_find(*state, 1, WORDS("create"), &command, &words, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "There is no command `create`; did you mean `leaderboard create`?");
	/* A dot is not accepted between the words of a command. */
	assert_int_equal(args_find(*state, 1, WORDS("leaderboard.show"), &command, &words, &err), KETTLE_EINVAL);
	assert_int_equal(args_find(*state, 1, WORDS(""), &command, &words, &err), KETTLE_EINVAL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_forms),
	cmocka_unit_test(test_own_options),
	cmocka_unit_test(test_refusals),
	cmocka_unit_test(test_find),
};

UNIT_TESTS(test_cli_args, .setup = setup, .teardown = teardown);
