/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON, with the places kept for messages. */
#include <config.h>

#include "base/yaml.h"

#include <stdarg.h>
#include <yaml.h>

#include "base/base.h"
#include "base/pointer.h"
#include "base/utf8.h"

#define ORDER_MARK "\xef\xbb\xbf"
#define STRING_TAG "tag:yaml.org,2002:str"
#define TAG "%TAG"

struct reader {
	yaml_parser_t parser;
	const char *name, *text;
	size_t size;
	struct kettle_error *err;
	json_t *anchors; /* name → node that is complete */
	json_t *places;  /* NULL: not wanted */
	struct buf pointer;
	size_t nodes, alias_text;
	unsigned depth;
};

static int read_node(struct reader *reader, const yaml_event_t *event, json_t **ret_node);

__attribute__((format(printf, 4, 5))) static int
fail_yaml_at(struct reader *reader, int code, const yaml_mark_t *mark, const char *format, ...)
{
	char message[900];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return kettle_fail(reader->err, code, "%s:%zu:%zu: %s", reader->name, mark->line + 1, mark->column + 1, message);
}

/* The line and the column of a byte. */
static yaml_mark_t
mark_of(const struct reader *reader, size_t offset)
{
	yaml_mark_t mark = {0};
	for (size_t i = 0; i < offset && i < reader->size; i++) {
		bool continues = ((unsigned char)reader->text[i] & 0xc0) == 0x80;
		mark.column += !continues;
		if (reader->text[i] == '\n')
			mark = (yaml_mark_t){.line = mark.line + 1};
	}
	return mark;
}

/* Names the fault where libyaml only says that a character cannot start a token; false: libyaml says more. */
static bool
explain_character(const struct reader *reader, struct buf *out)
{
	const yaml_parser_t *parser = &reader->parser;
	if (!parser->problem || strcmp(parser->problem, "found character that cannot start any token") != 0)
		return false;
	size_t at = 0;
	for (size_t i = 0; i < parser->problem_mark.index && at < reader->size; i++)
		at += utf8_length(reader->text + at, reader->size - at);
	char found = at < reader->size ? reader->text[at] : '\0';
	if (found == '\t')
		buf_adds(out, "a tab cannot indent a line; use spaces");
	else if (found > ' ' && found <= '~')
		buf_printf(out, "a value cannot begin with `%c`; put the value in quotes", found);
	return out->len > 0;
}

/* The next event; the caller deletes it. */
static int
next_event(struct reader *reader, yaml_event_t *ret_event)
{
	yaml_parser_t *parser = &reader->parser;
	if (yaml_parser_parse(parser, ret_event))
		return 0;
	memset(ret_event, 0, sizeof(*ret_event));
	if (parser->error == YAML_MEMORY_ERROR)
		xalloc_fail();
	yaml_mark_t mark =
		parser->error == YAML_READER_ERROR ? mark_of(reader, parser->problem_offset) : parser->problem_mark;
	AUTO_BUF struct buf what = {0};
	if (!explain_character(reader, &what)) {
		/* An open construct, such as a quoted text, may have begun far above. */
		buf_adds(&what, parser->context ? parser->context : "");
		if (parser->context && parser->context_mark.line < mark.line)
			buf_printf(&what, " that begins at line %zu", parser->context_mark.line + 1);
		buf_printf(&what, "%s%s", parser->context ? ", " : "", parser->problem ? parser->problem : "it cannot be read");
	}
	return fail_yaml_at(reader, KETTLE_EINVAL, &mark, "this is not YAML: %s.", what.data);
}

/* A list or a map over several lines begins on the line after its key, with its first element. */
static bool
is_block(const yaml_event_t *event)
{
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return event->data.sequence_start.style == YAML_BLOCK_SEQUENCE_STYLE;
	return event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.style == YAML_BLOCK_MAPPING_STYLE;
}

/* Remembers the place of the node that reader->pointer names and that begins with event; key: of its key, or NULL. */
static void
note_place(struct reader *reader, const yaml_event_t *event, const yaml_mark_t *key)
{
	const char *pointer = reader->pointer.len ? reader->pointer.data : "";
	const yaml_mark_t *value = key && is_block(event) ? key : &event->start_mark;
	key = key ? key : value;
	if (reader->places && reader->pointer.len <= YAML_MAX_POINTER)
		json_object_set_new(reader->places, pointer,
			json_pack("[I, I, I, I]", (json_int_t)value->line + 1, (json_int_t)value->column + 1,
				(json_int_t)key->line + 1, (json_int_t)key->column + 1));
}

