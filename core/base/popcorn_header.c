/* SPDX-License-Identifier: MIT */
/* The !POPCORN header of a submission: the engine and the command line read it by this parser alone. */
#include <config.h>

#include "base/popcorn_header.h"

#include "base/base.h"
#include "base/text.h"

#define HEADER_MAX_LINE 1000 /* bytes of a line with a directive */
#define HEADER_MAX_WORD 100  /* bytes of a name */
#define HEADER_MAX_REMARKS 3

#define BLANKS " \t"

/* One line of the code, without its end. */
struct line {
	const char *text;
	size_t len;
	unsigned number;
};

/* A directive that is being read: its words are cut out of copy. */
struct directive_words {
	char copy[HEADER_MAX_LINE + 1];
	char *next;
};

static const char *const directives[] = {"leaderboard", "gpus", "gpu", NULL};
static const char possible[] = "a header can contain `leaderboard NAME` and `gpus NAME …`";

static bool
next_line(const char **at, const char *end, struct line *line)
{
	if (*at == end)
		return false;
	line->text = *at;
	line->number++;
	while (*at < end && **at != '\n' && **at != '\r')
		(*at)++;
	line->len = (size_t)(*at - line->text);
	if (*at < end && **at == '\r' && *at + 1 < end && (*at)[1] == '\n')
		(*at)++;
	if (*at < end)
		(*at)++;
	return true;
}

static bool
starts_with(const struct line *line, const char *prefix)
{
	size_t len = strlen(prefix);
	return line->len >= len && strncasecmp(line->text, prefix, len) == 0;
}

static bool
is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->len; i++)
		if (!strchr(BLANKS, line->text[i]) || line->text[i] == '\0')
			return false;
	return true;
}

/* The index of the first character from `at` on that is none of these. */
static size_t
past(const struct line *line, size_t at, const char *any)
{
	while (at < line->len && line->text[at] != '\0' && strchr(any, line->text[at]))
		at++;
	return at;
}

/* The length of the line's beginning up to the end of the word POPCORN, which follows at `at`; 0: another word is there. */
static size_t
popcorn_end(const struct line *line, size_t at)
{
	static const char word[] = "POPCORN";
	size_t end = at + strlen(word);
	bool is = at > 0 && end <= line->len && strncasecmp(line->text + at, word, strlen(word)) == 0;
	return is && (end == line->len || strchr(BLANKS, line->text[end])) ? end : 0;
}

/* The length of "#!POPCORN" or "//!POPCORN" when the line begins so; formatters of code put a blank before the word. */
static size_t
directive_start(const struct line *line)
{
	size_t mark = starts_with(line, "#!") ? 2 : starts_with(line, "//!") ? 3 : 0;
	return mark ? popcorn_end(line, past(line, mark, BLANKS)) : 0;
}

/* Whether an author may take the line for a directive: a comment with the word and what a header may say. */
static bool
is_almost(const struct line *line)
{
	size_t mark = past(line, past(line, 0, BLANKS), "#/*-;%"), at = past(line, mark, BLANKS "!@:#");
	size_t said = mark > 0 ? past(line, popcorn_end(line, at), BLANKS) : 0;
	for (size_t i = 0; said > 0 && directives[i]; i++)
		if (line->len - said >= strlen(directives[i]) &&
			strncasecmp(line->text + said, directives[i], strlen(directives[i])) == 0)
			return true;
	return false;
}

static char *
next_word(struct directive_words *words)
{
	char *word = words->next + strspn(words->next, BLANKS);
	if (*word == '\0')
		return NULL;
	words->next = word + strcspn(word, BLANKS);
	if (*words->next)
		*words->next++ = '\0';
	return word;
}

static int
read_leaderboard(json_t *header, const struct line *line, struct directive_words *words, struct kettle_error *err)
{
	const char *name = next_word(words);
	if (!name)
		return kettle_fail(
			err, KETTLE_EINVAL, "Line %u: `leaderboard` must be followed by the name of a leaderboard.", line->number);
	const char *more = next_word(words);
	if (more)
		return kettle_fail(err, KETTLE_EINVAL, "Line %u: `leaderboard` takes one name, but `%s` follows `%s`.",
			line->number, more, name);
	json_object_set_new(header, "leaderboard", json_string(name));
	return 0;
}

static int
read_gpus(json_t *header, const struct line *line, struct directive_words *words, struct kettle_error *err)
{
	AUTO_JSON json_t *gpus = json_array();
	for (const char *name; (name = next_word(words));)
		if (!list_find_text(gpus, name))
			json_array_append_new(gpus, json_string(name));
	if (json_array_size(gpus) == 0)
		return kettle_fail(
			err, KETTLE_EINVAL, "Line %u: `gpus` must be followed by the name of at least one device.", line->number);
	if (json_array_size(gpus) > HEADER_MAX_DEVICES)
		return kettle_fail(err, KETTLE_EINVAL, "Line %u: `gpus` takes at most %d devices, not %zu.", line->number,
			HEADER_MAX_DEVICES, json_array_size(gpus));
	json_object_set(header, "gpus", gpus);
	return 0;
}

