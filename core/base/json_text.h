/* SPDX-License-Identifier: MIT */
/* JSON as it is shown and written for people and programs. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* json_dumps, but numbers have the fewest digits that read back as the same (number.h). New string; NULL as there. [any] */
char *json_text(const json_t *value, size_t flags);
/* Writes the same text to a stream; nothing for a value that cannot be written as JSON. [any] */
void json_print(const json_t *value, FILE *out, size_t flags);
