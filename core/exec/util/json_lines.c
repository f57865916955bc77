/* SPDX-License-Identifier: MIT */
/* Writes events as JSON lines without ever waiting for the reader. */
#include <config.h>

#include "exec/util/json_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void
json_lines_open(struct emitter *emitter, uv_loop_t *loop, int fd, void (*on_broken)(void *arg), void *arg)
{
	*emitter = (struct emitter){.fd = fd, .on_broken = on_broken, .arg = arg, .flags = fcntl(fd, F_GETFL)};
	emitter->polled = uv_poll_init(loop, &emitter->poll, fd) == 0;
	emitter->poll.data = emitter;
	emitter->open = true;
}

static void
broken(struct emitter *emitter)
{
	if (emitter->broken)
		return;
	emitter->broken = true;
	buf_free(&emitter->queue);
	emitter->sent = 0;
	if (emitter->polled)
		(void)uv_poll_stop(&emitter->poll);
	if (emitter->on_broken)
		emitter->on_broken(emitter->arg);
}

/* Writes what can be written now. */
static void
push(struct emitter *emitter)
{
	while (!emitter->broken && emitter->sent < emitter->queue.len) {
		ssize_t n = write(emitter->fd, emitter->queue.data + emitter->sent, emitter->queue.len - emitter->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			broken(emitter);
		else
			emitter->sent += (size_t)n;
	}
	if (emitter->broken)
		return;
	emitter->sent = emitter->queue.len = 0;
	if (emitter->polled)
		(void)uv_poll_stop(&emitter->poll);
}

json_t *
json_lines_text(const char *text)
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
	struct emitter *emitter = poll->data;
	(void)events;
	if (status < 0)
		broken(emitter);
	else
		push(emitter);
	if (!emitter->broken && emitter->queue.len == 0 && emitter->on_drained)
		emitter->on_drained(emitter->arg);
}

size_t
json_lines_pending(const struct emitter *emitter)
{
	return emitter->queue.len - emitter->sent;
}

void
json_lines_json(struct emitter *emitter, json_t *event_take)
{
	AUTO_JSON json_t *event = event_take;
	if (emitter->broken || !emitter->open)
		return;
	AUTO_FREE char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;
	/* Without this event the reader would wait in vain, so the output ends. */
	if (!text || emitter->queue.len - emitter->sent > EMIT_MAX_QUEUE) {
		broken(emitter);
		return;
	}
	bool waits = emitter->polled && emitter->queue.len > 0;
	buf_printf(&emitter->queue, "%s\n", text);
	if (waits) /* on_writable writes it, and says when all is written */
		return;
	push(emitter);
	if (!emitter->broken && emitter->queue.len > 0 && emitter->polled)
		(void)uv_poll_start(&emitter->poll, UV_WRITABLE, on_writable);
}

void
json_lines_flush(struct emitter *emitter, int timeout_ms)
{
	uint64_t end = time_monotonic_ns() + (uint64_t)timeout_ms * 1000000, now;
	while (!emitter->broken && emitter->queue.len > 0 && (now = time_monotonic_ns()) < end) {
		struct pollfd writable = {.fd = emitter->fd, .events = POLLOUT};
		(void)poll(&writable, 1, (int)((end - now) / 1000000) + 1);
		push(emitter);
	}
}

void
json_lines_close(struct emitter *emitter)
{
	if (emitter->open && emitter->polled)
		uv_close((uv_handle_t *)&emitter->poll, NULL);
	/* Processes that share the output expect a blocking descriptor. */
	if (emitter->open && emitter->flags >= 0)
		(void)fcntl(emitter->fd, F_SETFL, emitter->flags);
	emitter->open = false;
	buf_free(&emitter->queue);
}
