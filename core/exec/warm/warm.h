/* SPDX-License-Identifier: MIT */
/* Warm processes: interpreters that have imported the modules of steps, and that steps begin from as copies. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/tools/tools.h"
#include "exec/util/cores.h"
#include "exec/util/json_writer.h"
#include "exec/util/strings.h"
#include "sandbox/sandbox.h"

#define WARM_START_MS 60000    /* for an interpreter to import, by default, */
#define WARM_RECIPE_MS 30000   /* and for each of its recipes, likewise; or, if that is longer, */
#define WARM_RECIPE_IMPORTS 40 /* times the time of its imports: a slow machine is slow in both */
/* The delay after a failure in which such steps begin cold, or without the failed recipe (then it doubles). */
#define WARM_RETRY_MS 300000
#define WARM_LOOK_MS 2000  /* between two checks of the disk */
#define WARM_LATER_MS 20   /* from the start of a run to the next copy */
#define WARM_PROCESSES 4   /* at once, by default; together they have */
#define WARM_MEMORY_PART 4 /* this part of the machine's memory, by default */
#define WARM_FAILED_MAX 32 /* failed ones that are remembered */
#define WARM_ASKED 16      /* weight of a step's request; halved when another process must end */
#define WARM_FORKS 1000    /* copies of one process, by default */
#define WARM_BINDS 3       /* binds of warm_binds, at most */
#define WARM_IDLE_MS 10000 /* without a job, until missing processes are started, by default */

struct warm;         /* all warm processes of a kettle-exec; opaque. All functions run on the loop thread */
struct warm_process; /* one of them; opaque */
struct warm_layer;   /* a folder that compilers' caches begin with; opaque */

/*
 * The things that a step must find as in a fresh interpreter. A process serves the steps for which all of them are
 * equal.
 */
struct warm_key {
	const struct tool *tool;
	const struct strings *modules;
	const struct strings *recipes; /* work done once, by names that the extension knows; NULL: none */
	const json_t *environment;     /* all variables that may be read at the start or by an import */
	const struct cores *cores;     /* libraries count them */
};
/* A step that may wait. Zero-initialise; it must stay where it is while it waits. */
struct warm_waiter {
	struct warm_process *process; /* after the wait: begin from it, in this turn of the loop; NULL: begin cold */
	bool again;                   /* search again, since the process was outdated */
	void (*ended)(void *arg);
	void *arg;
	struct warm_waiter *next;
	struct warm_process *of; /* the process that it waits for or holds */
	bool holds;
};

/* The setup of all warm processes. Its fields are borrowed until warm_free. */
struct warm_setup {
	uv_loop_t *loop;
	struct json_writer *out; /* for `error` events; NULL: only warm_told has them */
	struct sandbox_machine *machine;
	const struct cores *build;       /* cores for processes that have imported; may change */
	const char *spool;               /* folder for their memory */
	const json_t *section;           /* `warm` of exec.yml, or NULL */
	const struct execconfig *config; /* for processes that are prepared on GPUs; NULL: there are none */
	const char *memory; /* file that keeps the requests of steps over restarts; NULL: no process is kept ready */
	const struct devlock_table *locks; /* while another process holds one, only requests of steps start processes */
};

/* NULL: exec.yml forbids warm processes, or they were not built; then everything begins cold. */
struct warm *warm_open(const struct warm_setup *setup);
/* Ends all processes; no step may wait. The loop's next turns close their handles. NULL is allowed. */
void warm_close(struct warm *warm);
/*
 * Ends all processes that no step waits for, since later plans were made otherwise and may not need them. The next step
 * that needs one starts it. NULL is allowed.
 */
void warm_drop(struct warm *warm);
/* Call it after these turns of the loop. NULL is allowed. */
void warm_free(struct warm *warm);

/*
 * Looks for a process for the key. True: one is being started or checked, and `ended` is called once, later. False:
 * wait->process has the result at once. `warm` may be NULL.
 */
bool warm_request(struct warm *warm, const struct warm_key *key, struct warm_waiter *wait);
/* Stops waiting or holding, if it does. */
void warm_cancel_request(struct warm_waiter *wait);
/*
 * Keeps a process that was found from being ended to make room, while the step requests another one. `ended` is not
 * called. Does nothing for one that found none.
 */
void warm_hold(struct warm_waiter *wait);
/*
 * The process that it held counts as found again, if this is the same turn of the loop; else request it again. Does
 * nothing for one that holds none.
 */
void warm_let_go(struct warm_waiter *wait);
/*
 * Adds the binds that let programs which the run starts under the interpreter's name begin warm. folders: those that
 * the sandbox shows already. Returns the number of binds; their texts belong to the process.
 */
size_t warm_binds(
	const struct warm_process *process, const struct strings *folders, struct sandbox_bind binds[WARM_BINDS]);
/*
 * The folder of files that the process's recipes compiled, which must be below all other layers in the caches of steps
 * that begin with it. NULL: there is none. It stays until every user has released it, also after the process. The path
 * belongs to the layer.
 */
struct warm_layer *warm_layer_use(struct warm_process *process);
const char *warm_layer_path(const struct warm_layer *layer);
void warm_layer_release(struct warm_layer *layer); /* NULL is allowed */
/* The process for sandbox_config; NULL for NULL. */
struct sandbox_warm *warm_sandbox(struct warm_process *process);
/*
 * Call it after a start with the process (or NULL): counts the start, and prepares the next copy when that disturbs
 * nothing.
 */
void warm_after_start(struct warm_process *process);
/*
 * Describes all processes: [{"tool", "modules", "recipes", "absent": recipes for which nothing is installed, "state":
 * "starting", "ready" or "failed", "memory": bytes of its own, and of its image if that is in memory, "disk": bytes
 * that its recipes compiled, "runs": that began with it, "prepared": copies that have opened a GPU and wait for a run}];
 * one entry for all kettle-hosts that wait. NULL is allowed. New reference.
 */
json_t *warm_describe(const struct warm *warm);
/* The sentences of its `error` events; if there are many, the last ones. NULL is allowed. New reference. */
json_t *warm_told(const struct warm *warm);
/* The bytes that all processes together may have. NULL is allowed. */
uint64_t warm_budget(const struct warm *warm);
/*
 * No job runs from now on (warm_idle), or one does (warm_busy). While none runs, the processes of recent requests are
 * started one by one, within the limits; a start that no step has requested stops, or is given up. NULL is allowed.
 */
void warm_idle(struct warm *warm);
void warm_busy(struct warm *warm);
/*
 * A step with a device begins, or waits for its process: ends the start of a process that no step has requested. True:
 * there was such a start. NULL is allowed.
 */
bool warm_yield(struct warm *warm);
/* Prepares the next copies of the two processes used last, if none is ready. Call it when nothing is measured. */
void warm_prepare(struct warm *warm);
