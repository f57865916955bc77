/* SPDX-License-Identifier: MIT */
/*
 * What clients of KernelBot's API read of a submission, made of an answer of `submission.show`. Pure. Nothing of a
 * secret run but whether it passed and its score is ever in it. All [any]; values are new references.
 */
#pragma once

#include <jansson.h>

/* A copy of these members, null where there is none; the last name is NULL. */
json_t *results_members(const json_t *object, const char *const *names);
/* GET /user/submissions/ID, without "runner_queue". */
json_t *results_shown(const json_t *submission);
/* GET /admin/submissions/ID. */
json_t *results_admin(const json_t *submission);

/*
 * An element of "results" of an event stream: {"success", "error", "system", "runs": {"test": {"start", "end",
 * "compilation", "run", "profile"}}}. job: an element of "jobs".
 */
json_t *results_job(const json_t *submission, const json_t *job);
/* The report of a job as text. New string. */
char *results_report(const json_t *submission, const json_t *job);
/*
 * Why a submission that has ended has nothing to show: it was cancelled, a machine failed, or only its secret runs did
 * not pass. NULL: it passed, or its runs say what is wrong. Borrowed.
 */
const char *results_failure(const json_t *submission);
/* The kept zips of a job's profiles: [{"run": key in "runs", "artifact", "size"}]. */
json_t *results_traces(const json_t *job);
/* Puts the zip of a profile, as base64, into the run of a result with this key. */
void results_put_trace(json_t *result, const char *run, const char *base64);
/*
 * Fails each run of a result that has no zip of Nsight Compute, which is what clients of /profile read, and says how to
 * get the files of this submission.
 */
void results_need_ncu(json_t *result, json_int_t submission);
