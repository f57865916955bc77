/* SPDX-License-Identifier: MIT */
/* Numbers from a harness are text from outside: read strictly, combined, and never skipped. */
#include <config.h>

#include "verdict_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1e9
#define MAX_NUMBER 64 /* bytes of a number's text */

static const char *
value_of(const json_t *result, size_t index, const char *what)
{
	char key[64];
	(void)snprintf(key, sizeof(key), "benchmark.%zu.%s", index, what);
	return json_string_value(json_object_get(result, key));
}

/* A plain decimal number: strtod alone would take spaces, hexadecimal, "inf" and "nan" as well. */
static bool
read_number(const char *text, double *ret_number)
{
	size_t len = text ? strlen(text) : 0;
	char *end = NULL;
	if (len == 0 || len > MAX_NUMBER || strspn(text, "0123456789+-.eE") != len)
		return false;
	double number = strtod(text, &end);
	if (*end || !isfinite(number))
		return false;
	*ret_number = number;
	return true;
}

static int
read_mean(const json_t *result, size_t index, double *ret_mean, struct kettle_error *err)
{
	const char *text = value_of(result, index, "mean");
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "its harness reported no mean time for benchmark %zu.", index + 1);
	if (read_number(text, ret_mean) && *ret_mean > 0)
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"its harness reported the mean time `%.64s` for benchmark %zu, which must be a finite number of nanoseconds "
		"above zero.",
		text, index + 1);
}

/* The bounds around the mean; false where they are not all there or contradict it. */
static bool
read_interval(const json_t *result, size_t index, double mean, double *ret_low, double *ret_high)
{
	return read_number(value_of(result, index, "low"), ret_low) &&
		   read_number(value_of(result, index, "high"), ret_high) && *ret_low > 0 && *ret_low <= mean &&
		   *ret_high >= mean;
}

/* What is added up, and what the sum stands for. */
static double
weight(bool geometric, double ns)
{
	return geometric ? log(ns / NS_PER_S) : ns / NS_PER_S;
}

static double
average(bool geometric, double sum, size_t count)
{
	return geometric ? exp(sum / (double)count) : sum / (double)count;
}

int
verdict_score(const json_t *result, size_t count, const char *ranking_by, struct verdict_score *ret_score,
	struct kettle_error *err)
{
	bool geometric = strcmp(ranking_by, "geom") == 0, interval = true;
	double sum = 0, low_sum = 0, high_sum = 0;
	for (size_t i = 0; i < count; i++) {
		double mean = 0, low = 0, high = 0;
		int rc = read_mean(result, i, &mean, err);
		if (rc)
			return rc;
		interval = interval && read_interval(result, i, mean, &low, &high);
		sum += weight(geometric, mean);
		low_sum += interval ? weight(geometric, low) : 0;
		high_sum += interval ? weight(geometric, high) : 0;
	}
	struct verdict_score score = {.value = average(geometric, sum, count)};
	if (count == 0 || !isfinite(score.value) || score.value <= 0)
		return kettle_fail(err, KETTLE_EINVAL, "the times that its harness reported make no score.");
	if (interval) {
		score.low = average(geometric, low_sum, count);
		score.high = average(geometric, high_sum, count);
	}
	*ret_score = score;
	return 0;
}
