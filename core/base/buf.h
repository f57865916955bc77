/* SPDX-License-Identifier: MIT */
/* Growing bytes. All [any]. */
#pragma once

#include <kettle/error.h>
#include <stddef.h>

/* Always NUL-terminated once something was added. Zero-initialise; buf_free at the end. */
struct buf {
	char *data;
	size_t len, cap;
};

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_adds(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Hands the bytes on and empties the buffer: the caller frees; "" when empty. */
char *buf_take(struct buf *buf);
/* Frees the bytes and empties the buffer. */
void buf_free(struct buf *buf);

#define AUTO_BUF __attribute__((cleanup(buf_free)))
