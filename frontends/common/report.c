/* SPDX-License-Identifier: MIT */
/* Writes the report of a submission: each device with its compilers, tests, benchmarks and logs. */
#include <config.h>

#include "common/report.h"

#include <math.h>

#include "base/base.h"
#include "base/contents.h"
#include "common/condense.h"
#include "common/format.h"
#include "common/table.h"
#include "common/template.h"
#include "common/value.h"

#define REPORT_LOG_LINES 200
#define REPORT_OUTPUT_LINES 40
#define REPORT_EXIT_FAILED 112 /* of a harness whose cases say what is wrong */
#define REPORT_END_LINES 20    /* last lines of a program's output */
#define REPORT_FOLDER_WIDTH 40
#define REPORT_COMPILE_NS 1000000 /* compilers that worked for less are not mentioned */
#define REPORT_WIDE 0.1           /* fraction of the mean above which a standard error is called wide */
#define REPORT_CASES_MAX 100000
#define REPORT_FEW_RUNS 10       /* ... and below which number of calls it is blamed on them */
#define REPORT_PROFILE_LINES 600 /* of a profiler: launches with all their sections */

static enum term_style
style_of(const char *state)
{
	if (strcmp(state, "passed") == 0)
		return STYLE_GREEN;
	return strcmp(state, "queued") == 0 || strcmp(state, "running") == 0 ? STYLE_YELLOW : STYLE_RED;
}

