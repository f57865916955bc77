/* SPDX-License-Identifier: MIT */
/* The jobs that runners have at the moment: routes what a runner says to whoever gave it the job. Loop thread. */
#ifndef KETTLE_LIVE_H
#define KETTLE_LIVE_H

#include <jansson.h>
#include <kettle/host.h>

#define LIVE_REF_SIZE 48

/* Embedded in the owner's record of the job; zero-initialise, then live_add. */
struct live_job {
	char ref[LIVE_REF_SIZE];
	void (*event)(struct live_job *job, const json_t *event);
	/* Stores the handle, then answers. */
	void (*handle)(struct live_job *job, const char *handle, kettle_answer answer, void *arg);
	/* The completion; the job is no longer registered when this is called. Borrowed. */
	void (*done)(struct live_job *job, const json_t *completion);
};

/* The registry; zero-initialise. Every job in it is the owner's. */
struct live {
	void *by_ref;
	size_t count;
};

/* KETTLE_ECONFLICT: the reference is taken. KETTLE_ENOMEM. */
int live_add(struct live *live, struct live_job *job);
/* Does nothing to one that is not registered. */
void live_remove(struct live *live, struct live_job *job);
struct live_job *live_find(const struct live *live, const char *ref);

#endif
