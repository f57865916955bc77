/* SPDX-License-Identifier: MIT */
/* "Did you mean …": the known name that a mistyped one was meant to be. All [any]. */
#pragma once

#include <jansson.h>

/*
 * The candidate nearest to word, or NULL: at most a third of the word's length (at least one) of letters added, left
 * out, changed or swapped, else the shortest that begins with the word; case does not count. The list ends with NULL. Borrowed from it.
 */
const char *nearest(const char *word, const char *const *candidates);
/* The same over the keys of an object. Borrowed from it. */
const char *nearest_key(const char *word, const json_t *object);
/* The end of a sentence, "%s%s%s", that asks for the near name (a variable, or NULL). */
#define NEAREST_END(near) (near) ? "; did you mean `" : ".", (near) ? (near) : "", (near) ? "`?" : ""
