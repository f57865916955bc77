/* SPDX-License-Identifier: MIT */
/* A submission in the form of KernelBot's API. */
#include <config.h>

#include "web/compat/results.h"

#include "base/base.h"
#include "base/contents.h"
#include "base/number.h"
#include "common/report.h"
#include "common/source_path.h"

#define NS_PER_S 1e9
#define EXIT_FAILED 112 /* of a harness whose cases say what is wrong */
#define EXIT_SIGNALLED 128
#define PACK "profile.zip" /* the files of a profile */
#define PROFILE_STEP "profile-"
#define PROFILE_KEY "profile."
#define NCU "Nsight-Compute"
#define REPORT "benchmark.0.report"

static json_t *
member_or_null(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	return value ? json_incref(value) : json_null();
}

json_t *
results_members(const json_t *object, const char *const *names)
{
	json_t *copy = json_object();
	for (; *names; names++)
		json_object_set_new(copy, *names, member_or_null(object, *names));
	return copy;
}

/* ---- what ran ---- */

/* The exit status of a run or a step, which a shell would show. */
static json_int_t
exit_of(const json_t *ran)
{
	const json_t *status = json_object_get(ran, "exit");
	json_int_t signal = member_int(ran, "signal");
	if (json_is_integer(status))
		return json_integer_value(status);
	return signal ? EXIT_SIGNALLED + signal : !member_true(ran, "passed");
}

/* A run's stderr, and the engine's sentence where the output and the cases do not say what is wrong. */
static json_t *
errors_of(const json_t *run)
{
	const char *printed = json_text_or_empty(run, "stderr"), *message = json_text_or_empty(run, "message");
	if (*printed && exit_of(run) == EXIT_FAILED)
		message = "";
	return json_sprintf("%s%s%s", printed, *printed && *message ? "\n" : "", message);
}

/* The compiler's output of a job: of the step that failed, or else of the last one. */
static json_t *
compilation_of(const json_t *job)
{
	const json_t *told = NULL;
	json_array_each(json_object_get(job, "compilation"), step)
		if (!told || member_true(told, "passed"))
			told = step;
	if (!told)
		return json_null();
	const char *printed = json_text_or_empty(told, "stderr"), *output = json_text_or_empty(told, "stdout");
	return json_pack("{s:b, s:s, s:s, s:I, s:s}", "success", member_true(told, "passed"), "stdout", output, "stderr",
		*printed || *output ? printed : json_text_or_empty(told, "message"), "exit_code", exit_of(told), "command",
		json_text_or_empty(told, "command"));
}

/* The members of a public run that all forms have. */
static json_t *
outcome_of(const json_t *run)
{
	/* It came to its end, right or wrong. */
	bool has_ended = member_true(run, "passed") || exit_of(run) == EXIT_FAILED;
	return json_pack("{s:b, s:s, s:o, s:I, s:f}", "success", has_ended, "stdout", json_text_or_empty(run, "stdout"),
		"stderr", errors_of(run), "exit_code", exit_of(run), "duration", (double)member_int(run, "wall_ns") / NS_PER_S);
}

static json_t *
system_of(const json_t *job)
{
	static const char *const names[][2] = {{"gpu", "gpu"}, {"device_count", "count"}, {"cpu", "cpu"},
		{"runtime", "runtime"}, {"platform", "platform"}, {"torch", "torch"}, {"hostname", "host"}};
	const json_t *known = json_object_get(job, "system");
	json_t *system = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_object_set_new(system, names[i][0], member_or_null(known, names[i][1]));
	return system;
}

/* ---- runs of a submission ---- */

/* A run: with its output where it is a public test or benchmark. */
static json_t *
run_of(const json_t *run, const json_t *job)
{
	bool is_told =
		!member_true(run, "secret") && (member_is(run, "mode", "test") || member_is(run, "mode", "benchmark"));
	json_t *shown = json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:b}", "start_time", member_or_null(run, "start_time"),
		"end_time", member_or_null(run, "end_time"), "mode", member_or_null(run, "mode"), "secret",
		member_true(run, "secret"), "runner", member_or_null(job, "device"), "score", member_or_null(run, "score"),
		"passed", member_true(run, "passed"));
	if (is_told) {
		json_t *diagnostics = outcome_of(run);
		json_object_set_new(diagnostics, "compilation", compilation_of(job));
		json_object_set_new(shown, "result", member_or_null(run, "result"));
		json_object_set_new(shown, "diagnostics", diagnostics);
	}
	return shown;
}

/* The first mode of runs of a submission. */
static const char *
first_mode(const json_t *submission)
{
	return member_is(submission, "mode", "ranked") ? "test" : json_text_or_empty(submission, "mode");
}

/* In place of the runs of a job that has none, since its build failed: one that did not pass. */
static json_t *
failed_build(const json_t *submission, const json_t *job)
{
	AUTO_JSON json_t *run = json_pack("{s:s, s:b, s:b, s:s}", "mode", first_mode(submission), "secret", 0, "passed", 0,
		"message", json_text_or_empty(job, "error"));
	return run_of(run, job);
}

