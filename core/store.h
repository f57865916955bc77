/* SPDX-License-Identifier: MIT */
/*
 * The database: one SQLite file, one thread.
 *
 * Theory of operation. The store owns a thread with the only connection. Operations are queued from the loop thread;
 * the thread takes all that wait, runs the writes of a batch in one transaction, each below a savepoint of its own (so
 * that one which fails undoes nothing of the others), commits once with synchronous=FULL, and only then posts the
 * answers and the events back to the loop. So an answer always comes after its commit, and commits that arrive together
 * cost one flush. When the commit itself fails, every operation of the batch answers with that error.
 */
#ifndef KETTLE_STORE_H
#define KETTLE_STORE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct sqlite3;
struct store;
/* What an operation works on; only valid on the store's thread during the operation. See db.h. */
struct db;

/* Runs on the store's thread. A negative return undoes what it wrote. */
typedef int (*store_op)(struct db *db, void *arg, struct kettle_error *err);
/* Runs on the loop thread, after the commit (or the failure), exactly once for each operation. */
typedef void (*store_done)(void *arg, const struct kettle_error *err);
/* Runs on the loop thread once for each commit that wrote events, before its answers. events: array, in order;
 * borrowed. */
typedef void (*store_events)(void *arg, const json_t *events);

/*
 * Opens or creates the database, checks it (a file system where WAL cannot work, not a database, corrupt, read-only,
 * locked by another program, made by a newer Kettle: one sentence each), applies the migrations inside a transaction
 * and starts the thread. `owner` is the login name that becomes admin when the database is new. Blocks; call it at
 * start.
 */
int store_open(uv_loop_t *loop, const char *path, const char *owner, store_events on_events, void *events_arg,
	struct store **ret_store, struct kettle_error *err);
/* Queues; never blocks. done may be NULL. Writes and reads keep their order. After store_close began: answers
 * ECANCELED. */
void store_write(struct store *store, store_op op, store_done done, void *arg);
void store_read(struct store *store, store_op op, store_done done, void *arg);
/* Finishes what is queued, checkpoints, closes, then calls closed(arg) on the loop thread and frees. NULL is allowed.
 */
void store_close(struct store *store, void (*closed)(void *arg), void *arg);

#endif
