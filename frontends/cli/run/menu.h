/* SPDX-License-Identifier: MIT */
/* Questions with options, of which the user of a terminal names some by number or by name. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Lists the options (names) by number, with the question below. */
void menu_put(FILE *out, const json_t *options, const char *question);
/* Says that a line names none of the options, before they are shown again. */
void menu_say_unknown(FILE *out, const char *line);
/* The option that a word names; NULL: none. Borrowed. */
const char *menu_option(const char *word, const json_t *options);
/* The same for the only word of a line. */
const char *menu_typed(const char *line, const json_t *options);
