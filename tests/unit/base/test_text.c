/* SPDX-License-Identifier: MIT */
/* Buffers, UTF-8, nearest names, hashes, base64, contents, times. */
#include <config.h>

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_text.h"
#include "base/number.h"
#include "lib/unit_test.h"

#define REPLACED "\xef\xbf\xbd"

static void
test_buf(void **state)
{
	(void)state;
	AUTO_BUF struct buf buf = {0};
	buf_add(&buf, NULL, 0);
	assert_string_equal(buf.data, "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%03d,", i);
	assert_int_equal(buf.len, 4000);
	assert_memory_equal(buf.data + 3996, "999,", 5);
	AUTO_FREE char *taken = buf_take(&buf), *empty = buf_take(&buf);
	assert_int_equal(strlen(taken), 4000);
	assert_string_equal(empty, "");
	assert_null(buf.data);
}

static void
test_parse(void **state)
{
	(void)state;
	static const char *const no_integers[] = {"", " 1", "1 ", "+", "0x1", "1.5", "9223372036854775808"};
	static const char *const no_numbers[] = {"", " 1", "1 ", "inf", "nan", "0x1", "1e999", "e"};
	long long integer = 7;
	double number = 7;
	for (size_t i = 0; i < ARRAY_SIZE(no_integers); i++)
		assert_false(number_parse_integer(no_integers[i], &integer));
	for (size_t i = 0; i < ARRAY_SIZE(no_numbers); i++)
		assert_false(number_parse(no_numbers[i], &number));
	assert_int_equal(integer, 7);
	assert_true(number == 7 && number_parse_integer("-12", &integer) && number_parse("-1.5e3", &number));
	assert_int_equal(integer, -12);
	assert_true(number == -1500);
}

static void
test_parse_size(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		long long bytes;
	} sizes[] = {{"0", 0}, {"4096", 4096}, {"16K", 16384}, {"4G", 4LL << 30}, {"4Gi", 4LL << 30}, {"1Mi", 1 << 20},
		{"2T", 2LL << 40}, {"8388607T", 8388607LL << 40}};
	static const char *const none[] = {
		"", "G", "-1", "4g", "4 G", "4GB", "4GiB", "1.5G", "8388608T", "4i", "99999999999999999999"};
	long long bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_true(number_parse_size(sizes[i].text, &bytes));
		assert_true(bytes == sizes[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (number_parse_size(none[i], &bytes))
			fail_msg("%s is taken", none[i]);
	assert_false(number_parse_size(NULL, &bytes));
}

static void
test_parse_rate(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double rate;
	} rates[] = {
		{"0", 0}, {"4096", 4096}, {"1.5K", 1500}, {"3.35T", 3.35e12}, {"989T", 989e12}, {"1P", 1e15}, {"2E", 2e18}};
	static const char *const none[] = {
		"", "T", "-1", "1t", "1 T", "1Ti", "1TB", "1.2.3", ".", "1e12", "99999999999999999999999999"};
	double rate = 7;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (number_parse_rate(none[i], &rate))
			fail_msg("%s is taken", none[i]);
	assert_false(number_parse_rate(NULL, &rate));
	assert_true(rate == 7);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		assert_true(number_parse_rate(rates[i].text, &rate));
		assert_true(fabs(rate - rates[i].rate) <= rates[i].rate * 1e-15);
	}
}

