/* SPDX-License-Identifier: MIT */
/* A job, its steps and their processes, for the files of this folder. */
#pragma once

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
#include "exec/warm/prepared.h"
#include "exec/warm/warm.h"
#include "sandbox/sandbox.h"

struct job;
struct step;

/* ---- run_line.c: the parts of a job, and its place ---- */

#define JOB_MAX_SLOTS 64
#define JOB_MAX_MODEL 400  /* bytes of the name of an expected GPU or processor */
#define JOB_MAX_DEVICES 64 /* of a unit and the units that come with it */

/* One slot of a device lock, for a step that needs one device. */
struct device_slot {
	char *gpu; /* index or UUID; NULL: none */
	struct cores cores;
	unsigned slots;
	char *lock;
};

/* The place where a job runs: the checked `unit` of its run line. */
struct unit {
	const char *name; /* borrowed from the line, or "local" */
	enum sandbox_level level;
	uint64_t memory;             /* of a run whose plan names none, for each device that the run needs */
	bool score;                  /* its times are scores, so that a GPU that is unfit runs no step */
	struct device_slot *devices; /* at least one */
	size_t count;
};

/* A run line. docs/protocol.md explains the members. */
struct run_line {
	json_t *object;    /* owns the strings, and the data that the plan refers to */
	const char *job;   /* name of the job in events */
	const char *spool; /* folder for artifacts; NULL: below the job's own folder */
	const char *blobs; /* searched before STATE/blobs; NULL: only STATE/blobs is searched */
	bool keep;         /* the files that steps saw stay, for a person to look at */
	bool send;         /* artifacts are sent as events, before `done` */
	struct plan plan;
	struct unit unit;
};

/* Reads only `job` (EINVAL: it is missing). Close the result with run_line_close, also after a failure. */
int run_line_open(json_t *object_take, struct run_line *ret_line, struct kettle_error *err);
/*
 * Reads the rest, and checks that this machine can carry it out and has its cores. KETTLE_EINVAL, KETTLE_ETOOBIG or
 * KETTLE_EUNAVAIL with a sentence.
 */
int run_line_read(const struct exec_context *exec, struct run_line *line, struct kettle_error *err);
void run_line_close(struct run_line *line);

/*
 * Call it after run_line_read. Compares `expect` of the line's unit with this machine: the processor, the unit's GPUs
 * (or all GPUs if it names none), and the sandbox level. EUNAVAIL with *ret_fits false: the unit needs another machine;
 * EINVAL: `expect` is malformed.
 */
int expected_machine_check(
	const struct exec_context *exec, const struct run_line *line, bool *ret_fits, struct kettle_error *err);

/* ---- device_lease.c: the lease of a job's devices ---- */

/*
 * In order: no step needs the devices yet; a step waits for the locks; work checks the devices; steps run; work checks
 * the devices again; the locks are given back. The job stays while work checks.
 */
enum lease_state { LEASE_UNWANTED, LEASE_LOCKING, LEASE_CHECKING, LEASE_READY, LEASE_CHECKING_AGAIN, LEASE_RETURNED };

/* Zero-initialise. Loop thread; during a check, watch and found_* belong to the thread of work. */
struct device_lease {
	size_t need; /* the most device slots of the unit that a step uses */
	struct devlock *locks;
	size_t count, held; /* number of locks; number of those that are held */
	const char **names; /* of locks, in the order in which every job takes them; borrowed from the unit */
	unsigned *slots;    /* of locks */
	enum lease_state state;
	struct kettle_error error; /* code 0, or the reason why the devices cannot be used */
	uint64_t wanted_ns;
	struct gpuwatch watch;
	json_t *reading; /* the newest one */
	json_t *faults;  /* GPU → sentence, from the last check; NULL: there was none */
	json_t *unfit;   /* GPU → [cause], likewise */
	json_t *found_reading, *found_faults, *found_unfit;
	struct work work;
};

