/* SPDX-License-Identifier: MIT */
/* Rows of comma-separated values, as profilers write them. */
#include <config.h>

#include "profile/profile.h"

#include <string.h>

/* Unquotes one field in place and goes behind it; returns whether the row goes on. */
static bool
take_field(struct csv *csv, const char **ret_field)
{
	char *to = csv->at;
	bool quoted = false;
	*ret_field = to;
	for (; csv->at < csv->end; csv->at++) {
		char c = *csv->at;
		if (c == '"' && quoted && csv->at + 1 < csv->end && csv->at[1] == '"')
			*to++ = *csv->at++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == csv->separator || c == '\n'))
			break;
		else if (c != '\r' && c != '\0')
			*to++ = c;
	}
	bool more = csv->at < csv->end && *csv->at == csv->separator;
	csv->at += csv->at < csv->end;
	*to = '\0';
	return more;
}

bool
csv_next(struct csv *csv, struct csv_row *ret_row)
{
	const char *field;
	bool more = csv->at < csv->end;
	if (!more)
		return false;
	ret_row->count = 0;
	while (more) {
		more = take_field(csv, &field);
		if (ret_row->count < CSV_MAX_FIELDS)
			ret_row->fields[ret_row->count++] = field;
	}
	return true;
}

/* The column of that name, or -1. */
static int
csv_column(const struct csv_row *header, const char *name)
{
	for (size_t i = 0; i < header->count; i++)
		if (strcmp(header->fields[i], name) == 0)
			return (int)i;
	return -1;
}

bool
csv_columns(const struct csv_row *header, const char *const *names, size_t count, int *ret_columns)
{
	bool all = true;
	for (size_t i = 0; i < count; i++) {
		ret_columns[i] = csv_column(header, names[i]);
		all = all && ret_columns[i] >= 0;
	}
	return all;
}

const char *
csv_field(const struct csv_row *row, int column)
{
	return column >= 0 && (size_t)column < row->count ? row->fields[column] : "";
}
