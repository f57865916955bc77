/* SPDX-License-Identifier: MIT */
/* Fills in templates of the command table's views from an answer; session/command.h describes them. */
#pragma once

#include "common/term.h"

#include <jansson.h>

/* Writes the template with the members of object. args: for `args.NAME`, or NULL. */
void template_put(const struct term *term, const char *source, const json_t *object, const json_t *args);
/* template_put into a new string, without styles. */
char *template_text(const char *source, const json_t *object, const json_t *args);

/* Makes a text of the object safe for Markdown. format: what follows its name in the template, or "". New string. */
typedef char *(*template_escape)(const char *text, const char *format);
/* template_text for Markdown: {*NAME} is bold. Formats of template_put keep their meaning; escape gets the others. */
char *template_markdown(const char *source, const json_t *object, template_escape escape);
