/* SPDX-License-Identifier: MIT */
/* Checks a report against the cases of its run: only reported results count. */
#include <config.h>

#include "judge/report.h"

#include <math.h>

#include "base/base.h"
#include "base/gpu_fitness.h"
#include "base/number.h"
#include "judge/completion.h"

#define REPORT_ROUNDED 1e-3 /* the relative difference up to which two numbers of a report are the same */
#define SPEC_KEPT 4000      /* bytes of a case's line that Kettle's harnesses repeat; they cut longer ones */

const char *
report_noun(const struct plan_step *step)
{
	return strcmp(step->mode, "test") == 0 ? "test" : "benchmark";
}

static int
fail_missing(const char *noun, const char *key, size_t index, struct kettle_error *err)
{
	return kettle_fail(
		err, KETTLE_EINVAL, "its report lacks `%s` of %s %zu, which its harness always gives.", key, noun, index + 1);
}

/* A count must be the number of cases; a complete report has one. */
static int
check_count(const struct plan_step *step, const json_t *result, struct kettle_error *err)
{
	char key[32], expected[32];
	const char *noun = report_noun(step);
	(void)snprintf(key, sizeof(key), "%s-count", noun);
	(void)snprintf(expected, sizeof(expected), "%zu", step->cases);
	const char *reported = json_text_or_null(result, key);
	if (!reported && step->complete)
		return kettle_fail(err, KETTLE_EINVAL, "its report lacks `%s`, which its harness always gives.", key);
	if (!reported || strcmp(reported, expected) == 0)
		return 0;
	return kettle_fail(
		err, KETTLE_EINVAL, "its harness reported %.20s %ss, but was given %s.", reported, noun, expected);
}

/* Whether the report has the number of tests, or anything about one of them, as every report in KernelBot's form does. */
static bool
names_tests(const struct plan_step *step, const json_t *result)
{
	if (strcmp(step->mode, "test") != 0)
		return false;
	json_object_each(result, key, value)
		if (strcmp(key, "test-count") == 0 || strncmp(key, "test.", strlen("test.")) == 0)
			return true;
	return false;
}

static int
check_status(const struct plan_step *step, const json_t *result, struct kettle_error *err)
{
	const char *noun = report_noun(step);
	bool needed = step->complete || names_tests(step, result);
	for (size_t i = 0; i < step->cases; i++) {
		const char *status = result_value(result, noun, i, "status");
		if (status && strcmp(status, "pass") != 0)
			return kettle_fail(
				err, KETTLE_EINVAL, "its harness reported `check: pass` but also a failure of %s %zu.", noun, i + 1);
		if (!status && needed)
			return fail_missing(noun, "status", i, err);
	}
	return 0;
}

/* Whether a spec is the line of a case, as far as harnesses repeat it. */
static bool
is_line(const char *spec, const char *line, size_t len)
{
	return len > SPEC_KEPT ? strncmp(spec, line, SPEC_KEPT) == 0 : strlen(spec) == len && memcmp(spec, line, len) == 0;
}

static int
check_spec(const struct plan_step *step, const json_t *result, struct kettle_error *err)
{
	const char *noun = report_noun(step), *line = json_text_or_empty(json_object_get(step->json, "cases"), "text");
	for (size_t i = 0; i < step->cases; i++) {
		const char *spec = result_value(result, noun, i, "spec");
		size_t len = strcspn(line, "\n");
		if (!spec)
			return fail_missing(noun, "spec", i, err);
		if (!is_line(spec, line, len))
			return kettle_fail(err, KETTLE_EINVAL,
				"its harness reported another %s %zu than it was given: `%.100s`, not `%.*s`.", noun, i + 1, spec,
				len < 100 ? (int)len : 100, line);
		line += len + (line[len] == '\n');
	}
	return 0;
}

static int
check_keys(const json_t *result, size_t index, const char *const *keys, struct kettle_error *err)
{
	for (; *keys; keys++)
		if (!result_value(result, "benchmark", index, *keys))
			return fail_missing("benchmark", *keys, index, err);
	return 0;
}

/* Times are of several sessions, or compared with a calibrator. */
static int
check_times(const struct plan_step *step, const json_t *result, struct kettle_error *err)
{
	static const char *const always[] = {
		"runs", "mean", "low", "high", "raw-mean", "std", "err", "best", "worst", NULL};
	static const char *const compared[] = {"ratio", "calibrator", "calibrator-ns", "calibrators", "ratios", NULL};
	int rc = 0;
	if (strcmp(step->mode, "benchmark") != 0 && strcmp(step->mode, "leaderboard") != 0)
		return 0;
	for (size_t i = 0; rc == 0 && i < step->cases; i++) {
		rc = check_keys(result, i, always, err);
		if (rc == 0 && !result_value(result, "benchmark", i, "sessions"))
			rc = check_keys(result, i, compared, err);
	}
	return rc;
}

int
report_check(const struct plan_step *step, const json_t *result, struct kettle_error *err)
{
	int rc = check_count(step, result, err);
	if (rc == 0)
		rc = check_status(step, result, err);
	if (rc == 0 && step->complete)
		rc = check_spec(step, result, err);
	if (rc == 0 && step->complete)
		rc = check_times(step, result, err);
	return rc;
}

