/* SPDX-License-Identifier: MIT */
/* The two ways to run: many jobs, line by line, until the input ends; or one plan. */
#ifndef KETTLE_EXEC_SERVE_H
#define KETTLE_EXEC_SERVE_H

#include "exec/context/exec_context.h"

#define SERVE_MAX_LINE (64u << 20) /* bytes of a line, and of a plan's file */
#define SERVE_END_MS 15000         /* after the end of the lease: for everything to die */
#define SERVE_FLUSH_MS 2000        /* for the reader to take what was written last */

/* The exit statuses of kettle-exec. */
enum serve_status { SERVE_PASSED = 0, SERVE_FAILED = 1, SERVE_USAGE = 2, SERVE_UNABLE = 3 };

/* Both run until the end and return the exit status; a trouble of the start is told on stderr. */
int serve_lines(const struct exec_options *options);
/* path "-": standard input. */
int serve_plan(const struct exec_options *options, const char *path);

#endif
