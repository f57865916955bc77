/* SPDX-License-Identifier: MIT */
/* The tasks of kettle-exec: many jobs, line by line, until the input ends; a single plan; a report on its machine. */
#pragma once

#include <stdbool.h>

#include "exec/context/exec_context.h"

#define SERVE_MAX_LINE (64u << 20) /* bytes of a line, and of a plan's file */
#define SERVE_MAX_LEASE 86400      /* seconds */
#define SERVE_END_MS 15000         /* from the end of the lease until all processes have died */
#define SERVE_FLUSH_MS 2000        /* for the reader to take the last output */

/* Runs many jobs until the end. Returns the exit status; reports failures of the start on stderr. */
int serve_lines(const struct exec_options *options);
/* As serve_lines, for a single plan. path "-": standard input. */
int serve_plan(const struct exec_options *options, const char *path);
/* Reads a file ("-": standard input) of at most SERVE_MAX_LINE bytes. New bytes, followed by a NUL. [blocks] */
int serve_read_input(const char *path, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Prints what the machine offers, as text or JSON. Returns the exit status; EXEC_PASSED: every protection is there. */
int doctor_run(const struct exec_options *options, bool json);
