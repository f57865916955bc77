/* SPDX-License-Identifier: MIT */
/* The least time that a task's benchmarks can take on a device. */
#include <config.h>

#include "judge/limit.h"

#include <math.h>

#include "base/base.h"
#include "base/expression.h"
#include "base/number.h"
#include "judge/completion.h"
#include "judge/score.h"

#define NS_PER_S 1e9

static const char *const keys[] = {"bytes", "operations"};

struct limit_peak
limit_peak_of(const json_t *device)
{
	const json_t *peak = json_object_get(device, "peak");
	return (struct limit_peak){.bytes = json_number_value(json_object_get(peak, "bytes")),
		.operations = json_number_value(json_object_get(peak, "operations"))};
}

static const json_t *
benchmark_at(const json_t *task, size_t index)
{
	return json_array_get(json_object_get(task, "benchmarks"), index);
}

/* The work of one benchmark; 0: the task does not state it. */
static int
work_of(const json_t *task, size_t index, const char *key, double *ret_work, struct kettle_error *err)
{
	const json_t *stated = json_object_get(json_object_get(task, "work"), key);
	*ret_work = json_number_value(stated);
	return json_is_string(stated)
			   ? expression_value(json_string_value(stated), benchmark_at(task, index), ret_work, err)
			   : 0;
}

int
limit_check(const json_t *task, const char **ret_key, struct kettle_error *err)
{
	const json_t *work = json_object_get(task, "work");
	size_t count = json_array_size(json_object_get(task, "benchmarks"));
	for (size_t i = 0; i < ARRAY_SIZE(keys) * count; i++) {
		const char *key = *ret_key = keys[i / count];
		double value = 0;
		struct kettle_error why = {0};
		if (!json_object_get(work, key))
			continue;
		int rc = work_of(task, i % count, key, &value, &why);
		if (rc < 0)
			return kettle_fail(
				err, rc, "`work.%s` has no value in benchmarks[%zu]: the expression %s", key, i % count, why.message);
		if (value < 1 || value > LIMIT_WORK_MAX)
			return kettle_fail(err, KETTLE_EINVAL, "`work.%s` is %g in benchmarks[%zu]; it must be from 1 to %g.", key,
				value, i % count, LIMIT_WORK_MAX);
	}
	return 0;
}

double
limit_of_benchmark(const json_t *task, size_t index, const struct limit_peak *peak)
{
	const double peaks[] = {peak->bytes, peak->operations};
	double limit = 0, work;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (peaks[i] > 0 && work_of(task, index, keys[i], &work, NULL) == 0)
			limit = fmax(limit, work / peaks[i]);
	return limit;
}

/* Whether the score is the time of the last benchmark alone; a timed run then has only this one. */
static bool
ranks_by_last(const json_t *task)
{
	return member_is(task, "ranking_by", "last");
}

double
limit_of_score(const json_t *task, const struct limit_peak *peak)
{
	size_t count = json_array_size(json_object_get(task, "benchmarks"));
	bool geometric = member_is(task, "ranking_by", "geom");
	double sum = 0;
	if ((peak->bytes <= 0 && peak->operations <= 0) || !json_object_get(task, "work") || count == 0)
		return 0;
	if (ranks_by_last(task))
		return limit_of_benchmark(task, count - 1, peak);
	for (size_t i = 0; i < count; i++) {
		double limit = limit_of_benchmark(task, i, peak);
		if (limit <= 0)
			return 0;
		sum += score_term(geometric, limit * NS_PER_S);
	}
	return score_mean(geometric, sum, (double)count);
}

json_t *
limit_of_run(const json_t *task, const json_t *result, const struct limit_peak *peak)
{
	size_t count = json_array_size(json_object_get(task, "benchmarks")), first = ranks_by_last(task) ? count - 1 : 0;
	AUTO_JSON json_t *limits = json_array();
	for (size_t i = first; i < count; i++) {
		double mean, limit = limit_of_benchmark(task, i, peak);
		if (limit <= 0 || !number_parse(result_value(result, "benchmark", i - first, "mean"), &mean) || mean < 1)
			break;
		json_array_append_new(limits, json_pack("{s:f, s:f}", "limit", limit, "share", limit / (mean / NS_PER_S)));
	}
	return json_array_size(limits) > 0 ? STEAL(limits) : NULL;
}