static int
fail_header_unknown(const struct line *line, const char *word, struct kettle_error *err)
{
	const char *near = nearest(word, directives);
	if (near)
		return kettle_fail(
			err, KETTLE_EINVAL, "Line %u: unknown directive `%s`; did you mean `%s`?", line->number, word, near);
	return kettle_fail(err, KETTLE_EINVAL, "Line %u: unknown directive `%s`; %s.", line->number, word, possible);
}

static int
read_directive(json_t *header, const struct line *line, struct directive_words *words, struct kettle_error *err)
{
	const char *word = next_word(words);
	if (!word)
		return kettle_fail(
			err, KETTLE_EINVAL, "Line %u: a directive is missing after `!POPCORN`; %s.", line->number, possible);
	bool gpus = strcasecmp(word, "gpus") == 0 || strcasecmp(word, "gpu") == 0;
	if (!gpus && strcasecmp(word, "leaderboard") != 0)
		return fail_header_unknown(line, word, err);
	if (json_object_get(header, gpus ? "gpus" : "leaderboard"))
		return kettle_fail(err, KETTLE_EINVAL, "Line %u: `%s` is given a second time in the header; give it once.",
			line->number, word);
	return gpus ? read_gpus(header, line, words, err) : read_leaderboard(header, line, words, err);
}

/* Checks that a message may repeat the line: short words without anything that a terminal acts on. */
static int
check_text(const struct line *line, struct kettle_error *err)
{
	AUTO_BUF struct buf clean = {0};
	if (line->len > HEADER_MAX_LINE)
		return kettle_fail(err, KETTLE_EINVAL, "Line %u: a line with `!POPCORN` must be at most %d bytes long.",
			line->number, HEADER_MAX_LINE);
	if (utf8_sanitize(line->text, line->len, &clean))
		return kettle_fail(err, KETTLE_EINVAL,
			"Line %u: a line with `!POPCORN` must be UTF-8 text without control characters.", line->number);
	uint32_t invisible = utf8_find_invisible(line->text, line->len);
	if (invisible)
		return kettle_fail(err, KETTLE_EINVAL,
			"Line %u: a line with `!POPCORN` contains the invisible character U+%04X; retype the line.", line->number,
			invisible);
	for (size_t at = 0, len = 0; at < line->len; at++) {
		len = strchr(BLANKS, line->text[at]) ? 0 : len + 1;
		if (len > HEADER_MAX_WORD)
			return kettle_fail(err, KETTLE_EINVAL, "Line %u: a name in the header must be at most %d bytes long.",
				line->number, HEADER_MAX_WORD);
	}
	return 0;
}

/* Reads the line if it holds a directive; skips any other comment. */
static int
read_line(json_t *header, const struct line *line, struct kettle_error *err)
{
	size_t start = directive_start(line);
	int rc = start ? check_text(line, err) : 0;
	if (rc || start == 0)
		return rc;
	struct directive_words words;
	memcpy(words.copy, line->text, line->len);
	words.copy[line->len] = '\0';
	words.next = words.copy + start;
	return read_directive(header, line, &words, err);
}

/* Some editors begin a file with a byte order mark. */
static const char *
skip_mark(const char *code, size_t size)
{
	return size >= 3 && memcmp(code, "\xef\xbb\xbf", 3) == 0 ? code + 3 : code;
}

/* Adds a sentence for the author, the first few of them. */
static void
add_remark(json_t *header, const struct line *line, const char *text)
{
	json_t *remarks = json_object_get(header, "remarks");
	if (!remarks)
		json_object_set_new(header, "remarks", remarks = json_array());
	if (json_array_size(remarks) < HEADER_MAX_REMARKS)
		json_array_append_new(remarks, json_sprintf("Line %u: %s", line->number, text));
}

static bool
is_comment(const struct line *line)
{
	/* A blank line ends nothing: people put one between the header and their licence. */
	return is_blank(line) || line->text[0] == '#' || starts_with(line, "//");
}

int
popcorn_header_parse(const char *code, size_t size, json_t **ret_header, struct kettle_error *err)
{
	AUTO_JSON json_t *header = json_object();
	const char *end = code + size;
	code = skip_mark(code, size);
	struct line line = {0};
	bool more = next_line(&code, end, &line);
	for (; more && is_comment(&line); more = next_line(&code, end, &line)) {
		int rc = read_line(header, &line, err);
		if (rc)
			return rc;
		if (!directive_start(&line) && is_almost(&line))
			add_remark(header, &line, "this is not a directive: a directive begins with `#!POPCORN` or `//!POPCORN`.");
	}
	for (; more; more = next_line(&code, end, &line))
		if (is_almost(&line))
			add_remark(
				header, &line, "directives are read only in the comments at the top of the file; move this one there.");
	*ret_header = STEAL(header);
	return 0;
}

void
popcorn_header_strip(const char *code, size_t size, struct buf *text)
{
	const char *end = code + size, *at = skip_mark(code, size), *begin = at;
	struct line line = {0};
	while (next_line(&at, end, &line) && is_comment(&line)) {
		if (!directive_start(&line))
			buf_add(text, begin, (size_t)(at - begin));
		begin = at;
	}
	buf_add(text, begin, (size_t)(end - begin));
}
