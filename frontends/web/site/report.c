/* SPDX-License-Identifier: MIT */
/* The report of a submission for its page. */
#include <config.h>

#include "web/site/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "common/condense.h"
#include "common/format.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/value.h"
#include "web/site/site.h"

#define OUTPUT_MAX (64u << 10)  /* bytes that are shown of what a program wrote */
#define ERRORS_MAX (256u << 10) /* ... of which repeated tracebacks are removed */
#define MESSAGE_MAX (4u << 10)  /* ... of what is said about a case */
#define CASES_MAX 1000          /* that are shown of a run */
#define LINKS_MAX 500           /* places in the code that are links, of one output */
#define LINE_DIGITS 6

/* What the parts are made from. */
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

/* The beginning of a text. New reference. */
static json_t *
message_of(const char *text)
{
	AUTO_JSON json_t *cut = report_cut(text, MESSAGE_MAX);
	const char *shown = json_text_or_empty(cut, "text");
	return member_true(cut, "cut") ? json_sprintf("%s …", shown) : json_string(shown);
}

/* ---- logs ---- */

static void
add_part(json_t *parts, const char *text, size_t len, json_int_t line)
{
	if (len > 0)
		json_array_append_new(
			parts, json_pack("{s:s%, s:o}", "text", text, len, "line", line > 0 ? json_integer(line) : json_null()));
}

/* The bytes of "NAME:12" or `NAME", line 12`, which begins at a name of this length; 0: no line follows it. */
static size_t
place_length(const char *at, size_t len, json_int_t *ret_line)
{
	static const char *const forms[] = {":", "\", line "};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t skip = len + strlen(forms[i]);
		if (strncmp(at + len, forms[i], strlen(forms[i])) != 0)
			continue;
		size_t digits = strspn(at + skip, "0123456789");
		*ret_line = digits <= LINE_DIGITS ? strtoll(at + skip, NULL, 10) : 0;
		return *ret_line > 0 ? skip + digits : 0;
	}
	return 0;
}

/* An output, where places in the submitted file are parts of their own. New reference; null: it is empty. */
static json_t *
log_of(const struct source *source, const char *output)
{
	if (!*output)
		return json_null();
	AUTO_JSON json_t *cut = report_cut(output, OUTPUT_MAX);
	AUTO_FREE char *text = source_path_put(json_text_or_empty(cut, "text"), source->name, source->file_name);
	json_t *parts = json_array();
	size_t len = strlen(source->file_name), links = 0;
	const char *from = text;
	for (const char *at = from; len > 0 && links < LINKS_MAX && (at = strstr(at, source->file_name));) {
		json_int_t line = 0;
		bool whole = at == text || !(isalnum((unsigned char)at[-1]) || strchr("._-/", at[-1]));
		size_t size = whole ? place_length(at, len, &line) : 0;
		if (size > 0) {
			add_part(parts, from, (size_t)(at - from), 0);
			add_part(parts, at, size, line);
			from = at + size;
			links++;
		}
		at += size ? size : len;
	}
	add_part(parts, from, strlen(from), 0);
	return json_pack("{s:o, s:b}", "parts", parts, "cut", member_true(cut, "cut"));
}

/* The steps of which something is to be said. New reference. */
static json_t *
compiler_of(const struct source *source, const json_t *steps)
{
	json_t *list = json_array();
	json_array_each(steps, step) {
		const char *out = value_log(step, "stdout"), *err = value_log(step, "stderr");
		bool passed = member_true(step, "passed");
		if (passed && !*out && !*err)
			continue;
		AUTO_FREE char *both = xasprintf("%s%s", out, err);
		bool says = !passed && report_step_says(step);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:o, s:o}", "title", json_text_or_empty(step, "title"), "command",
					  json_text_or_empty(step, "command"), "passed", passed, "message",
					  message_of(says ? json_text_or_empty(step, "message") : ""), "log", log_of(source, both)));
	}
	return list;
}

/* ---- comparisons ---- */

static json_t *
change_of(const json_t *compared)
{
	return site_change(value_number(compared, "percent"), json_object_get(compared, "significant"));
}

static json_t *
device_of(const json_t *comparison, const char *device)
{
	return list_find(json_object_get(comparison, "devices"), "device", device);
}

static void
add_comparison(json_t *list, const json_t *comparison, const char *device, const char *with)
{
	json_t *change = change_of(device_of(comparison, device));
	if (json_is_object(change)) {
		json_object_update_new(change,
			json_pack("{s:s, s:O}", "with", with, "other", json_object_get(json_object_get(comparison, "a"), "id")));
		json_array_append(list, change);
	}
	json_decref(change);
}

