/* SPDX-License-Identifier: MIT */
/* Text for Discord: hostile names and code, long reports, identifiers. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "discord/text/escape.h"
#include "discord/text/snowflake.h"
#include "discord/text/split.h"
#include "discord/text/timestamp.h"
#include "lib/unit_test.h"

#define LONG_TEXT (1u << 20)

static void
assert_escaped(const char *text, const char *expected)
{
	AUTO_FREE char *escaped = escape_markdown(text, 200);
	assert_string_equal(escaped, expected);
}

static void
test_markup(void **state)
{
	(void)state;
	assert_escaped("plain, isn't it? 1 = 1; 100 % & $5!", "plain, isn't it? 1 = 1; 100 % & $5!");
	assert_escaped("@everyone @here", "\\@everyone \\@here");
	assert_escaped("<@1> <@!1> <@&1> <#1>", "\\<\\@1\\> \\<\\@!1\\> \\<\\@&1\\> \\<\\#1\\>");
	assert_escaped("<:x:1> :smile: <t:0:R> </x:1>", "\\<\\:x\\:1\\> \\:smile\\: \\<t\\:0\\:R\\> \\<\\/x\\:1\\>");
	assert_escaped("[a](b)", "\\[a\\]\\(b\\)");
	assert_escaped("||x|| **x** __x__ ~~x~~", "\\|\\|x\\|\\| \\*\\*x\\*\\* \\_\\_x\\_\\_ \\~\\~x\\~\\~");
	assert_escaped("`x` ```x```", "\\`x\\` \\`\\`\\`x\\`\\`\\`");
	assert_escaped("> q", "\\> q");
	assert_escaped("# h", "\\# h");
	assert_escaped("- l", "\\- l");
	assert_escaped("1. l", "1\\. l");
	assert_escaped("\\*x", "\\\\\\*x");
	assert_escaped("https://x.example discord.gg/x", "https\\:\\/\\/x\\.example discord\\.gg\\/x");
}

static void
assert_sentence_is(const char *text, size_t max, const char *expected)
{
	AUTO_FREE char *escaped = escape_sentence(text, max);
	assert_string_equal(escaped, expected);
	assert_true(split_units(escaped) <= max);
}

/* Names between backticks become code, unless that would bring a link, a mention or a backtick of its own to life. */
static void
test_sentences(void **state)
{
	(void)state;
	assert_sentence_is(
		"There is no `a_b*`, *or* `/admin start`.", 200, "There is no `a_b*`, \\*or\\* `/admin start`\\.");
	assert_sentence_is("`discord.gg/x` `@everyone` `<#1>` `a\\`", 200,
		"\"discord\\.gg\\/x\" \"\\@everyone\" \"\\<\\#1\\>\" \"a\\\\\"");
	assert_sentence_is("`x ```y``` `` ` `", 200, "\\`x \\`\\`\\`y\\`\\`\\` \\`\\` ` `");
	assert_sentence_is("`", 200, "\\`");
	/* Where it is cut, the code ends. */
	assert_sentence_is("a `bcdef` g", 7, "a `bc…`");
	assert_sentence_is("a `bcdef` g", 9, "a `bcde…`");
	assert_sentence_is("a `bcdef` g", 10, "a `bcdef`…");
	assert_sentence_is("a `bcdef`", 9, "a `bcdef`");
	AUTO_FREE char *quoted = escape_quotes("There is no `a`; ```c``` `b");
	assert_string_equal(quoted, "There is no \"a\"; ```c``` `b");
}

