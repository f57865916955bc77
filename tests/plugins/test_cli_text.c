/* SPDX-License-Identifier: MIT */
/* Text of the command line: widths, sanitizing, tables, numbers, times. */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/actions/actions.h"
#include "common/condense.h"
#include "common/format.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/table.h"
#include "common/template.h"
#include "common/term.h"
#include "common/wrap.h"
#include "lib/unit_test.h"

static void
assert_cleaned(const char *text, size_t max, const char *expected)
{
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	size_t columns = term_sanitize(out, text, max);
	fclose(out);
	assert_string_equal(data, expected);
	assert_int_equal(columns, term_width(expected));
	free(data);
}

static void
test_width(void **state)
{
	(void)state;
	assert_int_equal(term_width("abc"), 3);
	assert_int_equal(term_width("äöü"), 3);
	assert_int_equal(term_width("日本語"), 6);
	assert_int_equal(term_width("e\xcc\x81"), 1); /* a combining accent */
	assert_int_equal(term_width("🚀"), 2);
	assert_int_equal(term_width("ｆ"), 2);
	assert_int_equal(term_width("\xff\xfe"), 2);
	assert_int_equal(term_width(""), 0);
	assert_int_equal(term_char_width(0x1b), -1);
	assert_int_equal(term_char_width(0x9b), -1);
	assert_int_equal(term_char_width(0x202e), -1);
	assert_int_equal(term_char_width(0x200b), -1);
	assert_int_equal(term_char_width(0xad), -1);
	assert_int_equal(term_char_width(0xe01ef), -1);
}

static void
test_clean(void **state)
{
	(void)state;
	assert_cleaned("a\tb\nc\rd", 0, "a b c d");
	assert_cleaned("\033[31mred\x7f", 0, "\xef\xbf\xbd[31mred\xef\xbf\xbd");
	assert_cleaned("\xc2\x9b"
				   "31m",
		0,
		"\xef\xbf\xbd"
		"31m");
	assert_cleaned("user\xe2\x80\xae"
				   "cod.exe",
		0, "usercod.exe");
	/* Nothing that a terminal would hide, also of what it takes for a blank; of emoji the parts. */
	assert_cleaned("a\xe2\x80\x8b"
				   "b\xc2\xad"
				   "c\xef\xbb\xbf"
				   "d\xe2\x81\xa0\xe1\xa0\x8e\xe3\x85\xa4\xf3\xa0\x84\x80\xcd\x8f",
		0, "abcd");
	assert_cleaned("one\xe2\x80\xa8two\xe2\x80\xa9three", 0, "one two three");
	assert_cleaned("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xef\xb8\x8f", 0, "\xf0\x9f\x91\xa9\xf0\x9f\x91\xa7");
	assert_cleaned("\xc0\xaf\xed\xa0", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_cleaned("abcdef", 6, "abcdef");
	assert_cleaned("abcdefg", 6, "abcde…");
	assert_cleaned("日本語", 5, "日本…");
	assert_cleaned("日本語", 4, "日…");
	assert_cleaned("abc", 1, "…");
}

static void
test_block(void **state)
{
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	(void)state;
	term_block(out, "a\n\n\tb\033c", 2, 0);
	term_block(out, "1\n2\n3\n", 1, 2);
	term_block(out, "", 4, 0);
	fclose(out);
	assert_string_equal(data, "  a\n\n          b\xef\xbf\xbd"
							  "c\n 1\n 2\n (1 more line)\n");
	free(data);
}

#define TRACE(line, error) \
	"Traceback (most recent call last):\n  File \"/job/submission.py\", line " line ", in f\n    x\n" error "\n"

/* Each traceback once; what is not one, or another one, stays. */
static void
test_tracebacks(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"a\na\n", "a\na\n"},
		{TRACE("1", "E: x"), TRACE("1", "E: x")},
		{TRACE("1", "E: x") TRACE("1", "E: x"), TRACE("1", "E: x") "(one more traceback, as above)\n"},
		{TRACE("1", "E: x") TRACE("2", "E: x") TRACE("1", "E: x") TRACE("2", "E: x") "end",
			TRACE("1", "E: x") TRACE("2", "E: x") "(2 more tracebacks, as above)\nend"},
		{TRACE("1", "E: x") TRACE("1", "E: y"), TRACE("1", "E: x") TRACE("1", "E: y")},
		{"Traceback (most recent call last):\nTraceback (most recent call last):",
			"Traceback (most recent call last):\nTraceback (most recent call last):"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FREE char *text = condense_tracebacks(cases[i][0]);
		assert_string_equal(text, cases[i][1]);
	}
}

