/* SPDX-License-Identifier: MIT */
/* A warm process and the pool of them, for the files of this folder. Everything on the loop thread. */
#ifndef KETTLE_EXEC_WARM_WARM_INTERNAL_H
#define KETTLE_EXEC_WARM_WARM_INTERNAL_H

#include "base/buf.h"
#include "exec/build/build.h"
#include "exec/util/work.h"
#include "exec/warm/image.h"
#include "exec/warm/warm.h"

/* In `private`; confined processes have others (confine.c). */
#define WARM_HOME "home"
#define WARM_TEMPORARY "tmp"
#define WARM_CACHE "cache"

enum state { STARTING, READY_TO_COPY, FAILED, ENDING };

/* What it is made of: a warm_key's parts, copied, since it is started after the step that first needed it may have gone. */
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
	unsigned number; /* of this start: no other one of this pool has it, as pids come again */
	uv_process_t child;
	uv_poll_t socket, output;
	uv_timer_t patience;
	unsigned handles; /* open; the last one to close may free it */
	bool running;     /* the child has not ended */
	int socket_fd, output_fd;
	int cache_fd;    /* the folder where its recipes compiled; -1: there is none, or it has not come */
	int report_fd;   /* -1: it keeps this process's rights; else a byte comes if it could not give them up */
	unsigned begun;  /* recipes; one more: it has followed all */
	uint64_t absent; /* a bit for each recipe whose package is not installed */
	struct buf printed;
	struct sandbox_warm *sandbox;
	struct work work; /* looks at the disk; counts as a handle */
	bool looking;     /* ... now: lines and paths are the pool's */
	bool changed;     /* what it found */
	char *lines;      /* paths, as they came */
	json_t *paths;    /* [[path, time and size]] */
	uint64_t looked_ns, used_ns, failed_ns;
	uint64_t memory; /* bytes when it was ready */
	struct image image;
	char *home;               /* the folder that holds the interpreter's installation */
	char *private;            /* where it may write while it imports, below the spool; NULL: it is gone */
	struct warm_layer *layer; /* NULL: it has followed no recipes */
	char *trouble;            /* from a thread: why it cannot be used; NULL: nothing */
	uint64_t bytes;           /* of them those that it has for itself, and its image */
	unsigned copies;          /* of this process */
	uint64_t runs;            /* that began with one like it, before as well */
	uint64_t requested;       /* how often steps have asked for it, halved from time to time */
	struct warm_waiter *waits;
};

struct warm_entry;

/* What is kept ready; keep.c's own. */
struct warm_keep {
	struct warm_entry *list;    /* the one that was asked for last comes first */
	struct warm_entry *current; /* that `wait` is for; NULL: none, or it was forgotten */
	struct warm_waiter wait;
	uv_timer_t timer;
	uint64_t idle_ms; /* 0: nothing is kept ready */
	unsigned round;
	bool idle;          /* no job runs */
	bool changed;       /* the file has not all of it */
	uint64_t too_large; /* bytes of the one that had no room when it was ready; 0: it had */
};

struct warm {
	struct warm_setup setup;
	struct warm_keep keep;
	struct warm_process *list;
	char *module, *stand_in; /* NULL: it is not there */
	unsigned max, max_forks;
	unsigned started;   /* interpreters, so far */
	uint64_t max_bytes; /* of all together */
	uv_timer_t later;   /* prepares the next copy while a run is under way */
	unsigned recipe_ms; /* for each recipe */
	struct recipe_backoff *refused;
	struct strings told; /* what it was about, and the sentence */
	bool closing;
	struct strings entitled; /* the keys of processes that cannot give up this process's rights */
};

/* ---- warm.c: the pool ---- */

/* Ends those that are asked for least, until all that are left are within the budget. False: this one alone is not. */
bool warm_make_room_for(struct warm_process *process);

/* The text by which a process is known that has these parts; new string. */
char *warm_key_text(const struct warm_key *parts);
/* The process that warm_request would find, where it is ready or being started; NULL: none. */
const struct warm_process *warm_find_ready(struct warm *warm, const struct warm_key *parts);
/* Like warm_request; counts: added to `requested` of the process. */
bool warm_pool_request(struct warm *warm, const struct warm_key *parts, struct warm_waiter *wait, unsigned counts);
/* See warm_open, warm_close and warm_drop, without what is kept ready. */
struct warm *warm_pool_open(const struct warm_setup *setup);
void warm_pool_close(struct warm *warm);
void warm_pool_drop(struct warm *warm);
/* Whether no step waits for what has been started, and it has room only at the end of another one. */
bool warm_is_too_large(const struct warm_process *process);

/* ---- process.c: one from its start to its end ---- */

/* Starts the interpreter of an entry of the list that has none. */
void warm_start(struct warm_process *process);
/* Ends it: a later step starts another. Frees it at once where nothing of it is left. */
void warm_end(struct warm_process *process, enum state state);
/* Looks whether what it has loaded has changed; then the steps that wait for it are told. */
void warm_check(struct warm_process *process);
/*
 * Makes the copy that the next step begins as, if there is none. False: the process is of no use any more. Rather than to
 * go on in a fresh interpreter the step then waits for another process, so that all runs of a board begin in the same way.
 */
bool warm_is_copied(const struct warm_process *process);
void warm_free_process(struct warm_process *process);

/* ---- disk_snapshot.c: what takes time on the disk: on threads of work, for the loop alone has the process meanwhile ---- */

/* Makes the folders in which it imports, unless others may write to what it would import: process->trouble. */
void warm_work_prepare(void *process);
/* Notes the state of what it has loaded, takes over what its recipes compiled, and removes its folders. */
void warm_work_stamp(void *process);
/* Whether that state is another one now: process->changed. */
void warm_work_snapshot(void *process);
void warm_work_remove(void *process);
/* Bytes of its files; NULL is allowed. */
uint64_t warm_layer_bytes(const struct warm_layer *layer);
/* Where no loop runs any more: frees it, and leaves its files to the removal of the spool. NULL is allowed. */
void warm_layer_forget(struct warm_layer *layer);

/* ---- recipe_backoff.c: recipes that have failed, and sentences that were said ---- */

/* Remembers that a recipe has failed: interpreters with the same path and environment are made without it for a while. */
void warm_refuse(struct warm_process *process, const char *recipe);
/* Adds those of the key's recipes that have not failed lately. */
void warm_accepted_recipes(
	const struct warm *warm, const struct warm_key *parts, uint64_t now, struct strings *accepted);
/* An `error` event, if the same was not said about the same before. */
void warm_tell_once(struct warm *warm, const char *about, const char *text);
void warm_free_backoffs(struct warm *warm);

/* ---- start.c: what an interpreter is started with ---- */

void warm_order_make(struct warm_order *order, const struct warm_key *key);
void warm_order_free(struct warm_order *order);
/* Where its memory will be written to, where that is of use. */
void warm_prepare_image(struct warm_process *process);
/*
 * Starts the interpreter as a child of the loop, with what a step of its kind has. Standard output and error are one
 * pipe; descriptor 3 is the socket by which it serves, 4 the file for its memory, 5 the pipe of report_fd. 0, or another
 * number.
 */
int warm_spawn(struct warm_process *process, int socket, int output, uv_exit_cb ended);

#endif
