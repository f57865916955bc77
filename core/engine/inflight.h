/* SPDX-License-Identifier: MIT */
/* The jobs that runners have: routes a runner's reports to the owner of the job. Loop thread. */
#pragma once

#include "judge/completion.h"

#include <jansson.h>
#include <kettle/host.h>

#define INFLIGHT_REF_SIZE 48

/* Embedded in the owner's record of the job; zero-initialise, then inflight_add. */
struct inflight_job {
	char ref[INFLIGHT_REF_SIZE];
	void (*event)(struct inflight_job *job, const json_t *event);
	/* Stores the handle, then calls answer. */
	void (*handle)(struct inflight_job *job, const char *handle, kettle_answer answer, void *arg);
	/* Called when the job is no longer registered. The completion is borrowed. */
	void (*done)(struct inflight_job *job, const struct completion *completion);
	void *limit; /* for local_job.c */
};

/* The registry; zero-initialise. It borrows the jobs. */
struct inflight {
	void *by_ref;
	size_t count;
};

/* Registers a job by its reference. KETTLE_ECONFLICT: the reference is taken. */
int inflight_add(struct inflight *inflight, struct inflight_job *job);
/* Does nothing if the job is not registered. */
void inflight_remove(struct inflight *inflight, struct inflight_job *job);
struct inflight_job *inflight_find(const struct inflight *inflight, const char *ref);
