/* SPDX-License-Identifier: MIT */
/* Removes files from the spool that no row refers to: those of attempts that died and of deleted submissions. */
#include <config.h>

#include "maintenance/maintenance.h"

#include "base/base.h"
#include "base/log.h"
#include "model/artifact.h"

struct spool_sweep {
	struct maintenance *m;
	json_t *names, *unknown;
	int64_t bytes;
	struct kettle_error err;
	spool_sweep_done done;
	void *arg;
};

static void
sweep_finish(void *arg)
{
	struct spool_sweep *sweep = arg;
	sweep->done(sweep->arg, &sweep->err, (int64_t)json_array_size(sweep->unknown), sweep->bytes);
	json_decref_all(sweep->names, sweep->unknown);
	free(sweep);
}

static void
remove_unknown(void *arg)
{
	struct spool_sweep *sweep = arg;
	sweep->bytes = artifact_remove(sweep->m->spool, sweep->unknown);
}

static void
on_checked_names(void *arg, const struct kettle_error *err)
{
	struct spool_sweep *sweep = arg;
	if (err)
		sweep->err = *err;
	if (err || json_array_size(sweep->unknown) == 0 ||
		loop_work(sweep->m->io, remove_unknown, sweep_finish, sweep, &sweep->err) < 0)
		sweep_finish(sweep);
}

static int
check_names(struct db *db, void *arg, struct kettle_error *err)
{
	struct spool_sweep *sweep = arg;
	return artifact_unknown(db, sweep->names, &sweep->unknown, err);
}

static void
list(void *arg)
{
	struct spool_sweep *sweep = arg;
	(void)artifact_folders(sweep->m->spool, &sweep->names, &sweep->err);
}

static void
on_listed(void *arg)
{
	struct spool_sweep *sweep = arg;
	/* After the pending writes: rows that they store count. */
	if (sweep->err.code < 0 || json_array_size(sweep->names) == 0 || !sweep->m->store)
		sweep_finish(sweep);
	else
		store_read(sweep->m->store, check_names, on_checked_names, sweep);
}

void
spool_sweep_start(struct maintenance *m, spool_sweep_done done, void *arg)
{
	struct kettle_error err = {0};
	struct spool_sweep *sweep = xnew(struct spool_sweep, .m = m, .done = done, .arg = arg);
	if (loop_work(m->io, list, on_listed, sweep, &err) == 0)
		return;
	done(arg, &err, 0, 0);
	free(sweep);
}

static void
on_woken(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes)
{
	struct maintenance *m = arg;
	(void)folders;
	(void)bytes;
	if (err->code < 0 && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_WARNING, "core", "the spool could not be searched for files that are no longer needed: %s",
			err->message);
	m->sweeping = false;
	bool again = m->sweep_again;
	m->sweep_again = false;
	if (again && !m->closing)
		spool_sweep_wake(m);
	else
		maintenance_ended(m);
}

void
spool_sweep_wake(struct maintenance *m)
{
	m->sweep_again = m->sweeping;
	if (m->sweeping)
		return;
	m->sweeping = true;
	spool_sweep_start(m, on_woken, m);
}

void
maintenance_wait(struct maintenance *m, void (*idle)(void *arg), void *arg)
{
	m->idle = idle;
	m->idle_arg = arg;
	maintenance_ended(m);
}

void
maintenance_ended(struct maintenance *m)
{
	if (m->idle && !m->sweeping && !m->gc)
		STEAL(m->idle)(m->idle_arg);
}
