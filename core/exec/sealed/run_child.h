/* SPDX-License-Identifier: MIT */
/* A child that gets its input and whose lines are read, until it ends or is ended. */
#ifndef KETTLE_EXEC_SEALED_RUN_CHILD_H
#define KETTLE_EXEC_SEALED_RUN_CHILD_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/line.h"

#define RUN_CHILD_CANCEL_MS 5000  /* from the signal that ends us: for its steps to end; then it is killed */
#define RUN_CHILD_EXIT_MS 15000   /* from its last line: for it to end; then it is killed */
#define RUN_CHILD_REAP_MS 2000    /* from the kill: for it to be gone; then it is left alone */
#define RUN_CHILD_LAST_STDERR 400 /* bytes kept of the last line of its standard error */

/* What a reader of lines returns: more may come, it was the last one, or it is none that this child may print. */
enum run_child_line { RUN_CHILD_MORE = 0, RUN_CHILD_LAST = 1, RUN_CHILD_INVALID = 2 };

/* How it ended. */
struct run_child_end {
	int status;  /* as waitpid has it; -1: it would not end */
	int told;    /* the signal by which this process was told to end; 0: none */
	bool killed; /* it did not end in time, or printed what it may not */
	bool invalid_lines;
	char last_stderr[RUN_CHILD_LAST_STDERR]; /* UTF-8, one line; "": none */
};

/*
 * Runs this very program with other arguments and an input, and calls on_line for each line that it prints, of at
 * most max_line bytes. SIGTERM, SIGINT and SIGHUP are blocked from here on, so that what comes of it can still be written: the first one is
 * passed on as SIGTERM, the second one kills. The child gets SIGTERM when this process dies, and leaves no core dump. Single-threaded programs only. EIO: it cannot be
 * started. [blocks]
 */
int run_child(char *const *argv, const char *input, size_t size, size_t max_line, line_fn on_line, void *arg,
	struct run_child_end *ret_end, struct kettle_error *err);

#endif
