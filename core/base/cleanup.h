/* SPDX-License-Identifier: MIT */
/* Cleanup attributes: a variable releases what it holds at the end of its scope, unless STEAL has taken it. */
#pragma once

#include <dirent.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void
cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}
static inline void
cleanup_json(json_t **pointer)
{
	json_decref(*pointer);
}
static inline void
cleanup_value(void *value)
{
	json_decref(value);
}
static inline void
cleanup_all(void *const *values, size_t count, void (*release)(void *value))
{
	for (size_t i = 0; i < count; i++)
		release(values[i]);
}
static inline void
cleanup_file(FILE **pointer)
{
	if (*pointer)
		fclose(*pointer);
}
static inline void
cleanup_dir(DIR **pointer)
{
	if (*pointer)
		closedir(*pointer);
}
static inline void
cleanup_fd(int *pointer)
{
	if (*pointer >= 0)
		close(*pointer);
}

/* Release several values at once; NULL is allowed. */
#define free_all(...) cleanup_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), free)
#define json_decref_all(...) \
	cleanup_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), cleanup_value)

#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_JSON __attribute__((cleanup(cleanup_json)))
#define AUTO_FILE __attribute__((cleanup(cleanup_file)))
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))
#define AUTO_FD __attribute__((cleanup(cleanup_fd)))

/* Hands a pointer on: the value, and NULL stays behind. */
#define STEAL(pointer) \
	({ \
		__typeof__(pointer) stolen_ = (pointer); \
		(pointer) = NULL; \
		stolen_; \
	})
#define STEAL_FD(fd) \
	({ \
		int stolen_ = (fd); \
		(fd) = -1; \
		stolen_; \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
/* The struct that contains the member at this address. */
#define CONTAINER_OF(address, type, member) ((type *)((char *)(address)-offsetof(type, member)))