/* Call it when the job's steps are known. KETTLE_EUNAVAIL: the unit does not have what the job needs. */
int device_lease_open(struct job *job, struct kettle_error *err);
/*
 * Requests the devices for a step. True: they are held, or cannot be used (lease.error); false: job->devices_held is
 * called later.
 */
bool device_lease_request(struct job *job);
/* Before a check of the job's GPUs: notes what of their memory is others'. Loop thread. */
void device_lease_note(struct job *job);
/* Checks and releases the devices, which no step needs any more. Calls job->advance afterwards. */
void device_lease_release(struct job *job);
/* Stores the descriptors of the held locks, for init. Returns how many (at most JOB_MAX_DEVICES). */
size_t device_lease_descriptors(const struct job *job, int *ret_fds);
/*
 * {"checked": [gpu], "faults": {gpu: sentence}, "unfit": {gpu: [cause]}: by the last check and all steps}; NULL: no check
 * was made. New reference.
 */
json_t *device_lease_report(const struct job *job);
void device_lease_close(struct job *job);

/* ---- process.c: one sandboxed process on the loop: reads its output, limits its time, awaits its end ---- */

#define PROCESS_LOST_MS 10000 /* a process that survives its kill for this time makes the machine unusable */
#define PROCESS_MAX_FDS 8

/* A descriptor that is read until its end. */
struct process_drain {
	struct process *process;
	uv_poll_t poll;
	int fd;
	bool polled;
};
enum process_stream { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_RESULT, PROCESS_STREAMS };

struct process_config {
	struct sandbox_config sandbox; /* fds: without 0, 1, 2 and the result channel */
	struct sandbox *prepared;      /* a sandbox in which the run may start; taken; NULL: none */
	uint64_t wall_ns;
	bool waits; /* with a nice value: wall_ns is extended while other processes leave its cores no time */
	uint64_t output_limit;
	struct result *result; /* NULL: there is no result channel (STEP_FD_RESULT); borrowed until the end */
	bool early;            /* it counts as ended as soon as no code of it can run (sandbox_look_ended) */
};

/* In order. */
enum process_state {
	PROCESS_NONE,
	PROCESS_RUNNING,
	PROCESS_CLOSING,  /* no part of it runs any more, and its handles are being closed */
	PROCESS_DRAINING, /* work reads the rest of its result channel, if it has one */
	PROCESS_ENDED,    /* `ended` was called */
};

/* Loop thread. Zero-initialise; it must stay where it is until `ended` was called. */
struct process {
	enum process_state state;
	struct sandbox *sandbox;      /* kept after the end for its out folder, until process_close */
	struct sandbox_report report; /* after the end */
	struct capture output[2];     /* stdout, stderr */
	struct result *result;
	struct work reader;     /* of the result channel */
	struct buf result_data; /* bytes that it read and the loop has not taken */
	bool result_ended;
	struct kettle_error error; /* code 0, or why the process could not be started or followed */
	enum sandbox_limit limit;  /* why this program killed the process; NONE: it did not */
	struct process_drain drains[PROCESS_STREAMS];
	uv_poll_t pid;
	uv_timer_t wall, lost;
	uv_timer_t look; /* until the next look whether it has ended */
	unsigned looks;  /* since it began, wrote something or was killed */
	bool early;
	bool ending;         /* it counts as ended, and its sandbox has yet to end */
	struct cores yields; /* cores on which it gives way to all other processes; empty: none */
	uint64_t idle_ticks; /* idle ticks of these cores when its time began */
	unsigned extensions; /* of its time, so far */
	unsigned handles;
	void (*on_lost)(void *arg); /* the process was killed and did not die in time; `ended` may still come */
	void (*ended)(void *arg);
	void *arg;
};

/* Starts the process. Calls `ended` once, later, in every case; no code of the process can run then. */
void process_start(struct process *process, uv_loop_t *loop, const struct process_config *config,
	void (*ended)(void *arg), void (*on_lost)(void *arg), void *arg);
