/* SPDX-License-Identifier: MIT */
/* Text from outside that will be shown to others: names, reasons, descriptions. */
#include <config.h>

#include "base/sanitize_text.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool
is_control(uint32_t code)
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
	} else if (!kept && (is_control(code) || utf8_is_invisible(code))) {
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
