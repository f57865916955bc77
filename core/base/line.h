/* SPDX-License-Identifier: MIT */
/* Cuts a stream of bytes into lines of bounded length. */
#ifndef KETTLE_LINE_H
#define KETTLE_LINE_H

#include "text.h"

/* Zero-initialise and set max. */
struct line_reader {
	struct buf pending;
	size_t scanned;
	size_t max; /* bytes of the longest line */
};

/*
 * Adds bytes and calls fn for every line that is complete (without its newline, NUL-terminated, may be changed by fn).
 * fn returning non-zero ends the call with that value. KETTLE_ETOOBIG: a line over max; nothing more may be added.
 */
int line_add(
	struct line_reader *reader, const void *data, size_t size, int (*fn)(void *arg, char *line, size_t len), void *arg);
void line_free(struct line_reader *reader);

#endif
