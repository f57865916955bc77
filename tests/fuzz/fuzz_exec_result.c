/* SPDX-License-Identifier: MIT */
/* Fuzzes the result channel: any bytes, in whole and in parts, give the same values, within the bounds. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/plan/result.h"

#define LIMIT 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_in_parts(struct result *result, const uint8_t *data, size_t size, size_t part)
{
	AUTO_STRINGS struct strings unique = {0};
	strings_add(&unique, "check");
	strings_add(&unique, "test[.][0-9]+");
	result_open(result, LIMIT, &unique, NULL, NULL);
	for (size_t at = 0; at < size; at += part)
		result_add(result, (const char *)data + at, at + part < size ? part : size - at);
	result_end(result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result whole, parts;
	read_in_parts(&whole, data, size, size ? size : 1);
	read_in_parts(&parts, data, size, 1 + size % 7);
	/* Over the limit the parts decide how much of it was seen. */
	if (size <= LIMIT && (!json_equal(whole.values, parts.values) || !whole.error != !parts.error))
		abort();
	if (whole.over != (size > LIMIT) || json_object_size(whole.values) > LIMIT)
		abort();
	AUTO_FREE char *text = json_dumps(whole.values, 0);
	if (!text)
		abort();
	result_close(&whole);
	result_close(&parts);
	return 0;
}
