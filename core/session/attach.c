/* SPDX-License-Identifier: MIT */
/* Attaching a process to its database: as the owner where the lock is free, else as a client of the owner. */
#include <config.h>

#include "session/core_internal.h"

#include "base/cleanup.h"
#include "session/event_feed.h"
#include "maintenance/garbage_collector.h"
#include "store/db_lock.h"
#include "base/log.h"
#include "maintenance/board_purge.h"
#include "maintenance/spool_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An owner that starts or ends is waited for this long. */
#define ATTACH_LIMIT_MS 15000
#define ATTACH_RETRY_MS 25

struct attach {
	struct core *core;
	struct call *first, **last;
	struct kettle_timer *timer;
	uint64_t give_up_ms;
	bool told; /* that a server waits */
	struct waiting {
		store_done done;
		void *arg;
		struct waiting *next;
	} * waiting;
};

static void try_attach(void *arg);

static struct attach *
begin(struct core *core, uint64_t delay_ms)
{
	if (core->closing)
		return NULL;
	if (!core->attach) {
		core->attach = calloc(1, sizeof(*core->attach));
		if (!core->attach)
			return NULL;
		core->attach->core = core;
		core->attach->last = &core->attach->first;
	}
	if (core->role == CORE_DETACHED) {
		struct kettle_error err = {0};
		if (hostio_timer_start(core->setup.io, delay_ms, 0, try_attach, core->attach, &core->attach->timer, &err) < 0)
			return NULL;
		core->role = CORE_ATTACHING;
		core->attach->give_up_ms = uv_now(core->setup.loop) + ATTACH_LIMIT_MS;
	}
	return core->attach;
}

void
attach_wait(struct core *core, struct call *call)
{
	struct attach *attach = begin(core, 0);
	if (!attach) {
		call_fail(call, KETTLE_ENOMEM, "There is not enough memory to open the database.");
		return;
	}
	call->next = NULL;
	*attach->last = call;
	attach->last = &call->next;
}

void
core_attach(struct core *core, store_done done, void *arg)
{
	struct kettle_error closing = {.code = KETTLE_ECANCELED, .message = "The engine is stopping."};
	struct kettle_error no_memory = {
		.code = KETTLE_ENOMEM, .message = "There is not enough memory to open the database."};
	if (!core->closing && (core->role == CORE_OWNER || core->role == CORE_CLIENT)) {
		done(arg, NULL);
		return;
	}
	struct attach *attach = begin(core, 0);
	struct waiting *waiting = attach ? calloc(1, sizeof(*waiting)) : NULL;
	if (!waiting) {
		done(arg, core->closing ? &closing : &no_memory);
		return;
	}
	*waiting = (struct waiting){done, arg, attach->waiting};
	attach->waiting = waiting;
}

/* Everything that waited goes on, or is answered with the error. */
static void
release(struct core *core, const struct kettle_error *err)
{
	struct attach *attach = core->attach;
	struct call *calls = STEAL(attach->first);
	attach->last = &attach->first;
	struct waiting *waiting = STEAL(attach->waiting);
	while (waiting) {
		struct waiting *next = waiting->next;
		waiting->done(waiting->arg, err);
		free(waiting);
		waiting = next;
	}
	while (calls) {
		struct call *next = calls->next;
		if (err)
			call_answer(calls, err, NULL);
		else
			call_route(calls);
		calls = next;
	}
}

static void
fail(struct core *core, const struct kettle_error *err)
{
	core->role = CORE_DETACHED;
	release(core, err);
}

/* What jobs left goes with them. */
static bool
is_deletion(const char *kind)
{
	return kind && (strcmp(kind, "submission.deleted") == 0 || strcmp(kind, "leaderboard.deleted") == 0);
}

static void
on_events(void *arg, const json_t *events)
{
	struct core *core = arg;
	bool deleted = false, board = false;
	size_t i;
	json_t *event;
	json_array_foreach(events, i, event) {
		if (core->engine)
			engine_event(core->engine, event);
		subscriptions_event(core, event);
		const char *kind = json_string_value(json_object_get(event, "kind"));
		deleted = deleted || is_deletion(kind);
		board = board || (kind && strcmp(kind, "leaderboard.deleted") == 0);
	}
	if (board)
		purge_poke(core);
	if (deleted)
		sweep_poke(core);
	feed_poke(core->feed);
}

static void
on_progress(void *arg, const json_t *event)
{
	subscriptions_event(arg, event);
}

static void
engine_started(void *arg, const struct kettle_error *err)
{
	(void)arg;
	if (err)
		log_write(KETTLE_LOG_ERROR, "core", "the open jobs could not be loaded: %s", err->message);
}

