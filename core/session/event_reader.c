/* SPDX-License-Identifier: MIT */
/* Reads an event stream that arrives in parts. */
#include <config.h>

#include "session/event_reader.h"

#include <string.h>

/* The value of a field's line, behind the colon and one blank; NULL: the line is another field. */
static const char *
value_of(const char *line, const char *field)
{
	size_t len = strlen(field);
	if (strncmp(line, field, len) != 0 || line[len] != ':')
		return NULL;
	return line + len + 1 + (line[len + 1] == ' ');
}

static int
on_line(void *arg, char *line, size_t len)
{
	struct event_reader *reader = arg;
	const char *value;
	if (len == 0) {
		struct buf name = reader->name, data = reader->data;
		reader->name = reader->data = (struct buf){0};
		if (data.len)
			reader->fn(reader->arg, name.data ? name.data : "", data.data, data.len);
		buf_free(&name);
		buf_free(&data);
	} else if ((value = value_of(line, "event"))) {
		buf_free(&reader->name);
		buf_adds(&reader->name, value);
	} else if ((value = value_of(line, "data"))) {
		if (reader->data.len)
			buf_adds(&reader->data, "\n");
		buf_adds(&reader->data, value);
	}
	return reader->data.len > EVENT_READER_MAX ? KETTLE_ETOOBIG : 0;
}

int
event_reader_add(struct event_reader *reader, const char *part, size_t size, struct kettle_error *err)
{
	reader->lines.max = EVENT_READER_MAX;
	if (line_add(&reader->lines, part, size, on_line, reader) == 0)
		return 0;
	return kettle_fail(err, KETTLE_ETOOBIG, "An event of the server has more than %u bytes.", EVENT_READER_MAX);
}

void
event_reader_free(struct event_reader *reader)
{
	line_free(&reader->lines);
	buf_free(&reader->name);
	buf_free(&reader->data);
}
