/* SPDX-License-Identifier: MIT */
/* Prints a submission: the report, and where the time went. */
#include <config.h>

#include "cli/render/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
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
