/* SPDX-License-Identifier: MIT */
/* Cuts a stream of bytes into lines of bounded length. */
#include <config.h>

#include "base/line.h"

#include <string.h>

#define KEEP_MAX (1u << 20) /* bytes that a reader without a pending line may keep allocated */

static void
consume(struct line_reader *reader, size_t count)
{
	if (count == 0)
		return;
	reader->pending.len -= count;
	memmove(reader->pending.data, reader->pending.data + count, reader->pending.len);
	reader->pending.data[reader->pending.len] = '\0';
	reader->scanned = 0;
	if (reader->pending.len == 0 && reader->pending.cap > KEEP_MAX)
		buf_free(&reader->pending);
}

static void
drop(struct line_reader *reader)
{
	const struct buf *pending = &reader->pending;
	const char *newline = memchr(pending->data, '\n', pending->len);
	size_t count = newline ? (size_t)(newline - pending->data) + 1 : pending->len;
	reader->skipping = !newline;
	reader->skipped += count;
	consume(reader, count);
}

void
line_skip(struct line_reader *reader)
{
	reader->skipped = 0;
	drop(reader);
}

int
line_add(struct line_reader *reader, const void *data, size_t size, line_fn fn, void *arg)
{
	struct buf *pending = &reader->pending;
	buf_add(pending, data, size);
	if (reader->skipping)
		drop(reader);
	int rc = 0;
	size_t start = 0;
	while (rc == 0) {
		size_t from = reader->scanned > start ? reader->scanned : start;
		char *newline = memchr(pending->data + from, '\n', pending->len - from);
		size_t len = (newline ? (size_t)(newline - pending->data) : pending->len) - start;
		if (len > reader->max)
			rc = KETTLE_ETOOBIG;
		if (rc || !newline)
			break;
		*newline = '\0';
		char *line = pending->data + start;
		start += len + 1;
		rc = fn(arg, line, len);
		if (reader->taken) {
			/* Leaves the memory to fn, which has taken it, and moves the rest to memory of the reader's own. */
			struct buf rest = {0};
			buf_add(&rest, reader->pending.data + start, reader->pending.len - start);
			reader->pending = rest;
			reader->scanned = 0;
			reader->taken = false;
			start = 0;
		}
	}
	consume(reader, start);
	reader->scanned = rc == 0 ? pending->len : 0;
	return rc;
}

int
line_end(struct line_reader *reader, line_fn fn, void *arg)
{
	/* Complete lines may be left if fn ended the last call. */
	int rc = line_add(reader, NULL, 0, fn, arg);
	return rc == 0 && reader->pending.len > 0 ? line_add(reader, "\n", 1, fn, arg) : rc;
}

void *
line_take(struct line_reader *reader)
{
	reader->taken = true;
	return reader->pending.data;
}

void
line_free(struct line_reader *reader)
{
	buf_free(&reader->pending);
	reader->scanned = 0;
}
