/* SPDX-License-Identifier: MIT */
/* What the files of this folder use of each other. */
#ifndef KETTLE_CLI_RUN_RUN_INTERNAL_H
#define KETTLE_CLI_RUN_RUN_INTERNAL_H

#include "cli/text/term.h"

#include <jansson.h>
#include <kettle/host.h>

/* ---- input.c: reads files, standard input and answers to questions off the loop thread ---- */
struct input; /* one reading */

/* data is borrowed, NUL-terminated behind size bytes. err->code is 0 or says why not: data is NULL then. */
typedef void (*input_fn)(void *arg, const struct kettle_error *err, const char *data, size_t size);

/*
 * Begins to read a regular file, or standard input for "-": all of it, or one line. fn comes exactly once, on the loop
 * thread, never before this returns. Errors there: KETTLE_ENOENT, EACCES, EINVAL (no regular file), ETOOBIG (over max
 * bytes), EIO, ECANCELED (cancelled, or no line before the end).
 */
int input_start(const struct kettle_host *host, const char *path, size_t max, bool line, input_fn fn, void *arg,
	struct input **ret_input, struct kettle_error *err);
/* Tells a reading that waits for standard input to give up; fn still comes. */
void input_cancel(struct input *input);

/* ---- progress.c: what a submission does, as it comes: finished lines, and one live line on a terminal ---- */
struct progress;

/* silent: nothing is shown, only kept. term is borrowed until progress_free. */
struct progress *progress_new(const struct term *term, bool silent);
/*
 * A device waits in its queue; place counts the jobs before it, -1: not known. waits: why the device cannot serve it now,
 * "" where it can. Does nothing to one that has begun.
 */
void progress_queued(struct progress *progress, const char *device, int64_t position, const char *waits);
/* Whether something still waits in a queue. */
bool progress_waits(const struct progress *progress);
/* One event of the subscription. */
void progress_event(struct progress *progress, const json_t *event);
/* Draws the live line again: the time goes on. */
void progress_tick(struct progress *progress);
/* Takes the live line away, so that other text can follow. */
void progress_hide(struct progress *progress);
void progress_free(struct progress *progress); /* NULL is allowed */

#endif
