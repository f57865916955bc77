/* SPDX-License-Identifier: MIT */
/* Text from outside that will be shown to others: names, reasons, descriptions. */
#include <config.h>

#include "base/sanitize_text.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static uint32_t
decode(const char *data, size_t length)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)data[0] & first[length];
	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)data[i] & 0x3f);
	return code;
}

/* Characters that show nothing, or that make what is around them show otherwise. */
static bool
is_invisible(uint32_t code)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{0x00, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x034f, 0x034f},
		{0x061c, 0x061c},
		{0x115f, 0x1160},
		{0x17b4, 0x17b5},
		{0x180b, 0x180f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0x3164, 0x3164},
		{0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},
		{0xffa0, 0xffa0},
		{0xfff0, 0xfffb},
		{0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].from && code <= ranges[i].to)
			return true;
	return false;
}

static bool
is_blank(uint32_t code)
{
	return code == ' ' || (code >= 0x09 && code <= 0x0d) || code == 0xa0 || code == 0x1680 ||
		   (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f || code == 0x3000;
}

/* Takes one character; false: nothing more fits. */
static bool
sanitize_take(struct buf *out, const char *data, size_t length, bool lines, size_t *left)
{
	uint32_t code = decode(data, length);
	bool kept = lines && (code == '\n' || code == '\t' || code == ' ');
	bool at_start = out->len == 0 || out->data[out->len - 1] == ' ';
	if (!kept && is_blank(code)) {
		if (at_start && !lines)
			return true;
		data = " ";
		length = 1;
	} else if (!kept && is_invisible(code)) {
		return true;
	}
	if (*left == 0)
		return false;
	buf_add(out, data, length);
	--*left;
	return true;
}

static char *
clean(const char *text, size_t max_characters, bool lines)
{
	AUTO_BUF struct buf valid = {0}, out = {0};
	utf8_sanitize(text, strlen(text), &valid);
	for (size_t at = 0; at < valid.len;) {
		size_t length = utf8_length(valid.data + at, valid.len - at);
		if (length == 0 || !sanitize_take(&out, valid.data + at, length, lines, &max_characters))
			break;
		at += length;
	}
	while (out.len > 0 && (out.data[out.len - 1] == ' ' || out.data[out.len - 1] == '\n'))
		out.data[--out.len] = '\0';
	return buf_take(&out);
}

char *
sanitize_line(const char *text, size_t max_characters)
{
	return clean(text, max_characters, false);
}

char *
sanitize_text(const char *text, size_t max_characters)
{
	return clean(text, max_characters, true);
}
