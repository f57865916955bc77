/* SPDX-License-Identifier: MIT */
/* Whether a harness's report on a run that passed is complete and agrees with the cases it was given. Pure. */
#pragma once

#include "judge/plan.h"

#include <jansson.h>
#include <kettle/error.h>

/* The word for a case of a run in keys and sentences: "test" or "benchmark". Static. */
const char *report_noun(const struct plan_step *step);

/*
 * EINVAL: the report contradicts itself or the cases, or a part of it is missing. Every harness: a count is the number
 * of cases, and no case has another status than `pass`; if a test run reports the number of tests or anything about one
 * of them, each has a status. A harness that reports all keys (PLAN_COMPLETE): the count, the status and the `spec` of
 * each case, which is the case's line, and in timed runs every key of a time. The sentence completes "the … run is
 * void: " and repeats the report. [any]
 */
int report_check(const struct plan_step *step, const json_t *result, struct kettle_error *err);
/*
 * What one should know of a run's times: a sentence for each benchmark whose mean is not between its fastest and its
 * slowest call, which says why; whether its GPU was unfit to score, and what else about the GPU matters. device: of the
 * outcome; NULL: no GPU. New reference; NULL: there is nothing. [any]
 */
json_t *report_remarks(const json_t *result, const json_t *device);

/* The kinds of what compilers build for a GPU, and why it was built on the device (docs/tasks.md); end with NULL. */
extern const char *const report_built_kinds[], *const report_built_reasons[];
/*
 * What compilers built in a run for a GPU, as its harness says, which may be the submission's own word: it is shown, and
 * nothing depends on it. [{"kind", "ready": what was there, "device": what the run built, "reasons"}]. New reference;
 * NULL: nothing, or nothing that is well-formed. [any]
 */
json_t *report_built(const json_t *result);
