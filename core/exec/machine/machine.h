/* SPDX-License-Identifier: MIT */
/* The machine of a kettle-exec: its configuration, processor, GPUs, device locks, spool, and queries of its tools. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/text.h"
#include "exec/plan/plan.h"
#include "exec/util/cores.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"
#include "sandbox/sandbox.h"

/* ---- machine.c: processor, cores, memory, kernel, name ---- */

/*
 * {"cpu", "cores", "memory", "kernel", "platform", "host"}. A fact that cannot be read is "unknown" or 0. New
 * reference.
 */
json_t *machine_describe(void);
/* Bytes of memory of the machine, or of this process's cgroup; 0: unknown. */
uint64_t machine_memory(void);
/* Bytes of the largest cache that a core can fill; 0: unknown. */
uint64_t machine_cpu_cache(int core);
/* A digest of the processor's model and flags: what `-march=native` means. */
void machine_cpu_digest(char ret_hex[DIGEST_HEX_SIZE]);

/* ---- execconfig.c: exec.yml, what kettle-exec must know about its machine ---- */

#define EXECCONFIG_CACHE_BYTES (UINT64_C(4) << 30)
#define EXECCONFIG_CACHE_SHARED (UINT64_C(4) << 30)
#define EXECCONFIG_CACHE_DAYS 30
#define EXECCONFIG_CACHE_USERS 8 /* a user's share is this part of the cache */
#define EXECCONFIG_ARTIFACTS_BYTES (UINT64_C(1) << 30)
#define EXECCONFIG_ARTIFACTS_USER_BYTES (UINT64_C(2) << 30)
#define EXECCONFIG_IO_BYTES (UINT64_C(1) << 30)
#define EXECCONFIG_IO_OPERATIONS 20000
#define EXECCONFIG_CPU_CACHE (UINT64_C(32) << 20) /* if the machine does not show it */
#define EXECCONFIG_MAX_WALL (3600 * LIMITS_SECOND)
#define EXECCONFIG_MAX_PROCESSES 4096

#define EXECCONFIG_OWN_MEMORY (UINT64_C(1) << 30)   /* for the engine, kettle-exec and interpreters */
#define EXECCONFIG_BUILD_MEMORY (UINT64_C(2) << 30) /* for each build at the same time */

struct execconfig {
	json_t *root; /* the checked file; owns the values below */
	json_t *tools, *env, *extra_paths;
	const json_t *report; /* atomic: execconfig_report changes it while threads read it; NULL: nothing is reported */
	json_t *reports;      /* all values that report has had */
	const char *gpu_helper, *gpu_nvml, *gpu_rocm_smi; /* NULL: the default */
	uint64_t gpu_max_residual_bytes;                  /* bytes of a GPU that may stay in use */
	uint64_t gpu_prepared_bytes;                      /* bytes of a GPU that a process which waits for a run may hold */
	bool gpu_until_freed; /* a run on a GPU counts as ended when it is freed, although its processes are still listed */
	char *file;           /* the file that was read; NULL: only defaults */
	char *state, *locks;
	struct cores build_cores; /* empty: those that no device uses */
	unsigned build_jobs;
	uint64_t io_bytes, io_operations; /* a second, for each disk and run or build; 0: unlimited */
	uint64_t cache_max_bytes, cache_max_user_bytes, cache_shared_bytes;
	unsigned cache_max_age_days;
	uint64_t artifacts_max_bytes, artifacts_max_user_bytes; /* of a job; of all running jobs of an owner */
	uint64_t memory;                                        /* of the machine; 0: unknown */
	uint64_t cpu_cache;                                     /* bytes of the processor's cache that a run can fill */
	struct limits max;
	enum sandbox_level level;
};

/*
 * Reads `path` (NULL: $XDG_CONFIG_HOME/kettle/exec.yml, else the system's kettle/exec.yml, else defaults). The keys of
 * `settings`, JSON text with the file's keys (or NULL), replace those of the file, but extra_paths are the paths of
 * both. `state` and `level`, from the command line (or NULL), win over both. Makes no folders. Close the result with
 * execconfig_close, also after a failure.
 */
int execconfig_load(struct execconfig *ret_config, const char *path, const char *settings, const char *state,
	const char *level, struct kettle_error *err);
