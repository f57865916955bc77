/* SPDX-License-Identifier: MIT */
/*
 * The core's life: made without a database, attached to it (as its owner if the lock is free, else as a client of the
 * owner), closed in the order engine, socket, store.
 */
#include <config.h>

#include "session/core_internal.h"
#include "session/web_client.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "engine/secret_output.h"
#include "model/artifact.h"
#include "model/download_urls.h"
#include "store/db_file.h"

/* The time that a process waits for an owner that starts or ends. */
#define ATTACH_LIMIT_MS 15000
#define ATTACH_RETRY_MS 25

static const struct web_client_events web_events = {
	.answered = call_answer, .event = subscriptions_receive, .progress = core_publish};

struct core *
core_new(const struct core_setup *setup)
{
	struct core *core = xnew(struct core, .setup = *setup, .lock_fd = -1, .thread = uv_thread_self(),
		.when_attached = core_attach, .devices = json_deep_copy(setup->devices), .retired = json_array());
	callers_init(&core->callers);
	readers_init(&core->readers, setup->database);
	core->env = (struct command_env){
		.devices = core->devices,
		.submission_bytes = setup->limits.submission_bytes,
	};
	core->spool = artifact_spool(setup->database);
	core->secret_output = secret_output_path(setup->database);
	core->env.spool = core->spool;
	core->web = setup->server ? web_client_new(core, &web_events) : NULL;
	core->env.links = core->links.folder = download_url_folder(setup->database);
	return core;
}

void
core_free(struct core *core)
{
	if (!core)
		return;
	subscriptions_free(core);
	callers_free(&core->callers);
	readers_free(&core->readers);
	json_decref_all(core->devices, core->retired, core->commands, core->answers);
	free_all(core->spool, core->secret_output, core->links.folder, core->links.base, core);
}

/* ---- attaching ---- */

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
attach_finish(struct core *core, const struct kettle_error *err)
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
	attach_finish(core, err);
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
attach_retry(struct attach *attach, pid_t holder, bool patient)
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
	attach_retry(attach, holder->pid, holder->pid != 0);
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
			attach_retry(attach, holder.pid, false);
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
	attach_finish(core, NULL);
}

/* ---- the end ---- */

/* Answers all waiters with the error, and tries no more. */
static void
attach_stop(struct core *core, const struct kettle_error *err)
{
	if (!core->attach)
		return;
	loop_timer_stop(core->setup.io, STEAL(core->attach->timer));
	attach_finish(core, err);
}

void
core_close(struct core *core, uint64_t grace_ms, void (*closed)(void *arg), void *arg)
{
	struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The engine is stopping."};
	__atomic_store_n(&core->leaving, 1, __ATOMIC_RELAXED);
	if (core->ended)
		return;
	readers_close(&core->readers);
	bool again = core->ending.closed;
	core->ending.grace_ms = grace_ms;
	if (!again) {
		core->ending.closed = closed;
		core->ending.arg = arg;
	}
	if (core->role == CORE_OWNER) {
		owner_close(core, again);
	} else if (!again) {
		core->closing = true;
		attach_stop(core, &err);
		web_client_free(STEAL(core->web));
		client_close(STEAL(core->client), core_ended, core);
	}
}

void
core_take_languages(struct core *core, const struct languages *languages)
{
	core->languages = core->env.languages = languages;
	if (core->engine)
		engine_take_languages(core->engine, languages);
}

int
core_reload(struct core *core, const json_t *devices, const struct core_limits *limits, struct kettle_error *err)
{
	json_t *copy = json_deep_copy(devices);
	if (core->engine) {
		int rc = engine_reload(core->engine, copy, err);
		if (rc < 0) {
			json_decref(copy);
			return rc;
		}
	}
	/* The store's thread may still read the old snapshot, so it stays until the core is freed. */
	json_array_append_new(core->retired, core->devices);
	core->devices = copy;
	core->env.devices = copy;
	core->setup.limits = *limits;
	core->env.submission_bytes = limits->submission_bytes;
	if (core->engine)
		engine_limit(core->engine, limits->artifact_bytes, limits->artifact_user_bytes);
	return 0;
}
