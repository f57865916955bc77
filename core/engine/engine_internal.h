/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the engine share. */
#pragma once

#include "base/histogram.h"
#include "engine/engine.h"
#include "engine/fair_queue.h"
#include "judge/plan.h"
#include "judge/timing.h"
#include "judge/verdict.h"
#include "model/jobs.h"
#include "model/settings.h"

#include <kettle/error.h>

/* Time for a runner to build, transfer and answer, beyond the limits of the steps. */
#define ENGINE_SLACK_MS 120000
/* The lowest rate at which a machine must send results, and the most bytes for which it gets time. */
#define ENGINE_SENDING_BYTES_A_SECOND 65536
#define ENGINE_SENDING_MAX_BYTES (INT64_C(2) << 30)
/* Time in which a cancelled job must complete, or its unit is disabled. */
#define ENGINE_CANCEL_MS 30000
/* Time for a runner to describe a unit's machine. */
#define ENGINE_DESCRIBE_MS 60000
/* A unit that lost a job pauses for ENGINE_PAUSE_MS, doubled with each loss in a row, at most ENGINE_PAUSE_MAX_MS. */
#define ENGINE_PAUSE_MS 250
#define ENGINE_PAUSE_MAX_MS 60000
/* The losses in a row after which a unit gets one job at a time, and after which they use up no attempt of a job. */
#define ENGINE_LOSSES_ONE 2
#define ENGINE_LOSSES_SPARE 3
/* The number of jobs in a row that may be unknown to the remote side; the next one counts as the unit's loss. */
#define ENGINE_GONE_MAX 3
#define ENGINE_TICK_MS 250
/* The number of a device's last jobs whose times are kept. */
#define ENGINE_RECENT 15
/* The number of faults of its GPUs in a row that disable a unit, and the interval in which it is then tested. */
#define ENGINE_FAULTS_MAX 2
#define ENGINE_TEST_MS 60000
/* A ranked job waits so long while no unit in order is fit to score. */
#define ENGINE_UNFIT_MAX_MS (24 * UINT64_C(3600000))
/* The number of scores of a job that are dropped since it heats GPUs on which other jobs score; the next one counts. */
#define ENGINE_UNFIT_RUNS 2
/*
 * Time from an answer to the next heartbeat, and the times without an answer after which a unit is late (logged) and
 * silent (disabled).
 */
#define ENGINE_HEARTBEAT_MS 1000
#define ENGINE_HEARTBEAT_LATE_MS 1000
#define ENGINE_HEARTBEAT_SILENT_MS 30000
/* Time after a failed write until its retry. No job starts meanwhile. */
#define ENGINE_STORE_RETRY_MS 1000
#define ENGINE_LOOK_AGAIN_MS 60000 /* until a job is looked for again whose runner could not look for it */

/* In the order of the picture in engine.h. */
enum job_state { JOB_QUEUED, JOB_STARTING, JOB_ACTIVE, JOB_ENDING };
/* SENDING: the job runs no more, and its machine sends what it left. */
enum job_phase { PHASE_BUILDING, PHASE_WAITING, PHASE_RUNNING, PHASE_SENDING };
/* Why a job is being stopped. UNREACHED: its time is over, and its remote side cannot be reached. */
enum job_stop { STOP_NO, STOP_CANCEL, STOP_HAND_BACK, STOP_DEADLINE, STOP_UNREACHED };

/* Whether a unit serves jobs, the worst first. An unusable or unreachable unit gets one job at a time. */
enum unit_condition { CONDITION_REMOVED, CONDITION_DISABLED, CONDITION_UNUSABLE, CONDITION_AWAY, CONDITION_IN_ORDER };

/* A reason, reported by the runner, for which a unit's jobs wait. */
struct unit_obstacle {
	uint64_t said_ns;     /* last report; 0: the reason is gone */
	int64_t since_utc_ms; /* first report in a row, also before a restart; 0: none */
	char why[500];
};

