/* SPDX-License-Identifier: MIT */
/* Children: the program under its profiler, watched until its end, and tools that read what a profiler left. */
#ifndef KETTLE_PROFILE_CHILD_H
#define KETTLE_PROFILE_CHILD_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#define CHILD_MAX_CONTROLS 2
#define CHILD_MAX_WORDS 1100 /* of a command line, the program's own included */
#define CHILD_TAIL_SIZE 4096 /* bytes of stderr that are remembered */
#define CHILD_ACK_MS 5000    /* for so long a profiler may think about a command */

/* The variable that names the descriptors by which a harness says when to measure: "WRITE,READ". See docs/tasks.md. */
#define CHILD_CONTROL_VARIABLE "KETTLE_PROFILE_CONTROL"

/* Both ends of the two pipes by which a profiler is made to go on or to pause; its own two go on its command line. */
struct child_control {
	int commands[2], answers[2]; /* it reads commands[0] and writes answers[1] */
};

/* One run of the program. Zero-initialise, fill in, run once, close. One thread. */
struct child {
	const char *words[CHILD_MAX_WORDS + 1]; /* argv, NULL-terminated; borrowed */
	size_t count;
	const char *variables[4][2]; /* further environment: name, value; until a NULL */
	struct child_control controls[CHILD_MAX_CONTROLS];
	size_t controls_count;
	int mark; /* the number to which a byte is written when the program itself is started; -1: none (child_mark) */
	/* After the run: */
	int status;                 /* as waitpid gives it */
	bool started;               /* the mark was written, or there was none */
	char tail[CHILD_TAIL_SIZE]; /* the end of what it wrote to stderr, NUL-terminated */
	int marks[2];
};

/* Adds words to the command line; too many are KETTLE_ETOOBIG when it is run. NULL ends them. */
void child_add(struct child *child, ...) __attribute__((sentinel));
void child_add_list(struct child *child, char *const *words);
/* Makes the mark, and one more control; the numbers are then known. KETTLE_EIO. */
int child_make_mark(struct child *child, struct kettle_error *err);
int child_make_control(struct child *child, struct kettle_error *err);
/*
 * Runs it to its end. Its stderr goes on to ours. With controls, it finds CHILD_CONTROL_VARIABLE, and what it says there
 * ("enable\n", "disable\n") is passed to all of them, and answered with "ack\n" when they have. [blocks]
 */
int child_run(struct child *child, struct kettle_error *err);
void child_close(struct child *child);

/* Bytes of a tool's stdout; a value other than 0 ends the tool. */
typedef int (*child_take)(void *arg, const char *data, size_t size);
/*
 * Runs a tool (NULL-terminated argv), its stderr left out, and passes on what it prints. KETTLE_EUNAVAIL with a sentence:
 * it failed or took longer than `seconds`; else what `take` returned. [blocks]
 */
int child_read(const char *const *argv, unsigned seconds, child_take take, void *arg, struct kettle_error *err);

#endif
