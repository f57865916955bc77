/* SPDX-License-Identifier: MIT */
/* A runner: where a plan is carried out. Each of them ends in kettle-exec. */
#ifndef KETTLE_RUNNER_H
#define KETTLE_RUNNER_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One attempt at a job. Strings and JSON are borrowed for the call. */
struct kettle_job {
	uint32_t size;
	const char *ref;    /* names job and attempt, unique for ever in one database: "12.1" */
	const char *device; /* the device's name, for messages */
	const json_t *unit; /* the unit's section of the configuration: {"runner": "local", "name", "gpu": 0, "cores": "1",
						   "slots": 1, "sandbox": "full", …} */
	uint64_t deadline_ms; /* the scheduler's own bound for build and run together, for the runner's information */
	const char *spool;    /* a folder of this machine, made by the runner where it needs it, in which it leaves the
						   artifacts of steps as STEP/NAME before it completes the job; NULL: none are kept */
};

/*
 * All asynchronous, on the loop thread.
 *
 * For every job that submit or recover accepted (returned 0) the runner calls host->job_done exactly once, also after
 * cancel and also when it stops, with a completion. "lost" means that the machine failed and the job may be tried again
 * elsewhere. In between it passes on with host->job_event what kettle-exec reports. Both are in event.schema.json.
 */
struct kettle_runner {
	uint32_t size;
	/* How many jobs the unit may be in run steps of, and how many more may build meanwhile. */
	int (*capacity)(
		void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);
	int (*submit)(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err);
	void (*cancel)(void *self, const char *ref);
	/*
	 * After a restart of the engine: the job ran with this handle. 0: it is found again and completes as after submit.
	 * KETTLE_ENOENT: there is nothing to find; the core runs it again as the next attempt. NULL: always so.
	 */
	int (*recover)(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err);
	/* What the unit's machine is: greeting of its kettle-exec (versions, protections, tools), requested once. done
	 * once. A section with `brief` (true) asks for all that is known without waiting for the versions of tools. */
	int (*describe)(void *self, const json_t *unit,
		void (*done)(void *arg, const struct kettle_error *err, json_t *facts), void *arg, struct kettle_error *err);
	/* Whether two units are places of one machine, so that a job can have them at once: submit then gets the section of
	 * the first with those of the others under `more`. NULL: never; what a unit has, a job gets. */
	int (*same_machine)(void *self, const json_t *unit, const json_t *other);
};

#ifdef __cplusplus
}
#endif
#endif