struct unit {
	struct unit *next;
	struct device *device;
	const struct runner *runner;
	json_t *config; /* the section, with name and unit */
	json_t *gpus;   /* unit_gpus of config */
	char label[96]; /* "CPU.0": the name for people, by the place in the configuration */
	char *key;      /* the name in the database: unit_key, and " #2" for the device's second unit with this key */
	unsigned slots, prefetch;
	struct engine_job *jobs; /* from starting to ending, without those that have it as a further unit */
	unsigned active;         /* how many, with those */
	unsigned running;        /* of these, jobs in run steps */
	bool removed;            /* no longer configured: drained */
	struct unit_disabled {
		enum unit_cause cause; /* UNIT_ENABLED: not disabled */
		char why[256];         /* for people, if disabled */
		unsigned faults;       /* of its GPUs, in a row */
		bool testing;
		uint64_t test_at_ms; /* of the next test */
	} disabled;
	/* Whether its GPUs are fit to score (unit_fitness.c). */
	struct unit_fitness {
		json_t *causes; /* why they are not: words of base/gpu_fitness.h; NULL: they are, as far as is known */
		int64_t since_utc_ms;
		uint64_t test_at_ms; /* of the next test */
		bool trial;          /* the next ranked job finds out whether they still are */
		/* Until then jobs that are not ranked may start although ranked ones wait, since it was read while idle. */
		uint64_t others_until_ms;
		uint64_t scored_ms; /* when a ranked job last passed while they were fit; 0: never */
	} fitness;
	struct unit_losses {
		unsigned count;   /* in a row */
		unsigned unknown; /* jobs in a row that its remote side did not know */
		char why[500];    /* of the last loss */
	} losses;
	uint64_t pause_until_ms;
	struct unit_obstacle obstacles[UNIT_WAITS];
	struct unit_heartbeat {
		struct heartbeat *open; /* NULL: none */
		uint64_t next_ms;
	} heartbeat;
	/* Its machine (unit_health.c, unit_model.c). */
	struct unit_machine {
		json_t *facts;       /* the lasting part of unit_facts.h; NULL: not known */
		bool lacks_gpu;      /* a GPU did not answer, so the next job asks again */
		bool requested;      /* facts were requested once, so other units of the device do not request them */
		unsigned requests;   /* open requests; the unit is freed after their answers */
		char *identity;      /* unit_identity, if it is known and differs from the key; else NULL */
		char *learned;       /* the model that a completion named; NULL: none yet */
		json_t *calibration; /* as stored when the last job began (calibration.h); JSON null or NULL: none */
		bool changed;        /* it is not the calibrated machine; logged once */
	} machine;
};

static inline enum unit_condition
unit_condition(const struct unit *unit)
{
	if (unit->removed || unit->disabled.cause)
		return unit->removed ? CONDITION_REMOVED : CONDITION_DISABLED;
	if (unit->obstacles[UNIT_UNUSABLE].said_ns)
		return CONDITION_UNUSABLE;
	return unit->obstacles[UNIT_AWAY].said_ns ? CONDITION_AWAY : CONDITION_IN_ORDER;
}

/* A list of jobs that wait outside their device's fair queue, oldest first. */
struct job_list {
	struct engine_job *first, *last;
	size_t count;
};

/* The jobs that have ended on a device since this engine was made. */
struct device_metrics {
	struct histogram wait;  /* in the queue, before the last attempt */
	struct histogram build; /* all steps of a job that are no runs */
	struct histogram run;   /* all public runs of a job */
	struct histogram total; /* from acceptance to the stored verdict */
	uint64_t cached, built; /* steps that are no runs: from the build cache, and others */
	json_t *runs;           /* {mode: {state: number}}; NULL: none */
};