static json_t *
runs_of(const json_t *submission)
{
	json_t *runs = json_array();
	json_array_each(json_object_get(submission, "jobs"), job) {
		json_array_each(json_object_get(job, "runs"), run)
			json_array_append_new(runs, run_of(run, job));
		if (json_array_size(json_object_get(job, "runs")) == 0 && member_is(job, "state", "failed"))
			json_array_append_new(runs, failed_build(submission, job));
	}
	return runs;
}

/*
 * How the submission ended, in the words of clients: a wrong kernel that is not ranked has `succeeded`, and its runs say
 * that it is wrong.
 */
static json_t *
job_of(const json_t *submission, const json_t *runs)
{
	const json_t *job = json_object_get(submission, "job");
	bool is_wrong = member_is(submission, "state", "failed") || member_is(submission, "state", "timed_out");
	bool is_told = is_wrong && !member_is(submission, "mode", "ranked") && json_array_size(runs) > 0 &&
				   !json_is_string(json_object_get(submission, "flagged"));
	if (!is_told)
		return json_incref((json_t *)job);
	return json_pack(
		"{s:s, s:n, s:O}", "status", "succeeded", "error", "last_heartbeat", json_object_get(job, "last_heartbeat"));
}

json_t *
results_shown(const json_t *submission)
{
	static const char *const names[] = {
		"id", "leaderboard_id", "leaderboard_name", "file_name", "user_id", "submission_time", "done", "code", NULL};
	json_t *shown = results_members(submission, names), *runs = runs_of(submission);
	json_object_set_new(shown, "runs", runs);
	json_object_set_new(shown, "job", job_of(submission, runs));
	return shown;
}

/* A run with all that is stored of it. */
static json_t *
whole_run(const json_t *run, const json_t *job)
{
	json_t *shown = run_of(run, job);
	if (member_true(run, "secret"))
		return shown;
	json_t *meta = outcome_of(run);
	json_object_set_new(meta, "command", member_or_null(run, "command"));
	json_object_set_new(shown, "compilation", compilation_of(job));
	json_object_set_new(shown, "meta", meta);
	json_object_set_new(shown, "result", member_or_null(run, "result"));
	json_object_set_new(shown, "system", system_of(job));
	return shown;
}

json_t *
results_admin(const json_t *submission)
{
	static const char *const names[] = {
		"leaderboard_id", "leaderboard_name", "file_name", "user_id", "submission_time", "done", "code", NULL};
	json_t *shown = results_members(submission, names), *runs = json_array();
	const json_t *ended = json_object_get(submission, "job");
	json_array_each(json_object_get(submission, "jobs"), job)
		json_array_each(json_object_get(job, "runs"), run)
			json_array_append_new(runs, whole_run(run, job));
	json_object_update_new(
		shown, json_pack("{s:o, s:o, s:o, s:o, s:o}", "submission_id", member_or_null(submission, "id"), "runs", runs,
				   "job_status", member_or_null(ended, "status"), "job_error", member_or_null(ended, "error"),
				   "job_last_heartbeat", member_or_null(ended, "last_heartbeat")));
	return shown;
}

/* ---- results of event streams ---- */

/* A result of a profile: its count as a number, and its reports, the harness's and the profiler's, in one. */
static json_t *
profile_result(const json_t *result)
{
	json_t *copy = result ? json_copy((json_t *)result) : json_object();
	long long count = 0;
	(void)number_parse_integer(json_text_or_empty(result, "benchmark-count"), &count);
	json_object_set_new(copy, "benchmark-count", json_integer(count));
	AUTO_FREE char *own = report_decode(json_text_or_empty(result, REPORT));
	AUTO_FREE char *profiler = report_decode(json_text_or_empty(result, "profile.report"));
	if (own || profiler) {
		AUTO_FREE char *both =
			xasprintf("%s%s%s", own ? own : "", own && profiler ? "\n" : "", profiler ? profiler : "");
		AUTO_FREE char *coded = base64_encode(both, strlen(both));
		json_object_set_new(copy, REPORT, json_string(coded));
	}
	(void)json_object_del(copy, "profile.report");
	return copy;
}

static const char *
profiler_of(const json_t *result)
{
	const char *tool = json_text_or_empty(result, "profile.tool");
	if (strcmp(tool, "ncu") == 0)
		return NCU;
	return strcmp(tool, "rocprofv3") == 0 ? "rocPROF" : *tool ? tool : "none";
}

static json_t *
entry_of(const json_t *run, const json_t *job)
{
	const json_t *result = json_object_get(run, "result");
	bool is_profile = member_is(run, "mode", "profile");
	json_t *ran = outcome_of(run);
	json_object_set_new(ran, "passed", json_boolean(member_true(run, "passed")));
	json_object_set_new(ran, "command", member_or_null(run, "command"));
	json_object_set_new(ran, "result", is_profile ? profile_result(result) : member_or_null(run, "result"));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "start", member_or_null(run, "start_time"), "end",
		member_or_null(run, "end_time"), "compilation", compilation_of(job), "run", ran, "profile",
		is_profile ? json_pack("{s:s, s:s, s:n}", "profiler", profiler_of(result), "trace", "", "download_url")
				   : json_null());
}

