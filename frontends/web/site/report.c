/* SPDX-License-Identifier: MIT */
/* The report of a submission for its page. */
#include <config.h>

#include "web/site/report.h"

#include "base/base.h"
#include "base/popcorn_header.h"
#include "base/utf8.h"
#include "common/condense.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/value.h"

#define OUTPUT_MAX (64u << 10)  /* bytes that are shown of what a program wrote */
#define ERRORS_MAX (256u << 10) /* ... of which repeated tracebacks are removed */
#define CASES_MAX 1000          /* that are shown of a run */

/* The source of the parts. */
struct source {
	const char *name, *file_name; /* of the file in the job's folder, and as the user knows it */
	const json_t *best, *first;   /* the devices' entries of the comparisons, or NULL */
};

json_t *
report_cut(const char *text, size_t max)
{
	size_t len = strlen(text), shown = utf8_cut(text, len, max);
	return json_pack("{s:s%, s:b}", "text", text, shown, "cut", shown < len);
}

json_t *
report_directives(const char *code, size_t size)
{
	AUTO_JSON json_t *header = NULL;
	struct kettle_error err = {0};
	if (popcorn_header_parse(code, size, &header, &err) < 0 || json_object_size(header) == 0)
		return json_null();
	return json_pack("{s:O?, s:O?, s:O?}", "leaderboard", json_object_get(header, "leaderboard"), "gpus",
		json_object_get(header, "gpus"), "remarks", json_object_get(header, "remarks"));
}

/* ---- logs ---- */

/* An output, where places in the submitted file are parts of their own. New reference; null: it is empty. */
static json_t *
log_of(const struct source *source, const char *output)
{
	if (!*output)
		return json_null();
	AUTO_JSON json_t *cut = report_cut(output, OUTPUT_MAX);
	return json_pack("{s:o, s:b}", "parts",
		source_path_parts(json_text_or_empty(cut, "text"), source->name, source->file_name), "cut",
		member_true(cut, "cut"));
}

/* A step or a run with what it wrote, each traceback once. New reference. */
static json_t *
with_logs(const struct source *source, const json_t *ran)
{
	json_t *view = json_copy((json_t *)ran);
	AUTO_JSON json_t *cut = report_cut(value_log(ran, "stderr"), ERRORS_MAX);
	AUTO_FREE char *errors = condense_tracebacks(json_text_or_empty(cut, "text"));
	json_object_update_new(
		view, json_pack("{s:o, s:o}", "out", log_of(source, value_log(ran, "stdout")), "err", log_of(source, errors)));
	return view;
}

/* The steps of which something is to be said. New reference. */
static json_t *
compiler_of(const struct source *source, const json_t *steps)
{
	json_t *list = json_array();
	json_array_each(steps, step) {
		bool passed = member_true(step, "passed");
		if (passed && !*value_log(step, "stdout") && !*value_log(step, "stderr"))
			continue;
		json_t *view = with_logs(source, step);
		json_object_set_new(view, "says", json_boolean(!passed && report_step_says(step)));
		json_array_append_new(list, view);
	}
	return list;
}

/* ---- cases ---- */

/* The cases of a comparison, where they are those of this run; NULL: they are not. */
static const json_t *
compared_with(const json_t *device, const json_t *run)
{
	const char *mode = json_text_or_empty(run, "mode");
	const json_t *cases = json_object_get(device, "cases");
	bool is_run = member_is(device, "run", strcmp(mode, "leaderboard") == 0 ? "ranked" : mode);
	return is_run && json_array_size(cases) > 0 ? cases : NULL;
}

/* The tests of a run, failed ones first. New reference. */
static json_t *
tests_of(const json_t *result, size_t *ret_failed)
{
	AUTO_JSON json_t *tests = report_cases(result, "test", CASES_MAX), *passed = json_array();
	json_t *failed = json_array();
	json_array_each(tests, test)
		json_array_append(member_is(test, "status", "pass") ? passed : failed, test);
	*ret_failed = json_array_size(failed);
	json_array_extend(failed, passed);
	return failed;
}

