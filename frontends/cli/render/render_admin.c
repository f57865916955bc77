/* SPDX-License-Identifier: MIT */
/* What whoever runs the engine reads: figures, copies. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/follow.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define ADMIN_KEY_SIZE 300

int
render_admin_accepting(struct run *run, const json_t *result)
{
	fputs(value_true(result, "accepts_jobs") ? "Submissions are accepted.\n"
											 : "No submissions are accepted until `kettle admin start`.\n",
		run->term.out);
	return RUN_OK;
}

/* ---- figures ---- */

static double
figure(const json_t *stats, const char *what, const char *device)
{
	char key[ADMIN_KEY_SIZE];
	snprintf(key, sizeof(key), "%s.%s", what, device);
	return value_number(stats, key);
}

static void
count_cell(const json_t *stats, const char *what, const char *device, char text[FORMAT_SIZE])
{
	snprintf(text, FORMAT_SIZE, "%.0f", figure(stats, what, device));
}

static void
time_cell(const json_t *stats, const char *what, const char *device, char text[FORMAT_SIZE])
{
	format_ns(figure(stats, what, device) * 1e9, text);
}

static void
device_row(json_t *rows, const json_t *stats, const char *device)
{
	char runs[FORMAT_SIZE], passed[FORMAT_SIZE], scored[FORMAT_SIZE], secret[FORMAT_SIZE], longest[FORMAT_SIZE],
		delay[FORMAT_SIZE], total[FORMAT_SIZE];
	count_cell(stats, "num_run", device, runs);
	count_cell(stats, "runs_passed", device, passed);
	count_cell(stats, "runs_scored", device, scored);
	count_cell(stats, "runs_secret", device, secret);
	time_cell(stats, "max_delay", device, longest);
	time_cell(stats, "avg_delay", device, delay);
	time_cell(stats, "total_runtime", device, total);
	table_row(rows, 8, device, runs, passed, scored, secret, delay, longest, total);
}

int
render_admin_stats(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "device"}, {.title = "runs", .right = true},
		{.title = "passed", .right = true}, {.title = "scored", .right = true}, {.title = "secret", .right = true},
		{.title = "waited", .right = true}, {.title = "at most", .right = true}, {.title = "ran", .right = true}};
	static const char prefix[] = "num_run.";
	const json_t *stats = json_object_get(result, "stats");
	FILE *out = run->term.out;
	AUTO_JSON json_t *rows = json_array();
	const char *key;
	json_t *value;
	render_admin_accepting(run, result);
	long long submissions = (long long)value_int(stats, "num_submissions", 0),
			  users = (long long)value_int(stats, "num_users", 0),
			  codes = (long long)value_int(stats, "num_unique_codes", 0);
	fprintf(out, "%lld submission%s (%lld of them open) of %lld user%s, %lld different file%s.\n", submissions,
		submissions == 1 ? "" : "s", (long long)value_int(stats, "sub_waiting", 0), users, users == 1 ? "" : "s", codes,
		codes == 1 ? "" : "s");
	json_object_foreach((json_t *)stats, key, value) {
		if (strncmp(key, prefix, strlen(prefix)) == 0)
			device_row(rows, stats, key + strlen(prefix));
	}
	if (json_array_size(rows) > 0)
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

/* ---- copies ---- */

int
render_admin_backup(struct run *run, const json_t *result)
{
	char size[FORMAT_SIZE];
	format_bytes(value_number(result, "bytes"), size);
	fputs("The database is copied to ", run->term.out);
	term_sanitize(run->term.out, value_text(result, "path"), 0);
	fprintf(run->term.out, ": %s, checked.\n", size);
	return RUN_OK;
}

int
render_admin_export(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "file"}, {.title = "rows", .right = true}};
	AUTO_JSON json_t *rows = json_array();
	const char *name;
	json_t *count;
	json_object_foreach(json_object_get(result, "files"), name, count) {
		char text[FORMAT_SIZE];
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(count));
		table_row(rows, 2, name, text);
	}
	fputs("Written to ", run->term.out);
	term_sanitize(run->term.out, value_text(result, "path"), 0);
	fputs(":\n", run->term.out);
	table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 2);
	return RUN_OK;
}

/* ---- what was freed ---- */

int
render_admin_freed(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {
		{.title = "freed"}, {.title = "how many", .right = true}, {.title = "size", .right = true}};
	static const struct {
		const char *title, *count, *bytes;
	} lines[] = {
		{"files that jobs left", "artifacts", "artifact_bytes"},
		{"logs of jobs", "logs", NULL},
		{"events", "events", NULL},
		{"codes that expired", "tokens", NULL},
		{"contents", "blobs", "blob_bytes"},
		{"folders of the spool", "folders", "folder_bytes"},
		{"of the database", NULL, "database_bytes"},
		{"of its log", NULL, "log_bytes"},
	};
	AUTO_JSON json_t *rows = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char count[FORMAT_SIZE] = "", bytes[FORMAT_SIZE] = "";
		if (lines[i].count)
			snprintf(count, sizeof(count), "%lld", (long long)value_int(result, lines[i].count, 0));
		if (lines[i].bytes)
			format_bytes(value_number(result, lines[i].bytes), bytes);
		table_row(rows, 3, lines[i].title, count, bytes);
	}
	table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

static void
on_done(struct run *run, const struct kettle_error *err, json_t *result)
{
	follow_end(run);
	run_answered(run, err, result);
}

void
render_admin_long_start(struct run *run)
{
	follow_task_run(run);
	run_call(run, value_text(run->command, "name"), run->args.values, on_done);
}
