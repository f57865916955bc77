/* SPDX-License-Identifier: MIT */
/* Wraps text between words to a terminal's width. */
#pragma once

#include "common/term.h"

/* Returns the end of a line of this width, in columns: after a word, and at least after the first one. */
const char *wrap_end(const char *text, size_t width);
/*
 * Writes text whose lines may have styles. A line that is too wide continues where its last cell begins, if that is in
 * its left half, else where its first word begins, after a mark such as "✗".
 */
void wrap_put(FILE *out, const char *text, size_t width);

/* A part of the output that is wrapped: text for the terminal is kept between begin and end. */
struct wrap_part {
	struct term *term; /* NULL: no wrapping */
	FILE *out;         /* the terminal's */
	char *text;
	size_t size;
};
/* Begins a part; without a terminal nothing is kept. part must not move until wrap_part_end. */
void wrap_part_begin(struct wrap_part *part, struct term *term);
/* Writes the part; as_is: without wrapping, for code. */
void wrap_part_end(struct wrap_part *part, bool as_is);
/* Prints a message to standard error, wrapped if that is a terminal. */
void wrap_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
