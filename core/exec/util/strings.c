/* SPDX-License-Identifier: MIT */
/* Lists of strings. */
#include <config.h>

#include "exec/util/strings.h"

#include "base/base.h"

void
strings_take(struct strings *strings, char *text_take)
{
	strings->list = xreallocarray(strings->list, strings->count + 2, sizeof(*strings->list));
	strings->list[strings->count++] = text_take;
	strings->list[strings->count] = NULL;
}

void
strings_add(struct strings *strings, const char *text)
{
	strings_take(strings, xstrdup(text));
}

void
strings_add_all(struct strings *strings, const struct strings *more)
{
	for (size_t i = 0; i < more->count; i++)
		strings_add(strings, more->list[i]);
}

void
strings_read(struct strings *strings, const json_t *array)
{
	json_array_each(array, text)
		if (json_is_string(text))
			strings_add(strings, json_string_value(text));
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
strings_sort(struct strings *strings)
{
	if (strings->count > 0)
		qsort(strings->list, strings->count, sizeof(*strings->list), compare);
}

bool
strings_have(const struct strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->count; i++)
		if (strcmp(strings->list[i], text) == 0)
			return true;
	return false;
}

void
strings_remove(struct strings *strings, const char *text)
{
	size_t at = 0;
	while (at < strings->count && strcmp(strings->list[at], text) != 0)
		at++;
	if (at == strings->count)
		return;
	free((char *)strings->list[at]);
	strings->count--;
	/* With the NULL behind the last one. */
	memmove(&strings->list[at], &strings->list[at + 1], (strings->count - at + 1) * sizeof(*strings->list));
}

json_t *
strings_json(const struct strings *strings)
{
	json_t *array = json_array();
	for (size_t i = 0; i < strings->count; i++)
		json_array_append_new(array, json_string(strings->list[i]));
	return array;
}

void
strings_free(struct strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free((char *)strings->list[i]);
	free(strings->list);
	*strings = (struct strings){0};
}
