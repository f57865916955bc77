/* SPDX-License-Identifier: MIT */
/* What the files of the engine share. */
#ifndef KETTLE_ENGINE_ENGINE_INTERNAL_H
#define KETTLE_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/fair_queue.h"
#include "judge/plan.h"
#include "judge/timing.h"

#include <kettle/error.h>

/* Time a runner gets, beyond the limits of the steps, to build, transfer and answer. */
#define ENGINE_SLACK_MS 120000
/* What a step without a limit of its own counts for. */
#define ENGINE_WALL_S 180
/* Time a cancelled job gets to complete before its unit is disabled. */
#define ENGINE_CANCEL_MS 30000
/* Time a runner gets to say what a unit's machine is. */
#define ENGINE_DESCRIBE_MS 60000
/* A unit that lost a job pauses this long, doubled for each loss in a row, at most ENGINE_PAUSE_MAX_MS. */
#define ENGINE_PAUSE_MS 250
#define ENGINE_PAUSE_MAX_MS 60000
#define ENGINE_TICK_MS 250
/* So many faults of its GPUs in a row disable a unit; then it is tried so often. */
#define ENGINE_FAULTS_MAX 2
#define ENGINE_TEST_MS 60000
/* What the database could not take is tried again after this time, and nothing new is started before. */
#define ENGINE_STORE_RETRY_MS 1000

/* Named states, in the order of the picture in engine.h. */
enum job_state { JOB_QUEUED, JOB_STARTING, JOB_ACTIVE, JOB_ENDING };
enum job_phase { PHASE_BUILDING, PHASE_WAITING, PHASE_RUNNING };
/* Why a job is being stopped. */
enum job_stop { STOP_NO, STOP_CANCEL, STOP_HAND_BACK, STOP_DEADLINE };

struct unit {
	struct device *device;
	json_t *config;      /* with name and unit */
	json_t *gpus;        /* unit_gpus of it */
	json_t *calibration; /* as it was stored when the last job began (calibration.h); JSON null or NULL: none */
	bool changed;        /* its machine is not the calibration's; said once */
	char label[96];      /* "CPU.0": the store's and people's name of it */
	const struct runner *runner;
	unsigned slots, prefetch;
	unsigned active;  /* jobs from starting to ending */
	unsigned running; /* of these, in run steps */
	unsigned losses;  /* in a row */
	uint64_t pause_until_ms;
	bool removed;       /* no longer configured: drained */
	char disabled[256]; /* why it is disabled; "" when it is not */
	bool quarantined;   /* disabled for a fault: it is tested from time to time and enabled again by itself */
	bool testing;
	uint64_t test_at_ms; /* when next */
	unsigned faults;     /* of its GPUs, in a row */
	json_t *facts;       /* what lasts of unit_facts.h; NULL: not known (yet) */
	struct unit *next;
};

struct device {
	char *name;
	struct unit *units;
	struct fair_queue *queue;
	struct engine_job *held; /* that wait, outside of the queue, until enough of its units are in order */
	struct device *next;
};

struct job_write;

/* To a runner: what the machine of a unit is. The callback may run before the answer comes, if it ever does. */
struct describe_request {
	struct engine *engine; /* NULL: the caller has its answer */
	/* late: the machine did not answer in time; err says so. Called once. */
	void (*on_answer)(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late);
	uint64_t deadline_ms;
	struct describe_request *next;
};

struct engine_job {
	struct fair_queue_item item; /* first: a queue item is its job */
	struct inflight_job inflight;
	struct engine *engine;
	int64_t id, submission, user, attempt;
	struct device *device;
	struct unit *unit;
	struct unit **more; /* that it has at once with unit */
	size_t more_count;
	size_t needs; /* devices at once, where waits is set */
	char *waits;  /* why its device cannot serve it now, a sentence; NULL: it is as any other */
	struct engine_job *next_held;
	enum job_state state;
	enum job_phase phase;
	enum job_stop stop;
	uint64_t deadline_ms; /* on the loop's clock; 0: none */
	struct timing_stamps stamps;
	struct plan *plan;
	json_t *task;
	bool in_flight;          /* counted in the engine's in_flight */
	struct job_write *again; /* what the database could not take; only while ending */
	uint64_t again_at_ms;
	struct engine_job *previous, *next;
};

