/* SPDX-License-Identifier: MIT */
/* A job, its steps and their processes, as the files of this folder see them. */
#ifndef KETTLE_EXEC_JOB_JOB_INTERNAL_H
#define KETTLE_EXEC_JOB_JOB_INTERNAL_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "exec/build/build.h"
#include "exec/context/exec_context.h"
#include "exec/machine/machine.h"
#include "exec/plan/plan.h"
#include "exec/plan/result.h"
#include "exec/tools/tools.h"
#include "exec/util/capture.h"
#include "exec/util/collect_outputs.h"
#include "exec/util/strings.h"
#include "exec/util/work.h"
#include "exec/warm/warm.h"
#include "sandbox/sandbox.h"

struct job;
struct step;

/* ---- run_line.c: what a job runs, and where ---- */

#define JOB_MAX_SLOTS 64
#define JOB_MAX_MODEL 400  /* bytes of the name of a GPU or a processor that is expected */
#define JOB_MAX_DEVICES 64 /* of a unit and those that it is given together with */

/* What one lock is for, and what a step that needs one device gets. */
struct device_slot {
	char *gpu; /* index or UUID; NULL: none */
	struct cores cores;
	unsigned slots;
	char *lock;
};

/* Where a job runs: the checked `unit` of its run line. */
struct unit {
	const char *name; /* borrowed from the line, or "local" */
	enum sandbox_level level;
	uint64_t memory;             /* of a run whose plan names none, for each device that it needs */
	struct device_slot *devices; /* at least one */
	size_t count;
};

/* A run line; docs/protocol.md says what the members mean. */
struct run_line {
	json_t *object;    /* owns the strings, and what the plan refers to */
	const char *job;   /* the name by which events call the job */
	const char *spool; /* where artifacts go; NULL: below the job's own folder */
	const char *blobs; /* searched before STATE/blobs; NULL: only that */
	bool keep;         /* what its steps saw stays, for a person to look at */
	bool send;         /* artifacts are sent as events, before `done` */
	struct plan plan;
	struct unit unit;
};

/* Reads `job` alone (EINVAL: there is none). The result is closed with run_line_close, also after a failure. */
int run_line_open(json_t *object_take, struct run_line *ret_line, struct kettle_error *err);
/*
 * Reads the rest and checks that this machine can carry it out: its cores are here. KETTLE_EINVAL, KETTLE_ETOOBIG or
 * KETTLE_EUNAVAIL with the sentence.
 */
int run_line_read(const struct exec_context *exec, struct run_line *line, struct kettle_error *err);
void run_line_close(struct run_line *line);

/*
 * Compares `expect` of the line's unit, after run_line_read, with the processor and the unit's GPUs, or all GPUs where it names
 * none, and the unit's sandbox level with what this machine offers. EUNAVAIL and *ret_fits false: the unit needs another one;
 * EINVAL: `expect` is malformed.
 */
int expected_machine_check(
	const struct exec_context *exec, const struct run_line *line, bool *ret_fits, struct kettle_error *err);

/* ---- device_lease.c: the lease of a job's devices ---- */

/*
 * In this order: no step needs them yet; a step waits for the locks; work checks them, for which the job stays; steps run; work
 * checks them once more, likewise; the locks were given back.
 */
enum lease_state { LEASE_UNWANTED, LEASE_LOCKING, LEASE_CHECKING, LEASE_READY, LEASE_CHECKING_AGAIN, LEASE_RETURNED };

/* Zero-initialise. Loop thread; while work checks them, watch and found_* belong to its thread. */
struct device_lease {
	size_t need; /* device slots of the unit that the job's steps use at most */
	struct devlock *locks;
	size_t count, held; /* locks; those that are held */
	const char **names; /* of locks, in the order in which every job takes them; borrowed of the unit */
	unsigned *slots;    /* of locks */
	enum lease_state state;
	struct kettle_error error; /* code 0, or why the devices cannot be used */
	uint64_t wanted_ns;
	struct gpuwatch watch;
	json_t *reading; /* the newest */
	json_t *faults;  /* GPU → sentence, of the last look; NULL: there was none */
	json_t *found_reading, *found_faults;
	struct work work;
};

/* After the job's steps are known: what it needs, and whether its unit has that (KETTLE_EUNAVAIL). */
int device_lease_open(struct job *job, struct kettle_error *err);
/*
 * Takes the devices for a step. 1: they are held (lease.error may say why they cannot be used); 0: job->devices_held is
 * called later; or a code.
 */
