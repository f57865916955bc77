/* SPDX-License-Identifier: MIT */
/* Prints two submissions side by side. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/format.h"
#include "common/table.h"
#include "common/template.h"
#include "common/value.h"

#define NS_PER_S 1e9

static enum term_style
style_of_line(const char *line)
{
	if (strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0)
		return STYLE_BOLD;
	return *line == '+' ? STYLE_GREEN : *line == '-' ? STYLE_RED : *line == '@' ? STYLE_DIM : STYLE_NONE;
}

/*
 * Prints the difference: unchanged without a terminal, so that it can be applied; on one with colours and without
 * control characters.
 */
static void
put_diff(const struct term *term, const char *text)
{
	if (!term->tty) {
		fputs(text, term->out);
		return;
	}
	while (*text) {
		size_t len = strcspn(text, "\n");
		AUTO_FREE char *line = strndup(text, len);
		term_put(term, style_of_line(line ? line : ""), line ? line : "");
		fputc('\n', term->out);
		text += len + (text[len] == '\n');
	}
}

/* Makes a time of a or b with its interval: "1.234 ± 0.002 ms"; "–": none. */
static json_t *
time_text(const json_t *side, const char *value)
{
	char text[FORMAT_SIZE];
	double middle = value_number(side, value), low = value_number(side, "low"), high = value_number(side, "high");
	format_ns_error(middle * NS_PER_S, fmax(middle - low, high - middle) * NS_PER_S, text);
	return json_string(text);
}

/* Makes a row of the table from a row of the answer; `value` of a and b are its times. */
static json_t *
table_row(const char *spec, const json_t *row, const char *value)
{
	AUTO_FREE char *change = template_text("{percent:change}{significant?, significant}", row, NULL);
	return json_pack("{s:s, s:o, s:o, s:s}", "case", spec, "a", time_text(json_object_get(row, "a"), value), "b",
		time_text(json_object_get(row, "b"), value), "change", change);
}

static void
put_device(const struct term *term, const json_t *result, const json_t *device)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE];
	snprintf(a, sizeof(a), "#%lld", (long long)member_int(json_object_get(result, "a"), "id"));
	snprintf(b, sizeof(b), "#%lld", (long long)member_int(json_object_get(result, "b"), "id"));
	const struct view_column columns[] = {
		COLUMN_CUT("case", "{case}"), COLUMN_RIGHT(a, "{a}"), COLUMN_RIGHT(b, "{b}"), COLUMN("change", "{change}")};
	AUTO_JSON json_t *rows = json_array();
	fputc('\n', term->out);
	template_put(term, "{*device}{run?  {run}}\n", device, NULL);
	json_array_each(json_object_get(device, "cases"), one)
		json_array_append_new(rows, table_row(json_text_or_empty(one, "spec"), one, "mean"));
	json_array_append_new(rows, table_row("score", device, "score"));
	TABLE_PRINT(term, columns, rows, 2);
}

static void
put_head(const struct term *term, const char *name, const json_t *side)
{
	term_put(term, STYLE_BOLD, name);
	template_put(term,
		" {id} · {leaderboard_name} · {mode}{practice? · practice} · {file_name} · {user_name} · "
		"{submission_time:time}\n",
		side, NULL);
}

void
render_submission_diff(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	if (!run->quiet) {
		put_head(term, "a", json_object_get(result, "a"));
		put_head(term, "b", json_object_get(result, "b"));
		fputc('\n', term->out);
	}
	put_diff(term, json_text_or_empty(result, "diff"));
	if (!*json_text_or_empty(result, "diff"))
		fputs("The code is the same.\n", term->out);
	if (member_true(result, "truncated"))
		fputs("The difference is longer; only its beginning is shown.\n", term->out);
	if (run->quiet)
		return;
	json_array_each(json_object_get(result, "devices"), device)
		put_device(term, result, device);
	if (json_array_size(json_object_get(result, "devices")) == 0)
		fputs("\nTimes of different leaderboards are not compared.\n", term->out);
	else if (!member_true(result, "cases_shown"))
		fputs("\nOnly the users who submitted them and the leaderboard's creator can see the times of the cases.\n",
			term->out);
}
