/* SPDX-License-Identifier: MIT */
/*
 * The engine: from accepted jobs to verdicts.
 *
 * Theory of operation. Everything happens on the loop thread. A job that the store accepted enters the queue of its
 * device. Whenever something changes, the first healthy unit of a device with a free slot (else one that may still
 * build) takes the next job: the store makes
 * it `running` with a new attempt (durably, before anything starts), the language makes the plan, the runner gets it.
 * The runner's one completion becomes a verdict, and the store takes that only while the attempt is still the job's
 * current one. So a crash anywhere leaves a job either queued or running with an attempt that has no owner;
 * engine_start finds both. `slots` of a unit bounds the jobs in run steps, `prefetch` the jobs that build meanwhile.
 *
 *   queued ──start──▶ starting ──submit──▶ active ──done──▶ ending ──▶ gone
 *      ▲                                      │
 *      └────────── handed back, lost ─────────┘
 */
#ifndef KETTLE_ENGINE_ENGINE_H
#define KETTLE_ENGINE_ENGINE_H

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
	struct clock *clock;      /* that its deadlines, pauses and ticks go by */
	struct loop_services *io; /* takes over what jobs leave beside the loop; NULL: so are the two paths below */
	struct store *store;
	struct inflight *inflight;
	const struct languages *languages;
	const struct runner *runners;
	size_t runners_count;
	const char *secret_output;   /* DB.secret-output; NULL: none is kept */
	const char *spool;           /* where jobs leave files, see artifact.h; NULL: none are kept */
	int64_t artifact_bytes;      /* of all files of one job */
	int64_t artifact_user_bytes; /* of all that are kept of a user's jobs; 0: no limit */
	const json_t *devices;       /* the configuration: name → {"units": […]} */
	/* Something to show that is not stored: event is {"kind": "progress", "submission", "user", "job", "device",
	 * "event": …}. */
	void (*progress)(void *arg, const json_t *event);
	void *arg;
};

/* Borrowed pointers in setup must outlive the engine. */
int engine_new(const struct engine_setup *setup, struct engine **ret_engine, struct kettle_error *err);
/* Loads what the database holds open: queued jobs are queued, running ones recovered or started again. done once, on
 * the loop. */
void engine_start(struct engine *engine, store_done done, void *arg);
/* Whether engine_start, or the last engine_reload, has loaded them, with the state of the units. */
bool engine_loaded(const struct engine *engine);
/* Told of every stored event (store_events): new jobs are queued, cancelled and deleted ones stopped. */
void engine_event(struct engine *engine, const struct event *event);
/* Devices, units, their state and queues, for device.list. New reference. */
json_t *engine_devices(const struct engine *engine);
/* The units of this name, or all of the device of this name: [{"device", "unit", "key"}]. New reference. */
json_t *engine_units(const struct engine *engine, const char *name);
/* The runner says whether its remote side can be reached (host.h: reached). */
void engine_reached(struct engine *engine, const char *runner, const json_t *options, const char *error);
/* What the units wait for (engine_internal.h: unit_health_obstacle): of a runner, or of the units in the list `labels`. New reference. */
json_t *engine_obstacles(const struct engine *engine, const char *runner, const json_t *labels);
/* Disables a unit of engine_units for an operator, or enables it; the caller stores what must last. */
void engine_unit_set(struct engine *engine, const json_t *unit, bool disabled, const char *reason);
/* err->code 0: the unit is in order. unit: NULL where it is no longer configured. */
typedef void (*engine_test_done)(void *arg, struct engine *engine, struct unit *unit, const struct kettle_error *err);
/* Asks the machine of a unit of engine_units whether it is in order; done once, unless this fails. The engine does not end meanwhile. */
int engine_unit_test(
	struct engine *engine, const json_t *unit, engine_test_done done, void *arg, struct kettle_error *err);
/*
 * {"place": n (0: next; not there: it is beside the queue), "length": of the queue, "device", "waits": a sentence, where
 * its device cannot serve it now, "wait_s": how long it is likely to wait, where jobs have ended on the device} of a
 * queued job of this user (0: of anybody), NULL when there is no such job. New reference.
 */
json_t *engine_queue_position(const struct engine *engine, int64_t job, int64_t user);
/* Takes a new configuration of the devices: new units come, units that went are drained. Borrowed. */
int engine_reload(struct engine *engine, const json_t *devices, struct kettle_error *err);
/* From now on jobs are planned with these; those that were planned end with what planned them. Borrowed. */
void engine_take_languages(struct engine *engine, const struct languages *languages);
/* From now on a job may leave so many bytes, and so many are kept of a user's jobs. */
void engine_limit(struct engine *engine, int64_t artifact_bytes, int64_t artifact_user_bytes);
/*
 * Starts nothing more, waits at most grace_ms for what runs, then hands the rest back to the queue and calls done once.
 * May be called again with a shorter grace.
 */
void engine_stop(struct engine *engine, uint64_t grace_ms, void (*done)(void *arg), void *arg);
/* After engine_stop's done. NULL is allowed. */
void engine_free(struct engine *engine);

#endif
