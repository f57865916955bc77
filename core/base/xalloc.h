/* SPDX-License-Identifier: MIT */
/*
 * Memory of the programs. Running out of it ends the process with one sentence: durable state is in the database or
 * with the other side, so the next process continues from there. No caller checks. All [any].
 *
 * Each program gives jansson the same functions at its start (json_set_alloc_funcs(xmalloc, free)), so json_object(),
 * json_set… and json_dumps fail only for what they are given: text that is not UTF-8, a wrong format.
 */
#pragma once

#include <stddef.h>

/* For what a library reports as lack of memory: writes the sentence to stderr and ends the process with status 3. */
void xalloc_fail(void) __attribute__((noreturn));
/* New memory, freed with free(). A size of 0 gives a pointer that may be freed. */
void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Room for count elements; what was there stays. */
void *xreallocarray(void *pointer, size_t count, size_t size) __attribute__((returns_nonnull));
void *xmemdup(const void *data, size_t size) __attribute__((malloc, returns_nonnull));
/* A new struct: its type, then its members as an initializer has them. */
#define xnew(type, ...) ((type *)xmemdup(&(type){__VA_ARGS__}, sizeof(type)))
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *text, size_t max) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));
/* At a program's start: blocks of a MiB or more go back to the system when they are freed, whatever was freed before. */
void xalloc_return_large(void);
/*
 * Gives memory in small blocks back to the system, after a JSON value made of `size` bytes of text is freed. That takes
 * milliseconds, so it does nothing below a MiB.
 */
void xalloc_trim(size_t size);
