/* SPDX-License-Identifier: MIT */
/* Names of files in paths. [any] */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* The part of a path after its last slash. */
static inline const char *
file_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Whether a name is longer than the ending and ends in it, without case. */
static inline bool
file_name_ends_in(const char *name, const char *ending)
{
	size_t len = strlen(name), more = strlen(ending);
	return len > more && strcasecmp(name + len - more, ending) == 0;
}

/* The order for qsort and bsearch of structures whose first member is a path. */
static inline int
file_name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
