/* SPDX-License-Identifier: MIT */
/* From outcomes to the verdict of a job: what passed, the score, and who is to blame. Pure. */
#ifndef KETTLE_VERDICT_H
#define KETTLE_VERDICT_H

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>

#define VERDICT_MAX_TEXT (64u << 10)   /* bytes kept of stdout and of stderr each; head and tail of what is longer */
#define VERDICT_MAX_RESULT (1u << 20)  /* bytes kept of one run's result */
#define VERDICT_MAX_TOTAL (8u << 20)   /* bytes kept of all texts and results of a job together */
#define VERDICT_MAX_SYSTEM (64u << 10) /* bytes of `system` and of `stamps` each; larger ones are left out */
#define VERDICT_MAX_ARTIFACTS 1000

/*
 * The verdict of a job from its plan and the runner's completion:
 *   {"state": "passed"|"failed"|"timed_out"|"error", "error": sentence or null,
 *    "blame": "participant"|"task"|"machine" or null,
 *    "retry": bool (the machine's fault: another attempt may help),
 *    "score": seconds or null, "low", "high": its interval in seconds or null,
 *    "runs": [{"mode", "secret", "index" (profile), "passed", "state", "score", "low", "high", "start_ns", "wall_ns",
 *        "message", "exit", "signal", "limit", "memory_peak", "stdout", "stderr", "result", "command",
 *        "system": {"gpu", "count", "cpu", "runtime", "platform", "torch", "host"},
 *        "device" (with a GPU): {"gpus", "throttled", "repeated"}, see event.schema.json}],
 *    "compilation": [{"title", "command", "passed", "state", "exit", "message", "stdout", "stderr", "wall_ns",
 *        "cached"}],
 *    "system": {…}, "timing": {"stamps": {…}, "build_ns", "run_ns" (sums), "parts", "steps" (timing.h)},
 *    "artifacts": [{"step", "name", "size", "sha256"}]}
 * Steps that were skipped are not in it. Of a secret run mode, passed, state, score and times alone are kept: nothing
 * that it printed or resulted in. stdout and stderr are strings; what was cut is said in them. The score is the slower
 * of the public and the secret leaderboard run (ranking_by: last, mean, geom); a missing, non-finite or non-positive
 * mean makes its run fail, and so does a harness that contradicts itself. A step that ran out of time has the exit
 * status 114. task: the bundle's checked task. Whatever the completion holds, there is a verdict. New reference. [any]
 */
json_t *verdict_make(
	const struct languages *languages, const json_t *task, const json_t *plan, const json_t *completion);

#endif
