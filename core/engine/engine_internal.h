/* SPDX-License-Identifier: MIT */
/* What the files of the engine share. */
#ifndef KETTLE_ENGINE_ENGINE_INTERNAL_H
#define KETTLE_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/fair_queue.h"
#include "judge/plan.h"
#include "judge/timing.h"
#include "model/jobs.h"
#include "model/settings.h"

#include <kettle/error.h>

/* Time a runner gets, beyond the limits of the steps, to build, transfer and answer. */
#define ENGINE_SLACK_MS 120000
/* What the slowest connection must carry of what a machine says it sends, and the most that it may say. */
#define ENGINE_SENDING_BYTES_A_SECOND 65536
#define ENGINE_SENDING_MAX_BYTES (INT64_C(2) << 30)
/* Time a cancelled job gets to complete before its unit is disabled. */
#define ENGINE_CANCEL_MS 30000
/* Time a runner gets to say what a unit's machine is. */
#define ENGINE_DESCRIBE_MS 60000
/* A unit that lost jobs pauses this long, doubled for each time in a row, at most ENGINE_PAUSE_MAX_MS. */
#define ENGINE_PAUSE_MS 250
#define ENGINE_PAUSE_MAX_MS 60000
/* After so many losses in a row it gets one job at a time; after so many what it loses uses up no job's attempt. */
#define ENGINE_LOSSES_ONE 2
#define ENGINE_LOSSES_SPARE 3
/* So many jobs in a row of which the remote side knows nothing are no longer their own fault: the unit loses the next one. */
#define ENGINE_GONE_MAX 3
#define ENGINE_TICK_MS 250
/* Of so many of the last jobs of a device the time that they took is known. */
#define ENGINE_RECENT 15
/* So many faults of its GPUs in a row disable a unit; then it is tried so often. */
#define ENGINE_FAULTS_MAX 2
#define ENGINE_TEST_MS 60000
/* So long after an answer the next heartbeat goes out; an answer that takes longer is logged, or disables the unit. */
#define ENGINE_HEARTBEAT_MS 1000
#define ENGINE_HEARTBEAT_LATE_MS 1000
#define ENGINE_HEARTBEAT_SILENT_MS 30000
/* What the database could not take is tried again after this time, and nothing new is started before. */
#define ENGINE_STORE_RETRY_MS 1000
#define ENGINE_LOOK_AGAIN_MS 60000 /* for jobs away that their runner cannot look for */

/* Named states, in the order of the picture in engine.h. */
enum job_state { JOB_QUEUED, JOB_STARTING, JOB_ACTIVE, JOB_ENDING };
/* SENDING: it runs no more, and its machine sends what it has left. */
enum job_phase { PHASE_BUILDING, PHASE_WAITING, PHASE_RUNNING, PHASE_SENDING };
/* Why a job is being stopped. UNREACHED: its time has passed, and its remote side cannot be reached. */
enum job_stop { STOP_NO, STOP_CANCEL, STOP_HAND_BACK, STOP_DEADLINE, STOP_UNREACHED };

/* Whether a unit serves jobs, by what matters first. A unit that is not usable or not reached gets one job at a time. */
enum unit_condition { CONDITION_REMOVED, CONDITION_DISABLED, CONDITION_UNUSABLE, CONDITION_AWAY, CONDITION_IN_ORDER };

/* What a unit's jobs wait for, as its runner has said. */
struct unit_obstacle {
	uint64_t said_ns;     /* when it last did; 0: that is over */
	int64_t since_utc_ms; /* the first time in a row, also before a restart; 0: none */
	char why[500];
};