struct device {
	struct device *next;
	char *name;
	struct unit *units;
	struct fair_queue *queue;
	size_t unranked; /* jobs in the queue that are not ranked */
	/* While no unit in order is fit to score (unit_fitness.c); times on the engine's clock. */
	struct device_unfit {
		uint64_t since_ms;   /* 0: a ranked job was scored since then */
		uint64_t look_at_ms; /* of the next search for jobs that have waited too long */
		bool expired;        /* such jobs may be in the queue */
	} unfit;
	struct job_list awaiting_units; /* jobs outside of the queue that wait until enough units are in order */
	struct device_recent {
		uint64_t ms[ENGINE_RECENT]; /* from start to end of its last jobs; a ring */
		size_t count;               /* of all that were put there */
		bool loaded;                /* the times from before this engine are there */
	} recent;
	struct device_budget {
		json_t *limits;          /* from the configuration; NULL: none */
		json_t *used;            /* on `day`: {user: ms}, "0": all users */
		int64_t day;             /* days since 1970 */
		struct job_list waiting; /* jobs of users who have used their share, outside of the queue until the next day */
	} budget;
	struct device_plan {
		json_t *task, *steps; /* NULL: none yet */
	} last_plan;              /* shared with the next plan */
	struct device_metrics metrics;
};

/* An open heartbeat request. Its answer frees it, but may never come. */
struct heartbeat {
	struct engine *engine;
	struct unit *unit; /* NULL: it was freed */
	uint64_t waited_ms;
};

/*
 * A request to a runner to describe a unit's machine. The callback runs once, with the answer or at the deadline; the
 * answer may come later, or never.
 */
struct describe_request {
	struct engine *engine; /* NULL: the callback has run */
	/* late: the machine did not answer in time, as err says. */
	void (*on_answer)(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late);
	uint64_t deadline_ms;
	bool idle; /* no job waits for it: an engine that stops gives it up at once */
	struct describe_request *next;
};

struct engine_job {
	struct fair_queue_item item; /* first: a queue item is its job */
	struct inflight_job inflight;
	struct engine *engine;
	struct engine_job *previous, *next;
	int64_t id, submission, user, attempt;
	bool ranked; /* its score counts; unchanged while it is in the queue */
	/* Since when it lacks further units only because they are unfit to score, on the engine's clock; 0: it does not. */
	uint64_t unfit_since_ms;
	unsigned unfit_runs; /* its scores that were dropped since it heated GPUs on which other jobs score */
	struct device *device;
	struct unit *unit;
	struct engine_job *unit_previous, *unit_next; /* of the unit's jobs */
	struct unit **more;                           /* further units that it holds with unit */
	size_t more_count;
	/* Of a job that waits outside of the queue. */
	struct job_held {
		struct job_list *list; /* NULL: it is in none */
		struct engine_job *previous, *next;
		size_t needs; /* devices that it needs at once, if `why` is set */
		char *why;    /* a sentence: why its device cannot serve it now; NULL: it can */
	} held;
	enum job_state state;
	enum job_phase phase;
	enum job_stop stop;
	uint64_t deadline_ms; /* on the engine's clock; 0: none */
	/* Its use of the device, on the same clock. */
	struct job_used {
		uint64_t from_ms; /* 0: the job does not use it */
		uint64_t to_ms;   /* 0: the job still uses it */
	} used;
	struct timing_stamps stamps;
	int64_t sent_utc_ms; /* about when its runner got it, also from an earlier engine; 0: not yet */
	struct plan *plan;
	const struct languages *languages; /* that made the plan; after a recovery, the current ones */
	json_t *task;
	char plan_hash[65];     /* "": its runner cannot recover it */
	bool handled;           /* the database has its handle */
	unsigned deprioritised; /* times that a unit which loses every job lost it; jobs with fewer go first */
	struct job_again {
		struct job_write *write; /* that the database could not take; only while ending */
		uint64_t at_ms;
	} again;
};

