/* SPDX-License-Identifier: MIT */
/* The result channel's parser: any cut of the bytes gives the same, and what voids a result does. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "exec/plan/result.h"
#include "lib/unit_test.h"

static void
open_result(struct result *result, uint64_t max, const char *unique)
{
	AUTO_STRINGS struct strings patterns = {0};
	if (unique) {
		strings_add(&patterns, "check");
		strings_add(&patterns, unique);
	}
	result_open(result, max, &patterns, NULL, NULL);
}

static void
feed(struct result *result, const char *text, size_t step)
{
	size_t size = strlen(text);
	for (size_t at = 0; at < size; at += step)
		result_add(result, text + at, at + step < size ? step : size - at);
	result_end(result);
}

static const char *
value(const struct result *result, const char *key)
{
	return json_string_value(json_object_get(result->values, key));
}

static void
reads_lines_in_any_parts(void **state)
{
	static const char text[] =
		"check: pass\nno key\n: empty key\nkey.1-x_Y:value\nspaced:  two \r\nbad key: x\nempty:\n"
		"message: first\nsecond line\nlast: 1";
	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		struct result result;
		open_result(&result, 1000, NULL);
		feed(&result, text, step);
		assert_null(result.error);
		assert_int_equal(json_object_size(result.values), 6);
		assert_string_equal(value(&result, "check"), "pass");
		assert_string_equal(value(&result, "key.1-x_Y"), "value");
		assert_string_equal(value(&result, "spaced"), " two ");
		assert_string_equal(value(&result, "empty"), "");
		assert_string_equal(value(&result, "message"), "first");
		assert_string_equal(value(&result, "last"), "1");
		result_close(&result);
	}
}

static void
unique_keys_come_once(void **state)
{
	(void)state;
	struct result result;
	open_result(&result, 1000, "benchmark[.][0-9]+[.]mean");
	feed(&result, "benchmark.1.mean: 1\nbenchmark.2.mean: 2\nother: 1\nother: 2\nxcheck: 1\nxcheck: 2\ncheck: pass\n",
		7);
	assert_null(result.error);
	assert_string_equal(value(&result, "other"), "2");
	feed(&result, "benchmark.1.mean: 1\n", 7);
	assert_non_null(strstr(result.error, "second value for `benchmark.1.mean`"));
	/* The first reason stays. */
	feed(&result, "check: pass\n", 7);
	assert_non_null(strstr(result.error, "benchmark.1.mean"));
	result_close(&result);
}

static void
garbage_voids(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {{"k: \xff\n", 5}, {"k: a\0b\n", 7}, {"k: \xc3\n", 5}, {"k: \xed\xa0\x80\n", 7}};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct result result;
		open_result(&result, 1000, NULL);
		result_add(&result, bad[i].bytes, bad[i].size);
		assert_non_null(strstr(result.error, "not UTF-8"));
		assert_non_null(value(&result, "k"));
		result_close(&result);
	}
	/* Outside of a value garbage belongs to nothing; a control character is replaced and harmless. */
	struct result result;
	open_result(&result, 1000, NULL);
	feed(&result, "\xff\xfe\nk\xff: x\nk: \x1b[31m\n", 3);
	assert_null(result.error);
	assert_string_equal(value(&result, "k"), "\xef\xbf\xbd[31m");
	result_close(&result);
}

static void
is_bounded(void **state)
{
	(void)state;
	struct result result;
	open_result(&result, 20, NULL);
	result_add(&result, "a: 1\nb: 2\n", 10);
	assert_false(result.over);
	result_add(&result, "c: 345678901234567890\n", 22);
	assert_true(result.over);
	assert_non_null(strstr(result.error, "exceeded its limit"));
	assert_int_equal(json_object_size(result.values), 2);
	result_add(&result, "d: 1\n", 5);
	assert_int_equal(json_object_size(result.values), 2);
	result_close(&result);

	char line[RESULT_MAX_KEY + 10];
	open_result(&result, 1u << 20, NULL);
	memset(line, 'k', sizeof(line));
	memcpy(line + RESULT_MAX_KEY, ": 1\n", 4);
	result_add(&result, line, RESULT_MAX_KEY + 4);
	assert_int_equal(json_object_size(result.values), 1);
	memcpy(line + RESULT_MAX_KEY, "k: 1\n", 5);
	result_add(&result, line, RESULT_MAX_KEY + 5);
	assert_int_equal(json_object_size(result.values), 1);
	for (int i = 0; i < RESULT_MAX_KEYS; i++) {
		int size = snprintf(line, sizeof(line), "n%d: 1\n", i);
		result_add(&result, line, (size_t)size);
	}
	assert_true(result.over);
	assert_int_equal(json_object_size(result.values), RESULT_MAX_KEYS);
	result_close(&result);
}

static void
count_event(void *arg, const char *key, const char *text)
{
	(void)key;
	(void)text;
	++*(unsigned *)arg;
}

static void
passes_values_on(void **state)
{
	(void)state;
	unsigned count = 0;
	struct result result;
	open_result(&result, 1u << 20, NULL);
	result.on_value = count_event;
	result.arg = &count;
	for (int i = 0; i < RESULT_MAX_EVENTS + 10; i++)
		result_add(&result, "a: 1\n", 5);
	assert_int_equal(count, RESULT_MAX_EVENTS);
	result_close(&result);
}

static void
checks_patterns(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	assert_int_equal(result_check_pattern("check|test[.][0-9]+", &err), 0);
	assert_int_equal(result_check_pattern("(", &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`(`"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(reads_lines_in_any_parts),
	cmocka_unit_test(unique_keys_come_once),
	cmocka_unit_test(garbage_voids),
	cmocka_unit_test(is_bounded),
	cmocka_unit_test(passes_values_on),
	cmocka_unit_test(checks_patterns),
};

UNIT_TESTS(test_result);
