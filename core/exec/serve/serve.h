/* SPDX-License-Identifier: MIT */
/* What kettle-exec does: many jobs, line by line, until the input ends; one plan; or a report on its machine. */
#ifndef KETTLE_EXEC_SERVE_SERVE_H
#define KETTLE_EXEC_SERVE_SERVE_H

#include <jansson.h>
#include <stdbool.h>

#include "exec/context/exec_context.h"
#include "exec/util/work.h"

#define SERVE_MAX_LINE (64u << 20) /* bytes of a line, and of a plan's file */
#define SERVE_END_MS 15000         /* after the end of the lease: for everything to die */
#define SERVE_FLUSH_MS 2000        /* for the reader to take what was written last */

/* Both run until the end and return the exit status; trouble at the start is reported on stderr. */
int serve_lines(const struct exec_options *options);
/* path "-": standard input. */
int serve_plan(const struct exec_options *options, const char *path);
/*
 * Prints what the machine offers, as text or as JSON. Returns the exit status: EXEC_PASSED means that every protection
 * is there.
 */
int doctor_run(const struct exec_options *options, bool json);

/* ---- greeting.c: the greetings of a kettle-exec that stays ---- */

/* Zero-initialise. Everything on the loop thread. */
struct greeting {
	struct exec_context *exec; /* NULL: not open */
	bool closed;
	struct work gpus, tools;
	bool reading, again;      /* GPUs are being read; once more then */
	json_t *read;             /* of the GPUs; the pool's while it reads */
	struct toolchain *finder; /* the pool's while it works; NULL: the tools are known */
	struct tool_report found;
};

/* Sends the first greeting, and begins to find out what tools this machine has. */
void greeting_open(struct greeting *greeting, struct exec_context *exec);
/* Another one, with GPUs as they are now: sent once they are read. A call while one is made gets the next. */
void greeting_refresh(struct greeting *greeting);
/* Sends nothing more. What is under way ends with the loop's next turns; exec must not be closed before. */
void greeting_close(struct greeting *greeting);

#endif
