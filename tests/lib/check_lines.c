/* SPDX-License-Identifier: MIT */
/* check_lines SCHEMA: whether every line of its input is JSON as the schema has it; says which one is not. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/schema.h"

static int
check_line(const json_t *schema, const char *line, size_t number)
{
	char name[40];
	struct kettle_error err = {0};
	AUTO_JSON json_t *value = json_loads(line, 0, NULL);
	(void)snprintf(name, sizeof(name), "line %zu", number);
	if (value && schema_check(schema, value, name, NULL, &err) == 0)
		return 0;
	printf("%s\n%.2000s\n", value ? err.message : "It is not JSON:", line);
	return 1;
}

int
main(int argc, char **argv)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *schema = NULL, *text = argc == 2 ? json_load_file(argv[1], 0, NULL) : NULL;
	AUTO_FREE char *schema_text = text ? json_dumps(text, 0) : NULL, *line = NULL;
	size_t size = 0, number = 0;
	int failed = 0;
	if (!schema_text || schema_load(schema_text, &schema, &err) != 0) {
		printf("The schema is none: %s\n", err.message);
		return 1;
	}
	while (getline(&line, &size, stdin) > 0)
		failed |= check_line(schema, line, ++number);
	return failed;
}
