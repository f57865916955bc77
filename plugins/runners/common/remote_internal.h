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

/* ---- remote_parts.c ---- */

#define REMOTE_BUILD ".build" /* after a job's name: that of its first part */

/*
 * The unit of the first part, by `build` of the unit's options, *ret_unit NULL: it has none. New reference. EINVAL:
 * `build` is no table of options of a unit.
 */
int remote_parts_unit(const struct remote *remote, const json_t *unit, json_t **ret_unit, struct kettle_error *err);
/* The unit of a first part with these options, as its handle has them; NULL: they are none. New reference. */
json_t *remote_parts_place(const json_t *unit, json_t *options);

/* Sealing of a plan. */
struct remote_packing {
	struct remote_job *job;
	char *text, *first; /* contents of the plan, and of that of its first part; first NULL: it has no parts */
	char *envelope;     /* of what is sent first */
	size_t envelope_size;
	bool unkept; /* of an error: the whole plan could not be written */
	struct kettle_error err;
};

/* first_unit: of the first part, if the job may have one; else NULL. New. */
struct remote_packing *remote_packing_new(const json_t *unit, const json_t *plan, const json_t *first_unit);
void remote_packing_free(struct remote_packing *packing);
/* Seals what is sent first; keeps the whole plan while a first part runs. [any, blocks] */
void remote_pack(void *packing);
/* Removes the whole plan of a job with parts. */
void remote_parts_forget(const struct remote_job *job);
/* Where files of the first part's result go. New string. */
char *remote_parts_outputs(const struct remote_job *job);
/* The name of the second part of a job that is in its first one. New string. */
char *remote_parts_name(const struct remote_job *job);

/* The second part. */
struct remote_second {
	json_t *unit; /* of the second part; NULL: the job has ended */
	char *envelope, *whole;
	size_t envelope_size, whole_size; /* envelope NULL: what was built cannot go on, and the whole plan does */
	bool unkept;                      /* of an error: the whole plan cannot be read */
};

/*
 * Makes what follows of the first part's completion and of the outputs. If the job has ended, the completion becomes
 * that of the job. EINVAL: the completion is not that of the first part; or the whole plan cannot be read.
 * [any, blocks]
 */
int remote_parts_second(
	const struct remote_job *job, json_t *completion, struct remote_second *ret_second, struct kettle_error *err);
/* Logs that what the first part has built does not go on, and why. */
void remote_parts_again(const struct remote_job *job, const char *why);
/* Takes the job to its second part, which is then stored and sent. `second` is emptied. Loop thread. */
void remote_begin_second(struct remote_job *job, struct remote_second *second);
