/* SPDX-License-Identifier: MIT */
/* Prints a submission: the report, and where the time went; two of them side by side. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>

#include "base/base.h"
#include "common/format.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/value.h"
#include "common/table.h"
#include "common/template.h"

#define REASON_LINES 40

static int
status_of_state(const char *state)
{
	if (strcmp(state, "passed") == 0)
		return RUN_OK;
	return strcmp(state, "error") == 0 ? RUN_ENGINE : RUN_FAILED;
}

int
render_submission_status(const json_t *result)
{
	const json_t *jobs = json_object_get(result, "jobs");
	int status = RUN_OK;
	if (!jobs)
		return status_of_state(json_text_or_empty(result, "state"));
	/* A failure on one device counts more than an engine error on another. */
	json_array_each(jobs, job) {
		int one = status_of_state(json_text_or_empty(job, "state"));
		status = one == RUN_FAILED || (one == RUN_ENGINE && status == RUN_OK) ? one : status;
	}
	return status;
}

/* Prints with --quiet why jobs did not pass; otherwise the report has done it. */
static void
quiet_reasons(const struct term *term, const json_t *jobs)
{
	json_array_each(jobs, job)
		if (!member_is(job, "state", "passed"))
			term_block(term->out, json_text_or_empty(job, "error"), 2, REASON_LINES);
}

/*
 * Returns the jobs with the path that the user typed, else the submission's own name, in places of the submission. New
 * reference.
 */
static json_t *
with_paths(const struct run *run, const json_t *result, json_t *jobs)
{
	const char *source = json_text_or_null(result, "source");
	const char *path = run->file ? run->file : json_text_or_null(run->args.values, "file");
	path = path ? path : json_text_or_null(result, "file_name");
	return source && path ? source_path_put_all(jobs, source, path) : json_incref(jobs);
}

/* Whether a run printed something. */
static bool
has_printed(const json_t *jobs)
{
	json_array_each(jobs, job)
		json_array_each(json_object_get(job, "runs"), one)
			if (*value_log(one, "stdout") || *value_log(one, "stderr"))
				return true;
	return false;
}

void
render_submission_report(struct run *run, const json_t *submission)
{
	AUTO_JSON json_t *jobs = with_paths(run, submission, json_object_get(submission, "jobs"));
	if (!run->quiet) {
		report_head(&run->term, submission);
		json_array_each(jobs, job)
			report_job(&run->term, job, json_text_or_empty(job, "device"), args_flag(&run->args, "verbose"));
		fputc('\n', run->term.out);
	}
	if (!run->quiet && has_printed(jobs))
		template_put(&run->term, "`kettle submission show {id} --output` shows what it printed.\n", submission, NULL);
	AUTO_FREE char *title = template_text("Submission {id}{practice? (practice)}", submission, NULL);
	report_summary(&run->term, title, jobs);
	if (run->quiet)
		quiet_reasons(&run->term, jobs);
}

/* ---- where the time went ---- */

static void
show_steps(const struct term *term, const json_t *steps)
{
	static const struct view_column columns[] = {
		COLUMN_CUT("step", "{title=leaderboard?ranked run|{title?{title}|{step}}}"), SPARE_COLUMN(4, "kind", "{kind}"),
		SPARE_COLUMN_RIGHT(1, "at", "{at_ns?{at_ns:ns}}"), SPARE_COLUMN_RIGHT(2, "wait", "{wait_ns?{wait_ns:ns}}"),
		SPARE_COLUMN_RIGHT(3, "start", "{start_ns?{start_ns:ns}}"), COLUMN_RIGHT("run", "{run_ns?{run_ns:ns}}"),
		COLUMN_RIGHT("total", "{total_ns?{total_ns:ns}}"), SPARE_COLUMN(5, "", "{cached?cached}")};
	if (json_array_size(steps) == 0)
		return;
	fputc('\n', term->out);
	TABLE_PRINT(term, columns, steps, 2);
}

/* Whether the job has secret runs, which are in no part. */
static bool
has_secret_runs(const json_t *job)
{
	json_array_each(json_object_get(job, "runs"), run)
		if (json_is_true(json_object_get(run, "secret")))
			return true;
	return false;
}

