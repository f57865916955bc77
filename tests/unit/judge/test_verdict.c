/* SPDX-License-Identifier: MIT */
/* Verdicts: scores, blame, sentences, and nothing of a secret run. */
#include <config.h>

#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "judge/run_steps.h"
#include "lib/languages.h"
#include "lib/unit_test.h"

#define SEED "1424242421"
#define WALL_NS 20000000 /* of each step */

/* A job with a compile step and the runs of a mode, all outcomes passed. */
struct job {
	json_t *task, *plan, *completion, *verdict;
	bool task_only, complete; /* the step with this index; the runs */
	int task_only_at;
};

static json_t *
passed_outcome(const json_t *step)
{
	const char *mode = json_string_value(json_object_get(json_object_get(step, "run"), "mode"));
	json_t *result = json_object();
	if (mode)
		json_object_set_new(result, "check", json_string("pass"));
	if (mode && strcmp(mode, "test") == 0) {
		json_object_set_new(result, "test-count", json_string("2"));
		json_object_set_new(result, "test.0.status", json_string("pass"));
		json_object_set_new(result, "test.1.status", json_string("pass"));
	} else if (mode) {
		json_object_set_new(result, "benchmark-count", json_string("2"));
		json_object_set_new(result, "benchmark.0.mean", json_string("1000000"));
		json_object_set_new(result, "benchmark.1.mean", json_string("4e6"));
	}
	return json_pack(
		"{s:O, s:O, s:s, s:i, s:n, s:n, s:n, s:b, s:s, s:i, s:i, s:b, s:{s:s, s:i}, s:{s:s, s:i}, s:o, s:n}", "step",
		json_object_get(step, "id"), "kind", json_object_get(step, "kind"), "state", "passed", "exit", 0, "signal",
		"limit", "error", "cached", 0, "command", "./program", "start_ns", 5, "wall_ns", WALL_NS, "prepared", true,
		"stdout", "text", "printed\n", "cut", 0, "stderr", "text", "", "cut", 0, "result", result, "result_error");
}

static struct job
make_job(const char *mode, const char *ranking)
{
	struct job job = {
		.task = json_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:[], s:[{s:i}, {s:i}], s:[{s:i}, {s:i}]}", "lang", "py",
			"ranking_by", ranking, "test_timeout", 10, "benchmark_timeout", 20, "ranked_timeout", 30, "multi_gpu", 0,
			"files", "tests", "n", 1, "n", 2, "benchmarks", "n", 3, "n", 4),
		.completion = json_pack("{s:s, s:n, s:[], s:{s:s}, s:{s:i}}", "status", "done", "error", "outcomes", "system",
			"cpu", "x", "stamps", "done", 9),
	};
	json_t *runs = NULL, *steps = json_array();
	assert_int_equal(run_steps_make(job.task, mode, SEED, NULL, NULL, &runs, NULL), 0);
	json_array_append_new(steps, json_pack("{s:s, s:s, s:s, s:[s]}", "id", "compile-0", "kind", "build", "title",
									 "compile submission.cpp", "argv", "g++"));
	json_array_extend(steps, runs);
	json_decref(runs);
	json_array_each(steps, step)
		json_array_append_new(json_object_get(job.completion, "outcomes"), passed_outcome(step));
	job.plan = json_pack("{s:i, s:o}", "version", 1, "steps", steps);
	return job;
}

static void
free_job(struct job *job)
{
	json_decref_all(job->task, job->plan, job->completion, job->verdict);
}
#define AUTO_JOB __attribute__((cleanup(free_job)))

static json_t *
outcome_of(const struct job *job, const char *id)
{
	json_array_each(json_object_get(job->completion, "outcomes"), outcome)
		if (member_is(outcome, "step", id))
			return outcome;
	fail_msg("no step %s", id);
	return NULL;
}

/* Changes the outcome of a step: members of `with` replace its own; what comes after is skipped. */
static void
change(struct job *job, const char *id, json_t *with)
{
	bool after = false;
	json_array_each(json_object_get(job->completion, "outcomes"), outcome) {
		if (after)
			json_object_set_new(outcome, "state", json_string("skipped"));
		after = after || member_is(outcome, "step", id);
	}
	assert_int_equal(json_object_update(outcome_of(job, id), with), 0);
	json_decref(with);
}

/* Changes one key of a step's result; the steps after it stay. */
static void
change_result(struct job *job, const char *id, const char *key, const char *value)
{
	json_t *result = json_object_get(outcome_of(job, id), "result");
	assert_int_equal(value ? json_object_set_new(result, key, json_string(value)) : json_object_del(result, key), 0);
}

