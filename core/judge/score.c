/* SPDX-License-Identifier: MIT */
/* Numbers from a harness are text from outside: read strictly, combined, and never skipped. */
#include <config.h>

#include "judge/score.h"

#include <float.h>
#include <math.h>

#include "base/base.h"
#include "base/number.h"
#include "judge/calibration.h"
#include "judge/completion.h"

#define NS_PER_S 1e9
#define WIDEST 2.0         /* how many times its mean an interval may reach below and above */
#define CLOCKS_DIFFER 1.02 /* the factor by which two clocks may differ, that of a device and that of a host */
#define LEAST_OF_BEST 0.5  /* of the best call: no calibration makes a mean less than this */
/* The resolution of the finest clock that a harness reads (clock_getres(2); events of CUDA: 500 ns); a call takes longer. */
#define LEAST_NS 1.0

/*
 * None so far: the intervals of today's calibrators held 36 and 50 % of 22 further runs. They cover the variation
 * inside a run, and two runs differ by more.
 */
const struct score_interval_kind score_interval_kinds[] = {{NULL, NULL}};

/* The interval of one benchmark, ns. */
struct bounds {
	bool known;
	double low, high;
};

static int
read_mean(const json_t *result, size_t index, double *ret_mean, struct kettle_error *err)
{
	const char *text = result_value(result, "benchmark", index, "mean");
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "its harness reported no mean time for benchmark %zu.", index + 1);
	if (number_parse(text, ret_mean) && *ret_mean > 0)
		return *ret_mean >= LEAST_NS ? 0
									 : kettle_fail(err, KETTLE_EINVAL,
										   "its harness reported the mean time %.6g ns for benchmark %zu, which is "
										   "below the least time that a clock can measure, %g ns.",
										   *ret_mean, index + 1, LEAST_NS);
	return kettle_fail(err, KETTLE_EINVAL,
		"its harness reported the mean time `%.64s` for benchmark %zu, which must be a finite number of nanoseconds "
		"above zero.",
		text, index + 1);
}

/*
 * The median of call over calibrator, times the calibrator's median in the same run, is never less than the best call;
 * a report that contradicts this was made up. The mean is that ratio times the calibrator's time on the quiet device.
 * It may be less because the whole machine is slower than at calibration, or because something slowed down the
 * calibrator alone. The report does not show which, so the run counts neither as a score nor against its participant.
 */
static int
compare_best(const json_t *result, size_t index, double mean, struct kettle_error *err)
{
	double best = 0, ratio = 0, calibrator = 0;
	if (!number_parse(result_value(result, "benchmark", index, "best"), &best) || mean >= best * LEAST_OF_BEST)
		return 0;
	if (!number_parse(result_value(result, "benchmark", index, "ratio"), &ratio) ||
		!number_parse(result_value(result, "benchmark", index, "calibrator-ns"), &calibrator) ||
		ratio * calibrator < best * LEAST_OF_BEST)
		return kettle_fail(err, KETTLE_EINVAL,
			"its harness reported the mean time %.6g ns for benchmark %zu, but no call took less than %.6g ns.", mean,
			index + 1, best);
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"the calibrator took far longer than when the device was calibrated, so benchmark %zu has no score.",
		index + 1);
}

/*
 * In most sessions the machine was not calm enough: other work has taken the device's time, or the submission's own has. The
 * report does not show which, so the run counts neither as a score nor against its participant.
 */
static int
check_calm(const json_t *result, size_t index, struct kettle_error *err)
{
	return result_value(result, "benchmark", index, "busy")
			   ? kettle_fail(err, KETTLE_EUNAVAIL,
					 "the machine was hardly ever calm during its calls, so benchmark %zu has no score.", index + 1)
			   : 0;
}

/* The keys of a calibrating harness, as far as they are present: finite times above zero, and a name. */
static int
check_calibrator(const json_t *result, size_t index, double mean, struct kettle_error *err)
{
	static const char *const times[] = {"ratio", "calibrator-ns", "raw-mean"};
	const char *name = result_value(result, "benchmark", index, "calibrator");
	double number = 0;
	if (name && !calibration_is_name(name))
		return kettle_fail(err, KETTLE_EINVAL,
			"its harness reported the calibrator `%.64s` for benchmark %zu, which is not a name.", name, index + 1);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const char *text = result_value(result, "benchmark", index, times[i]);
		if (text && !(number_parse(text, &number) && number > 0))
			return kettle_fail(err, KETTLE_EINVAL,
				"its harness reported `%.64s` as %s of benchmark %zu, which must be a finite number above zero.", text,
				times[i], index + 1);
	}
	return name ? compare_best(result, index, mean, err) : 0;
}

