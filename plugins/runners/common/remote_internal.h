/* SPDX-License-Identifier: MIT */
/* Functions that the files of remote.h share. */
#pragma once

#include "runners/common/remote.h"

/* ---- remote.c ---- */

/* Removes the job from the tables and completes it; completion NULL: it was detached or completed before. */
void remote_job_end(struct remote_job *job, json_t *completion_take);
/* Keeps the job in memory until remote_job_release. */
void remote_job_hold(struct remote_job *job);
void remote_job_release(struct remote_job *job);

/* ---- remote_steps.c ---- */

/* Sends the request of the job's phase now, or its cancel. */
void remote_step_now(struct remote_job *job);
/* Makes the next request due after the usual interval. */
void remote_step_wait(struct remote_job *job);
/* The job awaits no answer any more. */
void remote_step_end(struct remote_job *job);
/* Starts the requests of a recovered job. */
void remote_step_recover(struct remote_job *job);
