/* SPDX-License-Identifier: MIT */
/* The terminal: its size and colours, and text from outside made safe to print. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum term_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_GREEN, STYLE_RED, STYLE_YELLOW };

struct term {
	FILE *out;      /* borrowed */
	unsigned width; /* columns; 0: no terminal, cut nothing */
	bool tty;       /* out is a terminal */
	bool ask;       /* the user can be prompted: standard input is a terminal as well */
	bool color;
};

/* Detects the properties of out. Colours only on a terminal, without NO_COLOR and not with TERM=dumb. */
void term_init(struct term *term, FILE *out);
/* Switches the style; STYLE_NONE ends it. Writes nothing without colours. */
void term_style(const struct term *term, enum term_style style);
/* Writes text in a style, sanitized like term_sanitize. */
void term_put(const struct term *term, enum term_style style, const char *text);

/*
 * The columns of a character: 0, 1 or 2; -1: never printed (controls, and characters that are invisible or change the
 * direction of writing, since a name could forge the text around it with them). Does not depend on the locale.
 */
int term_char_width(uint32_t c);
/* Takes one character from UTF-8 text; U+FFFD for an invalid byte. 0 at the end. */
uint32_t term_next(const char **text);
/* The columns of text that term_sanitize writes. */
size_t term_width(const char *text);
/*
 * Writes text on one line: newlines, separators of lines and tabs become spaces, controls U+FFFD; drops invisible
 * characters (utf8_is_invisible), so an emoji that joins several is printed as its parts. Writes at most max columns
 * (0: all) and ends a cut text with "…". Returns the columns written.
 */
size_t term_sanitize(FILE *out, const char *text, size_t max);
/* term_sanitize into a new string. */
char *term_sanitized(const char *text);
/* Opens a stream into a new string, which is complete after fclose and belongs to the caller. */
FILE *term_memory(char **ret_text, size_t *ret_size);
/*
 * Writes text of several lines, each sanitized and indented, with a newline at the end. At most max_lines (0: all),
 * then a line with the number of the others.
 */
void term_block(FILE *out, const char *text, unsigned indent, size_t max_lines);
/* Like term_block, but the last lines, below a line with the number of the others. */
void term_tail(FILE *out, const char *text, unsigned indent, size_t max_lines);
/* Writes code unchanged; on a terminal like term_block. */
void term_code(const struct term *term, const char *code);
