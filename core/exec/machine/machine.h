/* SPDX-License-Identifier: MIT */
/* The machine of a kettle-exec: its configuration, processor, GPUs, device locks, spool, and running its own tools. */
#ifndef KETTLE_EXEC_MACHINE_MACHINE_H
#define KETTLE_EXEC_MACHINE_MACHINE_H

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

/* {"cpu", "cores", "memory", "kernel", "platform", "host"}; new reference. What cannot be read is "unknown" or 0. */
json_t *machine_describe(void);
/* Bytes of memory, of the machine or of the cgroup that this process is in; 0: unknown. */
uint64_t machine_memory(void);
/* Bytes of the largest cache that a core can fill; 0: unknown. */
uint64_t machine_cpu_cache(int core);
/* A digest of the processor's model and flags: what `-march=native` means. */
void machine_cpu_digest(char ret_hex[DIGEST_HEX_SIZE]);

/* ---- execconfig.c: exec.yml, what kettle-exec must know of its machine ---- */

#define EXECCONFIG_CACHE_BYTES (UINT64_C(4) << 30)
#define EXECCONFIG_CACHE_SHARED (UINT64_C(4) << 30)
#define EXECCONFIG_CACHE_DAYS 30
#define EXECCONFIG_CACHE_USERS 8 /* a user's share is this part of the cache */
#define EXECCONFIG_ARTIFACTS_BYTES (UINT64_C(1) << 30)
#define EXECCONFIG_ARTIFACTS_USER_BYTES (UINT64_C(2) << 30)
#define EXECCONFIG_IO_BYTES (UINT64_C(1) << 30)
#define EXECCONFIG_IO_OPERATIONS 20000
#define EXECCONFIG_CPU_CACHE (UINT64_C(32) << 20) /* where the machine does not show it */
#define EXECCONFIG_MAX_WALL (3600 * LIMITS_SECOND)
#define EXECCONFIG_MAX_PROCESSES 4096

#define EXECCONFIG_OWN_MEMORY (UINT64_C(1) << 30)   /* for engine, kettle-exec, interpreters */
#define EXECCONFIG_BUILD_MEMORY (UINT64_C(2) << 30) /* for each build at the same time */

struct execconfig {
	json_t *root; /* the checked file; owns those below */
	json_t *tools, *env, *extra_paths;
	const json_t *report; /* atomic: execconfig_report changes it while threads read it; NULL: nothing */
	json_t *reports;      /* all that it has been since */
	const char *gpu_helper, *gpu_nvml, *gpu_rocm_smi; /* NULL: the default */
	uint64_t gpu_max_residual_bytes;                  /* bytes that may stay in use of a GPU */
	char *file;                                       /* where it came from; NULL: defaults alone */
	char *state, *locks;
	struct cores build_cores; /* empty: the ones that no device uses */
	unsigned build_jobs;
	uint64_t io_bytes, io_operations; /* a second, of each disk and run or build; 0: unlimited */
	uint64_t cache_max_bytes, cache_max_user_bytes, cache_shared_bytes;
	unsigned cache_max_age_days;
	uint64_t artifacts_max_bytes, artifacts_max_user_bytes; /* of a job; of the jobs under way of one owner */
	uint64_t memory;                                        /* of the machine; 0: unknown */
	uint64_t cpu_cache;                                     /* bytes of the processor's cache that a run can fill */
	struct limits max;
	enum sandbox_level level;
};

/*
 * Reads `path`; NULL: $XDG_CONFIG_HOME/kettle/exec.yml, else the system's kettle/exec.yml, else defaults. `state`
 * and `level` (from the command line, may be NULL) win over the file. Folders are not made here. The result is closed
 * with execconfig_close, also after a failure. `settings`: the same keys as the file's as JSON text; each of its keys
 * takes the place of the file's (NULL: none).
 */
int execconfig_load(struct execconfig *ret_config, const char *path, const char *settings, const char *state,
	const char *level, struct kettle_error *err);
void execconfig_close(struct execconfig *config);
/* From now on these tools are reported: `report` of exec.schema.json. EINVAL: it is no such list. */
int execconfig_report(struct execconfig *config, json_t *report, struct kettle_error *err);
/* Those that are reported now; NULL: nothing. Valid until execconfig_close. [any] */
const json_t *execconfig_reported(const struct execconfig *config);
/*
 * Bytes that a run gets by default on a machine with so many device slots (at least 1): an equal share of what is left
 * beside the engine and builds, at least three quarters of the machine's memory together.
 */
