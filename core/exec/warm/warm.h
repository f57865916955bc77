/* SPDX-License-Identifier: MIT */
/* Warm processes: interpreters that have imported what steps need, and that steps begin from as copies. */
#ifndef KETTLE_EXEC_WARM_WARM_H
#define KETTLE_EXEC_WARM_WARM_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/tools/tools.h"
#include "exec/util/cores.h"
#include "exec/util/json_writer.h"
#include "exec/util/strings.h"
#include "sandbox/sandbox.h"

#define WARM_START_MS 60000  /* an interpreter that imports for longer is given up, */
#define WARM_RECIPE_MS 30000 /* and one of whose recipes takes longer, by default */
/* After a failure: how long steps of that kind begin cold, or without the recipe that failed, which then doubles. */
#define WARM_RETRY_MS 300000
#define WARM_LOOK_MS 2000  /* for so long the disk is not checked again */
#define WARM_LATER_MS 20   /* into a run, the next copy is made */
#define WARM_PROCESSES 4   /* at once, by default; and all together have */
#define WARM_MEMORY_PART 4 /* this part of the machine's memory, by default */
#define WARM_FAILED_MAX 32 /* of which it is known that they cannot be made */
#define WARM_ASKED 16      /* what a step that asks for one counts; halved when another one must go */
#define WARM_FORKS 1000    /* copies of one process, by default */
#define WARM_BINDS 3       /* of warm_binds, at most */
#define WARM_IDLE_MS 10000 /* without a job, until what is missing is made ready, by default */

struct warm;         /* all of one kettle-exec; opaque. Everything here on the loop thread. */
struct warm_process; /* one of them; opaque */
struct warm_layer;   /* a folder that compilers' caches begin with; opaque */

/* What a step must find as a fresh interpreter would have it: a process serves those for which all of it is the same. */
struct warm_key {
	const struct tool *tool;
	const struct strings *modules;
	const struct strings *recipes; /* what it does once besides, by names that the extension knows; NULL: nothing */
	const json_t *environment;     /* all that may be read at the start or by an import */
	const struct cores *cores;     /* libraries count them */
};
/* A step that may wait. Zero-initialise; must stay where it is while it waits. */
struct warm_waiter {
	struct warm_process *process; /* when it is over: what to begin from, for this turn of the loop; NULL: begin cold */
	bool again;                   /* ... or rather look again: what was there is outdated */
	void (*ended)(void *arg);
	void *arg;
	struct warm_waiter *next;
	struct warm_process *of; /* what it waits for */
};

/* What all of them use; the fields are borrowed until warm_free. */
struct warm_setup {
	uv_loop_t *loop;
	struct json_writer *out; /* for `error` events; NULL: warm_told has them */
	struct sandbox_machine *machine;
	const struct cores *build; /* where they wait, once they have imported; may change */
	const char *spool;         /* folder for their memory */
	const json_t *section;     /* `warm` of exec.yml, or NULL */
	const char *memory;        /* file that outlasts this process: what steps asked for; NULL: nothing is kept ready */
	const struct devlock_table *locks; /* while another process holds one, nothing is started that no step asks for */
};

/* NULL: exec.yml forbids them, or they were not built: everything begins cold. */
struct warm *warm_open(const struct warm_setup *setup);
/* Ends all; none may wait. Their handles are closed by the loop's next turns. NULL is allowed. */
void warm_close(struct warm *warm);
/*
 * The plans that come were made otherwise than those before: ends all that no step waits for, since they may be for what
 * nothing asks for any more. The next step that needs one starts it. NULL is allowed.
 */
void warm_drop(struct warm *warm);
/* After those turns. NULL is allowed. */
void warm_free(struct warm *warm);

/*
 * Looks for a process that fits. True: one is being started or checked, and `ended` is called later, once. False:
 * wait->process says it at once. `warm` may be NULL.
 */
bool warm_request(struct warm *warm, const struct warm_key *key, struct warm_waiter *wait);
/* Stops waiting, if it waits. */
void warm_cancel_request(struct warm_waiter *wait);
/*
 * What a sandbox that begins with it sees besides, so that what the run starts under the interpreter's name begins warm,
 * too; `folders` are those that it sees already. Returns how many binds there are now; their texts are the process's.
 */
size_t warm_binds(
	const struct warm_process *process, const struct strings *folders, struct sandbox_bind binds[WARM_BINDS]);
/*
 * What its recipes compiled: a folder that the steps that begin with it must find below all else in their caches. NULL:
 * there is none. It stays until each has released it, also after the process; the path is the layer's.
 */
struct warm_layer *warm_layer_use(struct warm_process *process);
const char *warm_layer_path(const struct warm_layer *layer);
void warm_layer_release(struct warm_layer *layer); /* NULL is allowed */
/* What to give sandbox_config; NULL for NULL. */
struct sandbox_warm *warm_sandbox(struct warm_process *process);
/* After a start with it (NULL is allowed): counts, and prepares the next copy where that disturbs nothing. */
void warm_after_start(struct warm_process *process);
/*
 * What there is: [{"tool", "modules", "recipes", "absent": recipes for what is not installed, "state": "starting", "ready" or
 * "failed", "memory": bytes of its own, and of its image where that lies in memory, "disk": bytes of what its recipes
 * compiled, "runs" that began with it}]. NULL is allowed. New reference.
 */
json_t *warm_describe(const struct warm *warm);
/* The sentences of its `error` events, the last ones where there are many; NULL is allowed. New reference. */
json_t *warm_told(const struct warm *warm);
/* Bytes that all may have together; NULL is allowed. */
uint64_t warm_budget(const struct warm *warm);
/*
 * No job runs, from now on (warm_idle) or no longer (warm_busy). While none does, what steps asked for of late is made
 * ready, one by one, within the limits. NULL is allowed.
 */
void warm_idle(struct warm *warm);
void warm_busy(struct warm *warm);
/*
 * A step with a device begins, or waits for its process: what is made ready for no step ends. True: one that was being
 * started did. NULL is allowed.
 */
bool warm_yield(struct warm *warm);
/* Prepares the next copy where none is ready: at a moment when nothing is measured. */
void warm_prepare(struct warm *warm);

#endif
