/* SPDX-License-Identifier: MIT */
/* The difference of texts by lines: its form, that it is the smallest, that it leads from one text to the other, its limits. */
#include <config.h>

#include "base/line_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "lib/unit_test.h"

#define NO_LIMIT SIZE_MAX / 2
#define HEAD "--- a\n+++ b\n"

static struct line_diff
diff(const char *before, const char *after, size_t max)
{
	struct line_diff made = {0};
	line_diff(&(struct line_diff_text){"a", before, strlen(before)},
		&(struct line_diff_text){"b", after, strlen(after)}, max, &made);
	return made;
}

static void
assert_diff(const char *before, const char *after, const char *text)
{
	struct line_diff made = diff(before, after, NO_LIMIT);
	assert_string_equal(made.text, text);
	assert_false(made.truncated);
	free(made.text);
}

static void
test_form(void **state)
{
	(void)state;
	assert_diff("", "", "");
	assert_diff("a\nb\n", "a\nb\n", "");
	assert_diff("", "x\n", HEAD "@@ -0,0 +1 @@\n+x\n");
	assert_diff("x\ny\n", "", HEAD "@@ -1,2 +0,0 @@\n-x\n-y\n");
	assert_diff("a\nb\nc\n", "a\nB\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
	assert_diff("a", "a\n", HEAD "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
	assert_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n5\n6\n7\n8\n9\n",
		HEAD "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+X\n 5\n 6\n 7\n");
	/* Six equal lines between two changes join them, seven do not. */
	assert_diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
		HEAD "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
	assert_diff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
		HEAD "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

static void
test_limit(void **state)
{
	(void)state;
	struct line_diff made = diff("a\nb\n", "c\nd\n", strlen(HEAD "@@ -1,2 +1,2 @@\n-a\n-"));
	assert_string_equal(made.text, HEAD "@@ -1,2 +1,2 @@\n-a\n");
	assert_true(made.truncated);
	assert_int_equal(made.added, 2);
	assert_int_equal(made.removed, 2);
	free(made.text);
}

/* The second text, made of the first and of a difference that has all lines of both in its hunks or around them. */
static char *
apply(const char *before, const char *text)
{
	struct buf made = {0};
	long line = 1;
	buf_adds(&made, "");
	for (const char *at = text + strlen(HEAD); *text && *at; at = strchr(at, '\n') + 1) {
		size_t len = (size_t)(strchr(at, '\n') - at) + 1;
		if (*at == '@') {
			bool none = strstr(at, ",0 +") && strstr(at, ",0 +") < at + len;
			for (long first = strtol(at + 4, NULL, 10) + none; line < first; line++, before = strchr(before, '\n') + 1)
				buf_add(&made, before, (size_t)(strchr(before, '\n') - before) + 1);
			continue;
		}
		if (*at != '+') {
			assert_memory_equal(at + 1, before, len - 1);
			before += len - 1;
			line++;
		}
		if (*at != '-')
			buf_add(&made, at + 1, len - 1);
	}
	buf_adds(&made, before);
	return buf_take(&made);
}

/* The length of the longest common subsequence of texts of lines of one letter. */
static size_t
common(const char *a, const char *b)
{
	size_t width = strlen(b) / 2, row[64] = {0};
	for (size_t i = 0; i < strlen(a) / 2; i++) {
		size_t diagonal = 0;
		for (size_t k = 0; k < width; k++) {
			size_t was = row[k + 1], beside = row[k];
			row[k + 1] = a[2 * i] == b[2 * k] ? diagonal + 1 : was > beside ? was : beside;
			diagonal = was;
		}
	}
	return row[width];
}

static void
letters(char *text, size_t most, unsigned kinds)
{
	size_t count = (size_t)rand() % (most + 1);
	for (size_t i = 0; i < count; i++) {
		text[2 * i] = (char)('a' + (unsigned)rand() % kinds);
		text[2 * i + 1] = '\n';
	}
	text[2 * count] = '\0';
}

static void
test_random(void **state)
{
	(void)state;
	char before[200], after[200];
	srand(1);
	for (int i = 0; i < (everything_runs() ? 20000 : 4000); i++) {
		letters(before, 40, 1 + (unsigned)i % 7);
		letters(after, 40, 1 + (unsigned)i % 7);
		struct line_diff made = diff(before, after, NO_LIMIT);
		AUTO_FREE char *back = apply(before, made.text);
		assert_string_equal(back, after);
		assert_int_equal(made.removed, strlen(before) / 2 - common(before, after));
		assert_int_equal(made.added, strlen(after) / 2 - common(before, after));
		free(made.text);
	}
}

/* A MiB of lines of one letter that have nothing but letters in common: right, though not the smallest. */
static void
test_hostile(void **state)
{
	(void)state;
	for (unsigned kinds = 1; kinds <= 26; kinds = kinds * 4 + 1) {
		if (kinds != 5 && !everything_runs())
			continue;
		size_t count = 1 << 19;
		AUTO_FREE char *before = malloc(2 * count + 1), *after = malloc(2 * count + 1);
		srand(kinds);
		for (size_t i = 0; i < count; i++) {
			before[2 * i] = (char)('a' + (unsigned)rand() % kinds);
			after[2 * i] = (char)('a' + (unsigned)rand() % kinds);
			before[2 * i + 1] = after[2 * i + 1] = '\n';
		}
		before[2 * count] = after[2 * count - 600] = '\0';
		struct line_diff made = diff(before, after, NO_LIMIT);
		AUTO_FREE char *back = apply(before, made.text);
		assert_true(strcmp(back, after) == 0);
		free(made.text);
	}
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_form), cmocka_unit_test(test_limit),
	cmocka_unit_test(test_random), cmocka_unit_test(test_hostile)};

UNIT_TESTS(test_line_diff);
