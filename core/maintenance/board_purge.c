/* SPDX-License-Identifier: MIT */
/*
 * Finishes the deletion of leaderboards, a part after the other.
 *
 * Theory of operation. A chain of writes, each an operation of its own on the store, so other writers come between
 * them. It begins with a look at what is hidden: when the database was attached, and after a leaderboard was deleted.
 * What jobs left in the spool goes after the last part, when no row refers to it any more. A process without clients
 * finishes it before it ends; else the next owner goes on with it.
 */
#include <config.h>

#include "maintenance/maintenance.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <stdlib.h>

struct board_purge {
	struct maintenance *m;
	bool more, removed;
	bool again; /* look once more: something was deleted meanwhile */
	bool hurry; /* the next owner shall go on */
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
