/* SPDX-License-Identifier: MIT */
/* Changes single values in a YAML text, at the character positions that libyaml reports. */
#include <config.h>

#include "base/yaml_edit.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/pointer.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#define MAX_DEPTH 64 /* as yaml_parse has it */
#define ORDER_MARK "\xef\xbb\xbf"

/* A list or a map that is open. */
struct level {
	bool list, value; /* value: in a map, what comes next is one */
	size_t index;
	size_t length; /* of the pointer, without what is inside */
};

struct edit {
	const char *text; /* what has not been copied yet */
	size_t size, at;  /* its bytes; characters before it */
	struct buf out, pointer;
	struct level levels[MAX_DEPTH];
	unsigned depth;
	size_t done;
};

/* Moves to a character; copy: copies the text before it. */
static void
move_to(struct edit *edit, size_t character, bool copy)
{
	size_t bytes = 0;
	while (edit->at < character && bytes < edit->size) {
		size_t len = utf8_length(edit->text + bytes, edit->size - bytes);
		bytes += len ? len : 1;
		edit->at++;
	}
	if (copy)
		buf_add(&edit->out, edit->text, bytes);
	edit->text += bytes;
	edit->size -= bytes;
}

static struct level *
inner(struct edit *edit)
{
	return edit->depth ? &edit->levels[edit->depth - 1] : NULL;
}

/* Restores the pointer of the list or map around a value that has ended. */
static void
end_value(struct edit *edit)
{
	struct level *level = inner(edit);
	if (!level)
		return;
	edit->pointer.len = level->length;
	if (edit->pointer.data)
		edit->pointer.data[level->length] = '\0';
	level->index++;
	level->value = false;
}

/* Before a value in a list: its index. In a map the key has done it. */
static void
begin_value(struct edit *edit)
{
	struct level *level = inner(edit);
	if (level && level->list)
		pointer_add_index(&edit->pointer, level->index);
}

static int
replace(struct edit *edit, const yaml_event_t *event, const json_t *with, struct kettle_error *err)
{
	yaml_scalar_style_t style = event->data.scalar.style;
	AUTO_FREE char *quoted = json_dumps(with, JSON_ENCODE_ANY);
	if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE || event->data.scalar.anchor)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is not written out at its place.", edit->pointer.data);
	move_to(edit, event->start_mark.index, true);
	buf_adds(&edit->out, quoted);
	move_to(edit, event->end_mark.index, false);
	edit->done++;
	return 0;
}

static int
on_scalar(struct edit *edit, const yaml_event_t *event, const json_t *edits, struct kettle_error *err)
{
	struct level *level = inner(edit);
	if (level && !level->list && !level->value) {
		level->value = true;
		pointer_add_key(&edit->pointer, (const char *)event->data.scalar.value);
		return 0;
	}
	begin_value(edit);
	const json_t *with = edit->pointer.len ? json_object_get(edits, edit->pointer.data) : NULL;
	int rc = with ? replace(edit, event, with, err) : 0;
	end_value(edit);
	return rc;
}

static int
on_begin(struct edit *edit, bool list, struct kettle_error *err)
{
	struct level *level = inner(edit);
	if (edit->depth == MAX_DEPTH || (level && !level->list && !level->value))
		return kettle_fail(err, KETTLE_EINVAL, "The file is nested too deeply, or has a key that is not a string.");
	begin_value(edit);
	edit->levels[edit->depth++] = (struct level){.list = list, .length = edit->pointer.len};
	return 0;
}

static int
on_edit_event(struct edit *edit, const yaml_event_t *event, const json_t *edits, struct kettle_error *err)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(edit, event, edits, err);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return on_begin(edit, event->type == YAML_SEQUENCE_START_EVENT, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		edit->depth--;
		end_value(edit);
		return 0;
	case YAML_ALIAS_EVENT:
		begin_value(edit);
		end_value(edit);
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int
edit_all(struct edit *edit, const json_t *edits, struct kettle_error *err)
{
	yaml_parser_t parser;
	bool end = false;
	int rc = 0;
	if (!yaml_parser_initialize(&parser))
		xalloc_fail();
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)edit->text, edit->size);
	while (rc == 0 && !end) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			rc = kettle_fail(err, KETTLE_EINVAL, "The file is not YAML.");
			break;
		}
		end = event.type == YAML_STREAM_END_EVENT;
		rc = on_edit_event(edit, &event, edits, err);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return rc;
}

int
yaml_edit(const char *text, size_t size, const json_t *edits, char **ret_text, struct kettle_error *err)
{
	struct edit edit = {.text = text, .size = size};
	size_t mark = strlen(ORDER_MARK);
	if (size >= mark && memcmp(text, ORDER_MARK, mark) == 0) {
		edit.text += mark;
		edit.size -= mark;
		buf_add(&edit.out, ORDER_MARK, mark);
	}
	int rc = edit_all(&edit, edits, err);
	if (rc == 0 && edit.done != json_object_size(edits))
		rc = kettle_fail(err, KETTLE_EINVAL, "Not every value that is to be changed is written out at its place.");
	buf_add(&edit.out, edit.text, edit.size);
	if (rc == 0)
		*ret_text = buf_take(&edit.out);
	buf_free(&edit.out);
	buf_free(&edit.pointer);
	return rc;
}
