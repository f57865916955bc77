/* SPDX-License-Identifier: MIT */
/* Where the time of a submission went, for people. */
#include <config.h>

#include "cli/render/render.h"

#include "base/cleanup.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

/* The core's parts, in the order in which they follow each other. */
static const struct part {
	const char *key, *name, *meaning;
} parts[] = {
	{"earlier_ns", "earlier", "attempts that came to nothing"},
	{"queue_ns", "queue", "until a unit of the device was free"},
	{"plan_ns", "plan", "marked as running, and planned"},
	{"transfer_ns", "transfer", "to the machine and back"},
	{"build_ns", "build", "compiled, or found in the cache"},
	{"prepare_ns", "prepare", "prepare steps"},
	{"wait_ns", "wait", "on the machine, for the device or for a turn to build"},
	{"start_ns", "start", "folders and sandboxes made, programs started"},
	{"run_ns", "run", "the task's programs"},
	{"collect_ns", "collect", "sandboxes removed, outputs taken over"},
	{"other_ns", "other", "between the steps"},
	{"record_ns", "record", "until the verdict was stored"},
};

static double
total_of(const json_t *job_parts)
{
	double total = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		total += (double)value_int(job_parts, parts[i].key, 0);
	return total;
}

static void
show_parts(const struct term *term, const json_t *job_parts, double total)
{
	static const struct table_column columns[] = {{.title = "part"}, {.title = "time", .right = true},
		{.title = "share", .right = true}, {.title = "what it was", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char time[FORMAT_SIZE], share[FORMAT_SIZE];
		double ns = (double)value_int(job_parts, parts[i].key, 0);
		if (ns <= 0)
			continue;
		format_ns(ns, time);
		snprintf(share, sizeof(share), "%.1f %%", 100 * ns / total);
		table_row(rows, 4, parts[i].name, time, share, parts[i].meaning);
	}
	table_print(term, columns, ARRAY_SIZE(columns), rows, 2);
}

static void
show_steps(const struct term *term, const json_t *steps)
{
	static const struct table_column columns[] = {{.title = "step", .cut = true}, {.title = "kind"},
		{.title = "at", .right = true}, {.title = "wait", .right = true}, {.title = "start", .right = true},
		{.title = "run", .right = true}, {.title = "total", .right = true}, {.title = ""}};
	static const char *const keys[] = {"at_ns", "wait_ns", "start_ns", "run_ns", "total_ns"};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *step;
	json_array_foreach(steps, i, step) {
		char times[ARRAY_SIZE(keys)][FORMAT_SIZE] = {""};
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			if (value_int(step, keys[k], 0) > 0)
				format_ns((double)value_int(step, keys[k], 0), times[k]);
		table_row(rows, 8, value_text(step, "step"), value_text(step, "kind"), times[0], times[1], times[2], times[3],
			times[4], value_true(step, "cached") ? "cached" : "");
	}
	if (json_array_size(rows) == 0)
		return;
	fputc('\n', term->out);
	table_print(term, columns, ARRAY_SIZE(columns), rows, 2);
}

static void
show_job(const struct term *term, const json_t *job)
{
	char time[FORMAT_SIZE];
	const json_t *timing = json_object_get(job, "timing"), *job_parts = json_object_get(timing, "parts");
	double total = total_of(job_parts);
	term_put(term, STYLE_BOLD, value_text(job, "device"));
	if (total <= 0) {
		bool open = !*value_text(job, "ended");
		fprintf(term->out, "  %s\n", open ? "it has no verdict so far" : "there is no timing of it");
		return;
	}
	format_ns(total, time);
	fprintf(term->out, "  %s from acceptance to verdict\n", time);
	show_parts(term, job_parts, total);
	show_steps(term, json_object_get(timing, "steps"));
}

void
render_timing(struct run *run, const json_t *submission)
{
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(submission, "jobs"), i, job) {
		if (i > 0)
			fputc('\n', run->term.out);
		show_job(&run->term, job);
	}
}
