/* SPDX-License-Identifier: MIT */
/* Text tables: columns aligned by display width, cut to the terminal. */
#pragma once

#include "base/view_column.h"
#include "common/term.h"

#include <jansson.h>

#define TABLE_MAX_COLUMNS 12

struct table {
	const struct view_column *columns;
	size_t count;
	unsigned indent;
	const char *mark, *user; /* rows whose member `mark` equals user, ignoring case, are bold; NULL: none */
};

/*
 * Prints rows, an array of values from which the columns take their cells. Leaves out a column whose cells are all
 * empty. On a terminal no line is wider than it: cells wrap or are cut, and columns are left out, as view_column says;
 * a line below the table names these columns.
 */
void table_print(const struct term *term, const struct table *table, const json_t *rows, const json_t *args);
/* table_print with the caller's array of columns. */
#define TABLE_PRINT(term, columns_, rows, indent_) \
	table_print(term, \
		&(struct table){ \
			.columns = (columns_), .count = sizeof(columns_) / sizeof((columns_)[0]), .indent = (indent_)}, \
		rows, NULL)
