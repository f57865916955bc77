/* SPDX-License-Identifier: MIT */
/* What the files of remote.h share. */
#ifndef KETTLE_RUNNERS_COMMON_REMOTE_INTERNAL_H
#define KETTLE_RUNNERS_COMMON_REMOTE_INTERNAL_H

#include "runners/common/remote.h"

/* ---- remote.c ---- */

/* The job in this phase; new. */
struct remote_job *remote_job_add(
	struct remote *remote, const struct kettle_job *description, const char *plan_hash, enum remote_phase phase);
/* It leaves the table, and is completed; completion NULL: it was detached, or has been completed. */
void remote_job_end(struct remote_job *job, json_t *completion_take);
/* It may be gone after remote_job_release only. */
void remote_job_hold(struct remote_job *job);
void remote_job_release(struct remote_job *job);

/* ---- remote_steps.c ---- */

/* Sends the request of the job's phase now, or the one that cancels it. */
void remote_step_now(struct remote_job *job);
/* The next request is due when that is usual. */
void remote_step_wait(struct remote_job *job);
/* No answer is awaited any more. */
void remote_step_end(struct remote_job *job);
/* A job that was recovered. */
void remote_step_recover(struct remote_job *job);

/* ---- remote_inquiry.c ---- */

/* Answers all with ECANCELED. */
void remote_inquiries_end(struct remote *remote);

#endif
