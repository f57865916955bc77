/* SPDX-License-Identifier: MIT */
/*
 * Everything that is deleted later than the command, event or time that made it unused. Loop thread of the database's
 * owner, all of it; the files of model/ do the deleting, a small part in each transaction, so that no other write waits
 * for long.
 *
 *   what                                  unused since                       removed by             when
 *   rows of a leaderboard, and of its     leaderboard.delete hid it          purge (board_delete)   at once, and after a start
 *     submissions
 *   folders of jobs in the spool          their attempt ended or was lost,   sweep (artifact)       after a start, a deletion
 *                                         or the submission was deleted                             and within gc
 *   artifacts, logs, events               they are older than configured     gc (retention)         admin.gc; at a server
 *   codes, counts of rate limits          they expired                       gc (retention)         once a day
 *   contents, versions of tasks           no row refers to them              gc (retention)
 *   free pages, the write-ahead log       the above                          gc
 *
 * submission.delete removes a submission's rows itself, in its own transaction; kettle-exec looks after its own cache.
 */
#ifndef KETTLE_MAINTENANCE_H
#define KETTLE_MAINTENANCE_H

#include "loop/loop_services.h"
#include "model/retention.h"
#include "store/store.h"

#define GC_FIRST_MS 600000   /* after a server has started */
#define GC_EVERY_MS 86400000 /* from then on */

struct maintenance {
	/* Filled in by its user before anything is called; borrowed. */
	struct loop_services *io;
	const char *database, *spool; /* spool: where jobs leave files, see artifact.h */
	const struct retention_limits *limits;
	bool stays;          /* a server: what is left to delete may wait for the next owner */
	bool closing;        /* nothing more begins by itself */
	struct store *store; /* NULL once it closes */
	/* What is under way. */
	struct garbage_collector *gc;
	struct board_purge *purge;
	struct kettle_timer *gc_timer;
	bool sweeping, sweep_again;
	void (*idle)(void *arg);
	void *idle_arg;
};

/* ---- garbage_collector.c ---- */

/*
 * All steps of retention.h in small parts with other writes between them, then the spool, then the log. Answers once:
 * {"artifacts", "artifact_bytes", "logs", "events", "tokens", "blobs", "blob_bytes", "folders", "folder_bytes",
 * "database_bytes", "log_bytes"}. ECONFLICT: it is being done already; ECANCELED: the engine stops.
 */
void garbage_collector_run(struct maintenance *maintenance, kettle_answer answer, void *arg);
/* Once a day from now on, until garbage_collector_stop. */
void garbage_collector_start(struct maintenance *maintenance);
void garbage_collector_stop(struct maintenance *maintenance);

/* ---- board_purge.c ---- */

/* Removes what is left of hidden leaderboards, with other writes between the parts; nothing where it is being done. */
void board_purge_wake(struct maintenance *maintenance);
/*
 * done(arg) once nothing is left to remove, perhaps at once; for a process that ends: a server leaves the rest to the
 * next owner, and so does a purge that was told to hurry.
 */
void board_purge_wait(struct maintenance *maintenance, void (*done)(void *arg), void *arg);
/* board_purge_wait waits no longer. */
void board_purge_stop_waiting(struct maintenance *maintenance);

/* ---- spool_sweep.c ---- */

/* How many folders went, and what they held. */
typedef void (*spool_sweep_done)(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes);

/* Lists in the pool, checks with the database, removes in the pool; done once, on the loop. */
void spool_sweep_start(struct maintenance *maintenance, spool_sweep_done done, void *arg);
/* The same after something was deleted: one at a time, and once more for what was deleted meanwhile. */
void spool_sweep_wake(struct maintenance *maintenance);
/* idle(arg) once neither a sweep nor a gc is under way, perhaps at once. */
void maintenance_wait(struct maintenance *maintenance, void (*idle)(void *arg), void *arg);
/* A sweep or a gc is over. */
void maintenance_ended(struct maintenance *maintenance);

#endif