static int
count_nodes(struct reader *reader, size_t count, const yaml_mark_t *mark)
{
	reader->nodes += count;
	if (reader->nodes > YAML_MAX_NODES)
		return fail_yaml_at(
			reader, KETTLE_ETOOBIG, mark, "there are more than %d values, with aliases expanded.", YAML_MAX_NODES);
	return 0;
}

/* Adds the values in a node to *count, the bytes of its keys and strings to *text, and returns its depth. */
static unsigned
measure_node(const json_t *node, size_t *count, size_t *text)
{
	unsigned deepest = 0, depth;
	++*count;
	*text += json_string_length(node);
	json_array_each(node, inner) {
		depth = measure_node(inner, count, text);
		deepest = depth > deepest ? depth : deepest;
	}
	json_object_each(node, key, inner) {
		*text += strlen(key);
		depth = measure_node(inner, count, text);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + (json_is_array(node) || json_is_object(node));
}

static int
read_alias(struct reader *reader, const yaml_event_t *event, json_t **ret_node)
{
	const char *name = (const char *)event->data.alias.anchor;
	const json_t *node = json_object_get(reader->anchors, name);
	if (!node)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark,
			"the alias `*%.60s` refers to no anchor that is complete before it.", name);
	/* Counted before it is copied. */
	size_t count = 0;
	unsigned depth = measure_node(node, &count, &reader->alias_text);
	int rc = count_nodes(reader, count, &event->start_mark);
	if (rc)
		return rc;
	if (reader->alias_text > YAML_MAX_TEXT)
		return fail_yaml_at(reader, KETTLE_ETOOBIG, &event->start_mark, "aliases expand to more than %u MiB of text.",
			YAML_MAX_TEXT >> 20);
	if (reader->depth + depth > YAML_MAX_DEPTH)
		return fail_yaml_at(
			reader, KETTLE_ETOOBIG, &event->start_mark, "it is nested deeper than %d levels.", YAML_MAX_DEPTH);
	*ret_node = json_deep_copy(node);
	return 0;
}

static int
read_scalar(struct reader *reader, const yaml_event_t *event, json_t **ret_node)
{
	const char *text = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
	size_t size = event->data.scalar.length;
	if (tag && strcmp(tag, STRING_TAG) != 0 && strcmp(tag, "!") != 0)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "the tag %.60s is not understood.", tag);
	if (!tag && event->data.scalar.plain_implicit) {
		struct kettle_error why;
		int rc = yaml_scalar(text, size, ret_node, &why);
		return rc ? fail_yaml_at(reader, rc, &event->start_mark, "%s", why.message) : 0;
	}
	if (memchr(text, '\0', size))
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "a string contains a NUL character.");
	*ret_node = json_stringn(text, size);
	return 0;
}

static int
read_item(struct reader *reader, const yaml_event_t *event, json_t *list)
{
	size_t length = reader->pointer.len;
	json_t *node = NULL;
	pointer_add_index(&reader->pointer, json_array_size(list));
	note_place(reader, event, NULL);
	int rc = read_node(reader, event, &node);
	if (rc == 0)
		json_array_append_new(list, node);
	reader->pointer.len = length;
	reader->pointer.data[length] = '\0';
	return rc;
}

static int
read_list(struct reader *reader, json_t **ret_node)
{
	AUTO_JSON json_t *list = json_array();
	int rc = 0;
	for (bool end = false; rc == 0 && !end;) {
		yaml_event_t event;
		rc = next_event(reader, &event);
		end = event.type == YAML_SEQUENCE_END_EVENT;
		if (rc == 0 && !end)
			rc = read_item(reader, &event, list);
		yaml_event_delete(&event);
	}
	if (rc == 0)
		*ret_node = STEAL(list);
	return rc;
}

/* Keeps the members of "<<" for the end of the map. */
static int
keep_merge(struct reader *reader, json_t *merges, json_t *node_take, const yaml_mark_t *mark)
{
	AUTO_JSON json_t *node = node_take;
	bool list = json_is_array(node);
	json_array_each(node, one) {
		if (!json_is_object(one))
			list = false;
	}
	if (!list && !json_is_object(node))
		return fail_yaml_at(reader, KETTLE_EINVAL, mark, "the merge key `<<` needs a map or a list of maps.");
	if (list)
		json_array_extend(merges, node);
	else
		json_array_append(merges, node);
	return 0;
}