static void
make(struct job *job)
{
	AUTO_COMPLETION struct completion completion = completion_read(job->completion);
	AUTO_PLAN struct plan *plan = plan_read(json_incref(job->plan));
	plan->steps[job->task_only_at].task_only = job->task_only;
	for (size_t i = 0; i < plan->count; i++)
		plan->steps[i].complete = job->complete;
	AUTO_VERDICT struct verdict *verdict = verdict_make(languages, job->task, plan, &completion, NULL);
	json_decref(job->verdict);
	job->verdict = verdict_write(verdict);
	/* It has to survive a database and a network. */
	AUTO_FREE char *text = json_dumps(job->verdict, 0);
	assert_non_null(text);
}

static void
expect(struct job *job, const char *state, const char *error, const char *blame, bool retry)
{
	make(job);
	const char *found = json_text_or_null(job->verdict, "error"), *blamed = json_text_or_null(job->verdict, "blame");
	assert_string_equal(found ? found : "", error);
	assert_string_equal(json_text_or_null(job->verdict, "state"), state);
	assert_string_equal(blamed ? blamed : "", blame);
	assert_int_equal(json_is_true(json_object_get(job->verdict, "retry")), retry);
	if (strcmp(state, "passed") != 0)
		assert_true(json_is_null(json_object_get(job->verdict, "score")));
}

static double
number_at(const json_t *value, const char *key)
{
	const json_t *number = json_object_get(value, key);
	return json_is_null(number) ? -1 : json_number_value(number);
}

static bool
close_to(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

/* ---- passing ---- */

static void
test_passed(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "geom");
	expect(&job, "passed", "", "", false);
	assert_true(close_to(number_at(job.verdict, "score"), 2e-3) && number_at(job.verdict, "low") < 0);
	const json_t *runs = json_object_get(job.verdict, "runs"), *compile = json_object_get(job.verdict, "compilation");
	assert_int_equal(json_array_size(runs), 6);
	assert_int_equal(json_array_size(compile), 1);
	assert_string_equal(json_text_or_null(json_array_get(compile, 0), "title"), "compile submission.cpp");
	assert_string_equal(json_text_or_null(json_array_get(runs, 0), "stdout"), "printed\n");
	assert_string_equal(json_text_or_null(json_object_get(json_array_get(runs, 0), "result"), "check"), "pass");
	assert_true(json_is_null(json_object_get(json_array_get(runs, 1), "score")));
	assert_true(close_to(number_at(json_array_get(runs, 2), "score"), 2e-3));
	assert_string_equal(json_text_or_null(json_object_get(job.verdict, "system"), "cpu"), "x");
	const json_t *timing = json_object_get(job.verdict, "timing");
	assert_int_equal(json_integer_value(json_object_get(timing, "build_ns")), WALL_NS);
	/* Nothing tells how long the secret runs took, or how they began. */
	assert_int_equal(json_integer_value(json_object_get(timing, "run_ns")), 3 * WALL_NS);
	assert_int_equal(json_object_size(json_object_get(timing, "stamps")), 0);
	for (size_t i = 0; i < 6; i++) {
		assert_true(number_at(json_array_get(runs, i), "wall_ns") == (i < 3 ? (double)WALL_NS : -1));
		assert_int_equal(json_is_null(json_object_get(json_array_get(runs, i), "start_ns")), i >= 3);
		assert_int_equal(member_true(json_array_get(runs, i), "prepared"), i < 3);
	}
}

static void
test_other_modes(void **state)
{
	(void)state;
	static const char *const modes[] = {"test", "benchmark"};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		AUTO_JOB struct job job = make_job(modes[i], "mean");
		expect(&job, "passed", "", "", false);
		assert_true(json_is_null(json_object_get(job.verdict, "score")));
		const json_t *stamps = json_object_get(json_object_get(job.verdict, "timing"), "stamps");
		assert_int_equal(json_integer_value(json_object_get(stamps, "done")), 9);
	}
	AUTO_JOB struct job profile = make_job("profile", "mean");
	change_result(&profile, "profile-0", "benchmark-count", "1");
	change_result(&profile, "profile-1", "benchmark-count", "1");
	expect(&profile, "passed", "", "", false);
	const json_t *run = json_array_get(json_object_get(profile.verdict, "runs"), 1);
	assert_int_equal(json_integer_value(json_object_get(run, "index")), 1);
}

