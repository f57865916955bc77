/* SPDX-License-Identifier: MIT */
/* The headers that a compiler has not found, by what it printed. [any] */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MISSING_HEADER_SIZE 200 /* bytes of a name, with its NUL; longer ones are passed over */

/* Calls fits(arg, name) for each of them until it returns true. Whether it did. */
static inline bool
missing_header_find(const char *text, bool (*fits)(void *arg, const char *name), void *arg)
{
	/* Of gcc, of clang, and of nvcc twice. */
	static const struct {
		const char *begin, *end;
	} ways[] = {{"fatal error: ", ": No such file or directory"}, {"fatal error: '", "' file not found"},
		{"could not open source file \"", "\""}, {"cannot open source file \"", "\""}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (const char *at = text; (at = strstr(at, ways[i].begin));) {
			char name[MISSING_HEADER_SIZE];
			at += strlen(ways[i].begin);
			const char *end = strstr(at, ways[i].end);
			if (!end || end > at + strcspn(at, "\r\n") || (size_t)(end - at) >= sizeof(name))
				continue;
			(void)snprintf(name, sizeof(name), "%.*s", (int)(end - at), at);
			if (fits(arg, name))
				return true;
		}
	return false;
}
