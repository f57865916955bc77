/* SPDX-License-Identifier: MIT */
/* Keeps the first and the last bytes of a program's output, and counts the rest. */
#include <config.h>

#include "exec/util/capture.h"

#include "base/base.h"

static size_t
tail_size(const struct capture *capture)
{
	return capture->limit - capture->limit / 2;
}

static void
ring_add(struct capture *capture, const char *data, size_t size)
{
	size_t ring = tail_size(capture);
	if (size > ring) {
		capture->tail_bytes += size - ring;
		data += size - ring;
		size = ring;
	}
	while (size > 0) {
		size_t at = (size_t)(capture->tail_bytes % ring);
		size_t part = size < ring - at ? size : ring - at;
		memcpy(capture->tail + at, data, part);
		capture->tail_bytes += part;
		data += part;
		size -= part;
	}
}

void
capture_add(struct capture *capture, const void *data, size_t size)
{
	capture->bytes += size;
	size_t head = capture->limit / 2, part = head - capture->head.len;
	if (part > size)
		part = size;
	if (part > 0)
		buf_add(&capture->head, data, part);
	if (part == size)
		return;
	if (!capture->tail)
		capture->tail = xmalloc(tail_size(capture));
	ring_add(capture, (const char *)data + part, size - part);
}

/* Adds the ring's contents to out, in order. */
static void
ring_unroll(const struct capture *capture, struct buf *out)
{
	size_t ring = tail_size(capture);
	size_t at = (size_t)(capture->tail_bytes > ring ? capture->tail_bytes % ring : capture->tail_bytes);
	if (capture->tail_bytes > ring)
		buf_add(out, capture->tail + at, ring - at);
	buf_add(out, capture->tail, at);
}

/* The number of bytes at the end that begin a UTF-8 sequence which the cut broke. They must not count as replaced. */
static size_t
broken_end(const char *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		unsigned char c = (unsigned char)data[size - back];
		if (c >= 0xC0)
			return back < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) ? back : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* The same for the bytes after the cut. */
static size_t
broken_start(const char *data, size_t size)
{
	size_t n = 0;
	while (n < 3 && n < size && ((unsigned char)data[n] & 0xC0) == 0x80)
		n++;
	return n;
}

json_t *
capture_json(const struct capture *capture)
{
	AUTO_BUF struct buf tail = {0};
	AUTO_BUF struct buf text = {0};
	uint64_t ring = tail_size(capture);
	uint64_t cut = capture->tail_bytes > ring ? capture->tail_bytes - ring : 0;
	size_t replaced, head = capture->head.len, start = 0;
	/* Without a cut the halves are one text, and the seam may be within a character. */
	if (cut == 0)
		buf_add(&tail, capture->head.data, head);
	if (capture->tail)
		ring_unroll(capture, &tail);
	if (cut > 0) {
		replaced = utf8_sanitize(capture->head.data, head - broken_end(capture->head.data, head), &text);
		buf_printf(&text, "\n[... %llu bytes cut ...]\n", (unsigned long long)cut);
		start = broken_start(tail.data, tail.len);
		replaced += utf8_sanitize(tail.data + start, tail.len - start, &text);
	} else {
		replaced = utf8_sanitize(tail.data, tail.len, &text);
	}
	return json_pack("{s:s%, s:I, s:I, s:I}", "text", text.len ? text.data : "", text.len, "bytes",
		(json_int_t)capture->bytes, "cut", (json_int_t)cut, "replaced", (json_int_t)replaced);
}

void
capture_free(struct capture *capture)
{
	buf_free(&capture->head);
	free(capture->tail);
	*capture = (struct capture){.limit = capture->limit};
}