/* Places in the submission get its path; what only resembles one does not. */
static void
test_places(void **state)
{
	static const char *const cases[][2] = {
		{"s.cpp:7:22: error: no", "dir/a.cpp:7:22: error: no"},
		{"In file included from s.cpp:2,\n  from /job/s.cpp:3:\n",
			"In file included from dir/a.cpp:2,\n  from dir/a.cpp:3:\n"},
		{"s.cpp(12): error", "dir/a.cpp:12: error"},
		{"(s.cpp line 3 in f, line 4 in g)", "(dir/a.cpp:3 in f, line 4 in g)"},
		{"  File \"/job/s.cpp\", line 5, in f", "  File \"dir/a.cpp\", line 5, in f"},
		{"s.cpp: In function f", "dir/a.cpp: In function f"},
		{"x\n/job/s.cpp: At global scope:\n", "x\ndir/a.cpp: At global scope:\n"},
		{"x s.cpp: In f, s.cpp: no", "x s.cpp: In f, s.cpp: no"},
		{"g++ -c s.cpp -o out/s.cpp.o", "g++ -c s.cpp -o out/s.cpp.o"},
		{"/usr/s.cpp:1 this.cpp:1 s.cpp:x out/job/s.cpp:1", "/usr/s.cpp:1 this.cpp:1 s.cpp:x out/job/s.cpp:1"},
		{"", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FREE char *text = source_path_put(cases[i][0], "s.cpp", "dir/a.cpp");
		assert_string_equal(text, cases[i][1]);
	}
	AUTO_JSON json_t *value = json_pack("{s:[s, i], s:n}", "a", "s.cpp:1", 2, "b");
	AUTO_JSON json_t *expected = json_pack("{s:[s, i], s:n}", "a", "x:1", 2, "b");
	AUTO_JSON json_t *placed = source_path_put_all(value, "s.cpp", "x");
	assert_true(json_equal(placed, expected));
}

static void
assert_table(unsigned width, const char *expected)
{
	static const struct view_column columns[] = {
		COLUMN_CUT("name", "{a}"), COLUMN_RIGHT("n", "{b}"), COLUMN("none", "{c}"), COLUMN_CUT("text", "{d}")};
	char *data = NULL;
	size_t size = 0;
	AUTO_JSON json_t *rows = json_pack("[{s:s, s:i, s:n, s:s}, {s:s, s:i, s:s}, {s:s, s:s, s:s}]", "a", "日本", "b", 1,
		"c", "d", "first", "a", "a longer name", "b", 100, "c", "", "a", "cut \x7f", "b", "7", "d", "in its place");
	FILE *out = open_memstream(&data, &size);
	struct term term = {.out = out, .width = width};
	TABLE_PRINT(&term, columns, rows, 1);
	fclose(out);
	assert_string_equal(data, expected);
	free(data);
}

static void
test_table(void **state)
{
	(void)state;
	assert_table(0, " name             n  text\n"
					" 日本             1  first\n"
					" a longer name  100\n"
					" cut \xef\xbf\xbd            7  in its place\n");
	assert_table(24, " name        n  text\n"
					 " 日本        1  first\n"
					 " a longer  100\n"
					 " name\n"
					 " cut \xef\xbf\xbd       7  in its\n"
					 "                place\n");
}

/* What is left out, and in which order; at last what should be whole is cut, too. */
static void
test_narrow_table(void **state)
{
	static const struct view_column columns[] = {COLUMN_CUT("name", "{a}"), SPARE_COLUMN(2, "when", "{b}"),
		SPARE_COLUMN_CUT(1, "text", "{c}"), COLUMN_RIGHT("score", "{d}")};
	static const struct {
		unsigned width;
		const char *expected;
	} cases[] = {
		{60, "name                when        text                  score\n"
			 "a-long-name-indeed  2026-11-23  words without end  260.5 µs\n"},
		{55, "name                when        text              score\n"
			 "a-long-name-indeed  2026-11-23  words withou…  260.5 µs\n"},
		{50, "name                when           score\n"
			 "a-long-name-indeed  2026-11-23  260.5 µs\n"
			 "(too narrow for: text)\n"},
		{30, "name                   score\n"
			 "a-long-name-indeed  260.5 µs\n"
			 "(too narrow for: when, text)\n"},
		{20, "name           score\n"
			 "a-long-na…  260.5 µs\n"
			 "(too narrow for:\n"
			 "when, text)\n"},
		{12, "name   score\n"
			 "a-lo…  260.…\n"
			 "(too narrow\n"
			 "for: when,\n"
			 "text)\n"},
	};
	(void)state;
	AUTO_JSON json_t *rows = json_pack("[{s:s, s:s, s:s, s:s}]", "a", "a-long-name-indeed", "b", "2026-11-23", "c",
		"words without end", "d", "260.5 µs");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *data = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&data, &size);
		struct term term = {.out = out, .width = cases[i].width};
		TABLE_PRINT(&term, columns, rows, 0);
		fclose(out);
		assert_string_equal(data, cases[i].expected);
		free(data);
	}
}

