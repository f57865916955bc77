/* SPDX-License-Identifier: MIT */
/* Reads an event stream (text/event-stream) that arrives in parts. Pure. */
#pragma once

#include "base/buf.h"
#include "base/line.h"

#include <kettle/error.h>

#define EVENT_READER_MAX (64u << 20) /* bytes of one line */

/* One event: its name, and its data, of which several lines are joined by newlines. Borrowed for the call. */
typedef void (*event_reader_fn)(void *arg, const char *name, const char *data, size_t size);

/* Zero-initialise it, and set fn and arg; event_reader_free at the end. */
struct event_reader {
	event_reader_fn fn;
	void *arg;
	struct line_reader lines;
	struct buf name, data;
};

/* Takes a part and calls fn for each event that it completes. ETOOBIG: a line, or the data of an event, is too large. */
int event_reader_add(struct event_reader *reader, const char *part, size_t size, struct kettle_error *err);
void event_reader_free(struct event_reader *reader);