void execconfig_close(struct execconfig *config);
/* Reports these tools from now on: `report` of exec.schema.json. EINVAL: it is no such list. */
int execconfig_report(struct execconfig *config, json_t *report, struct kettle_error *err);
/* The tools that are reported now; NULL: none. Valid until execconfig_close. [any] */
const json_t *execconfig_reported(const struct execconfig *config);
/*
 * Bytes of memory that a run gets by default on a machine with so many device slots (at least 1): an equal share of the
 * memory that the engine and builds leave, or of three quarters of the machine's memory if that is more.
 */
uint64_t execconfig_run_memory(const struct execconfig *config, unsigned slots);

/* ---- devlock.c: device locks decide which job may use a device, among all kettle-execs of a machine ---- */

#define DEVLOCK_RETRY_MS 25

/*
 * A lock is a flock on LOCKS/NAME.SLOT. The sandbox's init also gets its descriptor, so that a job that is still ending
 * keeps the device even when its kettle-exec is gone. Between processes the kernel decides; within a process the lowest
 * rank goes first. Loop thread.
 */
struct devlock_table {
	uv_loop_t *loop;
	const char *dir; /* borrowed */
	uv_timer_t timer;
	struct devlock *waiting; /* by rank */
	unsigned held;           /* by this process */
	struct devlock_kept *kept;
	bool open;
};

/*
 * A lock that processes of an ended job still keep, while further jobs of this process may have it, one after the other:
 * for other processes it stays taken.
 */
struct devlock_kept {
	struct devlock_kept *next;
	char *name; /* on disk */
	unsigned slot;
	int fd;
	unsigned users; /* processes */
	bool held;      /* by a job */
	bool blocked;   /* no further job gets it in this way */
	char *lost;     /* why requests for it fail; NULL: they wait, or get it */
};

/* One request for a device. Zero-initialise (fd -1); it must stay where it is while it waits or holds. */
struct devlock {
	int fd; /* the lock while it is held, else -1 */
	unsigned slot;
	char *name; /* on disk, without the slot */
	unsigned slots;
	bool waits;
	uint64_t rank, since_ns, waited_ns;
	void (*granted)(void *arg);
	void *arg;
	struct devlock *next;
};

int devlock_open(struct devlock_table *table, uv_loop_t *loop, const char *dir, struct kettle_error *err);
/* Closes the timer. No request may wait any more. */
void devlock_close(struct devlock_table *table);

/*
 * The name on disk for a name in a plan: characters that could lead elsewhere are replaced, and a digest keeps names
 * apart. New string.
 */
char *devlock_name(const char *name);
/*
 * Takes one of the slots; the waiting request with the lowest rank goes first. 1: it is held at once; 0: it waits, and
 * granted is called later; or a code (KETTLE_EIO: locks cannot be made here; KETTLE_EUNAVAIL: it was lost).
 */
int devlock_acquire(struct devlock_table *table, struct devlock *lock, const char *name, unsigned slots, uint64_t rank,
	void (*granted)(void *arg), void *arg, struct kettle_error *err);
/* Gives the lock back, or stops waiting. Does nothing for a request that does neither. */
void devlock_release(struct devlock_table *table, struct devlock *lock);
/* A process of an ended job keeps a held lock, until devlock_drop. NULL: this process has no descriptor left. */
struct devlock_kept *devlock_keep(struct devlock_table *table, const struct devlock *lock);
/* The process does not end: until it does, new requests fail with this sentence. Those that wait go on waiting. */
void devlock_lose(struct devlock_kept *kept, const char *why);
void devlock_drop(struct devlock_table *table, struct devlock_kept *kept);
/*
 * Whether another kettle-exec of this machine holds a lock, or an init that is still ending. False while this one holds
 * one.
 */
bool devlock_others_hold(const struct devlock_table *table);

/* ---- spool.c: the folder for files of running jobs; removed with its kettle-exec, or by the next one ---- */

/*
 * STATE/spool/PID-RANDOM/ (0700) belongs to one kettle-exec while that holds the flock on the file `lock` in it. The
 * next kettle-exec to open a spool removes folders that no process locks, since their processes have ended.
 */
struct spool {
	char *dir;
	int lock;
	unsigned next;
};

/* Removes the folders of ended processes and makes a new one. Close an opened spool with spool_close. [blocks] */
int spool_open(struct spool *spool, const char *state, struct kettle_error *err);
/* Makes a new empty folder (0700) in the spool. New string. */
int spool_make(struct spool *spool, const char *prefix, char **ret_dir, struct kettle_error *err);
/* Removes the spool with all files. */
void spool_close(struct spool *spool);

/* ---- tool_query.c: starts several of the machine's tools at once and reads their output ---- */

