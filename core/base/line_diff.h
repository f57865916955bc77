/* SPDX-License-Identifier: MIT */
/* The difference of two texts by lines, in bounded time and memory. [any] */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINE_DIFF_CONTEXT 3 /* lines around a change */

/* A text, NUL-free or not, and what the head of the difference calls it. Borrowed. */
struct line_diff_text {
	const char *name, *data;
	size_t size;
};

struct line_diff {
	char *text;            /* unified, as `diff -u` writes it; "" where both are the same. The caller frees it */
	size_t added, removed; /* lines */
	bool truncated;        /* text ends, after a whole line, before the limit */
};

/*
 * Myers' algorithm in linear space ("An O(ND) Difference Algorithm and Its Variations", 1986), with two limits: the
 * edits of one search, after which it goes on from the furthest point, and the work in all, after which the rest is
 * replaced as a whole. So the result is always right, and the smallest one for texts that people wrote. Takes about a
 * second for two texts of a MiB, whatever they are, and 32 bytes for each line. max_bytes limits text.
 */
void line_diff(
	const struct line_diff_text *before, const struct line_diff_text *after, size_t max_bytes, struct line_diff *ret);
