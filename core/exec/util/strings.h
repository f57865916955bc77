/* SPDX-License-Identifier: MIT */
/* Lists of strings. All [any]. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A list that owns its strings; a NULL follows the last one if there is one. Zero-initialise; call strings_free at the
 * end.
 */
struct strings {
	const char **list;
	size_t count;
};

void strings_add(struct strings *strings, const char *text);
/* Adds a string and takes it (free() must be able to free it). */
void strings_take(struct strings *strings, char *text_take);
void strings_add_all(struct strings *strings, const struct strings *more);
/* Adds the strings of an array and skips other members. NULL is an empty array. */
void strings_read(struct strings *strings, const json_t *array);
void strings_sort(struct strings *strings);
bool strings_have(const struct strings *strings, const char *text);
/* Removes the first one that is equal, if there is one. */
void strings_remove(struct strings *strings, const char *text);
/* The list as an array. New reference. */
json_t *strings_json(const struct strings *strings);
void strings_free(struct strings *strings);

#define AUTO_STRINGS __attribute__((cleanup(strings_free)))