/* The slower half counts, with its interval. */
static void
test_slower(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change_result(&job, "secret-leaderboard", "benchmark.1.mean", "5000000");
	static const char *const bounds[][2] = {{"benchmark.0.low", "900000"}, {"benchmark.0.high", "1100000"},
		{"benchmark.1.low", "4.5e6"}, {"benchmark.1.high", "5.5e6"}};
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		change_result(&job, "secret-leaderboard", bounds[i][0], bounds[i][1]);
	expect(&job, "passed", "", "", false);
	assert_true(close_to(number_at(job.verdict, "score"), 3e-3));
	/* Its harness is of no kind that is known to have right intervals. */
	assert_true(number_at(job.verdict, "low") < 0 && number_at(job.verdict, "high") < 0);
	change_result(&job, "leaderboard", "benchmark.0.mean", "9000000");
	expect(&job, "passed", "", "", false);
	assert_true(close_to(number_at(job.verdict, "score"), 6.5e-3));
	assert_true(number_at(job.verdict, "low") < 0);
}

/* An error that a harness reports makes no interval. */
static void
test_endless(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change_result(&job, "secret-leaderboard", "benchmark.1.mean", "1e200");
	change_result(&job, "secret-leaderboard", "benchmark.1.raw-mean", "1e6");
	change_result(&job, "secret-leaderboard", "benchmark.1.err", "1e199");
	change_result(&job, "secret-leaderboard", "benchmark.0.err", "1");
	expect(&job, "passed", "", "", false);
	assert_true(number_at(job.verdict, "score") > 1e190);
	assert_true(number_at(job.verdict, "high") < 0);
}

static void
test_last(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "last");
	static const char *const ids[] = {"benchmark", "leaderboard", "secret-benchmark", "secret-leaderboard"};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		change_result(&job, ids[i], "benchmark-count", "1");
	expect(&job, "passed", "", "", false);
	assert_true(close_to(number_at(job.verdict, "score"), 1e-3));
}

/* ---- scores ---- */

static void
test_bad_times(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change_result(&job, "leaderboard", "benchmark.1.mean", "nan");
	expect(&job, "failed",
		"The leaderboard run is void: its harness reported the mean time `nan` for benchmark 2, which must be a finite "
		"number of nanoseconds above zero.",
		"participant", false);
	change_result(&job, "leaderboard", "benchmark.1.mean", NULL);
	expect(&job, "failed", "The leaderboard run is void: its harness reported no mean time for benchmark 2.",
		"participant", false);
	assert_true(json_is_false(json_object_get(json_array_get(json_object_get(job.verdict, "runs"), 2), "passed")));
	AUTO_JOB struct job secret = make_job("ranked", "mean");
	change_result(&secret, "secret-leaderboard", "benchmark.0.mean", "0");
	expect(&secret, "failed",
		"It passed the public runs but failed the secret ones: the secret leaderboard run is void: the times that its "
		"harness reported do not give a score.",
		"participant", false);
}

/* A machine that is slower than when it was calibrated is tried again: nothing of that is the participant's. */
static void
test_slow_machine(void **state)
{
	(void)state;
	static const char *const runs[] = {"leaderboard", "secret-leaderboard"};
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		AUTO_JOB struct job job = make_job("ranked", "mean");
		char sentence[200];
		(void)snprintf(sentence, sizeof(sentence),
			"The machine could not time the %sleaderboard run: the calibrator took far longer than when the device was "
			"calibrated, so benchmark 2 has no score.",
			i > 0 ? "secret " : "");
		change_result(&job, runs[i], "benchmark.1.calibrator", "cpu-c-1");
		change_result(&job, runs[i], "benchmark.1.ratio", "40");
		change_result(&job, runs[i], "benchmark.1.calibrator-ns", "3e5");
		change_result(&job, runs[i], "benchmark.1.best", "11e6");
		expect(&job, "error", sentence, "machine", true);
	}
}

/* What a report lacks, and what it claims beyond the run's own time. */
static void
test_impossible_reports(void **state)
{
	(void)state;
	AUTO_JOB struct job lacking = make_job("benchmark", "mean");
	lacking.complete = true;
	expect(&lacking, "failed",
		"The benchmark run is void: its report lacks `status` of benchmark 1, which its harness always gives.",
		"participant", false);
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change_result(&job, "leaderboard", "benchmark.0.runs", "30");
	expect(&job, "failed",
		"The leaderboard run is void: its harness reported calls that took 0.034 s in total (for each "
		"benchmark its number of calls, or one, times their mean), but the whole run took 0.02 s.",
		"participant", false);
}

/* ---- failing ---- */