uint64_t execconfig_run_memory(const struct execconfig *config, unsigned slots);

/* ---- devlock.c: device locks: which job may run on a device, among all kettle-execs of a machine ---- */

#define DEVLOCK_RETRY_MS 25

/*
 * A lock is a flock on LOCKS/NAME.SLOT. The sandbox's init gets its descriptor as well, so that a job that has not quite
 * ended keeps the device even when its kettle-exec is gone. Between processes the kernel decides; within one, the lowest
 * rank goes first. All on the loop thread.
 */
struct devlock_table {
	uv_loop_t *loop;
	const char *dir; /* borrowed */
	uv_timer_t timer;
	struct devlock *waiting; /* by rank */
	unsigned held;           /* by this process */
	bool open;
};

/* One request for a device. Zero-initialise (fd -1); it must stay where it is while it waits or holds. */
struct devlock {
	int fd; /* the lock while it is held, else -1 */
	unsigned slot;
	char *name; /* as on disk, without the slot */
	unsigned slots;
	bool waits;
	uint64_t rank, since_ns, waited_ns;
	void (*granted)(void *arg);
	void *arg;
	struct devlock *next;
};

int devlock_open(struct devlock_table *table, uv_loop_t *loop, const char *dir, struct kettle_error *err);
/* Closes the timer; none may wait any more. */
void devlock_close(struct devlock_table *table);

/* The name on disk for a name of a plan: what could lead elsewhere is replaced, a digest keeps it apart. New string. */
char *devlock_name(const char *name);
/*
 * Takes one of the slots; of those that wait the lowest rank goes first. Returns 1 when it is held at once, 0 when it
 * waits (granted is called later), or a code: KETTLE_EIO, the locks cannot be made here.
 */
int devlock_acquire(struct devlock_table *table, struct devlock *lock, const char *name, unsigned slots, uint64_t rank,
	void (*granted)(void *arg), void *arg, struct kettle_error *err);
/* Gives it back or stops waiting; harmless when neither. */
void devlock_release(struct devlock_table *table, struct devlock *lock);
/* Whether another kettle-exec of this machine holds a lock, or an init that has not quite ended; false while this one does. */
bool devlock_others_hold(const struct devlock_table *table);

/* ---- spool.c: the folder of what jobs have on disk while they run; removed with its kettle-exec, or by the next ---- */

/*
 * STATE/spool/PID-RANDOM/ (0700) belongs to one kettle-exec, as long as it holds the flock on the file `lock` in it. One
 * that no process locks was left by a process that ended, and is removed when the next one opens its own.
 */
struct spool {
	char *dir;
	int lock;
	unsigned next;
};

/* Removes the folders of ended processes, makes one of its own. Opened spools must be closed. [blocks] */
int spool_open(struct spool *spool, const char *state, struct kettle_error *err);
/* A new empty folder (0700) in it; new string. */
int spool_make(struct spool *spool, const char *prefix, char **ret_dir, struct kettle_error *err);
/* Removes everything. */
void spool_close(struct spool *spool);

/* ---- tool_query.c: starts several of the machine's own tools at once and takes what they print ---- */

#define COMMAND_MAX_OUTPUT (64u << 10)
#define COMMAND_MAX_ARGS 6
#define COMMAND_TIMEOUT_MS 10000
#define COMMAND_REAP_MS 1000 /* for one that was killed to be gone */
#define COMMAND_LOOK_MS 50   /* so often it looks whether it must stop */

struct command {
	const char *argv[COMMAND_MAX_ARGS + 1]; /* argv[0]: a path; NULL-terminated */
	bool errors;                            /* what it prints on stderr is wanted, not stdout */
	const char *const *environment;         /* "NAME=value", ended by NULL; NULL: this process's */
	struct buf output;                      /* at most COMMAND_MAX_OUTPUT bytes */
	bool passed;                            /* it exited with 0 */
	pid_t pid;                              /* inner */
	int fd;                                 /* inner */
};