/* With the lock held: the store, the engine, the socket. */
static int
become_owner(struct core *core, struct kettle_error *err)
{
	int status =
		store_open(core->setup.loop, core->setup.database, core->setup.owner, on_events, core, &core->store, err);
	if (status < 0)
		return status;
	struct engine_setup setup = {
		.loop = core->setup.loop,
		.store = core->store,
		.live = &core->live,
		.languages = &core->languages,
		.runners = core->runners,
		.runners_count = core->runners_count,
		.spool = core->spool,
		.artifact_bytes = core->setup.limits.artifact_bytes,
		.devices = core->devices,
		.progress = on_progress,
		.arg = core,
	};
	status = engine_new(&setup, &core->engine, err);
	if (status == 0)
		status = server_listen(core, &core->server, err);
	if (status < 0)
		return status;
	if (core->setup.stays)
		status = feed_start(core, &core->feed, err);
	if (status < 0)
		return status;
	core->role = CORE_OWNER;
	engine_start(core->engine, engine_started, core);
	/* Its own: what jobs leave is nobody else's to read. */
	if (mkdir(core->spool, 0700) != 0 && errno != EEXIST)
		log_write(KETTLE_LOG_WARNING, "core", "what jobs leave cannot be kept in %s: %s", core->spool, strerror(errno));
	sweep_poke(core);
	purge_poke(core);
	if (core->setup.stays)
		gc_serve(core);
	return 0;
}

static void
undo_owner(struct core *core)
{
	engine_free(STEAL(core->engine));
	server_close(STEAL(core->server), NULL, NULL);
	store_close(STEAL(core->store), NULL, NULL);
	close(core->lock_fd);
	core->lock_fd = -1;
}

static void
retry(struct attach *attach, pid_t holder, bool patient)
{
	struct core *core = attach->core;
	struct kettle_error err = {0};
	if (!patient && uv_now(core->setup.loop) >= attach->give_up_ms)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The database %s is held by process %ld, which does not answer on its socket.", core->setup.database,
			(long)holder);
	else if (hostio_timer_start(core->setup.io, ATTACH_RETRY_MS, 0, try_attach, attach, &attach->timer, &err) == 0)
		return;
	fail(core, &err);
}

/* A server is the owner or nothing: another server is a mistake, a command line ends some time. */
static void
wait_to_serve(struct attach *attach, const struct lock_holder *holder, struct kettle_error *err)
{
	struct core *core = attach->core;
	if (holder->stays) {
		err->code = KETTLE_EUNAVAIL;
		fail(core, err);
		return;
	}
	if (holder->pid && !attach->told)
		log_write(KETTLE_LOG_WARNING, "core",
			"the database %s is in use by process %ld, a command line; waiting for its jobs to end",
			core->setup.database, (long)holder->pid);
	attach->told = attach->told || holder->pid;
	retry(attach, holder->pid, holder->pid != 0);
}

static void
try_attach(void *arg)
{
	struct attach *attach = arg;
	struct core *core = attach->core;
	struct kettle_error err = {0};
	struct lock_holder holder = {0};
	attach->timer = NULL;
	int status = lock_take(core->setup.database, core->setup.stays, &core->lock_fd, &holder, &err);
	if (status == 0) {
		status = become_owner(core, &err);
		if (status < 0) {
			undo_owner(core);
			fail(core, &err);
			return;
		}
	} else if (status == KETTLE_ECONFLICT && core->setup.stays) {
		wait_to_serve(attach, &holder, &err);
		return;
	} else if (status == KETTLE_ECONFLICT) {
		if (client_connect(core, holder.pid, &core->client, &err) < 0) {
			retry(attach, holder.pid, false);
			return;
		}
		core->role = CORE_CLIENT;
	} else {
		fail(core, &err);
		return;
	}
	release(core, NULL);
	if (!core->closing)
		subscriptions_resume(core);
}

void
attach_again(struct core *core)
{
	if (core->closing)
		return;
	attach_lost(core);
	/* Not at once: an owner that closes what it has just accepted would be asked without end. */
	(void)begin(core, ATTACH_RETRY_MS);
}

void
attach_lost(struct core *core)
{
	core->client = NULL;
	core->role = CORE_DETACHED;
}

void
attach_stop(struct core *core, const struct kettle_error *err)
{
	if (!core->attach)
		return;
	hostio_timer_stop(core->setup.io, STEAL(core->attach->timer));
	release(core, err);
	free(STEAL(core->attach));
}
