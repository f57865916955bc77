/* SPDX-License-Identifier: MIT */
/*
 * The progress of a submission, from its events: the state of each device, and on a terminal finished lines with one
 * live line below them.
 */
#pragma once

#include "common/term.h"

#include <jansson.h>

struct progress;

/* silent: prints nothing; progress_text returns everything. term is borrowed until progress_free. */
struct progress *progress_new(const struct term *term, bool silent);
/*
 * A device waits in its queue. position: the jobs before it; wait_s: the likely wait; -1: unknown. waits: why the
 * device cannot run it now, or "". Ignored for a device that has begun.
 */
void progress_queued(
	struct progress *progress, const char *device, int64_t position, int64_t wait_s, const char *waits);
/* A device runs its job. */
void progress_begun(struct progress *progress, const char *device);
/* Whether a device still waits in its queue. */
bool progress_waits(const struct progress *progress);
/* One event of the subscription. */
void progress_event(struct progress *progress, const json_t *event);
/* Redraws the live line with the time that has passed. */
void progress_tick(struct progress *progress);
/* The files that an interruption would keep, as the command has said (borrowed); NULL: it has not. */
const char *progress_kept(const struct progress *progress);
/* Clears the live line, so that other text can follow. */
void progress_hide(struct progress *progress);
/*
 * The states of the devices that are not done, "CPU: running test 3/17", separated by `between`; NULL: none. New
 * string.
 */
char *progress_text(const struct progress *progress, const char *between);
void progress_free(struct progress *progress); /* NULL is allowed */
