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
	AUTO_JSON json_t *unique = json_pack("[s, s]", "check", "test[.][0-9]+");
	if (result_open(result, LIMIT, unique, NULL) != 0)
		abort();
	for (size_t at = 0; at < size; at += part)
		if (result_add(result, (const char *)data + at, at + part < size ? part : size - at) != 0)
			abort();
	if (result_end(result) != 0)
		abort();
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
