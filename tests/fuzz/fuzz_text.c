/* SPDX-License-Identifier: MIT */
/* The small parsers: UTF-8, base64, deadlines, relative paths. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

static void
try_base64(const char *data, size_t size)
{
	AUTO_FREE void *decoded = NULL;
	AUTO_FREE char *again = NULL;
	size_t len = 0;
	if (base64_decode(data, size, &decoded, &len) != 0)
		return;
	/* One content has one text. */
	again = base64_encode(decoded, len);
	if (!again || strlen(again) != size || memcmp(again, data, size) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	AUTO_BUF struct buf clean = {0};
	size_t replaced = utf8_sanitize(bytes, size, &clean);
	if (!utf8_valid(clean.data, clean.len) || (replaced && clean.len == 0))
		abort();
	try_base64(bytes, size);
	AUTO_FREE char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	int64_t ms = 0;
	char stamp[TIME_TEXT_SIZE];
	if (time_parse_deadline(text, 0, &ms, NULL) == 0)
		time_text(ms, stamp);
	if (path_check_inside(text, NULL) == 0 && (text[0] == '/' || strlen(text) > PATH_INSIDE_MAX))
		abort();
	AUTO_JSON json_t *contents = contents_json(data, size);
	AUTO_FREE char *back = NULL;
	size_t len = 0;
	if (contents_bytes(contents, &back, &len, NULL) != 0 || len != size || memcmp(back, data, size) != 0)
		abort();
	return 0;
}