static void
test_failed_test(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change(&job, "test",
		json_pack("{s:s, s:i, s:{s:s, s:s, s:s, s:s, s:s}}", "state", "failed", "exit", 112, "result", "check", "fail",
			"test.0.status", "pass", "test.1.status", "fail", "test.1.spec", "n: 2", "test.1.error",
			"mismatch at\xe2\x80\xae 7: 1\xe2\x80\x8b is not 2"));
	expect(&job, "failed", "1 of 2 tests failed; the first is test 2 (n: 2): mismatch at 7: 1 is not 2", "participant",
		false);
	assert_int_equal(json_array_size(json_object_get(job.verdict, "runs")), 1);
	change_result(&job, "test", "check", "pass");
	expect(&job, "failed", "The test run is void: its harness reported `check: pass` but also a failed test.",
		"participant", false);
}

#define SAID "Traceback (most recent call last):\n  File \"x\"\nImportError: no module named x\n\n"
#define ENDED(status) "The test run failed with exit status " status ": ImportError: no module named x"

static void
test_exits(void **state)
{
	static const struct {
		int status;
		const char *fault, *state, *error, *blame;
		bool retry;
	} exits[] = {
		{110, "machine", "error",
			"The test run ended because the GPU's programming interface reported an error (exit status 110).",
			"machine", true},
		{113, "task", "error",
			"The harness of the test run reported an error in the task (exit status 113): ImportError: no module named "
			"x",
			"task", false},
		{2, "task", "error", "The harness of the test run rejected its arguments (exit status 2).", "task", false},
		/* A submission can end with any status: without the harness's word it means nothing. */
		{110, NULL, "failed", ENDED("110"), "participant", false},
		{110, "task", "failed", ENDED("110"), "participant", false},
		{111, NULL, "failed", ENDED("111"), "participant", false},
		{111, "machine", "failed", ENDED("111"), "participant", false},
		{113, NULL, "failed", ENDED("113"), "participant", false},
		{113, "machine", "failed", ENDED("113"), "participant", false},
		{2, NULL, "failed", ENDED("2"), "participant", false},
		{112, NULL, "failed", "The harness of the test run reported a failure.", "participant", false},
		{1, "machine", "failed", ENDED("1"), "participant", false},
		{0, NULL, "failed",
			"The test run ended with exit status 0, but its harness never reported whether the results are correct.",
			"participant", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exits); i++) {
		AUTO_JOB struct job job = make_job("test", "mean");
		change(&job, "test",
			json_pack("{s:s, s:i, s:{s:s*}, s:{s:s}}", "state", "failed", "exit", exits[i].status, "result", "fault",
				exits[i].fault, "stderr", "text", SAID));
		expect(&job, exits[i].state, exits[i].error, exits[i].blame, exits[i].retry);
	}
}

