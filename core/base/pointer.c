/* SPDX-License-Identifier: MIT */
/* JSON pointers (RFC 6901): how a node of a value is named between the parser, the checker and people. */
#include <config.h>

#include "base/pointer.h"

#include <stdbool.h>
#include <string.h>

int
pointer_add_key(struct buf *pointer, const char *key)
{
	int rc = buf_adds(pointer, "/");
	while (rc == 0) {
		size_t plain = strcspn(key, "~/");
		rc = buf_add(pointer, key, plain);
		key += plain;
		if (rc || *key == '\0')
			break;
		rc = buf_adds(pointer, *key++ == '~' ? "~0" : "~1");
	}
	return rc;
}

int
pointer_add_index(struct buf *pointer, size_t index)
{
	return buf_printf(pointer, "/%zu", index);
}

/* Appends one part without its escapes. */
static int
add_pointer_part(struct buf *out, const char *part, size_t len)
{
	int rc = 0;
	for (size_t i = 0; i < len && rc == 0; i++) {
		bool escape = part[i] == '~' && i + 1 < len;
		char c = !escape ? part[i] : part[++i] == '1' ? '/' : '~';
		rc = buf_add(out, &c, 1);
	}
	return rc;
}

int
pointer_add_path(struct buf *out, const char *pointer)
{
	int rc = 0;
	for (bool first = true; *pointer == '/' && rc == 0; first = false) {
		size_t len = strcspn(++pointer, "/");
		bool index = len && strspn(pointer, "0123456789") >= len;
		if (!first || index)
			rc = buf_adds(out, index ? "[" : ".");
		if (rc == 0)
			rc = add_pointer_part(out, pointer, len);
		if (rc == 0 && index)
			rc = buf_adds(out, "]");
		pointer += len;
	}
	return rc;
}
