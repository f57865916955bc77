/* SPDX-License-Identifier: MIT */
/* The devices of a job, held: their locks, all of them, and a look at their GPUs before and after. */
#ifndef KETTLE_EXEC_HOLD_H
#define KETTLE_EXEC_HOLD_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "exec/machine/devlock.h"
#include "exec/machine/gpuwatch.h"

struct job;

/* Zero-initialise. Loop thread; while busy the watch and what it found are the pool thread's. */
struct device_lease {
	size_t need; /* places of the unit that the job's steps use at most */
	struct devlock *locks;
	size_t count, held;        /* locks; those that are held */
	const char **names;        /* of locks, in the order in which everybody takes them; borrowed of the unit */
	unsigned *slots;           /* of locks */
	bool wanted, ready;        /* somebody asked; everything is held and was looked at */
	bool busy, checked, ended; /* work under way; the last look is over; the locks were given back */
	struct kettle_error error; /* code 0, or why the devices cannot be used */
	uint64_t asked_ns;
	struct gpuwatch watch;
	json_t *reading; /* the newest */
	json_t *faults;  /* GPU → sentence, of the last look; NULL: there was none */
	json_t *found_reading, *found_faults;
	uv_work_t work;
	void (*worked)(struct job *job);
};

/* After the job's steps are known: what it needs, and whether its unit has that (KETTLE_EUNAVAIL). */
int device_lease_open(struct job *job, struct kettle_error *err);
/*
 * Asks for the devices on behalf of a step. 1: they are held (hold.error may say that they are of no use); 0:
 * job->devices_held is called later; or a code.
 */
int device_lease_request(struct job *job, struct kettle_error *err);
/* No step needs the devices any more: looks at them and gives them back. job->advance is called when that is over. */
void device_lease_release(struct job *job);
/* Whether the job must still stay for it. */
bool device_lease_is_busy(const struct job *job);
/* The descriptors of what is held, for init; how many (at most JOB_MAX_DEVICES). */
size_t device_lease_descriptors(const struct job *job, int *ret_fds);
/* {"checked": [gpu], "faults": {gpu: sentence}}, NULL: nothing was looked at. New reference. */
json_t *device_lease_report(const struct job *job);
void device_lease_close(struct job *job);

#endif