/*
 * Runs all of them side by side with no input, waits until the last has ended; what takes longer than
 * COMMAND_TIMEOUT_MS is killed, and so is everything once another thread sets *stop (NULL: none does). The outputs are
 * the caller's. Trusted programs of this machine only. [any, blocks]
 */
void tool_query_run(struct command *commands, size_t count, const atomic_bool *stop);
/* The first line of an output without its newline; "" when there is none. Borrowed; ends the output there. */
const char *tool_query_line(struct command *command);

/* ---- gpu.c: this machine's GPUs, as kettle-gpu reads them, and what slowed them between two readings ---- */

#define GPU_FREE_MS 5000                     /* what a driver gets to free the memory of ended processes */
#define GPU_COOL_MS 10000                    /* what a throttled GPU gets to recover before its step is repeated */
#define GPU_POLL_MS 100                      /* between two readings meanwhile */
#define GPU_LEFT_BYTES (UINT64_C(256) << 20) /* how much more than when idle may be in use */
#define GPU_SLOWED_NS 1000000                /* how long it may be slowed between two readings */

/*
 * Whether there is anything to read: a driver's control node, or a library that exec.yml or the environment
 * (KETTLE_NVML, KETTLE_ROCM_SMI) names. [any]
 */
bool gpu_expected(const struct execconfig *config);
/*
 * {"gpus": [facts], "errors": [{"vendor", "error"}]}, as kettle-gpu prints it; new reference. KETTLE_EUNAVAIL: it could
 * not be started, did not end in time, or printed no reading. [any, blocks]
 */
int gpu_read(const struct execconfig *config, json_t **ret_reading, struct kettle_error *err);

/*
 * One GPU of a reading. Strings and JSON are borrowed from the reading; what its driver does not report is NULL, -1 for a
 * number.
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
/* The GPU of that index or UUID. [any] */
struct gpu gpu_find(const json_t *reading, const char *gpu);
/* Why a GPU is not in a reading, as a sentence. [any] */
int gpu_missing(const json_t *reading, const char *gpu, struct kettle_error *err);
/* Clocks, temperature, power and throttle reasons alone. New reference. [any] */
json_t *gpu_state(const struct gpu *gpu);
/*
 * Appends what slowed it between two readings of the same GPU, each word once: heat or a lack of power, not a power cap.
 * [any]
 */
void gpu_throttled(const struct gpu *before, const struct gpu *after, json_t *reasons);
/* Whether more of its memory is in use than `left` bytes above those when it was idle (a number; NULL: false). [any] */
bool gpu_is_occupied(const struct gpu *gpu, const json_t *idle, uint64_t left);

/* ---- gpu_nodes.c: what a sandbox gets of GPUs, device nodes and the variables that name them ---- */

/*
 * Appends the device nodes of GPUs (indices or UUIDs) to a list of paths: their own, as far as the reading (NULL: there
 * is none) or an index gives them, and those that all GPUs of their maker share, or only profilers need (`profile`).
 * Without GPUs: nothing.
 */
void gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, bool profile, struct strings *paths);
/* Appends the folders in which the runtimes of these GPUs look them up. */
void gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders);
/* Sets the variables that make the runtimes of NVIDIA and AMD see these GPUs alone. */
void gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment);

/* ---- gpuwatch.c: whether the GPUs of a job are there and free before and after it, what slowed them ---- */

/* The GPUs of a job; not changed while a function below works on it. */
struct gpuwatch {
	const struct execconfig *config;
	struct strings gpus; /* indices or UUIDs */
	json_t *idle;        /* UUID → bytes in use when nothing runs; NULL: memory is not checked */
};

/*
 * Reads, and waits up to GPU_FREE_MS until ended processes use no more memory. *ret_reading: the last reading, a new
 * reference, or NULL. New reference of GPU → sentence for each that is missing or not free. [any, blocks]
 */
json_t *gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading);
/*
 * After a step: {"gpus": [{"index", "uuid", "name", "before", "after"}], "throttled": [word]}. before: the reading from
 * before it. With `cool`, a throttled GPU gets up to GPU_COOL_MS to recover before this returns. *ret_reading: the last
 * reading, a new reference, NULL: there is none. New reference; NULL: nothing is known; err then has the reason, if it
 * is the driver's. [any, blocks]
 */
json_t *gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err);
/* Notes in idle (UUID → bytes) what the GPUs of a reading use where that is less than before. */
void gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus);

#endif
