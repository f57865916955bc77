/* SPDX-License-Identifier: MIT */
/* The terminal: its size and colours, and text from outside made safe to print. */
#ifndef KETTLE_FRONTENDS_COMMON_TERM_H
#define KETTLE_FRONTENDS_COMMON_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum term_style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_GREEN, STYLE_RED, STYLE_YELLOW };

struct term {
	FILE *out;      /* borrowed */
	unsigned width; /* columns; 0: not a terminal, nothing is cut */
	bool tty;       /* out is a terminal */
	bool ask;       /* the user can be prompted: standard input is a terminal as well */
	bool color;
};

/* Detects what out is. Colours: only on a terminal, without NO_COLOR and not with TERM=dumb. */
void term_init(struct term *term, FILE *out);
/* Switches the style; STYLE_NONE ends it. Writes nothing without colours. */
void term_style(const struct term *term, enum term_style style);
/* Text in a style, written as term_sanitize does. */
void term_put(const struct term *term, enum term_style style, const char *text);

/*
 * The columns that a character takes: 0, 1 or 2; -1: it is never printed (controls, and what is invisible or changes the
 * direction of writing, with which a name could forge the text around it). Does not depend on the locale.
 */
int term_char_width(uint32_t c);
/* Takes one character off UTF-8 text; an invalid byte gives U+FFFD. 0 at the end. */
uint32_t term_next(const char **text);
/* Columns of text as term_sanitize writes it. */
size_t term_width(const char *text);
/*
 * Writes text on one line: newlines, separators of lines and tabs become spaces, controls U+FFFD, what is invisible is
 * dropped (utf8_is_invisible; of an emoji that joiners make of several, these are printed one by one). At most max
 * columns (0: all); a longer text is cut and ends with "…". Returns the columns written.
 */
size_t term_sanitize(FILE *out, const char *text, size_t max);
/* The same as a new string. */
char *term_sanitized(const char *text);
/* A stream into a new string, which is whole after fclose; the string is the caller's. */
FILE *term_memory(char **ret_text, size_t *ret_size);
/* Writes text of several lines, each sanitized and indented, with a newline at the end. At most max_lines (0: all), then a
 * line with the number of the others. */
void term_block(FILE *out, const char *text, unsigned indent, size_t max_lines);
/* As term_block, but the last lines, below a line with the number of the others. */
void term_tail(FILE *out, const char *text, unsigned indent, size_t max_lines);
/* Writes code as it is; on a terminal as term_block does. */
void term_code(const struct term *term, const char *code);

#endif
