/* SPDX-License-Identifier: MIT */
/* Removes repeated tracebacks from a program's output. Pure. */
#include <config.h>

#include "common/condense.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define HEAD "Traceback (most recent call last):"
#define CONDENSE_MAX 64 /* different tracebacks that it remembers */

static size_t
line_length(const char *at)
{
	size_t len = strcspn(at, "\n");
	return len + (at[len] == '\n');
}

/*
 * Returns the bytes of the traceback that begins here: its head, the indented frames and the exception; 0: none does.
 */
static size_t
traceback_length(const char *at)
{
	if (strncmp(at, HEAD, strlen(HEAD)) != 0)
		return 0;
	size_t len = line_length(at);
	while (at[len] == ' ')
		len += line_length(at + len);
	if (at[len] != '\n' && strncmp(at + len, HEAD, strlen(HEAD)) != 0)
		len += line_length(at + len);
	return len;
}

/* Writes a line in place of the tracebacks that were left out. */
static void
tell(struct buf *out, size_t *left_out)
{
	if (*left_out == 1)
		buf_adds(out, "(one more traceback, as above)\n");
	else if (*left_out > 1)
		buf_printf(out, "(%zu more tracebacks, as above)\n", *left_out);
	*left_out = 0;
}

char *
condense_tracebacks(const char *text)
{
	struct buf out = {0};
	struct {
		const char *at;
		size_t len;
	} seen[CONDENSE_MAX];
	size_t count = 0, left_out = 0;
	while (*text) {
		size_t len = traceback_length(text);
		bool known = false;
		for (size_t i = 0; len > 0 && i < count; i++)
			known = known || (seen[i].len == len && memcmp(seen[i].at, text, len) == 0);
		if (known) {
			left_out++;
		} else {
			tell(&out, &left_out);
			if (len > 0 && count < CONDENSE_MAX) {
				seen[count].at = text;
				seen[count++].len = len;
			}
			len = len > 0 ? len : line_length(text);
			buf_add(&out, text, len);
		}
		text += len;
	}
	tell(&out, &left_out);
	return buf_take(&out);
}
