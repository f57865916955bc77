/* SPDX-License-Identifier: MIT */
/* The score of one timed run from what its harness reported. Pure. */
#ifndef KETTLE_VERDICT_SCORE_H
#define KETTLE_VERDICT_SCORE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* Seconds. low and high are 0 where the harness reported no interval for every benchmark. */
struct verdict_score {
	double value, low, high;
};

/*
 * Combines benchmark.i.mean (ns), i from 0 to count - 1, as the task's ranking_by says, and benchmark.i.low and
 * benchmark.i.high likewise. ranking_by: "last", "mean" or "geom". EINVAL: a mean is missing, no number, not finite or
 * not above zero, with a sentence that goes on from "the … run is void: ". [any]
 */
int verdict_score(const json_t *result, size_t count, const char *ranking_by, struct verdict_score *ret_score,
	struct kettle_error *err);

#endif
