/* SPDX-License-Identifier: MIT */
/* Text tables: columns aligned by display width, fitted to the terminal. */
#include <config.h>

#include "common/table.h"

#include "base/buf.h"
#include "base/base.h"
#include "common/template.h"
#include "common/wrap.h"

#define TABLE_GAP 2
#define TABLE_LEAST 10 /* columns of a cell that is cut */
#define TABLE_WRAP 24  /* columns of a cell that is wrapped while other columns can be left out */

struct layout {
	const struct table *table;
	size_t widths[TABLE_MAX_COLUMNS]; /* 0: left out */
};

/* Whether cells of a column wrap into further lines: columns that tell the rows apart. */
static bool
is_broken(const struct view_column *column)
{
	return column->cut && column->spare == 0;
}

static const char *
cell(const json_t *row, size_t column)
{
	return json_string_value(json_array_get(row, column));
}

/* Makes an array of strings for each row. */
static json_t *
fill_cells(const struct table *table, const json_t *rows, const json_t *args)
{
	json_t *filled = json_array();
	json_array_each(rows, row) {
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
		size_t width = 0;
		json_array_each(filled, row) {
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

/* The least width of cells, for each kind of column. */
struct least {
	size_t whole, cut, broken;
};

/* Narrows the widest cells until the table fits. false: it does not. */
static bool
shorten(struct layout *layout, size_t width, struct least least)
{
	size_t count = layout->table->count;
	while (total(layout) > width) {
		size_t widest = count;
		for (size_t c = 0; c < count; c++) {
			const struct view_column *column = &layout->table->columns[c];
			size_t limit = is_broken(column) ? least.broken : column->cut ? least.cut : least.whole;
			if (layout->widths[c] > limit && (widest == count || layout->widths[c] > layout->widths[widest]))
				widest = c;
		}
		if (widest == count)
			return false;
		layout->widths[widest]--;
	}
	return true;
}

/* Leaves out the next spare column. false: there is none. */
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

/*
 * Shortens cells, leaves out columns, and in the end cuts cells that should stay whole: no line is wider than the
 * terminal.
 */
static void
fit(struct layout *layout, size_t width)
{
	do {
		struct layout cut = *layout;
		if (shorten(&cut, width, (struct least){SIZE_MAX, TABLE_LEAST, TABLE_WRAP})) {
			*layout = cut;
			return;
		}
	} while (leave_out(layout));
	if (!shorten(layout, width, (struct least){SIZE_MAX, TABLE_LEAST, TABLE_LEAST}))
		(void)shorten(layout, width, (struct least){1, 1, 1});
}

/* Takes the next line from a cell. New string. */
static char *
take_line(const char **cell, bool broken, size_t width)
{
	const char *end = broken ? wrap_end(*cell, width) : *cell + strlen(*cell);
	char *line = xstrndup(*cell, (size_t)(end - *cell));
	*cell = end + strspn(end, " ");
	return line;
}

/* Prints the next line of a row: the next line of each cell. false: nothing follows. */
static bool
print_line(const struct term *term, const struct layout *layout, const char *cells[TABLE_MAX_COLUMNS])
{
	/* Spaces are written only before further text: lines do not end with spaces. */
	size_t space = layout->table->indent;
	bool more = false;
	for (size_t c = 0; c < layout->table->count; c++) {
		const struct view_column *column = &layout->table->columns[c];
		size_t width = layout->widths[c];
		if (width == 0)
			continue;
		AUTO_FREE char *text = take_line(&cells[c], is_broken(column), width);
		more = more || *cells[c];
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
	return more;
}

/* Prints a row of cells, or the titles, without the last newline. */
static void
print_cells(const struct term *term, const struct layout *layout, const json_t *row)
{
	const char *cells[TABLE_MAX_COLUMNS];
	for (size_t c = 0; c < layout->table->count; c++)
		cells[c] = row ? cell(row, c) : layout->table->columns[c].title;
	while (print_line(term, layout, cells))
		fputc('\n', term->out);
}

/* Names the columns of the table that were left out. */
static void
tell_left_out(const struct term *term, const struct layout *whole, const struct layout *layout)
{
	AUTO_BUF struct buf names = {0};
	for (size_t c = 0; c < layout->table->count; c++)
		if (whole->widths[c] > 0 && layout->widths[c] == 0 && *layout->table->columns[c].title)
			buf_printf(&names, "%s%s", names.len ? ", " : "", layout->table->columns[c].title);
	if (names.len == 0)
		return;
	struct wrap_part part;
	struct term below = *term;
	wrap_part_begin(&part, &below);
	fprintf(below.out, "%*s", (int)layout->table->indent, "");
	AUTO_FREE char *text = xasprintf("(too narrow for: %s)", names.data);
	term_put(&below, STYLE_DIM, text);
	fputc('\n', below.out);
	wrap_part_end(&part, false);
}

void
table_print(const struct term *term, const struct table *table, const json_t *rows, const json_t *args)
{
	struct layout layout = {.table = table};
	AUTO_JSON json_t *filled = fill_cells(table, rows, args);
	measure(&layout, filled);
	const struct layout whole = layout;
	if (term->width > 0)
		fit(&layout, term->width);
	term_style(term, STYLE_DIM);
	print_cells(term, &layout, NULL);
	term_style(term, STYLE_NONE);
	fputc('\n', term->out);
	json_array_each_at(filled, i, row) {
		bool marked =
			table->mark && strcasecmp(json_text_or_empty(json_array_get(rows, i), table->mark), table->user) == 0;
		if (marked)
			term_style(term, STYLE_BOLD);
		print_cells(term, &layout, row);
		if (marked)
			term_style(term, STYLE_NONE);
		fputc('\n', term->out);
	}
	tell_left_out(term, &whole, &layout);
}