int device_lease_request(struct job *job, struct kettle_error *err);
/* No step needs the devices any more: checks and releases them. job->advance is called afterwards. */
void device_lease_release(struct job *job);
/* Stores the descriptors of the held locks, for init; returns how many (at most JOB_MAX_DEVICES). */
size_t device_lease_descriptors(const struct job *job, int *ret_fds);
/* {"checked": [gpu], "faults": {gpu: sentence}}, NULL: nothing was checked. New reference. */
json_t *device_lease_report(const struct job *job);
void device_lease_close(struct job *job);

/* ---- process.c: one sandboxed process on the loop, its output drained, its time kept, its end awaited ---- */

#define PROCESS_LOST_MS 10000 /* a process that survives its kill for so long makes the machine unusable */
#define PROCESS_MAX_FDS 8

/* One descriptor that is read until its end. */
struct process_drain {
	struct process *process;
	uv_poll_t poll;
	int fd;
	bool polled;
};
enum process_stream { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_RESULT, PROCESS_STREAMS };

struct process_config {
	struct sandbox_config sandbox; /* fds: those besides 0, 1, 2 and the result channel */
	uint64_t wall_ns;              /* with a nice value again where all else leaves its cores no time for it */
	uint64_t output_limit;
	struct result *result; /* NULL: no result channel (STEP_FD_RESULT); borrowed until the end */
};

