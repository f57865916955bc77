/* SPDX-License-Identifier: MIT */
/* What profilers write, as a stranger might write it: read, bounded, or refused with a sentence. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/line.h"
#include "base/utf8.h"
#include "lib/unit_test.h"
#include "profile/profile.h"

#define HAS(text, words) \
	do { \
		if (!strstr(text, words)) \
			fail_msg("no `%s` in:\n%s", words, text); \
	} while (0)

/* A copy that a reader may write into. */
static char *
bytes(const char *text)
{
	char *copy = strdup(text);
	assert_non_null(copy);
	return copy;
}

static void
test_csv(void **state)
{
	(void)state;
	AUTO_FREE char *data = bytes("a,\"b,\"\"c\"\"\nd\",\r\n\n\"open, to the end");
	struct csv csv = {.at = data, .end = data + strlen(data), .separator = ','};
	struct csv_row row;
	assert_true(csv_next(&csv, &row));
	assert_int_equal(row.count, 3);
	assert_string_equal(row.fields[1], "b,\"c\"\nd");
	const char *const names[] = {"a", "x"};
	int columns[2];
	assert_true(csv_columns(&row, names, 1, columns));
	assert_false(csv_columns(&row, names, 2, columns));
	assert_true(columns[0] == 0 && columns[1] == -1);
	assert_string_equal(csv_field(&row, 7), "");
	assert_string_equal(csv_field(&row, -1), "");
	assert_true(csv_next(&csv, &row));
	assert_int_equal(row.count, 1);
	assert_true(csv_next(&csv, &row));
	assert_string_equal(row.fields[0], "open, to the end");
	assert_false(csv_next(&csv, &row));
	char many[300];
	memset(many, ',', sizeof(many));
	csv = (struct csv){.at = many, .end = many + sizeof(many) - 1, .separator = ','};
	assert_true(csv_next(&csv, &row));
	assert_int_equal(row.count, CSV_MAX_FIELDS);
}

