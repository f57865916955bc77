/* SPDX-License-Identifier: MIT */
/*
 * Forms, queries, paths and forwarded addresses of any client: the first line is the type of the rest. Each part lies in
 * the body, and names have no line end.
 */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "http/address.h"
#include "http/form.h"
#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(const char *text)
{
	if (!utf8_valid(text, strlen(text)) || strpbrk(text, "\r\n"))
		abort();
}

static void
check_form(const char *type, const char *body, size_t size)
{
	struct form form;
	if (form_parse(type, body, size, &form, NULL) < 0)
		return;
	for (size_t i = 0; i < form.count; i++) {
		const struct form_part *part = &form.parts[i];
		if (part->data < body || part->data + part->size > body + size ||
			form_part(&form, part->name)->data > part->data)
			abort();
		check_text(part->name);
		if (part->file_name)
			check_text(part->file_name);
	}
	form_free(&form);
}

/* What it names is an address, which reads as it is written. */
static void
check_forwarded(const char *header)
{
	struct network proxy;
	struct address address = {0}, again;
	char text[ADDRESS_TEXT];
	if (!network_parse("10.0.0.0/8", &proxy))
		abort();
	address_forwarded(header, &proxy, 1, &address);
	address_text(&address, text);
	if (!address_parse(text, strlen(text), &again) || !address_equals(&address, &again))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
	struct query query;
	struct path path;
	if (!line)
		return 0;
	AUTO_FREE char *type = xstrndup(text, (size_t)(line - text)),
				   *rest = xstrndup(line + 1, (size_t)(text + size - line) - 1);
	check_form(type, line + 1, (size_t)(text + size - line) - 1);
	if (query_parse(rest, &query, NULL) == 0) {
		for (size_t i = 0; i < query.count; i++) {
			check_text(query.parameters[i].name);
			check_text(query.parameters[i].value);
		}
		query_free(&query);
	}
	check_forwarded(rest);
	if (path_split(rest, &path)) {
		const char *segment;
		for (size_t i = 0; (segment = path_segment(&path, i)); i++)
			check_text(segment);
		path_free(&path);
	}
	return 0;
}
