/* SPDX-License-Identifier: MIT */
/* Splits a long text into messages. All [any]. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define SPLIT_FENCE "```"
#define SPLIT_UNITS 2000 /* of a message, in UTF-16 units, Discord's measure */

/* The UTF-16 units of a text; an invalid byte counts as one. */
size_t split_units(const char *text);
/*
 * Splits markdown into messages of at most SPLIT_UNITS: at ends of lines if possible; a longer line at a space, else
 * anywhere but inside a character or after a backslash. A code block that continues in the next message is closed and
 * opened again there, with its language. Blocks begin and end with ``` at the beginning of a line, as
 * escape_code_block writes them. No message is blank.
 *
 * Returns an array of at most max_messages strings, a new reference. *ret_rest: the text that did not fit, to be
 * attached as a file, a new string; NULL: none.
 */
json_t *split_messages(const char *markdown, size_t max_messages, char **ret_rest);
