/* SPDX-License-Identifier: MIT */
/* UTF-8: checking bytes, and making valid text of them. All [any]. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins at data (1 to 4), or 0: not UTF-8, or cut off by the end. NUL counts as one. */
size_t utf8_length(const char *data, size_t size);
/* Whether it is UTF-8 without NUL (what JSON strings can hold). */
bool utf8_valid(const char *data, size_t size);
/* The code point of a valid character of len bytes. */
uint32_t utf8_code_point(const char *data, size_t len);
/*
 * Whether a character is invisible, or changes how its neighbours are shown: those that Unicode calls default ignorable
 * (joiners, soft hyphen, variation selectors, fillers, tags) or controls of direction, separators of lines and
 * paragraphs, and interlinear annotations. Two names that differ only in them look the same.
 */
bool utf8_is_invisible(uint32_t code_point);
/* Whether a valid character of len bytes may be shown: it is no control but \t and \n, and not invisible. */
bool utf8_is_shown(const char *at, size_t len);
/* The first invisible character of a text; 0: it has none. Bytes that are not UTF-8 are skipped. */
uint32_t utf8_find_invisible(const char *text, size_t size);
/*
 * Makes bytes into UTF-8 that JSON, SQLite and terminals can hold: every byte that is not UTF-8, and every control
 * character (C1 too) but \t and \n, becomes U+FFFD, so that no escape sequence reaches a terminal; \r\n becomes \n.
 * Appends to out; returns how many were replaced.
 */
size_t utf8_sanitize(const char *data, size_t size, struct buf *out);
/* The length to which a text of this size is cut, between characters, so that it has at most max bytes. */
size_t utf8_cut(const char *text, size_t size, size_t max);
/* Copies a text into an array of size bytes, cut between characters; each byte that is not UTF-8 becomes "?". */
void utf8_copy(char *to, size_t size, const char *text);

/* ---- text from outside that others see: names, reasons, descriptions. All [any]. ---- */

/*
 * One line of at most max_characters: valid UTF-8, no control characters, nothing invisible and nothing that changes
 * the direction of writing (utf8_is_invisible), blanks joined to single spaces and taken from the ends. Joiners of
 * emoji are invisible too: a sequence becomes its parts. New string, possibly empty.
 */
char *sanitize_line(const char *text, size_t max_characters);
/* The same for a text of several lines, which keep their ends and their indentation. */
char *sanitize_text(const char *text, size_t max_characters);
