/* SPDX-License-Identifier: MIT */
/* What the database need not keep any longer, removed in small parts. Store's thread. */
#ifndef KETTLE_RETENTION_H
#define KETTLE_RETENTION_H

#include "store/db.h"

#include <stdbool.h>

#define RETENTION_PART 200 /* rows or pages of one part, so that no other write waits for long */

/* The steps in their order; each frees what the next ones find unused. */
enum retention_step {
	RETENTION_ARTIFACTS, /* files that jobs left */
	RETENTION_LOGS,      /* output of compilers and runs */
	RETENTION_EVENTS,    /* those that every consumer has read */
	RETENTION_TOKENS,    /* codes that have expired, used-up rates of more than an hour ago */
	RETENTION_BLOBS,     /* contents and versions of tasks that nothing uses */
	RETENTION_PAGES,     /* free pages of the file */
	RETENTION_END
};

/* How many days they are kept; 0: for ever. */
struct retention_limits {
	int64_t artifact_days, log_days, event_days;
};

/* What is kept and what was freed so far. Zero-initialise, then set the days (0: for ever). */
struct retention {
	int64_t artifact_days, log_days, event_days;
	int64_t artifacts, artifact_bytes, logs, events, tokens, blobs, blob_bytes, page_bytes;
	int64_t cursor; /* of the step under way; 0 when it begins */
};

/*
 * One part of a step in the transaction at hand; *ret_more: there is another. Nothing of a submission that is marked as
 * a cheat goes: it is evidence.
 */
int retention_part(
	struct db *db, enum retention_step step, struct retention *retention, bool *ret_more, struct kettle_error *err);

#endif
