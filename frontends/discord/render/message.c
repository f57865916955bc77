/* SPDX-License-Identifier: MIT */
/* Messages in Discord's form. */
#include <config.h>

#include "discord/render/message.h"

#include <ctype.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/base.h"
#include "discord/text/escape.h"
#include "discord/text/split.h"

#define ROW_BUTTONS 5
#define LABEL_MAX 80
#define CHOICE_MAX 100
#define PLACEHOLDER_MAX 150
#define FILES_MAX 10

enum component { COMPONENT_ROW = 1, COMPONENT_BUTTON, COMPONENT_MENU };

json_t *
message_new(const char *content)
{
	AUTO_FREE char *rest = NULL;
	AUTO_JSON json_t *parts = split_messages(content, 1, &rest);
	const char *first = json_string_value(json_array_get(parts, 0));
	size_t len = first ? strlen(first) : 0;
	/* Discord strips it too: the outbox looks for a message by its exact content. */
	while (len > 0 && isspace((unsigned char)first[len - 1]))
		len--;
	return json_pack("{s:s%}", "content", first ? first : "", len);
}

json_t *
message_vprintf(const char *format, va_list args)
{
	char *content = NULL;
	if (vasprintf(&content, format, args) < 0)
		xalloc_fail();
	json_t *message = message_new(content);
	free(content);
	return message;
}

json_t *
message_printf(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	json_t *message = message_vprintf(format, args);
	va_end(args);
	return message;
}

json_t *
message_block(const char *before, const char *text, const char *file_name)
{
	AUTO_BUF struct buf content = {0};
	buf_printf(&content, "%s%s", before, *before ? "\n" : "");
	escape_code_block(&content, NULL, text);
	if (split_units(content.data) <= SPLIT_UNITS)
		return message_new(content.data);
	json_t *message = message_new(before);
	message_file(message, file_name, text);
	return message;
}

static json_t *
member_list(json_t *message, const char *key)
{
	json_t *list = json_object_get(message, key);
	if (!list)
		json_object_set_new(message, key, list = json_array());
	return list;
}

static void
add_file(json_t *message, json_t *file_take)
{
	json_t *files = member_list(message, "files");
	if (json_array_size(files) < FILES_MAX)
		(void)json_array_append(files, file_take);
	json_decref(file_take);
}

void
message_file(json_t *message, const char *name, const char *text)
{
	add_file(message, json_pack("{s:s, s:s}", "name", name, "text", text));
}

void
message_file_base64(json_t *message, const char *name, const char *base64)
{
	add_file(message, json_pack("{s:s, s:s}", "name", name, "base64", base64));
}

static json_t *
new_row(json_t *message)
{
	json_t *row = json_pack("{s:i, s:[]}", "type", COMPONENT_ROW, "components");
	(void)json_array_append_new(member_list(message, "components"), row);
	return json_object_get(row, "components");
}

/* Returns the last row if it has room for another button. */
static json_t *
button_row(json_t *message)
{
	json_t *rows = member_list(message, "components");
	json_t *row = json_object_get(json_array_get(rows, json_array_size(rows) - 1), "components");
	bool buttons = json_integer_value(json_object_get(json_array_get(row, 0), "type")) == COMPONENT_BUTTON;
	return buttons && json_array_size(row) < ROW_BUTTONS ? row : new_row(message);
}

void
message_button(json_t *message, enum message_style style, const char *label, const char *custom_id)
{
	AUTO_FREE char *cut = escape_plain(label, LABEL_MAX);
	(void)json_array_append_new(button_row(message), json_pack("{s:i, s:i, s:s, s:s}", "type", COMPONENT_BUTTON,
														 "style", (int)style, "label", cut, "custom_id", custom_id));
}

static void
cut_member(json_t *choice, const char *key)
{
	const char *text = json_string_value(json_object_get(choice, key));
	AUTO_FREE char *cut = text ? escape_plain(text, CHOICE_MAX) : NULL;
	if (cut)
		json_object_set_new(choice, key, json_string(cut));
}

void
message_menu(json_t *message, const char *custom_id, const char *placeholder, unsigned max, json_t *choices_take)
{
	AUTO_FREE char *cut = escape_plain(placeholder, PLACEHOLDER_MAX);
	json_array_each(choices_take, choice) {
		cut_member(choice, "label");
		cut_member(choice, "description");
	}
	while (json_array_size(choices_take) > MESSAGE_CHOICES_MAX)
		(void)json_array_remove(choices_take, json_array_size(choices_take) - 1);
	if (max > json_array_size(choices_take))
		max = (unsigned)json_array_size(choices_take);
	(void)json_array_append_new(
		new_row(message), json_pack("{s:i, s:s, s:s, s:i, s:i, s:o}", "type", COMPONENT_MENU, "custom_id", custom_id,
							  "placeholder", cut, "min_values", 1, "max_values", (int)max, "options", choices_take));
}

json_t *
message_names(const json_t *names, size_t offset)
{
	json_t *choices = json_array();
	for (size_t i = offset; i < json_array_size(names) && i - offset < MESSAGE_CHOICES_MAX; i++) {
		json_t *name = json_array_get(names, i);
		(void)json_array_append_new(choices, json_pack("{s:O, s:O}", "label", name, "value", name));
	}
	return choices;
}

static void
page_button(json_t *message, const char *label, const char *verb, const char *what, size_t offset)
{
	AUTO_FREE char *id = xasprintf("%s:%zu:%s", verb, offset, what);
	message_button(message, MESSAGE_SECONDARY, label, id);
}

void
message_pages(json_t *message, const char *verb, const char *what, size_t offset, size_t limit, size_t count)
{
	if (offset > 0)
		page_button(message, "◀", verb, what, offset > limit ? offset - limit : 0);
	if (offset + limit < count)
		page_button(message, "▶", verb, what, offset + limit);
}

void
message_no_rows(json_t *message)
{
	if (!json_object_get(message, "components"))
		json_object_set_new(message, "components", json_array());
}
