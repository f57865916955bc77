/* SPDX-License-Identifier: MIT */
/* Prints a leaderboard with its rankings, and how its best scores improved. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>

#include "base/base.h"
#include "base/csv.h"
#include "base/ranking_columns.h"
#include "base/text.h"
#include "common/format.h"
#include "common/table.h"
#include "common/template.h"
#include "common/value.h"

/* ---- the best scores over time, for leaderboard show --trend ---- */

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

static void
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
static void
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

/* ---- leaderboards ---- */

#define BOARD_DESCRIPTION_LINES 12

json_t *
render_board_show_json(const json_t *result)
{
	json_t *entries = json_array(), *trends = json_object_get(result, "trends");
	if (trends) {
		json_decref(entries);
		return json_incref(trends);
	}
	json_array_each(json_object_get(result, "rankings"), page)
		json_array_extend(entries, json_object_get(page, "entries"));
	return entries;
}

/* Prints which harness judges, where, and what that leaves open. */
static void
put_judging(const struct term *term, const json_t *board)
{
	AUTO_FREE char *text =
		template_text("{harness=kettle?Harness: kettle.\n}"
					  "{judging@@Judging{kind=any?| on a {kind}}: {by}. Open: {open}.\n}See docs/tasks.md.",
			board, NULL);
	term_block(term->out, text, 2, 0);
}

/* Prints the tools of a device that run submissions to the board, if the device is known. */
static void
put_tools(struct run *run, const char *name, const json_t *tools)
{
	json_array_each(json_object_get(run->args.own, "devices"), device)
		if (strcasecmp(json_text_or_empty(device, "name"), name) == 0)
			render_device_tools(&run->term, device, tools);
}

void
render_board_show(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	const json_t *board = json_object_get(result, "leaderboard");
	if (json_object_get(result, "trends")) {
		render_board_trend(run, result);
		return;
	}
	if (!run->quiet) {
		template_put(term,
			"{*name}  deadline: {deadline?{deadline:time}, {deadline:until}|none}{visibility=closed?  closed}\n", board,
			NULL);
		const char *description = json_text_or_empty(board, "description");
		AUTO_FREE char *joined = term->width > 0 ? format_unwrapped(description) : NULL;
		term_block(term->out, joined ? joined : description, 2, BOARD_DESCRIPTION_LINES);
		if (json_object_get(board, "judging"))
			put_judging(term, board);
		if (member_true(result, "code_open") && !member_is(board, "code", "owner"))
			fputs("  You may read the code of other users: kettle submission show ID --code\n", term->out);
	}
	json_array_each(json_object_get(result, "rankings"), page)
		run_view(run, page);
	json_array_each(json_object_get(result, "rankings"), page)
		put_tools(run, json_text_or_empty(page, "device"), json_object_get(result, "tools"));
}

/* Prints the board and, if device.list has answered, the tools of its devices. */
static void
devices_listed(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *board = json_incref(json_object_get(run->args.own, "board"));
	if (result)
		(void)json_object_set(run->args.own, "devices", (json_t *)result);
	run_result(run, board);
}

const struct args_option render_board_show_options[] = {
	{"format", 0, "table|json|csv", "how to print the rankings; json is the same as --json; default: table"},
	{"trend", 0, NULL, "show instead how the best scores improved over time; with --mine, also your own"},
	{"of", 0, "USER", "with --trend: also for this user"},
	{NULL, 0, NULL, NULL},
};

/* Writes the same columns for all entries. */
static void
put_entries(FILE *out, const json_t *entries)
{
	size_t i = 0;
	do {
		AUTO_JSON json_t *row = json_object();
		const json_t *entry = json_array_get(entries, i);
		for (size_t place = 1; place <= ARRAY_SIZE(ranking_columns); place++)
			for (size_t k = 0; k < ARRAY_SIZE(ranking_columns); k++) {
				json_t *value = json_object_get(entry, ranking_columns[k].name);
				if (ranking_columns[k].csv == place)
					json_object_set_new(row, ranking_columns[k].name, value ? json_incref(value) : json_null());
			}
		if (i == 0)
			csv_put(out, row, true);
		if (entry)
			csv_put(out, row, false);
	} while (++i < json_array_size(entries));
}

/* Prints the answer in the format that the user chose; false: it is the table. */
static bool
formatted(struct run *run, const json_t *result)
{
	static const struct kettle_error unknown = {
		.code = KETTLE_EINVAL, .message = "--format must be table, json or csv."};
	const char *format = args_text(&run->args, "format");
	if (!format || strcmp(format, "table") == 0)
		return false;
	if (strcmp(format, "json") == 0) {
		run->json = true;
		return false;
	}
	if (strcmp(format, "csv") != 0) {
		run_fail(run, &unknown);
		return true;
	}
	AUTO_JSON json_t *entries = render_board_show_json(result);
	if (json_object_get(result, "trends"))
		render_board_trend_csv(run->term.out, result);
	else
		put_entries(run->term.out, entries);
	run_finish(run, RUN_OK);
	return true;
}

void
render_board_show_start(struct run *run)
{
	static const char *const passed[] = {"name", "device", "mine", "limit"};
	struct kettle_error err = {0};
	const char *of = args_text(&run->args, "of");
	const json_t *values = run->args.values;
	bool trend = args_flag(&run->args, "trend"),
		 other = member_true(values, "practice") || json_object_get(values, "offset");
	if ((of && !trend) || (trend && other)) {
		(void)kettle_fail(&err, KETTLE_EINVAL,
			trend ? "--trend cannot be used with --practice or --offset: a trend shows all scores that count."
				  : "--of requires --trend.");
		run_fail(run, &err);
		return;
	}
	if (!trend) {
		run_command(run);
		return;
	}
	AUTO_JSON json_t *args = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		if (json_object_get(values, passed[i]))
			(void)json_object_set(args, passed[i], json_object_get(values, passed[i]));
	if (of)
		(void)json_object_set_new(args, "user", json_pack("[s]", of));
	run_call(run, "leaderboard.trend", args, render_board_show_answer);
}

void
render_board_show_answer(struct run *run, const json_t *result)
{
	if (formatted(run, result))
		return;
	AUTO_JSON json_t *known = json_pack("{s:b}", "known", 1); /* do not wait for a machine's answer */
	if (run->json || run->quiet || json_object_get(result, "trends")) {
		run_result(run, result);
		return;
	}
	(void)json_object_set(run->args.own, "board", (json_t *)result);
	run_try(run, "device.list", known, devices_listed);
}

void
render_board_limits_start(struct run *run)
{
	const json_t *values = run->args.values;
	if (json_object_get(values, "per_hour") || member_true(values, "remove")) {
		run_command(run);
		return;
	}
	AUTO_JSON json_t *args = json_copy(run->args.values);
	json_object_del(args, "remove");
	run_call(run, "leaderboard.rate_limits", args, run_result);
}
