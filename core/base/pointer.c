/* SPDX-License-Identifier: MIT */
/* JSON pointers (RFC 6901): how a node of a value is named between the parser, the checker and people. */
#include <config.h>

#include "base/pointer.h"

#include "base/base.h"

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

/* The member or element of that name. Borrowed. */
static json_t *
pointer_step(const json_t *node, const char *part)
{
	return json_is_array(node) ? json_array_get(node, (size_t)strtoul(part, NULL, 10)) : json_object_get(node, part);
}

static void
replace_member(json_t *node, const char *part, json_t *value)
{
	size_t index = (size_t)strtoul(part, NULL, 10);
	if (!pointer_step(node, part))
		return;
	if (json_is_array(node))
		(void)(value ? json_array_set(node, index, value) : json_array_remove(node, index));
	else
		(void)(value ? json_object_set(node, part, value) : json_object_del(node, part));
}

void
pointer_replace(json_t *document, const char *pointer, json_t *value_take)
{
	AUTO_JSON json_t *value = value_take;
	json_t *node = document;
	if (*pointer == '\0')
		(void)json_object_clear(document);
	while (*pointer == '/' && node) {
		AUTO_BUF struct buf part = {0};
		size_t len = strcspn(++pointer, "/");
		buf_adds(&part, "");
		add_pointer_part(&part, pointer, len);
		pointer += len;
		if (*pointer == '\0')
			replace_member(node, part.data, value);
		node = pointer_step(node, part.data);
	}
}
