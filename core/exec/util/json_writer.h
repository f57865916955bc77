/* SPDX-License-Identifier: MIT */
/* Writes events as JSON lines without waiting for the reader. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "base/text.h"

#define EMIT_MAX_QUEUE (256u << 20) /* unread bytes from which the reader counts as gone */

/* One output, on the loop thread. Files cannot be polled and are written directly. */
struct json_writer {
	int fd, flags; /* flags: those that the descriptor had before */
	bool polled, broken, open;
	uv_poll_t poll;
	struct buf queue;
	size_t sent; /* of the queue */
	void (*on_broken)(void *arg);
	void (*on_drained)(void *arg); /* queued events were written; may be set after json_writer_open */
	void *arg;
};

void json_writer_open(struct json_writer *writer, uv_loop_t *loop, int fd, void (*on_broken)(void *arg), void *arg);
/* Writes an event, or drops it if the output is broken. */
void json_writer_json(struct json_writer *writer, json_t *event_take);
/* The bytes that the reader has not taken yet. */
size_t json_writer_pending(const struct json_writer *writer);
/*
 * A sentence as a JSON string; null for NULL or "". Replaces bytes that are not UTF-8 (in a path, or a message that was
 * cut), since an event that cannot be made would end the lease. New reference.
 */
json_t *json_writer_text(const char *text);
/* Waits at most timeout_ms until the queue is written. */
void json_writer_flush(struct json_writer *writer, int timeout_ms);
/* The loop's next turn closes the handle. */
void json_writer_close(struct json_writer *writer);
