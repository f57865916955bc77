/* SPDX-License-Identifier: MIT */
/* Text tables: columns aligned by display width, cut to the terminal. */
#include <config.h>

#include "common/table.h"

#include <strings.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/template.h"

#define TABLE_GAP 2
#define TABLE_LEAST 10 /* columns of a cell that is cut */

struct layout {
	const struct table *table;
	size_t widths[TABLE_MAX_COLUMNS]; /* 0: left out */
};

static const char *
cell(const json_t *row, size_t column)
{
	return json_string_value(json_array_get(row, column));
}

/* An array of strings for each row. */
static json_t *
fill_cells(const struct table *table, const json_t *rows, const json_t *args)
{
	json_t *filled = json_array();
	size_t i;
	const json_t *row;
	json_array_foreach(rows, i, row) {
		json_t *cells = json_array();
		for (size_t c = 0; c < table->count; c++) {
			AUTO_FREE char *text = template_text(table->columns[c].cell, row, args);
			json_array_append_new(cells, json_string(text));
		}
		json_array_append_new(filled, cells);
	}
	return filled;
}

static void
measure(struct layout *layout, const json_t *filled)
{
	for (size_t c = 0; c < layout->table->count; c++) {
		size_t i, width = 0;
		const json_t *row;
		json_array_foreach(filled, i, row) {
			size_t w = term_width(cell(row, c));
			width = w > width ? w : width;
		}
		size_t title = term_width(layout->table->columns[c].title);
		layout->widths[c] = width == 0 ? 0 : title > width ? title : width;
	}
}

static size_t
total(const struct layout *layout)
{
	size_t indent = layout->table->indent, sum = indent;
	for (size_t c = 0; c < layout->table->count; c++)
		sum += layout->widths[c] > 0 ? layout->widths[c] + TABLE_GAP : 0;
	return sum > indent ? sum - TABLE_GAP : sum;
}

/* Takes columns off the widest cells, of those that may be cut or of all, until the table fits. false: it does not. */
static bool
shorten(struct layout *layout, size_t width, bool all, size_t least)
{
	size_t count = layout->table->count;
	while (total(layout) > width) {
		size_t widest = count;
		for (size_t c = 0; c < count; c++)
			if ((all || layout->table->columns[c].cut) && layout->widths[c] > least &&
				(widest == count || layout->widths[c] > layout->widths[widest]))
				widest = c;
		if (widest == count)
			return false;
		layout->widths[widest]--;
	}
	return true;
}

/* Leaves out the column whose turn it is. false: none may be. */
static bool
leave_out(struct layout *layout)
{
	const struct view_column *columns = layout->table->columns;
	size_t count = layout->table->count, next = count;
	for (size_t c = 0; c < count; c++)
		if (columns[c].spare > 0 && layout->widths[c] > 0 && (next == count || columns[c].spare < columns[next].spare))
			next = c;
	if (next == count)
		return false;
	layout->widths[next] = 0;
	return true;
}

/* Cuts cells, leaves out columns, and where all that is not enough cuts what should be whole: no line is ever wider. */
static void
fit(struct layout *layout, size_t width)
{
	do {
		struct layout cut = *layout;
		if (shorten(&cut, width, false, TABLE_LEAST)) {
			*layout = cut;
			return;
		}
	} while (leave_out(layout));
	if (!shorten(layout, width, false, TABLE_LEAST))
		(void)shorten(layout, width, true, 1);
}

/* A row of cells, or the titles. */
static void
print_cells(const struct term *term, const struct layout *layout, const json_t *row)
{
	size_t space =
		layout->table->indent; /* owed, and written only if something follows: lines do not end with spaces */
	for (size_t c = 0; c < layout->table->count; c++) {
		const struct view_column *column = &layout->table->columns[c];
		size_t width = layout->widths[c];
		if (width == 0)
			continue;
		const char *text = row ? cell(row, c) : column->title;
		size_t used = term_width(text), pad = used < width ? width - used : 0;
		if (column->right)
			space += pad;
		if (used > 0) {
			fprintf(term->out, "%*s", (int)space, "");
			term_sanitize(term->out, text, width);
			space = 0;
		}
		space += TABLE_GAP + (column->right ? 0 : pad);
	}
}

void
table_print(const struct term *term, const struct table *table, const json_t *rows, const json_t *args)
{
	struct layout layout = {.table = table};
	AUTO_JSON json_t *filled = fill_cells(table, rows, args);
	measure(&layout, filled);
	if (term->width > 0)
		fit(&layout, term->width);
	term_style(term, STYLE_DIM);
	print_cells(term, &layout, NULL);
	term_style(term, STYLE_NONE);
	fputc('\n', term->out);
	size_t i;
	const json_t *row;
	json_array_foreach(filled, i, row) {
		bool marked =
			table->mark && strcasecmp(json_text_or_empty(json_array_get(rows, i), table->mark), table->user) == 0;
		if (marked)
			term_style(term, STYLE_BOLD);
		print_cells(term, &layout, row);
		if (marked)
			term_style(term, STYLE_NONE);
		fputc('\n', term->out);
	}
}
