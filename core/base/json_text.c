/* SPDX-License-Identifier: MIT */
/* JSON as it is shown: jansson writes all 17 digits of a number, 1.0000000000000001e-5 for 1e-5. */
#include <config.h>

#include "base/json_text.h"

#include "base/base.h"
#include "base/number.h"

/* The end of a string that begins with its quote. */
static const char *
end_of_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return at + (*at == '"');
}

/* Writes a number, which never gets longer, and returns the end of what it wrote. */
static char *
put_number(char *out, const char *at, size_t len)
{
	char text[NUMBER_TEXT_SIZE];
	number_text(strtod(at, NULL), text);
	size_t size = strlen(text);
	bool real = strpbrk(text, ".e") != NULL;
	if (size + (real ? 0 : 2) > len) {
		memmove(out, at, len);
		return out + len;
	}
	memcpy(out, text, size);
	memcpy(out + size, ".0", real ? 0 : 2);
	return out + size + (real ? 0 : 2);
}

char *
json_text(const json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags), *out = text;
	for (const char *at = text; at && *at;) {
		const char *end = *at == '"' ? end_of_string(at) : at + 1;
		size_t digits = strspn(at, "0123456789+-.eE");
		if (*at == '-' || (*at >= '0' && *at <= '9')) {
			end = at + digits;
			if (memchr(at, '.', digits) || memchr(at, 'e', digits)) {
				out = put_number(out, at, digits);
				at = end;
				continue;
			}
		}
		memmove(out, at, (size_t)(end - at));
		out += end - at;
		at = end;
	}
	if (out)
		*out = '\0';
	return text;
}

void
json_print(const json_t *value, FILE *out, size_t flags)
{
	AUTO_FREE char *text = json_text(value, flags);
	if (text)
		(void)fputs(text, out);
}
