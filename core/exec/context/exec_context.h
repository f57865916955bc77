/* SPDX-License-Identifier: MIT */
/* What all jobs of one kettle-exec share: the machine, its folders, its tools, what waits for what. */
#ifndef KETTLE_EXEC_CONTEXT_EXEC_CONTEXT_H
#define KETTLE_EXEC_CONTEXT_EXEC_CONTEXT_H

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
#define EXEC_TOOLS_FILE "tools.json" /* below the state folder: the facts of tools */
#define EXEC_WARM_FILE "warm.json"   /* and the warm interpreters that steps asked for */

struct job;

/* The exit statuses of kettle-exec. */
enum exec_status { EXEC_PASSED = 0, EXEC_FAILED = 1, EXEC_USAGE = 2, EXEC_UNABLE = 3 };

/* One kettle-exec. Everything on the loop thread. */
struct exec_context {
	uv_loop_t *loop;
	struct execconfig config;
	struct sandbox_cgroup_root *cgroup;
	struct sandbox_machine *machine;
	struct warm *warm;    /* NULL: every step begins cold */
	unsigned protections; /* that this machine offers */
	json_t *plan_schema;
	json_t *facts; /* machine_describe */
	json_t *gpus;  /* the newest reading of all GPUs (gpu_read); NULL: there are none */
	json_t *idle;  /* UUID → bytes of its memory in use when nothing runs */
	struct toolchain *toolchain;
	struct tool_report tools; /* of the greeting; NULLs: not known yet */
	struct cache cache;
	struct cache shared; /* what is for all jobs; in a budget apart */
	json_t *tried;       /* key of what it lacks → how often this process has tried to make it */
	bool sharing;        /* it is made now */
	bool told_room;      /* that the disk is too small for it */
	struct spool spool;
	struct devlock_table locks;
	struct build_slots builds;
	struct json_writer *out;
	struct cores all;          /* that this process may use */
	struct cores device;       /* of the units seen so far */
	struct cores spare;        /* that no device uses; all where that leaves none */
	const struct cores *build; /* for init, builds and warm processes: exec.yml's, or the spare ones */
	char *blobs;               /* STATE/blobs */
	char cpu_digest[DIGEST_HEX_SIZE];
	unsigned stores; /* into the cache since it was last trimmed */
	bool unrecorded; /* what builds read cannot be found out here */
	bool told_path;  /* that PATH lacks a tool's folder */
	bool alone;      /* for a single job: what compilers leave is kept for that one */
	bool told_jit;   /* that nothing of a run can be kept */
	struct job *jobs;
	void (*on_done)(void *arg, enum exec_status status); /* after the `done` of a job; may be NULL */
	void (*on_idle)(void *arg);                          /* the last job has gone; may be NULL */
	void *arg;
};

/* How a kettle-exec is opened; strings may be NULL. */
struct exec_options {
	const char *config, *settings, *state, *level;
	unsigned lease_s; /* of --serve: it ends when no line came for so long; 0: only with its input */
};

/*
 * Reads the configuration, probes the machine, makes the folders, removes those of ended processes. `out` is borrowed.
 * After a failure too, exec_context_close must be called.
 */
int exec_context_open(struct exec_context *exec, uv_loop_t *loop, struct json_writer *out,
	const struct exec_options *options, struct kettle_error *err);
/* No job may be left. Its handles are closed by the loop's next turn. */
void exec_context_close(struct exec_context *exec);

/* Sends an event. */
void exec_context_emit(struct exec_context *exec, json_t *event_take);
/* The greeting, without tools and packages as long as they are not known; new reference. */
json_t *exec_context_hello(struct exec_context *exec);
/* Takes a newer reading of the GPUs; NULL: it failed, and is replaced by one without GPUs. */
void exec_context_take_gpus(struct exec_context *exec, json_t *reading_take);
/*
 * Notes that a device runs on these cores, and keeps this process and its inits off them where others are left, so that
 * they do not disturb timed steps.
 */
void exec_context_avoid_cores(struct exec_context *exec, const struct cores *cores);
/* Whether a code means that the input was at fault, not this machine. */
bool exec_is_usage(int code);

#endif
