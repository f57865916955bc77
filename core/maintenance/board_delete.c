/* SPDX-License-Identifier: MIT */
/* Deletes leaderboards: hidden at once, their rows removed in parts. */
#include <config.h>

#include "maintenance/maintenance.h"

#include "base/base.h"
#include "base/log.h"
#include "model/blobs.h"

/* Removes small rows that are read only by leaderboard: none is needed once it is hidden. */
static int
remove_rights(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	static const char *const sql[] = {
		/* Removes an invite with the last of its boards. */
		"DELETE FROM invites WHERE code IN (SELECT code FROM invite_boards WHERE leaderboard = ?1) AND NOT EXISTS "
		"(SELECT 1 FROM invite_boards o WHERE o.code = invites.code AND o.leaderboard <> ?1)",
		"DELETE FROM invite_boards WHERE leaderboard = ?1",
		"DELETE FROM access WHERE leaderboard = ?1",
		"DELETE FROM rate_limits WHERE leaderboard = ?1",
		"DELETE FROM former_names WHERE leaderboard = ?1",
		/* Without these the triggers of best have nothing to do. */
		"DELETE FROM leaderboard_devices WHERE leaderboard = ?1",
		"DELETE FROM best_counts WHERE leaderboard = ?1",
		"DELETE FROM board_versions WHERE leaderboard = ?1",
	};
	int rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], "i", leaderboard);
	return rc;
}

/* Removes the submissions up to this number, with all rows that belong to them. */
static int
remove_submissions(struct db *db, int64_t leaderboard, int64_t last, struct kettle_error *err)
{
	/* The cascade would do the same, but row by row. */
	static const char *const sql[] = {
		"DELETE FROM best WHERE submission IN (SELECT id FROM submissions WHERE leaderboard = ?1 AND id <= ?2)",
		"DELETE FROM runs WHERE job IN (SELECT j.id FROM jobs j JOIN submissions s ON s.id = j.submission WHERE "
		"s.leaderboard = ?1 AND s.id <= ?2)",
		"DELETE FROM jobs WHERE submission IN (SELECT id FROM submissions WHERE leaderboard = ?1 AND id <= ?2)",
		"DELETE FROM submissions WHERE leaderboard = ?1 AND id <= ?2",
	};
	int rc = blobs_note_submissions(db, leaderboard, last, err);
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(db, err, sql[i], "ii", leaderboard, last);
	return rc < 0 ? rc : blobs_collect(db, err);
}

static int
remove_row(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	int64_t task = 0;
	int rc = db_int(db, &task, err, "SELECT task FROM boards WHERE id = ?", "i", leaderboard);
	if (rc == 0)
		rc = blobs_note_task(db, task, err);
	if (rc == 0)
		rc = db_exec(db, err, "DELETE FROM boards WHERE id = ?", "i", leaderboard);
	return rc < 0 ? rc : blobs_collect(db, err);
}

/* Of one that is hidden. */
static int
remove_part(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	int64_t last = 0, left = 0;
	int rc = db_int(db, &last, err,
		"SELECT coalesce(max(id), 0) FROM (SELECT id FROM submissions WHERE leaderboard = ? ORDER BY id LIMIT ?)", "ii",
		leaderboard, (int64_t)BOARD_REMOVE_PART);
	if (rc == 0 && last > 0)
		rc = remove_submissions(db, leaderboard, last, err);
	if (rc == 0)
		rc =
			db_int(db, &left, err, "SELECT EXISTS (SELECT 1 FROM submissions WHERE leaderboard = ?)", "i", leaderboard);
	return rc == 0 && !left ? remove_row(db, leaderboard, err) : rc;
}

int
board_delete(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	int rc = remove_rights(db, leaderboard, err);
	/* No leaderboard can be given a name that begins like this. */
	if (rc == 0)
		rc = db_exec(
			db, err, "UPDATE boards SET hidden_at = ?1, name = '!' || id WHERE id = ?2", "ii", db->now_ms, leaderboard);
	return rc < 0 ? rc : remove_part(db, leaderboard, err);
}

/* Whether one is hidden. */
static int
board_delete_open(struct db *db, bool *ret_open, struct kettle_error *err)
{
	int64_t open = 0;
	int rc = db_int(db, &open, err, "SELECT EXISTS (SELECT 1 FROM boards WHERE hidden_at IS NOT NULL)", NULL);
	if (rc == 0)
		*ret_open = open;
	return rc;
}

int
board_delete_part(struct db *db, bool *ret_more, struct kettle_error *err)
{
	int64_t leaderboard = 0; /* none: rows are counted from 1 */
	int rc = db_int(db, &leaderboard, err,
		"SELECT coalesce((SELECT id FROM boards WHERE hidden_at IS NOT NULL ORDER BY hidden_at, id LIMIT 1), 0)", NULL);
	if (rc == 0 && leaderboard)
		rc = remove_part(db, leaderboard, err);
	return rc < 0 ? rc : board_delete_open(db, ret_more, err);
}

/* ---- the rest of deleted leaderboards, one part after the other ---- */

/*
 * Theory of operation. A chain of writes, each an operation of its own on the store, so other writers come between
 * them. It begins with a check for hidden leaderboards: when the database was attached, and after a leaderboard was
 * deleted. Files of jobs in the spool are removed after the last part, when no row refers to them any more. A process
 * without clients finishes before it ends; else the next owner continues.
 */

struct board_purge {
	struct maintenance *m;
	bool more, removed;
	bool again; /* check once more: a leaderboard was deleted meanwhile */
	bool hurry; /* leave the rest to the next owner */
	void (*done)(void *arg);
	void *arg;
};

static void purge_next(struct board_purge *purge);

static void
purge_finish(struct board_purge *purge)
{
	struct maintenance *m = purge->m;
	m->purge = NULL;
	if (purge->removed && m->store && !m->closing)
		spool_sweep_wake(m);
	if (purge->done)
		purge->done(purge->arg);
	free(purge);
}

static void
part_done(void *arg, const struct kettle_error *err)
{
	struct board_purge *purge = arg;
	if (err && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_WARNING, "core",
			"not all of a deleted leaderboard could be removed; the next start of Kettle continues: %s", err->message);
	if (err)
		purge_finish(purge);
	else
		purge_next(purge);
}

static int
purge_look(struct db *db, void *arg, struct kettle_error *err)
{
	struct board_purge *purge = arg;
	return board_delete_open(db, &purge->more, err);
}

static int
part(struct db *db, void *arg, struct kettle_error *err)
{
	struct board_purge *purge = arg;
	purge->removed = true;
	return board_delete_part(db, &purge->more, err);
}

static void
purge_next(struct board_purge *purge)
{
	struct store *store = purge->m->store;
	bool again = purge->again;
	purge->again = false;
	if (purge->hurry || !store || (!purge->more && !again))
		purge_finish(purge);
	else if (again)
		store_read(store, purge_look, part_done, purge);
	else
		store_write(store, part, part_done, purge);
}

void
board_purge_wake(struct maintenance *m)
{
	if (m->purge) {
		m->purge->again = true;
		return;
	}
	m->purge = xcalloc(1, sizeof(*m->purge));
	*m->purge = (struct board_purge){.m = m, .again = true};
	purge_next(m->purge);
}

void
board_purge_wait(struct maintenance *m, void (*done)(void *arg), void *arg)
{
	if (!m->purge || m->purge->hurry || m->is_server) {
		done(arg);
		return;
	}
	m->purge->done = done;
	m->purge->arg = arg;
}

void
board_purge_stop_waiting(struct maintenance *m)
{
	if (m->purge)
		m->purge->hurry = true;
}
