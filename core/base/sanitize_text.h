/* SPDX-License-Identifier: MIT */
/* Text from outside that will be shown to others: names, reasons, descriptions. All [any]. */
#ifndef KETTLE_BASE_SANITIZE_TEXT_H
#define KETTLE_BASE_SANITIZE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One line of at most max_characters: valid UTF-8, no control characters, nothing invisible and nothing that changes
 * the direction of writing (utf8_is_invisible), blanks joined to single spaces and taken from the ends. Joiners of
 * emoji are invisible too: a sequence becomes its parts. New string, possibly empty.
 */
char *sanitize_line(const char *text, size_t max_characters);
/* The same for a text of several lines, which keep their ends and their indentation. */
char *sanitize_text(const char *text, size_t max_characters);

#endif
