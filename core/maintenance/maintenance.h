/* SPDX-License-Identifier: MIT */
/*
 * Everything that is deleted later than the command, event or time that made it unused. garbage_collector.c, board_delete.c
 * and spool_sweep.c say when, on the loop thread of the database's owner; retention.c, board_delete.c and model's
 * artifact.c and links.c delete, a small part in each transaction, so that no other write waits for long.
 *
 *   what                                  unused since                       removed by             when
 *   rows of a leaderboard, and of its     leaderboard.delete hid it          purge (board_delete)   at once, and after a start
 *     submissions
 *   folders of jobs in the spool          their attempt ended or was lost,   sweep (artifact)       after a start, a deletion
 *                                         or the submission was deleted                             and within gc
 *   artifacts, logs, events, audit        they are older than configured     gc (retention)         admin.gc; at a server
 *   codes, counts of rate limits          they expired                       gc (retention)         once a day
 *   one-time links and their files        they expired                       gc (retention, links)  also when one is made
 *   contents, versions of tasks           no row refers to them              gc (retention)
 *   free pages, the write-ahead log       the above                          gc
 *
 * submission.delete removes a submission's rows itself, in its own transaction; kettle-exec looks after its own cache.
 */
#pragma once

#include "loop/loop_services.h"
#include "store/db.h"
#include "store/store.h"

#include <stdbool.h>

#define GC_FIRST_MS 600000   /* after a server has started */
#define GC_EVERY_MS 86400000 /* from then on */

/* The days for which they are kept; 0: for ever. */
struct retention_limits {
	int64_t artifact_days, log_days, event_days, audit_days;
};

struct maintenance {
	/* Filled in by its user before anything is called; borrowed. */
	struct loop_services *io;
	const char *database, *spool; /* spool: where jobs leave files, see artifact.h */
	const struct retention_limits *limits;
	bool is_server;      /* a server: rows that are still to be deleted may wait for the next owner */
	bool closing;        /* nothing more begins by itself */
	struct store *store; /* NULL once it closes */
	/* The work under way. */
	struct garbage_collector *gc;
	struct board_purge *purge;
	struct kettle_timer *gc_timer;
	bool sweeping, sweep_again;
	void (*idle)(void *arg);
	void *idle_arg;
};

/* ---- garbage_collector.c ---- */

/*
 * All steps of retention.c in small parts with other writes between them, then the spool, then the log. Answers once:
 * {"artifacts", "artifact_bytes", "logs", "events", "audit", "tokens", "blobs", "blob_bytes", "folders", "folder_bytes",
 * "database_bytes", "log_bytes"}. ECONFLICT: it runs already; ECANCELED: the engine stops.
 */
void garbage_collector_run(struct maintenance *maintenance, kettle_answer answer, void *arg);
/* Once a day from now on, until garbage_collector_stop. */
void garbage_collector_start(struct maintenance *maintenance);
void garbage_collector_stop(struct maintenance *maintenance);

/* ---- retention.c, on the store's thread: rows that the database need not keep any longer ---- */

#define RETENTION_PART 200 /* rows or pages of one part, so that no other write waits for long */

/* The steps in their order; each frees what the next ones find unused. */
enum retention_step {
	RETENTION_ARTIFACTS, /* files that jobs left */
	RETENTION_LOGS,      /* output of compilers and runs */
	RETENTION_EVENTS,    /* those that every consumer has read */
	RETENTION_AUDIT,     /* entries of the log of who did what */
	RETENTION_TOKENS,    /* codes that have expired, used-up rates of more than an hour ago */
	RETENTION_BLOBS,     /* contents and versions of tasks that nothing uses */
	RETENTION_PAGES,     /* free pages of the file */
	RETENTION_END
};

/* The limits, and the counts of what was freed so far. Zero-initialise, then set the limits. */
struct retention {
	struct retention_limits limits;
	int64_t artifacts, artifact_bytes, logs, events, audit, tokens, blobs, blob_bytes, page_bytes;
	int64_t cursor; /* of the step under way; 0 when it begins */
};

/*
 * One part of a step in the current transaction; *ret_more: there is another. Nothing of a submission that is marked as
 * a cheat is removed: it is evidence.
 */
int retention_part(
	struct db *db, enum retention_step step, struct retention *retention, bool *ret_more, struct kettle_error *err);

/* ---- board_delete.c, on the store's thread ---- */

/*
 * The first transaction hides a leaderboard: its name is free again, and no query of `leaderboards` finds it or
 * anything on it. It also removes the first part of its rows. Each further part is a transaction of its own, so that a
 * write waits for one part at most; the board's own row is removed last. The next owner of the database removes what
 * this one leaves.
 */
#define BOARD_REMOVE_PART 256 /* submissions of one transaction */

/* Hides the leaderboard and removes its first part, which is all of a small one. */
int board_delete(struct db *db, int64_t leaderboard, struct kettle_error *err);
/* Removes a part of the oldest hidden leaderboard; *ret_more: something is left, of it or of another. */
int board_delete_part(struct db *db, bool *ret_more, struct kettle_error *err);

/* Removes the rest of hidden leaderboards, with other writes between the parts; does nothing if that is under way. */
void board_purge_wake(struct maintenance *maintenance);
/*
 * Calls done(arg) once nothing is left to remove, perhaps at once; for a process that ends: a server leaves the rest to
 * the next owner, and so does a purge after board_purge_stop_waiting.
 */
void board_purge_wait(struct maintenance *maintenance, void (*done)(void *arg), void *arg);
/* Ends the wait of board_purge_wait. */
void board_purge_stop_waiting(struct maintenance *maintenance);

/* ---- spool_sweep.c ---- */

/* Called with the number of removed folders and their bytes. */
typedef void (*spool_sweep_done)(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes);

/* Lists in the pool, checks with the database, removes in the pool; done once, on the loop. */
void spool_sweep_start(struct maintenance *maintenance, spool_sweep_done done, void *arg);
/* The same after a deletion: one sweep at a time, and one more for deletions meanwhile. */
void spool_sweep_wake(struct maintenance *maintenance);
/* Calls idle(arg) once neither a sweep nor a gc is under way, perhaps at once. */
void maintenance_wait(struct maintenance *maintenance, void (*idle)(void *arg), void *arg);
/* Call when a sweep or a gc is over. */
void maintenance_ended(struct maintenance *maintenance);
