/* SPDX-License-Identifier: MIT */
/*
 * Messages in Discord's form, made piece by piece. A message is an object with Discord's own members and, beside them,
 * "files": [{"name", "text" or "base64"}], which become uploads when it is sent (interaction/send.h). Custom ids are
 * "verb" or "verb:arguments"; commands/dispatch.c knows the verbs.
 */
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_EPHEMERAL 64 /* flag: only the user of the interaction sees it */
#define MESSAGE_CHOICES_MAX 25

enum message_style { MESSAGE_PRIMARY = 1, MESSAGE_SECONDARY, MESSAGE_SUCCESS, MESSAGE_DANGER };

/* A message with this content in Markdown, in which text from users must be escaped (text/escape.h). New reference. */
json_t *message_new(const char *content);
json_t *message_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *message_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* A message with lines of plain text: as a block of code if they fit, else as a file of this name. New reference. */
json_t *message_block(const char *before, const char *text, const char *file_name);

/* Attaches text as a file. At most ten; further ones are left out. */
void message_file(json_t *message, const char *name, const char *text);
/* Attaches bytes in base64. */
void message_file_base64(json_t *message, const char *name, const char *base64);
/* Adds a button to the last row of buttons, or begins a row. */
void message_button(json_t *message, enum message_style style, const char *label, const char *custom_id);
/*
 * Adds a row with a menu. choices_take: [{"label", "value", "description"?}], at most MESSAGE_CHOICES_MAX; labels and
 * descriptions are cut to Discord's limits. max: how many can be chosen, at least one.
 */
void message_menu(json_t *message, const char *custom_id, const char *placeholder, unsigned max, json_t *choices_take);
/* Choices of a menu whose labels and values are these names, at most MESSAGE_CHOICES_MAX from offset on. New reference. */
json_t *message_names(const json_t *names, size_t offset);
/* Adds buttons for the previous and the next page, "VERB:OFFSET:WHAT"; none if there is only one page. */
void message_pages(json_t *message, const char *verb, const char *what, size_t offset, size_t limit, size_t count);
/* Adds the member with which an edit removes all rows of a message. */
void message_no_rows(json_t *message);
