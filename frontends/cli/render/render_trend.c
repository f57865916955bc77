/* SPDX-License-Identifier: MIT */
/* Prints how the best scores of a leaderboard improved. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/csv.h"
#include "base/json_access.h"
#include "base/text.h"
#include "common/format.h"
#include "common/table.h"
#include "common/template.h"
#include "common/value.h"

#define NS_PER_S 1e9
#define SPARKLINE_WIDTH 32
#define SPARKLINE_LEAST 8

static int64_t
time_of(const json_t *point)
{
	int64_t ms = 0;
	(void)format_parse_time(json_text_or_empty(point, "time"), &ms);
	return ms;
}

/* Returns the height of a score between two others, from 0 to 1, by its logarithm. */
static double
height_of(double score, double lowest, double highest)
{
	return lowest > 0 && highest > lowest ? log(score / lowest) / log(highest / lowest) : 0;
}

/* Prints the best score over time, from the first point to the last, as bars of equal time. */
static void
put_sparkline(const struct term *term, const json_t *points, unsigned width)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	size_t count = json_array_size(points), at = 0;
	const json_t *first = json_array_get(points, 0), *last = json_array_get(points, count - 1);
	double highest = value_number(first, "score"), lowest = value_number(last, "score");
	int64_t begin = time_of(first), end = time_of(last);
	for (int64_t i = 0; i < width; i++) {
		int64_t until = begin + (end - begin) * i / (width - 1);
		while (at + 1 < count && time_of(json_array_get(points, at + 1)) <= until)
			at++;
		double height = height_of(value_number(json_array_get(points, at), "score"), lowest, highest);
		fputs(bars[(size_t)fmin(fmax(height, 0) * ARRAY_SIZE(bars), ARRAY_SIZE(bars) - 1)], term->out);
	}
}

/* Returns each point with the difference to the one before it. New reference. */
static json_t *
trend_rows(const json_t *points)
{
	json_t *rows = json_array();
	double before = NAN;
	json_array_each(points, point) {
		char score[FORMAT_SIZE], change[FORMAT_SIZE] = "";
		double seconds = value_number(point, "score");
		format_ns(seconds * NS_PER_S, score);
		if (before > 0)
			format_change(100 * (seconds - before) / before, change);
		json_t *row = json_copy(point);
		(void)json_object_update_new(row, json_pack("{s:s, s:s}", "shown", score, "change", change));
		(void)json_array_append_new(rows, row);
		before = seconds;
	}
	return rows;
}

static void
put_series(struct run *run, const json_t *series)
{
	static const struct view_column columns[] = {COLUMN("when", "{time:time}"), COLUMN_RIGHT("score", "{shown}"),
		COLUMN_RIGHT("change", "{change}"), COLUMN_CUT("user", "{user_name}"), COLUMN_RIGHT("id", "{submission_id}")};
	const json_t *points = json_object_get(series, "points");
	AUTO_JSON json_t *rows = trend_rows(points);
	AUTO_FREE char *name = template_text("  {user_name?{user_name}|best of all users}  ", series, NULL);
	unsigned used = (unsigned)term_width(name), columns_left = run->term.width > used ? run->term.width - used : 0;
	unsigned width = run->term.width == 0 || columns_left > SPARKLINE_WIDTH ? SPARKLINE_WIDTH : columns_left;
	template_put(&run->term, "  {user_name?{*user_name}|best of all users}", series, NULL);
	if (json_array_size(points) == 0) {
		fputs("  no ranked run\n", run->term.out);
		return;
	}
	if (json_array_size(points) > 1) {
		fputs("  ", run->term.out);
		put_sparkline(&run->term, points, width > SPARKLINE_LEAST ? width : SPARKLINE_LEAST);
	}
	fputc('\n', run->term.out);
	if ((size_t)member_int(series, "count") > json_array_size(points))
		fprintf(run->term.out, "    the last %zu of %lld improvements\n", json_array_size(points),
			(long long)member_int(series, "count"));
	TABLE_PRINT(&run->term, columns, rows, 4);
}

void
render_board_trend(struct run *run, const json_t *result)
{
	if (!run->quiet)
		template_put(&run->term, "{*leaderboard}  the best score over time\n", result, NULL);
	json_array_each(json_object_get(result, "trends"), trend) {
		template_put(&run->term, "\n{*device}\n", trend, NULL);
		json_array_each(json_object_get(trend, "series"), series)
			put_series(run, series);
	}
}

/* Prints a line for each point; `series`: the user whose best score it is, empty for the best of all. */
void
render_board_trend_csv(FILE *out, const json_t *result)
{
	AUTO_JSON json_t *names = json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "gpu_type", "series", "submission_time",
		"submission_score", "user_id", "user_name", "submission_id");
	csv_put(out, names, true);
	json_array_each(json_object_get(result, "trends"), trend)
		json_array_each(json_object_get(trend, "series"), series)
			json_array_each(json_object_get(series, "points"), point) {
				AUTO_JSON json_t *row = json_pack("{s:O, s:O, s:O, s:O, s:O, s:O, s:O}", "gpu_type",
					json_object_get(trend, "device"), "series", json_object_get(series, "user_name"), "submission_time",
					json_object_get(point, "time"), "submission_score", json_object_get(point, "score"), "user_id",
					json_object_get(point, "user_id"), "user_name", json_object_get(point, "user_name"),
					"submission_id", json_object_get(point, "submission_id"));
				csv_put(out, row, false);
			}
}
