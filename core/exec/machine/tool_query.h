/* SPDX-License-Identifier: MIT */
/* Runs the machine's own tools: starts several at once and takes what they print. */
#ifndef KETTLE_EXEC_MACHINE_TOOL_QUERY_H
#define KETTLE_EXEC_MACHINE_TOOL_QUERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

#define COMMAND_MAX_OUTPUT (64u << 10)
#define COMMAND_MAX_ARGS 6
#define COMMAND_TIMEOUT_MS 10000
#define COMMAND_REAP_MS 1000 /* for one that was killed to be gone */
#define COMMAND_LOOK_MS 50   /* so often it looks whether it must stop */

struct command {
	const char *argv[COMMAND_MAX_ARGS + 1]; /* argv[0]: a path; NULL-terminated */
	bool errors;                            /* what it prints on stderr is wanted, not stdout */
	const char *const *environment;         /* "NAME=value", ended by NULL; NULL: this process's */
	struct buf output;                      /* at most COMMAND_MAX_OUTPUT bytes */
	bool passed;                            /* it exited with 0 */
	pid_t pid;                              /* inner */
	int fd;                                 /* inner */
};

/*
 * Runs all of them side by side with no input, waits until the last has ended; what takes longer than
 * COMMAND_TIMEOUT_MS is killed, and so is everything once another thread sets *stop (NULL: none does). The outputs are
 * the caller's. Trusted programs of this machine only. [any, blocks]
 */
void tool_query_run(struct command *commands, size_t count, const atomic_bool *stop);
/* The first line of an output without its newline; "" when there is none. Borrowed; ends the output there. */
const char *tool_query_line(struct command *command);

#endif