static int
check_key(struct reader *reader, const yaml_event_t *event, const json_t *map, bool merge)
{
	const char *key = (const char *)event->data.scalar.value;
	if (event->type != YAML_SCALAR_EVENT)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "a key must be a string.");
	if (event->data.scalar.length > YAML_MAX_KEY)
		return fail_yaml_at(reader, KETTLE_ETOOBIG, &event->start_mark, "a key is longer than %d bytes.", YAML_MAX_KEY);
	if (strlen(key) != event->data.scalar.length)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "a key contains a NUL character.");
	if (event->data.scalar.anchor || event->data.scalar.tag)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "a key can have neither an anchor nor a tag.");
	if (!merge && json_object_get(map, key))
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "the key `%.60s` is given twice.", key);
	return 0;
}

/* key: where its key is; NULL: the place of the value is not kept. */
static int
read_value(struct reader *reader, const yaml_mark_t *key, json_t **ret_node)
{
	yaml_event_t event;
	int rc = next_event(reader, &event);
	if (rc == 0 && key)
		note_place(reader, &event, key);
	if (rc == 0)
		rc = read_node(reader, &event, ret_node);
	yaml_event_delete(&event);
	return rc;
}

static int
read_member(struct reader *reader, const yaml_event_t *event, json_t *map, json_t *merges)
{
	const char *key = (const char *)event->data.scalar.value;
	bool merge = event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
				 strcmp(key, "<<") == 0;
	size_t length = reader->pointer.len;
	json_t *node = NULL;
	int rc = check_key(reader, event, map, merge);
	if (rc)
		return rc;
	pointer_add_key(&reader->pointer, key);
	rc = read_value(reader, merge ? NULL : &event->start_mark, &node);
	if (rc == 0 && merge)
		rc = keep_merge(reader, merges, node, &event->start_mark);
	else if (rc == 0)
		json_object_set_new(map, key, node);
	reader->pointer.len = length;
	reader->pointer.data[length] = '\0';
	return rc;
}

static int
read_map(struct reader *reader, json_t **ret_node)
{
	AUTO_JSON json_t *map = json_object(), *merges = json_array();
	int rc = 0;
	for (bool end = false; rc == 0 && !end;) {
		yaml_event_t event;
		rc = next_event(reader, &event);
		end = event.type == YAML_MAPPING_END_EVENT;
		if (rc == 0 && !end)
			rc = read_member(reader, &event, map, merges);
		yaml_event_delete(&event);
	}
	json_array_each(merges, merge)
		json_object_update_missing(map, merge);
	if (rc == 0)
		*ret_node = STEAL(map);
	return rc;
}

/* A collection, one level further down. */
static int
read_nested(struct reader *reader, const yaml_event_t *event, json_t **ret_node)
{
	bool list = event->type == YAML_SEQUENCE_START_EVENT;
	const char *tag = (const char *)(list ? event->data.sequence_start.tag : event->data.mapping_start.tag);
	if (tag)
		return fail_yaml_at(reader, KETTLE_EINVAL, &event->start_mark, "the tag %.60s is not understood.", tag);
	if (reader->depth >= YAML_MAX_DEPTH)
		return fail_yaml_at(
			reader, KETTLE_ETOOBIG, &event->start_mark, "it is nested deeper than %d levels.", YAML_MAX_DEPTH);
	reader->depth++;
	int rc = list ? read_list(reader, ret_node) : read_map(reader, ret_node);
	reader->depth--;
	return rc;
}

static const char *
anchor_of(const yaml_event_t *event)
{
	if (event->type == YAML_SCALAR_EVENT)
		return (const char *)event->data.scalar.anchor;
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return (const char *)event->data.sequence_start.anchor;
	return event->type == YAML_MAPPING_START_EVENT ? (const char *)event->data.mapping_start.anchor : NULL;
}

/* The node that begins with event. */
static int
read_node(struct reader *reader, const yaml_event_t *event, json_t **ret_node)
{
	json_t *node = NULL;
	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(reader, event, ret_node);
	int rc = count_nodes(reader, 1, &event->start_mark);
	if (rc)
		return rc;
	rc = event->type == YAML_SCALAR_EVENT ? read_scalar(reader, event, &node) : read_nested(reader, event, &node);
	if (rc)
		return rc;
	const char *anchor = anchor_of(event);
	if (anchor)
		json_object_set(reader->anchors, anchor, node);
	*ret_node = node;
	return 0;
}

/* Nothing but the end may follow the one document. */
static int
read_end(struct reader *reader)
{
	yaml_event_t event;
	int rc;
	bool end = false;
	do {
		rc = next_event(reader, &event);
		if (rc == 0 && event.type == YAML_DOCUMENT_START_EVENT)
			rc = fail_yaml_at(reader, KETTLE_EINVAL, &event.start_mark, "a second document begins; there must be one.");
		end = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	} while (rc == 0 && !end);
	return rc;
}

