/* SPDX-License-Identifier: MIT */
/*
 * Finishes the deletion of leaderboards, a part after the other.
 *
 * Theory of operation. A chain of writes, each an operation of its own on the store, so whoever else writes comes between
 * them. It begins with a look at what is hidden: when the database was attached, and after a leaderboard was deleted.
 * What jobs left in the spool goes after the last part, when no row speaks of it any more. A process that serves nobody
 * finishes it before it ends; else the next owner goes on with it.
 */
#include <config.h>

#include "maintenance/board_purge.h"

#include "model/board_delete.h"
#include "session/core_internal.h"
#include "base/log.h"
#include "maintenance/spool_sweep.h"

#include <stdlib.h>

struct purge {
	struct core *core;
	bool more, removed;
	bool again; /* look once more: something was deleted meanwhile */
	bool hurry; /* the next owner shall go on */
	void (*done)(void *arg);
	void *arg;
};

static void next(struct purge *purge);

static void
finish(struct purge *purge)
{
	struct core *core = purge->core;
	core->purge = NULL;
	if (purge->removed && core->store && !core->closing)
		sweep_poke(core);
	if (purge->done)
		purge->done(purge->arg);
	free(purge);
}

static void
part_done(void *arg, const struct kettle_error *err)
{
	struct purge *purge = arg;
	if (err && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_WARNING, "core",
			"what is left of a deleted leaderboard could not be removed, the next start goes on with it: %s",
			err->message);
	if (err)
		finish(purge);
	else
		next(purge);
}

static int
look(struct db *db, void *arg, struct kettle_error *err)
{
	struct purge *purge = arg;
	return board_remove_open(db, &purge->more, err);
}

static int
part(struct db *db, void *arg, struct kettle_error *err)
{
	struct purge *purge = arg;
	purge->removed = true;
	return board_remove_part(db, &purge->more, err);
}

static void
next(struct purge *purge)
{
	struct store *store = purge->core->store;
	bool again = purge->again;
	purge->again = false;
	if (purge->hurry || !store || (!purge->more && !again))
		finish(purge);
	else if (again)
		store_read(store, look, part_done, purge);
	else
		store_write(store, part, part_done, purge);
}

void
purge_poke(struct core *core)
{
	if (core->purge) {
		core->purge->again = true;
		return;
	}
	core->purge = calloc(1, sizeof(*core->purge));
	if (!core->purge)
		return; /* the next start looks again */
	*core->purge = (struct purge){.core = core, .again = true};
	next(core->purge);
}

void
purge_wait(struct core *core, void (*done)(void *arg), void *arg)
{
	if (!core->purge || core->purge->hurry || core->setup.stays) {
		done(arg);
		return;
	}
	core->purge->done = done;
	core->purge->arg = arg;
}

void
purge_hurry(struct core *core)
{
	if (core->purge)
		core->purge->hurry = true;
}
