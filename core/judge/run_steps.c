/* SPDX-License-Identifier: MIT */
/* Makes the run steps that every language's plan ends in: the POPCORN protocol, written down once. */
#include <config.h>

#include "judge/run_steps.h"

#include <inttypes.h>

#include "base/base.h"
#include "base/text.h"
#include "judge/calibration.h"
#include "judge/capture.h"

#define CASES_NAME "cases.txt"
#define CASES_OTHER_NAME "kettle-cases.txt" /* the name where a task has a file of the first name */
#define SEED_MAX ((1LL << 31) - 1)

/* Result keys with a meaning: a second value for one of them makes the run void. */
static const char *const unique_keys[] = {
	"^(check|fault)$",
	"^(test|benchmark)-count$",
	"^test\\.[0-9]+\\.(spec|status|error|message)$",
	"^benchmark\\.[0-9]+\\.(spec|status|error|runs|mean|std|err|best|worst|low|high|report|compiled)$",
	"^benchmark\\.[0-9]+\\.(ratio|calibrator|calibrator-ns|calibrated|calibrators|ratios|raw-mean)$",
	"^benchmark\\.[0-9]+\\.(sessions|dropped|busy)$",
};

/* The kinds of run, by the harness's names for them. */
static const struct kind {
	const char *mode, *cases, *timeout;
} kinds[] = {
	{"test", "tests", "test_timeout"},
	{"benchmark", "benchmarks", "benchmark_timeout"},
	{"leaderboard", "benchmarks", "ranked_timeout"},
	{"profile", "benchmarks", "benchmark_timeout"},
};
enum { TEST, BENCHMARK, LEADERBOARD, PROFILE };

/* The run steps while they are made. */
struct run_steps_builder {
	const json_t *task;
	const char *calibration; /* the variable's value, "" without */
	const json_t *capture;   /* the scope of a profile; NULL: everything */
	json_t *runs;
};

/* One run step to be made. */
struct run {
	const struct kind *kind;
	const json_t *secret; /* the environment of secret runs, or NULL */
	size_t first, count;  /* cases */
	bool indexed;
};

/* ---- cases ---- */

static void
add_list(struct buf *text, const json_t *list)
{
	size_t i;
	json_t *item;
	buf_adds(text, "[");
	json_array_foreach(list, i, item)
		buf_printf(text, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value(item));
	buf_adds(text, "]");
}

/* One value as a KernelBot-compatible harness reads it, which is how Python writes it. */
static void
add_value(struct buf *text, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_INTEGER:
		buf_printf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_STRING:
		buf_adds(text, json_string_value(value));
		break;
	case JSON_TRUE:
		buf_adds(text, "True");
		break;
	case JSON_FALSE:
		buf_adds(text, "False");
		break;
	case JSON_ARRAY:
		add_list(text, value);
		break;
	case JSON_OBJECT:
	case JSON_REAL:
	case JSON_NULL:
		break; /* no checked task has them */
	}
}

static void
add_case(struct buf *text, json_t *one)
{
	const char *between = "";
	json_object_each(one, key, value) {
		buf_printf(text, "%s%s: ", between, key);
		add_value(text, value);
		between = "; ";
	}
	buf_adds(text, "\n");
}

char *
run_steps_cases(const json_t *cases, size_t first, size_t count)
{
	AUTO_BUF struct buf text = {0};
	for (size_t i = first; i < first + count; i++)
		add_case(&text, json_array_get(cases, i));
	return buf_take(&text);
}

/* ---- one run ---- */

/* Devices that the cases of a run need at once. */
static json_int_t
devices_needed(const json_t *task, const json_t *cases, const struct run *run)
{
	json_int_t most = 1;
	if (!member_true(task, "multi_gpu"))
		return most;
	for (size_t i = run->first; i < run->first + run->count; i++) {
		json_int_t size = member_int(json_array_get(cases, i), "world_size");
		most = size > most ? size : most;
	}
	return most;
}

static json_t *
unique_patterns(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(unique_keys); i++)
		json_array_append_new(list, json_string(unique_keys[i]));
	return list;
}

/* The environment of the harness. New reference; an empty object where there is nothing. */
static json_t *
environment(const struct run_steps_builder *builder, json_int_t devices)
{
	json_t *env = json_object();
	if (member_true(builder->task, "multi_gpu"))
		json_object_set_new(env, "POPCORN_GPUS", json_sprintf("%" JSON_INTEGER_FORMAT, devices));
	if (*builder->calibration)
		json_object_set_new(env, CALIBRATION_VARIABLE, json_string(builder->calibration));
	return env;
}

/* Adds the run's own members to the plain step: its number, its secret, its environment, and the run before it. */
static void
runs_complete(const struct run_steps_builder *builder, json_t *step, const struct run *run, json_int_t devices)
{
	size_t count = json_array_size(builder->runs);
	const json_t *before = count ? json_array_get(builder->runs, count - 1) : NULL;
	AUTO_JSON json_t *env = environment(builder, devices);
	if (run->indexed) {
		json_t *capture = capture_for_step(builder->capture);
		json_object_set_new(json_object_get(step, "run"), "index", json_integer((json_int_t)run->first));
		if (capture)
			json_object_set_new(step, "capture", capture);
	}
	if (run->secret)
		json_object_set(step, "secret", (json_t *)run->secret);
	if (json_object_size(env) > 0)
		json_object_set(step, "env", env);
	if (before)
		json_array_append(json_object_get(step, "needs"), json_object_get(before, "id"));
}

