/* SPDX-License-Identifier: MIT */
/* The argument vectors of programs that runners start. All [any]. */
#ifndef KETTLE_RUNNERS_COMMON_ARGUMENTS_H
#define KETTLE_RUNNERS_COMMON_ARGUMENTS_H

#include <stddef.h>

/* A vector of arguments that ends with NULL. Zero-initialise; arguments_free at the end. */
struct arguments {
	char **list;
	size_t count;
};

#define AUTO_ARGUMENTS __attribute__((cleanup(arguments_free)))

void arguments_add(struct arguments *arguments, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arguments_free(struct arguments *arguments);

#endif