/* The fewest digits that are still the same number, also within JSON, where texts stay as they are. */
static void
test_number_text(void **state)
{
	(void)state;
	static const char *const numbers[] = {"1e-5", "0.1", "0.3", "0.30000000000000004", "1e300", "5e-324", "123456.75",
		"-2.5e-8", "1.7976931348623157e308", "9007199254740993.5"};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char text[NUMBER_TEXT_SIZE];
		double number = strtod(numbers[i], NULL);
		number_text(number, text);
		assert_true(strtod(text, NULL) == number);
		if (i + 1 < ARRAY_SIZE(numbers))
			assert_string_equal(text, numbers[i]);
	}
	AUTO_JSON json_t *value = json_pack("{s:f, s:f, s:[i, f, f], s:s}", "1.0000000000000001e-5", 1e-5, "b", 2.0, "c", 7,
		-0.1, 0.0, "d", "say \"1.0000000000000001e-5\"\\");
	AUTO_FREE char *text = json_text(value, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"1.0000000000000001e-5\":1e-5,\"b\":2.0,\"c\":[7,-0.1,0.0],\"d\":\"say "
							  "\\\"1.0000000000000001e-5\\\"\\\\\"}");
	AUTO_JSON json_t *again = json_loads(text, 0, NULL);
	assert_true(json_equal(value, again));
}

static void
test_utf8_valid(void **state)
{
	(void)state;
	const struct {
		const char *text;
		size_t size;
		bool valid;
	} cases[] = {
		{"", 0, true}, {"abc", 3, true}, {"\xc3\xa9", 2, true}, {"\xe2\x82\xac", 3, true},
		{"\xf0\x9f\x98\x80", 4, true}, {"\xf4\x8f\xbf\xbf", 4, true}, {"a\0b", 3, false}, {"\xff", 1, false},
		{"\x80", 1, false}, {"\xc3", 1, false}, {"\xc0\xaf", 2, false}, /* overlong / */
		{"\xc1\xbf", 2, false},                                         /* overlong */
		{"\xe0\x80\xaf", 3, false},                                     /* overlong */
		{"\xf0\x80\x80\xaf", 4, false},                                 /* overlong */
		{"\xed\xa0\x80", 3, false},                                     /* surrogate */
		{"\xf4\x90\x80\x80", 4, false},                                 /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", 4, false},                                 /* beyond */
		{"\xe2\x82", 2, false},                                         /* cut off */
		{"\xe2\x28\xa1", 3, false},                                     /* no continuation */
		{"\xfc\x84\x80\x80\x80\x80", 6, false},                         /* six bytes */
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(utf8_valid(cases[i].text, cases[i].size), cases[i].valid);
}

static void
clean(const char *text, size_t size, const char *wanted, size_t wanted_replaced)
{
	AUTO_BUF struct buf out = {0};
	assert_int_equal(utf8_sanitize(text, size, &out), wanted_replaced);
	assert_string_equal(out.data, wanted);
	assert_true(utf8_valid(out.data, out.len));
}

static void
test_utf8_clean(void **state)
{
	(void)state;
	clean("", 0, "", 0);
	clean("a\tb\r\nc\n", 7, "a\tb\nc\n", 0);
	clean("a\rb", 3, "a" REPLACED "b", 1);
	clean("a\r", 2, "a" REPLACED, 1);
	clean("\x1b[31mred", 8, REPLACED "[31mred", 1);
	clean("a\0b\x7f", 4, "a" REPLACED "b" REPLACED, 2);
	clean("\xc2\x9b"
		  "31m",
		5, REPLACED "31m", 1);
	clean("\xc3\xa9\xff\xfe\xe2\x82\xac", 7, "\xc3\xa9" REPLACED REPLACED "\xe2\x82\xac", 2);
	clean("x\xe2\x82", 3, "x" REPLACED REPLACED, 2);
}

/* What shows nothing or turns what is around it, by one character of each kind; and what only looks odd. */
static void
test_utf8_invisible(void **state)
{
	static const uint32_t invisible[] = {0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c,
		0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x2069, 0x206f, 0x3164, 0xfe00,
		0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1bca0, 0x1d173, 0xe0001, 0xe0020, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff};
	static const uint32_t seen[] = {'a', ' ', 0xa0, 0xac, 0xae, 0xe9, 0x301, 0x5d0, 0x627, 0x200a, 0x2010, 0x2027,
		0x202f, 0x205f, 0x2070, 0x3000, 0x4e2d, 0xfe10, 0xfffc, 0xfffd, 0x1f468, 0xdffff, 0xe1000, 0x10ffff};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(invisible); i++)
		if (!utf8_is_invisible(invisible[i]))
			fail_msg("U+%04X is seen", invisible[i]);
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		if (utf8_is_invisible(seen[i]))
			fail_msg("U+%04X is invisible", seen[i]);
	assert_int_equal(utf8_find_invisible("", 0), 0);
	assert_int_equal(utf8_find_invisible("a\xff\xc3\xa9 \n\xf0\x9f\x9a\x80", 10), 0);
	assert_int_equal(utf8_find_invisible("a\xe2\x80\xae", 4), 0x202e);
	assert_int_equal(utf8_find_invisible("a\xe2\x80\xae", 3), 0);
	assert_int_equal(utf8_find_invisible("\xf3\xa0\x81\x81\xc2\xad", 6), 0xe0041);
}

