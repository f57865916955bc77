/* SPDX-License-Identifier: MIT */
/* JSON pointers (RFC 6901): how a node of a value is named between the parser, the checker and people. */
#include <config.h>

#include "base/pointer.h"

#include <stdbool.h>
#include <string.h>

void
pointer_add_key(struct buf *pointer, const char *key)
{
	buf_adds(pointer, "/");
	for (size_t plain; *key; key += plain) {
		plain = strcspn(key, "~/");
		buf_add(pointer, key, plain);
		if (key[plain])
			buf_adds(pointer, key[plain++] == '~' ? "~0" : "~1");
	}
}

void
pointer_add_index(struct buf *pointer, size_t index)
{
	buf_printf(pointer, "/%zu", index);
}

/* Appends one part without its escapes. */
static void
add_pointer_part(struct buf *out, const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool escape = part[i] == '~' && i + 1 < len;
		char c = !escape ? part[i] : part[++i] == '1' ? '/' : '~';
		buf_add(out, &c, 1);
	}
}

void
pointer_add_path(struct buf *out, const char *pointer)
{
	for (bool first = true; *pointer == '/'; first = false) {
		size_t len = strcspn(++pointer, "/");
		bool index = len && strspn(pointer, "0123456789") >= len;
		if (!first || index)
			buf_adds(out, index ? "[" : ".");
		add_pointer_part(out, pointer, len);
		if (index)
			buf_adds(out, "]");
		pointer += len;
	}
}