/* All on the loop thread. Zero-initialise; it must stay where it is until `ended` was called. */
struct process {
	struct sandbox *sandbox;      /* after the end: for its out folder, until process_close */
	struct sandbox_report report; /* after the end */
	struct capture output[2];     /* stdout, stderr */
	struct result *result;
	struct work reader;     /* of the result channel */
	struct buf result_data; /* what it read and the loop has not taken */
	bool result_ended, last;
	struct kettle_error error; /* code 0, or why it could not be started or followed */
	bool killed, ending;
	enum sandbox_limit limit; /* what it was killed for by this process */
	struct process_drain drains[PROCESS_STREAMS];
	uv_poll_t pid;
	uv_timer_t wall, lost;
	struct cores yields; /* on these cores to all else; empty: to nothing */
	uint64_t idle_ticks; /* theirs when its time began */
	unsigned extensions; /* of its time, so far */
	unsigned handles;
	void (*on_lost)(void *arg); /* it was killed and did not die in time; `ended` may still come */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts it. Whatever happens, `ended` is called once, later, and nothing of it runs any more then. */
void process_start(struct process *process, uv_loop_t *loop, const struct process_config *config,
	void (*ended)(void *arg), void (*on_lost)(void *arg), void *arg);
/* Kills it; the first reason counts. Does nothing once it has ended. */
void process_kill(struct process *process, enum sandbox_limit limit);
/* After the end: frees everything. */
void process_close(struct process *process);

/* ---- jit.c: what compilers keep in the runs of a job ---- */

#define JIT_LAYERS 5 /* of one job's runs, at most; what later ones leave is not kept */

/* Of a job. Its run steps, one after the other, use it on their threads of work. */
struct jit_cache {
	bool looked;               /* for what is kept under its key */
	char *device;              /* the models of the job's GPUs */
	char key[DIGEST_HEX_SIZE]; /* empty: this job's alone */
	const char *owner;
	struct jit_cache_layer layers[JIT_LAYERS]; /* the oldest first */
	size_t count;
	bool grown;    /* a run of this job added one */
	bool trim;     /* the cache, now that it was stored */
	char *trouble; /* why this machine could not store it; NULL: it could */
};

/* Before anything of a job runs, on the loop thread. */
void jit_open(struct job *job);
/* Whether the step has such a cache. */
bool jit_is_used(const struct step *step);
/* Whether an input lies where the cache of the step does: then it is a layer of it. */
bool jit_is_input(const struct step *step, const char *path);
/* Brings what is kept of earlier jobs, once for each job. On a thread of work. */
void jit_prepare(struct step *step);
/* What the cache of a step begins with; borrowed until the step ends. Loop thread. */
void jit_describe(struct step *step, struct sandbox_cache *ret_cache);
/* Takes over what a step that has ended left: step->jit.left, step->jit.trouble. On a thread of work. */
void jit_take(struct step *step);
/*
 * Keeps what the runs of an ended job left under its key, so that a job that follows its `done` finds it. jit_trim must
 * follow. On a thread of work.
 */
void jit_store(struct job *job);
/* Makes room in the cache. On a thread of work. */
void jit_trim(struct job *job);
void jit_close(struct jit_cache *cache);
/* Says once why the runs go on without; NULL: there is nothing to say. Loop thread. */
void jit_tell(struct exec_context *exec, const char *trouble);

/* ---- budget.c: what the steps of a job may report and leave together ---- */

#define BUDGET_BYTES (UINT64_C(12) << 20) /* of the text of all outcomes: half as much again as a verdict keeps */
#define BUDGET_VALUES UINT64_C(200000)    /* in them: ten results with all keys that one may have */
#define BUDGET_EVENTS (UINT64_C(4) << 20) /* bytes of all result events */
#define BUDGET_FILES 2000                 /* artifacts, folders included */

/* Of a job: what is left. Loop thread. */
struct budget {
	uint64_t bytes, values, events, files;
	uint64_t disk; /* bytes of artifacts; what a step that ends may still take is not in it meanwhile */
};

void budget_open(struct budget *budget, uint64_t disk);
/* Whether the result of a step fits; otherwise it is emptied and void. Before the outcome is made. */
bool budget_take_result(struct budget *budget, struct result *result);
/* Takes an outcome into account. What does not fit is cut, and named in `cut`. */
void budget_take_outcome(struct budget *budget, json_t *outcome);
/* Whether a result event of so many bytes may be sent. */
bool budget_take_event(struct budget *budget, size_t size);
/*
 * Sets aside what a step may leave as artifacts (step->artifacts.bytes_left): no more than its limit, and what its job and its owner's jobs
 * have left.
 */
void budget_reserve(struct step *step);
/* Gives back what it did not leave. */
void budget_return(struct step *step);

/* ---- shared.c: what Kettle makes once for all jobs, such as torch's header, precompiled ---- */

struct step_process;

#define SHARED_KEEP_FREE (UINT64_C(4) << 30) /* of the disk, beside what is made */

/* Whether a job takes part. Loop thread. */
bool shared_is_used(const struct job *job);
/* The cache of a step. [any] */
const struct cache *shared_cache(const struct step *step);
/* Whether an input is missing since what all share is not made yet. [any] */
bool shared_is_missing(const struct job *job, const struct plan_input *input);
/*
 * Whether the input is made for all jobs and too large for the copy of its folder that a prepare step works in: that sees
 * it by a mount.
 */
bool shared_is_shown(const struct step *step, const struct plan_input *input);
/* Adds, for each such input, the path of the machine and that in the sandbox. */
void shared_list(const struct step_process *process, struct strings *paths);
/* The run line of a job that makes what this one, which has ended, did without; NULL: there is nothing to make. */
json_t *shared_make_line(const struct job *job);
/* Says what such a job could not make. */
void shared_tell(const struct job *job);

/* ---- artifacts, as events ---- */

#define SEND_PIECE (192u << 10)   /* bytes of a file in one event: 256 KiB as base64 */
#define SEND_QUEUE (1u << 20)     /* bytes that the reader has still to take, above which no further piece is read */
#define SEND_MAX_BYTES (1u << 30) /* of all artifacts of a job */
#define SEND_SAID (1u << 20)      /* bytes of events; more is said before, since a slow connection needs time for it */

/* Of a job that has ended. Loop thread; while it reads, of the thread of the work. */
struct sender {
	bool sending, waiting, reading; /* it has begun and not ended; it waits for the reader; a piece is being read */
	size_t step, file;              /* where it is: of the job's steps, of that one's artifacts */
	int fd;                         /* -1: the file is not open yet */
	uint64_t offset, bytes;         /* in the file; of all files begun */
	char *piece;
	size_t length;
	int error; /* errno */
	struct work work;
	void (*done)(void *job);
};

/* ---- the job ---- */

/* Its steps begin; they were stopped; all have ended, and its folder is being removed. */
enum job_stage { JOB_RUNNING, JOB_STOPPED, JOB_FINISHED };
/* How it ends; lost: this machine cannot be used any more, or could not take it. */
enum job_status { JOB_DONE, JOB_CANCELLED, JOB_LOST };

/* Loop thread. */
struct job {
	struct exec_context *exec;
	struct job *next;
	struct run_line line;
	char *dir;       /* below the spool; all that the job has on disk */
	char *artifacts; /* where artifacts go */
	const char *blob_dirs[3];
	struct step *steps; /* of the plan, in its order */
	size_t count;
	enum job_stage stage;
	enum job_status status; /* so far */
	bool reported;          /* `done` was sent: the status stays */
	int refused;            /* the code, where it was not accepted */
	bool elsewhere;         /* it was refused since its unit needs another machine */
	bool own;               /* makes what all jobs share: without events */
	bool advancing, again;  /* job_advance is running, and must repeat its loop */
	struct device_lease lease;
	struct jit_cache jit;
	struct sender sender;
	struct budget budget;
	struct work ending;
	uint64_t received_ns, device_ns, done_ns;
	/* Set by job.c, called by the other files. */
	void (*advance)(struct job *job);               /* a step has ended, or the devices were given back: go on */
	void (*devices_held)(struct job *job);          /* the steps that waited for them go on */
	void (*lose)(struct job *job, const char *why); /* a process was killed and does not die */
};

/* ---- step.c ---- */

/* How steps end: name, name on the wire. */
#define STEP_STATES(X) \
	X(PASSED, "passed") \
	X(FAILED, "failed") \
	X(LIMIT, "limit") \
	X(SKIPPED, "skipped") \
	X(CANCELLED, "cancelled") \
	X(ERROR, "error")
enum step_state {
#define X(name, wire) STEP_##name,
	STEP_STATES(X)
#undef X
};

/* Where a step is: not begun; work on a thread of its own; waiting for a device, a slot or another build; its
 * processes run; over. */
enum step_phase { STEP_IDLE, STEP_WORKING, STEP_QUEUED, STEP_RUNNING, STEP_ENDED };

#define STEP_HOME "home" /* in a process's own folder for temporary files */

/* A process of a step: the only one, or the referee, or the solver. */
struct step_process {
	struct step *step;
	const struct plan_process *plan;
	const struct tool *tool;     /* NULL: argv[0] is a file of its folder */
	struct strings words, roots; /* its arguments, and what it sees for its tools besides the system */
	struct limits limits;        /* the plan's, as far as this machine allows */
	char *dir;
	char *temporary; /* at level off the folder that is TMPDIR, where HOME is; NULL: the sandbox has its own /tmp */
	struct process process;
	bool running;
};

/* The numbers under which a step's processes get their descriptors. */
#define STEP_FD_RESULT 3
#define STEP_FD_PEER 4
#define STEP_FD_SHM 5
#define STEP_FD_SECRET 6
#define STEP_FD_RECORD 7

/* What compilers left for a step, and what it leaves of that (jit.c). */
struct step_jit {
	const char *below[SANDBOX_LAYERS_MAX]; /* folders that its cache begins with, the first counts; */
	size_t count, own;                     /* the first `own` of them are of its job's runs */
	struct warm_layer *warm;               /* the last of them, in use until the step is over; NULL: there is none */
	char *input;                           /* one of them: what a prepare step left for it; NULL: nothing */
	json_t *left;                          /* for the outcome; NULL: nothing is told */
	char *trouble;                         /* why this machine could not keep it; NULL: it could */
};

/* Loop thread, except while phase is STEP_WORKING: then it is that thread's. */
struct step {
	struct job *job;
	const struct plan_step *plan;
	struct strings visible; /* the GPUs that it may see, of those that its job holds */
	struct cores cores;     /* of its places; all of the machine where they say none */
	enum step_phase phase;
	enum step_state state; /* once ended */
	/* CLOCK_MONOTONIC; 0: not so far. */
	struct step_times {
		uint64_t begun_ns;
		uint64_t queued_ns;   /* its folder is there */
		uint64_t launched_ns; /* it has device and slot */
		uint64_t ended_ns;
	} times;