static void
copy(size_t size, const char *text, const char *wanted)
{
	char to[16] = "";
	utf8_copy(to, size, text);
	assert_string_equal(to, wanted);
}

static void
test_utf8_copy(void **state)
{
	(void)state;
	copy(4, "", "");
	copy(4, "abc", "abc");
	copy(4, "abcd", "abc");
	copy(4, "ab\xc3\xa9", "ab");
	copy(5, "ab\xc3\xa9", "ab\xc3\xa9");
	copy(1, "a", "");
	copy(16, "\xff\xe2\x82|", "???|");
}

static void
test_utf8_cut(void **state)
{
	(void)state;
	assert_int_equal(utf8_cut("", 0, 3), 0);
	assert_int_equal(utf8_cut("abc", 3, 3), 3);
	assert_int_equal(utf8_cut("abcd", 4, 3), 3);
	assert_int_equal(utf8_cut("ab\xc3\xa9", 4, 4), 4);
	assert_int_equal(utf8_cut("ab\xc3\xa9", 4, 3), 2);
	assert_int_equal(utf8_cut("\xf0\x9f\x9a\x80", 4, 3), 0);
}

/* Each code has its status of HTTP. */
static void
test_error_http(void **state)
{
	(void)state;
	static const struct {
		int code, http;
	} cases[] = {{0, 200}, {KETTLE_EINVAL, 400}, {KETTLE_EACCES, 403}, {KETTLE_ENOENT, 404}, {KETTLE_ECONFLICT, 409},
		{KETTLE_ETOOBIG, 413}, {KETTLE_ERATE, 429}, {KETTLE_EVERSION, 426}, {KETTLE_ECANCELED, 503},
		{KETTLE_EUNAVAIL, 503}, {KETTLE_EIO, 503}, {KETTLE_ENOMEM, 500}, {KETTLE_EINTERNAL, 500}, {-99, 500}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(kettle_error_http(cases[i].code), cases[i].http);
	assert_string_equal(kettle_error_name(KETTLE_EVERSION), "version");
}

/* JSON can hold every sentence: one that it cannot hold would never reach the caller. */
static void
test_sentences(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	char text[2000];
	static const struct {
		const char *given, *wanted;
	} cases[] = {
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"caf\xe9.py", "caf?.py"},
		{"\xe2\x82", "??"},
		{"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe0\x80\x80", "?? ??? ???? ???"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(kettle_fail(&err, KETTLE_EINVAL, "%s", cases[i].given), KETTLE_EINVAL);
		assert_string_equal(err.message, cases[i].wanted);
	}
	(void)kettle_fail(&err, KETTLE_EINVAL, "`%.2s`.", "a\xc3\xa9");
	assert_string_equal(err.message, "`a?`.");
	for (size_t before = 0; before < 8; before++) {
		memset(text, 'x', before);
		text[before] = '\0';
		while (strlen(text) + 4 < sizeof(text))
			memcpy(text + strlen(text), "\xf0\x9f\x98\x80", 5);
		(void)kettle_fail(&err, KETTLE_EINVAL, "%s", text);
		size_t len = strlen(err.message);
		assert_true(utf8_valid(err.message, len) && len > sizeof(err.message) - 5);
		assert_memory_equal(err.message, text, len);
	}
}

static void
test_nearest(void **state)
{
	(void)state;
	const char *const names[] = {"tests", "benchmarks", "lang", "ranking_by", "a", NULL};
	assert_string_equal(nearest("test", names), "tests");
	assert_string_equal(nearest("TESTS", names), "tests");
	assert_string_equal(nearest("benchmakrs", names), "benchmarks");
	assert_string_equal(nearest("lnag", names), "lang");
	assert_string_equal(nearest("rankingby", names), "ranking_by");
	assert_null(nearest("b", names));
	assert_null(nearest("ab", names));
	assert_null(nearest("entirely", names));
	assert_null(nearest("", names));
	char longest[500];
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_null(nearest(longest, names));
	AUTO_JSON json_t *object = json_pack("{s:i, s:i}", "slots", 1, "cores", 2);
	assert_string_equal(nearest_key("slot", object), "slots");
	assert_null(nearest_key("slot", NULL));
}

static void
test_hashes(void **state)
{
	(void)state;
	char hex[65];
	sha256_hex("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_hex("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	unsigned char one[32] = {0}, other[32] = {0};
	random_bytes(one, sizeof(one));
	random_bytes(other, sizeof(other));
	assert_memory_not_equal(one, other, sizeof(one));
}

static void
test_base64(void **state)
{
	(void)state;
	const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\xfd", "//79"}};
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_FREE char *text = base64_encode(pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(text, pairs[i][1]);
		AUTO_FREE void *data = NULL;
		size_t size = 99;
		assert_int_equal(base64_decode(text, strlen(text), &data, &size), 0);
		assert_int_equal(size, strlen(pairs[i][0]));
		assert_string_equal(data, pairs[i][0]);
		AUTO_FREE char *of_url = base64url_encode(pairs[i][0], strlen(pairs[i][0]));
		AUTO_FREE void *again = NULL;
		assert_null(strpbrk(of_url, "+/="));
		assert_int_equal(base64url_decode(of_url, strlen(of_url), &again, &size), 0);
		assert_int_equal(size, strlen(pairs[i][0]));
		assert_string_equal(again, pairs[i][0]);
	}
	const char *const bad_of_url[] = {"Z", "Zg==", "Zg=", "//79", "Zm+/", "Zh", "Zg\n"};
	for (size_t i = 0; i < ARRAY_SIZE(bad_of_url); i++) {
		void *data = NULL;
		size_t size;
		assert_int_equal(base64url_decode(bad_of_url[i], strlen(bad_of_url[i]), &data, &size), KETTLE_EINVAL);
		assert_null(data);
	}
	const char *const bad[] = {
		"Z", "Zg", "Zg=", "Zg==\n", " Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm-_", "Zm\xc3\xa9"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		void *data = NULL;
		size_t size;
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &data, &size), KETTLE_EINVAL);
		assert_null(data);
	}
}

