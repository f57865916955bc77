/* SPDX-License-Identifier: MIT */
/* From outcomes to the verdict of a job: what passed, the score, and who is to blame. Pure. */
#ifndef KETTLE_VERDICT_H
#define KETTLE_VERDICT_H

#include "language.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * The verdict of a job from its plan and the runner's completion:
 *   {"state": "passed"|"failed"|"timed_out"|"error", "error": sentence or null, "retry": bool (the machine's fault:
 * another attempt may help), "score": seconds or null, "low", "high": its interval or null, "runs":
 * [{"mode","secret","index","passed","state","score","start_ns","wall_ns","message","exit","signal","limit","stdout","stderr","result","command"}],
 *    "compilation": [{"title","command","passed","state","stdout","stderr","wall_ns","cached"}], "system": {…},
 * "timing": {…}, "artifacts": […]} What a secret run printed or resulted in is never kept: of it mode, passed and score
 * alone. The score is the slower of the public and the secret leaderboard run (ranking_by: last, mean, geom), in
 * seconds; a missing, non-finite or non-positive mean makes that run fail. [any]
 */
int verdict_make(const struct languages *languages, const json_t *task, const json_t *plan, const json_t *completion,
	json_t **ret_verdict, struct kettle_error *err);

#endif
