/* SPDX-License-Identifier: MIT */
/* Leaderboards and rankings for people. */
#include <config.h>

#include "render_board.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "format.h"
#include "table.h"
#include "value.h"

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
		term_clean(run->term.out, json_string_value(remark), 0);
		fputc('\n', run->term.out);
	}
	fputs("Leaderboard ", run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(result, "name"));
	fputs(" is created: devices ", run->term.out);
	term_clean(run->term.out, devices, 0);
	fprintf(run->term.out, "; deadline %s.\n", deadline);
	return RUN_OK;
}

int
render_board_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "name"}, {.title = "devices", .cut = true},
		{.title = "deadline"}, {.title = "", .cut = false}, {.title = "access"}, {.title = "description", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	AUTO_JSON json_t *boards = render_board_list_json(result);
	size_t i;
	const json_t *board;
	json_array_foreach(boards, i, board) {
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
render_board_list_json(const json_t *result)
{
	const json_t *boards = json_object_get(result, "leaderboards");
	return json_incref((json_t *)(boards ? boards : result));
}

json_t *
render_board_show_json(const json_t *result)
{
	const json_t *entries = json_object_get(result, "entries");
	return json_incref((json_t *)(entries ? entries : result));
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
	char rank[FORMAT_SIZE], score[FORMAT_SIZE], time[FORMAT_SIZE], id[FORMAT_SIZE];
	const char *name = value_text(entry, "user_name");
	double seconds = value_number(entry, "submission_score");
	snprintf(rank, sizeof(rank), "%lld", (long long)value_int(entry, "rank", 0));
	snprintf(id, sizeof(id), "%lld", (long long)value_int(entry, "submission_id", 0));
	format_ns_error(seconds * 1e9, score_error(entry), score);
	format_time(value_text(entry, "submission_time"), time);
	table_row(rows, 6, rank, *name ? name : value_text(entry, "user_id"), score, time, id,
		value_text(entry, "submission_name"));
	if (value_true(entry, "mine") || strcasecmp(name, run->user) == 0)
		table_mark(rows);
}

static void
print_ranking(struct run *run, const json_t *entries, const char *device)
{
	static const struct table_column columns[] = {{.title = "rank", .right = true}, {.title = "user", .cut = true},
		{.title = "score", .right = true}, {.title = "when"}, {.title = "id", .right = true},
		{.title = "file", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *entry;
	json_array_foreach(entries, i, entry)
		if (strcasecmp(value_text(entry, "gpu_type"), device) == 0)
			ranking_row(run, rows, entry);
	fputc('\n', run->term.out);
	term_put(&run->term, STYLE_BOLD, device);
	fputc('\n', run->term.out);
	if (json_array_size(rows) == 0)
		fputs("  nobody is ranked yet\n", run->term.out);
	else
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 2);
}

static void
print_board(struct run *run, const json_t *board)
{
	char deadline[BOARD_TEXT_SIZE];
	deadline_text(board, deadline);
	term_put(&run->term, STYLE_BOLD, value_text(board, "name"));
	fprintf(run->term.out, "  deadline: %s", deadline);
	if (strcmp(value_text(board, "visibility"), "closed") == 0)
		fputs("  closed", run->term.out);
	fputc('\n', run->term.out);
	term_block(run->term.out, value_text(board, "description"), 2, BOARD_DESCRIPTION_LINES);
}

/* The devices to show: the one asked for, the board's, or those that occur. New array. */
static json_t *
devices_shown(struct run *run, const json_t *board, const json_t *entries)
{
	const char *device = value_text(run->args.values, "device");
	json_t *devices = json_array(), *seen = json_object();
	size_t i;
	const json_t *entry;
	if (*device)
		json_array_append_new(devices, json_string(device));
	else if (json_object_get(board, "gpu_types"))
		json_array_extend(devices, json_object_get(board, "gpu_types"));
	json_array_foreach(json_array_size(devices) == 0 ? entries : NULL, i, entry)
		if (!json_object_get(seen, value_text(entry, "gpu_type"))) {
			json_object_set_new(seen, value_text(entry, "gpu_type"), json_true());
			json_array_append(devices, json_object_get(entry, "gpu_type"));
		}
	json_decref(seen);
	return devices;
}

int
render_board_show(struct run *run, const json_t *result)
{
	const json_t *board = json_object_get(result, "leaderboard"), *device;
	AUTO_JSON json_t *entries = render_board_show_json(result);
	AUTO_JSON json_t *devices = devices_shown(run, board, entries);
	size_t i;
	if (board)
		print_board(run, board);
	json_array_foreach(devices, i, device)
		print_ranking(run, entries, json_string_value(device));
	if (json_array_size(devices) == 0)
		fputs("Nobody is ranked yet.\n", run->term.out);
	return RUN_OK;
}

int
render_board_deleted(struct run *run, const json_t *result)
{
	const char *name = value_text(result, "name");
	fputs("Leaderboard ", run->term.out);
	term_put(&run->term, STYLE_BOLD, *name ? name : value_text(run->args.values, "name"));
	fputs(" is deleted.\n", run->term.out);
	return RUN_OK;
}
