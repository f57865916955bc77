/* SPDX-License-Identifier: MIT */
/* Text tables: columns aligned by display width, cut to the terminal. */
#ifndef KETTLE_CLI_TABLE_H
#define KETTLE_CLI_TABLE_H

#include "cli/text/term.h"

#include <jansson.h>

#define TABLE_MAX_COLUMNS 12

struct table_column {
	const char *title;
	bool right; /* numbers */
	bool cut;   /* may be shortened when the terminal is too narrow */
};

/*
 * Prints rows, an array of arrays of strings (null: an empty cell; an element beyond the columns marks the row, see
 * table_mark). A column whose cells are all empty is left out. The cells may come from outside.
 */
void table_print(
	const struct term *term, const struct table_column *columns, size_t count, const json_t *rows, unsigned indent);
/* Appends a row of strings, NULL for an empty cell, to rows. The variable arguments are count strings. */
void table_row(json_t *rows, size_t count, ...);
/* Marks the row that was appended last. */
void table_mark(json_t *rows);

#endif