static void
test_hidden(void **state)
{
	(void)state;
	assert_escaped("a\nb\r\n\tc", "a b c");
	assert_escaped("user\xe2\x80\xae"
				   "cod\xe2\x80\x8b.exe\xef\xbb\xbf",
		"usercod\\.exe");
	assert_escaped("\xed\xa0\x80|\xff", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\|\xef\xbf\xbd");
	assert_escaped("", "");
	assert_escaped("\xe2\x80\x8b \n", "");
	/* Marks on a character: two; none in front, where they would hang on what is before the name. */
	assert_escaped("\xcc\x81\xcc\x82z\xcc\x81\xcc\x82\xcc\x83\xcc\x84"
				   "a",
		"z\xcc\x81\xcc\x82"
		"a");
}

static void
test_limit(void **state)
{
	(void)state;
	AUTO_FREE char *whole = escape_plain("abcdef", 6), *cut = escape_plain("abcdefg", 6);
	assert_string_equal(whole, "abcdef");
	assert_string_equal(cut, "abcde…");
	/* The backslash counts, and is not separated from what it belongs to. */
	AUTO_FREE char *stars = escape_markdown("ab***", 6), *one = escape_markdown("*", 1);
	assert_string_equal(stars, "ab\\*…");
	assert_string_equal(one, "…");
	/* A rocket has two units. */
	AUTO_FREE char *rockets = escape_plain("🚀🚀🚀", 5), *two = escape_plain("🚀🚀", 4), *less = escape_plain("🚀🚀", 3);
	assert_string_equal(rockets, "🚀🚀…");
	assert_string_equal(two, "🚀🚀");
	assert_string_equal(less, "🚀…");
	AUTO_FREE char *text = xmalloc(LONG_TEXT + 1);
	memset(text, '*', LONG_TEXT);
	text[LONG_TEXT] = '\0';
	AUTO_FREE char *longest = escape_markdown(text, 100);
	assert_int_equal(split_units(longest), 99);
	assert_true(utf8_valid(longest, strlen(longest)));
}

static void
assert_block(const char *language, const char *text, const char *expected)
{
	AUTO_BUF struct buf out = {0};
	escape_code_block(&out, language, text);
	assert_string_equal(out.data, expected);
}

static void
test_code_block(void **state)
{
	(void)state;
	assert_block("python", "import torch\n\tx = 1\n", "```python\nimport torch\n\tx = 1\n```");
	assert_block(NULL, "", "```\n \n```");
	assert_block("py\nthon", "x", "```\nx\n```");
	assert_block("", "a``b```c````d", "```\na``b`` `c`` ``d\n```");
	/* What hides between backticks goes before they are counted. */
	assert_block("", "`\xe2\x80\x8b`\xe2\x80\xae`@everyone", "```\n`` `@everyone\n```");
	assert_block("", "``````", "```\n`` `` ``\n```");
	assert_block("", "a\x1b[31m\r\nb\xff", "```\na\xef\xbf\xbd[31m\nb\xef\xbf\xbd\n```");
}

/* Splits, checks what holds for every split, and returns the messages. */
static json_t *
split(const char *text, size_t max, char **ret_rest)
{
	json_t *messages = split_messages(text, max, ret_rest);
	size_t i;
	const json_t *message;
	assert_true(json_array_size(messages) <= max);
	json_array_foreach(messages, i, message) {
		const char *data = json_string_value(message);
		assert_in_range(split_units(data), 1, SPLIT_UNITS);
		assert_true(data[strspn(data, " \t\n")] != '\0');
		size_t fences = 0;
		for (const char *at = data; (at = strstr(at, SPLIT_FENCE)); at += strlen(SPLIT_FENCE))
			fences++;
		assert_int_equal(fences % 2, 0);
	}
	return messages;
}

static const char *
message(const json_t *messages, size_t number)
{
	const char *text = json_string_value(json_array_get(messages, number));
	assert_non_null(text);
	return text;
}

/* What the messages say without their fences and blanks: nothing is lost or doubled. */
static char *
essence(const char *text)
{
	struct buf out = {0};
	for (const char *at = text; *at; at++)
		if (!strchr(" \t\n`", *at))
			buf_add(&out, at, 1);
	return buf_take(&out);
}

static void
assert_complete(const char *text, const json_t *messages, const char *without)
{
	AUTO_BUF struct buf joined = {0};
	size_t i;
	const json_t *one;
	json_array_foreach(messages, i, one)
		buf_adds(&joined, json_string_value(one));
	for (char *at; without && (at = strstr(joined.data, without));)
		memmove(at, at + strlen(without), strlen(at + strlen(without)) + 1);
	AUTO_FREE char *expected = essence(text), *found = essence(joined.data);
	assert_string_equal(found, expected);
}

static void
test_split_lines(void **state)
{
	(void)state;
	AUTO_FREE char *rest = NULL, *more = NULL;
	AUTO_JSON json_t *one = split("hello\n\n", 5, &rest);
	assert_int_equal(json_array_size(one), 1);
	assert_string_equal(message(one, 0), "hello");
	assert_null(rest);
	AUTO_JSON json_t *none = split("\n \n", 5, &rest);
	assert_int_equal(json_array_size(none), 0);
	assert_null(rest);
	AUTO_BUF struct buf text = {0};
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "line %d of the report 🚀\n%s", i, i % 100 == 99 ? "\n\n\n" : "");
	AUTO_JSON json_t *messages = split(text.data, 40, &rest);
	assert_null(rest);
	assert_in_range(json_array_size(messages), 12, 15);
	for (size_t i = 0; i < json_array_size(messages); i++)
		assert_int_equal(strncmp(message(messages, i), "line ", 5), 0);
	assert_complete(text.data, messages, NULL);
	AUTO_JSON json_t *few = split(text.data, 3, &more);
	assert_int_equal(json_array_size(few), 3);
	assert_int_equal(strncmp(more, "line ", 5), 0);
	assert_non_null(strstr(more, "line 999 "));
	json_array_append_new(few, json_string(more));
	assert_complete(text.data, few, NULL);
}