struct unit {
	struct unit *next;
	struct device *device;
	const struct runner *runner;
	json_t *config; /* with name and unit */
	json_t *gpus;   /* unit_gpus of it */
	char label[96]; /* "CPU.0": people's name of it, by its place in the configuration */
	char *key;      /* unit_key, and " #2" where it is the second one of its device with it: the store's name of it */
	unsigned slots, prefetch;
	unsigned active;  /* jobs from starting to ending */
	unsigned running; /* of these, in run steps */
	bool removed;     /* no longer configured: drained */
	struct unit_disabled {
		enum unit_cause cause; /* UNIT_ENABLED: it is not */
		char why[256];         /* for people, where it is */
		unsigned faults;       /* of its GPUs, in a row */
		bool testing;
		uint64_t test_at_ms; /* when next */
	} disabled;
	struct unit_losses {
		unsigned count;   /* in a row */
		unsigned unknown; /* jobs in a row of which its remote side knew nothing */
		char why[500];    /* the last job */
	} losses;
	uint64_t pause_until_ms;
	struct unit_obstacle obstacles[UNIT_WAITS];
	struct unit_heartbeat {
		struct heartbeat *open; /* NULL: none is under way */
		uint64_t next_ms;
	} heartbeat;
	/* What is known of its machine (unit_health.c, unit_model.c). */
	struct unit_machine {
		json_t *facts;       /* what lasts of unit_facts.h; NULL: not known (yet) */
		bool lacks_gpu;      /* a GPU did not answer then, so the next job asks again */
		bool requested;      /* the facts, once: other units of the device do not request them again */
		unsigned requests;   /* open requests; it is not freed before their answers */
		char *identity;      /* unit_identity, where it is known and differs from the key; NULL: it is not */
		char *learned;       /* the model that its first completion named; NULL: none yet */
		json_t *calibration; /* as it was stored when the last job began (calibration.h); JSON null or NULL: none */
		bool changed;        /* it is not the calibration's; said once */
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

/* Jobs beside the queue of their device, in the order in which they came. */
struct job_list {
	struct engine_job *first, *last;
	size_t count;
};

struct device {
	struct device *next;
	char *name;
	struct unit *units;
	struct fair_queue *queue;
	struct job_list awaiting_units; /* that wait, outside of the queue, until enough of its units are in order */
	struct device_recent {
		uint64_t ms[ENGINE_RECENT]; /* what its last jobs took, from their start to their end; in turns */
		size_t count;               /* how many have been put there */
		bool loaded;                /* those of before this engine are there */
	} recent;
	struct device_budget {
		json_t *limits;          /* of the configuration; NULL: none */
		json_t *used;            /* on `day`: {user: ms}, "0": all together */
		int64_t day;             /* since 1970 */
		struct job_list waiting; /* of users who have used their share, outside of the queue until the next day */
	} budget;
	struct device_plan {
		json_t *task, *steps; /* NULL: none yet */
	} last_plan;              /* which the next one shares */
};

/* An open heartbeat request; the answer frees it, and may never come. */
struct heartbeat {
	struct engine *engine;
	struct unit *unit; /* NULL: it has gone */
	uint64_t waited_ms;
};

/*
 * A request to a runner to describe the machine of a unit. The callback may run before the answer comes; the answer may
 * never come.
 */
struct describe_request {
	struct engine *engine; /* NULL: the caller has its answer */
	/* late: the machine did not answer in time; err says so. Called once. */
	void (*on_answer)(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late);
	uint64_t deadline_ms;
	bool idle; /* nothing waits for it: an engine that stops gives it up at once */
	struct describe_request *next;
};

struct engine_job {
	struct fair_queue_item item; /* first: a queue item is its job */
	struct inflight_job inflight;
	struct engine *engine;
	struct engine_job *previous, *next;
	int64_t id, submission, user, attempt;
	struct device *device;
	struct unit *unit;
	struct unit **more; /* that it has at once with unit */
	size_t more_count;
	/* Outside of the queue. */
	struct job_held {
		struct job_list *list; /* NULL: it is not */
		struct engine_job *previous, *next;
		size_t needs; /* devices at once, where `why` is set */
		char *why;    /* why its device cannot serve it now, a sentence; NULL: it is as any other */
	} held;
	enum job_state state;
	enum job_phase phase;
	enum job_stop stop;
	uint64_t deadline_ms; /* on the engine's clock; 0: none */
	/* Its device, on the same clock. */
	struct job_used {
		uint64_t from_ms; /* 0: it does not use it */
		uint64_t to_ms;   /* 0: until now */
	} used;
	struct timing_stamps stamps;
	int64_t sent_utc_ms; /* about when its runner got it, from an engine before this one if need be; 0: it has not */
	struct plan *plan;
	const struct languages *languages; /* that it was planned with; a recovered job has those that there are */
	json_t *task;
	char plan_hash[65];     /* "": its runner can find nothing again */
	bool handled;           /* the database has its handle */
	unsigned deprioritised; /* how often a unit that loses every job lost it; jobs with fewer go first */
	struct job_again {
		struct job_write *write; /* what the database could not take; only while ending */
		uint64_t at_ms;
	} again;
};

/* The store's work for one job; the first member of what that needs and brings. */
struct job_write {
	struct engine_job *job;
	int64_t id, attempt;
	store_op run;
	store_done done;
};

/* The open jobs and the disabled units: no job starts before they are loaded. */
enum load_state { LOAD_NEEDED, LOAD_UNDER_WAY, LOAD_DONE };

struct engine {
	struct engine_setup setup;
	struct device *devices;
	struct engine_jobs {
		void *by_id; /* tsearch tree of engine_job */
		struct engine_job *first;
		struct engine_job *cursor; /* next one of a walk; moves on when that job is forgotten */
	} jobs;
	struct describe_request *requests; /* that are open */
	size_t in_flight;                  /* jobs that are starting, active or ending, a load and requests under way */
	struct engine_load {
		enum load_state state;
		uint64_t again_at_ms; /* 0: not planned */
	} load;
	/* On remote sides. */
	struct engine_names {
		bool known;           /* since the first load */
		char prefix[16];      /* this database's own */
		uint64_t epoch_at_ms; /* from then on the next job that starts needs a new epoch of the database */
	} names;
	struct engine_stop_request {
		bool begun;
		uint64_t at_ms; /* what still runs then is handed back */
		void (*done)(void *arg);
		void *arg;
	} stop;
	uint64_t heartbeat_ms;   /* when heartbeats were looked at last */
	uint64_t pause_until_ms; /* the database could not start a job */
	struct clock_timer tick;
	uv_prepare_t prepare;
	bool dirty; /* something changed that may let a job start */
};

/* engine/devices.c */
struct engine_job *engine_job_find(const struct engine *engine, int64_t id);
/* Calls fn for every job; fn may forget any of them. */
void engine_each_job(struct engine *engine, void (*fn)(struct engine_job *job, void *arg), void *arg);
/* A new one, not queued yet. */
struct engine_job *engine_job_add(
	struct engine *engine, struct device *device, int64_t id, int64_t submission, int64_t user);
/* The one place where a job's state changes. It counts the jobs in flight. */
void engine_job_enter(struct engine_job *job, enum job_state state);
/* It has left its unit, and the database has what there was to store. */
void engine_job_forget(struct engine_job *job);
/* Of its user's jobs the oldest comes first, also where it was handed back or held. */
void engine_job_queue(struct engine_job *job);
/* Keeps a job that is queued in the database and has `held.why` out of the queue, in this list of its device. */
void engine_job_hold(struct engine_job *job, struct job_list *list);
void engine_progress(const struct engine_job *job, json_t *event_take);
/*
 * Makes the devices what the configuration says: units that stay the same stay as they are, others come, the rest is
 * drained. On an error nothing is changed.
 */
int engine_devices_load(struct engine *engine, const json_t *devices, struct kettle_error *err);
struct device *engine_device_find(const struct engine *engine, const char *name);
/* The first healthy unit of the device with a free slot, else the first that may still build a job, or NULL. */
struct unit *engine_unit_free(const struct engine *engine, const struct device *device);
/*
 * The unit of the job pauses before it gets another job. `proven`: not by what the job's own program has said, which a submitter
 * could fake; only then the pause grows from one loss to the next.
 */
void engine_unit_lost(const struct engine_job *job, const char *why, bool proven);
/* Its remote side knows nothing of a job: true where that is the unit's fault, since it is not the first one. */
bool engine_unit_gone(struct unit *unit);
/* It has brought a job to its end. */
void engine_unit_works(struct unit *unit);
void engine_devices_free(struct engine *engine);
/* A job of the device has ended with a verdict of its own. */
void expected_wait_add(struct device *device, uint64_t took_ms);
/* jobs_recent's, for the devices that have none of them yet. */
void expected_wait_load(struct engine *engine, const json_t *recent);
/* Seconds until a job begins that has so many before it; -1: not known. */
int64_t expected_wait_s(const struct device *device, size_t place);
/* Those of a job that comes now. New reference; NULL: not known. */
json_t *expected_wait_next(const struct engine *engine, const struct device *device);

/* engine/attempt.c: a job on its unit */
void engine_job_start(struct engine_job *job, struct unit *unit);
/* Found running in the database: asks its runner, else queues it again. row: of jobs_open. */
void engine_job_recover(struct engine_job *job, const json_t *row);
/* Leaves the job to its runner's remote side, where an engine finds it again. False: that is not possible. */
bool engine_job_detach(struct engine_job *job);
void engine_job_stop(struct engine_job *job, enum job_stop why);
void engine_job_overdue(struct engine_job *job);
/* Its runner will not complete it, or no longer counts: the attempt is lost, and its unit may still be in use by it. */
void engine_job_abandon(struct engine_job *job, const char *why);

/* engine/attempt_end.c: a verdict, another attempt, or neither */
/* Each of these takes the job from its unit, at once or when the database has it; the job may be gone afterwards. */

/* No caller waits for it, or the next engine will find it. */
void attempt_end_drop(struct engine_job *job);
/* Back to its queue here, where it is queued in the database. */
void attempt_end_queue(struct engine_job *job);
/* Back to the queue, or to the verdict `error` when as many attempts ended for this cause as may (model/jobs.h). */
void attempt_end_requeue(struct engine_job *job, enum kettle_loss loss, const char *reason);
/* The machine's fault: the unit rests a little, and the job is tried again. `proven` as in engine_unit_lost. */
void attempt_end_retry(struct engine_job *job, const char *why, bool proven);
/* Its runner has lost it: as attempt_end_retry, but where the unit loses everything no attempt of the job is used up. */
void attempt_end_lost(struct engine_job *job, const char *why, enum kettle_loss loss);
/* A verdict without any outcome: this sentence, and whose fault it is (verdict_fault). */
void attempt_end_refuse(struct engine_job *job, const char *fault, const char *sentence);
/* Whether a run of the plan may leave files. */
bool attempt_leaves_files(const struct plan *plan);
/* The runner's one completion. */
void attempt_end_complete(struct engine_job *job, const struct completion *completion);

/* What the store does for one job. */
/* Of this job and its attempt: zeros of this size, whose first member is a job_write. For free. */
void *job_write_new(struct engine_job *job, size_t size);
/* In a transaction of its own; done gets the op, and frees it unless job_write_defer took it. */
void job_write_write(struct job_write *op, store_op run, store_done done);
/*
 * Whether the database may take it at another time: it could not, and not because of what it was given. NULL: it could.
 */
bool job_write_may_pass(const struct kettle_error *err);
/* Once more what the database could not take. */
void engine_job_retry_writes(struct engine_job *job);

/* engine/multi_device.c: jobs that need several devices at once */
/*
 * The job is planned and has its first unit: takes the others. KETTLE_EINVAL: its device never has so many on one
 * machine; KETTLE_EUNAVAIL: it has too few now, and the job's `held.why` says so.
 */
int multi_device_take(struct engine_job *job, struct kettle_error *err);
/* Gives them back, in whatever phase it is. */
void multi_device_leave(struct engine_job *job);
/* It begins to be, or ends being, in run steps. */
void multi_device_run(struct engine_job *job, bool runs);
/* The section of its unit for the runner, with the others under `more`. New reference. */
json_t *multi_device_section(const struct engine_job *job);
/* Queues those of the device that need not wait any more. */
void multi_device_release(struct device *device);
/* Why the device starts no job now, or not the first held one. New string, NULL: it does. */
json_t *multi_device_shortage(const struct device *device);

/* engine/unit_health.c: units that are not in order */
/* The unit of the device with this key, in force; NULL: there is none. */
struct unit *engine_unit_find(const struct engine *engine, const char *device, const char *key);
/* All units in force: [{"device", "unit", "key", "section"}], a copy for the store's thread. New reference. */
json_t *engine_units_configured(const struct engine *engine);
/* What lasts of it, in the database and as an event. */
void unit_health_remember(struct engine *engine, const struct unit *unit, const char *reason);
/* Disables it as UNIT_GIVEN_UP. */
void unit_health_give_up(struct engine *engine, struct unit *unit, const char *why);
/* In memory; the caller stores what must last. */
void unit_health_disable(struct engine *engine, struct unit *unit, enum unit_cause cause, const char *why);
void unit_health_ready(struct engine *engine, struct unit *unit, const char *why);
/* Its runner says that no job can run there before its operator has changed something: it pauses, and admins are told once. */
void unit_health_unusable(struct engine *engine, struct unit *unit, const char *why);
/*
 * What its jobs wait for that only an operator, or time, mends: {"unit", "cause": "unreachable" or "operator", "since", "error"}; NULL:
 * nothing. New reference.
 */
json_t *unit_health_obstacle(const struct unit *unit);
/* The same as a sentence: "H100.0 cannot be reached since 21:04 UTC: connection refused". New string, or NULL. */
char *unit_health_sentence(const struct unit *unit);
/* That of a device whose every unit has one, or is disabled: of the first. NULL: some unit may serve jobs. */
const struct unit *unit_health_blocking(const struct device *device);
/* A job runs on its unit: that has been mended, if the job began after it was said. */
void unit_health_usable(const struct engine_job *job);
/* What settings_units_match remembers. */
void unit_health_load(struct engine *engine, const json_t *rows);
/* Takes what a completion says of the GPUs of the job's units. */
void unit_health_judge(struct engine_job *job, const struct completion *completion);
void unit_health_tick(struct engine *engine);
/*
 * Asks for the facts of a unit that are not known yet, or not of all its GPUs. True: done comes, perhaps already; the unit must
 * stay. late: a sentence, where the machine did not answer in time; NULL: go on. A unit of another model than its device's is
 * disabled then. The other units of the device are described once, too; no job waits for them.
 */
bool unit_health_fetch_facts(
	struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg);

/* engine/budget.c: device seconds a day */
/* What is stored of today (device_usage_today). */
void budget_load(struct engine *engine, const json_t *rows);
/* Counts what an attempt has used; it is still on its unit. */
void budget_count(struct engine_job *job, const struct completion *completion);
void budget_tick(struct engine *engine);
/* Queues the jobs again that wait for their user's share, as where the budget is another one. */
void budget_release(struct engine *engine, struct device *device);
/* Whether no job may start on it today. */
bool budget_is_spent(const struct device *device);
/* The sentence on that; NULL: jobs may start. New reference. */
json_t *budget_reason(const struct device *device);
/* Keeps a job that has left its queue beside it, where its user has used the share of the day. */
bool budget_holds(struct engine_job *job);
/* The budget with "used_s" and "left_s"; NULL: there is none. New reference. */
json_t *budget_describe(const struct device *device);

/* engine/unit_model.c: machines that the remote side chooses */
/* What a run line says under `expect` of a job on this unit (unit_expect). New reference; NULL: nothing. */
json_t *unit_model_expect(const struct unit *unit);
/*
 * Takes what a completion says of its machine (`system`), and learns from it what later ones must be. EUNAVAIL: it is
 * another model than the unit's.
 */
int unit_model_check(struct engine *engine, struct unit *unit, const json_t *system, struct kettle_error *err);
/* What the database remembers, a row of settings_units. */
void unit_model_load(struct unit *unit, const json_t *row);

/* engine/heartbeat.c: units whose kettle-exec hangs */
/* Asks the units that have jobs or are silent, and judges those that owe an answer. */
void heartbeat_tick(struct engine *engine);

/* engine/engine.c */
/* Starts what may start. The files below set `dirty` instead, and it runs before the loop waits again. */
void engine_schedule(struct engine *engine);

#endif