static void
show_job(const struct term *term, const json_t *job)
{
	static const struct view_column columns[] = {COLUMN_CUT("part", "{name}"), COLUMN_RIGHT("time", "{ns:ns}"),
		COLUMN_RIGHT("share", "{share} %"), COLUMN_CUT("meaning", "{meaning}")};
	char time[FORMAT_SIZE];
	double total = 0;
	const json_t *timing = json_object_get(job, "timing");
	AUTO_JSON json_t *parts = report_timing(timing, &total);
	term_put(term, STYLE_BOLD, json_text_or_empty(job, "device"));
	if (total <= 0) {
		bool open = !*json_text_or_empty(job, "ended");
		fprintf(term->out, "  %s\n", open ? "no verdict yet" : "no timing");
		return;
	}
	format_ns(total, time);
	fprintf(term->out, "  %s from acceptance to verdict%s\n", time,
		has_secret_runs(job) ? ", without the secret runs, whose times are not shown" : "");
	TABLE_PRINT(term, columns, parts, 2);
	show_steps(term, json_object_get(timing, "steps"));
}

/* Prints parts and steps of every job that has them. */
static void
show_timing(struct run *run, const json_t *submission)
{
	json_array_each_at(json_object_get(submission, "jobs"), i, job) {
		if (i > 0)
			fputc('\n', run->term.out);
		show_job(&run->term, job);
	}
}

/* ---- output of the submission's programs ---- */

/* Prints the output of a step, each stream with a title like head(1)'s. false: there is none. */
static bool
put_printed(const struct term *term, const json_t *job, const char *step, const json_t *printed, bool first)
{
	static const char *const streams[] = {"stdout", "stderr"};
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		const char *text = value_log(printed, streams[i]);
		size_t len = strlen(text);
		if (len == 0)
			continue;
		AUTO_FREE char *title = xasprintf("==> %s, %s, %s <==", json_text_or_empty(job, "device"), step, streams[i]);
		fputs(first ? "" : "\n", term->out);
		term_put(term, STYLE_BOLD, title);
		fputc('\n', term->out);
		term_code(term, text);
		if (text[len - 1] != '\n' && !term->tty)
			fputc('\n', term->out);
		first = false;
	}
	return !first;
}

static void
show_output(struct run *run, const json_t *submission)
{
	bool any = false;
	json_array_each(json_object_get(submission, "jobs"), job) {
		json_array_each(json_object_get(job, "compilation"), step)
			any = put_printed(&run->term, job, json_text_or_empty(step, "title"), step, !any) || any;
		json_array_each(json_object_get(job, "runs"), step) {
			AUTO_FREE char *name = report_run_name(step);
			any = put_printed(&run->term, job, name, step, !any) || any;
		}
	}
	if (!any)
		fputs("It printed nothing.\n", run->term.out);
}

/* ---- submission show and task run ---- */

const struct args_option render_submission_options[] = {
	{"code", 0, NULL, "print only the submitted code"},
	{"output", 0, NULL, "print only the output of its compilers and public runs"},
	RENDER_VERBOSE,
	{"timing", 0, NULL, "print only how the time from acceptance to verdict was spent"},
	{NULL, 0, NULL, NULL},
};

static void
show_code(struct run *run, const json_t *submission)
{
	term_code(&run->term, json_text_or_empty(submission, "code"));
}

void
render_submission_show(struct run *run, const json_t *result)
{
	static const struct {
		const char *option;
		void (*show)(struct run *run, const json_t *submission);
	} shows[] = {{"code", show_code}, {"output", show_output}, {"timing", show_timing}};
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++) {
		if (!args_flag(&run->args, shows[i].option))
			continue;
		if (any)
			fputc('\n', run->term.out);
		shows[i].show(run, result);
		any = true;
	}
	if (!any)
		render_submission_report(run, result);
}

void
render_task_run(struct run *run, const json_t *result)
{
	const char *device = json_text_or_empty(result, "device");
	AUTO_JSON json_t *given = json_pack("[O]", result);
	AUTO_JSON json_t *jobs = with_paths(run, result, given);
	if (!run->quiet) {
		report_job(&run->term, json_array_get(jobs, 0), *device ? device : "here", args_flag(&run->args, "verbose"));
		template_put(&run->term, "{kept?  kept in {kept}\n}\n", result, NULL);
	}
	report_summary(&run->term, "Task run", jobs);
}

/* ---- two submissions side by side ---- */

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
