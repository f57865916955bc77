/* SPDX-License-Identifier: MIT */
/* What a submission does at the moment, as it comes: finished lines, and below them one live line on a terminal. */
#ifndef KETTLE_CLI_PROGRESS_H
#define KETTLE_CLI_PROGRESS_H

#include "cli/text/term.h"

#include <jansson.h>

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