/* Once timing has begun, in this run or an earlier one, no word of a run throws the times away. */
static void
test_fault_while_timed(void **state)
{
	static const char *const faults[][2] = {{"benchmark"}, {"benchmark", "n: 3"}, {"leaderboard"}, {"secret-test"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		AUTO_JOB struct job job = make_job("ranked", "mean");
		change(&job, faults[i][0],
			json_pack("{s:s, s:i, s:{s:s, s:s*}}", "state", "failed", "exit", 110, "result", "fault", "machine",
				"benchmark.0.spec", faults[i][1]));
		make(&job);
		assert_int_equal(json_is_true(json_object_get(job.verdict, "retry")), i == 0);
	}
}

static void
test_limits(void **state)
{
	static const struct {
		const char *limit;
		double value;
		const char *state, *error;
	} limits[] = {
		{"wall", 0, "timed_out", "The test run exceeded its time limit of 10 s (`test_timeout` of the task)."},
		{"cpu", 0, "timed_out", "The test run exceeded its limit of CPU time."},
		{"cpu", 1.5, "timed_out", "The test run exceeded its limit of 1.5 s of CPU time."},
		{"memory", 20.5 * (1 << 30), "failed",
			"The test run exceeded its memory limit of 20.5 GiB (`memory` of the device)."},
		{"disk", 1 << 30, "failed", "The test run exceeded its limit of 1 GiB of files in `out/`."},
		{"cache", 1 << 30, "failed", "The test run exceeded its limit of 1 GiB in the cache of compilers."},
		{"shm", 0, "failed", "The test run exceeded its limit of `/dev/shm`."},
		{"entropy", 0, "failed", "The test run exceeded a limit."},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		AUTO_JOB struct job job = make_job("test", "mean");
		change(&job, "test",
			json_pack("{s:s, s:s, s:n, s:i, s:f}", "state", "limit", "limit", limits[i].limit, "exit", "signal", 9,
				"limit_value", limits[i].value));
		expect(&job, limits[i].state, limits[i].error, "participant", false);
		const json_t *run = json_array_get(json_object_get(job.verdict, "runs"), 0);
		if (strcmp(limits[i].state, "timed_out") == 0)
			assert_int_equal(json_integer_value(json_object_get(run, "exit")), 114);
	}
	AUTO_JOB struct job job = make_job("test", "mean");
	change(&job, "test", json_pack("{s:s, s:n, s:i}", "state", "failed", "exit", "signal", 11));
	expect(&job, "failed", "The test run was terminated by signal 11 (invalid memory access).", "participant", false);
	change(&job, "test",
		json_pack("{s:s, s:s, s:n, s:f, s:I, s:{s:s, s:i}}", "state", "limit", "limit", "wall", "exit", "limit_value",
			9.0, "memory_peak", (json_int_t)3 << 30, "also", "limit", "processes", "value", 512));
	make(&job);
	assert_sentence(json_text_or_null(job.verdict, "error"));
}

static void
test_compile(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change(&job, "compile-0",
		json_pack("{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 1, "stderr", "text",
			"submission.cpp: In function 'f':\nsubmission.cpp:3:5: error: 'x' was not declared\nand more\n"));
	expect(&job, "failed",
		"The step `compile submission.cpp` failed with exit status 1: submission.cpp:3:5: error: 'x' was not declared",
		"participant", false);
	assert_int_equal(json_array_size(json_object_get(job.verdict, "runs")), 0);
	const json_t *entry = json_array_get(json_object_get(job.verdict, "compilation"), 0);
	assert_non_null(strstr(json_text_or_null(entry, "stderr"), "and more"));
	change(&job, "compile-0", json_pack("{s:s, s:n, s:s}", "state", "limit", "exit", "limit", "wall"));
	expect(&job, "timed_out", "The step `compile submission.cpp` exceeded its time limit.", "participant", false);
	change(&job, "compile-0", json_pack("{s:s, s:n, s:n, s:s}", "state", "failed", "exit", "signal", "error", "Why."));
	expect(&job, "failed", "The step `compile submission.cpp` could not begin: Why.", "participant", false);
}

/* No verdict depends on an optional step, and what explains failures does not name it. */
static void
test_optional(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	json_object_set_new(json_at(job.plan, "steps.0", 7), "optional", json_true());
	json_object_update_new(outcome_of(&job, "compile-0"),
		json_pack("{s:s, s:s, s:{s:s}}", "state", "limit", "limit", "wall", "stderr", "text", "Why."));
	expect(&job, "passed", "", "", false);
	assert_int_equal(json_array_size(json_object_get(job.verdict, "compilation")), 0);
}

/* Nor is it the task's where something outside killed it: that is tried again. */
static void
test_task_only_killed(void **state)
{
	static const char *const said[] = {
		"g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
		"clang++-14: error: unable to execute command: Killed\n",
		"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
	};
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	for (size_t i = 0; i <= ARRAY_SIZE(said); i++) {
		json_t *how =
			i < ARRAY_SIZE(said)
				? json_pack("{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 1, "stderr", "text", said[i])
				: json_pack("{s:s, s:n, s:i, s:{s:s}}", "state", "failed", "exit", "signal", 9, "stderr", "text", "");
		job.task_only = true;
		change(&job, "compile-0", how);
		expect(&job, "error",
			"The machine killed the step `compile submission.cpp`, probably because it ran out of memory.", "machine",
			true);
		/* Where a submission has a part in it, it may have brought that about. */
		job.task_only = false;
		make(&job);
		assert_string_equal(json_text_or_null(job.verdict, "state"), "failed");
	}
	/* A limit of the sandbox says so itself. */
	job.task_only = true;
	change(
		&job, "compile-0", json_pack("{s:s, s:n, s:i, s:s}", "state", "limit", "exit", "signal", 9, "limit", "memory"));
	make(&job);
	assert_string_equal(json_text_or_null(job.verdict, "blame"), "task");
}

static json_t *
blames_machine_alone(const json_t *step, const json_t *outcome)
{
	if (!json_is_true(json_object_get(step, "task_only")) || strcmp(json_text_or_null(outcome, "state"), "failed") != 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:b}", "state", "error", "message", "The board's compiler is too old.", "blame",
		"machine", "retry", 0);
}

/* Where the task's own step fails, it decides, though a step with the submission failed before it. */
static void
test_task_only_later(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	json_t *steps = json_object_get(job.plan, "steps"), *later = json_deep_copy(json_array_get(steps, 0));
	json_object_set_new(later, "id", json_string("compile-1"));
	json_array_insert_new(steps, 1, later);
	job.task_only = true;
	job.task_only_at = 1;
	json_array_append_new(json_object_get(job.completion, "outcomes"), passed_outcome(later));
	change(&job, "compile-0", json_pack("{s:s, s:i}", "state", "failed", "exit", 1));
	json_object_update_new(
		outcome_of(&job, "compile-1"), json_pack("{s:s, s:s}", "state", "error", "error", "no room"));
	expect(&job, "failed", "The step `compile submission.cpp` failed with exit status 1.", "participant", false);
	json_object_update_new(outcome_of(&job, "compile-1"), json_pack("{s:s, s:i}", "state", "failed", "exit", 1));
	expect(&job, "error",
		"The task is at fault, not the submission: the step `compile submission.cpp` failed with exit status 1.",
		"task", false);
	/* So does what its language says of the machine, where no submission has a part in the step. */
	py_hooks.interpret = blames_machine_alone;
	expect(&job, "error", "The board's compiler is too old.", "machine", false);
	py_hooks.interpret = NULL;
}

/* A step that no submission has a part in: what fails there is the task's, unless it is the machine's. */
static void
test_task_only(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	job.task_only = true;
	expect(&job, "passed", "", "", false);
	change(&job, "compile-0",
		json_pack("{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 1, "stderr", "text", "eval.cpp:3:5: error: no\n"));
	expect(&job, "error",
		"The task is at fault, not the submission: the step `compile submission.cpp` failed with exit status 1: "
		"eval.cpp:3:5: error: no",
		"task", false);
	change(&job, "compile-0", json_pack("{s:s, s:n, s:s}", "state", "limit", "exit", "limit", "wall"));
	expect(&job, "error",
		"The task is at fault, not the submission: the step `compile submission.cpp` exceeded its time limit.", "task",
		false);
	change(&job, "compile-0", json_pack("{s:s, s:n, s:s}", "state", "error", "limit", "error", "no room"));
	expect(&job, "error", "The machine could not run the step `compile submission.cpp`: no room", "machine", true);
}

/* A harness whose words do not agree with each other. */
static void
test_contradictions(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	change_result(&job, "test", "test-count", "1");
	expect(
		&job, "failed", "The test run is void: its harness reported 1 tests, but was given 2.", "participant", false);
	change_result(&job, "test", "test-count", NULL);
	change_result(&job, "test", "test.1.status", "fail");
	expect(&job, "failed", "The test run is void: its harness reported `check: pass` but also a failure of test 2.",
		"participant", false);
	change_result(&job, "test", "test.1.status", NULL);
	expect(&job, "failed", "The test run is void: its report lacks `status` of test 2, which its harness always gives.",
		"participant", false);
	json_object_set_new(outcome_of(&job, "test"), "result_error", json_string("The key `check` came twice."));
	expect(&job, "failed", "The test run is void: The key `check` came twice.", "participant", false);
}

/* What kettle-exec calls passed is looked at again. */
static void
test_distrust(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	change_result(&job, "test", "check", NULL);
	make(&job);
	assert_string_equal(json_text_or_null(job.verdict, "state"), "failed");
	AUTO_JOB struct job exits = make_job("test", "mean");
	json_object_set_new(outcome_of(&exits, "test"), "exit", json_integer(3));
	make(&exits);
	assert_string_equal(json_text_or_null(exits.verdict, "state"), "failed");
}

/* ---- the machine ---- */

static void
test_machine(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change(
		&job, "compile-0", json_pack("{s:s, s:s, s:s}", "state", "error", "error", "no such tool", "missing", "g++"));
	expect(&job, "error", "The machine lacks `g++`.", "machine", false);
	assert_string_equal(json_text_or_null(job.verdict, "lacks"), "g++");
	json_object_del(outcome_of(&job, "compile-0"), "missing");
	json_object_set_new(outcome_of(&job, "compile-0"), "error", json_string("The disk is full."));
	expect(&job, "error", "The machine could not run the step `compile submission.cpp`: The disk is full.", "machine",
		true);
	json_object_set_new(job.completion, "status", json_string("lost"));
	expect(&job, "error", "The machine failed during this job.", "machine", true);
	json_object_set_new(job.completion, "error", json_string("The network went away."));
	expect(&job, "error", "The network went away.", "machine", true);
	json_object_set_new(job.completion, "status", json_string("cancelled"));
	json_object_set_new(job.completion, "error", json_null());
	expect(&job, "error", "It was cancelled.", "", false);
}

static void
test_incomplete(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	json_array_remove(json_object_get(job.completion, "outcomes"), 6);
	expect(&job, "error", "The machine did not report the result of the secret leaderboard run.", "machine", true);
	json_object_set_new(job.completion, "outcomes", json_integer(7));
	json_object_set_new(job.completion, "system", json_string("none"));
	expect(
		&job, "error", "The machine did not report the result of the step `compile submission.cpp`.", "machine", true);
	AUTO_JOB struct job skipped = make_job("test", "mean");
	json_object_set_new(outcome_of(&skipped, "test"), "state", json_string("skipped"));
	expect(&skipped, "error", "The machine did not run every step of the job.", "machine", true);
}

/* An outcome whose members are of all the wrong types. */
static void
test_garbage(void **state)
{
	(void)state;
	static const char *const keys[] = {"state", "exit", "signal", "limit", "error", "command", "start_ns", "wall_ns",
		"stdout", "stderr", "result", "result_error", "artifacts", "memory_peak", "missing", "cached"};
	static const char *const values[] = {
		"[]", "{}", "null", "true", "-1", "1e300", "\"x\"", "{\"text\": 1}", "{\"check\": [1]}", "[{\"name\": 1}, 2]"};
	for (size_t i = 0; i < ARRAY_SIZE(keys) * ARRAY_SIZE(values); i++) {
		AUTO_JOB struct job job = make_job("ranked", "mean");
		json_t *value = json_loads(values[i % ARRAY_SIZE(values)], JSON_DECODE_ANY, NULL);
		assert_non_null(value);
		json_object_set_new(outcome_of(&job, "test"), keys[i / ARRAY_SIZE(values)], value);
		make(&job);
	}
}

/* ---- secrets ---- */

static void
test_secret(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change(&job, "secret-test",
		json_pack("{s:s, s:i, s:{s:s}, s:{s:s}, s:s, s:{s:s}, s:{s:s, s:s, s:s, s:s}, s:[{s:s, s:s}]}", "state",
			"failed", "exit", 112, "stdout", "text", "SEKRET", "stderr", "text", "SEKRET", "command", "SEKRET", "jit",
			"dropped", "SEKRET", "result", "check", "fail", "test.0.status", "fail", "test.0.spec", "SEKRET",
			"test.0.error", "SEKRET", "artifacts", "name", "SEKRET", "sha256", "SEKRET"));
	expect(&job, "failed",
		"It passed the public runs but failed the secret ones: the harness of the secret test run reported a failure.",
		"participant", false);
	AUTO_FREE char *text = json_dumps(job.verdict, 0);
	assert_null(strstr(text, "SEKRET"));
	assert_null(strstr(text, SEED));
	json_object_set_new(outcome_of(&job, "secret-test"), "exit", json_integer(1));
	make(&job);
	AUTO_FREE char *other = json_dumps(job.verdict, 0);
	assert_null(strstr(other, "SEKRET"));
	json_object_set_new(outcome_of(&job, "secret-test"), "result_error", json_string("SEKRET"));
	json_object_set_new(outcome_of(&job, "secret-test"), "exit", json_integer(0));
	make(&job);
	AUTO_FREE char *third = json_dumps(job.verdict, 0);
	assert_null(strstr(third, "SEKRET"));
	const json_t *run = json_array_get(json_object_get(job.verdict, "runs"), 3);
	assert_int_equal(json_object_size(run), 9);
}

static void
test_secret_timeout(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("ranked", "mean");
	change(&job, "secret-leaderboard", json_pack("{s:s, s:n, s:s}", "state", "limit", "exit", "limit", "wall"));
	expect(&job, "timed_out",
		"It passed the public runs but failed the secret ones: the secret leaderboard run exceeded its time limit of "
		"30 "
		"s "
		"(`ranked_timeout` of the task).",
		"participant", false);
}

static void
test_bounds(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	AUTO_FREE char *huge = calloc((4u << 20) + 1, 1);
	for (size_t i = 0; i < 4u << 20; i += 2)
		memcpy(huge + i, "\xc3\xa4", 2);
	json_object_set_new(outcome_of(&job, "test"), "stdout", json_pack("{s:s, s:i}", "text", huge, "cut", 12));
	change_result(&job, "test", "test.0.message", huge);
	json_object_set_new(job.completion, "system", json_pack("{s:s}", "x", huge));
	expect(&job, "passed", "", "", false);
	const json_t *run = json_array_get(json_object_get(job.verdict, "runs"), 0);
	assert_non_null(strstr(json_text_or_null(run, "stdout"), "[… 4128732 bytes omitted; 65584 are kept …]"));
	assert_string_equal(json_text_or_null(json_object_get(run, "result"), "kettle.left-out"), "1");
	assert_int_equal(json_object_size(json_object_get(job.verdict, "system")), 0);
	strcpy(huge + VERDICT_MAX_TEXT, "\n[... 12 bytes cut ...]\n"); /* kettle-exec's note */
	json_object_set_new(outcome_of(&job, "test"), "stdout", json_pack("{s:s, s:i}", "text", huge, "cut", 12));
	expect(&job, "passed", "", "", false);
	assert_string_equal(json_text_or_null(json_array_get(json_object_get(job.verdict, "runs"), 0), "stdout"), huge);
}

/* A megabyte of lines without the word that is looked for: what would look from each of them to the end takes minutes. */
static void
test_empty_lines(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	AUTO_FREE char *lines = malloc((1u << 20) + 1);
	assert_non_null(lines);
	memset(lines, '\n', 1u << 20);
	lines[1u << 20] = '\0';
	change(&job, "compile-0", json_pack("{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 3, "stderr", "text", lines));
	expect(&job, "failed", "The step `compile submission.cpp` failed with exit status 3.", "participant", false);
}

/* ---- languages that explain ---- */

static json_t *
says_module(const json_t *step, const json_t *outcome)
{
	(void)step;
	if (strcmp(json_text_or_null(outcome, "state"), "passed") == 0)
		return json_pack("{s:b, s:s}", "passed", 1, "state", "passed");
	return json_pack("{s:b, s:s, s:s, s:s, s:b, s:s}", "passed", 0, "state", "failed", "message", "It has no torch.",
		"blame", "machine", "retry", 0, "lacks", "torch");
}

static json_t *
says_passed(const json_t *step, const json_t *outcome)
{
	(void)step, (void)outcome;
	return json_pack("{s:b, s:s}", "passed", 1, "state", "passed");
}

static void
test_interpret(void **state)
{
	(void)state;
	AUTO_JOB struct job job = make_job("test", "mean");
	py_hooks.interpret = says_module;
	expect(&job, "passed", "", "", false);
	change(&job, "test", json_pack("{s:s, s:i}", "state", "failed", "exit", 1));
	expect(&job, "error", "It has no torch.", "machine", false);
	assert_string_equal(json_text_or_null(job.verdict, "lacks"), "torch");
	/* A harness that reports such faults itself has not said so: the words are the submission's. */
	job.complete = true;
	expect(&job, "failed", "The test run failed with exit status 1.", "participant", false);
	change(&job, "test", json_pack("{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 1, "result", "fault", "task"));
	expect(&job, "error", "It has no torch.", "machine", false);
	job.complete = false;
	py_hooks.interpret = says_passed;
	make(&job);
	py_hooks.interpret = NULL;
	assert_string_equal(json_text_or_null(job.verdict, "state"), "failed");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_passed),
	cmocka_unit_test(test_other_modes),
	cmocka_unit_test(test_slower),
	cmocka_unit_test(test_endless),
	cmocka_unit_test(test_last),
	cmocka_unit_test(test_bad_times),
	cmocka_unit_test(test_slow_machine),
	cmocka_unit_test(test_failed_test),
	cmocka_unit_test(test_impossible_reports),
	cmocka_unit_test(test_exits),
	cmocka_unit_test(test_fault_while_timed),
	cmocka_unit_test(test_limits),
	cmocka_unit_test(test_compile),
	cmocka_unit_test(test_optional),
	cmocka_unit_test(test_task_only),
	cmocka_unit_test(test_task_only_killed),
	cmocka_unit_test(test_task_only_later),
	cmocka_unit_test(test_contradictions),
	cmocka_unit_test(test_distrust),
	cmocka_unit_test(test_machine),
	cmocka_unit_test(test_incomplete),
	cmocka_unit_test(test_garbage),
	cmocka_unit_test(test_secret),
	cmocka_unit_test(test_secret_timeout),
	cmocka_unit_test(test_bounds),
	cmocka_unit_test(test_empty_lines),
	cmocka_unit_test(test_interpret),
};

UNIT_TESTS(test_verdict, .setup = languages_setup, .teardown = languages_teardown);