/* From process_start until `ended` is called. */
bool process_is_open(const struct process *process);
/* Kills the process; the first reason counts. Does nothing after its end. */
void process_kill(struct process *process, enum sandbox_limit limit);
/* Kills the process with the reason CANCEL if it still runs after this time. Its limit of time holds no more. */
void process_end_within(struct process *process, uint64_t ms);
/* Call it after the end. Frees everything. */
void process_close(struct process *process);

/* ---- ending.c: sandboxes of ended runs whose processes the kernel still lists ---- */

#define ENDING_MAX 16 /* at once; further runs end as without `lease_until: freed` */
/* After so long it makes the machine unusable: later than a killed process, for which a job waits. */
#define ENDING_LOST_MS 60000

/* Whether the processes of a step that starts now may be left to ending_begin. Loop thread. */
bool ending_is_allowed(const struct step *step);
/*
 * Awaits the end of a sandbox, and frees it. Meanwhile it keeps the locks that the job holds now; with `held` they pass to
 * no other job. Loop thread.
 */
void ending_begin(struct job *job, struct sandbox *sandbox_take, bool held);

/* ---- jit.c: files that compilers keep in runs of a job ---- */

#define JIT_LAYERS 5 /* layers from runs of one job, at most; files of later runs are not kept */

/* The JIT cache of a job. Its run steps use it one after the other, on threads of work. */
struct jit_cache {
	bool looked;               /* kept files were looked up by the key */
	char *device;              /* models of the job's GPUs */
	char key[DIGEST_HEX_SIZE]; /* empty: the cache is for this job only */
	const char *owner;
	struct jit_cache_layer layers[JIT_LAYERS]; /* the oldest first */
	size_t count;
	bool grown;    /* a run of this job added a layer */
	bool trim;     /* the cache must be trimmed, since something was stored */
	char *trouble; /* why this machine could not store it; NULL: no trouble */
};

struct step_process;

/* Call it before any step of the job runs, on the loop thread. */
void jit_open(struct job *job);
/* Whether the step has a JIT cache. */
bool jit_is_used(const struct step *step);
/* Whether an input of the process lies in the place of its cache, and so becomes a layer of it. */
bool jit_is_input(const struct step_process *process, const char *path);
/* Brings the kept files of earlier jobs, once for each job. On a thread of work. */
void jit_prepare(struct step *step);
/* Describes the layers that the step's cache begins with; borrowed until the step ends. Loop thread. */
void jit_describe(struct step *step, struct sandbox_cache *ret_cache);
/* Takes the files that an ended step left: sets step->jit.left and step->jit.trouble. On a thread of work. */
void jit_take(struct step *step);
/*
 * Stores the files of an ended job's runs under its key, so that a job which follows its `done` finds them. Call
 * jit_trim afterwards. On a thread of work.
 */
void jit_store(void *job);
/* Makes room in the cache. On a thread of work. */
void jit_trim(struct job *job);
void jit_close(struct jit_cache *cache);
/* Reports once why the runs continue without a cache. NULL: no trouble. Loop thread. */
void jit_tell(struct exec_context *exec, const char *trouble);

/* ---- budget.c: limits on what all steps of a job together may report and leave ---- */

#define BUDGET_BYTES (UINT64_C(12) << 20) /* text of all outcomes: one and a half times what a verdict keeps */
#define BUDGET_VALUES UINT64_C(200000)    /* values in all outcomes: ten results with the maximum of keys */
#define BUDGET_EVENTS (UINT64_C(4) << 20) /* bytes of all events about results */
#define BUDGET_FILES 2000                 /* artifacts, folders included */

/* The budget that a job has left. Loop thread. */
struct budget {
	uint64_t bytes, values, events, files;
	uint64_t disk; /* for artifacts; without the bytes that are set aside for a step that ends */
};

void budget_open(struct budget *budget, uint64_t disk);
/* Whether the result of a step fits; if not, it becomes empty and void. Call it before the outcome is made. */
bool budget_take_result(struct budget *budget, struct result *result);
/* Counts an outcome. Cuts members that do not fit, and names them in `cut`. */
void budget_take_outcome(struct budget *budget, json_t *outcome);
/* Whether a result event of this size, in bytes, may be sent. */
bool budget_take_event(struct budget *budget, size_t size);
/*
 * Sets bytes aside for a step's artifacts (step->artifacts.bytes_left): at most its limit, and what its job and its
 * owner's jobs have left.
 */