/* ---- means that need an explanation ---- */

static double
case_number(const json_t *result, size_t index, const char *field)
{
	double number = NAN;
	(void)number_parse(result_value(result, "benchmark", index, field), &number);
	return number;
}

/* "565.4 µs" */
static void
time_text(double ns, char *text, size_t size)
{
	static const char *const units[] = {"ns", "µs", "ms", "s"};
	size_t k = 0;
	for (; ns >= 1000 && k + 1 < ARRAY_SIZE(units); k++)
		ns /= 1000;
	(void)snprintf(text, size, "%.4g %s", ns, units[k]);
}

/* NULL: the mean is in its range, or there is nothing to compare it with. */
static json_t *
remark_mean(const json_t *result, size_t index)
{
	double mean = case_number(result, index, "mean"), best = case_number(result, index, "best"),
		   worst = case_number(result, index, "worst");
	const char *calibrated = result_value(result, "benchmark", index, "calibrated");
	bool below = mean<best *(1 - REPORT_ROUNDED), above = mean> worst * (1 + REPORT_ROUNDED);
	const char *why = "that is how its harness reported it";
	char texts[3][40];
	if (!below && !above)
		return NULL;
	if (result_value(result, "benchmark", index, "ratio"))
		why = !calibrated || strcmp(calibrated, "yes") != 0 ? "a mean is the ratio to a calibrator, multiplied by the "
															  "calibrator's time, and the device is not calibrated"
			  : below ? "a mean is what a call takes on the device as it was calibrated, and the device was slower "
						"during the "
						"run, as other work makes it"
					  : "a mean is what a call takes on the device as it was calibrated, and the device was faster "
						"during the run, for example because other work slowed the calibration";
	time_text(mean, texts[0], sizeof(texts[0]));
	time_text(best, texts[1], sizeof(texts[1]));
	time_text(worst, texts[2], sizeof(texts[2]));
	return json_sprintf("The mean of benchmark %zu, %s, is not between its fastest and slowest call, %s and %s: %s.",
		index + 1, texts[0], texts[1], texts[2], why);
}

/* Adds a sentence on words of base/gpu_fitness.h; no known ones: nothing. */
static void
remark_gpu(json_t *list, const char *before, const json_t *words)
{
	AUTO_BUF struct buf text = {0};
	gpu_words_explain(words, &text);
	if (text.len > 0)
		(void)json_array_append_new(list, json_sprintf("%s %s.", before, text.data));
}

json_t *
report_remarks(const json_t *result, const json_t *device)
{
	AUTO_JSON json_t *list = json_array(), *causes = json_array();
	for (size_t i = 0; i < json_object_size(result) && result_value(result, "benchmark", i, "mean"); i++) {
		json_t *remark = remark_mean(result, i);
		if (remark)
			(void)json_array_append_new(list, remark);
	}
	gpu_words_add_unfit(causes, json_object_get(device, "unfit"), NULL);
	remark_gpu(list, "The GPU was not fit to score during this run:", causes);
	remark_gpu(list, "About the GPU of this run:", json_object_get(device, "remarks"));
	return json_array_size(list) > 0 ? STEAL(list) : NULL;
}

#define MAX_BUILT 1000000   /* results of compilers that are believed */
#define MAX_BUILT_TEXT 4000 /* bytes of what says so */

const char *const report_built_kinds[] = {"cupy", "extension", "graph", "jax", "triton", NULL};
const char *const report_built_reasons[] = {"off", "missing", "version", "device", "import", "task", "value", "failed",
	"compiler", "configs", "cases", "ended", "library", "other", NULL};

static bool
is_one_of(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words;
}

/* A kind as report_built returns it; NULL: it is malformed. */
static json_t *
read_built(const json_t *given)
{
	const char *kind = json_text_or_empty(given, "kind");
	json_int_t ready = member_int(given, "ready"), device = member_int(given, "device");
	if (!is_one_of(report_built_kinds, kind) || ready < 0 || ready > MAX_BUILT || device < 0 || device > MAX_BUILT)
		return NULL;
	json_t *reasons = json_array();
	for (const char *const *word = report_built_reasons; *word; word++)
		if (device && list_has_text(json_object_get(given, "reasons"), *word))
			json_array_append_new(reasons, json_string(*word));
	return json_pack("{s:s, s:I, s:I, s:o}", "kind", kind, "ready", ready, "device", device, "reasons", reasons);
}

json_t *
report_built(const json_t *result)
{
	const char *text = json_text_or_empty(result, "built");
	if (strlen(text) > MAX_BUILT_TEXT)
		return NULL;
	AUTO_JSON json_t *given = json_loads(text, 0, NULL), *list = json_array();
	json_array_each(given, one) {
		json_t *read = json_array_size(list) < ARRAY_SIZE(report_built_kinds) - 1 ? read_built(one) : NULL;
		if (read)
			json_array_append_new(list, read);
	}
	return json_array_size(list) > 0 ? STEAL(list) : NULL;
}
