/* SPDX-License-Identifier: MIT */
/* YAML of anybody: task.yml, the configuration, exec.yml. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON json_t *value = NULL, *places = NULL, *scalar = NULL;
	struct kettle_error err = {0};
	int rc = yaml_parse("fuzz", (const char *)data, size, &value, &places, &err);
	if ((rc == 0) != (value != NULL) || (rc && (err.code != rc || strncmp(err.message, "fuzz:", 5) != 0)))
		abort();
	const char *pointer;
	json_t *place, *number;
	json_object_foreach(places, pointer, place) {
		size_t i;
		if (strlen(pointer) > YAML_MAX_POINTER || json_array_size(place) != 4)
			abort();
		json_array_foreach(place, i, number) {
			if (json_integer_value(number) < 1)
				abort();
		}
	}
	AUTO_FREE char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	(void)yaml_scalar(text, size, &scalar, &err);
	return 0;
}