void budget_reserve(struct step *step);
/* Gives back the bytes that the step did not use. */
void budget_return(struct step *step);

/* ---- shared.c: results that Kettle makes once for all jobs, such as torch's precompiled header ---- */

#define SHARED_KEEP_FREE (UINT64_C(4) << 30) /* bytes that stay free on the disk */

/* Whether a job may use shared results. Loop thread. */
bool shared_is_used(const struct job *job);
/* The cache that a step uses. [any] */
const struct cache *shared_cache(const struct step *step);
/* Whether an input is missing because the shared result does not exist yet. [any] */
bool shared_is_missing(const struct job *job, const struct plan_input *input);
/*
 * Whether the input is a shared result that is too large for the copy of the folder in which a prepare step works. The
 * step then sees it by a mount.
 */
bool shared_is_shown(const struct step *step, const struct plan_input *input);
/* Adds, for each such input, its path on the machine and its path in the sandbox. */
void shared_list(const struct step_process *process, struct strings *paths);
/* The run line of a job that makes the shared results which this ended job lacked; NULL: there are none. */
json_t *shared_make_line(const struct job *job);
/* Reports shared results that such a job could not make. */
void shared_tell(const struct job *job);

/* ---- job.c: sending artifacts as events ---- */

#define SEND_PIECE (192u << 10)   /* bytes of a file in one event: 256 KiB as base64 */
#define SEND_QUEUE (1u << 20)     /* unread bytes above which no further piece is read */
#define SEND_MAX_BYTES (1u << 30) /* of all artifacts of a job */
#define SEND_SAID (1u << 20)      /* bytes of events; more is announced, since a slow connection needs time for it */

/* The sending of an ended job's artifacts. Loop thread; during a read, it belongs to the thread of work. */
struct sender {
	enum sender_state {
		SENDER_IDLE,    /* it has not begun, or has ended */
		SENDER_READING, /* a piece is being read */
		SENDER_WAITING, /* for the reader of the events */
	} state;
	size_t step, file;      /* position: step of the job, artifact of that step */
	int fd;                 /* -1: no file is open */
	uint64_t offset, bytes; /* in the file; of all files that were begun */
	char *piece;
	size_t length;
	int error; /* errno */
	struct work work;
	void (*done)(void *job);
};

/* ---- the job ---- */

/* The stage of a job; job_may_follow has what may follow each. */
enum job_stage {
	JOB_RUNNING,  /* its steps run */
	JOB_STOPPED,  /* they were stopped, and are ending */
	JOB_ENDED,    /* all have ended, and what they left is stored and sent */
	JOB_GIVEN_UP, /* it is lost and `done` was sent, but steps may not have ended */
	JOB_REPORTED, /* `done` was sent, all steps have ended, and the job's folder is being removed */
};
/* The end of a job. JOB_LOST: this machine is unusable, or could not take the job. */
enum job_status { JOB_DONE, JOB_CANCELLED, JOB_LOST };
/* Whether a function goes through the steps of a job. */
enum job_turn {
	TURN_NONE,  /* no function does, so job_advance may, and may end the job */
	TURN_TAKEN, /* one does */
	TURN_AGAIN, /* one does, and job_advance must repeat it */
};

/* Loop thread. */
struct job {
	struct exec_context *exec;
	struct job *next;
	struct run_line line;
	char *dir;       /* below the spool; all files of the job */
	char *artifacts; /* folder for artifacts */
	const char *blob_dirs[3];
	struct step *steps; /* in the order of the plan */
	size_t count;
	enum job_stage stage;
	enum job_status status; /* so far; final once `done` was sent */
	enum job_turn turn;
	struct job_refusal {
		int code;       /* 0: the job was accepted */
		bool elsewhere; /* because the unit needs another machine */
	} refused;
	bool own; /* kettle-exec's own job, which makes shared results, without events */
	struct device_lease lease;
	struct jit_cache jit;
	struct sender sender;
	struct budget budget;
	struct work ending;
	uint64_t received_ns, device_ns, done_ns;
	/* Set by job.c, called by the other files. */
	void (*advance)(struct job *job);               /* a step has ended, or the devices were given back */
	void (*devices_held)(struct job *job);          /* resumes the steps that wait for the devices */
	void (*lose)(struct job *job, const char *why); /* a process was killed and does not die */
};