static void
test_contents(void **state)
{
	(void)state;
	const char bytes[] = {'a', '\0', 'b', (char)0xff};
	AUTO_JSON json_t *binary = contents_json(bytes, sizeof(bytes)), *text = contents_json("h\xc3\xa9", 3);
	AUTO_JSON json_t *empty = contents_json(NULL, 0), *blob = json_pack("{s:s}", "blob", "00");
	AUTO_JSON json_t *wrong = json_pack("{s:s}", "base64", "not base64");
	assert_string_equal(json_string_value(json_object_get(text, "text")), "h\xc3\xa9");
	assert_non_null(json_object_get(binary, "base64"));
	AUTO_FREE char *data = NULL, *nothing = NULL;
	size_t size;
	struct kettle_error err = {0};
	assert_int_equal(contents_bytes(binary, &data, &size, &err), 0);
	assert_int_equal(size, sizeof(bytes));
	assert_memory_equal(data, bytes, sizeof(bytes));
	assert_int_equal(contents_bytes(empty, &nothing, &size, &err), 0);
	assert_int_equal(size, 0);
	assert_int_equal(contents_bytes(blob, &data, &size, &err), KETTLE_EINVAL);
	assert_int_equal(contents_bytes(wrong, &data, &size, &err), KETTLE_EINVAL);
	assert_int_equal(contents_bytes(NULL, &data, &size, &err), KETTLE_EINVAL);
}

