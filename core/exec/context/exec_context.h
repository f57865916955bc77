/* SPDX-License-Identifier: MIT */
/* The state that all jobs of one kettle-exec share: the machine, its folders, its tools, locks and queues. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/build/build.h"
#include "exec/machine/machine.h"
#include "exec/tools/tools.h"
#include "exec/util/cores.h"
#include "exec/util/json_writer.h"
#include "exec/warm/warm.h"
#include "sandbox/sandbox.h"

#define EXEC_PROTOCOL 1
#define EXEC_TOOLS_FILE "tools.json" /* below the state folder: facts of tools */
#define EXEC_WARM_FILE "warm.json"   /* below the state folder: warm interpreters that steps requested */

struct job;
struct ending;

/* The exit statuses of kettle-exec. */
enum exec_status { EXEC_PASSED = 0, EXEC_FAILED = 1, EXEC_USAGE = 2, EXEC_UNABLE = 3 };

/* One kettle-exec. Everything on the loop thread. */
struct exec_context {
	uv_loop_t *loop;
	struct execconfig config;
	struct sandbox_cgroup_root *cgroup;
	struct sandbox_machine *machine;
	struct warm *warm;    /* NULL: every step begins cold */
	unsigned protections; /* protections that this machine offers */
	json_t *plan_schema;
	json_t *facts;  /* machine_describe */
	json_t *gpus;   /* the newest reading of all GPUs (gpu_read_or_explain); NULL: no driver is expected */
	bool gpus_used; /* jobs held devices when that reading began */
	json_t *idle;   /* UUID → bytes of its memory in use when it is idle */
	struct toolchain *toolchain;
	struct tool_report tools; /* for the greeting; NULLs: not known yet */
	struct cache cache;
	struct cache shared; /* results for all jobs, with a budget of their own */
	json_t *tried;       /* key of a missing shared result → number of tries of this process to make it */
	bool sharing;        /* such a result is being made */
	bool told_room;      /* the log says that the disk is too small for shared results */
	struct spool spool;
	struct devlock_table locks;
	struct build_slots builds;
	struct json_writer *out;
	struct cores all;          /* cores that this process may use */
	struct cores device;       /* cores of the units seen so far */
	struct cores spare;        /* cores that no device uses; all cores if there are none */
	const struct cores *build; /* for init, builds and warm processes: from exec.yml, or the spare ones */
	char *blobs;               /* STATE/blobs */
	char cpu_digest[DIGEST_HEX_SIZE];
	unsigned stores; /* stores into the cache since its last trim */
	bool unrecorded; /* reads of builds cannot be recorded here */
	bool told_path;  /* the log says that PATH lacks a tool's folder */
	bool alone;      /* for a single job: files of compilers are kept for this job only */
	bool told_jit;   /* the log says that files of runs cannot be kept */
	struct job *jobs;
	struct ending *endings; /* sandboxes of ended runs whose processes are still listed (job/ending.c) */
	void (*on_done)(void *arg, enum exec_status status); /* called after the `done` of a job; may be NULL */
	void (*on_idle)(void *arg);                          /* called when it is no longer busy; may be NULL */
	void *arg;
};

/* The options for opening a kettle-exec; strings may be NULL. */
struct exec_options {
	const char *config, *settings, *state, *level;
	unsigned lease_s; /* of --serve: it ends after so long without a line; 0: only with its input */
};

/*
 * Reads the configuration, probes the machine, makes the folders, and removes folders of ended processes. `out` is
 * borrowed. Call exec_context_close also after a failure.
 */
int exec_context_open(struct exec_context *exec, uv_loop_t *loop, struct json_writer *out,
	const struct exec_options *options, struct kettle_error *err);
/* Call it when it is not busy. The loop's next turn closes its handles. */
void exec_context_close(struct exec_context *exec);

/* Sends an event. */
void exec_context_emit(struct exec_context *exec, json_t *event_take);
/* The greeting, without tools and packages until they are known. New reference. */
json_t *exec_context_hello(struct exec_context *exec);
/* Whether there are jobs, or processes of ended ones. */
bool exec_context_is_busy(const struct exec_context *exec);
/* Whether no job of this machine holds a device, nor processes of an ended one. */
bool exec_context_is_idle(const struct exec_context *exec);
/*
 * Takes a newer reading of the GPUs (gpu_read_or_explain). used: jobs held devices when it began, so that processes in it
 * may be theirs.
 */
void exec_context_take_gpus(struct exec_context *exec, json_t *reading_take, bool used);
/*
 * Notes that a device runs on these cores. Moves this process and its inits off them if other cores are left, so that
 * they do not disturb timed steps.
 */
void exec_context_avoid_cores(struct exec_context *exec, const struct cores *cores);
/* Whether a code blames the input, not this machine. */
bool exec_is_usage(int code);