/* Whether `done` was sent. */
static inline bool
job_is_reported(const struct job *job)
{
	return job->stage >= JOB_GIVEN_UP;
}
/* Whether a job in this stage may enter the next one (exported for its test). */
bool job_may_follow(enum job_stage stage, enum job_stage next);

/* ---- step.c ---- */

/* The states in which steps end: name, name in events. */
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

/* The phase of a step, in the order of step.c's picture. In those with work the step is another thread's. */
enum step_phase {
	STEP_IDLE,       /* not begun */
	STEP_RESTORING,  /* work: puts in place what it left on another machine */
	STEP_FINDING,    /* work: looks for its tools */
	STEP_KEYING,     /* work: computes its key */
	STEP_AWAITING,   /* waits while another job builds the same */
	STEP_PREPARING,  /* work: looks into the cache, or makes its folders */
	STEP_QUEUED,     /* waits for a slot or the devices */
	STEP_WARMING,    /* waits for the processes that it may begin from */
	STEP_RUNNING,    /* its processes run */
	STEP_CHECKING,   /* work: checks its GPUs */
	STEP_RESETTING,  /* work: makes its folders again */
	STEP_COLLECTING, /* work: takes over what it left */
	STEP_ENDED,
};

#define STEP_HOME "home" /* in the process's own folder for temporary files */

/* A process of a step: the only one, the referee, or the solver. */
struct step_process {
	struct step *step;
	const struct plan_process *plan;
	const struct tool *tool;     /* NULL: argv[0] is a file in its folder */
	struct strings words, roots; /* its arguments; folders of its tools that it sees besides the system */
	struct limits limits;        /* the plan's, lowered to what this machine allows */
	char *dir;
	char *temporary;         /* at level off, the folder for TMPDIR and HOME; NULL: the sandbox has its own /tmp */
	struct warm_waiter warm; /* the warm process that it may begin from */
	struct strings early;    /* environment of a prepared kettle-host for it; empty: none can be */
	struct process process;
};

/* The process that the submission is in, of a struct step: the only one, or the solver. */
#define STEP_SOLVER(step) (&(step)->processes[(step)->count - 1])
/*
 * A solver that runs on when its referee has ended without passing is killed after this time: it may have ended first,
 * and what it ended with then explains the failure.
 */
#define STEP_WARM_REQUESTS 6 /* then a step no longer waits for warm processes */
#define STEP_GRACE_MS 500

/* The numbers of descriptors in a step's processes. */
#define STEP_FD_RESULT 3
#define STEP_FD_PEER 4
#define STEP_FD_SHM 5
#define STEP_FD_SECRET 6
#define STEP_FD_RECORD 7

/* The compilers' files that a step begins with, and those that it leaves (jit.c). */
struct step_jit {
	const char *below[SANDBOX_LAYERS_MAX]; /* lower layers of its cache, the topmost first */
	size_t count, own;                     /* the first `own` ones are from runs of its job */
	struct warm_layer *warm;               /* the last of these layers, in use until the step ends; NULL: none */
	char *input;                           /* the layer from a prepare step; NULL: none */
	json_t *left;                          /* for the outcome; NULL: nothing is reported */
	char *trouble;                         /* why this machine could not keep files; NULL: no trouble */
};

/* The holder of the machine's files that a build reads. */
enum step_cover {
	COVER_RECORD,
	COVER_KEY,     /* its key has all that it may read, since reads cannot be recorded here */
	COVER_NOTHING, /* they could not be recorded, which was found out only now */
};
/* The use of a prepared process for a solver. */
enum step_opened {
	OPENED_WANTED,
	OPENED_AWAITED, /* it has waited for one, once */
	OPENED_TAKEN,   /* it was to begin in one */
	OPENED_REFUSED, /* it failed in one, so it begins in none */
};

