/* SPDX-License-Identifier: MIT */
/* Which output of secret runs is kept for operators, and in which form. */
#include <config.h>

#include "engine/secret_output.h"

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

/* What is kept of one step with this outcome; new string, NULL: nothing. signal: below 0, that of its second test. */
static char *
kept(bool secret, enum verdict_state state, int signal, const char *limit, const char *err)
{
	AUTO_JSON json_t *result = signal < 0 ? json_pack("{s:s}", "test.1.signal", "6") : json_object();
	AUTO_JSON json_t *json = json_pack("{s:{s:s, s:s}}", "secret", "KETTLE_SECRET", "0123abcd", "POPCORN_SEED", "77");
	struct verdict_entry entry = {
		.step = {.json = json, .id = "secret-test", .mode = "test", .cases = 2, .secret = secret},
		.judged = {.state = state},
	};
	struct outcome outcome = {.step = "secret-test",
		.signal = {.given = signal > 0, .value = signal},
		.result = result,
		.limit = limit,
		.err = {.text = err, .len = strlen(err)},
		.out = {.text = ""}};
	const struct completion completion = {.outcomes = &outcome, .count = 1};
	(void)kettle_fail(&entry.judged.why, KETTLE_EINVAL, "It ended.");
	const struct verdict verdict = {.entries = &entry, .count = 1};
	char *text = secret_output_text(&verdict, &completion, "HEAD");
	assert_int_equal(secret_output_wanted(&verdict, &completion), text != NULL);
	return text;
}

/* Only of a secret run that a machine failed, or that ended by a signal of its own. */
static void
test_which(void **state)
{
	(void)state;
	static const struct {
		bool secret;
		enum verdict_state state;
		int signal;
		const char *limit;
		bool kept;
	} cases[] = {{true, VERDICT_FAILED, 6, NULL, true}, {true, VERDICT_ERROR, 0, NULL, true},
		{true, VERDICT_FAILED, -1, NULL, true}, {true, VERDICT_PASSED, -1, NULL, false},
		{false, VERDICT_FAILED, -1, NULL, false}, {true, VERDICT_FAILED, 9, "memory", false},
		{true, VERDICT_TIMED_OUT, 9, "wall", false}, {true, VERDICT_FAILED, 0, NULL, false},
		{true, VERDICT_PASSED, 0, NULL, false}, {false, VERDICT_FAILED, 6, NULL, false},
		{false, VERDICT_ERROR, 0, NULL, false}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = kept(cases[i].secret, cases[i].state, cases[i].signal, cases[i].limit, "said\n");
		if (!text != !cases[i].kept)
			fail_msg("case %zu: %s", i, text ? text : "nothing");
	}
}

/* No secret of the plan, no control characters, and no line that reads as a head. */
static void
test_text(void **state)
{
	(void)state;
	AUTO_FREE char *text = kept(true, VERDICT_FAILED, 6, NULL,
		"seed 77, \x1b[2J0123\xe2\x80\x8b"
		"abcd!\nHEAD, forged: x\n\n");
	assert_string_equal(text, "HEAD, secret-test: It ended.\n stderr:\n  seed [secret], \xef\xbf\xbd[2J[secret]!\n"
							  "  HEAD, forged: x\n stdout is empty\n");
}

/* Of long output the end is kept, from the beginning of a line or at least of a character. */
static void
test_end(void **state)
{
	(void)state;
	static const char *const units[] = {"0123456789\n", "\xe2\x82\xac"};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		AUTO_BUF struct buf all = {0};
		while (all.len < 2 * SECRET_OUTPUT_READ)
			buf_adds(&all, units[i]);
		buf_adds(&all, "last");
		AUTO_FREE char *text = kept(true, VERDICT_ERROR, 0, NULL, all.data);
		const char *begin = strstr(text, "\n  ");
		assert_true(begin && strncmp(begin + 3, units[i], strlen(units[i])) == 0);
		assert_non_null(strstr(text, "last\n stdout is empty\n"));
		assert_true(strlen(text) > SECRET_OUTPUT_STREAM / 2 && strlen(text) < 2 * SECRET_OUTPUT_STREAM);
	}
}

/* The file is its owner's alone, and never larger than it may be; what came before stays for a while. */
static void
test_file(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *database = path_join(dir, "kettle.db"), *path = secret_output_path(database);
	AUTO_FREE char *older = xasprintf("%s.1", path), *text = NULL;
	AUTO_BUF struct buf half = {0};
	struct stat st, before;
	size_t size = 0;
	while (half.len < SECRET_OUTPUT_FILE / 2)
		buf_adds(&half, "0123456789abcde\n");
	assert_int_equal(secret_output_write(path, "first\n", NULL), 0);
	assert_int_equal(secret_output_write(path, half.data, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, half.len + 6);
	assert_int_not_equal(stat(older, &before), 0);
	assert_int_equal(secret_output_write(path, half.data, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(stat(older, &before), 0);
	assert_int_equal(st.st_size, half.len);
	assert_int_equal(before.st_size, half.len + 6);
	assert_int_equal(file_read(older, SECRET_OUTPUT_FILE, &text, &size, NULL), 0);
	assert_memory_equal(text, "first\n", 6);
	struct kettle_error err = {0};
	AUTO_FREE char *nowhere = path_join(dir, "none/x");
	assert_int_equal(secret_output_write(nowhere, "x", &err), KETTLE_EIO);
	assert_non_null(strstr(err.message, nowhere));
	scratch_remove(dir);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_which),
	cmocka_unit_test(test_text),
	cmocka_unit_test(test_end),
	cmocka_unit_test(test_file),
};

UNIT_TESTS(test_secret_output);
