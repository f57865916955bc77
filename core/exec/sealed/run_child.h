/* SPDX-License-Identifier: MIT */
/* A child with given input, whose lines are read until it ends or is ended. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/line.h"

#define RUN_CHILD_CANCEL_MS 5000  /* from the signal that ends this process until the child is killed */
#define RUN_CHILD_EXIT_MS 15000   /* from the child's last line until it is killed */
#define RUN_CHILD_REAP_MS 2000    /* from the kill until the child is left alone */
#define RUN_CHILD_LAST_STDERR 400 /* bytes that are kept of the last line of its standard error */

/* The return values of a reader of lines: more may follow; it was the last line; the child may not print this line. */
enum run_child_line { RUN_CHILD_MORE = 0, RUN_CHILD_LAST = 1, RUN_CHILD_INVALID = 2 };

/* The end of the child. */
struct run_child_end {
	int status;  /* as from waitpid; -1: it did not end */
	int told;    /* the signal that told this process to end; 0: none */
	bool killed; /* it did not end in time, or printed an invalid line */
	bool invalid_lines;
	char last_stderr[RUN_CHILD_LAST_STDERR]; /* UTF-8, one line; "": none */
};

/*
 * Runs the present program with other arguments and an input, and calls on_line for each line of its output, of at most
 * max_line bytes. Blocks SIGTERM, SIGINT and SIGHUP from now on, so that the caller can still write the result: passes
 * the first one on as SIGTERM; the second one kills the child. The child gets SIGTERM when this process dies, and
 * leaves no core dump. For single-threaded programs only. EIO: it cannot be started. [blocks]
 */
int run_child(char *const *argv, const char *input, size_t size, size_t max_line, line_fn on_line, void *arg,
	struct run_child_end *ret_end, struct kettle_error *err);
