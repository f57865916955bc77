/* SPDX-License-Identifier: MIT */
/* The functions that the files of this folder share. */
#ifndef KETTLE_CLI_RUN_RUN_INTERNAL_H
#define KETTLE_CLI_RUN_RUN_INTERNAL_H

#include "cli/text/term.h"

#include <jansson.h>
#include <kettle/host.h>

/* ---- input.c: reads files, standard input and answers to questions off the loop thread ---- */
struct input; /* one reading */

/* data is borrowed, with a NUL behind its size bytes; NULL where err->code is not 0. */
typedef void (*input_fn)(void *arg, const struct kettle_error *err, const char *data, size_t size);

/*
 * Starts to read a regular file, or standard input for "-": all of it, or one line. fn is called exactly once, on the
 * loop thread, never before this returns. Its errors: KETTLE_ENOENT, EACCES, EINVAL (no regular file), ETOOBIG (over max
 * bytes), EIO, ECANCELED (cancelled, or no line before the end).
 */
int input_start(const struct kettle_host *host, const char *path, size_t max, bool line, input_fn fn, void *arg,
	struct input **ret_input, struct kettle_error *err);
/* Cancels a reading of standard input; fn is still called. */
void input_cancel(struct input *input);

/* ---- progress.c: the progress of a submission: finished lines, and one live line on a terminal ---- */
struct progress;

/* silent: nothing is shown. term is borrowed until progress_free. */
struct progress *progress_new(const struct term *term, bool silent);
/*
 * A device waits in its queue; position: the jobs before it, wait_s: how long it is likely to wait; -1: not known. waits:
 * why the device cannot run it now, or "". Ignored for a device that has begun.
 */
void progress_queued(
	struct progress *progress, const char *device, int64_t position, int64_t wait_s, const char *waits);
/* A device is found running. */
void progress_begun(struct progress *progress, const char *device);
/* Whether a device still waits in its queue. */
bool progress_waits(const struct progress *progress);
/* One event of the subscription. */
void progress_event(struct progress *progress, const json_t *event);
/* Redraws the live line with the time that has passed. */
void progress_tick(struct progress *progress);
/* What is kept if the command is interrupted now, as it has said (borrowed); NULL: it has not. */
const char *progress_kept(const struct progress *progress);
/* Clears the live line, so that other text can follow. */
void progress_hide(struct progress *progress);
void progress_free(struct progress *progress); /* NULL is allowed */

#endif