/* The bounds that a harness reports: both or none, around the mean. */
static int
read_bounds(const json_t *result, size_t index, double mean, struct bounds *ret_bounds, struct kettle_error *err)
{
	const char *low = result_value(result, "benchmark", index, "low"),
			   *high = result_value(result, "benchmark", index, "high");
	struct bounds bounds = {.known = true};
	if (!low && !high)
		return 0;
	if (!number_parse(low, &bounds.low) || !number_parse(high, &bounds.high) || bounds.low <= 0 || bounds.low > mean ||
		bounds.high < mean)
		return kettle_fail(err, KETTLE_EINVAL,
			"its harness reported the interval from `%.64s` to `%.64s` for benchmark %zu, which must be two finite "
			"numbers of nanoseconds above zero around the mean.",
			low ? low : "", high ? high : "", index + 1);
	*ret_bounds = bounds;
	return 0;
}

static bool
is_of_kind(const json_t *result, size_t index, const struct score_interval_kind *kinds)
{
	const char *sessions = result_value(result, "benchmark", index, "sessions"),
			   *method = sessions ? SCORE_SESSIONS : result_value(result, "benchmark", index, "calibrator");
	for (; method && kinds->method; kinds++) {
		size_t len = strlen(kinds->method);
		if (strncmp(method, kinds->method, len) == 0 && (!method[len] || method[len] == '-'))
			return true;
	}
	return false;
}

bool
score_interval_is_known(const json_t *result, size_t index)
{
	return is_of_kind(result, index, score_interval_kinds);
}

static int
read_benchmark(const json_t *result, size_t index, const struct score_interval_kind *kinds, double *ret_mean,
	struct bounds *ret_bounds, struct kettle_error *err)
{
	double mean = 0;
	struct bounds bounds = {0};
	int rc = read_mean(result, index, &mean, err);
	if (rc == 0)
		rc = check_calibrator(result, index, mean, err);
	if (rc == 0)
		rc = check_calm(result, index, err);
	if (rc == 0)
		rc = read_bounds(result, index, mean, &bounds, err);
	if (rc)
		return rc;
	bounds.known = bounds.known && is_of_kind(result, index, kinds);
	*ret_mean = mean;
	bounds.low = fmax(bounds.low, mean / WIDEST);
	bounds.high = fmin(bounds.high, mean * WIDEST);
	*ret_bounds = bounds;
	return 0;
}

double
score_term(bool geometric, double ns)
{
	return geometric ? log(ns / NS_PER_S) : ns / NS_PER_S;
}

double
score_mean(bool geometric, double sum, double count)
{
	return geometric ? exp(sum / count) : sum / count;
}

int
score_read(const json_t *result, size_t count, const char *ranking_by, const struct score_interval_kind *kinds,
	struct score *ret_score, struct kettle_error *err)
{
	bool geometric = strcmp(ranking_by, "geom") == 0, known = true;
	double sum = 0, below = 0, above = 0, n = (double)count; /* squares of the errors, in the units of the sum */
	for (size_t i = 0; i < count; i++) {
		double mean = 0;
		struct bounds bounds = {0};
		int rc = read_benchmark(result, i, kinds, &mean, &bounds, err);
		if (rc)
			return rc;
		known = known && bounds.known;
		sum += score_term(geometric, mean);
		below += known ? pow(score_term(geometric, mean) - score_term(geometric, bounds.low), 2) : 0;
		above += known ? pow(score_term(geometric, bounds.high) - score_term(geometric, mean), 2) : 0;
	}
	struct score score = {.value = score_mean(geometric, sum, n)};
	if (count == 0 || !isfinite(score.value) || score.value <= 0)
		return kettle_fail(err, KETTLE_EINVAL, "the times that its harness reported do not give a score.");
	/* Errors of different benchmarks are independent: they add up in squares. */
	if (known) {
		score.low = fmin(score_mean(geometric, sum - sqrt(below), n), score.value);
		score.high = fmax(score_mean(geometric, sum + sqrt(above), n), score.value);
	}
	/* Neither JSON nor the database holds infinite numbers. */
	if (!isfinite(score.high))
		score.low = score.high = 0;
	*ret_score = score;
	return 0;
}

/* ---- what a run can have taken ---- */

int
score_check_time(const json_t *result, size_t count, double wall_ns, struct kettle_error *err)
{
	double claimed = 0;
	for (size_t i = 0; i < count; i++) {
		const char *runs = result_value(result, "benchmark", i, "runs");
		const char *mean = result_value(result, "benchmark", i, "raw-mean");
		double calls = 1, each = 0;
		mean = mean ? mean : result_value(result, "benchmark", i, "mean");
		if (runs && (!number_parse(runs, &calls) || calls < 1 || calls != floor(calls)))
			return kettle_fail(err, KETTLE_EINVAL, "its harness reported `%.64s` calls of benchmark %zu.", runs, i + 1);
		if (mean && number_parse(mean, &each) && each > 0)
			claimed = fmin(claimed + calls * each, DBL_MAX); /* never infinite, as it is printed */
	}
	if (wall_ns <= 0 || claimed <= wall_ns * CLOCKS_DIFFER)
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"its harness reported calls that took %.3g s in total (for each benchmark its number of calls, or one, times "
		"their mean), but the whole run took %.3g s.",
		claimed / NS_PER_S, wall_ns / NS_PER_S);
}