/* A write to the store for one job. It is the first member of the struct that a particular write needs. */
struct job_write {
	struct engine_job *job;
	int64_t id, attempt;
	store_op run;
	store_done done;
};

/* The load of the open jobs and the disabled units. No job starts before it is done. */
enum load_state { LOAD_NEEDED, LOAD_UNDER_WAY, LOAD_DONE };

struct engine {
	struct engine_setup setup;
	struct device *devices;
	struct engine_jobs {
		void *by_id; /* tsearch tree of engine_job */
		struct engine_job *first;
		struct engine_job *cursor; /* next job of a walk; moves on when that job is forgotten */
	} jobs;
	struct describe_request *requests; /* open ones */
	size_t in_flight;                  /* jobs that are starting, active or ending, and loads and requests under way */
	struct engine_load {
		enum load_state state;
		uint64_t again_at_ms; /* 0: not planned */
	} load;
	/* Names of jobs on remote sides. */
	struct engine_names {
		bool known;           /* since the first load */
		char prefix[16];      /* of this database */
		uint64_t epoch_at_ms; /* when the next job that starts renews the database's epoch */
	} names;
	struct engine_metrics {
		int64_t since_utc_ms;
		json_t *submissions; /* {mode: {"accepted" or a state: number}}; NULL: none */
	} metrics;
	struct engine_stop_request {
		bool begun;
		uint64_t at_ms; /* when jobs that still run are handed back */
		void (*done)(void *arg);
		void *arg;
	} stop;
	uint64_t heartbeat_ms;   /* of the last heartbeat_tick */
	uint64_t pause_until_ms; /* set when the database could not start a job */
	struct clock_timer tick;
	uv_prepare_t prepare;
	bool dirty; /* a change may let a job start */
};

/* engine/devices.c */
struct engine_job *engine_job_find(const struct engine *engine, int64_t id);
/* Calls fn for every job; fn may forget any of them. */
void engine_each_job(struct engine *engine, void (*fn)(struct engine_job *job, void *arg), void *arg);
/* Makes a job that is not queued yet; the engine owns it. */
struct engine_job *engine_job_add(
	struct engine *engine, struct device *device, int64_t id, int64_t submission, int64_t user);
/* Changes a job's state (nothing else does), and counts the jobs in flight. */
void engine_job_enter(struct engine_job *job, enum job_state state);
/* Frees a job that has left its unit and has nothing left to store. */
void engine_job_forget(struct engine_job *job);
/* Queues the job. A user's oldest job comes first, also if it was handed back or held. */
void engine_job_queue(struct engine_job *job);
/* Holds a job that is queued in the database and has `held.why`, in this list of its device instead of the queue. */
void engine_job_hold(struct engine_job *job, struct job_list *list);
void engine_progress(const struct engine_job *job, json_t *event_take);
/* Takes the configuration of the devices: keeps unchanged units, adds new ones, drains others. On an error nothing changes. */
int engine_devices_load(struct engine *engine, const json_t *devices, struct kettle_error *err);
struct device *engine_device_find(const struct engine *engine, const char *name);
/* The first healthy unit of the device with a free slot, else the first that may still build a job, or NULL. */
struct unit *engine_unit_free(const struct engine *engine, const struct device *device);
/* Whether the unit is healthy and has a free slot, or with `prefetch` may still build a job. */
bool engine_unit_has_room(const struct engine *engine, const struct unit *unit, bool prefetch);
/*
 * Makes the job's unit pause before its next job. proven: the loss does not rest on what the job's own program said,
 * which a submitter could fake. Only proven losses let the pause grow.
 */
