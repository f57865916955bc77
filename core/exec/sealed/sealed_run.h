/* SPDX-License-Identifier: MIT */
/* kettle-exec --sealed: one job, whose plan and result are in envelopes. */
#pragma once

#include "exec/context/exec_context.h"

#define SEALED_RUN_MAX_ID 200 /* bytes of --run */

/* The options of a sealed run. */
struct sealed_options {
	const char *envelope;                  /* "-": standard input */
	const char *result;                    /* the file to write */
	const char *key_file, *progress, *run; /* NULL: not given */
};

/*
 * Opens the envelope, lets a child carry out its content, and writes the sealed result. Returns the exit status:
 * EXEC_PASSED if there is a result, whatever it says; EXEC_USAGE; EXEC_UNABLE if the envelope cannot be opened or the
 * result not be written. Reports failures on stderr, without any part of the envelope's content. Call it before the
 * process has threads.
 */
int sealed_run(const struct exec_options *exec, const struct sealed_options *options);