/* Whether the cases of a run are those that a comparison has. */
static bool
is_compared(const json_t *device, const json_t *run)
{
	const char *mode = json_text_or_empty(run, "mode");
	return json_array_size(json_object_get(device, "cases")) > 0 &&
		   member_is(device, "run", strcmp(mode, "leaderboard") == 0 ? "ranked" : mode);
}

static json_t *
case_change(const json_t *device, const json_t *run, const char *spec)
{
	return is_compared(device, run) ? change_of(list_find(json_object_get(device, "cases"), "spec", spec))
									: json_null();
}

/* ---- tests and cases ---- */

/* seen: of report_same_failure. */
static json_t *
test_of(const json_t *result, json_int_t index, json_t *seen)
{
	struct value_case test = value_case(result, "test", index);
	bool passed = strcmp(test.status, "pass") == 0;
	json_int_t before = passed ? 0 : report_same_failure(seen, &test, index + 1);
	return json_pack("{s:I, s:s, s:b, s:o, s:o, s:o}", "number", index + 1, "spec", test.spec, "passed", passed,
		"error",
		message_of(before         ? ""
				   : *test.status ? test.error
								  : "It did not finish."),
		"message", message_of(before ? "" : test.message), "as", before ? json_integer(before) : json_null());
}

/* The tests of a run, failed ones first; *ret_failed: how many. New reference. */
static json_t *
tests_of(const json_t *result, size_t *ret_failed)
{
	AUTO_JSON json_t *seen = json_object(), *passed = json_array();
	json_t *failed = json_array();
	json_int_t count = value_case_count(result, "test");
	for (json_int_t i = 0; i < count && i < CASES_MAX; i++) {
		struct value_case test = value_case(result, "test", i);
		if (!*test.status && !*test.spec)
			break; /* the run ended before this case */
		json_array_append_new(strcmp(test.status, "pass") == 0 ? passed : failed, test_of(result, i, seen));
	}
	*ret_failed = json_array_size(failed);
	json_array_extend(failed, passed);
	return failed;
}

/* A text that a harness or profiler has encoded. New reference; null: none. */
static json_t *
decoded(const char *coded)
{
	AUTO_FREE char *text = report_decode(coded);
	return text ? report_cut(text, OUTPUT_MAX) : json_null();
}

static json_t *
case_of(const struct source *source, const json_t *run, json_int_t index)
{
	char mean[FORMAT_SIZE] = "–", best[FORMAT_SIZE], worst[FORMAT_SIZE];
	const json_t *result = json_object_get(run, "result");
	struct value_case one = value_case(result, "benchmark", index);
	bool failed = *one.error || strcmp(one.status, "fail") == 0;
	if (isfinite(one.mean))
		format_ns_error(one.mean, one.off, mean);
	format_ns(value_of_case(result, "benchmark", index, "best"), best);
	format_ns(value_of_case(result, "benchmark", index, "worst"), worst);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "spec", one.spec, "mean", mean,
		"fastest", best, "slowest", worst, "calls", value_case_text(result, "benchmark", index, "runs"), "failed",
		failed, "error", message_of(one.error), "message", message_of(failed ? one.message : ""), "profile",
		decoded(one.report), "best", case_change(source->best, run, one.spec), "first",
		case_change(source->first, run, one.spec));
}

static json_t *
cases_of(const struct source *source, const json_t *run)
{
	json_t *cases = json_array();
	const json_t *result = json_object_get(run, "result");
	json_int_t count = value_case_count(result, "benchmark");
	for (json_int_t i = 0; i < count && i < CASES_MAX; i++) {
		struct value_case one = value_case(result, "benchmark", i);
		if (!*one.status && !*one.spec)
			break;
		json_array_append_new(cases, case_of(source, run, i));
	}
	return cases;
}

/* ---- runs ---- */

/* Whether a case has this text in a member; NULL: any. */
static bool
has_case(const json_t *result, const char *field, const char *text)
{
	json_int_t count = value_case_count(result, "benchmark");
	for (json_int_t i = 0; i < count; i++) {
		const char *found = value_case_text(result, "benchmark", i, field);
		if (text ? strcmp(found, text) == 0 : *found != 0)
			return true;
	}
	return false;
}

static json_t *
profile_of(const json_t *result)
{
	const char *trouble = json_text_or_empty(result, "profile.trouble");
	json_t *text = decoded(json_text_or_empty(result, "profile.report"));
	if (json_is_null(text) && !*trouble)
		return text;
	return json_pack(
		"{s:s, s:s, s:o}", "tool", json_text_or_empty(result, "profile.tool"), "trouble", trouble, "text", text);
}

