/* SPDX-License-Identifier: MIT */
/* Removes what is left in the spool and nothing speaks of any more: dead attempts, files of what was deleted. */
#include <config.h>

#include "maintenance/spool_sweep.h"

#include "model/artifact.h"
#include "base/cleanup.h"
#include "session/core_internal.h"
#include "base/log.h"

#include <stdlib.h>

struct sweep {
	struct core *core;
	char *spool;
	json_t *names, *unknown;
	int64_t bytes;
	struct kettle_error err;
	sweep_done done;
	void *arg;
};

static void
finish(void *arg)
{
	struct sweep *sweep = arg;
	if (sweep->done)
		sweep->done(sweep->arg, &sweep->err, (int64_t)json_array_size(sweep->unknown), sweep->bytes);
	json_decref(sweep->names);
	json_decref(sweep->unknown);
	free(sweep->spool);
	free(sweep);
}

static void
remove_unknown(void *arg)
{
	struct sweep *sweep = arg;
	sweep->bytes = artifact_remove(sweep->spool, sweep->unknown);
}

static void
asked(void *arg, const struct kettle_error *err)
{
	struct sweep *sweep = arg;
	if (err)
		sweep->err = *err;
	if (err || json_array_size(sweep->unknown) == 0 ||
		hostio_work(sweep->core->setup.io, remove_unknown, finish, sweep, &sweep->err) < 0)
		finish(sweep);
}

static int
ask(struct db *db, void *arg, struct kettle_error *err)
{
	struct sweep *sweep = arg;
	return artifact_unknown(db, sweep->names, &sweep->unknown, err);
}

static void
list(void *arg)
{
	struct sweep *sweep = arg;
	(void)artifact_folders(sweep->spool, &sweep->names, &sweep->err);
}

static void
listed(void *arg)
{
	struct sweep *sweep = arg;
	/* Behind the writes that wait: what they store is spoken of. */
	if (sweep->err.code < 0 || json_array_size(sweep->names) == 0 || !sweep->core->store)
		finish(sweep);
	else
		store_read(sweep->core->store, ask, asked, sweep);
}

void
sweep_start(struct core *core, sweep_done done, void *arg)
{
	struct kettle_error err = {0};
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	if (sweep)
		*sweep = (struct sweep){.core = core, .spool = artifact_spool(core->setup.database), .done = done, .arg = arg};
	if (sweep && sweep->spool && hostio_work(core->setup.io, list, listed, sweep, &sweep->err) == 0)
		return;
	(void)kettle_fail(&err, KETTLE_ENOMEM, "There is not enough memory to look through the spool.");
	if (done)
		done(arg, sweep && sweep->err.code ? &sweep->err : &err, 0, 0);
	if (sweep)
		free(sweep->spool);
	free(sweep);
}

static void
poked(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes)
{
	struct core *core = arg;
	(void)folders;
	(void)bytes;
	if (err->code < 0 && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_WARNING, "core", "the spool could not be looked through: %s", err->message);
	core->sweeping = false;
	bool again = core->sweep_again;
	core->sweep_again = false;
	if (again && core->role == CORE_OWNER && !core->closing)
		sweep_poke(core);
	else
		core_work_ended(core);
}

void
sweep_poke(struct core *core)
{
	core->sweep_again = core->sweeping;
	if (core->sweeping)
		return;
	core->sweeping = true;
	sweep_start(core, poked, core);
}
