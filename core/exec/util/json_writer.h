/* SPDX-License-Identifier: MIT */
/* Writes events as JSON lines without ever waiting for the reader. */
#ifndef KETTLE_EXEC_UTIL_JSON_WRITER_H
#define KETTLE_EXEC_UTIL_JSON_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "base/text.h"

#define EMIT_MAX_QUEUE (256u << 20) /* bytes that a reader may be behind before it counts as gone */

/* One output; on the loop thread. Files, which cannot be polled, are written directly. */
struct json_writer {
	int fd, flags; /* flags: what the descriptor had before */
	bool polled, broken, open;
	uv_poll_t poll;
	struct buf queue;
	size_t sent; /* of the queue */
	void (*on_broken)(void *arg);
	void (*on_drained)(void *arg); /* all that had to wait was written; may be set after json_writer_open */
	void *arg;
};

void json_writer_open(struct json_writer *writer, uv_loop_t *loop, int fd, void (*on_broken)(void *arg), void *arg);
/* One event; dropped once the output is broken. */
void json_writer_json(struct json_writer *writer, json_t *event_take);
/* Bytes that the reader has not taken yet. */
size_t json_writer_pending(const struct json_writer *writer);
/*
 * A sentence as a JSON string, null for NULL or an empty one. What is not UTF-8 (a path, a message that was cut) is
 * replaced: an event that cannot be made would be the end of the lease. New reference.
 */
json_t *json_writer_text(const char *text);
/* Waits at most timeout_ms for what is still queued. */
void json_writer_flush(struct json_writer *writer, int timeout_ms);
/* The handle is closed by the loop's next turn. */
void json_writer_close(struct json_writer *writer);

#endif