static void
test_numbers(void **state)
{
	(void)state;
	static const struct {
		double value;
		int digits;
		const char *text;
	} cases[] = {{0, 0, "0"}, {999, 0, "999"}, {1000, 0, "1,000"}, {-1234567.5, 2, "-1,234,567.50"}, {-123, 0, "-123"},
		{1e300, 2, "1e+300"}, {1.0 / 3, 2, "0.33"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[REPORT_NUMBER_SIZE];
		report_number(cases[i].value, cases[i].digits, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void
test_counters(void **state)
{
	(void)state;
	AUTO_BUF struct buf out = {0};
	struct kettle_error err = {0};
	AUTO_FREE char *data = bytes("# started on Sat Jan  3 10:00:00 2026\n\n"
								 "1234.50;msec;task-clock:u;1234500000;100.00;1.980;CPUs utilized\n"
								 "4000000000;;cycles:u;1;100.00;3.2;GHz\n"
								 "<not supported>;;instructions:u;0;100.00;;\n"
								 "<not counted>;;\x1b[31mbad\xff;0;100.00;;\n"
								 "nan-sense;;what;0;100.00;;\nshort;line\n");
	assert_int_equal(counters_text(data, strlen(data), &out, &err), 0);
	HAS(out.data, "task-clock                  1,234.50 msec    1.980 CPUs utilized");
	HAS(out.data, "cycles                 4,000,000,000");
	HAS(out.data, "not supported by this machine: instructions");
	assert_null(strchr(out.data, '\x1b'));
	assert_true(utf8_valid(out.data, out.len));
	AUTO_FREE char *nothing = bytes("perf: command not found\n");
	assert_int_equal(counters_text(nothing, strlen(nothing), &out, &err), KETTLE_EINVAL);
	HAS(err.message, "has no counters");
}

#define HEADER "\"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"

static void
test_details(void **state)
{
	(void)state;
	AUTO_BUF struct buf out = {0};
	AUTO_BUF struct buf page = {0};
	struct kettle_error err = {0};
	/* More launches and more metrics than are shown, and names without an end. */
	buf_adds(&page, HEADER);
	for (int launch = 0; launch < 30; launch++)
		for (int metric = 0; metric < 150; metric++)
			buf_printf(&page, "\"%d\",\"k%0*d\",\"Warp State Statistics\",\"Stall %d\",\"inst\",\"1.0\"\n", launch, 500,
				launch, metric);
	assert_int_equal(details_text(page.data, page.len, &out, &err), 0);
	assert_true(out.len < REPORT_MAX_BYTES);
	HAS(out.data, "launch 1: k000");
	HAS(out.data, "more lines are in the report itself");
	assert_null(strstr(out.data, "launch 11:"));
	static const struct {
		const char *page, *words;
	} bad[] = {{"", "is not a report"}, {"<html>", "is not a report"}, {"\"ID\",\"Section Name\"\n", "is not a report"},
		{HEADER, "none of the sections"},
		{HEADER "\"0\",\"k\",\"Occupancy\",\"Achieved\",\"%\",\"1\"\n", "none of the sections"}};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_FREE char *data = bytes(bad[i].page);
		assert_int_equal(details_text(data, strlen(data), &out, &err), KETTLE_EINVAL);
		HAS(err.message, bad[i].words);
	}
}

#define TRACE "\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"

static void
test_kernels(void **state)
{
	(void)state;
	AUTO_BUF struct buf out = {0};
	AUTO_BUF struct buf trace = {0};
	struct kettle_error err = {0};
	struct kernels kernels = {0};
	struct kernel_match match = {0};
	struct kernel_names names = {0};
	buf_adds(&trace, TRACE);
	for (int i = 0; i < 1000; i++)
		buf_printf(&trace, "\"K\",\"kernel %d\",%d,%d\n", i, i, 3 * i);
	buf_adds(&trace, "\"K\",\"late\",5,4\n\"K\",\"huge\",0,18446744073709551615\n\"K\",\"bad\",-1,x\n\"K\"\n");
	assert_int_equal(kernels_add(&kernels, &match, &names, trace.data, trace.len, &err), 0);
	kernels_text(&kernels, &out);
	assert_int_equal(kernels.count, KERNELS_MAX + 1);
	HAS(out.data, "(others)");
	HAS(out.data, "more kernels are in the trace");
	assert_null(strstr(out.data, "huge"));
	assert_null(strstr(out.data, "late"));
	kernels_free(&kernels);
	AUTO_FREE char *data = bytes("Kernel_Name;Start\n");
	assert_int_equal(kernels_add(&kernels, &match, &names, data, strlen(data), &err), KETTLE_EINVAL);
	HAS(err.message, "not a kernel trace");
	kernels_free(&kernels);
	assert_int_equal(names.count, KERNELS_NAMED);
	assert_int_not_equal(names.more, 0);
	kernel_names_free(&names);
}

static void
test_match(void **state)
{
	(void)state;
	static const char *const functions[][2] = {{"void ns::add<float>(float*, int)", "add"}, {"add", "add"},
		{"void (anonymous namespace)::add<std::pair<int, int>>(int)", "add"}, {"float* sum(int)", "sum"},
		{"_Z3addPf", "_Z3addPf"}, {"", ""}, {"(", ""}, {"<>", ""}};
	struct kernel_match match;
	struct kettle_error err = {0};
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		AUTO_FREE char *name = kernel_function(functions[i][0]);
		assert_string_equal(name, functions[i][1]);
	}
	struct profile_capture capture = {.kernel = "add", .launches = "2", .skip = "1"};
	assert_int_equal(kernel_match_init(&match, &capture, &err), 0);
	static const char *const launches[] = {"add(int)", "mul(int)", "void add<1>()", "ns::add", "add"};
	static const bool taken[] = {false, false, true, true, false};
	for (size_t i = 0; i < ARRAY_SIZE(launches); i++)
		assert_int_equal(kernel_match_takes(&match, launches[i]), taken[i]);
	kernel_match_free(&match);
	capture = (struct profile_capture){.kernel = "regex:^void", .kernel_base = "demangled"};
	assert_int_equal(kernel_match_init(&match, &capture, &err), 0);
	assert_true(kernel_match_takes(&match, "void add<1>()"));
	assert_false(kernel_match_takes(&match, "add"));
	kernel_match_free(&match);
	capture.kernel = "regex:(";
	assert_int_equal(kernel_match_init(&match, &capture, &err), KETTLE_EINVAL);
	kernel_match_free(&match);
}

static void
fold(struct stacks *stacks, const char *text)
{
	AUTO_FREE char *data = bytes(text);
	struct line_reader lines = {.max = STACKS_MAX_LINE};
	assert_int_equal(line_add(&lines, data, strlen(data), stacks_line, stacks), 0);
	assert_int_equal(line_end(&lines, stacks_line, stacks), 0);
	stacks_end(stacks);
	line_free(&lines);
}

static void
test_stacks(void **state)
{
	(void)state;
	AUTO_BUF struct buf out = {0};
	struct stacks stacks = {0};
	fold(&stacks, "program \n\t  11 inner+0x10\n\t  22 main\n\nperf \n\t  1 perf_main\n\nprogram\n\t  11 "
				  "inner+0x2a\n\t 22 main\n\n"
				  "program\n\t 22 main\n\nprogram\n\nno sample\n\t 5 a;b\n\t 6\n");
	assert_int_equal(stacks.root.samples, 4);
	stacks_folded(&stacks, 1000, &out);
	HAS(out.data, "main;inner 2\n");
	HAS(out.data, "main 1\n");
	HAS(out.data, "[unknown];a,b 1\n");
	buf_free(&out);
	stacks_hottest(&stacks, 1, &out);
	assert_string_equal(out.data, "   50.0 %  inner\n");
	stacks_free(&stacks);
}

/* Samples of more depth, and more functions, than are kept. */
static void
test_stacks_bounded(void **state)
{
	(void)state;
	AUTO_BUF struct buf text = {0};
	AUTO_BUF struct buf out = {0};
	struct stacks stacks = {0};
	for (int sample = 0; sample < 300; sample++) {
		buf_adds(&text, "p\n");
		for (int frame = 0; frame < 200; frame++)
			buf_printf(&text, "\t 1 f%d_%d%0*d\n", sample, frame, 300, 0);
		buf_adds(&text, "\n");
	}
	fold(&stacks, text.data);
	assert_int_equal(stacks.root.samples, 300);
	assert_true(stacks.nodes <= STACKS_MAX_NODES);
	stacks_folded(&stacks, 5000, &out);
	assert_true(out.len < 5000 + STACKS_MAX_DEPTH * (STACKS_MAX_NAME + 10));
	buf_free(&out);
	flame_svg(&stacks, "x", &out);
	assert_true(out.len < FLAME_MAX_BYTES + 100000);
	stacks_free(&stacks);
}

static void
test_flame(void **state)
{
	(void)state;
	AUTO_BUF struct buf out = {0};
	struct stacks stacks = {0};
	fold(&stacks, "p\n\t 1 </title><script>alert('1')</script>&\"\x1b[2J\xff\n\t 2 main\n\n");
	flame_svg(&stacks, "<b>&", &out);
	HAS(out.data, "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;");
	HAS(out.data, ">&lt;b&gt;&amp; (1 samples)<");
	assert_null(strstr(out.data, "<script"));
	assert_null(strchr(out.data, '\x1b'));
	assert_true(utf8_valid(out.data, out.len));
	stacks_free(&stacks);
	buf_free(&out);
	flame_svg(&stacks, "empty", &out);
	HAS(out.data, "</svg>");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_csv),
	cmocka_unit_test(test_numbers),
	cmocka_unit_test(test_counters),
	cmocka_unit_test(test_details),
	cmocka_unit_test(test_kernels),
	cmocka_unit_test(test_match),
	cmocka_unit_test(test_stacks),
	cmocka_unit_test(test_stacks_bounded),
	cmocka_unit_test(test_flame),
};

UNIT_TESTS(test_profile);
