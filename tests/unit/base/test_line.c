/* SPDX-License-Identifier: MIT */
/* Lines of a stream, however it is cut. */
#include <config.h>

#include "base/line.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

struct seen {
	struct buf text;
	int stop_at, count;
};

static int
on_line(void *arg, char *line, size_t len)
{
	struct seen *seen = arg;
	buf_add(&seen->text, line, len);
	buf_adds(&seen->text, "|");
	memset(line, 'X', len); /* it may be changed */
	return ++seen->count == seen->stop_at ? 77 : 0;
}

/* However the stream is cut, the lines are the same. */
static void
test_cuts(void **state)
{
	(void)state;
	const char stream[] = "one\n\ntwo\0x\nthree\nlast";
	size_t size = sizeof(stream) - 1;
	for (size_t step = 1; step <= size; step++) {
		struct line_reader reader = {.max = 5};
		struct seen seen = {0};
		for (size_t at = 0; at < size; at += step)
			assert_int_equal(line_add(&reader, stream + at, step < size - at ? step : size - at, on_line, &seen), 0);
		assert_int_equal(line_end(&reader, on_line, &seen), 0);
		assert_int_equal(line_end(&reader, on_line, &seen), 0);
		assert_int_equal(seen.text.len, 22);
		assert_memory_equal(seen.text.data, "one||two\0x|three|last|", 22);
		buf_free(&seen.text);
		line_free(&reader);
	}
}

static void
test_limit(void **state)
{
	(void)state;
	struct line_reader reader = {.max = 4};
	struct seen seen = {0};
	assert_int_equal(line_add(&reader, "abcd\nab", 7, on_line, &seen), 0);
	assert_int_equal(line_add(&reader, "cd", 2, on_line, &seen), 0);
	assert_int_equal(line_add(&reader, "e", 1, on_line, &seen), KETTLE_ETOOBIG);
	assert_int_equal(seen.count, 1);
	line_free(&reader);
	struct line_reader other = {.max = 4};
	assert_int_equal(line_add(&other, "ok\nabcde\nno\n", 12, on_line, &seen), KETTLE_ETOOBIG);
	assert_string_equal(seen.text.data, "abcd|ok|");
	line_free(&other);
	buf_free(&seen.text);
}

static void
test_stop_and_go_on(void **state)
{
	(void)state;
	struct line_reader reader = {.max = 100};
	struct seen seen = {.stop_at = 2};
	assert_int_equal(line_add(&reader, "a\nb\nc\nd", 7, on_line, &seen), 77);
	assert_string_equal(seen.text.data, "a|b|");
	assert_int_equal(line_add(&reader, "e\n", 2, on_line, &seen), 0);
	assert_string_equal(seen.text.data, "a|b|c|de|");
	assert_int_equal(line_add(&reader, NULL, 0, on_line, &seen), 0);
	line_free(&reader);
	/* The end comes while complete lines are left. */
	struct line_reader other = {.max = 100};
	struct seen rest = {.stop_at = 1};
	assert_int_equal(line_add(&other, "a\nb\nc", 5, on_line, &rest), 77);
	assert_int_equal(line_end(&other, on_line, &rest), 0);
	assert_string_equal(rest.text.data, "a|b|c|");
	line_free(&other);
	buf_free(&rest.text);
	buf_free(&seen.text);
}

/* A long line in small pieces is scanned once, not once a piece. */
static void
test_many_pieces(void **state)
{
	(void)state;
	struct line_reader reader = {.max = 4u << 20};
	struct seen seen = {0};
	for (int i = 0; i < (2 << 20) / 8; i++)
		assert_int_equal(line_add(&reader, "12345678", 8, on_line, &seen), 0);
	assert_int_equal(line_add(&reader, "\n", 1, on_line, &seen), 0);
	assert_int_equal(seen.text.len, (2u << 20) + 1);
	line_free(&reader);
	buf_free(&seen.text);
}

struct taken {
	struct seen seen;
	struct line_reader *reader;
	void *memory[3];
	char *line[3];
	int count;
};

/* The line that begins with `x` keeps its memory, and ends the call. */
static int
take_line(void *arg, char *line, size_t len)
{
	struct taken *taken = arg;
	if (line[0] != 'x')
		return on_line(&taken->seen, line, len);
	taken->line[taken->count] = line;
	taken->memory[taken->count++] = line_take(taken->reader);
	return 1;
}

/* A line whose memory was taken stays what it is while others come; so does the last one, which has no newline. */
static void
test_take(void **state)
{
	(void)state;
	struct line_reader reader = {.max = 100};
	struct taken taken = {.reader = &reader};
	assert_int_equal(line_add(&reader, "a\nx1\nb\nx2\nx3", 12, take_line, &taken), 1);
	assert_int_equal(line_add(&reader, NULL, 0, take_line, &taken), 1);
	assert_string_equal(taken.seen.text.data, "a|b|");
	assert_int_equal(line_end(&reader, take_line, &taken), 1);
	assert_int_equal(line_end(&reader, take_line, &taken), 0);
	assert_int_equal(taken.count, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(taken.line[i][0] == 'x' && taken.line[i][1] == '1' + i && taken.line[i][2] == '\0');
		free(taken.memory[i]);
	}
	line_free(&reader);
	buf_free(&taken.seen.text);
}

/* However the stream is cut, a line that is too long goes alone, and little of it is held. */
static void
test_skip(void **state)
{
	(void)state;
	const char stream[] = "a\ntoo long\nb\ntoo long again";
	size_t size = sizeof(stream) - 1;
	for (size_t step = 1; step <= size; step++) {
		struct line_reader reader = {.max = 5};
		struct seen seen = {0};
		int skips = 0;
		for (size_t at = 0; at < size; at += step) {
			int rc = line_add(&reader, stream + at, step < size - at ? step : size - at, on_line, &seen);
			for (; rc == KETTLE_ETOOBIG; skips++) {
				assert_memory_equal(reader.pending.data, "too lo", 6);
				line_skip(&reader);
				rc = line_add(&reader, NULL, 0, on_line, &seen);
			}
			assert_int_equal(rc, 0);
		}
		assert_int_equal(skips, 2);
		assert_true(reader.skipping && reader.skipped == 14 && reader.pending.len == 0);
		assert_int_equal(line_end(&reader, on_line, &seen), 0);
		assert_string_equal(seen.text.data, "a|b|");
		buf_free(&seen.text);
		line_free(&reader);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_skip),
	cmocka_unit_test(test_cuts),
	cmocka_unit_test(test_limit),
	cmocka_unit_test(test_stop_and_go_on),
	cmocka_unit_test(test_take),
	cmocka_unit_test(test_many_pieces),
};

UNIT_TESTS(test_line);
