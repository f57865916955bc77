/* SPDX-License-Identifier: MIT */
/* UTF-8: checking bytes, and making valid text of them. */
#include <config.h>

#include "base/utf8.h"

#include <string.h>

#include "base/cleanup.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The length that the first byte announces: how many bytes follow, and the least code point that needs as many. */
static size_t
promised(unsigned char first, uint32_t *ret_bits, uint32_t *ret_least)
{
	if (first >= 0xc2 && first <= 0xdf) {
		*ret_bits = first & 0x1fu;
		*ret_least = 0x80;
		return 2;
	}
	if (first >= 0xe0 && first <= 0xef) {
		*ret_bits = first & 0x0fu;
		*ret_least = 0x800;
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		*ret_bits = first & 0x07u;
		*ret_least = 0x10000;
		return 4;
	}
	return 0;
}

/* The public header error.h, which needs no library, has a copy: change both together. */
size_t
utf8_length(const char *data, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)data;
	if (size == 0)
		return 0;
	if (bytes[0] < 0x80)
		return 1;
	uint32_t point = 0, least = 0;
	size_t len = promised(bytes[0], &point, &least);
	if (len == 0 || len > size)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (bytes[i] & 0x3fu);
	}
	bool surrogate = point >= 0xd800 && point <= 0xdfff;
	return point < least || point > 0x10ffff || surrogate ? 0 : len;
}

bool
utf8_valid(const char *data, size_t size)
{
	while (size) {
		size_t len = utf8_length(data, size);
		if (len == 0 || *data == '\0')
			return false;
		data += len;
		size -= len;
	}
	return true;
}

uint32_t
utf8_code_point(const char *data, size_t len)
{
	uint32_t code = (unsigned char)data[0] & (len == 1 ? 0x7fu : 0x7fu >> len);
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)data[i] & 0x3f);
	return code;
}

/*
 * Default_Ignorable_Code_Point (DerivedCoreProperties.txt), Bidi_Control (PropList.txt), and the categories Zl and Zp
 * (UnicodeData.txt) of Unicode 14; U+FFF9 to U+FFFB besides. Unassigned ones are there already; sorted.
 */
bool
utf8_is_invisible(uint32_t code_point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
		{0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
	for (size_t i = 0; i < ARRAY_SIZE(ranges) && code_point >= ranges[i].first; i++)
		if (code_point <= ranges[i].last)
			return true;
	return false;
}

uint32_t
utf8_find_invisible(const char *text, size_t size)
{
	for (size_t at = 0, len; at < size; at += len ? len : 1) {
		len = utf8_length(text + at, size - at);
		uint32_t code = len > 1 ? utf8_code_point(text + at, len) : 0;
		if (utf8_is_invisible(code))
			return code;
	}
	return 0;
}

/* Whether the character of len bytes is one that a terminal acts on. */
static bool
is_control(const unsigned char *at, size_t len)
{
	if (len == 1)
		return (at[0] < 0x20 && at[0] != '\t' && at[0] != '\n') || at[0] == 0x7f;
	return len == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

bool
utf8_is_shown(const char *at, size_t len)
{
	return !is_control((const unsigned char *)at, len) && !utf8_is_invisible(utf8_code_point(at, len));
}

size_t
utf8_sanitize(const char *data, size_t size, struct buf *out)
{
	size_t replaced = 0, kept = 0; /* data[kept, at) is good and not yet added */
	for (size_t at = 0; at < size;) {
		size_t len = utf8_length(data + at, size - at);
		bool line_end = data[at] == '\r' && at + 1 < size && data[at + 1] == '\n';
		if (len && !is_control((const unsigned char *)data + at, len)) {
			at += len;
			continue;
		}
		buf_add(out, data + kept, at - kept);
		if (!line_end) {
			buf_adds(out, REPLACEMENT);
			replaced++;
		}
		at += len ? len : 1;
		kept = at;
	}
	buf_add(out, data + kept, size - kept);
	return replaced;
}

size_t
utf8_cut(const char *text, size_t size, size_t max)
{
	size_t shown = size < max ? size : max;
	while (shown < size && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	return shown;
}

void
utf8_copy(char *to, size_t size, const char *text)
{
	size_t left = strlen(text), used = 0;
	while (left) {
		size_t len = utf8_length(text, left), taken = len ? len : 1;
		if (used + taken >= size)
			break;
		memcpy(to + used, len ? text : "?", taken);
		used += taken;
		text += taken;
		left -= taken;
	}
	to[used] = '\0';
}

/* ---- text from outside that others see: names, reasons, descriptions ---- */

static bool
is_control_code(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

static bool
is_blank(uint32_t code)
{
	return code == ' ' || (code >= 0x09 && code <= 0x0d) || code == 0xa0 || code == 0x1680 ||
		   (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
		   code == 0x3000;
}

/* Takes one character; false: nothing more fits. */
static bool
sanitize_take(struct buf *out, const char *data, size_t length, bool lines, size_t *left)
{
	uint32_t code = utf8_code_point(data, length);
	bool kept = lines && (code == '\n' || code == '\t' || code == ' ');
	bool at_start = out->len == 0 || out->data[out->len - 1] == ' ';
	if (!kept && is_blank(code)) {
		if (at_start && !lines)
			return true;
		data = " ";
		length = 1;
	} else if (!kept && (is_control_code(code) || utf8_is_invisible(code))) {
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
