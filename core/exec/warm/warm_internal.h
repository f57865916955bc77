/* SPDX-License-Identifier: MIT */
/* A warm process and the pool of them, for the files of this folder. Loop thread. */
#pragma once

#include "base/buf.h"
#include "exec/build/build.h"
#include "exec/util/work.h"
#include "exec/warm/image.h"
#include "exec/warm/prepared.h"
#include "exec/warm/warm.h"

/* Folders in `private`; confined processes have others (confine.c). */
#define WARM_HOME "home"
#define WARM_TEMPORARY "tmp"
#define WARM_CACHE "cache"

enum state { STARTING, READY_TO_COPY, FAILED, ENDING };

/* The parts of a warm_key, copied, since the process may start after the end of the step that first needed it. */
struct warm_order {
	char *name, *path, *real; /* of the interpreter */
	struct strings modules, recipes;
	json_t *environment;
	struct cores cores;
};

struct warm_process {
	struct warm *pool;
	struct warm_order order;
	struct warm_process *next;
	char *key;
	enum state state;
	unsigned number; /* number of its start, unique in the pool, since pids recur */
	uv_process_t child;
	uv_poll_t socket, output;
	uv_timer_t patience;
	unsigned handles; /* open handles; closing the last one may free the process */
	bool running;     /* the child has not ended */
	int socket_fd, output_fd;
	int cache_fd;   /* the folder in which its recipes compiled; -1: none, or not yet */
	int report_fd;  /* -1: it keeps this process's rights; else it gets a byte if the process could not give them up */
	unsigned begun; /* recipes that were begun; one more: all were followed */
	uint64_t launched_ns;
	unsigned patience_ms; /* for each of its recipes */
	bool paused;          /* stopped, while a recipe is followed */
	uint64_t left_ms;     /* of the time of this recipe, when it was paused */
	uint64_t absent;      /* a bit for each recipe whose package is not installed */
	struct buf printed;
	struct sandbox_warm *sandbox;
	struct work work; /* checks the disk; counts as a handle */
	bool looking;     /* a check is under way: lines and paths belong to its thread */
	bool changed;     /* the result of the check */
	char *lines;      /* paths, as received */
	json_t *paths;    /* [[path, time and size]] */
	uint64_t looked_ns, used_ns, failed_ns;
	uint64_t memory; /* bytes when it was ready */
	struct image image;
	char *home;               /* the folder with the interpreter's installation */
	char *private;            /* below the spool: where it may write while it imports; NULL: removed */
	struct warm_layer *layer; /* NULL: it has followed no recipes */
	char *trouble;            /* from a thread: why it cannot be used; NULL: it can */
	uint64_t bytes;           /* bytes of its own memory, and of its image */
	unsigned copies;          /* of this process */
	uint64_t runs;            /* that began with this process or an earlier one like it */
	uint64_t requested;       /* requests of steps, halved from time to time */
	struct warm_waiter *waits;
};

struct warm_entry;

/* The processes that are kept ready; belongs to keep.c. */
struct warm_keep {
	struct warm_entry *list;    /* the last requested entry comes first */
	struct warm_entry *current; /* the entry that `wait` is for; NULL: none, or it was forgotten */
	struct warm_waiter wait;
	uv_timer_t timer;
	uint64_t idle_ms; /* 0: no process is kept ready */
	unsigned round;
	bool idle;          /* no job runs */
	bool changed;       /* the file is not up to date */
	uint64_t too_large; /* bytes of a process that had no room when it was ready; 0: it had */
};

struct warm {
	struct warm_setup setup;
	struct warm_keep keep;
	struct warm_process *list;
	char *module, *stand_in; /* NULL: it does not exist */
	unsigned max, max_forks;
	unsigned started;             /* interpreters started so far */
	uint64_t max_bytes;           /* limit for all together */
	uv_timer_t later;             /* prepares the next copy during a run */
	unsigned start_ms, recipe_ms; /* for the imports, and for each recipe; 0: in proportion to the imports */
	struct recipe_backoff *refused;
	struct strings told; /* subject and sentence, in turns */
	bool closing;
	struct prepared_place *places; /* GPUs on which processes are prepared */
	enum warm_prepare prepare;
	unsigned prepare_count;        /* for the GPUs of a unit */
	struct strings gpus_used;      /* by the processes of steps, each as often as by one */
	struct prepared_waiter *woken; /* whose `ended` is called in a later turn of the loop, */
	uv_timer_t wake;               /* by this */
	uv_timer_t prepared_watch;
	struct strings entitled; /* keys of processes that cannot give up this process's rights */
};