/* A text that a harness or profiler has encoded. New reference; null: none. */
static json_t *
decoded(const char *coded)
{
	AUTO_FREE char *text = report_decode(coded);
	json_t *cut = text ? report_cut(text, OUTPUT_MAX) : NULL;
	return cut ? cut : json_null(); /* it may be no UTF-8 */
}

static json_t *
cases_of(const json_t *run, const json_t *best, const json_t *first)
{
	json_t *cases = report_benchmark_cases(run, CASES_MAX);
	json_array_each(cases, one) {
		const char *spec = json_text_or_empty(one, "spec");
		json_object_update_new(
			one, json_pack("{s:o, s:O?, s:O?}", "profile", decoded(json_text_or_empty(one, "report")), "to_best",
					 list_find(best, "spec", spec), "to_first", list_find(first, "spec", spec)));
	}
	return cases;
}

/* ---- runs ---- */

/* job: whose error is not said again, nor what the cases say. */
static json_t *
run_of(const struct source *source, const json_t *job, const json_t *run)
{
	size_t failed = 0;
	const json_t *result = json_object_get(run, "result"), *best = compared_with(source->best, run),
				 *first = compared_with(source->first, run);
	const char *message = json_text_or_empty(run, "message");
	bool is_said = strcmp(message, json_text_or_empty(job, "error")) == 0 || report_is_said_by_cases(run);
	AUTO_FREE char *name = report_run_name(run);
	json_t *view = with_logs(source, run), *tests = tests_of(result, &failed);
	json_object_update_new(
		view, json_pack("{s:s, s:O?, s:s, s:o, s:I, s:o, s:b, s:b, s:b, s:o, s:s, s:s}", "name", name, "throttled",
				  json_object_get(json_object_get(run, "device"), "throttled"), "message", is_said ? "" : message,
				  "tests", tests, "failed", (json_int_t)failed, "cases", cases_of(run, best, first), "has_limits",
				  json_object_get(run, "limits") != NULL, "against_best", best != NULL, "against_first", first != NULL,
				  "profile", decoded(json_text_or_empty(result, "profile.report")), "trouble",
				  json_text_or_empty(result, "profile.trouble"), "tool", json_text_or_empty(result, "profile.tool")));
	return view;
}

static json_t *
runs_of(const struct source *source, const json_t *job, bool secret)
{
	json_t *list = json_array();
	json_array_each(json_object_get(job, "runs"), run)
		if (!member_is(run, "state", "skipped") && member_true(run, "secret") == secret)
			json_array_append_new(list, run_of(source, job, run));
	return list;
}

/* ---- jobs ---- */

static json_t *
job_of(const json_t *submission, const json_t *job, const json_t *best, const json_t *first)
{
	const char *device = json_text_or_empty(job, "device");
	const struct source source = {json_text_or_empty(submission, "source"), json_text_or_empty(submission, "file_name"),
		list_find(json_object_get(best, "devices"), "device", device),
		list_find(json_object_get(first, "devices"), "device", device)};
	const json_t *rank = json_object_get(job, "rank");
	double ns = 0;
	AUTO_FREE char *change = report_change(member_int(rank, "rank"), json_object_get(rank, "before"));
	json_t *view = json_copy((json_t *)job), *parts = report_timing(json_object_get(job, "timing"), &ns);
	json_object_update_new(view,
		json_pack("{s:s, s:O?, s:O?, s:o, s:o, s:o, s:o, s:f}", "change", change, "to_best", source.best, "to_first",
			source.first, "compiler", compiler_of(&source, json_object_get(job, "compilation")), "reports",
			runs_of(&source, job, false), "secret", runs_of(&source, job, true), "parts", parts, "time", ns));
	return view;
}

json_t *
report_jobs(const json_t *submission, const json_t *best, const json_t *first)
{
	json_t *jobs = json_array();
	json_array_each(json_object_get(submission, "jobs"), job)
		json_array_append_new(jobs, job_of(submission, job, best, first));
	return jobs;
}