void engine_unit_lost(const struct engine_job *job, const char *why, bool proven);
/* Counts a job that the unit's remote side does not know. True: it is one too many in a row, and so the unit's loss. */
bool engine_unit_gone(struct unit *unit);
/* Clears the losses of a unit that has brought a job to its end. */
void engine_unit_works(struct unit *unit);
/* "idle", "building", "running", "waiting", "paused", "disabled" or "removed". Static. */
const char *engine_unit_state(const struct engine *engine, const struct unit *unit);
/* The number of jobs that wait for the device, in its queue or outside of it. */
size_t engine_device_queued(const struct device *device);
void engine_devices_free(struct engine *engine);
/* Takes the time of a job that ended with a verdict of its own. */
void expected_wait_add(struct device *device, uint64_t took_ms);
/* Takes the rows of jobs_recent, for devices that have none of them yet. */
void expected_wait_load(struct engine *engine, const json_t *recent);
/* Seconds until a job with `place` jobs before it begins; -1: not known. */
int64_t expected_wait_s(const struct device *device, size_t place);
/* Seconds until a job that comes now begins. New reference; NULL: not known. */
json_t *expected_wait_next(const struct engine *engine, const struct device *device);

/* engine/attempt.c: a job on its unit */
void engine_job_start(struct engine_job *job, struct unit *unit);
/* Recovers a job that runs according to the database, or queues it again. row: of jobs_open. */
void engine_job_recover(struct engine_job *job, const json_t *row);
/* Leaves the job to its runner's remote side, where a later engine finds it. False: that is not possible. */
bool engine_job_detach(struct engine_job *job);
void engine_job_stop(struct engine_job *job, enum job_stop why);
void engine_job_overdue(struct engine_job *job);
/* Gives up a job that its runner does not complete. The attempt is lost, and may still use the unit. */
void engine_job_abandon(struct engine_job *job, const char *why);

/* Each of these takes the job from its unit, at once or when the database has it; the job may be gone afterwards. */

/* Forgets the job: it has ended, was cancelled, or is left to the next engine. */
void attempt_end_drop(struct engine_job *job);
/* Queues a job that is queued in the database. */
void attempt_end_queue(struct engine_job *job);
/* Queues the job again, or ends it with the verdict `error` if too many attempts ended for this cause (model/jobs.h). */
void attempt_end_requeue(struct engine_job *job, enum kettle_loss loss, const char *reason);
/* A ranked job was not scored, since its GPUs were unfit; ran: its steps ran. causes: of unit_fitness_judge. */
void attempt_end_unfit(struct engine_job *job, bool ran, const json_t *causes);
/* The runner lost the job: its unit pauses, and it is tried again. If the unit loses every job, no attempt is used up. */
void attempt_end_lost(struct engine_job *job, const char *why, enum kettle_loss loss);
/* Ends the job with a verdict that has no outcomes: a sentence, and whose fault it is (verdict_fault). */
void attempt_end_refuse(struct engine_job *job, const char *fault, const char *sentence);
/* Whether a run of the plan may leave files. */
bool attempt_leaves_files(const struct plan *plan);
/* Takes the runner's one completion of the job. */
void attempt_end_complete(struct engine_job *job, const struct completion *completion);

/* A zeroed struct of this size, with a job_write of this job and attempt as its first member. Free it with free(). */
void *job_write_new(struct engine_job *job, size_t size);
/* Runs the write in a transaction of its own. done gets the struct, and frees it unless job_write_defer keeps it. */
void job_write_write(struct job_write *op, store_op run, store_done done);
/* Whether a write that failed may succeed later, since its contents did not cause the error. NULL (no error): false. */
bool job_write_may_pass(const struct kettle_error *err);
/* Repeats the job's write that the database could not take. */
void engine_job_retry_writes(struct engine_job *job);

/* engine/multi_device.c: jobs that need several devices at once */
/*
 * Takes the other units for a planned job that has its first one. KETTLE_EINVAL: no machine of the device has enough;
 * KETTLE_EUNAVAIL: too few are available now, as the job's `held.why` says.
 */
