/* SPDX-License-Identifier: MIT */
/* Histograms of durations: counts in fixed buckets, for monitoring. One thread at a time. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 18 /* from half a millisecond to half an hour */

/* All zero at first. */
struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* of each bucket alone; the last one has no bound */
	double sum;                            /* seconds */
};

/* A negative duration counts as 0. */
void histogram_add(struct histogram *histogram, double seconds);
/* {"buckets": [{"le": seconds, null for the last, "count": durations up to it}], "sum": seconds, "count"}. New reference. */
json_t *histogram_json(const struct histogram *histogram);