static void
put_entry(json_t *runs, const json_t *run, const json_t *job)
{
	const json_t *index = json_object_get(run, "index");
	char key[48];
	if (member_is(run, "mode", "profile") && json_is_integer(index))
		(void)snprintf(key, sizeof(key), PROFILE_KEY "%lld", (long long)json_integer_value(index));
	else
		(void)snprintf(key, sizeof(key), "%s", json_text_or_empty(run, "mode"));
	json_object_set_new(runs, key, entry_of(run, job));
}

json_t *
results_job(const json_t *submission, const json_t *job)
{
	json_t *runs = json_object();
	bool has_failed = member_is(job, "state", "error") || member_is(job, "state", "cancelled");
	json_array_each(json_object_get(job, "runs"), run)
		if (!member_true(run, "secret"))
			put_entry(runs, run, job);
	if (json_object_size(runs) == 0 && json_array_size(json_object_get(job, "compilation")) > 0)
		json_object_set_new(runs, first_mode(submission),
			json_pack(
				"{s:n, s:n, s:o, s:n, s:n}", "start", "end", "compilation", compilation_of(job), "run", "profile"));
	return json_pack("{s:b, s:s, s:o, s:o}", "success", !has_failed, "error",
		has_failed ? json_text_or_empty(job, "error") : "", "system", system_of(job), "runs", runs);
}

char *
results_report(const json_t *submission, const json_t *job)
{
	const char *source = json_text_or_null(submission, "source"), *name = json_text_or_null(submission, "file_name");
	AUTO_JSON json_t *named = source && name ? source_path_put_all(job, source, name) : json_incref((json_t *)job);
	char *text = NULL;
	size_t size = 0;
	FILE *out = term_memory(&text, &size);
	const struct term term = {.out = out};
	report_head(&term, submission);
	report_job(&term, named, json_text_or_empty(job, "device"), false);
	(void)fclose(out);
	return text;
}

/* Whether a job's own output says what is wrong: a step of its build, or a public run. */
static bool
says_what_is_wrong(const json_t *job)
{
	bool says = false;
	json_array_each(json_object_get(job, "compilation"), one)
		says = says || !member_true(one, "passed");
	json_array_each(json_object_get(job, "runs"), one)
		says = says || (!member_true(one, "passed") && !member_true(one, "secret"));
	return says;
}

const char *
results_failure(const json_t *submission)
{
	const char *why = json_text_or_null(json_object_get(submission, "job"), "error");
	json_array_each(json_object_get(submission, "jobs"), job) {
		bool is_judged = member_is(job, "state", "failed") || member_is(job, "state", "timed_out");
		if (!member_is(job, "state", "passed") && !(is_judged && says_what_is_wrong(job)))
			return why ? why : "It did not pass.";
	}
	return NULL;
}

/* ---- files of profiles ---- */

json_t *
results_traces(const json_t *job)
{
	json_t *traces = json_array();
	size_t len = strlen(PROFILE_STEP);
	json_array_each(json_object_get(job, "artifacts"), artifact) {
		const char *step = json_text_or_empty(artifact, "step");
		if (strncmp(step, PROFILE_STEP, len) == 0 && member_is(artifact, "name", PACK) &&
			!json_is_string(json_object_get(artifact, "expired")))
			json_array_append_new(
				traces, json_pack("{s:o, s:O, s:O}", "run", json_sprintf(PROFILE_KEY "%s", step + len), "artifact",
							json_object_get(artifact, "id"), "size", json_object_get(artifact, "size")));
	}
	return traces;
}

void
results_put_trace(json_t *result, const char *run, const char *base64)
{
	json_t *profile = json_object_get(json_object_get(json_object_get(result, "runs"), run), "profile");
	if (json_is_object(profile))
		json_object_set_new(profile, "trace", json_string(base64));
}

void
results_need_ncu(json_t *result, json_int_t submission)
{
	json_object_each(json_object_get(result, "runs"), key, entry) {
		json_t *ran = json_object_get(entry, "run"), *profile = json_object_get(entry, "profile");
		if (!json_is_object(ran) || (member_is(profile, "profiler", NCU) && *json_text_or_empty(profile, "trace")))
			continue;
		/* A text is read as a zip. */
		json_object_set_new(profile, "trace", json_null());
		if (!member_true(ran, "success"))
			continue;
		json_object_set_new(ran, "success", json_false());
		json_object_set_new(ran, "stderr",
			json_sprintf("There is no report of Nsight Compute for this client; the profiler is: %s. `kettle "
						 "submission download %lld` gets its files.\n%s",
				json_text_or_empty(profile, "profiler"), (long long)submission, json_text_or_empty(ran, "stderr")));
	}
}
