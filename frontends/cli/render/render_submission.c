/* SPDX-License-Identifier: MIT */
/* Submissions for people: the report, lists. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define REPORT_LOG_LINES 200
#define REPORT_OUTPUT_LINES 40
#define REPORT_PROFILE_LINES 600 /* of a profiler: launches with all their sections */
#define REPORT_LINE_SIZE 400

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
	const json_t *jobs = json_object_get(result, "jobs"), *job;
	int status = RUN_OK;
	size_t i;
	if (!jobs)
		return status_of_state(value_text(result, "state"));
	/* A submission that failed anywhere failed, whatever a machine could not do elsewhere. */
	json_array_foreach(jobs, i, job) {
		int one = status_of_state(value_text(job, "state"));
		status = one == RUN_FAILED || (one == RUN_ENGINE && status == RUN_OK) ? one : status;
	}
	return status;
}

static enum term_style
style_of(const char *state)
{
	if (strcmp(state, "passed") == 0)
		return STYLE_GREEN;
	return strcmp(state, "queued") == 0 || strcmp(state, "running") == 0 ? STYLE_YELLOW : STYLE_RED;
}

static void
mark_line(const struct term *term, bool passed, unsigned indent, const char *text)
{
	fprintf(term->out, "%*s", (int)indent, "");
	term_put(term, passed ? STYLE_GREEN : STYLE_RED, passed ? "✓" : "✗");
	fputc(' ', term->out);
	term_sanitize(term->out, text, 0);
	fputc('\n', term->out);
}

/* The log of what did not compile, as the compiler gave it. */
static void
report_compilation(const struct term *term, const json_t *job)
{
	size_t i;
	const json_t *step;
	json_array_foreach(json_object_get(job, "compilation"), i, step) {
		if (value_true(step, "passed"))
			continue;
		const char *title = value_text(step, "title"), *output = value_log(step, "stdout"),
				   *errors = value_log(step, "stderr"), *message = value_text(step, "message");
		mark_line(term, false, 2, *title ? title : value_text(step, "step"));
		if (*value_text(step, "command")) {
			fputs("    $ ", term->out);
			term_sanitize(term->out, value_text(step, "command"), 0);
			fputc('\n', term->out);
		}
		/* Of what the compiler says itself the message is only a part. */
		if (strcmp(value_text(step, "state"), "failed") != 0 || !(*output || *errors))
			term_block(term->out, message, 4, REPORT_LOG_LINES);
		term_block(term->out, output, 4, REPORT_LOG_LINES);
		term_block(term->out, errors, 4, REPORT_LOG_LINES);
	}
}

static void
report_tests(const struct term *term, const json_t *result)
{
	json_int_t count = value_count(result, "test-count");
	for (json_int_t i = 0; i < count; i++) {
		const char *status = value_result(result, "test", i, "status"),
				   *error = value_result(result, "test", i, "error"),
				   *message = value_result(result, "test", i, "message"),
				   *spec = value_result(result, "test", i, "spec");
		if (!*status && !*spec)
			break; /* it ended before this one */
		mark_line(term, strcmp(status, "pass") == 0, 4, spec);
		if (!*status)
			fputs("        it did not finish\n", term->out);
		term_block(term->out, error, 8, REPORT_OUTPUT_LINES);
		term_block(term->out, message, 8, REPORT_OUTPUT_LINES);
	}
}

/* Nothing where the harness does not say it. */
static void
benchmark_time(const json_t *result, json_int_t i, const char *what, char text[FORMAT_SIZE])
{
	double ns = value_result_number(result, "benchmark", i, what);
	text[0] = '\0';
	if (isfinite(ns))
		format_ns(ns, text);
}

