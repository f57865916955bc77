/* SPDX-License-Identifier: MIT */
/* Splits a long text into messages. */
#include <config.h>

#include "discord/text/split.h"

#include "base/base.h"
#include "base/text.h"

#define FENCE_SIZE 3
#define OPENING_MAX 30                 /* bytes of a line that opens a block, with its newline; a longer line is text */
#define CLOSING (FENCE_SIZE + 1)       /* units of a newline and the fence */
#define ENOUGH (4 * (SPLIT_UNITS + 2)) /* bytes that always have more units than a message */
#define BLANK " \n"                    /* contents of an empty block: Discord shows a block only with contents */

struct split {
	json_t *messages; /* borrowed */
	size_t max;
	struct buf message;
	size_t units;              /* of message */
	char opening[OPENING_MAX]; /* the line, with its newline, that opened the block; "": not in a block */
	size_t opened;             /* bytes of message before it */
	bool empty;                /* the block has no contents yet */
};

static size_t
units_of(const char *text, size_t size)
{
	size_t units = 0;
	for (size_t at = 0, len; at < size; at += len ? len : 1) {
		len = utf8_length(text + at, size - at);
		units += len == 4 ? 2 : 1;
	}
	return units;
}

size_t
split_units(const char *text)
{
	return units_of(text, strlen(text));
}

static void
add(struct split *split, const char *text, size_t size)
{
	buf_add(&split->message, text, size);
	split->units += units_of(text, size);
}

/* Begins the next message, inside the open block. */
static void
begin(struct split *split)
{
	split->message.len = split->units = split->opened = 0;
	add(split, split->opening, strlen(split->opening));
	split->empty = true;
}

/* Ends a message. Removes a block that would be empty at its end. */
static void
flush(struct split *split)
{
	struct buf *message = &split->message;
	bool inside = split->opening[0] != '\0';
	if (inside && split->empty)
		message->len = split->opened;
	while (message->len > 0 && strchr(" \t\n", message->data[message->len - 1]) && !(inside && !split->empty))
		message->len--;
	if (inside && !split->empty)
		buf_adds(message, message->data[message->len - 1] == '\n' ? SPLIT_FENCE : "\n" SPLIT_FENCE);
	if (message->len > 0 && message->data[strspn(message->data, " \t\n")] != '\0')
		json_array_append_new(split->messages, json_stringn(message->data, message->len));
	begin(split);
}

/*
 * Returns the bytes of a line's beginning that fit into `room` units, up to a good place to cut. At least 1 character.
 */
static size_t
cut(const struct split *split, const char *line, size_t size, size_t room)
{
	size_t at = 0, units = 0, space = 0, good = 0;
	bool inside = split->opening[0] != '\0', escaped = false;
	while (at < size) {
		size_t len = utf8_length(line + at, size - at);
		units += len == 4 ? 2 : 1;
		if (units > room)
			break;
		escaped = !inside && !escaped && line[at] == '\\';
		at += len;
		if (!escaped)
			good = at;
		if (line[at - 1] == ' ' && !inside)
			space = at;
	}
	/* A word that takes up most of a message is cut itself. */
	good = space > good / 2 ? space : good;
	return good > 0 ? good : utf8_length(line, size);
}

/* Whether a line opens a block, or closes the open one. */
static bool
is_fence(const struct split *split, const char *line, size_t size)
{
	if (strncmp(line, SPLIT_FENCE, FENCE_SIZE) != 0)
		return false;
	if (split->opening[0])
		return size == FENCE_SIZE;
	return size + 1 < OPENING_MAX && !memchr(line + FENCE_SIZE, '`', size - FENCE_SIZE);
}

/* Adds a line that opens or closes a block. */
static void
turn(struct split *split, const char *line, size_t size)
{
	bool inside = split->opening[0] != '\0';
	if (!inside && split->units + units_of(line, size) + strlen(BLANK) + CLOSING > SPLIT_UNITS)
		flush(split);
	if (inside && split->empty)
		add(split, BLANK, strlen(BLANK));
	split->opened = split->message.len;
	split->empty = true;
	(void)snprintf(split->opening, sizeof(split->opening), "%.*s", inside ? 0 : (int)size, line);
	add(split, line, size);
}

/* Adds a line of text with its newline. Returns the bytes taken: all, or as many as fit into the messages. */
static size_t
add_line(struct split *split, const char *line, size_t size)
{
	size_t taken = 0;
	while (taken < size && json_array_size(split->messages) < split->max) {
		bool inside = split->opening[0] != '\0';
		size_t room = SPLIT_UNITS - (inside ? CLOSING : 0), left = split->units < room ? room - split->units : 0;
		/* Its newline needs no room: it is removed, or the closing fence follows it. */
		size_t part = size - taken, seen = part < ENOUGH ? part : ENOUGH;
		size_t units = units_of(line + taken, seen) - (line[size - 1] == '\n');
		if (split->units + units > room) {
			bool own = inside ? !split->empty || split->opened > 0 : split->message.len > 0;
			/*
			 * A line that fits into a message of its own goes there; one that needs several begins in the present
			 * message if that has room.
			 */
			if (own && (units + strlen(split->opening) <= room || left < room / 4)) {
				flush(split);
				continue;
			}
			part = cut(split, line + taken, part, left);
		}
		add(split, line + taken, part);
		split->empty = false;
		taken += part;
		if (taken < size)
			flush(split);
	}
	return taken;
}

/* Returns the rest, within the open block. */
static char *
rest_of(const struct split *split, const char *text)
{
	AUTO_BUF struct buf out = {0};
	buf_adds(&out, split->opening);
	buf_adds(&out, text);
	return buf_take(&out);
}

json_t *
split_messages(const char *markdown, size_t max_messages, char **ret_rest)
{
	AUTO_BUF struct buf text = {0};
	struct split split = {.messages = json_array(), .max = max_messages};
	utf8_sanitize(markdown, strlen(markdown), &text);
	size_t at = 0;
	while (at < text.len && json_array_size(split.messages) < split.max) {
		const char *line = text.data + at;
		size_t size = strcspn(line, "\n"), whole = size + (line[size] == '\n');
		if (is_fence(&split, line, size))
			turn(&split, line, whole);
		else
			whole = add_line(&split, line, whole);
		at += whole;
	}
	if (json_array_size(split.messages) < split.max)
		flush(&split);
	*ret_rest = at < text.len ? rest_of(&split, text.data + at) : NULL;
	buf_free(&split.message);
	return split.messages;
}
