/* SPDX-License-Identifier: MIT */
/* Writes events as JSON lines without waiting for the reader. */
#include <config.h>

#include "exec/util/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void
json_writer_open(struct json_writer *writer, uv_loop_t *loop, int fd, void (*on_broken)(void *arg), void *arg)
{
	*writer = (struct json_writer){.fd = fd, .on_broken = on_broken, .arg = arg, .flags = fcntl(fd, F_GETFL)};
	writer->polled = uv_poll_init(loop, &writer->poll, fd) == 0;
	writer->poll.data = writer;
	writer->open = true;
}

static void
broken(struct json_writer *writer)
{
	if (writer->broken)
		return;
	writer->broken = true;
	buf_free(&writer->queue);
	writer->sent = 0;
	if (writer->polled)
		(void)uv_poll_stop(&writer->poll);
	if (writer->on_broken)
		writer->on_broken(writer->arg);
}

/* Writes as much as possible now. */
static void
push(struct json_writer *writer)
{
	while (!writer->broken && writer->sent < writer->queue.len) {
		ssize_t n = write(writer->fd, writer->queue.data + writer->sent, writer->queue.len - writer->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			broken(writer);
		else
			writer->sent += (size_t)n;
	}
	if (writer->broken)
		return;
	writer->sent = writer->queue.len = 0;
	if (writer->polled)
		(void)uv_poll_stop(&writer->poll);
}

json_t *
json_writer_text(const char *text)
{
	if (!text || !text[0])
		return json_null();
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(text, strlen(text), &clean);
	return json_string(clean.len ? clean.data : "");
}

static void
on_writable(uv_poll_t *poll, int status, int events)
{
	struct json_writer *writer = poll->data;
	(void)events;
	if (status < 0)
		broken(writer);
	else
		push(writer);
	if (!writer->broken && writer->queue.len == 0 && writer->on_drained)
		writer->on_drained(writer->arg);
}

size_t
json_writer_pending(const struct json_writer *writer)
{
	return writer->queue.len - writer->sent;
}

void
json_writer_json(struct json_writer *writer, json_t *event_take)
{
	AUTO_JSON json_t *event = event_take;
	if (writer->broken || !writer->open)
		return;
	AUTO_FREE char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;
	/* Without this event the reader would wait for ever, so the output ends. */
	if (!text || writer->queue.len - writer->sent > EMIT_MAX_QUEUE) {
		broken(writer);
		return;
	}
	bool waits = writer->polled && writer->queue.len > 0;
	buf_printf(&writer->queue, "%s\n", text);
	if (waits) /* on_writable writes it, and reports when everything is written */
		return;
	push(writer);
	if (!writer->broken && writer->queue.len > 0 && writer->polled)
		(void)uv_poll_start(&writer->poll, UV_WRITABLE, on_writable);
}

void
json_writer_flush(struct json_writer *writer, int timeout_ms)
{
	uint64_t end = time_monotonic_ns() + (uint64_t)timeout_ms * 1000000, now;
	while (!writer->broken && writer->queue.len > 0 && (now = time_monotonic_ns()) < end) {
		struct pollfd writable = {.fd = writer->fd, .events = POLLOUT};
		(void)poll(&writable, 1, (int)((end - now) / 1000000) + 1);
		push(writer);
	}
}

void
json_writer_close(struct json_writer *writer)
{
	if (writer->open && writer->polled)
		uv_close((uv_handle_t *)&writer->poll, NULL);
	/* Processes that share the output expect a blocking descriptor. */
	if (writer->open && writer->flags >= 0)
		(void)fcntl(writer->fd, F_SETFL, writer->flags);
	writer->open = false;
	buf_free(&writer->queue);
}
