/* SPDX-License-Identifier: MIT */
/* Text that users supply, made harmless in a message. */
#include <config.h>

#include "discord/text/escape.h"

#include "base/base.h"
#include "common/term.h"
#include "base/utf8.h"
#include "discord/text/split.h"

#define MARKS_MAX 2 /* combining marks on one character; names in all scripts need no more */
#define FENCE_MAX 2 /* backticks in a row that do not end a code block */
#define LANGUAGE_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789+-#"
#define LANGUAGE_MAX 20

/*
 * Whether to put a backslash before this character, which takes the meaning from any ASCII punctuation. Dots and
 * slashes need one too: Discord looks for links and invitations, such as discord.gg/x, in the text as it was sent.
 */
static bool
has_meaning(char c)
{
	return c != '\0' && strchr("\\`*_~|<>#@:[]()+-./", c) != NULL;
}

/*
 * Returns the bytes of the character at `at` if it is shown, else 0. marks: combining marks until now on the character
 * before.
 */
static size_t
shown(const char *at, size_t size, bool first, unsigned *marks)
{
	size_t len = utf8_length(at, size);
	bool mark = term_char_width(utf8_code_point(at, len)) == 0;
	*marks = mark ? *marks + 1 : 0;
	return mark && (first || *marks > MARKS_MAX) ? 0 : len;
}

enum kind { PLAIN, MARKDOWN, SENTENCE };

/* Returns the end of a text in single backticks at `at`; NULL: there is none. */
static char *
enclosed_end(const char *line, char *at)
{
	size_t len = strcspn(at + 1, "`");
	bool alone = (at == line || at[-1] != '`') && len > 0 && at[1 + len] == '`' && at[2 + len] != '`';
	return alone ? at + 1 + len : NULL;
}

/*
 * Replaces backticks around a text that may be a link or an invitation by quotation marks, since these would work in
 * code.
 */
static void
quote_links(char *line)
{
	for (char *at = line, *end; (at = strchr(at, '`')); at++) {
		end = enclosed_end(line, at);
		size_t len = end ? (size_t)(end - at - 1) : 0;
		if (end && (strcspn(at + 1, "@<>#\\") < len || memchr(at + 2, '/', len - 1)))
			*at = *end = '"';
		at = end ? end : at;
	}
}

static char *
clean(const char *text, size_t max, enum kind kind)
{
	AUTO_BUF struct buf out = {0};
	/*
	 * Each shown character has at least one unit, so max + 1 characters are enough; combining marks are not limited by
	 * that.
	 */
	AUTO_FREE char *line = sanitize_line(text, SIZE_MAX);
	if (kind == SENTENCE)
		quote_links(line);
	size_t size = strlen(line), units = 0, fits = 0; /* fits: bytes of out that leave a unit for the "…" */
	unsigned marks = 0;
	const char *code = NULL; /* the end of the code that has begun */
	bool open = false;       /* whether code is open at `fits` */
	for (size_t at = 0; at < size;) {
		size_t len = shown(line + at, size - at, out.len == 0, &marks);
		if (len == 0) {
			at += utf8_length(line + at, size - at);
			continue;
		}
		bool ends = code == line + at;
		if (kind == SENTENCE && !code && line[at] == '`')
			code = enclosed_end(line, line + at);
		bool quoted = kind != PLAIN && !code && has_meaning(line[at]);
		units += (len == 4 ? 2 : 1) + (quoted ? 1 : 0);
		if (units > max) {
			out.len = fits;
			buf_adds(&out, open ? "…`" : "…");
			break;
		}
		if (quoted)
			buf_adds(&out, "\\");
		buf_add(&out, line + at, len);
		if (ends)
			code = NULL;
		if (units + (code ? 1 : 0) < max) {
			fits = out.len;
			open = code != NULL;
		}
		at += len;
	}
	return buf_take(&out);
}

char *
escape_plain(const char *text, size_t max)
{
	return clean(text, max, PLAIN);
}

char *
escape_markdown(const char *text, size_t max)
{
	return clean(text, max, MARKDOWN);
}

char *
escape_sentence(const char *text, size_t max)
{
	return clean(text, max, SENTENCE);
}

char *
escape_quotes(const char *text)
{
	char *quoted = xstrdup(text);
	for (char *at = quoted, *end; (at = strchr(at, '`')); at++)
		if ((end = enclosed_end(quoted, at)))
			*at = *end = '"';
	return quoted;
}

void
escape_code_block(struct buf *out, const char *language, const char *text)
{
	/* Removes invisible characters first: without them, backticks may be neighbours. */
	AUTO_FREE char *lines = sanitize_text(text, SIZE_MAX);
	bool tag = language && strlen(language) <= LANGUAGE_MAX && language[strspn(language, LANGUAGE_CHARACTERS)] == '\0';
	unsigned row = 0;
	buf_printf(out, SPLIT_FENCE "%s\n", tag ? language : "");
	for (const char *at = lines; *at; at++) {
		row = *at == '`' ? row + 1 : 0;
		if (row > FENCE_MAX) {
			buf_adds(out, " ");
			row = 1;
		}
		buf_add(out, at, 1);
	}
	buf_adds(out, *lines ? "\n" SPLIT_FENCE : " \n" SPLIT_FENCE);
}
