/* SPDX-License-Identifier: MIT */
/* The !POPCORN header: what it may say, where it ends, and a sentence for every mistake. */
#include <config.h>

#include "base/popcorn_header.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

/* The header of the code as compact JSON, or the sentence of the error. */
static char *
parse(const char *code, size_t size)
{
	AUTO_JSON json_t *header = NULL;
	struct kettle_error err = {0};
	if (popcorn_header_parse(code, size, &header, &err)) {
		assert_int_equal(err.code, KETTLE_EINVAL);
		assert_null(header);
		return strdup(err.message);
	}
	return json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS);
}

static void
expect(const char *code, const char *wanted)
{
	AUTO_FREE char *got = parse(code, strlen(code));
	assert_string_equal(got, wanted);
}

static void
test_reads(void **state)
{
	(void)state;
	expect("", "{}");
	expect("int x;\n", "{}");
	expect("#!POPCORN leaderboard sort\n#!POPCORN gpus H100 MI300\n",
		"{\"gpus\":[\"H100\",\"MI300\"],\"leaderboard\":\"sort\"}");
	expect("//!POPCORN leaderboard vectoradd_cpp", "{\"leaderboard\":\"vectoradd_cpp\"}");
	expect("//!POPCORN gpu A100\r\nint x;", "{\"gpus\":[\"A100\"]}");
	expect("\xef\xbb\xbf#!POPCORN gpus\tT4  L4 ", "{\"gpus\":[\"T4\",\"L4\"]}");
	expect("#!POPCORN gpus t4 T4 T4", "{\"gpus\":[\"t4\"]}");
	expect("#!popcorn Leaderboard Sort", "{\"leaderboard\":\"Sort\"}");
	expect("//! POPCORN leaderboard a\n#!\tPOPCORN gpus T4\n", "{\"gpus\":[\"T4\"],\"leaderboard\":\"a\"}");
}

static void
test_block(void **state)
{
	(void)state;
	expect("#!/usr/bin/env python3\n# a comment\n\n  \n#!POPCORN leaderboard a\n", "{\"leaderboard\":\"a\"}");
	expect("#!POPCORNS leaderboard a\n#!POP CORN a\n# popcorn-like\nx = \"#!POPCORN gpus a\"", "{}");
}

#define ALMOST "this is not a directive: a directive begins with `#!POPCORN` or `//!POPCORN`."
#define BELOW "directives are read only in the comments at the top of the file; move this one there."

static void
test_remarks(void **state)
{
	(void)state;
	expect("import torch\n#!POPCORN leaderboard a\n", "{\"remarks\":[\"Line 2: " BELOW "\"]}");
	expect("#include <vector>\n//!POPCORN leaderboard a\nint x;\n//!POPCORN gpus nonsense",
		"{\"leaderboard\":\"a\",\"remarks\":[\"Line 4: " BELOW "\"]}");
	expect("# !POPCORN leaderboard a\n #!POPCORN leaderboard b\n",
		"{\"remarks\":[\"Line 1: " ALMOST "\",\"Line 2: " BELOW "\"]}");
	expect("#POPCORN leaderboard a\n// @popcorn gpus b\n# popcorn is good\n// POPCORN gpus\n",
		"{\"remarks\":[\"Line 1: " ALMOST "\",\"Line 2: " ALMOST "\",\"Line 4: " ALMOST "\"]}");
	expect("/*!POPCORN gpus a*/\n", "{\"remarks\":[\"Line 1: " BELOW "\"]}");
}

static void
test_mistakes(void **state)
{
	(void)state;
	expect("#!POPCORN",
		"Line 1: a directive is missing after `!POPCORN`; a header can contain `leaderboard NAME` and `gpus "
		"NAME …`.");
	expect("#\n#!POPCORN leaderbord a", "Line 2: unknown directive `leaderbord`; did you mean `leaderboard`?");
	expect("#!POPCORN deadline now",
		"Line 1: unknown directive `deadline`; a header can contain `leaderboard NAME` and `gpus NAME …`.");
	expect("#!POPCORN leaderboard", "Line 1: `leaderboard` must be followed by the name of a leaderboard.");
	expect("#!POPCORN leaderboard a b", "Line 1: `leaderboard` takes one name, but `b` follows `a`.");
	expect("#!POPCORN gpus", "Line 1: `gpus` must be followed by the name of at least one device.");
	expect("#!POPCORN leaderboard a\n//!POPCORN leaderboard a",
		"Line 2: `leaderboard` is given a second time in the header; give it once.");
	expect("#!POPCORN gpus a\n#!POPCORN gpu b", "Line 2: `gpu` is given a second time in the header; give it once.");
}

static void
test_hostile(void **state)
{
	(void)state;
	expect("#!POPCORN leaderboard \xff\xfe", "Line 1: a line with `!POPCORN` must be UTF-8 text without control "
											 "characters.");
	expect("#!POPCORN leaderboard \x1b[31m", "Line 1: a line with `!POPCORN` must be UTF-8 text without control "
											 "characters.");
	expect("#!POPCORN leaderboard b\xe2\x80\x8board", "Line 1: a line with `!POPCORN` contains the invisible character "
													  "U+200B; retype the line.");
	static char code[4096];
	size_t len = (size_t)snprintf(code, sizeof(code), "#!POPCORN gpus ");
	memset(code + len, 'a', 200);
	expect(code, "Line 1: a name in the header must be at most 100 bytes long.");
	memset(code + len, 'a', 2000);
	expect(code, "Line 1: a line with `!POPCORN` must be at most 1000 bytes long.");
	AUTO_FREE char *nul = parse("#!POPCORN gpus a\0b", 18);
	assert_string_equal(nul, "Line 1: a line with `!POPCORN` must be UTF-8 text without control characters.");
	char many[400] = "#!POPCORN gpus";
	for (int i = 0; i < 40; i++)
		(void)snprintf(many + strlen(many), sizeof(many) - strlen(many), " d%d", i);
	expect(many, "Line 1: `gpus` takes at most 32 devices, not 40.");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_reads),
	cmocka_unit_test(test_block),
	cmocka_unit_test(test_remarks),
	cmocka_unit_test(test_mistakes),
	cmocka_unit_test(test_hostile),
};

UNIT_TESTS(test_popcorn_header);
