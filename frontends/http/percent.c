/* SPDX-License-Identifier: MIT */
/* Percent-encoded text of URLs. */
#include <config.h>

#include "http/percent.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define C0_END 0x20
#define C1_BEGIN 0x7f /* DEL is before them */
#define C1_END 0xa0

void
percent_add(struct buf *text, const char *value)
{
	for (const unsigned char *at = (const unsigned char *)value; *at; at++)
		if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
			strchr("-._~", *at))
			buf_add(text, at, 1);
		else
			buf_printf(text, "%%%02X", *at);
}

static int
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
percent_is_text(const char *text, size_t size)
{
	for (size_t at = 0, len; at < size; at += len) {
		len = utf8_length(text + at, size - at);
		uint32_t point = len ? utf8_code_point(text + at, len) : 0;
		if (point < C0_END || (point >= C1_BEGIN && point < C1_END))
			return false;
	}
	return true;
}

bool
percent_decode(const char *from, size_t size, bool plus, char *to)
{
	size_t len = 0;
	for (size_t at = 0; at < size; at++) {
		char c = from[at];
		if (c == '%') {
			int high = size - at > 2 ? digit_of(from[at + 1]) : -1, low = high >= 0 ? digit_of(from[at + 2]) : -1;
			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			at += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		to[len++] = c;
	}
	to[len] = '\0';
	return percent_is_text(to, len);
}
