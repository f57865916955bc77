/* SPDX-License-Identifier: MIT */
/* Leaderboards and rankings for people. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define BOARD_TEXT_SIZE 300
#define BOARD_DESCRIPTION_LINES 12

/* "A, B" of an array of strings. */
static void
join(const json_t *names, char *text, size_t size)
{
	size_t i, used = 0;
	const json_t *name;
	text[0] = '\0';
	json_array_foreach(names, i, name)
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", json_string_value(name));
}

/* "2026-07-01 23:59 UTC, in 3 days"; "none" without a deadline. */
static void
deadline_text(const json_t *board, char text[BOARD_TEXT_SIZE])
{
	const char *deadline = value_text(board, "deadline");
	char time[FORMAT_SIZE], relative[FORMAT_SIZE];
	int64_t ms;
	if (!*deadline) {
		snprintf(text, BOARD_TEXT_SIZE, "none");
		return;
	}
	format_time(deadline, time);
	if (!format_parse_time(deadline, &ms))
		ms = 0;
	format_relative(ms, format_now(), relative);
	snprintf(text, BOARD_TEXT_SIZE, ms ? "%s, %s" : "%s", time, relative);
}

int
render_board_created(struct run *run, const json_t *result)
{
	char devices[BOARD_TEXT_SIZE], deadline[BOARD_TEXT_SIZE];
	size_t i;
	const json_t *remark;
	join(json_object_get(result, "gpu_types"), devices, sizeof(devices));
	deadline_text(result, deadline);
	json_array_foreach(json_object_get(result, "remarks"), i, remark) {
		term_put(&run->term, STYLE_YELLOW, "Remark: ");
		term_sanitize(run->term.out, json_string_value(remark), 0);
		fputc('\n', run->term.out);
	}
	fputs("Leaderboard ", run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(result, "name"));
	fputs(" is created: devices ", run->term.out);
	term_sanitize(run->term.out, devices, 0);
	fprintf(run->term.out, "; deadline %s.\n", deadline);
	return RUN_OK;
}

int
render_board_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "name"}, {.title = "devices", .cut = true},
		{.title = "deadline"}, {.title = "", .cut = false}, {.title = "access"}, {.title = "description", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *board;
	json_array_foreach(result, i, board) {
		char devices[BOARD_TEXT_SIZE], deadline[BOARD_TEXT_SIZE], line[BOARD_TEXT_SIZE];
		const char *description = value_text(board, "description"), *access = value_text(board, "visibility");
		join(json_object_get(board, "gpu_types"), devices, sizeof(devices));
		deadline_text(board, deadline);
		char *comma = strchr(deadline, ',');
		if (comma)
			*comma = '\0';
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(description, "\n"), description);
		table_row(rows, 6, value_text(board, "name"), devices, deadline, comma ? comma + 2 : NULL,
			strcmp(access, "closed") == 0 ? access : NULL, line);
	}
	if (json_array_size(rows) == 0)
		fputs("There is no leaderboard; `kettle leaderboard create NAME --task PATH` makes one.\n", run->term.out);
	else
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

json_t *
render_board_show_json(const json_t *result)
{
	json_t *entries = json_array();
	size_t i;
	const json_t *page;
	json_array_foreach(json_object_get(result, "rankings"), i, page)
		json_array_extend(entries, json_object_get(page, "entries"));
	return entries;
}

/* The interval of a score where it is known: half its width, or the side that is farther. */
static double
score_error(const json_t *entry)
{
	double score = value_number(entry, "submission_score"), low = value_number(entry, "low"),
		   high = value_number(entry, "high");
	return fmax(score - low, high - score) * 1e9;
}

static void
ranking_row(struct run *run, json_t *rows, const json_t *entry)
{
	char rank[FORMAT_SIZE] = "", score[FORMAT_SIZE], time[FORMAT_SIZE], id[FORMAT_SIZE];
	const char *name = value_text(entry, "user_name");
	double seconds = value_number(entry, "submission_score");
	json_int_t place = value_int(entry, "rank", 0);
	if (place > 0)
		snprintf(rank, sizeof(rank), "%s%lld", value_true(entry, "close") ? "≈ " : "", (long long)place);
	snprintf(id, sizeof(id), "%lld", (long long)value_int(entry, "submission_id", 0));
	format_ns_error(seconds * 1e9, score_error(entry), score);
	format_time(value_text(entry, "submission_time"), time);
	table_row(rows, 6, rank, *name ? name : value_text(entry, "user_id"), score, time, id,
		value_text(entry, "submission_name"));
	if (value_true(entry, "mine") || strcasecmp(name, run->user) == 0)
		table_mark(rows);
}