#define COMMAND_MAX_OUTPUT (64u << 10)
#define COMMAND_LAST_LINE 512
#define COMMAND_MAX_ARGS 6
#define COMMAND_TIMEOUT_MS 10000
#define COMMAND_REAP_MS 1000 /* in which a killed command must end */
#define COMMAND_LOOK_MS 50   /* between two looks whether to stop */

enum command_end {
	COMMAND_NOT_STARTED, /* code: errno; 0: stopped before */
	COMMAND_EXITED,      /* code: the exit status */
	COMMAND_SIGNALED,    /* code: the signal */
	COMMAND_KILLED,      /* took too long, or was stopped */
};

struct command {
	const char *argv[COMMAND_MAX_ARGS + 1]; /* argv[0]: a path; NULL-terminated */
	bool errors;                            /* read stderr, not stdout */
	bool explained;                         /* keep the last line of stderr, too, in last_line */
	const char *const *environment;         /* "NAME=value", ended by NULL; NULL: this process's */
	struct buf output;                      /* at most COMMAND_MAX_OUTPUT bytes, then what one read has brought */
	enum command_end end;
	int code;                          /* as `end` says */
	bool passed;                       /* exited with 0 */
	char last_line[COMMAND_LAST_LINE]; /* one line of UTF-8; "": none */
	pid_t pid;                         /* internal */
	int fds[2];                        /* internal */
	struct buf said;                   /* internal */
};

/*
 * Runs all commands side by side without input, and waits until the last has ended. Kills a command that takes longer
 * than COMMAND_TIMEOUT_MS, and all of them once another thread sets *stop (NULL: none does). The caller owns the
 * outputs. For trusted programs of this machine only. [any, blocks]
 */
void tool_query_run(struct command *commands, size_t count, const atomic_bool *stop);
/* The first line of an output without its newline, or "". Borrowed; the output ends there afterwards. */
const char *tool_query_line(struct command *command);

/* ---- gpu.c: this machine's GPUs, as kettle-gpu reports them, and what slowed them between two readings ---- */

#define GPU_FREE_MS 5000                          /* for a driver to free the memory of ended processes */
#define GPU_COOL_MS 10000                         /* for a throttled GPU to recover before its step is repeated */
#define GPU_POLL_MS 100                           /* between two readings in these times */
#define GPU_FREED_POLL_MS 10                      /* likewise while processes are ending, so much longer each time */
#define GPU_FREED_LEFT_BYTES (UINT64_C(16) << 20) /* bytes in use above the idle value that count as freed */
#define GPU_LEFT_BYTES (UINT64_C(256) << 20)      /* bytes in use above the idle value that are allowed */
#define GPU_PREPARED_BYTES (UINT64_C(1) << 30)    /* that a process which waits for a run may hold, by default */
#define GPU_SLOWED_NS 1000000                     /* how long a GPU may be slowed between two readings */

/*
 * Whether the machine may have GPUs: there is a driver's control node, or exec.yml or the environment (KETTLE_NVML,
 * KETTLE_ROCM_SMI) names a library. [any]
 */
bool gpu_expected(const struct execconfig *config);
/*
 * The output of kettle-gpu: {"gpus": [facts], "errors": [{"vendor", "error"}]}. New reference. KETTLE_EUNAVAIL: it
 * could not be started, did not end in time, or printed no reading. [any, blocks]
 */
int gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err);
/* The same for people: without a reading, no GPUs and why as the one error (without a vendor). [any, blocks] */
json_t *gpu_read_or_explain(const struct execconfig *config);

/*
 * One GPU of a reading. Strings and JSON are borrowed from the reading. A value that its driver does not report is
 * NULL, or -1 for a number.
 */
struct gpu {
	const json_t *json; /* the object in the reading; NULL: the GPU is not in it, and nothing is known of it */
	const char *vendor, *uuid, *name, *driver, *cuda;
	json_int_t index, minor, render; /* minor, render: the numbers of the device nodes of NVIDIA and AMD */
	json_int_t used;                 /* bytes of memory in use */
	json_t *clocks, *temperature, *power_mw, *throttle, *slowed_ns, *processes;
};
/* The GPU that an object of a reading describes. [any] */
struct gpu gpu_of(const json_t *json);
/* The GPU with this index or UUID. [any] */
struct gpu gpu_find(const json_t *reading, const char *gpu);
/* Says in a sentence why a GPU is not in a reading. [any] */
int gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err);
/* Only clocks, temperature, power and throttle reasons. New reference. [any] */
json_t *gpu_state(const struct gpu *gpu);
/*
 * Appends what slowed a GPU between two of its readings, each word once: heat or a lack of power, not a power cap.
 * [any]
 */