static json_t *
run_id(const struct run *run, char between)
{
	if (run->indexed)
		return json_sprintf("%s%c%zu", run->kind->mode, between, run->first);
	return run->secret ? json_sprintf("secret%c%s", between, run->kind->mode) : json_string(run->kind->mode);
}

static void
add_run_step(const struct run_steps_builder *builder, const struct run *run)
{
	const json_t *task = builder->task, *cases = json_object_get(task, run->kind->cases);
	const char *cases_name =
		list_find(json_object_get(task, "files"), "name", CASES_NAME) ? CASES_OTHER_NAME : CASES_NAME;
	json_int_t devices = devices_needed(task, cases, run);
	AUTO_FREE char *text = run_steps_cases(cases, run->first, run->count);
	json_t *step = json_pack("{s:o, s:s, s:o, s:[], s:{s:s, s:b, s:[s, s]}, s:{s:s, s:s}, s:s, s:{s:[i], s:{s:s}},"
							 " s:o, s:{s:O, s:O*}, s:I}",
		"id", run_id(run, '-'), "kind", "run", "title", run_id(run, ' '), "needs", "run", "mode", run->kind->mode,
		"secret", run->secret != NULL, "args", run->kind->mode, cases_name, "cases", "name", cases_name, "text", text,
		"result", "POPCORN_FD", "pass", "exit", 0, "result", "check", "pass", "unique", unique_patterns(), "limits",
		"wall", json_object_get(task, run->kind->timeout), "memory", json_object_get(task, "memory"), "device",
		devices);
	runs_complete(builder, step, run, devices);
	json_array_append_new(builder->runs, step);
}

/* ---- all runs of a mode ---- */

/* Test runs every test; where only the last benchmark counts, only that one is timed. */
static void
add_kind(const struct run_steps_builder *builder, const struct kind *kind, const json_t *secret)
{
	const json_t *task = builder->task;
	size_t count = json_array_size(json_object_get(task, kind->cases));
	const char *ranking = json_text_or_null(task, "ranking_by");
	bool last = kind != &kinds[TEST] && ranking && strcmp(ranking, "last") == 0;
	struct run run = {.kind = kind, .secret = secret, .first = last ? count - 1 : 0, .count = last ? 1 : count};
	add_run_step(builder, &run);
}

static void
add_profiles(const struct run_steps_builder *builder)
{
	size_t count = json_array_size(json_object_get(builder->task, "benchmarks"));
	for (size_t i = 0; i < count; i++) {
		struct run run = {.kind = &kinds[PROFILE], .first = i, .count = 1, .indexed = true};
		if (capture_has(builder->capture, i))
			add_run_step(builder, &run);
	}
}

static bool
is_seed(const char *seed)
{
	size_t len = seed ? strlen(seed) : 0;
	return len && len <= 10 && strspn(seed, "0123456789") == len && atoll(seed) <= SEED_MAX;
}

static int
add_ranked(const struct run_steps_builder *builder, const char *seed, struct kettle_error *err)
{
	if (!is_seed(seed))
		return kettle_fail(err, KETTLE_EINVAL, "A ranked job needs a secret seed: a decimal number below 2^31.");
	/* The seed for tasks that bring their own harness; for Kettle's own, 128 bits that are independent of it. New. */
	uint64_t key[2] = {0};
	random_bytes(key, sizeof(key));
	AUTO_JSON json_t *values = json_pack(
		"{s:s, s:o}", "POPCORN_SEED", seed, "KETTLE_SECRET", json_sprintf("%016" PRIx64 "%016" PRIx64, key[0], key[1]));
	for (int secret = 0; secret < 2; secret++)
		for (int kind = TEST; kind <= LEADERBOARD; kind++)
			add_kind(builder, &kinds[kind], secret ? values : NULL);
	return 0;
}

static int
add_mode(const struct run_steps_builder *builder, const char *mode, const char *seed, struct kettle_error *err)
{
	if (strcmp(mode, "ranked") == 0)
		return add_ranked(builder, seed, err);
	if (strcmp(mode, "test") == 0)
		add_kind(builder, &kinds[TEST], NULL);
	else if (strcmp(mode, "benchmark") == 0)
		add_kind(builder, &kinds[BENCHMARK], NULL);
	else if (strcmp(mode, "profile") == 0)
		add_profiles(builder);
	else
		return kettle_fail(err, KETTLE_EINVAL, "Unknown mode `%.40s`; use test, benchmark, profile or ranked.", mode);
	return 0;
}

int
run_steps_make(const json_t *task, const char *mode, const char *seed, const char *calibration, const json_t *capture,
	json_t **ret_runs, struct kettle_error *err)
{
	AUTO_JSON json_t *runs = json_array();
	const struct run_steps_builder builder = {
		.task = task, .calibration = calibration ? calibration : "", .capture = capture, .runs = runs};
	int rc = capture_check(capture, task, err);
	if (rc == 0)
		rc = add_mode(&builder, mode, seed, err);
	if (rc == 0)
		*ret_runs = STEAL(runs);
	return rc;
}
