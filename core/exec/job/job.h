/* SPDX-License-Identifier: MIT */
/* Jobs: start, cancel, end. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

/*
 * The named state transitions, at which the crash tests kill kettle-exec (failpoint.h):
 *
 *   exec.hello     before the greeting
 *   exec.accepted  a plan passed its check, nothing is on disk yet
 *   exec.started   before `started` is sent
 *   exec.prepare   before a step's folder is made or its key computed
 *   exec.cached    a step was found in the cache
 *   exec.waiting   before a job begins to wait for its device
 *   exec.device    it holds the device
 *   exec.step      before a step's process is started
 *   exec.running   a step's process was started
 *   exec.ended     a step's process has ended, its report is taken
 *   exec.collect   before what it left is taken over
 *   exec.store     before a build is put into the cache
 *   exec.outcome   before an outcome is sent
 *   exec.cancel    a job is cancelled
 *   exec.done      before `done` is sent
 *   exec.removed   after `done`, before the job's folders are removed
 */

#define JOB_MAX_REF 200

struct exec_context;
struct job;

/* Loop thread. */

/*
 * Accepts a run line (stolen): checks it and begins. A line that cannot be carried out gets its `done` (status lost).
 * An error means that the line lacks what even that needs; err names it.
 */
int job_start(struct exec_context *exec, json_t *line_take, struct kettle_error *err);
struct job *job_find(const struct exec_context *exec, const char *ref);
/* Kills the job's processes. Its `done` has the status cancelled. */
void job_cancel(struct job *job);
/* Cancels all jobs. */
void job_cancel_all(struct exec_context *exec);
/* The reader has taken all output: jobs that wait to send artifacts continue. */
void job_output_drained(struct exec_context *exec);