static void
report_benchmarks(const struct term *term, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "case", .cut = true}, {.title = "mean", .right = true},
		{.title = "ratio", .right = true}, {.title = "raw mean", .right = true}, {.title = "std", .right = true},
		{.title = "best", .right = true}, {.title = "worst", .right = true}, {.title = "runs", .right = true}};
	AUTO_JSON json_t *rows = json_array();
	json_int_t count = value_count(result, "benchmark-count");
	for (json_int_t i = 0; i < count; i++) {
		char mean[FORMAT_SIZE], others[4][FORMAT_SIZE], ratio[FORMAT_SIZE] = "";
		static const char *const times[4] = {"raw-mean", "std", "best", "worst"};
		double ns = value_result_number(result, "benchmark", i, "mean"),
			   quotient = value_result_number(result, "benchmark", i, "ratio");
		if (!isfinite(ns))
			continue;
		format_ns_error(ns, value_result_error(result, i), mean);
		for (size_t k = 0; k < ARRAY_SIZE(times); k++)
			benchmark_time(result, i, times[k], others[k]);
		if (isfinite(quotient))
			snprintf(ratio, sizeof(ratio), "%.4g", quotient);
		table_row(rows, 8, value_result(result, "benchmark", i, "spec"), mean, ratio, others[0], others[1], others[2],
			others[3], value_result(result, "benchmark", i, "runs"));
	}
	if (json_array_size(rows) > 0)
		table_print(term, columns, ARRAY_SIZE(columns), rows, 4);
	for (json_int_t i = 0; i < count; i++) {
		if (strcmp(value_result(result, "benchmark", i, "status"), "fail") != 0)
			continue;
		mark_line(term, false, 4, value_result(result, "benchmark", i, "spec"));
		term_block(term->out, value_result(result, "benchmark", i, "error"), 8, REPORT_OUTPUT_LINES);
	}
}

/* Text as base64 with `*` for `/`, so that it goes on one line; new string, NULL: it is none. */
static char *
decode_report(const char *text)
{
	AUTO_FREE char *coded = strdup(text);
	void *report = NULL;
	size_t size = 0;
	for (char *star = coded; star && (star = strchr(star, '*'));)
		*star = '/';
	if (!coded || !*coded || base64_decode(coded, strlen(coded), &report, &size) < 0)
		return NULL;
	return report;
}

/* What the harness saw by itself, and what the profiler said that it ran under. */
static void
report_profiles(const struct term *term, const json_t *result)
{
	json_int_t count = value_count(result, "benchmark-count");
	for (json_int_t i = 0; i < count; i++) {
		AUTO_FREE char *text = decode_report(value_result(result, "benchmark", i, "report"));
		if (!text)
			continue;
		mark_line(term, true, 4, value_result(result, "benchmark", i, "spec"));
		term_block(term->out, text, 6, REPORT_LOG_LINES);
	}
	AUTO_FREE char *report = decode_report(value_text(result, "profile.report"));
	if (*value_text(result, "profile.trouble")) {
		mark_line(term, false, 4, value_text(result, "profile.tool"));
		term_block(term->out, value_text(result, "profile.trouble"), 6, REPORT_OUTPUT_LINES);
	} else if (report) {
		mark_line(term, true, 4, value_text(result, "profile.tool"));
	}
	if (report)
		term_block(term->out, report, 6, REPORT_PROFILE_LINES);
}

static void
run_title(const json_t *run, char title[REPORT_LINE_SIZE])
{
	const char *mode = value_text(run, "mode");
	char score[FORMAT_SIZE] = "";
	double seconds = value_number(run, "score");
	if (isfinite(seconds))
		format_ns(seconds * 1e9, score);
	snprintf(title, REPORT_LINE_SIZE, "%s%s%s%s", value_true(run, "secret") ? "secret " : "",
		strcmp(mode, "leaderboard") == 0 ? "ranked run" : mode, *score ? "  " : "", score);
}

static void
put_reasons(const struct term *term, const json_t *reasons)
{
	size_t i;
	const json_t *reason;
	json_array_foreach(reasons, i, reason) {
		fputs(i ? ", " : " (", term->out);
		term_sanitize(term->out, json_string_value(reason), 0);
	}
	fputc(')', term->out);
}

/* A device that was slowed down meanwhile: the time is not all the submission's. */
static void
report_throttle(const struct term *term, const json_t *device)
{
	const json_t *before = json_object_get(device, "throttled_before"), *now = json_object_get(device, "throttled");
	if (value_true(device, "repeated")) {
		fputs("      the device was throttled", term->out);
		put_reasons(term, before);
		fputs(", so it was run again\n", term->out);
	}
	if (json_array_size(now) == 0)
		return;
	fputs("      ", term->out);
	term_put(term, STYLE_YELLOW,
		value_true(device, "repeated") ? "the device was throttled this time too" : "the device was throttled");
	put_reasons(term, now);
	fputc('\n', term->out);
}

static void
report_run(const struct term *term, const json_t *run)
{
	char title[REPORT_LINE_SIZE];
	const json_t *result = json_object_get(run, "result");
	bool passed = value_true(run, "passed");
	if (strcmp(value_text(run, "state"), "skipped") == 0)
		return;
	run_title(run, title);
	mark_line(term, passed, 2, title);
	report_throttle(term, json_object_get(run, "device"));
	term_block(term->out, value_text(run, "message"), 6, REPORT_OUTPUT_LINES);
	report_tests(term, result);
	report_benchmarks(term, result);
	report_profiles(term, result);
	if (passed)
		return;
	term_block(term->out, value_log(run, "stdout"), 6, REPORT_OUTPUT_LINES);
	term_block(term->out, value_log(run, "stderr"), 6, REPORT_OUTPUT_LINES);
}

