/* SPDX-License-Identifier: MIT */
/* Wraps text between words to a terminal's width. */
#include <config.h>

#include "common/wrap.h"

#include <ctype.h>
#include <stdarg.h>

#include "base/base.h"

/* Takes the next character with a width; skips the codes of styles. */
static uint32_t
next_shown(const char **text)
{
	while ((*text)[0] == '\033' && (*text)[1] == '[') {
		*text += strcspn(*text, "m");
		*text += **text == 'm';
	}
	return term_next(text);
}

static size_t
columns_between(const char *text, const char *end)
{
	size_t columns = 0;
	while (text < end) {
		uint32_t c = next_shown(&text);
		int width = c && text <= end ? term_char_width(c) : 0;
		columns += width > 0 ? (size_t)width : 0;
	}
	return columns;
}

/* Returns the end of the word that follows after spaces; a number and its unit are one. */
static const char *
word_end(const char *text)
{
	static const char *const units[] = {"ns", "µs", "ms", "s", "%", "B", "KiB", "MiB", "GiB", "TiB"};
	text += strspn(text, " ");
	const char *end = text + strcspn(text, " \n");
	if (end == text || !isdigit((unsigned char)end[-1]) || *end != ' ')
		return end;
	size_t len = strcspn(end + 1, " \n,;:.)");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (len == strlen(units[i]) && memcmp(end + 1, units[i], len) == 0)
			return end + 1 + strcspn(end + 1, " \n");
	return end;
}

const char *
wrap_end(const char *text, size_t width)
{
	const char *at = word_end(text);
	size_t columns = columns_between(text, at);
	while (*at && *at != '\n') {
		const char *next = word_end(at);
		columns += columns_between(at, next);
		if (columns > width)
			return at;
		at = next;
	}
	return at;
}

/* Returns the column in which a wrapped line continues. */
static size_t
hanging(const char *line, const char *end, size_t width)
{
	size_t column = 0, spaces = 2, hang = 0;
	while (line < end && column <= width / 2) {
		const char *word = line;
		uint32_t c = next_shown(&line);
		if (!c || c == ' ') {
			spaces += c == ' ';
			column += c == ' ';
			continue;
		}
		hang = spaces >= 2 ? column : hang;
		line = word_end(word);
		size_t columns = columns_between(word, line);
		/* a mark before a text */
		bool mark = spaces >= 2 && columns == 1 && !(c < 0x80 && isalnum((int)c));
		column += columns;
		spaces = mark ? 1 : 0;
		if (mark && *line == ' ')
			hang = column + 1;
	}
	return hang;
}

static void
put_line(FILE *out, const char *line, const char *end, size_t width)
{
	size_t hang = hanging(line, end, width);
	for (size_t indent = 0; line < end; indent = hang) {
		const char *stop = wrap_end(line, width - indent);
		stop = stop > end ? end : stop;
		fprintf(out, "%*s%.*s", (int)indent, "", (int)(stop - line), line);
		line = stop + strspn(stop, " ");
		if (line < end)
			fputc('\n', out);
	}
}

void
wrap_put(FILE *out, const char *text, size_t width)
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		if (columns_between(text, end) <= width)
			fwrite(text, 1, (size_t)(end - text), out);
		else
			put_line(out, text, end, width);
		if (*end)
			fputc('\n', out);
		text = end + (*end != '\0');
	}
}

void
wrap_part_begin(struct wrap_part *part, struct term *term)
{
	*part = (struct wrap_part){.term = term->width > 0 ? term : NULL, .out = term->out};
	if (part->term)
		term->out = term_memory(&part->text, &part->size);
}

void
wrap_part_end(struct wrap_part *part, bool as_is)
{
	if (!part->term)
		return;
	fclose(part->term->out);
	part->term->out = part->out;
	if (as_is)
		fputs(part->text, part->out);
	else
		wrap_put(part->out, part->text, part->term->width);
	free(part->text);
}

void
wrap_message(const char *format, ...)
{
	struct term term;
	struct wrap_part part;
	va_list args;
	term_init(&term, stderr);
	wrap_part_begin(&part, &term);
	va_start(args, format);
	vfprintf(term.out, format, args);
	va_end(args);
	wrap_part_end(&part, false);
}