int multi_device_take(struct engine_job *job, struct kettle_error *err);
/* Whether the unit is one of the job's. */
bool multi_device_uses(const struct engine_job *job, const struct unit *unit);
/* Gives the other units back. */
void multi_device_leave(struct engine_job *job);
/* Counts the job on all its units as in run steps, or no longer. */
void multi_device_run(struct engine_job *job, bool runs);
/* The section of the job's unit for the runner, with the other units under `more`. New reference. */
json_t *multi_device_section(const struct engine_job *job);
/* Queues the held jobs of the device that need not wait any longer. */
void multi_device_release(struct device *device);
/* Why the device starts no jobs now, or not the first held one. New reference; NULL: it does. */
json_t *multi_device_shortage(const struct device *device);

/* engine/unit_health.c: units that are not in order */
/* The configured unit of the device with this key; NULL: there is none. */
struct unit *engine_unit_find(const struct engine *engine, const char *device, const char *key);
/* All configured units: [{"device", "unit", "key", "section"}], a copy for the store's thread. New reference. */
json_t *engine_units_configured(const struct engine *engine);
/* Stores the unit's state, with an event. */
void unit_health_remember(struct engine *engine, const struct unit *unit, const char *reason);
/* Disables it as UNIT_GIVEN_UP. */
void unit_health_give_up(struct engine *engine, struct unit *unit, const char *why);
/* Disables or enables the unit in memory. The caller stores the state. */
void unit_health_disable(struct engine *engine, struct unit *unit, enum unit_cause cause, const char *why);
void unit_health_ready(struct engine *engine, struct unit *unit, bool operator, const char * why);
/* Pauses a unit on which, its runner says, no job can run until the operator changes something. Tells admins once. */
void unit_health_unusable(struct engine *engine, struct unit *unit, const char *why);
/*
 * The obstacle of a unit that only an operator, or time, removes: {"unit", "cause": "unreachable" or "operator",
 * "since", "error"}. NULL: none. New reference.
 */
json_t *unit_health_obstacle(const struct unit *unit);
/* The obstacle as a sentence: "H100.0 has been out of reach since 2026-07-01 21:04 UTC: connection refused". New string, or NULL. */
char *unit_health_sentence(const struct unit *unit);
/* The first unit with an obstacle, if every unit of the device has one or is disabled; else NULL. */
const struct unit *unit_health_blocking(const struct device *device);
/* A job runs on its unit: the unit is usable again, if the job began after the runner said that it is not. */
void unit_health_usable(const struct engine_job *job);
/* Takes the stored state of units, the rows of settings_units_match. */
void unit_health_load(struct engine *engine, const json_t *rows);
/* Judges the GPUs of the job's units by a completion. */
void unit_health_judge(struct engine_job *job, const struct completion *completion);
void unit_health_tick(struct engine *engine);
/*
 * Has the unit's machine described, and takes from that whether its GPUs are fit to score. done comes once, with the
 * reason if it is not in order, unless this fails. idle: no job and no command
 * waits for the answer.
 */
int unit_health_test(
	struct engine *engine, struct unit *unit, bool idle, engine_test_done done, void *arg, struct kettle_error *err);
/*
 * Requests the facts of a unit that has none, or not of all its GPUs. True: done is called, maybe before this returns,
 * and the unit must stay until then. late: a sentence if the machine did not answer in time, else NULL. A unit of
 * another model than its device's becomes disabled. Requests the facts of the device's other units as well, once; no
 * job waits for them.
 */
bool unit_health_fetch_facts(
	struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg);

/* engine/unit_fitness.c: units whose GPUs are unfit to score */
/* A sentence part for causes, "its GPU is not fit to score: heat slows its clocks". New string. */
char *unit_fitness_why(const json_t *causes);
/* Takes the causes for which the unit does not score; NULL or empty: it does. Tells admins of a change. */
void unit_fitness_take(struct engine *engine, struct unit *unit, const json_t *causes);
/*
 * Takes what the completion of a ranked job says of its units. Returns the causes for which its times are no scores, an
 * array; empty: they are, or it is not ranked. New reference.
 */
