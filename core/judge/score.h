/* SPDX-License-Identifier: MIT */
/* The score of one timed run from what its harness reported. Pure. */
#ifndef KETTLE_JUDGE_SCORE_H
#define KETTLE_JUDGE_SCORE_H

#include <jansson.h>
#include <kettle/error.h>

/* Seconds. low and high are the ends of the 95 % interval; 0 where it is not known of every benchmark. */
struct score {
	double value, low, high;
};

/*
 * Combines benchmark.i.mean (ns), i from 0 to count - 1, as the task's ranking_by says ("last", "mean" or "geom"), and
 * their intervals: benchmark.i.low and high where the harness gives them, else the mean and 1.96 benchmark.i.err to
 * either side, else none; errors of several benchmarks add up in squares, and none reaches further than to half and to
 * twice the mean. EINVAL: a mean is missing, no number, not finite or not above zero; low and high are not two such
 * numbers around it; the calibrator, ratio, calibrator-ns or raw-mean are there and are none; with a calibrator, a
 * mean below half of the best call, and what the run itself measured (ratio times calibrator-ns) is so too or missing.
 * EUNAVAIL: only the calibrated mean is below that half, so the machine is not as it was when it was calibrated. The
 * sentence goes on from "the … run is void: ", of EUNAVAIL from "The machine could not time the … run: ". An err that is no number is
 * passed over: in KernelBot a single call has such a one. [any]
 */
int score_read(
	const json_t *result, size_t count, const char *ranking_by, struct score *ret_score, struct kettle_error *err);

/* EINVAL: a key of a benchmark is missing that Kettle's own harnesses always report. The sentence as of score_read. [any] */
int score_check_complete(const json_t *result, size_t count, struct kettle_error *err);
/*
 * EINVAL: the calls that a harness reports (runs times raw-mean, or mean where that is missing) took longer together than
 * the run, of which wall_ns is known (above 0), by more than measuring it can be wrong; or runs is no such number. What is
 * not reported is passed over. The sentence as of score_read. [any]
 */
int score_check_time(const json_t *result, size_t count, double wall_ns, struct kettle_error *err);

#endif
