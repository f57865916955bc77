/* SPDX-License-Identifier: MIT */
/*
 * The database: one SQLite file, one thread that writes, one that only reads.
 *
 * Theory of operation. The writer owns the connection that changes things. Operations are queued from the loop thread;
 * the writer takes all that wait, runs them in one transaction, each below a savepoint of its own (so that one which
 * fails undoes nothing of the others; one that is alone needs none), commits once with synchronous=FULL, and only then
 * posts the events and the answers back to the loop: an answer always comes after its commit, and commits that arrive
 * together cost one flush. When the commit itself fails, every operation of the batch answers with that error and the
 * store goes on. Operations of store_later wait for a batch that writes anyway, or until the store has had nothing to
 * write for a second.
 *
 * The reader has a connection of its own. Its operations wait for no commit, and see, as one snapshot, everything that
 * was answered before they began. Both threads post to one list behind a mutex and wake the loop with one uv_async.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct clock;
struct sqlite3;
struct store;
/* The connection and state of an operation; valid only on the store's thread, during the operation. See db.h. */
struct db;

/* Runs on the store's thread, once. A negative return undoes what it wrote and answers *err. */
typedef int (*store_op)(struct db *db, void *arg, struct kettle_error *err);
/* Runs on the loop thread, after the commit (or the failure), exactly once for each operation. err is NULL when it
 * went well. */
typedef void (*store_done)(void *arg, const struct kettle_error *err);
/* Runs on the loop thread once for each commit that wrote events, before its answers. events: array, in order;
 * borrowed. */
typedef void (*store_events)(void *arg, const json_t *events);

#define STORE_BATCH_MAX 1000 /* operations in one transaction */
#define STORE_LATER_MS 1000  /* without any other write, until the operations of store_later run */

/*
 * Opens or creates the database, checks it (a file system where WAL cannot work, not a database, corrupt, read-only,
 * locked by another program, made by a newer Kettle: one sentence each; see db_file.h), applies the migrations inside a
 * transaction and starts the threads. `owner` is the login name that becomes admin when the database is new. Blocks;
 * call it at start. clock: of the times that are written; borrowed. on_events may be NULL.
 */
int store_open(uv_loop_t *loop, const struct clock *clock, const char *path, const char *owner, store_events on_events,
	void *events_arg, struct store **ret_store, struct kettle_error *err);
/* Calls full(arg, why) on the loop thread for each write that failed since the disk is full, before it is answered. */
void store_watch_full(struct store *store, void (*full)(void *arg, const struct kettle_error *why), void *arg);
/*
 * Queue; never block; called on the loop thread. done may be NULL. Writes and reads keep their order: a read sees the
 * writes queued before it, and answers with them. After store_close began they answer ECANCELED, never before they
 * return.
 */
void store_write(struct store *store, store_op op, store_done done, void *arg);
void store_read(struct store *store, store_op op, store_done done, void *arg);
/* A write that costs no commit of its own where others write: nothing is ordered with it, and a crash may lose it. */
void store_later(struct store *store, store_op op, store_done done, void *arg);
/* The same on the reader: beside the writes that wait, and not ordered with them. For what only shows something. */
void store_query(struct store *store, store_op op, store_done done, void *arg);
/* The times of the commits since the store was opened, as histogram_json has them. Loop thread. New reference. */
json_t *store_commits(const struct store *store);
/* When a change last reached the disk, by clock_ns; 0: none has, or a later write failed with EIO. Loop thread. */
uint64_t store_wrote_ns(const struct store *store);
/* Nothing that was queued (except by store_later) waits for its answer. Loop thread. */
bool store_rests(const struct store *store);
/*
 * Finishes the queued operations, checkpoints, closes, then calls closed(arg) on the loop thread and frees. Once. NULL
 * is allowed and closed is then called at once; closed may be NULL.
 */
void store_close(struct store *store, void (*closed)(void *arg), void *arg);
