/* SPDX-License-Identifier: MIT */
/* What kettle-exec does: many jobs, line by line, until the input ends; one plan; or a report on its machine. */
#ifndef KETTLE_EXEC_SERVE_SERVE_H
#define KETTLE_EXEC_SERVE_SERVE_H

#include <stdbool.h>

#include "exec/context/exec_context.h"

#define SERVE_MAX_LINE (64u << 20) /* bytes of a line, and of a plan's file */
#define SERVE_MAX_LEASE 86400      /* seconds */
#define SERVE_END_MS 15000         /* after the end of the lease: for everything to die */
#define SERVE_FLUSH_MS 2000        /* for the reader to take what was written last */

/* Both run until the end and return the exit status; trouble at the start is reported on stderr. */
int serve_lines(const struct exec_options *options);
/* path "-": standard input. */
int serve_plan(const struct exec_options *options, const char *path);
/* A file, "-": standard input, of at most SERVE_MAX_LINE bytes; new bytes, a NUL behind them. [blocks] */
int serve_read_input(const char *path, char **ret_data, size_t *ret_size, struct kettle_error *err);
/*
 * Prints what the machine offers, as text or as JSON. Returns the exit status: EXEC_PASSED means that every protection
 * is there.
 */
int doctor_run(const struct exec_options *options, bool json);

#endif