/* The cells by which rows are told apart go on in further lines before another column is missing. */
static void
test_wrapped_table(void **state)
{
	static const struct view_column columns[] = {
		COLUMN_CUT("case", "{a}"), COLUMN_RIGHT("mean", "{b}"), SPARE_COLUMN_RIGHT(1, "best", "{c}")};
	char *data = NULL;
	size_t size = 0;
	(void)state;
	AUTO_JSON json_t *rows = json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "a", "rows: 1048576; columns: 16; seed: 7",
		"b", "1.2 µs", "c", "1 µs", "a", "rows: 1", "b", "3.4 µs", "c", "3 µs");
	struct term term = {.out = open_memstream(&data, &size), .width = 40};
	TABLE_PRINT(&term, columns, rows, 0);
	fclose(term.out);
	assert_string_equal(data, "case                          mean  best\n"
							  "rows: 1048576; columns:     1.2 µs  1 µs\n"
							  "16; seed: 7\n"
							  "rows: 1                     3.4 µs  3 µs\n");
	free(data);
}

static void
assert_wrapped(const char *text, size_t width, const char *expected)
{
	char *data = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&data, &size);
	wrap_put(out, text, width);
	fclose(out);
	assert_string_equal(data, expected);
	free(data);
}

static void
test_wrap(void **state)
{
	(void)state;
	assert_wrapped("", 20, "");
	assert_wrapped("fits\n\n  as it  is", 20, "fits\n\n  as it  is");
	assert_wrapped("a sentence that is longer than that\n", 20, "a sentence that is\nlonger than that\n");
	assert_wrapped(
		"    \033[31m✗\033[0m size: 1048576; seed: 42\n", 20, "    \033[31m✗\033[0m size: 1048576;\n      seed: 42\n");
	assert_wrapped("  key      the value goes on", 22, "  key      the value\n           goes on");
	assert_wrapped("x an-unbreakable-word-of-a-path then", 12, "x\nan-unbreakable-word-of-a-path\nthen");
	assert_wrapped("日本語 日本語 日本語", 14, "日本語 日本語\n日本語");
	assert_wrapped("CPU 668.7 µs, SPARE 685.2 µs", 24, "CPU 668.7 µs, SPARE\n685.2 µs");
	assert_wrapped("it has 3 seconds", 8, "it has 3\nseconds");
	assert_string_equal(wrap_end("abc def", 2), " def");
}

static void
assert_template(const char *template, const char *expected)
{
	AUTO_JSON json_t *args = json_pack("{s:i}", "id", 7);
	AUTO_JSON json_t *object =
		json_pack("{s:s, s:i, s:i, s:[], s:[s, s, s], s:{s:s}, s:[{s:s}, {s:s}], s:n, s:f, s:f, s:f, s:s, s:b}", "name",
			"a\033b", "one", 1, "two", 2, "none", "list", "x", "y", "z", "in", "name", "inner", "rows", "n", "1", "n",
			"2", "null", "score", 1e-5, "low", 0.9e-5, "high", 1.2e-5, "size", "2048", "yes", 1);
	AUTO_FREE char *text = template_text(template, object, args);
	assert_string_equal(text, expected);
}

