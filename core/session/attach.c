/* SPDX-License-Identifier: MIT */
/* Attaches a process to its database: as owner if the lock is free, else as client of the owner. */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "store/db_file.h"

/* The time that a process waits for an owner that starts or ends. */
#define ATTACH_LIMIT_MS 15000
#define ATTACH_RETRY_MS 25

/* An attachment under way, with the callbacks that wait for it. */
struct attach {
	struct core *core;
	struct attach_waiter {
		store_done done;
		void *arg;
		struct attach_waiter *next;
	} * waiters; /* in their order */
	struct kettle_timer *timer;
	uint64_t give_up_ms;
	bool warned; /* the log says that a server waits */
};

static void try_attach(void *arg);

static int
attach_begin(struct core *core, uint64_t delay_ms, struct kettle_error *err)
{
	struct attach *attach = xcalloc(1, sizeof(*attach));
	int rc = loop_timer_start(core->setup.io, delay_ms, 0, try_attach, attach, &attach->timer, err);
	if (rc < 0) {
		free(attach);
		return rc;
	}
	attach->core = core;
	attach->give_up_ms = clock_ms(loop_clock(core->setup.io)) + ATTACH_LIMIT_MS;
	core->role = CORE_ATTACHING;
	core->attach = attach;
	return 0;
}

void
core_attach(struct core *core, store_done done, void *arg)
{
	struct kettle_error err = {0};
	if (core->closing)
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The engine is stopping.");
	else if (core->role == CORE_DETACHED)
		(void)attach_begin(core, 0, &err);
	if (err.code < 0 || core->role != CORE_ATTACHING) {
		done(arg, err.code < 0 ? &err : NULL);
		return;
	}
	struct attach_waiter *waiter = xnew(struct attach_waiter, .done = done, .arg = arg);
	LIST_APPEND(core->attach->waiters, waiter);
}

static void
finish(struct core *core, const struct kettle_error *err)
{
	struct attach *attach = STEAL(core->attach);
	struct attach_waiter *waiter = attach->waiters;
	free(attach);
	while (waiter) {
		struct attach_waiter *next = waiter->next;
		waiter->done(waiter->arg, err);
		free(waiter);
		waiter = next;
	}
}

static void
attach_fail(struct core *core, const struct kettle_error *err)
{
	core->role = CORE_DETACHED;
	finish(core, err);
}

/* The connection is lost. If the owner refused this client, the next command tries again. */
static void
on_lost(struct core *core, bool refused)
{
	if (core->closing)
		return;
	core->client = NULL;
	core->role = CORE_DETACHED;
	/* After a pause, so that an owner which closes every connection is not tried without end. */
	if (!refused)
		(void)attach_begin(core, ATTACH_RETRY_MS, &(struct kettle_error){0});
}

static void
retry(struct attach *attach, pid_t holder, bool patient)
{
	struct core *core = attach->core;
	struct kettle_error err = {0};
	if (!patient && clock_ms(loop_clock(core->setup.io)) >= attach->give_up_ms)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The database %s is held by process %ld, which does not answer on its socket.", core->setup.database,
			(long)holder);
	else if (loop_timer_start(core->setup.io, ATTACH_RETRY_MS, 0, try_attach, attach, &attach->timer, &err) == 0)
		return;
	attach_fail(core, &err);
}

/*
 * A server waits for a command line that owns the database, since its jobs end. Another server is a mistake, so the
 * start fails.
 */
static void
wait_to_serve(struct attach *attach, const struct lock_holder *holder, struct kettle_error *err)
{
	struct core *core = attach->core;
	if (holder->is_server) {
		err->code = KETTLE_EUNAVAIL;
		attach_fail(core, err);
		return;
	}
	if (holder->pid && !attach->warned)
		log_write(KETTLE_LOG_WARNING, "core",
			"the database %s is in use by process %ld, a command line; waiting for its jobs to end",
			core->setup.database, (long)holder->pid);
	attach->warned = attach->warned || holder->pid;
	retry(attach, holder->pid, holder->pid != 0);
}

static void
try_attach(void *arg)
{
	static const struct client_events events = {
		.answered = call_answer,
		.returned = call_route,
		.event = subscriptions_receive,
		.lost = on_lost,
	};
	struct attach *attach = arg;
	struct core *core = attach->core;
	struct kettle_error err = {0};
	struct lock_holder holder = {0};
	attach->timer = NULL;
	int rc = db_lock_take(core->setup.database, core->setup.is_server, &core->lock_fd, &holder, &err);
	if (rc == 0)
		rc = owner_start(core, &err);
	else if (rc == KETTLE_ECONFLICT && core->setup.is_server) {
		wait_to_serve(attach, &holder, &err);
		return;
	} else if (rc == KETTLE_ECONFLICT) {
		rc = client_connect(core, &events, holder.pid, &core->client, &err);
		if (rc < 0) {
			retry(attach, holder.pid, false);
			return;
		}
		core->role = CORE_CLIENT;
	}
	if (rc < 0) {
		attach_fail(core, &err);
		return;
	}
	/* Comes before the waiting commands, so that the owner knows who sees their progress. */
	if (!core->closing)
		subscriptions_resume(core);
	finish(core, NULL);
}

void
attach_stop(struct core *core, const struct kettle_error *err)
{
	if (!core->attach)
		return;
	loop_timer_stop(core->setup.io, STEAL(core->attach->timer));
	finish(core, err);
}