struct engine {
	struct engine_setup setup;
	struct device *devices;
	void *jobs_by_id; /* tsearch tree of engine_job */
	struct engine_job *jobs;
	struct engine_job *cursor;         /* next job of a walk; moves on when that job is forgotten */
	struct describe_request *requests; /* that are open */
	size_t in_flight;                  /* jobs that are starting, active or ending, and a load under way */
	bool loading;
	uint64_t load_at_ms;     /* when to load the open jobs; 0: loaded */
	uint64_t pause_until_ms; /* the database could not start a job */
	uv_timer_t tick;
	uv_prepare_t prepare;
	bool dirty; /* something changed that may let a job start */
	bool stopping;
	uint64_t stop_at_ms;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* engine/job_table.c */
struct engine_job *engine_job_find(const struct engine *engine, int64_t id);
/* A new one, not queued yet. */
struct engine_job *engine_job_add(
	struct engine *engine, struct device *device, int64_t id, int64_t submission, int64_t user);
void engine_job_forget(struct engine_job *job);
/* Of its user's jobs the oldest comes first, also where it was handed back or held. */
void engine_job_queue(struct engine_job *job);
/* Keeps a job that is queued in the database and `waits` out of the queue until enough units are in order. */
void engine_job_hold(struct engine_job *job);
void engine_progress(const struct engine_job *job, json_t *event_take);

/* engine_device.c */
/*
 * Makes the devices what the configuration says: units that stay the same stay as they are, others come, the rest is
 * drained. On an error nothing is changed.
 */
int engine_devices_load(struct engine *engine, const json_t *devices, struct kettle_error *err);
struct device *engine_device_find(const struct engine *engine, const char *name);
/* The first healthy unit of the device with a free slot, else the first that may still build a job, or NULL. */
struct unit *engine_unit_free(const struct engine *engine, const struct device *device);
/*
 * The unit pauses before it gets another job. `proven`: not by what the job's own program has said, which a submitter
 * could fake; only then the pause grows from one loss to the next.
 */
void engine_unit_lost(struct engine *engine, struct unit *unit, const char *why, bool proven);
void engine_unit_disable(struct unit *unit, const char *why);
void engine_devices_free(struct engine *engine);

/* engine_run.c: a job on its unit */
void engine_job_start(struct engine_job *job, struct unit *unit);
/* Found running in the database: asks its runner, else queues it again. */
void engine_job_recover(struct engine_job *job, const char *unit, const char *handle);
void engine_job_stop(struct engine_job *job, enum job_stop why);
void engine_job_overdue(struct engine_job *job);

/* engine_op.c */
/* Once more what the database could not take. */
void engine_job_retry_writes(struct engine_job *job);

/* engine_places.c: jobs that need several devices at once */
/*
 * The job is planned and has its first unit: takes what it needs besides. KETTLE_EINVAL: its device never has so many
 * on one machine; KETTLE_EUNAVAIL: it has not now, as the job's `waits` says then.
 */
int multi_device_take(struct engine_job *job, struct kettle_error *err);
/* Gives them back, in whatever phase it is. */
void multi_device_leave(struct engine_job *job);
/* Queues those of the device that need not wait any more. */
void multi_device_release(struct device *device);
/* How many of the device's jobs are held. */
size_t multi_device_held(const struct device *device);
/* Why the device starts no job now, or not the first held one. New string, NULL: it does. */
json_t *multi_device_shortage(const struct device *device);
/* It begins to be, or ends being, in run steps. */
void multi_device_run(struct engine_job *job, bool runs);
/* The section of its unit for the runner, with the others under `more`. New reference. */
json_t *multi_device_section(const struct engine_job *job);

/* engine_health.c: units that are not in order */
/* The unit with this label, in force; NULL: there is none. */
struct unit *engine_unit_find(const struct engine *engine, const char *label);
/* In memory; the caller stores what must last. */
void unit_health_disabled(struct engine *engine, struct unit *unit, const char *why, bool by_hand);
void unit_health_ready(struct engine *engine, struct unit *unit, const char *why);
/* What settings_units remembers. */
void unit_health_load(struct engine *engine, const json_t *rows);
/* Takes what a completion says of the GPUs of the job's units. */
void unit_health_judge(struct engine_job *job, const struct completion *completion);
/* Asks the unit's machine whether it is in order; done once, unless this fails. */
int unit_health_test(
	struct engine *engine, struct unit *unit, engine_test_done done, void *arg, struct kettle_error *err);
void unit_health_tick(struct engine *engine);
/*
 * Asks for the facts of a unit with a GPU that are not known yet. True: done comes, perhaps already; the unit must stay.
 * late: a sentence, where the machine did not answer in time; NULL: go on.
 */
bool unit_health_fetch_facts(
	struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg);

/* engine.c */
/* Starts what may start. The files below set `dirty` instead, and it runs before the loop waits again. */
void engine_schedule(struct engine *engine);

#endif