	struct step_process processes[2];
	size_t count;
	struct result result;
	int secret; /* the pipe that its secret lies in until it is read; -1: none */

	char *dir, *kept;        /* its folder below the job's; its outputs */
	struct manifest outputs; /* in kept */
	bool collect, trim;      /* what the collecting work does */

	struct step_tools {
		const struct tool **further; /* of the plan's toolchain, in its order; NULL: the machine lacks it */
		json_t *told;                /* {"version", "packages", "toolkit"}: what its tool says; NULL: it has none */
		const struct tool *profiler, *helper; /* of a step with `profile`; profiler NULL: the machine lacks it */
		char fingerprint[DIGEST_HEX_SIZE];
		char *missing; /* one that this machine lacks */
	} tools;

	struct step_cache {
		char key[DIGEST_HEX_SIZE];
		bool hit;      /* the step came from the cache */
		json_t *texts; /* {"exit", "stdout", "stderr"} out of it; NULL: the step was not there */
		bool guessed;  /* what a build reads cannot be recorded: the key covers what it may read */
		bool unable;   /* ... as has just been found out */
		struct recorder *recorder;
		struct reads reads; /* of a build that was recorded */
	} cache;

	struct step_artifacts {
		struct manifest manifest;
		uint64_t bytes_left; /* of its job's budget */
		bool owners;         /* its owner's jobs leave less than that */
		size_t files_left;   /* of its job's budget */
		bool wanted;         /* they are collected: it has some, and its job was neither cancelled nor lost */
		char *cut;           /* why they were not taken; NULL: they were */
	} artifacts;

