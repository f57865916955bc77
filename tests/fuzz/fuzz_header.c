/* SPDX-License-Identifier: MIT */
/* Fuzzes the header of a submission: any bytes give a header that JSON can hold, or a sentence. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/popcorn_header.h"
#include "base/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON json_t *header = NULL;
	struct kettle_error err = {0};
	int rc = popcorn_header_parse((const char *)data, size, &header, &err);
	if (rc) {
		if (header || !err.message[0] || !utf8_valid(err.message, strlen(err.message)))
			abort();
		return 0;
	}
	AUTO_FREE char *text = json_dumps(header, 0);
	if (!text)
		abort();
	return 0;
}
