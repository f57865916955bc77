/* SPDX-License-Identifier: MIT */
/* kettle-exec --sealed: one job, whose plan comes and whose result goes in an envelope. */
#ifndef KETTLE_EXEC_SEALED_SEALED_RUN_H
#define KETTLE_EXEC_SEALED_SEALED_RUN_H

#include "exec/context/exec_context.h"

#define SEALED_RUN_MAX_ID 200 /* bytes of --run */

/* How it is called. */
struct sealed_options {
	const char *envelope;                  /* "-": standard input */
	const char *result;                    /* the file that it writes */
	const char *key_file, *progress, *run; /* NULL: not given */
};

/*
 * Opens the envelope, has a child carry out what is in it, and writes the sealed result. The exit status: EXEC_PASSED
 * when there is a result, whatever it says; EXEC_USAGE; EXEC_UNABLE when the envelope cannot be opened or the result not
 * be written. Trouble is reported on stderr, without a word of what was in the envelope. Call it before the process has
 * threads.
 */
int sealed_run(const struct exec_options *exec, const struct sealed_options *options);

#endif