/* Loop thread; in a phase with work it belongs to the thread of work. */
struct step {
	struct job *job;
	const struct plan_step *plan;
	/* Its part of the job's device slots. */
	struct step_place {
		struct strings gpus; /* those that it may see */
		struct cores cores;  /* all cores of the machine if the slots name none */
	} place;
	enum step_phase phase;
	enum step_state state; /* once its processes have ended */
	/* CLOCK_MONOTONIC; 0: not yet. */
	struct step_times {
		uint64_t begun_ns;
		uint64_t queued_ns;   /* its folder exists */
		uint64_t launched_ns; /* it has its device and slot */
		uint64_t ended_ns;
	} times;

	struct step_process processes[2];
	size_t count;
	/* Referee and solver together. */
	struct step_pair {
		uint64_t memory;             /* limit of both */
		struct sandbox_group *group; /* by which they share it; NULL: the step has one process, or none runs */
	} pair;
	struct step_channels {
		struct result result;
		struct result profiled; /* what the profiler of a solver reports */
		int secret;             /* the pipe with its secret, until the secret is read; -1: none */
	} channels;
	struct step_files {
		char *dir;               /* below the job's */
		char *kept;              /* the folder of its outputs */
		struct manifest outputs; /* in kept */
		bool returned;           /* they are among the artifacts, since the rest of the plan runs elsewhere */
	} files;

	struct step_tools {
		const struct tool **further;          /* of the plan's toolchain, in order; NULL: the machine lacks it */
		json_t *told;                         /* {"version", "packages", "toolkit"} of its tool; NULL: it has none */
		const struct tool *profiler, *helper; /* of a step with `profile`; profiler NULL: the machine lacks it */
		const struct tool *host;              /* kettle-host, of a step with `host` */
		char fingerprint[DIGEST_HEX_SIZE];
		char *missing; /* a tool that this machine lacks */
		char *library; /* of a step with `share`, core/shm; NULL: the installation lacks it */
	} tools;

	struct step_cache {
		char key[DIGEST_HEX_SIZE];
		json_t *texts; /* {"exit", "stdout", "stderr"} from the cache; NULL: the step was not there */
		enum step_cover cover;
		struct recorder *recorder;
		struct reads reads; /* of a recorded build */
		bool trim;          /* the cache must be trimmed */
	} cache;

	struct step_artifacts {
		struct manifest manifest;
		uint64_t bytes_left; /* of its job's budget */
		bool owners;         /* the limit of its owner's jobs is lower than that */
		size_t files_left;   /* of its job's budget */
		bool wanted;         /* they are collected: there are some, and the job was neither cancelled nor lost */
		char *cut;           /* why they were not taken; NULL: they were */
	} artifacts;

	/* The GPUs during the step. */
	struct step_gpus {
		json_t *report;    /* gpuwatch_after, or NULL */
		json_t *reading;   /* the last one of that work */
		json_t *throttled; /* what slowed them in the first run, if the step was repeated for that; else NULL */
		bool held;         /* they were not freed in time after its processes had ended */
	} gpus;

	/* Why it did not pass. */
	struct step_failure {
		struct kettle_error error; /* of the machine; code 0: none */
		struct kettle_error fault; /* of the step itself, if it needs a sentence */
		enum sandbox_limit limit;  /* at which it was killed, that it reached or says that it reached; else NONE */
		const struct step_process *limited; /* the process that reached it; NULL: none */
	} failure;

	struct step_jit jit;
	/* For a process that has opened the step's GPUs. */
	struct step_opening {
		enum step_opened state;
		struct prepared_waiter wait;
		bool uses_gpus; /* the step's processes run on them */
	} opening;
	unsigned warm_requests; /* how often warm processes were looked for, since the start or restart */
	struct step_build {
		struct build_waiter slot;
		struct build_inflight flight;
	} build;
	struct work work;
	json_t *outcome;
};

