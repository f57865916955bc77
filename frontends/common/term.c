/* SPDX-License-Identifier: MIT */
/* The terminal: its size and colours, and text from outside made safe to print. */
#include <config.h>

#include "common/term.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/utf8.h"

#define TERM_DEFAULT_WIDTH 80
#define TERM_MIN_WIDTH 20
#define TERM_TAB 8
#define REPLACEMENT 0xfffd
#define LINE_SEPARATOR 0x2028
#define PARAGRAPH_SEPARATOR 0x2029

struct range {
	uint32_t first, last;
};

/* Combining marks of the scripts in use; sorted. */
static const struct range zero_width[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x5bf, 0x5bf},
	{0x5c1, 0x5c2}, {0x5c4, 0x5c5}, {0x5c7, 0x5c7}, {0x610, 0x61a}, {0x64b, 0x65f}, {0x670, 0x670}, {0x6d6, 0x6dc},
	{0x6df, 0x6e4}, {0x6e7, 0x6e8}, {0x6ea, 0x6ed}, {0x711, 0x711}, {0x730, 0x74a}, {0x7a6, 0x7b0}, {0x7eb, 0x7f3},
	{0x900, 0x902}, {0x93a, 0x93a}, {0x93c, 0x93c}, {0x941, 0x948}, {0x94d, 0x94d}, {0x951, 0x957}, {0x962, 0x963},
	{0xe31, 0xe31}, {0xe34, 0xe3a}, {0xe47, 0xe4e}, {0x1161, 0x11ff}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
	{0x20d0, 0x20f0}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe20, 0xfe2f}};

/* East Asian wide and full-width characters, and the emoji that terminals draw over two columns; sorted. */
static const struct range wide[] = {{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec},
	{0x23f0, 0x23f0}, {0x23f3, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f},
	{0x2693, 0x2693}, {0x26a1, 0x26a1}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce},
	{0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd},
	{0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755},
	{0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50},
	{0x2b55, 0x2b55}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
	{0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
	{0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
	{0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff},
	{0x20000, 0x3fffd}};

static bool
in_ranges(uint32_t c, const struct range *ranges, size_t count)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c > ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && c >= ranges[low].first;
}

int
term_char_width(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return -1;
	if (c < 0x7f)
		return 1;
	if (utf8_is_invisible(c))
		return -1;
	if (in_ranges(c, zero_width, ARRAY_SIZE(zero_width)))
		return 0;
	return in_ranges(c, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

uint32_t
term_next(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	if (!*p)
		return 0;
	size_t len = utf8_length(*text, strnlen(*text, 4));
	*text += len ? len : 1;
	if (len == 0)
		return REPLACEMENT;
	return utf8_code_point((const char *)p, len);
}

static void
put_char(FILE *out, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	fputc((int)(c >> 6 * more | (more ? 0xff00u >> (more + 1) & 0xff : 0)), out);
	while (more-- > 0)
		fputc((int)(0x80 | (c >> 6 * more & 0x3f)), out);
}

/*
 * Takes the next character as it is printed: a space for whitespace, U+FFFD for a control; skips invisible characters.
 */
static uint32_t
next_clean(const char **text)
{
	for (;;) {
		uint32_t c = term_next(text);
		if (c == 0)
			return 0;
		if (c == '\n' || c == '\t' || c == '\r' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR)
			return ' ';
		if (term_char_width(c) >= 0)
			return c;
		if (c < 0xa0)
			return REPLACEMENT;
	}
}

size_t
term_width(const char *text)
{
	size_t width = 0;
	for (uint32_t c; (c = next_clean(&text));)
		width += (size_t)term_char_width(c);
	return width;
}

size_t
term_sanitize(FILE *out, const char *text, size_t max)
{
	/* A cut text keeps one column for the "…". */
	size_t room = max == 0 || term_width(text) <= max ? SIZE_MAX : max - 1, width = 0;
	for (uint32_t c; (c = next_clean(&text));) {
		size_t w = (size_t)term_char_width(c);
		if (width + w > room) {
			fputs("…", out);
			return width + 1;
		}
		put_char(out, c);
		width += w;
	}
	return width;
}

FILE *
term_memory(char **ret_text, size_t *ret_size)
{
	FILE *out = open_memstream(ret_text, ret_size);
	if (!out)
		xalloc_fail();
	return out;
}

char *
term_sanitized(const char *text)
{
	char *data = NULL;
	size_t size = 0;
	FILE *out = term_memory(&data, &size);
	term_sanitize(out, text, 0);
	fclose(out);
	return data;
}

static void
put_line(FILE *out, const char *text, const char *end, unsigned indent)
{
	if (text < end)
		fprintf(out, "%*s", (int)indent, "");
	for (size_t column = 0; text < end;) {
		if (*text == '\t') {
			size_t next = (column / TERM_TAB + 1) * TERM_TAB;
			fprintf(out, "%*s", (int)(next - column), "");
			column = next;
			text++;
			continue;
		}
		uint32_t c = next_clean(&text);
		if (c) {
			put_char(out, c);
			column += (size_t)term_char_width(c);
		}
	}
	fputc('\n', out);
}

void
term_block(FILE *out, const char *text, unsigned indent, size_t max_lines)
{
	size_t lines = 0, more = 0;
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		if (max_lines == 0 || lines++ < max_lines)
			put_line(out, text, end, indent);
		else
			more++;
		text = end + (*end != '\0');
	}
	if (more > 0)
		fprintf(out, "%*s(%zu more line%s)\n", (int)indent, "", more, more == 1 ? "" : "s");
}

void
term_tail(FILE *out, const char *text, unsigned indent, size_t max_lines)
{
	size_t lines = 0, before = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n' || !at[1];
	for (; lines > max_lines; lines--, before++)
		text += strcspn(text, "\n") + 1;
	if (before > 0)
		fprintf(out, "%*s(%zu line%s before)\n", (int)indent, "", before, before == 1 ? "" : "s");
	term_block(out, text, indent, 0);
}

void
term_code(const struct term *term, const char *code)
{
	if (term->tty)
		term_block(term->out, code, 0, 0);
	else
		fputs(code, term->out);
}

void
term_init(struct term *term, FILE *out)
{
	const char *name = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size = {0};
	int fd = fileno(out);
	bool dumb = name && strcmp(name, "dumb") == 0;
	*term = (struct term){.out = out, .tty = fd >= 0 && isatty(fd) && !dumb};
	if (!term->tty)
		return;
	term->ask = isatty(STDIN_FILENO);
	term->color = !(no_color && *no_color);
	term->width = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : TERM_DEFAULT_WIDTH;
	if (term->width < TERM_MIN_WIDTH)
		term->width = TERM_MIN_WIDTH;
}

void
term_style(const struct term *term, enum term_style style)
{
	static const unsigned codes[] = {
		[STYLE_BOLD] = 1, [STYLE_DIM] = 2, [STYLE_RED] = 31, [STYLE_GREEN] = 32, [STYLE_YELLOW] = 33};
	if (term->color)
		fprintf(term->out, "\033[%um", codes[style]);
}

void
term_put(const struct term *term, enum term_style style, const char *text)
{
	if (style != STYLE_NONE)
		term_style(term, style);
	term_sanitize(term->out, text, 0);
	if (style != STYLE_NONE)
		term_style(term, STYLE_NONE);
}