static void
test_split_blocks(void **state)
{
	(void)state;
	AUTO_FREE char *rest = NULL;
	AUTO_BUF struct buf text = {0}, code = {0};
	for (int i = 0; i < 300; i++)
		buf_printf(&code, "x%d = torch.zeros(%d)\n", i, i);
	buf_adds(&text, "Log:\n");
	escape_code_block(&text, "python", code.data);
	buf_adds(&text, "\nThe end.\n");
	AUTO_JSON json_t *messages = split(text.data, 40, &rest);
	assert_null(rest);
	assert_int_equal(json_array_size(messages), 4);
	assert_int_equal(strncmp(message(messages, 0), "Log:\n```python\nx0 = ", 20), 0);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(strncmp(message(messages, i), "```python\nx", 11), 0);
	assert_non_null(strstr(message(messages, 3), "\n```\nThe end."));
	AUTO_FREE char *expected = xasprintf("Log:%sThe end.", code.data);
	assert_complete(expected, messages, "```python\n");
	free(STEAL(rest));
	AUTO_JSON json_t *first = split(text.data, 1, &rest);
	assert_int_equal(json_array_size(first), 1);
	assert_int_equal(strncmp(rest, "```python\nx", 11), 0);
	/* A block that begins where a message ends begins in the next one. */
	AUTO_BUF struct buf late = {0};
	for (int i = 0; i < 1990; i++)
		buf_adds(&late, "a");
	buf_adds(&late, "\n```c\nint x;\n```\n");
	free(STEAL(rest));
	AUTO_JSON json_t *two = split(late.data, 9, &rest);
	assert_int_equal(json_array_size(two), 2);
	assert_string_equal(message(two, 1), "```c\nint x;\n```");
	/* The longest line that opens a block, and one that is text. */
	for (int word = 25; word <= 26; word++) {
		AUTO_FREE char *opened = xasprintf("```%0*d\n%s```\n", word, 0, code.data);
		free(STEAL(rest));
		AUTO_JSON json_t *several = split_messages(opened, 9, &rest);
		assert_int_equal(strncmp(message(several, 1), "```0", 4) == 0, word == 25);
	}
}

/* Lines of every length around the limit, inside and outside of a block. */
static void
test_split_limits(void **state)
{
	(void)state;
	for (size_t size = SPLIT_UNITS - 20; size < SPLIT_UNITS + 10; size++) {
		AUTO_BUF struct buf outside = {0}, inside = {0};
		AUTO_FREE char *rest = NULL, *line = xmalloc(size + 1);
		memset(line, 'a', size);
		line[size] = '\0';
		buf_printf(&outside, "%s\n\n\n%s\n```\n```\nb", line, line);
		buf_printf(&inside, "```c\n%s\n\n%s\n```\n```c\n```\nb", line, line);
		AUTO_JSON json_t *plain = split(outside.data, 9, &rest);
		assert_null(rest);
		assert_complete(outside.data, plain, NULL);
		AUTO_JSON json_t *code = split(inside.data, 9, &rest);
		assert_null(rest);
		AUTO_FREE char *expected = xasprintf("%s%sb", line, line);
		assert_complete(expected, code, "```c\n");
	}
}

