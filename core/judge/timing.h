/* SPDX-License-Identifier: MIT */
/* Where the time of a job went, in parts that follow each other: from the stamps of the engine and of kettle-exec. */
#pragma once

#include "judge/completion.h"
#include "judge/plan.h"

#include <jansson.h>
#include <stdint.h>

/* CLOCK_MONOTONIC of the engine's machine; 0: the job did not get that far, or got there under an earlier engine. */
struct timing_stamps {
	uint64_t accepted_ns;  /* it was stored */
	uint64_t queued_ns;    /* it came into its queue, for the last time */
	uint64_t started_ns;   /* it left the queue for a unit */
	uint64_t submitted_ns; /* the runner got it */
	uint64_t completed_ns; /* the runner gave it back */
};

/*
 * What kettle-exec's stamps say of a completion, an object with
 *   "parts": {"wait_ns" (for the device, or for a turn to build), "build_ns", "prepare_ns", "start_ns" (folders and
 *       sandboxes of run steps made), "compile_ns" (compilers in their programs, as far as the caches show it: `jit` of
 *       event.schema.json), "run_ns" (the rest of their programs), "collect_ns" (their outputs taken over, sandboxes
 *       removed), "other_ns"}: each moment between receipt and end counts in one of them, the most telling one, but for
 *       those of secret runs, which count in none; and
 *   "steps": [{"step", "title" (for people), "kind", "cached", "at_ns" (since receipt), "wait_ns", "start_ns", "run_ns",
 *       "total_ns"}], without the secret ones.
 * Without stamps (a runner need not have any) both are empty. To the parts comes what the engine's stamps say (NULL:
 * nothing): "earlier_ns" (attempts that came to nothing), "queue_ns", "plan_ns" (marked as running, planned),
 * "transfer_ns" (to the machine and back; where that one has no stamps, "other_ns", which then is all that it did). New
 * reference. Pure, [any].
 */
json_t *timing_of(const struct plan *plan, const struct completion *completion, const struct timing_stamps *stamps);