/* The owner's rank on the device; false: this job has no score that could have given one. */
static bool
rank_of(const json_t *job, char text[FORMAT_SIZE])
{
	const json_t *rank = json_object_get(job, "rank");
	json_int_t place = value_int(rank, "rank", 0);
	snprintf(text, FORMAT_SIZE, "rank %lld of %lld", (long long)place, (long long)value_int(rank, "of", 0));
	return place > 0 && json_is_number(json_object_get(job, "score"));
}

static void
job_score(const json_t *job, char text[FORMAT_SIZE])
{
	double score = value_number(job, "score"), low = value_number(job, "low"), high = value_number(job, "high");
	text[0] = '\0';
	if (isfinite(score))
		format_ns_error(score * 1e9, fmax(score - low, high - score) * 1e9, text);
}

/* Whether a step of the job says the same, so that nobody reads it twice. */
static bool
said_below(const json_t *job, const json_t *runs, const char *message)
{
	size_t i;
	const json_t *step;
	json_array_foreach(json_object_get(job, "compilation"), i, step)
		if (!value_true(step, "passed") && strcmp(value_text(step, "message"), message) == 0)
			return true;
	json_array_foreach(runs, i, step)
		if (strcmp(value_text(step, "message"), message) == 0)
			return true;
	return false;
}

static void
report_rerun(const struct term *term, const json_t *job)
{
	const json_t *failed = json_object_get(job, "rerun_failed");
	if (value_true(job, "rerun") && !*value_text(job, "ended"))
		fputs("  this is a rerun: what was there before counts until its verdict\n", term->out);
	if (!failed)
		return;
	fputs("  it was to be run again, and this stays because that said nothing:\n", term->out);
	term_block(term->out, value_text(failed, "error"), 4, REPORT_OUTPUT_LINES);
}

static void
report_job(struct run *run, const json_t *job, const char *device)
{
	const struct term *term = &run->term;
	char score[FORMAT_SIZE], rank[FORMAT_SIZE];
	const char *state = value_text(job, "state"), *error = value_text(job, "error");
	const json_t *runs = json_object_get(job, "runs");
	size_t i;
	const json_t *one;
	fputc('\n', term->out);
	term_put(term, STYLE_BOLD, device);
	fputs("  ", term->out);
	term_put(term, style_of(state), state);
	fputc('\n', term->out);
	report_rerun(term, job);
	if (!said_below(job, runs, error))
		term_block(term->out, error, 2, REPORT_OUTPUT_LINES);
	term_block(term->out, value_text(job, "waits"), 2, REPORT_OUTPUT_LINES);
	report_compilation(term, job);
	json_array_foreach(runs, i, one)
		report_run(term, one);
	job_score(job, score);
	if (*score)
		fprintf(term->out, "  score %s%s%s\n", score, rank_of(job, rank) ? ", " : "", rank_of(job, rank) ? rank : "");
}

/* The last line of a report, the only one with --quiet. */
static void
summary(struct run *run, const char *title, const json_t *jobs)
{
	const struct term *term = &run->term;
	size_t i;
	const json_t *job;
	term_put(term, STYLE_BOLD, title);
	json_array_foreach(jobs, i, job) {
		char score[FORMAT_SIZE], rank[FORMAT_SIZE];
		const char *device = value_text(job, "device"), *state = value_text(job, "state");
		fputs(i > 0 ? "; " : ": ", term->out);
		term_sanitize(term->out, device, 0);
		fputc(' ', term->out);
		term_put(term, style_of(state), state);
		job_score(job, score);
		if (*score)
			fprintf(term->out, ", %s", score);
		if (rank_of(job, rank))
			fprintf(term->out, ", %s", rank);
	}
	fputc('\n', term->out);
}

static void
submission_head(struct run *run, const json_t *submission)
{
	static const char *const keys[] = {"leaderboard_name", "mode", "file_name", "user_name"};
	const struct term *term = &run->term;
	char time[FORMAT_SIZE];
	fprintf(term->out, "Submission %lld", (long long)value_int(submission, "id", 0));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (*value_text(submission, keys[i])) {
			fputs(" · ", term->out);
			term_sanitize(term->out, value_text(submission, keys[i]), 0);
		}
	format_time(value_text(submission, "submission_time"), time);
	fprintf(term->out, " · %s\n", time);
}

