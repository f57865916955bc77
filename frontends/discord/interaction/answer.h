/* SPDX-License-Identifier: MIT */
/* Calls of the core whose answers are shown by the command table alone. Loop thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "discord/interaction/interaction.h"

#define ANSWER_NAME_MAX 80 /* UTF-16 units of a name in an answer */

/* A name that a user chose, for the middle of a message. New string. */
char *answer_name(const char *name);
/* A sentence from elsewhere, escaped. New string. */
char *answer_text(const char *text);
/* A name in bold. New string. */
char *answer_bold(const char *name);
/*
 * A template (common/template.h) filled in from an answer. A text is a name unless its format says otherwise: sentence,
 * date or relative (times as each reader's Discord shows them), or code (it is safe by itself). New string.
 */
char *answer_template(const char *template, const json_t *object);
/* Answers with such a text. */
void answer_say(struct interaction *interaction, const char *template, const json_t *object);

/* Parses the argument of a button to another page, "OFFSET:WHAT". false: it has another form. ret_what is borrowed. */
bool answer_page(const char *arguments, size_t *ret_offset, const char **ret_what);

/*
 * Calls a command and shows its answer by the command table's view: a line as a sentence, several lines as a block of
 * code or, if they are long, as a file of this name.
 */
void answer_call(struct interaction *interaction, const char *command, json_t *args_take, const char *file_name);
/* Calls a command that may fail: then fn gets NULL, and the log gets the reason at debug level. */
void answer_try(struct interaction *interaction, const char *command, json_t *args_take, interaction_fn fn, void *arg);