/* ---- warm.c: the pool ---- */

/* Ends the processes with the fewest requests until the rest is within the budget. False: this one alone exceeds it. */
bool warm_make_room_for(struct warm_process *process);

/* The text of a key. New string. */
char *warm_key_text(const struct warm_key *parts);
/* The process that warm_request would find, if it is ready or starting; NULL: none. */
const struct warm_process *warm_find_ready(struct warm *warm, const struct warm_key *parts);
/* As warm_request. counts: added to `requested` of the process. */
bool warm_pool_request(struct warm *warm, const struct warm_key *parts, struct warm_waiter *wait, unsigned counts);
/* As warm_open, warm_close and warm_drop, without the processes that are kept ready. */
struct warm *warm_pool_open(const struct warm_setup *setup);
void warm_pool_close(struct warm *warm);
void warm_pool_drop(struct warm *warm);
/* Whether only the round that keeps processes ready waits for the process. */
bool warm_is_for_no_step(const struct warm_process *process);
/* Whether no step waits for the process, and there is room for it only if another one ends. */
bool warm_is_too_large(const struct warm_process *process);

/* ---- process.c: a process from its start to its end ---- */

/* The time for a recipe of an interpreter whose imports took so long. configured: 0, or the time itself. */
unsigned warm_recipe_ms(unsigned configured, unsigned imports_ms);
/* Starts the interpreter for an entry of the list that has none. */
void warm_start(struct warm_process *process);
/* Ends the process; a later step starts another. Frees it at once if it has no open handles. */
void warm_end(struct warm_process *process, enum state state);
/* Checks whether its loaded files have changed, then resumes the steps that wait for it. */
void warm_check(struct warm_process *process);
/*
 * Stops a process that follows its recipes, and the time that it has for them, until warm_resume. False: it cannot be
 * stopped there, as while it imports.
 */
bool warm_pause(struct warm_process *process);
void warm_resume(struct warm_process *process); /* does nothing for one that is not paused */
/*
 * Makes the copy for the next step, if there is none. False: the process cannot be used any more. The step then waits
 * for another process instead of using a fresh interpreter, so that all runs of a board begin in the same way.
 */
bool warm_is_copied(const struct warm_process *process);
void warm_free_process(struct warm_process *process);

/*
 * ---- disk_snapshot.c: slow work on the disk, on threads of work; of the loop's functions none uses the process
 * meanwhile ----
 */

/*
 * Makes the folders in which the process imports. Fails if others may write to code that it would import:
 * process->trouble.
 */
void warm_work_prepare(void *process);
/* Records the state of its loaded files, takes the files that its recipes compiled, and removes its folders. */
void warm_work_stamp(void *process);
/* Whether the recorded state has changed: process->changed. */
void warm_work_snapshot(void *process);
void warm_work_remove(void *process);
/* The resident bytes of a process; *ret_own: those that no file backs. 0: the process is gone. [any] */
uint64_t warm_memory_of(pid_t pid, uint64_t *ret_own);
/* The bytes of the layer's files. NULL is allowed. */
uint64_t warm_layer_bytes(const struct warm_layer *layer);
/* Frees a layer after the loop has ended, and leaves its files to the removal of the spool. NULL is allowed. */
void warm_layer_forget(struct warm_layer *layer);

/* ---- recipe_backoff.c: failed recipes, and sentences that were reported ---- */

/* Remembers a failed recipe: interpreters with the same path and environment start without it for a while. */
void warm_refuse(struct warm_process *process, const char *recipe);
/* Adds the recipes of the key that have not failed lately. */
void warm_accepted_recipes(
	const struct warm *warm, const struct warm_key *parts, uint64_t now, struct strings *accepted);
/* Sends an `error` event, unless the same sentence about the same subject was sent before. */
void warm_tell_once(struct warm *warm, const char *about, const char *text);
void warm_free_backoffs(struct warm *warm);

/* ---- start.c: arguments, environment and files for the start of an interpreter ---- */

void warm_order_make(struct warm_order *order, const struct warm_key *key);
void warm_order_free(struct warm_order *order);
/* Prepares the file for the process's memory, if it is of use. */
void warm_prepare_image(struct warm_process *process);
/*
 * Starts the interpreter as a child of the loop, with the settings of its steps. Standard output and error are one
 * pipe; descriptor 3 is the socket by which it serves, 4 the file for its memory, 5 the pipe of report_fd. 0, or
 * another number on an error.
 */
int warm_spawn(struct warm_process *process, int socket, int output, uv_exit_cb ended);
