/* SPDX-License-Identifier: MIT */
/* Text broken between words into lines of a terminal's width. */
#ifndef KETTLE_FRONTENDS_COMMON_WRAP_H
#define KETTLE_FRONTENDS_COMMON_WRAP_H

#include "common/term.h"

/* The end of what a line of so many columns takes of text: behind a word, of which it takes at least one. */
const char *wrap_end(const char *text, size_t width);
/* Columns of the widest word. */
size_t wrap_widest(const char *text);
/*
 * Writes text whose lines may have styles. A line that is wider goes on below itself: where its last cell begins, if that is
 * in its left half, else where its first word does, behind a mark such as "✗".
 */
void wrap_put(FILE *out, const char *text, size_t width);

/* A part of the output that is wrapped: between begin and end what goes to the terminal is kept. */
struct wrap_part {
	struct term *term; /* NULL: its lines are as long as they are */
	FILE *out;         /* of the terminal itself */
	char *text;
	size_t size;
};
/* Begins a part; of what is no terminal nothing is kept. part stays where it is until wrap_part_end. */
void wrap_part_begin(struct wrap_part *part, struct term *term);
/* Writes the part; as_is: without wrapping, such as code. */
void wrap_part_end(struct wrap_part *part, bool as_is);
/* Prints a message to standard error, wrapped where that is a terminal. */
void wrap_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
