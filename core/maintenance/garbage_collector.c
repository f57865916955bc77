/* SPDX-License-Identifier: MIT */
/*
 * Frees data that need not be kept.
 *
 * Theory of operation. A chain of small writes: each is an operation of its own on the store, so other writers come
 * between them. Then the spool is swept (spool_sweep.c), and a thread of the pool copies the write-ahead log into the
 * database and empties it, on a connection of its own that never waits.
 */
#include <config.h>

#include "maintenance/maintenance.h"

#include "base/base.h"
#include "base/log.h"
#include "model/download_urls.h"
#include "store/db_file.h"

#include <sys/stat.h>

#define LOG_BUSY_MS 100 /* how long emptying the log waits for its users */

struct garbage_collector {
	struct maintenance *m;
	enum retention_step step;
	struct retention retention;
	bool more;
	int64_t folders, folder_bytes, log_bytes;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static void
gc_finish(struct garbage_collector *gc)
{
	const struct retention *freed = &gc->retention;
	AUTO_JSON json_t *result = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "artifacts",
		(json_int_t)freed->artifacts, "artifact_bytes", (json_int_t)freed->artifact_bytes, "logs",
		(json_int_t)freed->logs, "events", (json_int_t)freed->events, "audit", (json_int_t)freed->audit, "tokens",
		(json_int_t)freed->tokens, "blobs", (json_int_t)freed->blobs, "blob_bytes", (json_int_t)freed->blob_bytes,
		"folders", (json_int_t)gc->folders, "folder_bytes", (json_int_t)gc->folder_bytes, "database_bytes",
		(json_int_t)freed->page_bytes, "log_bytes", (json_int_t)gc->log_bytes);
	struct maintenance *m = gc->m;
	m->gc = NULL;
	gc->answer(gc->arg, &gc->err, gc->err.code < 0 ? NULL : result);
	free(gc);
	maintenance_ended(m);
}

/* ---- the files of links, and the log, in the pool ---- */

static int64_t
log_size(const char *database)
{
	struct stat status;
	AUTO_FREE char *path = xasprintf("%s-wal", database);
	return stat(path, &status) == 0 ? status.st_size : 0;
}

static void
clean_files(void *arg)
{
	struct garbage_collector *gc = arg;
	const char *database = gc->m->database;
	AUTO_FREE char *links = download_url_folder(database);
	download_url_sweep(links, clock_utc_ms(loop_clock(gc->m->io)));
	int64_t before = log_size(database);
	sqlite3 *handle = NULL;
	if (db_file_open_reader(database, &handle, &gc->err) < 0)
		return;
	sqlite3_busy_timeout(handle, LOG_BUSY_MS);
	/* Most of it beside other users; then, if none blocks it, the rest. */
	(void)sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	(void)sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_close(handle);
	int64_t after = log_size(database);
	gc->log_bytes = before > after ? before - after : 0;
}

static void
files_cleaned(void *arg)
{
	gc_finish(arg);
}

static void
swept(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes)
{
	struct garbage_collector *gc = arg;
	gc->folders = folders;
	gc->folder_bytes = bytes;
	gc->err = *err;
	if (err->code < 0 || loop_work(gc->m->io, clean_files, files_cleaned, gc, &gc->err) < 0)
		gc_finish(gc);
}

/* ---- the database ---- */

static void part_done(void *arg, const struct kettle_error *err);

static int
part(struct db *db, void *arg, struct kettle_error *err)
{
	struct garbage_collector *gc = arg;
	struct retention retention = gc->retention;
	int rc = retention_part(db, gc->step, &retention, &gc->more, err);
	if (rc == 0)
		gc->retention = retention;
	return rc;
}

static void
gc_next(struct garbage_collector *gc)
{
	if (gc->step == RETENTION_END)
		spool_sweep_start(gc->m, swept, gc);
	else if (gc->m->store)
		store_write(gc->m->store, part, part_done, gc);
	else {
		(void)kettle_fail(&gc->err, KETTLE_ECANCELED, "The engine is stopping.");
		gc_finish(gc);
	}
}

static void
part_done(void *arg, const struct kettle_error *err)
{
	struct garbage_collector *gc = arg;
	if (err) {
		gc->err = *err;
		gc_finish(gc);
		return;
	}
	if (!gc->more) {
		gc->step++;
		gc->retention.cursor = 0;
	}
	gc_next(gc);
}

void
garbage_collector_run(struct maintenance *m, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	if (m->gc) {
		(void)kettle_fail(&err, KETTLE_ECONFLICT, "It is already running.");
		answer(arg, &err, NULL);
		return;
	}
	struct garbage_collector *gc =
		xnew(struct garbage_collector, .m = m, .retention = {.limits = *m->limits}, .answer = answer, .arg = arg);
	m->gc = gc;
	gc_next(gc);
}

/* ---- once a day ---- */

static void
on_collected(void *arg, const struct kettle_error *err, json_t *result)
{
	(void)arg;
	if (err->code < 0 && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_WARNING, "gc", "old data could not be removed: %s", err->message);
	else if (err->code == 0)
		log_write(KETTLE_LOG_INFO, "gc", "freed %lld bytes of the database and %lld of files that jobs left",
			(long long)member_int(result, "database_bytes"), (long long)member_int(result, "folder_bytes"));
}

static void
on_day(void *arg)
{
	struct maintenance *m = arg;
	if (!m->gc)
		garbage_collector_run(m, on_collected, m);
}

void
garbage_collector_start(struct maintenance *m)
{
	struct kettle_error err = {0};
	if (loop_timer_start(m->io, GC_FIRST_MS, GC_EVERY_MS, on_day, m, &m->gc_timer, &err) < 0)
		log_write(KETTLE_LOG_WARNING, "gc", "old data is not removed automatically: %s", err.message);
}

void
garbage_collector_stop(struct maintenance *m)
{
	loop_timer_stop(m->io, STEAL(m->gc_timer));
}
