/* SPDX-License-Identifier: MIT */
/* Prints answers by the views of the command table: a sentence, a table, a line for each row. */
#pragma once

#include "common/term.h"

#include <jansson.h>

/* Prints an answer. view: from the table, see session/command.h; args: for templates; user: marks this user's rows. */
void view_print(
	const struct term *term, const json_t *view, const json_t *answer, const json_t *args, const char *user);