/* Whether a step in this phase may enter the next one (exported for its test). */
bool step_may_follow(enum step_phase phase, enum step_phase next);
/* Prepares a step of a plan; nothing runs yet. */
void step_open(struct step *step, struct job *job, const struct plan_step *plan, char *dir_take);
void step_close(struct step *step);
/*
 * Begins a step when the steps that it needs have passed and it is its turn. Its end calls job->advance, maybe before
 * this returns.
 */
void step_begin(struct step *step);
/* Ends a step that has not begun. why: a sentence, or NULL. */
void step_end_unbegun(struct step *step, enum step_state state, const char *why);
/* Cancels a step in any phase. It ends later, or at once if it only waited. */
void step_cancel(struct step *step);
/* The job holds the devices now: resumes a step that waited for them. */
void step_device_granted(struct step *step);

/* ---- outcome.c: the outcome of a step ---- */

/* Whether the only process, or the referee, has ended by itself as the plan wants it. */
bool outcome_exit_passes(const struct step *step);
/*
 * Reads the reports of a step whose processes have ended: returns its state, and sets its limit, and a fault or an error
 * if a sentence is needed. PASSED still requires that the outputs exist.
 */
enum step_state outcome_judge(struct step *step);
/* The state of a step that has ended on another machine; false: it has not. */
bool outcome_ended(const struct step *step, enum step_state *ret_state);
/* Makes the outcome object (event.schema.json) of a step in its final state. New reference. */
json_t *outcome_make(const struct step *step);
/* The arguments of a command, quoted for a shell, at most max bytes. New string (exported for its test). */
char *outcome_command(const struct strings *argv, size_t max);

/* ---- step_files.c: files that a step reads and writes, on threads of work ---- */

#define FOLDER_MAX_BLOB (256u << 20)
#define FOLDER_TIME 946684800     /* of all inputs from a plan: the year 2000 */
#define STEPWORK_MAX_STAMPS 50000 /* files of one folder of the machine that a key includes */

/* Each takes a step that no other thread uses meanwhile, and stores failures in step->failure. */

/* Computes the key of a step with `cache`. */
void step_files_key(void *step);
/* Takes the outputs of a step with `cache` from the cache (step->cache.texts), or makes the folders of its processes. */
void step_files_prepare(void *step);
/* Puts what a step that has ended on another machine left where later steps take it from. */
void step_files_restore(void *step);
/* Checks the GPUs of a step whose processes have ended: sets step->gpus. */
void step_files_check_gpus(void *step);
/* Makes the folders of the step's processes again. */
void step_files_reset(void *step);
/* Collects artifacts (and outputs, if they count), stores a build, removes the folders of the processes. */
void step_files_collect(void *step);

/* ---- launch.c: starts the processes of a step, with their view, environment and limits ---- */

/*
 * Finds the tools of a step (with `cache` also their fingerprint: step->tools.fingerprint), and everything that
 * launch_step and the outcome use of them. A failure is in step->failure.error, a tool that the machine lacks in
 * step->tools.missing. On a thread of work.
 */
void launch_find_tools(void *step);
/*
 * Call it before launch_step: looks for warm processes that the step's processes can begin from. True: one is being made
 * or checked; when that has ended, in any way, calls `again` with the step, which calls this again. Loop thread.
 */
bool launch_request_warm(struct step *step, void (*again)(void *arg));
/* Puts the secret of a step that wants it by descriptor into a pipe, step->channels.secret. Call it before launch_step. */
int launch_secret(struct step *step, struct kettle_error *err);
/* Whether an ended step has left its secret unread in the pipe, and so worked without it. */
bool launch_secret_unread(const struct step *step);
/*
 * Starts the process of a step, or its solver and referee. `ended` and `on_lost` get the struct step_process.
 * KETTLE_EIO: none was started. Loop thread.
 */
int launch_step(struct step *step, void (*ended)(void *arg), void (*on_lost)(void *arg), struct kettle_error *err);