static void
put_state(const struct term *term, const char *state)
{
	char word[FORMAT_SIZE];
	format_word(state, word);
	term_put(term, style_of(state), word);
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

bool
report_step_says(const json_t *step)
{
	return !member_is(step, "state", "failed") || !(*value_log(step, "stdout") || *value_log(step, "stderr"));
}

/* Prints the compiler's output of failed steps. */
static void
report_compilation(const struct term *term, const json_t *job)
{
	json_array_each(json_object_get(job, "compilation"), step) {
		if (member_true(step, "passed"))
			continue;
		const char *title = json_text_or_empty(step, "title"), *output = value_log(step, "stdout"),
				   *errors = value_log(step, "stderr"), *message = json_text_or_empty(step, "message");
		mark_line(term, false, 2, *title ? title : json_text_or_empty(step, "step"));
		template_put(term, "{command?    $ {command}\n}", step, NULL);
		if (report_step_says(step))
			term_block(term->out, message, 4, REPORT_LOG_LINES);
		term_block(term->out, output, 4, REPORT_LOG_LINES);
		term_block(term->out, errors, 4, REPORT_LOG_LINES);
	}
}

/* ---- cases ---- */

char *
report_decode(const char *text)
{
	AUTO_FREE char *coded = xstrdup(text);
	void *report = NULL;
	size_t size = 0;
	for (char *star = coded; (star = strchr(star, '*'));)
		*star = '/';
	if (!*coded || base64_decode(coded, strlen(coded), &report, &size) < 0)
		return NULL;
	return report;
}

json_t *
report_cases(const json_t *result, const char *kind, json_int_t most)
{
	static const char *const names[] = {"spec", "status", "error", "message", "report", "mean", "raw-mean", "std",
		"best", "worst", "runs", "err", "ratio", "calibrated", "compiled", "sessions", "dropped"};
	json_t *cases = json_array();
	AUTO_JSON json_t *seen = json_object();
	json_int_t count = value_case_count(result, kind);
	for (json_int_t i = 0; i < count && i < most; i++) {
		char mean[FORMAT_SIZE];
		struct value_case one = value_case(result, kind, i);
		if (!*one.status && !*one.spec && !isfinite(one.mean))
			break; /* the run ended before this case */
		AUTO_FREE char *why = xasprintf("%s\n%s", one.error, one.message);
		format_ns_error(one.mean, one.off, mean);
		json_t *row = json_pack("{s:I, s:s}", "number", i + 1, "shown", mean);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			json_object_set_new(row, names[k], json_string(value_case_text(result, kind, i, names[k])));
		if (*one.error || *one.message)
			json_object_update_new(row, json_pack("{s:O?}", "as", json_object_get(seen, why)));
		json_object_update_missing_new(seen, json_pack("{s:I}", why, i + 1));
		json_array_append_new(cases, row);
	}
	return cases;
}

json_t *
report_benchmark_cases(const json_t *run, json_int_t most)
{
	json_t *cases = report_cases(json_object_get(run, "result"), "benchmark", most);
	json_array_each(json_object_get(run, "limits"), limit)
		json_object_update_missing(json_array_get(cases, limit_index), limit);
	return cases;
}

/* Prints why a test did not pass, with details if verbose; after an equal failure only a reference to that test. */
static void
report_why(const struct term *term, const json_t *test, bool verbose)
{
	const char *error = json_text_or_empty(test, "error");
	template_put(term, "{as?        as test {as}\n}", test, NULL);
	if (member_int(test, "as"))
		return;
	term_block(term->out, error, 8, REPORT_OUTPUT_LINES);
	if (verbose || !*error)
		term_block(term->out, json_text_or_empty(test, "message"), 8, REPORT_OUTPUT_LINES);
}

static void
report_tests(const struct term *term, const json_t *result, bool verbose)
{
	AUTO_JSON json_t *tests = report_cases(result, "test", REPORT_CASES_MAX);
	json_array_each(tests, test) {
		mark_line(term, member_is(test, "status", "pass"), 4, json_text_or_empty(test, "spec"));
		if (!*json_text_or_empty(test, "status"))
			fputs("        it did not finish\n", term->out);
		report_why(term, test, verbose);
	}
}

/* Marks benchmarks whose times include a compiler's work. */
static void
report_compiled(const struct term *term, const json_t *cases)
{
	json_array_each(cases, one) {
		if (!*json_text_or_empty(one, "compiled"))
			continue;
		fputs("    ", term->out);
		term_put(term, STYLE_YELLOW, "compiled while measured");
		template_put(term, "; call it once for each shape before: {spec}\n", one, NULL);
	}
}

/* Names what was timed and does not count. */
static void
report_dropped(const struct term *term, const json_t *cases)
{
	json_array_each(cases, one)
		template_put(term, "{dropped?    calls left out of {runs}: {dropped}: {spec}\n}", one, NULL);
}

/* Explains why a mean is uncertain, and what would help. */
static void
report_wide(const struct term *term, const json_t *cases)
{
	json_array_each(cases, one) {
		double runs = value_number(one, "runs");
		if (isfinite(value_number(one, "ratio")) || isfinite(value_number(one, "sessions")) ||
			!(value_number(one, "err") > REPORT_WIDE * value_number(one, "mean")))
			continue;
		fputs("    ", term->out);
		term_put(term, STYLE_YELLOW, "wide interval");
		if (runs < REPORT_FEW_RUNS)
			fprintf(term->out, " of only %.0f calls, because no more fitted into the time of a benchmark: ", runs);
		else
			template_put(term,
				": its calls took from {best:ns} to {worst:ns}. Do one-time work, such as compiling, in a first call "
				"for "
				"each shape; if the difference stays, other work uses the device: ",
				one, NULL);
		template_put(term, "{spec}\n", one, NULL);
	}
}

static void
report_benchmarks(const struct term *term, const json_t *cases, bool verbose)
{
	static const struct view_column columns[] = {COLUMN_CUT("case", "{spec}"), COLUMN_RIGHT("mean", "{shown}"),
		SPARE_COLUMN_RIGHT(7, "of limit", "{share?{share:share}}"), SPARE_COLUMN_RIGHT(6, "ratio", "{quotient}"),
		SPARE_COLUMN_RIGHT(4, "raw mean", "{raw-mean?{raw-mean:ns}}"), SPARE_COLUMN_RIGHT(5, "std", "{std?{std:ns}}"),
		SPARE_COLUMN_RIGHT(3, "best", "{best?{best:ns}}"), SPARE_COLUMN_RIGHT(2, "worst", "{worst?{worst:ns}}"),
		SPARE_COLUMN_RIGHT(1, "runs", "{runs}")};
	AUTO_JSON json_t *rows = json_array();
	json_array_each(cases, one) {
		double ratio = value_number(one, "ratio");
		if (isfinite(ratio))
			json_object_set_new(one, "quotient", json_sprintf("%.4g", ratio));
		if (isfinite(value_number(one, "mean")))
			json_array_append(rows, one);
	}
	if (json_array_size(rows) > 0)
		TABLE_PRINT(term, columns, rows, 4);
	if (list_find(rows, "calibrated", "no"))
		fputs(
			"    uncalibrated: the device is not calibrated for this leaderboard, so its times vary more\n", term->out);
	report_compiled(term, cases);
	report_wide(term, cases);
	if (verbose)
		report_dropped(term, cases);
	json_array_each(cases, one) {
		if (!member_is(one, "status", "fail"))
			continue;
		mark_line(term, false, 4, json_text_or_empty(one, "spec"));
		term_block(term->out, json_text_or_empty(one, "error"), 8, REPORT_OUTPUT_LINES);
		if (verbose)
			term_block(term->out, json_text_or_empty(one, "message"), 8, REPORT_OUTPUT_LINES);
	}
}

/* Prints the harness's own report of each benchmark, and the profiler's. */
static void
report_profiles(const struct term *term, const json_t *result, const json_t *cases)
{
	json_array_each(cases, one) {
		AUTO_FREE char *text = report_decode(json_text_or_empty(one, "report"));
		if (!text)
			continue;
		mark_line(term, true, 4, json_text_or_empty(one, "spec"));
		term_block(term->out, text, 6, REPORT_LOG_LINES);
	}
	AUTO_FREE char *report = report_decode(json_text_or_empty(result, "profile.report"));
	if (member_is(result, "profile.caught", "none"))
		return; /* the run's own message says it */
	if (*json_text_or_empty(result, "profile.trouble")) {
		mark_line(term, false, 4, json_text_or_empty(result, "profile.tool"));
		term_block(term->out, json_text_or_empty(result, "profile.trouble"), 6, REPORT_OUTPUT_LINES);
	} else if (report) {
		mark_line(term, true, 4, json_text_or_empty(result, "profile.tool"));
	}
	if (report)
		term_block(term->out, report, 6, REPORT_PROFILE_LINES);
}

/* Notes that the device was slowed down during the run. */
static void
report_throttle(const struct term *term, const json_t *device)
{
	bool repeated = member_true(device, "repeated");
	if (repeated)
		template_put(term, "      the device was throttled ({throttled_before}), so it was run again\n", device, NULL);
	if (json_array_size(json_object_get(device, "throttled")) == 0)
		return;
	fputs("      ", term->out);
	term_put(term, STYLE_YELLOW, repeated ? "the device was throttled again" : "the device was throttled");
	template_put(term, " ({throttled})\n", device, NULL);
}

/* Prints how many files compilers left, and whether later runs use them. */
static void
report_jit(const struct term *term, json_t *jit)
{
	const char *between = ": ";
	template_put(term, "{files?      compilers left {files} new {files#file|files}, {bytes:bytes}}", jit, NULL);
	json_object_each(json_object_get(jit, "folders"), folder, count) {
		fprintf(term->out, "%s%" JSON_INTEGER_FORMAT " in ", between, json_integer_value(count));
		term_sanitize(term->out, folder, REPORT_FOLDER_WIDTH);
		between = ", ";
	}
	if (member_int(jit, "compile_ns") >= REPORT_COMPILE_NS)
		template_put(
			term, "; active for {compile_ns:ns}, from {first_ns:ns} to {last_ns:ns} after the start", jit, NULL);
	template_put(term, "{files?\n}", jit, NULL);
	term_block(term->out, json_text_or_empty(jit, "dropped"), 6, REPORT_OUTPUT_LINES);
}

/* The meanings of the words of report_built_reasons. */
static const struct {
	const char *word, *sentence;
} built_reasons[] = {
	{"off", "nothing is compiled before the runs"},
	{"missing", "Triton is not installed where that is done"},
	{"version", "this version of torch or Triton is not known there"},
	{"device", "the GPU's properties are not known there"},
	{"import", "the submission cannot be imported without a GPU"},
	{"task", "the task makes no inputs without a GPU"},
	{"value", "a value decides what comes next"},
	{"failed", "a call failed without a GPU"},
	{"compiler", "it does not compile without a GPU"},
	{"configs", "it has too many configurations"},
	{"cases", "the task has too many cases"},
	{"ended", "the process that compiles ended, or was ended"},
	{"library", "no step compiles for this library"},
	{"other", "the run needed something else"},
};

/* Prints what compilers built for the GPU while the run had it, and why. */
static void
report_built(const struct term *term, const json_t *built)
{
	json_array_each(built, one) {
		AUTO_JSON json_t *told = json_pack("{s:I}", "all", member_int(one, "ready") + member_int(one, "device"));
		const char *between = ", because ";
		json_object_update(told, (json_t *)one);
		template_put(term,
			"      built on the device: {device} of {all} "
			"{kind=triton?{all#kernel|kernels} of Triton}{kind=graph?{all#graph|graphs} of torch.compile}"
			"{kind=jax?{all#program|programs} of JAX}{kind=cupy?{all#kernel|kernels} of CuPy}"
			"{kind=extension?{all#extension|extensions}}",
			told, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(built_reasons); i++)
			if (list_has_text(json_object_get(one, "reasons"), built_reasons[i].word)) {
				fprintf(term->out, "%s%s", between, built_reasons[i].sentence);
				between = "; ";
			}
		fputs("\n", term->out);
	}
}

/* Prints remarks on its times. */
static void
report_remarks(const struct term *term, const json_t *remarks)
{
	json_array_each(remarks, remark)
		term_block(term->out, json_string_value(remark), 4, REPORT_OUTPUT_LINES);
}

bool
report_is_said_by_cases(const json_t *run)
{
	const json_t *result = json_object_get(run, "result");
	const char *kind = member_is(run, "mode", "test") ? "test" : "benchmark";
	json_int_t count = value_case_count(result, kind);
	bool failed = false;
	for (json_int_t i = 0; i < count && !failed; i++)
		failed = *value_case_text(result, kind, i, "error");
	return failed && member_int(run, "exit") == REPORT_EXIT_FAILED && !*json_text_or_empty(run, "limit");
}

char *
report_run_name(const json_t *run)
{
	const json_t *index = member_is(run, "mode", "profile") ? json_object_get(run, "index") : NULL;
	AUTO_FREE char *name = template_text("{secret?secret }{mode=leaderboard?ranked run|{mode}}", run, NULL);
	return index ? xasprintf("%s.%lld", name, (long long)json_integer_value(index)) : STEAL(name);
}

static void
report_run(const struct term *term, const json_t *run, bool verbose)
{
	const json_t *result = json_object_get(run, "result");
	bool passed = member_true(run, "passed");
	if (strcmp(json_text_or_empty(run, "state"), "skipped") == 0)
		return;
	AUTO_FREE char *name = report_run_name(run);
	AUTO_FREE char *score = template_text("{score?  {score:seconds}}", run, NULL);
	AUTO_FREE char *title = xasprintf("%s%s", name, score);
	mark_line(term, passed, 2, title);
	report_throttle(term, json_object_get(run, "device"));
	report_jit(term, json_object_get(run, "jit"));
	report_built(term, json_object_get(run, "built"));
	if (!report_is_said_by_cases(run))
		term_block(term->out, json_text_or_empty(run, "message"), 6, REPORT_OUTPUT_LINES);
	template_put(term, "{cut?      the report of the job was too long; left out here: {cut}\n}", run, NULL);
	term_block(term->out, json_text_or_empty(run, "artifacts_cut"), 6, REPORT_OUTPUT_LINES);
	report_tests(term, result, verbose);
	AUTO_JSON json_t *cases = report_benchmark_cases(run, REPORT_CASES_MAX);
	report_benchmarks(term, cases, verbose);
	report_remarks(term, json_object_get(run, "remarks"));
	report_profiles(term, result, cases);
	if (passed)
		return;
	AUTO_FREE char *errors = condense_tracebacks(value_log(run, "stderr"));
	term_tail(term->out, value_log(run, "stdout"), 6, REPORT_END_LINES);
	term_tail(term->out, errors, 6, REPORT_END_LINES);
}

char *
report_change(json_int_t rank, const json_t *before)
{
	json_int_t was = json_integer_value(before);
	if (!rank || was < rank)
		return xstrdup("");
	return was == rank ? xstrdup(", as before") : xasprintf(", up from %lld", (long long)was);
}

char *
report_better(const json_t *better, const char *whose)
{
	AUTO_FREE char *owner = template_text("{user_name?the best of {user_name}}", better, NULL);
	AUTO_FREE char *what = template_text("submission {submission}, {score:seconds}, rank {rank}", better, NULL);
	return json_is_object(better) ? xasprintf(", not %s: %s", *owner ? owner : whose, what) : xstrdup("");
}

/* Prints ", score 12.3 ± 0.1 µs, rank 1 of 3, up from 2" for a job; nothing if it has no score. */
static void
put_score(const struct term *term, const json_t *job, const char *before, const char *after)
{
	if (!isfinite(value_number(job, "score")))
		return;
	fputs(before, term->out);
	const json_t *rank = json_object_get(job, "rank");
	AUTO_FREE char *change = report_change(member_int(rank, "rank"), json_object_get(rank, "before"));
	AUTO_FREE char *better = report_better(json_object_get(job, "better"), "your best");
	template_put(term, "{score:score}{share?, {share:share} of the limit}{rank.rank?, rank {rank.rank} of {rank.of}}",
		job, NULL);
	fprintf(term->out, "%s%s", change, better);
	fputs(after, term->out);
}

/* Whether a step of the job has the same message, so that it is not printed twice. */
static bool
is_repeated(const json_t *job, const json_t *runs, const char *message)
{
	json_array_each(json_object_get(job, "compilation"), step)
		if (!member_true(step, "passed") && strcmp(json_text_or_empty(step, "message"), message) == 0)
			return true;
	return list_find(runs, "message", message);
}

static void
report_rerun(const struct term *term, const json_t *job)
{
	const json_t *failed = json_object_get(job, "rerun_failed");
	if (member_true(job, "rerun") && !*json_text_or_empty(job, "ended"))
		fputs("  this is a rerun: the earlier verdict counts until it ends\n", term->out);
	if (!failed)
		return;
	fputs("  the rerun has no verdict, so this one stays:\n", term->out);
	term_block(term->out, json_text_or_empty(failed, "error"), 4, REPORT_OUTPUT_LINES);
}

/* Prints "  queue: 3 before it, begins in about 2 minutes". */
static void
report_place(const struct term *term, const json_t *job)
{
	if (json_is_integer(json_object_get(job, "place")))
		template_put(term, "  queue: {place?{place} before it|next}{wait_s?, begins {wait_s:wait}}\n", job, NULL);
}

void
report_job(const struct term *term, const json_t *job, const char *device, bool verbose)
{
	const char *state = json_text_or_empty(job, "state"), *error = json_text_or_empty(job, "error");
	const json_t *runs = json_object_get(job, "runs");
	fputc('\n', term->out);
	term_put(term, STYLE_BOLD, device);
	fputs("  ", term->out);
	put_state(term, state);
	fputc('\n', term->out);
	report_rerun(term, job);
	if (!is_repeated(job, runs, error))
		term_block(term->out, error, 2, REPORT_OUTPUT_LINES);
	if (!member_is(job, "fault", "participant"))
		template_put(term, "{fault?  fault: {fault}{retriable?; another attempt may pass}\n}", job, NULL);
	report_place(term, job);
	term_block(term->out, json_text_or_empty(job, "waits"), 2, REPORT_OUTPUT_LINES);
	report_compilation(term, job);
	json_array_each(runs, one)
		report_run(term, one, verbose);
	put_score(term, job, "  score ", "\n");
}

void
report_summary(const struct term *term, const char *title, const json_t *jobs)
{
	term_put(term, STYLE_BOLD, title);
	json_array_each_at(jobs, i, job) {
		const char *state = json_text_or_empty(job, "state");
		template_put(term, i > 0 ? "; {device} " : ": {device} ", job, NULL);
		put_state(term, state);
		put_score(term, job, ", ", "");
	}
	fputc('\n', term->out);
}

void
report_head(const struct term *term, const json_t *submission)
{
	template_put(term,
		"Submission {id}{leaderboard_name? · {leaderboard_name}}{mode? · {mode}}{practice? · practice}{file_name? "
		"· {file_name}}"
		"{user_name? · {user_name}} · {submission_time:time}\n",
		submission, NULL);
	template_put(term, "{note?Note: {note}\n}", submission, NULL);
	if (json_text_or_null(submission, "flagged")) {
		term_put(term, STYLE_RED, "Marked as a cheat. Reason: ");
		template_put(term, "{flagged}\n", submission, NULL);
	}
}

json_t *
report_timing(const json_t *timing, double *ret_ns)
{
	/* The members of "parts", in the order of time. */
	static const struct part {
		const char *key, *name, *meaning;
	} parts[] = {
		{"earlier_ns", "earlier", "attempts without a verdict"},
		{"queue_ns", "queue", "until a unit of the device was free"},
		{"plan_ns", "plan", "planned and marked as running"},
		{"transfer_ns", "transfer", "to the machine and back"},
		{"build_ns", "build", "compiled, or found in the cache"},
		{"prepare_ns", "prepare", "prepare steps"},
		{"wait_ns", "wait", "on the machine, for the device or for a turn to build"},
		{"start_ns", "start", "folders and sandboxes made, programs started"},
		{"compile_ns", "compile", "compilers in the task's programs, as far as their caches show it"},
		{"run_ns", "run", "the task's programs"},
		{"collect_ns", "collect", "sandboxes removed, outputs taken over"},
		{"other_ns", "other", "between the steps"},
		{"record_ns", "record", "until the verdict was stored"},
	};
	json_t *rows = json_array();
	const json_t *given = json_object_get(timing, "parts");
	double total = 0, at = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		total += (double)member_int(given, parts[i].key);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		double ns = (double)member_int(given, parts[i].key), share = 100 * ns / total;
		if (ns <= 0)
			continue;
		json_array_append_new(rows,
			json_pack("{s:i, s:s, s:s, s:f, s:o, s:o}", "number", (int)i, "name", parts[i].name, "meaning",
				parts[i].meaning, "ns", ns, "share", json_sprintf("%.1f", share), "at", json_sprintf("%.1f", at)));
		at += share;
	}
	*ret_ns = total;
	return rows;
}