static int
read_document(struct reader *reader, json_t **ret_value)
{
	yaml_event_t event;
	int rc = 0;
	for (bool start = true; start && rc == 0;) {
		rc = next_event(reader, &event);
		start = event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT;
		if (rc == 0 && event.type == YAML_STREAM_END_EVENT)
			*ret_value = json_null();
		else if (rc == 0 && !start)
			note_place(reader, &event, NULL);
		if (rc == 0 && !start && event.type != YAML_STREAM_END_EVENT)
			rc = read_node(reader, &event, ret_value);
		bool ended = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
		if (ended)
			return rc;
	}
	return rc ? rc : read_end(reader);
}

/* libyaml gives no line for bytes that are not UTF-8. Counts what may be directives. */
static int
check_bytes(struct reader *reader)
{
	const char *text = reader->text;
	size_t size = reader->size;
	unsigned tags = 0;
	if (size > YAML_MAX_BYTES)
		return kettle_fail(reader->err, KETTLE_ETOOBIG, "%s: the file is larger than the %u bytes allowed.",
			reader->name, YAML_MAX_BYTES);
	for (size_t i = 0; i < size;) {
		size_t len = utf8_length(text + i, size - i);
		yaml_mark_t mark;
		if (len == 0 || text[i] == '\0') {
			mark = mark_of(reader, i);
			return fail_yaml_at(reader, KETTLE_EINVAL, &mark, "the file is not UTF-8 text.");
		}
		if (text[i] == '%' && size - i >= strlen(TAG) && memcmp(text + i, TAG, strlen(TAG)) == 0 &&
			++tags > YAML_MAX_TAGS) {
			mark = mark_of(reader, i);
			return fail_yaml_at(reader, KETTLE_ETOOBIG, &mark, "there are more than %d `%s`.", YAML_MAX_TAGS, TAG);
		}
		i += len;
	}
	return 0;
}

int
yaml_parse(
	const char *name, const char *text, size_t size, json_t **ret_value, json_t **ret_places, struct kettle_error *err)
{
	AUTO_JSON json_t *value = NULL, *anchors = json_object(), *places = ret_places ? json_object() : NULL;
	/* libyaml counts a byte order mark as a column, so that the first key would be indented. */
	size_t mark =
		size >= strlen(ORDER_MARK) && memcmp(text, ORDER_MARK, strlen(ORDER_MARK)) == 0 ? strlen(ORDER_MARK) : 0;
	struct reader reader = {
		.name = name, .text = text + mark, .size = size - mark, .err = err, .anchors = anchors, .places = places};
	int rc = check_bytes(&reader);
	if (rc)
		return rc;
	if (!yaml_parser_initialize(&reader.parser))
		xalloc_fail();
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)reader.text, reader.size);
	rc = read_document(&reader, &value);
	yaml_parser_delete(&reader.parser);
	buf_free(&reader.pointer);
	if (rc)
		return rc;
	*ret_value = STEAL(value);
	if (ret_places)
		*ret_places = STEAL(places);
	return 0;
}

/* The place of a node, or of its nearest parent that has one; NULL: none. Borrowed. */
static const json_t *
place_of(const json_t *places, const char *pointer)
{
	AUTO_FREE char *at = xstrdup(pointer);
	for (;;) {
		const json_t *place = json_object_get(places, at);
		char *slash = strrchr(at, '/');
		if (place || !slash)
			return place;
		*slash = '\0';
	}
}

static void
add_place(struct buf *out, const char *name, const json_t *place, size_t first)
{
	if (!name)
		return;
	buf_adds(out, name);
	for (size_t i = 0; place && i < 2; i++)
		buf_printf(out, ":%" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(place, first + i)));
	buf_adds(out, ": ");
}

void
yaml_add_place(struct buf *out, const char *name, const json_t *places, const char *pointer)
{
	add_place(out, name, place_of(places, pointer), 0);
}

void
yaml_add_key_place(struct buf *out, const char *name, const json_t *places, const char *pointer)
{
	add_place(out, name, place_of(places, pointer), 2);
}

int
yaml_fail_at(const char *name, const json_t *places, const char *pointer, struct kettle_error *err)
{
	AUTO_BUF struct buf place = {0};
	if (!err)
		return KETTLE_EINVAL;
	struct kettle_error inner = *err;
	yaml_add_place(&place, name, places, pointer);
	return kettle_fail(err, inner.code, "%s%s", place.data ? place.data : "", inner.message);
}

/* ---- changes of single values, at the character positions that libyaml reports ---- */

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
