/* SPDX-License-Identifier: MIT */
/* The form that a request sends, as JSON. */
#include <config.h>

#include "web/visit/fields.h"

#include "base/base.h"
#include "base/text.h"
#include "http/form.h"

#define MULTIPART "multipart/"
#define FORM_MAX ((8u << 20) + (64u << 10)) /* a file, as of `submit`, and the other fields */
#define TEXT_MAX (1u << 20)                 /* of a field that is text, and of a form without files */

/* Adds a field of text, without the carriage returns that browsers put before each end of a line. */
static void
add_text(json_t *fields, const char *name, const char *text, size_t size)
{
	AUTO_BUF struct buf lines = {0};
	for (const char *at = text, *end; at < text + size; at = end + (end < text + size)) {
		const char *found = memchr(at, '\r', (size_t)(text + size - at));
		end = found ? found : text + size;
		buf_add(&lines, at, (size_t)(end - at));
		if (found && (end + 1 == text + size || end[1] != '\n'))
			buf_adds(&lines, "\n");
	}
	json_object_set_new(fields, name, json_stringn(lines.len ? lines.data : "", lines.len));
}

/* Adds a field: text, or of a file {"name", "base64"}. */
static int
add_part(json_t *fields, const struct form_part *part, struct kettle_error *err)
{
	if (part->file_name) {
		AUTO_FREE char *content = base64_encode(part->data, part->size);
		if (*part->file_name)
			json_object_set_new(
				fields, part->name, json_pack("{s:s, s:s}", "name", part->file_name, "base64", content));
	} else if (part->size > TEXT_MAX && strcmp(part->name, FIELDS_FILE_KEPT) != 0) {
		return kettle_fail(err, KETTLE_ETOOBIG, "The field `%.40s` has more than %u MiB: send it as a file.",
			part->name, TEXT_MAX >> 20);
	} else if (utf8_valid(part->data, part->size)) {
		add_text(fields, part->name, part->data, part->size);
	}
	return 0;
}

/* Whether the form is of the type that files need. */
static bool
has_files(const struct http_request *request)
{
	const char *type = http_header_value(request, "Content-Type");
	return type && strncmp(type, MULTIPART, strlen(MULTIPART)) == 0;
}

size_t
visit_fields_max(const struct http_request *request)
{
	return has_files(request) ? FORM_MAX : TEXT_MAX;
}

json_t *
visit_fields(const struct http_request *request, struct kettle_error *err)
{
	size_t size = 0;
	const char *body = http_body(request, &size), *type = http_header_value(request, "Content-Type");
	json_t *fields = json_object();
	struct query query = {0};
	struct form form = {0};
	int rc = 0;
	if (has_files(request)) {
		rc = form_parse(type, body, size, &form, err);
		for (size_t i = 0; rc == 0 && i < form.count; i++)
			rc = add_part(fields, &form.parts[i], err);
		form_free(&form);
	} else {
		rc = query_parse(body, &query, err);
		for (size_t i = 0; rc == 0 && i < query.count; i++)
			add_text(fields, query.parameters[i].name, query.parameters[i].value, strlen(query.parameters[i].value));
		query_free(&query);
	}
	if (rc == 0)
		return fields;
	json_decref(fields);
	return NULL;
}