	/* What its GPUs did meanwhile. */
	struct step_gpus {
		json_t *report;    /* gpuwatch_after, or NULL */
		json_t *reading;   /* the last of that work */
		json_t *throttled; /* what slowed them the first time, where it was repeated for that; else NULL */
	} gpus;

	struct kettle_error error; /* the machine's trouble */
	struct kettle_error fault; /* the step's own, where a sentence is needed */
	enum sandbox_limit limit;  /* what it was killed at, ran into, or says that it has reached; else NONE */

	struct step_jit jit;
	bool warm_wanted;        /* whether it may begin as a copy was found out */
	struct warm_waiter warm; /* ... and of what */
	struct build_waiter slot;
	struct build_inflight flight;
	struct work work;
	json_t *outcome;
};

/* Takes a step of a plan; nothing is done yet. */
void step_open(struct step *step, struct job *job, const struct plan_step *plan, char *dir_take);
void step_close(struct step *step);
/* Everything it needs has passed and it is its turn. The end comes by job->advance, perhaps before this returns. */
void step_begin(struct step *step);
/* Ends a step that has not begun. `why` (may be NULL) is a sentence. */
void step_end_unbegun(struct step *step, enum step_state state, const char *why);
/* Cancels it in any phase; it ends later, or at once if it only waited. */
void step_cancel(struct step *step);
/* The job holds the device now: a step that waited for it goes on. */
void step_device_granted(struct step *step);
/* The arguments of a command, quoted for a shell, at most max bytes; new string (exported for its test). */
char *outcome_command(const struct strings *argv, size_t max);

/* ---- step_files.c: what a step reads and writes, on threads of work ---- */

#define FOLDER_MAX_BLOB (256u << 20)
#define FOLDER_TIME 946684800     /* of all inputs that a plan brings: the year 2000 */
#define STEPWORK_MAX_STAMPS 50000 /* files of one of the machine's folders that a key looks at */

/* All take a step, which no other thread uses meanwhile, and store failures in step->error or step->fault. */

/* Computes the key of a step with `cache`. */
void step_files_key(void *step);
/* Takes the outputs of a step with `cache` from the cache (step->cache.hit), or makes the folders of its processes. */
void step_files_prepare(void *step);
/* Checks the GPUs of a step whose processes have ended: step->gpus. */
void step_files_check_gpus(void *step);
/* Makes the folders of its processes anew. */
void step_files_reset(void *step);
/* Collects artifacts, with step->collect also outputs; stores a build; removes the processes' folders. */
void step_files_collect(void *step);

/* ---- launch.c: starts the processes of a step: what each of them sees, gets and may use ---- */

/*
 * Finds the tools of a step, with `cache` their fingerprint (step->tools.fingerprint), and all that launch_step and the outcome
 * take of them. On a thread of work. A failure is in step->error, and a tool that the machine lacks in step->tools.missing.
 */
void launch_find_tools(void *step);
/*
 * Before launch_step: looks for a warm process that the step can begin from (step->warm). True: one is being made, and
 * `again` is called with the step when that is over, however it ended. Loop thread.
 */
bool launch_request_warm(struct step *step, void (*again)(void *arg));
/* Puts the secret of a step that wants it by descriptor into a pipe (step->secret), before launch_step. */
int launch_secret(struct step *step, struct kettle_error *err);
/* Whether a secret that was handed over so is still there, when the step has ended: it worked without it. */
bool launch_secret_unread(const struct step *step);
/*
 * Starts the process of a step, or its solver and its referee. `ended` and `on_lost` get the struct step_process.
 * KETTLE_EIO: none was started. Loop thread.
 */
int launch_step(struct step *step, void (*ended)(void *arg), void (*on_lost)(void *arg), struct kettle_error *err);

#endif