/* The beginning of what a run wrote to its standard error, each traceback once. New string. */
static char *
errors_of(const json_t *run)
{
	AUTO_JSON json_t *cut = report_cut(value_log(run, "stderr"), ERRORS_MAX);
	return condense_tracebacks(json_text_or_empty(cut, "text"));
}

/* job: whose error is not said again, nor what the cases say. */
static json_t *
run_of(const struct source *source, const json_t *job, const json_t *run)
{
	size_t failed = 0;
	const json_t *result = json_object_get(run, "result");
	const char *message = json_text_or_empty(run, "message");
	if (strcmp(message, json_text_or_empty(job, "error")) == 0 || report_is_said_by_cases(run))
		message = "";
	json_t *view = json_copy((json_t *)run), *tests = tests_of(result, &failed);
	AUTO_FREE char *name = report_run_name(run), *err = errors_of(run);
	name[0] = (char)toupper((unsigned char)name[0]);
	json_t *throttled = json_object_get(json_object_get(run, "device"), "throttled");
	json_object_update_new(
		view, json_pack("{s:s, s:o, s:o, s:I, s:o, s:b, s:b, s:b, s:O?, s:o, s:o, s:o}", "name", name, "message",
				  message_of(message), "tests", tests, "failed", (json_int_t)failed, "cases", cases_of(source, run),
				  "against_best", is_compared(source->best, run), "against_first", is_compared(source->first, run),
				  "compiled", has_case(result, "compiled", NULL), "throttled", throttled, "profile", profile_of(result),
				  "out", log_of(source, value_log(run, "stdout")), "err", log_of(source, err)));
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

static bool
is_uncalibrated(const json_t *job)
{
	json_array_each(json_object_get(job, "runs"), run)
		if (has_case(json_object_get(run, "result"), "calibrated", "no"))
			return true;
	return false;
}

/* The parts of a job's time, in their order. New reference. */
static json_t *
parts_of(const json_t *timing, double *ret_ns)
{
	static const char *const parts[][2] = {{"earlier_ns", "earlier attempts"}, {"queue_ns", "queue"},
		{"plan_ns", "plan"}, {"transfer_ns", "transfer"}, {"wait_ns", "wait for the device"}, {"prepare_ns", "prepare"},
		{"build_ns", "build"}, {"start_ns", "start"}, {"compile_ns", "compile while running"}, {"run_ns", "run"},
		{"collect_ns", "collect"}, {"other_ns", "other"}, {"record_ns", "record"}};
	json_t *list = json_array();
	const json_t *times = json_object_get(timing, "parts");
	double sum = 0, at = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sum += fmax(0, member_number(times, parts[i][0]));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		double ns = member_number(times, parts[i][0]), share = 100 * ns / sum;
		if (!(ns > 0))
			continue;
		json_array_append_new(
			list, json_pack("{s:s, s:f, s:o, s:o, s:I}", "name", parts[i][1], "ns", ns, "at", json_sprintf("%.2f", at),
					  "share", json_sprintf("%.2f", share), "colour", (json_int_t)i));
		at += share;
	}
	*ret_ns = sum;
	return list;
}

static json_t *
job_of(const json_t *submission, const json_t *job, const json_t *best, const json_t *first)
{
	const char *device = json_text_or_empty(job, "device");
	const struct source source = {json_text_or_empty(submission, "source"), json_text_or_empty(submission, "file_name"),
		device_of(best, device), device_of(first, device)};
	const json_t *rank = json_object_get(job, "rank");
	char begins[FORMAT_SIZE] = "";
	double ns = 0;
	if (member_int(job, "wait_s") > 0)
		format_wait(member_int(job, "wait_s"), begins);
	AUTO_FREE char *change = report_change(member_int(rank, "rank"), json_object_get(rank, "before"));
	json_t *view = json_copy((json_t *)job), *compared = json_array(),
		   *parts = parts_of(json_object_get(job, "timing"), &ns);
	add_comparison(compared, best, device, "own best");
	add_comparison(compared, first, device, "the first");
	bool has_facts = json_is_number(json_object_get(job, "low")) || json_array_size(compared) > 0 ||
					 json_is_number(json_object_get(rank, "before")) ||
					 json_is_number(json_object_get(rank, "previous_score"));
	json_object_update_new(
		view, json_pack("{s:b, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:f}", "facts", has_facts, "begins", begins,
				  "change", change, "uncalibrated", is_uncalibrated(job), "compared", compared, "compiler",
				  compiler_of(&source, json_object_get(job, "compilation")), "reports", runs_of(&source, job, false),
				  "secret", runs_of(&source, job, true), "parts", parts, "time", ns));
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
