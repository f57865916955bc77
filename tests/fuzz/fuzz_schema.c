/* SPDX-License-Identifier: MIT */
/* A schema and a value, a NUL between them. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/schema.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = memchr(data, '\0', size);
	AUTO_JSON json_t *schema = NULL, *value = NULL, *places = NULL;
	struct kettle_error err = {0};
	if (!split || schema_load((const char *)data, &schema, &err) != 0)
		return 0;
	if (yaml_parse("fuzz", (const char *)split + 1, size - (size_t)(split + 1 - data), &value, &places, &err) != 0)
		return 0;
	memset(&err, 0, sizeof(err));
	int rc = schema_check(schema, value, "fuzz", places, &err);
	if (rc != err.code || (rc && rc != KETTLE_EINVAL))
		abort();
	if (rc == 0)
		(void)schema_defaults(schema, value, &err);
	return 0;
}
