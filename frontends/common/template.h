/* SPDX-License-Identifier: MIT */
/* Fills in templates of the command table's views from an answer; session/command.h describes them. */
#ifndef KETTLE_FRONTENDS_COMMON_TEMPLATE_H
#define KETTLE_FRONTENDS_COMMON_TEMPLATE_H

#include "common/term.h"

#include <jansson.h>

/* Writes the template with the members of object. args: for `args.NAME`, or NULL. */
void template_put(const struct term *term, const char *template, const json_t *object, const json_t *args);
/* template_put into a new string, without styles. */
char *template_text(const char *template, const json_t *object, const json_t *args);

#endif