static void
test_time_text(void **state)
{
	(void)state;
	char text[TIME_TEXT_SIZE];
	time_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
	time_text(1782900000123, text);
	assert_string_equal(text, "2026-07-01T10:00:00.123Z");
	time_text(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
	time_text(INT64_MAX, text);
	time_text(INT64_MIN, text);
	assert_true(time_monotonic_ns() <= time_monotonic_ns());
	assert_true(time_now_ms() > 1700000000000);
}

static void
test_deadlines(void **state)
{
	(void)state;
	const struct {
		const char *given, *means;
	} good[] = {
		{"2026-07-31", "2026-07-31T23:59:59.999Z"},
		{"2024-02-29", "2024-02-29T23:59:59.999Z"},
		{"2026-07-31 18:00", "2026-07-31T18:00:00.000Z"},
		{"2026-07-31 8:05", "2026-07-31T08:05:00.000Z"},
		{"2026-07-31T18:00:30Z", "2026-07-31T18:00:30.000Z"},
		{"2026-07-31 18:00Z", "2026-07-31T18:00:00.000Z"},
		{"+30d", "1970-01-31T00:00:01.000Z"},
		{"+12h", "1970-01-01T12:00:01.000Z"},
		{"+90m", "1970-01-01T01:30:01.000Z"},
		{"+0m", "1970-01-01T00:00:01.000Z"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		int64_t ms = 0;
		char text[TIME_TEXT_SIZE];
		assert_int_equal(time_parse_deadline(good[i].given, 1000, &ms, NULL), 0);
		time_text(ms, text);
		assert_string_equal(text, good[i].means);
	}
	const char *const bad[] = {"", " ", "tomorrow", "2026-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "2026-7-1",
		"26-07-01", "2026-07-01 ", "2026-07-01 24:00", "2026-07-01 12:60", "2026-07-01 12:00:60", "2026-07-01 12:0",
		"2026-07-01 12:00 UTC", "2026-07-01 12:00+02:00", "2026-07-01Z", "+", "+d", "+30", "+30s", "+30dd", "+-3d",
		"+99999999d", "+999999999m", "-3d", "1969-12-31", "1970-01-01 00:00", "12026-01-01"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int64_t ms = 42;
		struct kettle_error err = {0};
		if (time_parse_deadline(bad[i], 1000, &ms, &err) != KETTLE_EINVAL)
			fail_msg("\"%s\" is taken", bad[i]);
		assert_int_equal(ms, 42);
		assert_int_equal(err.message[strlen(err.message) - 1], '.');
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_buf),
	cmocka_unit_test(test_parse),
	cmocka_unit_test(test_parse_size),
	cmocka_unit_test(test_parse_rate),
	cmocka_unit_test(test_number_text),
	cmocka_unit_test(test_utf8_valid),
	cmocka_unit_test(test_utf8_clean),
	cmocka_unit_test(test_utf8_invisible),
	cmocka_unit_test(test_utf8_copy),
	cmocka_unit_test(test_utf8_cut),
	cmocka_unit_test(test_error_http),
	cmocka_unit_test(test_sentences),
	cmocka_unit_test(test_nearest),
	cmocka_unit_test(test_hashes),
	cmocka_unit_test(test_base64),
	cmocka_unit_test(test_contents),
	cmocka_unit_test(test_time_text),
	cmocka_unit_test(test_deadlines),
};

UNIT_TESTS(test_text);