int
render_submission_report(struct run *run, const json_t *submission)
{
	char title[FORMAT_SIZE];
	const json_t *jobs = json_object_get(submission, "jobs"), *job;
	size_t i;
	if (!run->quiet) {
		submission_head(run, submission);
		if (json_is_string(json_object_get(submission, "flagged"))) {
			term_put(&run->term, STYLE_RED, "Marked as a cheat. ");
			term_sanitize(run->term.out, value_text(submission, "flagged"), 0);
			fputc('\n', run->term.out);
		}
		json_array_foreach(jobs, i, job)
			report_job(run, job, value_text(job, "device"));
		fputc('\n', run->term.out);
	}
	snprintf(title, sizeof(title), "Submission %lld", (long long)value_int(submission, "id", 0));
	summary(run, title, jobs);
	return render_submission_status(submission);
}

const struct args_option render_submission_options[] = {
	{"code", 0, NULL, "the code that was submitted, and nothing else"},
	{"timing", 0, NULL, "where the time went from acceptance to verdict, and nothing else"},
	{NULL, 0, NULL, NULL},
};

int
render_submission_show(struct run *run, const json_t *result)
{
	if (args_flag(&run->args, "timing"))
		render_timing(run, result);
	else if (!args_flag(&run->args, "code"))
		render_submission_report(run, result);
	else if (run->term.tty)
		term_block(run->term.out, value_text(result, "code"), 0, 0);
	else
		fputs(value_text(result, "code"), run->term.out);
	return RUN_OK;
}

int
render_task_run(struct run *run, const json_t *result)
{
	const char *device = value_text(result, "device");
	AUTO_JSON json_t *jobs = json_pack("[O]", result);
	if (!run->quiet) {
		report_job(run, result, *device ? device : "here");
		if (*value_text(result, "kept")) {
			fputs("  kept in ", run->term.out);
			term_sanitize(run->term.out, value_text(result, "kept"), 0);
			fputc('\n', run->term.out);
		}
		fputc('\n', run->term.out);
	}
	summary(run, "Task run", jobs);
	return render_submission_status(result);
}

/* "CPU 12.3 µs, H100 failed" of a row's runs. */
static void
row_scores(const json_t *submission, char text[REPORT_LINE_SIZE])
{
	size_t i, used = 0;
	const json_t *run;
	text[0] = '\0';
	json_array_foreach(json_object_get(submission, "runs"), i, run) {
		char score[FORMAT_SIZE] = "";
		double seconds = value_number(run, "score");
		if (isfinite(seconds))
			format_ns(seconds * 1e9, score);
		if (used < REPORT_LINE_SIZE)
			used += (size_t)snprintf(text + used, REPORT_LINE_SIZE - used, "%s%s %s", i > 0 ? ", " : "",
				value_text(run, "gpu_type"), *score ? score : value_text(run, "state"));
	}
}

int
render_submission_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "id", .right = true}, {.title = "leaderboard", .cut = true},
		{.title = "file", .cut = true}, {.title = "mode"}, {.title = "when"}, {.title = "state"},
		{.title = "scores", .cut = true}};
	const json_t *row;
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	json_array_foreach(result, i, row) {
		char id[FORMAT_SIZE], time[FORMAT_SIZE], scores[REPORT_LINE_SIZE];
		const char *state = value_text(row, "state");
		snprintf(id, sizeof(id), "%lld", (long long)value_int(row, "id", 0));
		format_time(value_text(row, "submission_time"), time);
		row_scores(row, scores);
		table_row(rows, 7, id, value_text(row, "leaderboard_name"), value_text(row, "file_name"),
			value_text(row, "mode"), time, value_true(row, "flagged") ? "marked as a cheat" : state, scores);
	}
	if (json_array_size(rows) == 0)
		fputs("There is no submission.\n", run->term.out);
	else
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

static int
said(struct run *run, const char *what)
{
	fprintf(run->term.out, "Submission %lld is %s.\n", (long long)value_int(run->args.values, "id", 0), what);
	return RUN_OK;
}

int
render_submission_cancelled(struct run *run, const json_t *result)
{
	(void)result;
	return said(run, "cancelled");
}

int
render_submission_deleted(struct run *run, const json_t *result)
{
	(void)result;
	return said(run, "deleted");
}

int
render_submission_flagged(struct run *run, const json_t *result)
{
	(void)result;
	return said(run, "marked as a cheat and counts no more");
}

int
render_submission_unflagged(struct run *run, const json_t *result)
{
	(void)result;
	return said(run, "no longer marked as a cheat");
}
