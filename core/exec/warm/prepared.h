/* SPDX-License-Identifier: MIT */
/* Processes that are prepared for one run on a GPU. All functions run on the loop thread. */
#pragma once

#include "exec/warm/warm.h"

#define PREPARED_MAX 2 /* for the GPUs of a unit, by exec.yml, and by default: */
#define PREPARED_DEFAULT 1
#define PREPARED_AGE_MS 600000 /* without a run, until one is ended */
#define PREPARED_WATCH_MS 250  /* between two checks whether another kettle-exec uses a device */

enum warm_prepare { WARM_PREPARE_OFF, WARM_PREPARE_IDLE, WARM_PREPARE_ALWAYS };

/* A step that waits until a process has opened its device. Zero-initialise; it must stay where it is while it waits. */
struct prepared_waiter {
	void (*ended)(void *arg);
	void *arg;
	/* for prepared.c only */
	struct prepared_process *of; /* NULL: it does not wait */
	struct warm *woken;          /* its process is ready, or will not be; NULL: no */
	struct prepared_waiter *next;
};

/* The origin of a run: a warm process or a program. A run with neither begins from no prepared process. */
struct prepared_origin {
	struct warm_process *process; /* as a copy of it; NULL: */
	/* the sandbox_config's `file`, which does as sandbox/prepared_wire.h says, in this environment; empty: not so */
	const struct strings *environment;
};

/*
 * Whether a process for such a run, with these limits (group_bytes: of its group; 0: none), is about to be ready: then
 * `ended` is called once, later. `warm` may be NULL.
 */
bool prepared_await(struct warm *warm, const struct prepared_origin *origin, const struct strings *gpus,
	const struct sandbox_limits *limits, uint64_t group_bytes, struct prepared_waiter *wait);
void prepared_cancel(struct prepared_waiter *wait);
/*
 * A run on these GPUs begins, and uses them until prepared_end_use: returns a prepared sandbox for it, which the caller
 * resumes and frees, or NULL, and remembers what to prepare for such runs. Ends those that are in the way of the run.
 * *group: that of the run's processes, of which none has begun, or NULL; a prepared sandbox of such a run has one
 * already, which takes its place.
 */
struct sandbox *prepared_take(struct warm *warm, const struct prepared_origin *origin, const struct strings *gpus,
	const struct sandbox_config *config, struct sandbox_group **group);
/* The processes of a step that used these GPUs have ended. */
void prepared_end_use(struct warm *warm, const struct strings *gpus);
/* Those that may hold memory of a GPU, as gpu_take_prepared has them. New reference. `warm` may be NULL. */
json_t *prepared_pids(const struct warm *warm, const char *gpu);
/* The same of all GPUs: {GPU: [number]}. New reference. */
json_t *prepared_all(const struct warm *warm);

/* ---- for the files of this folder ---- */

/* Prepares what is missing, where that is allowed now. */
void prepared_fill(struct warm *warm);
/* Ends all that began from a process (NULL: from any), and forgets what to prepare from it. */
void prepared_forget(struct warm *warm, const struct warm_process *process);
/* Ends one, whose memory another process needs. False: there is none. */
bool prepared_give_up(struct warm *warm);
/* The bytes of all of them. */
uint64_t prepared_bytes(const struct warm *warm);
/* The number of ready ones that began from this process; NULL: from a program. */
unsigned prepared_count(const struct warm *warm, const struct warm_process *process);
/* Those that began from programs, as an entry of warm_describe. New reference. */
json_t *prepared_programs(const struct warm *warm);
void prepared_open(struct warm *warm);
void prepared_close(struct warm *warm);
/* After the loop's last turn. */
void prepared_free(struct warm *warm);