static void
test_template(void **state)
{
	(void)state;
	assert_template("plain", "plain");
	assert_template("{*name} {in.name} {missing}{in.missing.more}|{args.id}", "a\xef\xbf\xbd"
																			  "b inner |7");
	assert_template("{list} {list:and} {list:count} {size:bytes} {score:score} {score:seconds} {missing:seconds}",
		"x, y, z x, y and z 3 2.0 KiB 10.00 ± 2.00 µs 10.00 µs –");
	assert_template("{yes?{two}|no}{none?some}{null?some}{missing?some| none}", "2 none");
	assert_template("{one} job{one#|s}, {two} job{two# is|s are}", "1 job, 2 jobs are");
	assert_template("{size=2048?same|other} {list=y?has} {list=w?has|has not}", "same has has not");
	assert_template("{rows@<{n}>} {rows@@{n}} {in@{name}} {list@{}}", "<1>, <2> 12 inner x, y, z");
}

static void
assert_ns(double ns, const char *expected)
{
	char text[FORMAT_SIZE];
	format_ns(ns, text);
	assert_string_equal(text, expected);
}

/* What became of a submission, whatever its user's best is. */
static void
test_ranks(void **state)
{
	static const struct {
		const char *job, *says;
	} places[] = {
		{"{\"rank\": {\"rank\": 1, \"of\": 3, \"before\": null}, \"better\": null}", ", rank 1 of 3\n"},
		{"{\"rank\": {\"rank\": 1, \"of\": 3, \"before\": 2}}", ", rank 1 of 3, up from 2\n"},
		{"{\"rank\": {\"rank\": 2, \"of\": 3, \"before\": 2}}", ", rank 2 of 3, as before\n"},
		{"{\"rank\": {\"rank\": 3, \"of\": 9, \"before\": 2}}", ", rank 3 of 9\n"},
		{"{\"rank\": null, \"better\": {\"submission\": 2, \"score\": 0.0005654, \"rank\": 1, \"of\": 3}}",
			", not your best: submission 2, 565.4 µs, rank 1\n"},
		{"{\"rank\": null, \"better\": {\"submission\": 2, \"score\": 0.0005654, \"rank\": 1, \"of\": 3, "
		 "\"user_name\": \"bob\"}}",
			", not the best of bob: submission 2, 565.4 µs, rank 1\n"},
		{"{\"rank\": null, \"better\": null}", "\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *data = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&data, &size);
		struct term term = {.out = out, .width = 80};
		AUTO_JSON json_t *jobs = json_pack("[o]", json_loads(places[i].job, 0, NULL));
		json_t *job = json_array_get(jobs, 0);
		json_object_update_new(
			job, json_pack("{s:s, s:s, s:f}", "device", "CPU", "state", "passed", "score", 0.009530));
		report_summary(&term, "Submission 7", jobs);
		fclose(out);
		AUTO_FREE char *wanted = xasprintf("Submission 7: CPU passed, 9.530 ms%s", places[i].says);
		assert_string_equal(data, wanted);
		free(data);
	}
}

static void
test_durations(void **state)
{
	char text[FORMAT_SIZE];
	(void)state;
	assert_ns(0, "0.000 ns");
	assert_ns(1.5, "1.500 ns");
	assert_ns(999.94, "999.9 ns");
	assert_ns(999.96, "1.000 µs");
	assert_ns(12345, "12.35 µs");
	assert_ns(999999, "1.000 ms");
	assert_ns(1.5e9, "1.500 s");
	assert_ns(1.5e12, "1500 s");
	assert_ns(1e308, "1.000e+299 s");
	assert_ns(-1, "–");
	assert_ns(NAN, "–");
	format_ns_error(12345, 50, text);
	assert_string_equal(text, "12.35 ± 0.05 µs");
	format_ns_error(12345, NAN, text);
	assert_string_equal(text, "12.35 µs");
	format_ns_error(NAN, 1, text);
	assert_string_equal(text, "–");
	format_bytes(512, text);
	assert_string_equal(text, "512 B");
	format_bytes(1536, text);
	assert_string_equal(text, "1.5 KiB");
	format_change(-12.54, text);
	assert_string_equal(text, "-12.5 %");
	format_change(1286.2, text);
	assert_string_equal(text, "13.9 times");
	format_change(-98.7, text);
	assert_string_equal(text, "0.013 times");
	static const struct {
		double share;
		const char *text;
	} shares[] = {{0.81, "81.0 %"}, {1.256, "125.6 %"}, {0.0512, "5.12 %"}, {0.00302, "0.30 %"}, {1e-4, "0.01 %"},
		{0.99e-4, "< 0.01 %"}, {1e-7, "< 0.01 %"}, {0, "0.00 %"}};
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		format_share(shares[i].share, text);
		assert_string_equal(text, shares[i].text);
	}
}

