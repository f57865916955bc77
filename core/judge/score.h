/* SPDX-License-Identifier: MIT */
/* The score of one timed run from what its harness reported. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* Seconds. low and high are the ends of the 95 % interval; 0 where it is not known of every benchmark. */
struct score {
	double value, low, high;
};

#define SCORE_SESSIONS "sessions" /* the method of a harness that times sessions, each in a process of its own */

/*
 * A kind of harness and device whose intervals were shown by a benchmark to hold 93 to 97 % of further runs.
 * method: SCORE_SESSIONS, or the beginning of its calibrators' names, which tells both, as in `cpu-c-1`.
 */
struct score_interval_kind {
	const char *method, *benchmark;
};
/* All that are known, up to one without a method. */
extern const struct score_interval_kind score_interval_kinds[];
/* Whether a benchmark of a result is of one of them. [any] */
bool score_interval_is_known(const json_t *result, size_t index);

/*
 * Combines benchmark.i.mean (ns), i from 0 to count - 1, as the task's ranking_by says ("last", "mean" or "geom"), and
 * where every benchmark is of a kind in `kinds` their intervals, benchmark.i.low and high; errors of
 * several benchmarks add up in squares, and none reaches further than to half and to twice the mean. EINVAL: a mean is
 * missing, no number, not finite or below 1 ns; low and high are not two such numbers around it; the calibrator, ratio,
 * calibrator-ns or raw-mean is present and not valid; with a calibrator, a mean below half of the best call, and the
 * value that the run itself measured (ratio times calibrator-ns) is below it too, or missing. EUNAVAIL: only the
 * calibrated mean is below that half, so the machine has changed since it was calibrated, or the machine was busy. The sentence completes "the …
 * run is void: ", that of EUNAVAIL "The machine could not time the … run: ". [any]
 */
int score_read(const json_t *result, size_t count, const char *ranking_by, const struct score_interval_kind *kinds,
	struct score *ret_score, struct kettle_error *err);

/*
 * How times become a score: score_mean of the sum of the terms of `count` times, s; geometric: their geometric mean.
 * score_read has the same. [any]
 */
double score_term(bool geometric, double ns);
double score_mean(bool geometric, double sum, double count);

/*
 * EINVAL: the calls that a harness reports (runs, or one where that is missing, times raw-mean, or mean where that is
 * missing) took longer together than the run, of which wall_ns is known (above 0), by more than the measurement can be
 * wrong; or runs is not a valid number. The sentence as of score_read. [any]
 */
int score_check_time(const json_t *result, size_t count, double wall_ns, struct kettle_error *err);
