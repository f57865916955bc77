/* SPDX-License-Identifier: MIT */
/* From outcomes to the verdict of a job: whether it passed, the score, and who is to blame. Pure. */
#pragma once

#include "judge/step_verdict.h"
#include "judge/timing.h"

#define VERDICT_MAX_TEXT (64u << 10)   /* bytes kept of stdout and of stderr each; head and tail of what is longer */
#define VERDICT_MAX_RESULT (1u << 20)  /* bytes kept of one run's result */
#define VERDICT_MAX_TOTAL (8u << 20)   /* bytes kept of all texts and results of a job together */
#define VERDICT_MAX_SYSTEM (64u << 10) /* bytes of `system`, `stamps` and a member of an outcome, else it is left out */
#define VERDICT_MAX_CUT 1000 /* bytes of a machine's sentence about what it left out; a longer one is dropped */
#define VERDICT_MAX_ARTIFACTS 1000

/* A step that was carried out. */
struct verdict_entry {
	struct plan_step step;
	struct outcome outcome; /* its numbers, and of its texts and objects `limit`, `command`, `device` and `jit` */
	struct step_result judged;
	json_t *out, *err, *result; /* the kept parts: strings, an object; NULL where the step is secret */
};

struct verdict {
	enum verdict_state state;      /* not VERDICT_SKIPPED */
	struct kettle_error why;       /* its message says why it did not pass; "": it did */
	const char *blame;             /* as in step_result */
	const char *fault;             /* verdict_fault, where `blame` does not tell; else NULL. Static */
	const char *stage;             /* verdict_stage of what decided; NULL: it passed, or it is not known. Static */
	bool retry;                    /* the machine's fault: another attempt may help */
	bool claimed;                  /* as in step_result */
	struct score score;            /* of one that passed; 0: none */
	struct verdict_entry *entries; /* NULL: no step was carried out */
	size_t count;
	json_t *system;    /* {…} */
	json_t *timing;    /* {"stamps": {…}, "build_ns", "run_ns" (sums), "parts", "steps" (timing.h)}; nothing of secret
								  runs, and no stamps where there are some */
	json_t *artifacts; /* [{"step", "name", "size", "sha256"}] */
	json_t *plan, *kept; /* owners of the entries' strings; nothing else of the completion is held */
};

/*
 * The verdict of a job from its plan and the runner's completion, without skipped steps. Of a secret run only mode,
 * passed, state, score and times are kept, nothing that it printed or resulted in. stdout and stderr say how much was
 * cut. The score is the slower of the public and the secret leaderboard run (ranking_by: last, mean, geom); a missing,
 * non-finite or non-positive mean makes its run fail, and so does a harness that contradicts itself. task: the bundle's
 * checked task; stamps: the engine's, NULL without. Every completion, however wrong, gives a verdict. [any]
 */
struct verdict *verdict_make(const struct languages *languages, const json_t *task, const struct plan *plan,
	const struct completion *completion, const struct timing_stamps *stamps);
/* The verdict of a job of which nothing was carried out, with this sentence, fault and stage. */
struct verdict *verdict_error(const char *fault, const char *stage, const char *sentence);
/*
 * Who is at fault that it did not pass: "participant"; "task" (its creator mends it); "machine" (another attempt may
 * pass); "operator" (no attempt passes before the operator has changed something, as where a machine lacks what the
 * task needs). NULL: it passed, or none of them is at fault. Static.
 */
const char *verdict_fault(const struct verdict *verdict);
/* The stage of a step: "prepare", "build", "test", "benchmark", "ranked", "secret" or "profile". Static. */
const char *verdict_stage(const struct plan_step *step);
/* NULL is allowed. */
void verdict_free(struct verdict *verdict);
static inline void
cleanup_verdict(struct verdict **verdict)
{
	verdict_free(*verdict);
}
#define AUTO_VERDICT __attribute__((cleanup(cleanup_verdict)))

/*
 * The verdict as JSON:
 *   {"state": "passed"|"failed"|"timed_out"|"error", "error": sentence or null,
 *    "blame": "participant"|"task"|"machine" or null, "fault": verdict_fault, "stage", "lacks": what the machine lacks, where that is why, "retry": bool,
 *    "score": seconds or null, "low", "high": its interval in seconds or null,
 *    "runs": [{"mode", "secret", "index" (profile), "passed", "state", "score", "low", "high", "start_ns", "wall_ns",
 *        "message", "exit", "signal", "limit", "memory_peak", "stdout", "stderr", "result", "command", "warm",
 *        "prepared" (if its GPU was open before the run was known): true,
 *        "limit_value" (with a limit whose value is known): seconds, bytes or a number,
 *        "remarks" (where there are some): report_remarks,
 *        "system": {"gpu", "count", "cpu", "runtime", "platform", "torch", "host"},
 *        "jit" (with a cache of compilers): see event.schema.json, "built" (with a GPU): report_built,
 *        "device" (with a GPU): {"gpus", "throttled", "unfit", "remarks", "repeated"}, see event.schema.json}],
 *    "compilation": verdict_compilation, "system", "timing", "artifacts"}
 * A step that ran out of time has the exit status 114. Of a secret run start_ns and wall_ns are null.
 */
json_t *verdict_write(const struct verdict *verdict);
/*
 * [{"title", "command", "passed", "state", "exit", "message", "stdout", "stderr", "wall_ns", "cached"}] of the steps
 * that are not runs; NULL: no step was carried out.
 */
json_t *verdict_compilation(const struct verdict *verdict);
/* The members of a public run that are only shown: "wall_ns", and those above that have no column in the database. */
json_t *verdict_run_detail(const struct verdict_entry *entry);
/* "system" of a run. */
json_t *verdict_run_system(const struct verdict *verdict);
/* A score or an end of its interval: a number, null where there is none. New reference. */
static inline json_t *
verdict_seconds(double value)
{
	return value > 0 ? json_real(value) : json_null();
}
/* NULL: none. */
static inline const char *
verdict_message(const struct kettle_error *why)
{
	return why->message[0] ? why->message : NULL;
}
