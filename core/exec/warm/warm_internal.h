/* SPDX-License-Identifier: MIT */
/* A warm process and the pool of them, for the files of this folder. Everything on the loop thread. */
#ifndef KETTLE_EXEC_WARM_WARM_INTERNAL_H
#define KETTLE_EXEC_WARM_WARM_INTERNAL_H

#include "base/buf.h"
#include "exec/util/work.h"
#include "exec/warm/image.h"
#include "exec/warm/warm.h"

enum state { STARTING, READY_TO_COPY, FAILED, ENDING };

struct warm_process {
	struct warm *pool;
	struct warm_process *next;
	char *key;
	enum state state;
	bool warned;
	uv_process_t child;
	uv_poll_t socket, output;
	uv_timer_t patience;
	unsigned handles; /* open; the last one to close may free it */
	bool running;     /* the child has not ended */
	int socket_fd, output_fd;
	int report_fd; /* -1: it keeps this process's rights; else a byte comes if it could not give them up */
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
	char *real, *home; /* the interpreter's file, and the folder that holds its installation */
	char *private;     /* its HOME while it imports, below the spool; NULL: it is gone */
	unsigned copies;
	struct warm_waiter *waits;
};

struct warm {
	struct warm_setup setup;
	struct warm_process *list;
	char *module, *stand_in; /* NULL: it is not there */
	unsigned max, max_copies;
	uv_timer_t later; /* prepares the next copy while a run is under way */
	bool closing, complained;
	struct strings entitled; /* the keys of processes that cannot give up this process's rights */
};

/* ---- start.c: what an interpreter is started with ---- */

/* Makes its HOME, unless others may write to what it would import: 0, or a code with a sentence. */
int warm_make_private(struct warm_process *process, const struct warm_key *key, struct kettle_error *err);
/* Whether its process gives up this process's rights before it imports: where that is root, and unless it cannot. */
bool warm_is_confined(const struct warm_process *process);
/* Where nothing may have been written to it, or on a thread of the pool. */
void warm_remove_private(struct warm_process *process);
/* Where its memory will be written to, where that is of use. */
void warm_prepare_image(struct warm_process *process, const struct warm_key *parts);
/*
 * Starts the interpreter as a child of the loop, with what a step of its kind has. Standard output and error are one
 * pipe; descriptor 3 is the socket by which it serves, 4 the file for its memory, 5 the pipe of report_fd. 0, or another
 * number.
 */
int warm_spawn(struct warm_process *process, const struct warm_key *key, int socket, int output, uv_exit_cb ended);

#endif
