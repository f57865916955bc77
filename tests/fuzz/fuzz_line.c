/* SPDX-License-Identifier: MIT */
/* Lines of whatever a child writes: the first byte is the limit, the second the size of a piece. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/line.h"

struct seen {
	size_t max, bytes;
};

static int
on_line(void *arg, char *line, size_t len)
{
	struct seen *seen = arg;
	if (len > seen->max || memchr(line, '\n', len) || line[len] != '\0')
		abort();
	seen->bytes += len + 1;
	memset(line, 0xff, len);
	return len == 13; /* now and then the caller wants no more */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct seen seen = {.max = data[0]};
	struct line_reader reader = {.max = data[0]};
	size_t step = (size_t)data[1] + 1;
	int rc = 0;
	for (size_t at = 2; at < size && rc >= 0; at += step)
		rc = line_add(&reader, data + at, step < size - at ? step : size - at, on_line, &seen);
	if (rc >= 0)
		(void)line_end(&reader, on_line, &seen);
	if (seen.bytes > size - 2 + 1)
		abort();
	line_free(&reader);
	return 0;
}