static void
test_differences(void **state)
{
	static const struct {
		double percent;
		bool is_noise;
		const char *words;
	} known[] = {{-12.54, false, "12.5 % less time"}, {0.5, false, "0.50 % more time"}, {0.001, false, "the same"},
		{-98.7, false, "76.9 times as fast"}, {1286.2, false, "13.9 times the time"},
		{-0.31, true, "-0.31 %, within noise"}, {0, true, "0 %, within noise"}, {NAN, false, ""}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char text[FORMAT_SIZE];
		format_difference(known[i].percent, known[i].is_noise, text);
		assert_string_equal(text, known[i].words);
	}
}

static void
assert_relative(int64_t seconds, const char *expected)
{
	char text[FORMAT_SIZE];
	format_relative(1000000000 + seconds * 1000, 1000000000, text);
	assert_string_equal(text, expected);
}

static void
test_times(void **state)
{
	int64_t ms = 0;
	char text[FORMAT_SIZE];
	(void)state;
	assert_relative(0, "now");
	assert_relative(1, "in 1 second");
	assert_relative(-80, "1 minute ago");
	assert_relative(30 * 86400 - 1, "in 30 days");
	assert_relative(35 * 3600, "in 35 hours");
	assert_relative(3 * 86400, "in 3 days");
	assert_relative(-40 * 86400, "40 days ago");
	assert_relative(800 * 86400LL, "in 2 years");
	assert_true(format_parse_time("1970-01-01T00:01:00.500Z", &ms));
	assert_int_equal(ms, 60000);
	assert_true(format_parse_time("1970-01-02", &ms));
	assert_int_equal(ms, 86400000);
	assert_false(format_parse_time("soon", &ms));
	format_time("2026-07-01T09:59:59.999Z", text);
	assert_string_equal(text, "2026-07-01 09:59 UTC");
	format_time("soon", text);
	assert_string_equal(text, "soon");
}

static void
assert_choice(const char *line, const char *expected)
{
	AUTO_JSON json_t *devices = json_pack("[s, s, s]", "CPU", "H100", "3090");
	AUTO_JSON json_t *chosen = submit_choice(line, devices);
	AUTO_JSON json_t *wanted = expected ? json_loads(expected, 0, NULL) : NULL;
	assert_true(expected ? json_equal(chosen, wanted) : !chosen);
}

static void
test_choices(void **state)
{
	(void)state;
	assert_choice("1", "[\"CPU\"]");
	assert_choice("2, h100 cpu", "[\"H100\",\"CPU\"]");
	assert_choice("3090", "[\"3090\"]");
	assert_choice("0", NULL);
	assert_choice("4", NULL);
	assert_choice("1 x", NULL);
	assert_choice("  ", NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_width),
	cmocka_unit_test(test_clean),
	cmocka_unit_test(test_block),
	cmocka_unit_test(test_tracebacks),
	cmocka_unit_test(test_places),
	cmocka_unit_test(test_table),
	cmocka_unit_test(test_narrow_table),
	cmocka_unit_test(test_wrapped_table),
	cmocka_unit_test(test_wrap),
	cmocka_unit_test(test_template),
	cmocka_unit_test(test_ranks),
	cmocka_unit_test(test_durations),
	cmocka_unit_test(test_differences),
	cmocka_unit_test(test_times),
	cmocka_unit_test(test_choices),
};

UNIT_TESTS(test_cli_text);
