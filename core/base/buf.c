/* SPDX-License-Identifier: MIT */
/* Growing bytes. */
#include <config.h>

#include "base/buf.h"

#include <stdarg.h>

#include "base/base.h"

#define SMALLEST 64

/* Room for size more bytes and the NUL. */
static void
reserve(struct buf *buf, size_t size)
{
	if (size >= SIZE_MAX / 2 - buf->len)
		xalloc_fail();
	size_t need = buf->len + size + 1;
	if (need <= buf->cap)
		return;
	size_t cap = buf->cap < SMALLEST ? SMALLEST : buf->cap;
	while (cap < need)
		cap *= 2;
	buf->data = xreallocarray(buf->data, cap, 1);
	buf->cap = cap;
}

void
buf_add(struct buf *buf, const void *data, size_t size)
{
	reserve(buf, size);
	if (size)
		memcpy(buf->data + buf->len, data, size);
	buf->len += size;
	buf->data[buf->len] = '\0';
}

void
buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void
buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		xalloc_fail();
	reserve(buf, (size_t)len);
	va_start(args, format);
	(void)vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

char *
buf_take(struct buf *buf)
{
	char *data = buf->data ? buf->data : xstrdup("");
	*buf = (struct buf){0};
	return data;
}

void
buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}