json_t *unit_fitness_judge(struct engine_job *job, const struct completion *completion);
/* {"unit", "cause": "unfit", "since", "causes", "error": sentence}; NULL: it is fit. New reference. */
json_t *unit_fitness_describe(const struct unit *unit);
/* Whether the queued job may start on the unfit unit: to run, or to end because it has waited too long. */
bool unit_fitness_allows(const struct unit *unit, const struct engine_job *job);
/* Whether the queue may have a job that may start on the unfit unit. Costs no search of the queue. */
bool unit_fitness_may_allow(const struct engine *engine, const struct unit *unit);
/* Notes when the last unit in order that was fit became unfit. */
void unit_fitness_note_wait(const struct engine *engine, struct device *device);
/* Whether the job has waited for ENGINE_UNFIT_MAX_MS, and still waits, only because units are unfit. */
bool unit_fitness_waits_long(const struct engine_job *job);
/*
 * Whether the score of a job counts although its GPUs were unfit for these causes: it heated them ENGINE_UNFIT_RUNS
 * times before, and other jobs score there. Else counts this run.
 */
bool unit_fitness_stands(struct engine_job *job, const json_t *causes);
/* Whether a ranked job that has started may run on the unit; it is the trial of one that is unfit. */
bool unit_fitness_runs(struct unit *unit);
/* The first unit that is unfit for this job, if no unit in order is fit for it; else NULL. */
const struct unit *unit_fitness_blocking(const struct engine_job *job);
/* Takes from the greeting of an unfit unit's machine whether it is fit now. */
void unit_fitness_greeted(struct engine *engine, struct unit *unit, const json_t *greeting);
void unit_fitness_tick(struct engine *engine);

/* engine/budget.c: device seconds a day */
/* Takes the rows of device_usage_today. */
void budget_load(struct engine *engine, const json_t *rows);
/* Counts the device time of an attempt that is still on its unit. */
void budget_count(struct engine_job *job, const struct completion *completion);
void budget_tick(struct engine *engine);
/* Queues the jobs that wait for their user's share, such as after a change of the budget. */
void budget_release(struct engine *engine, struct device *device);
/* Whether no job may start on the device today. */
bool budget_is_spent(const struct device *device);
/* The reason as a sentence; NULL: jobs may start. New reference. */
json_t *budget_reason(const struct device *device);
/* Holds a job that was taken from the queue if its user has used up the share of the day. True: it is held. */
bool budget_holds(struct engine_job *job);
/* The budget with "used_s" and "left_s"; NULL: there is none. New reference. */
json_t *budget_describe(const struct device *device);

/* engine/unit_model.c: machines that the remote side chooses */
/* The `expect` of a run line for this unit (unit_expect). New reference; NULL: nothing. */
json_t *unit_model_expect(const struct unit *unit);
/*
 * Checks the machine that a completion reports (`system`), and learns the model of later ones from it. EUNAVAIL: it is
 * another model than the unit's.
 */
int unit_model_check(struct engine *engine, struct unit *unit, const json_t *system, struct kettle_error *err);
/* Takes the learned model from a row of settings_units. */
void unit_model_load(struct unit *unit, const json_t *row);

/* engine/metrics.c: figures for monitoring */
/* Counts a stored event. */
void metrics_event(struct engine *engine, const struct event *event);
/* Counts a verdict that was stored. */
void metrics_verdict(const struct engine_job *job, const struct verdict *verdict);

/* engine/heartbeat.c: units whose kettle-exec hangs */
/* Sends heartbeats to units that have jobs or are silent, and quarantines units that do not answer. */
void heartbeat_tick(struct engine *engine);

/* engine/engine.c */
/* Starts all jobs that can start. Other files set `dirty` instead, and the loop runs this before it waits. */
void engine_schedule(struct engine *engine);
