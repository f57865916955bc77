/* SPDX-License-Identifier: MIT */
/* Where the time of a submission went, for people. */
#include <config.h>

#include "cli/render/render.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "cli/text/format.h"
#include "cli/text/table.h"

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
		total += (double)member_int(job_parts, parts[i].key);
	return total;
}

static void
show_parts(const struct term *term, const json_t *job_parts, double total)
{
	static const struct view_column columns[] = {COLUMN("part", "{part}"), COLUMN_RIGHT("time", "{ns:ns}"),
		COLUMN_RIGHT("share", "{share}"), COLUMN_CUT("what it was", "{meaning}")};
	AUTO_JSON json_t *rows = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char share[FORMAT_SIZE];
		double ns = (double)member_int(job_parts, parts[i].key);
		if (ns <= 0)
			continue;
		snprintf(share, sizeof(share), "%.1f %%", 100 * ns / total);
		json_array_append_new(rows, json_pack("{s:s, s:f, s:s, s:s}", "part", parts[i].name, "ns", ns, "share", share,
										"meaning", parts[i].meaning));
	}
	TABLE_PRINT(term, columns, rows, 2);
}

static void
show_steps(const struct term *term, const json_t *steps)
{
	static const struct view_column columns[] = {COLUMN_CUT("step", "{step}"), COLUMN("kind", "{kind}"),
		COLUMN_RIGHT("at", "{at_ns?{at_ns:ns}}"), COLUMN_RIGHT("wait", "{wait_ns?{wait_ns:ns}}"),
		COLUMN_RIGHT("start", "{start_ns?{start_ns:ns}}"), COLUMN_RIGHT("run", "{run_ns?{run_ns:ns}}"),
		COLUMN_RIGHT("total", "{total_ns?{total_ns:ns}}"), COLUMN("", "{cached?cached}")};
	if (json_array_size(steps) == 0)
		return;
	fputc('\n', term->out);
	TABLE_PRINT(term, columns, steps, 2);
}

static void
show_job(const struct term *term, const json_t *job)
{
	char time[FORMAT_SIZE];
	const json_t *timing = json_object_get(job, "timing"), *job_parts = json_object_get(timing, "parts");
	double total = total_of(job_parts);
	term_put(term, STYLE_BOLD, member_text(job, "device"));
	if (total <= 0) {
		bool open = !*member_text(job, "ended");
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
