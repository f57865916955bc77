/* SPDX-License-Identifier: MIT */
/* Cuts a stream of bytes into lines of bounded length. One thread at a time. */
#ifndef KETTLE_BASE_LINE_H
#define KETTLE_BASE_LINE_H

#include <stdbool.h>

#include "base/buf.h"

/* Zero-initialise and set max. */
struct line_reader {
	struct buf pending;
	size_t scanned;
	bool taken;     /* pending's memory, by line_take */
	size_t max;     /* bytes of the longest line, without its newline */
	bool skipping;  /* what comes is of a line that line_skip dropped, to its newline */
	size_t skipped; /* bytes of that line so far */
};

/* A line without its newline, NUL-terminated; may be changed by the function, but not the reader that it is of. */
typedef int (*line_fn)(void *arg, char *line, size_t len);

/*
 * Adds bytes and calls fn for every line that is complete. fn returning non-zero ends the call with that value; what
 * was added stays, and the next call continues after that line. KETTLE_ETOOBIG: a line over max, with which `pending`
 * begins; nothing more may be added before line_skip.
 */
int line_add(struct line_reader *reader, const void *data, size_t size, line_fn fn, void *arg);
/* At the end of the stream: calls fn for what is left, a last line without a newline included. Returns as line_add. */
int line_end(struct line_reader *reader, line_fn fn, void *arg);
/* After KETTLE_ETOOBIG: drops that line, what is still to come of it too. The next call continues behind it. */
void line_skip(struct line_reader *reader);
/*
 * Called by fn: the memory that its line lies in is the caller's to free, and the line stays valid until then. The reader copies
 * what comes after it.
 */
void *line_take(struct line_reader *reader);
void line_free(struct line_reader *reader);

#endif
