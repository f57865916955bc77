/* SPDX-License-Identifier: MIT */
/* Text tables: columns aligned by display width, cut to the terminal. */
#include <config.h>

#include "cli/text/table.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"

#define TABLE_GAP 2
#define TABLE_LEAST 8 /* columns of a cell that is cut */

struct layout {
	const struct table_column *columns;
	size_t count;
	size_t widths[TABLE_MAX_COLUMNS]; /* 0: left out */
};

static const char *
cell(const json_t *row, size_t column)
{
	const char *text = json_string_value(json_array_get(row, column));
	return text ? text : "";
}

static void
measure(struct layout *layout, const json_t *rows)
{
	for (size_t c = 0; c < layout->count; c++) {
		size_t i, width = 0;
		const json_t *row;
		json_array_foreach(rows, i, row) {
			size_t w = term_width(cell(row, c));
			width = w > width ? w : width;
		}
		size_t title = term_width(layout->columns[c].title);
		layout->widths[c] = width == 0 ? 0 : title > width ? title : width;
	}
}

static size_t
total(const struct layout *layout, unsigned indent)
{
	size_t sum = indent;
	for (size_t c = 0; c < layout->count; c++)
		sum += layout->widths[c] > 0 ? layout->widths[c] + TABLE_GAP : 0;
	return sum > indent ? sum - TABLE_GAP : sum;
}

/* Takes columns off the widest cell that may be cut until the table fits or nothing more can be done. */
static void
fit(struct layout *layout, unsigned indent, size_t width)
{
	while (total(layout, indent) > width) {
		size_t widest = layout->count;
		for (size_t c = 0; c < layout->count; c++)
			if (layout->columns[c].cut && layout->widths[c] > TABLE_LEAST &&
				(widest == layout->count || layout->widths[c] > layout->widths[widest]))
				widest = c;
		if (widest == layout->count)
			return;
		layout->widths[widest]--;
	}
}

static void
print_cells(const struct term *term, const struct layout *layout, const json_t *row, unsigned indent)
{
	size_t space = indent; /* owed, and written only if something follows: lines do not end with spaces */
	for (size_t c = 0; c < layout->count; c++) {
		size_t width = layout->widths[c];
		if (width == 0)
			continue;
		const char *text = row ? cell(row, c) : layout->columns[c].title;
		size_t used = term_width(text), pad = used < width ? width - used : 0;
		if (layout->columns[c].right)
			space += pad;
		if (used > 0) {
			fprintf(term->out, "%*s", (int)space, "");
			term_sanitize(term->out, text, width);
			space = 0;
		}
		space += TABLE_GAP + (layout->columns[c].right ? 0 : pad);
	}
}

void
table_print(
	const struct term *term, const struct table_column *columns, size_t count, const json_t *rows, unsigned indent)
{
	struct layout layout = {.columns = columns, .count = count};
	measure(&layout, rows);
	if (term->width > 0)
		fit(&layout, indent, term->width);
	term_style(term, STYLE_DIM);
	print_cells(term, &layout, NULL, indent);
	term_style(term, STYLE_NONE);
	fputc('\n', term->out);
	size_t i;
	const json_t *row;
	json_array_foreach(rows, i, row) {
		bool marked = json_array_size(row) > count;
		if (marked)
			term_style(term, STYLE_BOLD);
		print_cells(term, &layout, row, indent);
		if (marked)
			term_style(term, STYLE_NONE);
		fputc('\n', term->out);
	}
}

void
table_row(json_t *rows, size_t count, ...)
{
	json_t *row = json_array();
	va_list args;
	va_start(args, count);
	for (size_t c = 0; c < count; c++) {
		const char *text = va_arg(args, const char *);
		/* What was cut within a character is no text that JSON takes. */
		AUTO_FREE char *clean = text ? term_sanitized(text) : NULL;
		json_array_append_new(row, clean ? json_string(clean) : json_null());
	}
	va_end(args);
	json_array_append_new(rows, row);
}

void
table_mark(json_t *rows)
{
	json_array_append_new(json_array_get(rows, json_array_size(rows) - 1), json_true());
}
