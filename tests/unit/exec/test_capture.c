/* SPDX-License-Identifier: MIT */
/* What is kept of a program's output: everything below the limit, head and tail above it. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exec/job/job_internal.h"
#include "exec/util/capture.h"
#include "lib/unit_test.h"

static json_t *
capture(const char *text, size_t limit, size_t step)
{
	struct capture capture = {.limit = limit};
	size_t size = strlen(text);
	for (size_t at = 0; at < size; at += step)
		capture_add(&capture, text + at, at + step < size ? step : size - at);
	json_t *json = capture_json(&capture);
	assert_non_null(json);
	assert_int_equal(json_integer_value(json_object_get(json, "bytes")), size);
	capture_free(&capture);
	return json;
}

static void
assert_capture(json_t *json_take, const char *text, int cut, int replaced)
{
	AUTO_JSON json_t *json = json_take;
	assert_string_equal(json_string_value(json_object_get(json, "text")), text);
	assert_int_equal(json_integer_value(json_object_get(json, "cut")), cut);
	assert_int_equal(json_integer_value(json_object_get(json, "replaced")), replaced);
}

static void
keeps_all_below_the_limit(void **state)
{
	(void)state;
	for (size_t step = 1; step < 12; step++) {
		assert_capture(capture("", 10, step), "", 0, 0);
		assert_capture(capture("abc", 10, step), "abc", 0, 0);
		assert_capture(capture("abcde", 10, step), "abcde", 0, 0);
		assert_capture(capture("abcdefghij", 10, step), "abcdefghij", 0, 0);
		/* A character on the seam of head and tail is whole. */
		assert_capture(capture("abcd\xe2\x82\xac"
							   "xyz",
						   10, step),
			"abcd\xe2\x82\xac"
			"xyz",
			0, 0);
	}
}

static void
keeps_head_and_tail(void **state)
{
	(void)state;
	for (size_t step = 1; step < 40; step++) {
		assert_capture(capture("abcdefghijk", 10, step), "abcde\n[... 1 bytes cut ...]\nghijk", 1, 0);
		assert_capture(
			capture("0123456789abcdefghijklmnopqrstuvwxyz", 10, step), "01234\n[... 26 bytes cut ...]\nvwxyz", 26, 0);
		/* What the cut breaks is not the program's fault: nothing is replaced. */
		assert_capture(capture("abc\xe2\x82\xac"
							   "defgh\xe2\x82\xac"
							   "ijk",
						   10, step),
			"abc\n[... 7 bytes cut ...]\nijk", 7, 0);
	}
	assert_capture(capture("abcdefg", 3, 2), "a\n[... 4 bytes cut ...]\nfg", 4, 0);
}

static void
cleans(void **state)
{
	(void)state;
	assert_capture(capture("a\x1b[0m\xff\r\n", 100, 3), "a\xef\xbf\xbd[0m\xef\xbf\xbd\n", 0, 2);
}

static void
quotes_commands(void **state)
{
	(void)state;
	AUTO_JSON json_t *words = json_pack("[s, s, s, s, s]", "./program", "test", "", "it's", "a b");
	AUTO_STRINGS struct strings argv = {0};
	AUTO_STRINGS struct strings wide = {0};
	strings_read(&argv, words);
	AUTO_FREE char *command = outcome_command(&argv, 100);
	assert_string_equal(command, "./program test '' 'it'\\''s' 'a b'");
	AUTO_FREE char *cut = outcome_command(&argv, 12);
	assert_string_equal(cut, "./program te ...");
	strings_add(&wide, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
	AUTO_FREE char *broken = outcome_command(&wide, 5);
	assert_string_equal(broken, "' ...");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(keeps_all_below_the_limit),
	cmocka_unit_test(keeps_head_and_tail),
	cmocka_unit_test(cleans),
	cmocka_unit_test(quotes_commands),
};

UNIT_TESTS(test_capture);