/* One device's page. */
static void
print_ranking(struct run *run, const json_t *page)
{
	static const struct table_column columns[] = {{.title = "rank", .right = true}, {.title = "user", .cut = true},
		{.title = "score", .right = true}, {.title = "when"}, {.title = "id", .right = true},
		{.title = "file", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	json_int_t count = value_int(page, "count", 0);
	size_t i;
	const json_t *entry;
	json_array_foreach(json_object_get(page, "entries"), i, entry)
		ranking_row(run, rows, entry);
	fputc('\n', run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(page, "device"));
	fputc('\n', run->term.out);
	if (json_array_size(rows) > 0)
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 2);
	else
		fputs(value_true(run->args.values, "mine") ? "  you are not ranked here\n" : "  nobody is ranked here\n",
			run->term.out);
	if (json_array_size(rows) > 0 && (json_int_t)json_array_size(rows) < count)
		fprintf(run->term.out, "  (%zu of %lld; --limit and --offset show others)\n", json_array_size(rows),
			(long long)count);
}

static void
print_board(struct run *run, const json_t *board, bool code_open)
{
	char deadline[BOARD_TEXT_SIZE];
	deadline_text(board, deadline);
	term_put(&run->term, STYLE_BOLD, value_text(board, "name"));
	fprintf(run->term.out, "  deadline: %s", deadline);
	if (strcmp(value_text(board, "visibility"), "closed") == 0)
		fputs("  closed", run->term.out);
	fputc('\n', run->term.out);
	term_block(run->term.out, value_text(board, "description"), 2, BOARD_DESCRIPTION_LINES);
	if (code_open && strcmp(value_text(board, "code"), "owner") != 0)
		fputs("  The code of others is open here: kettle submission show ID --code\n", run->term.out);
}

int
render_board_show(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *page;
	if (!run->quiet)
		print_board(run, json_object_get(result, "leaderboard"), value_true(result, "code_open"));
	json_array_foreach(json_object_get(result, "rankings"), i, page)
		print_ranking(run, page);
	return RUN_OK;
}

/* Of the board's devices what is known of them; that nothing is known of them is no error of this. */
static void
devices_listed(struct run *run, const struct kettle_error *err, json_t *result)
{
	const json_t *names = json_object_get(run->args.own, "devices"), *name, *device;
	size_t i, j;
	json_array_foreach(names, i, name)
		json_array_foreach(result, j, device)
			if (!(err && err->code) && strcasecmp(value_text(device, "name"), json_string_value(name)) == 0)
				render_device_tools(&run->term, device);
	run_finish(run, RUN_OK);
}

static void
on_shown(struct run *run, const struct kettle_error *err, json_t *result)
{
	AUTO_JSON json_t *known = json_pack("{s:b}", "known", 1); /* a ranking waits for no machine */
	json_t *names = json_array();
	size_t i;
	const json_t *page;
	if ((err && err->code) || run->json || run->quiet) {
		json_decref(names);
		run_answered(run, err, result);
		return;
	}
	render_board_show(run, result);
	fflush(run->term.out);
	json_array_foreach(json_object_get(result, "rankings"), i, page)
		json_array_append(names, json_object_get(page, "device"));
	json_object_set_new(run->args.own, "devices", names);
	run_call(run, "device.list", known, devices_listed);
}

void
render_board_show_start(struct run *run)
{
	run_call(run, value_text(run->command, "name"), run->args.values, on_shown);
}

int
render_board_deleted(struct run *run, const json_t *result)
{
	json_int_t submissions = value_int(result, "submissions", 0);
	fputs("Leaderboard ", run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(result, "name"));
	fputs(" is deleted", run->term.out);
	if (submissions > 0)
		fprintf(run->term.out, ", with %lld submission%s", (long long)submissions, submissions == 1 ? "" : "s");
	fputs(".\n", run->term.out);
	return RUN_OK;
}