void gpu_throttled(const struct gpu *before, const struct gpu *after, json_t *reasons);
/*
 * Appends why the GPU is unfit to score by a reading (base/gpu_fitness.h), each word once. idle: no job uses it, so that
 * its processes are others'. [any]
 */
void gpu_unfit(const struct gpu *gpu, bool idle, json_t *causes);
/* Appends what to know of times between two readings of a GPU (base/gpu_fitness.h), each word once. [any] */
void gpu_remarks(const struct gpu *before, const struct gpu *after, json_t *remarks);
/* Adds "unfit" and "remarks" to an object of a reading, by this reading alone; idle as in gpu_unfit. [any] */
void gpu_fitness_add(json_t *json, bool idle);
/*
 * Takes processes of this kettle-exec that wait on a GPU out of its object in a reading, and sets "prepared", the bytes
 * that they hold: as the driver says, or `most`. pids: their numbers; 0 for one that the driver lists under another
 * number, as in a container, -1 for one that it does not list. [any]
 */
void gpu_take_prepared(json_t *json, const json_t *pids, uint64_t most);
/*
 * Whether more memory is in use than `left` bytes above the idle value (a number; NULL: false) and "prepared". [any]
 */
bool gpu_is_occupied(const struct gpu *gpu, const json_t *idle, uint64_t left);

/* ---- gpu_nodes.c: GPUs in a sandbox: device nodes, and the variables that name them ---- */

/*
 * Appends the device nodes of GPUs (indices or UUIDs) to a list of paths: their own, as far as the reading (NULL: there
 * is none) or an index tells them, those that all GPUs of a vendor share, and with `profile` those that only profilers
 * need. Without GPUs: nothing.
 */
void gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, bool profile, struct strings *paths);
/* Appends the folders in which the runtimes of these GPUs look the GPUs up. */
void gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders);
/* Sets the variables that let the runtimes of NVIDIA and AMD see only these GPUs. */
void gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment);

/* ---- gpuwatch.c: whether a job's GPUs are there and free before and after it, and what slowed them ---- */

/* The GPUs of a job. It must not change while a function below uses it. */
struct gpuwatch {
	const struct execconfig *config;
	struct strings gpus; /* indices or UUIDs */
	json_t *idle;        /* UUID → bytes in use when idle; NULL: other jobs use them, too */
	bool score;          /* they must be fit to score */
	json_t *prepared;    /* GPU → numbers of processes that wait on it for a run; NULL: there are none */
};

/*
 * Reads the GPUs, and waits up to GPU_FREE_MS until ended processes use no more memory. *ret_reading: the last reading,
 * a new reference, or NULL. Returns GPU → sentence for each GPU that is missing or not free; new reference. With
 * watch->score it waits in the same way for GPUs that are unfit, and sets GPU → [cause] in `unfit`, an object. [any,
 * blocks]
 */
json_t *gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading, json_t *unfit);
/*
 * Waits until the GPUs are freed, while the processes of a step are still listed as exiting: the driver lists no process,
 * but for those in watch->prepared, and no memory above what an idle GPU uses; or until `ended`, a descriptor, is
 * readable, since they have ended; once the driver does not say, only for that. False: neither came within ms.
 * *ret_reading: the reading that shows them freed, a new reference; untouched if there is none. [any, blocks]
 */
bool gpuwatch_await_freed(const struct gpuwatch *watch, int ended, int ms, json_t **ret_reading);
/*
 * Reads the GPUs after a step: {"gpus": [{"index", "uuid", "name", "before", "after"}], "throttled": [word], "unfit":
 * {GPU: [cause]} for those that were or are unfit to score, "remarks": [word]}. before: the reading before the step. With `cool`, waits up to GPU_COOL_MS for a throttled GPU to recover. *ret_reading: a
 * reading after the step, or NULL; then the last reading, a new reference; NULL: there is none. New reference; NULL: nothing is known, and err has the reason if
 * it is the driver's. [any, blocks]
 */
json_t *gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err);
/* The same of GPUs that could not be read after a step. New reference. [any] */
json_t *gpuwatch_unreadable(const struct gpuwatch *watch);
/* Lowers the values in idle (UUID → bytes) to those of the GPUs in a reading. */
void gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus);
