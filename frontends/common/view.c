/* SPDX-License-Identifier: MIT */
/* Prints answers by the views of the command table: a sentence, a table, a line for each row. */
#include <config.h>

#include "common/view.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/table.h"
#include "common/template.h"

#define VIEW_INDENT 2 /* of a table below a sentence */

/* Prints the template as a line, unless its text is empty. */
static void
put_line(const struct term *term, const char *template, const json_t *object, const json_t *args)
{
	AUTO_FREE char *text = template_text(template, object, args);
	if (!*text)
		return;
	template_put(term, template, object, args);
	fputc('\n', term->out);
}

/* Returns the rows of an answer; those of an object have a name and a value. New reference. */
static json_t *
view_rows(const json_t *view, const json_t *answer)
{
	const char *list = json_text_or_null(view, "list");
	json_t *rows = list ? json_object_get(answer, list) : (json_t *)answer, *pairs;
	if (!json_is_object(rows))
		return json_incref(rows);
	pairs = json_array();
	json_object_each(rows, name, value)
		json_array_append_new(pairs, json_pack("{s:s, s:O}", "name", name, "value", value));
	return pairs;
}

static void
put_table(const struct term *term, const json_t *view, const json_t *rows, unsigned indent, const json_t *args,
	const char *user)
{
	struct view_column columns[TABLE_MAX_COLUMNS];
	struct table table = {.columns = columns, .indent = indent, .mark = json_text_or_null(view, "mark"), .user = user};
	json_array_each_at(json_object_get(view, "columns"), i, column)
		if (i < TABLE_MAX_COLUMNS)
			columns[table.count++] = (struct view_column){.title = json_text_or_empty(column, "title"),
				.cell = json_text_or_empty(column, "cell"),
				.right = member_true(column, "right"),
				.cut = member_true(column, "cut"),
				.spare = (unsigned)member_int(column, "spare")};
	table_print(term, &table, rows, args);
}

void
view_print(const struct term *term, const json_t *view, const json_t *answer, const json_t *args, const char *user)
{
	const char *sentence = json_text_or_empty(view, "sentence"), *line = json_text_or_null(view, "line");
	bool table = json_is_array(json_object_get(view, "columns"));
	unsigned indent = *sentence && table ? VIEW_INDENT : 0;
	json_array_each(json_object_get(answer, "remarks"), row) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		put_line(term, "{}", row, NULL);
	}
	put_line(term, sentence, answer, args);
	if (!table && !line)
		return;
	AUTO_JSON json_t *rows = view_rows(view, answer);
	size_t count = json_array_size(rows);
	if (count == 0)
		put_line(term, json_text_or_empty(view, "empty"), answer, args);
	else if (table)
		put_table(term, view, rows, indent, args, user);
	else
		json_array_each(rows, row)
			put_line(term, line, row, args);
	if (count > 0 && (json_int_t)count < member_int(answer, "count"))
		fprintf(term->out, "%*s(%zu of %lld; --limit and --offset show others)\n", (int)indent, "", count,
			(long long)member_int(answer, "count"));
}