static void
test_split_long_line(void **state)
{
	(void)state;
	AUTO_FREE char *rest = NULL, *stars = xmalloc(LONG_TEXT + 1), *rockets = xmalloc(LONG_TEXT + 1);
	for (size_t i = 0; i < LONG_TEXT; i += 4) {
		memcpy(stars + i, "\\*\\*", 4);
		memcpy(rockets + i, "🚀", 4);
	}
	stars[LONG_TEXT] = rockets[LONG_TEXT] = '\0';
	stars[0] = 'x'; /* so that the backslashes are at odd places */
	AUTO_JSON json_t *messages = split(stars, 40, &rest);
	assert_int_equal(json_array_size(messages), 40);
	for (size_t i = 0; i < 40; i++) {
		const char *text = message(messages, i);
		assert_int_equal(text[0], i == 0 ? 'x' : '\\');
		assert_int_equal(text[strlen(text) - 1], '*');
	}
	free(STEAL(rest));
	AUTO_FREE char *block = xasprintf("```\nx%s\n```\n", rockets);
	AUTO_JSON json_t *units = split(block, 40, &rest);
	assert_int_equal(json_array_size(units), 40);
	assert_true(utf8_valid(rest, strlen(rest)));
	free(STEAL(rest));
	/* Words are not cut. */
	AUTO_BUF struct buf words = {0};
	for (int i = 0; i < 1000; i++)
		buf_adds(&words, "word ");
	AUTO_JSON json_t *spaced = split(words.data, 9, &rest);
	assert_int_equal(json_array_size(spaced), 3);
	assert_int_equal(strncmp(message(spaced, 1), "word ", 5), 0);
	assert_complete(words.data, spaced, NULL);
}

static void
test_identifiers(void **state)
{
	char copy[SNOWFLAKE_SIZE] = "x";
	assert_true(snowflake_copy(copy, "123"));
	assert_string_equal(copy, "123");
	assert_false(snowflake_copy(copy, "12a"));
	assert_string_equal(copy, "");
	(void)state;
	uint64_t id = 7;
	static const char *const wrong[] = {"", "0", "+1", "-1", " 1", "1 ", "1x", "0x1", "18446744073709551616",
		"000000000000000000001", "99999999999999999999", "1\n"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(snowflake_parse(wrong[i], &id));
	assert_false(snowflake_parse(NULL, &id));
	assert_int_equal(id, 7);
	assert_true(snowflake_parse("18446744073709551615", &id));
	assert_true(id == UINT64_MAX);
	/* The example of Discord's documentation. */
	assert_true(snowflake_parse("175928847299117063", &id));
	assert_int_equal(snowflake_time(id), 1462015105796);
	char nonce[NONCE_SIZE], same[NONCE_SIZE], other[NONCE_SIZE];
	snowflake_nonce("event 1", "23", nonce);
	snowflake_nonce("event 1", "23", same);
	snowflake_nonce("event", "1 23", other);
	assert_int_equal(strlen(nonce), 25);
	assert_string_equal(nonce, same);
	assert_string_not_equal(nonce, other);
}

static void
test_times(void **state)
{
	(void)state;
	char text[TIMESTAMP_SIZE];
	timestamp_text(1462015105796, TIMESTAMP_RELATIVE, text);
	assert_string_equal(text, "<t:1462015105:R>");
	timestamp_text(-1, TIMESTAMP_DATE, text);
	assert_string_equal(text, "<t:-1:f>");
	timestamp_of("1970-01-02T00:00:01.000Z", TIMESTAMP_RELATIVE, text);
	assert_string_equal(text, "<t:86401:R>");
	timestamp_of("soon", TIMESTAMP_RELATIVE, text);
	assert_string_equal(text, "–");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_markup),
	cmocka_unit_test(test_sentences),
	cmocka_unit_test(test_hidden),
	cmocka_unit_test(test_limit),
	cmocka_unit_test(test_code_block),
	cmocka_unit_test(test_split_lines),
	cmocka_unit_test(test_split_blocks),
	cmocka_unit_test(test_split_limits),
	cmocka_unit_test(test_split_long_line),
	cmocka_unit_test(test_identifiers),
	cmocka_unit_test(test_times),
};

UNIT_TESTS(test_text);
