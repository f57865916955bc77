/* SPDX-License-Identifier: MIT */
/*
 * The engine: from accepted jobs to verdicts.
 *
 * Theory of operation. Everything happens on the loop thread. A job that the store accepted enters the queue of its
 * device. After every change, the first healthy unit of the device with a free slot (or else one that may still build)
 * takes the next job: the store makes the job `running` with a new attempt (durably, before anything starts), the
 * language makes the plan, and the runner gets it. The runner completes the job once. The completion becomes a verdict,
 * which the store takes only if the attempt is still the job's current one. So a crash leaves a job either queued or
 * running with an attempt that has no owner, and engine_start finds both. A unit's `slots` limit its jobs in run steps,
 * its `prefetch` the jobs that build meanwhile.
 *
 *   queued ──start──▶ starting ──submit──▶ active ──done──▶ ending ──▶ gone
 *      ▲                                      │
 *      └────────── handed back, lost ─────────┘
 */
#pragma once

#include "base/clock.h"
#include "engine/inflight.h"
#include "judge/language.h"
#include "model/events.h"
#include "store/store.h"

#include <kettle/runner.h>
#include <stdbool.h>
#include <uv.h>

struct engine;
struct unit;

/* A runner that is loaded and started. */
struct runner {
	const char *name;
	const struct kettle_runner *ops;
	void *self;
};

struct engine_setup {
	uv_loop_t *loop;
	struct clock *clock;      /* for deadlines, pauses and ticks */
	struct loop_services *io; /* handles the files of jobs beside the loop; NULL: the two paths below are NULL, too */
	struct store *store;
	struct inflight *inflight;
	const struct languages *languages;
	const struct runner *runners;
	size_t runners_count;
	const char *secret_output;   /* DB.secret-output; NULL: no output is kept */
	const char *spool;           /* where jobs leave files, see artifact.h; NULL: no files are kept */
	int64_t artifact_bytes;      /* limit for the files of one job */
	int64_t artifact_user_bytes; /* limit for the files that are kept of a user; 0: none */
	const json_t *devices;       /* the configuration: name → {"units": […]} */
	/* Receives progress, which is not stored: {"kind": "progress", "submission", "user", "job", "device", "event": …}. */
	void (*progress)(void *arg, const json_t *event);
	void *arg;
};

/* Makes an engine with the configured devices, which engine_start starts. What setup points to is borrowed until engine_free. */
int engine_new(const struct engine_setup *setup, struct engine **ret_engine, struct kettle_error *err);
/*
 * Loads the open jobs from the database: queues the queued ones, recovers or restarts the running ones. A load that fails
 * is logged and tried again.
 */
void engine_start(struct engine *engine);
/* Whether the load of engine_start, or of the last engine_reload, has brought the jobs and the state of the units. */
bool engine_loaded(const struct engine *engine);
/* Takes a stored event (store_events): queues new jobs, stops cancelled and deleted ones. */
void engine_event(struct engine *engine, const struct event *event);
/*
 * Devices, units, their state and queues, for device.list; `jobs` of a unit: [{"job", "submission", "user"}] that it has now.
 * New reference.
 */
json_t *engine_devices(const struct engine *engine);
/*
 * Figures for monitoring, as engine.metrics shows them: those of devices now, and counts and histograms since this
 * engine was made ("since"). Looks at no table. New reference.
 */
json_t *engine_metrics(const struct engine *engine);
/* Whether at least one unit can take a job, now or after those that it has. EUNAVAIL, ECANCELED. */
int engine_ready(const struct engine *engine, struct kettle_error *err);
/* The unit of this name, or all units of the device of this name: [{"device", "unit", "key"}]. New reference. */
json_t *engine_units(const struct engine *engine, const char *name);
/*
 * Takes a runner's report on its units with these options, or on all its units (NULL); see host.h: reached. error NULL:
 * they can be reached.
 */
void engine_reached(struct engine *engine, const char *runner, const json_t *options, const char *error);
/* The obstacles (unit_health_obstacle) of a runner's units, or only of those in the list `labels`. New reference. */
json_t *engine_obstacles(const struct engine *engine, const char *runner, const json_t *labels);
/* Disables or enables a unit of engine_units for an operator. The caller stores the state. */
void engine_unit_set(struct engine *engine, const json_t *unit, bool disabled, const char *reason);
/* err->code 0: the unit is in order. unit NULL: it is no longer configured. */
typedef void (*engine_test_done)(void *arg, struct engine *engine, struct unit *unit, const struct kettle_error *err);
/* Asks the machine of one of engine_units whether it is in order. done comes once, before the engine ends, unless this fails. */
int engine_unit_test(
	struct engine *engine, const json_t *unit, engine_test_done done, void *arg, struct kettle_error *err);
/*
 * The position of a waiting job of this user (0: of any user): {"place": n (0: next; missing: the job is not in the
 * queue), "length": of the queue, "device", "waits": a sentence if the device cannot serve the job now, "wait_s": the
 * expected wait, if jobs have ended on the device, "obstacle"}. NULL: there is no such job. New reference.
 */
json_t *engine_queue_position(const struct engine *engine, int64_t job, int64_t user);
/* Takes a new configuration of the devices: adds new units, drains removed ones. Borrowed. */
int engine_reload(struct engine *engine, const json_t *devices, struct kettle_error *err);
/* Plans jobs with these languages from now on. A planned job keeps those of its plan. Borrowed. */
void engine_take_languages(struct engine *engine, const struct languages *languages);
/* Changes artifact_bytes and artifact_user_bytes of the setup. */
void engine_limit(struct engine *engine, int64_t artifact_bytes, int64_t artifact_user_bytes);
/*
 * Starts no more jobs, waits at most grace_ms for the running ones, then hands the rest back to the queue and calls
 * done once. May be called again with a shorter grace.
 */
void engine_stop(struct engine *engine, uint64_t grace_ms, void (*done)(void *arg), void *arg);
/* Call it after engine_stop's done. NULL is allowed. */
void engine_free(struct engine *engine);
