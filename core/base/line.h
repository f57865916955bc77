/* SPDX-License-Identifier: MIT */
/* Cuts a stream of bytes into lines of bounded length. One thread at a time. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Zero-initialise and set max. */
struct line_reader {
	struct buf pending;
	size_t scanned;
	bool taken;     /* pending's memory, by line_take */
	size_t max;     /* bytes of the longest line, without its newline */
	bool skipping;  /* the next bytes, up to a newline, are of a line that line_skip dropped */
	size_t skipped; /* bytes of that line so far */
};

/* A line without its newline, NUL-terminated. The function may change the line, but not its reader. */
typedef int (*line_fn)(void *arg, char *line, size_t len);

/*
 * Adds bytes and calls fn for every line that is complete. A non-zero return of fn ends the call with that value; the
 * bytes stay, and the next call continues after that line. KETTLE_ETOOBIG: a line over max, with which `pending`
 * begins; nothing more may be added before line_skip.
 */
int line_add(struct line_reader *reader, const void *data, size_t size, line_fn fn, void *arg);
/* At the end of the stream: calls fn for the lines that are left, also one without a newline. Returns as line_add. */
int line_end(struct line_reader *reader, line_fn fn, void *arg);
/* After KETTLE_ETOOBIG: drops that line, including the part still to come. The next call continues after it. */
void line_skip(struct line_reader *reader);
/*
 * Takes the memory that holds the line, from inside fn: the caller frees it, and the line stays valid until then. The
 * reader copies the bytes after the line.
 */
void *line_take(struct line_reader *reader);
void line_free(struct line_reader *reader);
