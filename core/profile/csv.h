/* SPDX-License-Identifier: MIT */
/* Rows of comma-separated values, as profilers write them; whatever the bytes are, there are rows of bounded size. */
#ifndef KETTLE_PROFILE_CSV_H
#define KETTLE_PROFILE_CSV_H

#include <stdbool.h>
#include <stddef.h>

#define CSV_MAX_FIELDS 64 /* of a row; further ones are passed over */

/* Where the reading is, in bytes with a NUL behind them that it writes into. */
struct csv {
	char *at, *end;
	char separator;
};

struct csv_row {
	const char *fields[CSV_MAX_FIELDS]; /* unquoted, NUL-terminated; they lie in the bytes that are read */
	size_t count;
};

/* The next row; false: there is none. A quoted field may hold separators and newlines, and `""` is a quote. */
bool csv_next(struct csv *csv, struct csv_row *ret_row);
/* The column of that name in a header, or -1. */
int csv_column(const struct csv_row *header, const char *name);
/* The field of a column (-1: none); "" where the row does not have it. */
const char *csv_field(const struct csv_row *row, int column);

#endif
