/* SPDX-License-Identifier: MIT */
/* The core's life: made without a database, closed in the order engine, socket, store. */
#include <config.h>

#include "session/core.h"

#include "model/artifact.h"
#include "base/cleanup.h"
#include "session/core_internal.h"
#include "session/event_feed.h"
#include "maintenance/garbage_collector.h"
#include "maintenance/board_purge.h"

#include <stdlib.h>
#include <unistd.h>

int
core_new(const struct core_setup *setup, struct core **ret_core, struct kettle_error *err)
{
	struct core *core = calloc(1, sizeof(*core));
	if (!core)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the core.");
	core->setup = *setup;
	core->lock_fd = -1;
	core->thread = uv_thread_self();
	core->devices = json_deep_copy(setup->devices);
	core->retired = json_array();
	core->commands = command_data(setup->commands);
	core->env = (struct command_env){
		.languages = &core->languages,
		.devices = core->devices,
		.submission_bytes = setup->limits.submission_bytes,
	};
	core->spool = artifact_spool(setup->database);
	core->env.spool = core->spool;
	if (!core->spool || !core->devices || !core->commands || !core->retired) {
		core_free(core);
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the core.");
	}
	*ret_core = core;
	return 0;
}

void
core_free(struct core *core)
{
	if (!core)
		return;
	subscriptions_free(core);
	json_decref(core->devices);
	json_decref(core->retired);
	json_decref(core->commands);
	free(core->spool);
	free(core);
}

struct closing {
	struct core *core;
	uint64_t grace_ms;
	void (*closed)(void *arg);
	void *arg;
};

/* The caller may free the core then. */
static void
say_closed(struct closing *closing)
{
	closing->closed(closing->arg);
	free(closing);
}

static void
store_closed(void *arg)
{
	struct closing *closing = arg;
	feed_free(STEAL(closing->core->feed));
	if (closing->core->lock_fd >= 0)
		close(STEAL_FD(closing->core->lock_fd));
	closing->core->ending = NULL;
	closing->core->ended = true;
	closing->core->unsaid = closing;
	core_work_ended(closing->core);
}

void
core_work_ended(struct core *core)
{
	if (core->unsaid && !core->sweeping && !core->gc)
		say_closed(STEAL(core->unsaid));
}

static void
server_closed(void *arg)
{
	struct closing *closing = arg;
	closing->core->server = NULL;
	if (closing->core->store)
		store_close(STEAL(closing->core->store), store_closed, closing);
	else
		store_closed(closing);
}

static void
engine_stopped(void *arg)
{
	struct closing *closing = arg;
	struct core *core = closing->core;
	/* From here on nothing is accepted; what was accepted before is answered by the store before it closes. */
	struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The engine is stopping."};
	core->closing = true;
	attach_stop(core, &err);
	engine_free(STEAL(core->engine));
	feed_stop(core->feed);
	gc_stop(core);
	server_close(core->server, server_closed, closing);
}

static void
stop_engine(void *arg)
{
	struct closing *closing = arg;
	closing->core->ending_engine = true;
	engine_stop(closing->core->engine, closing->grace_ms, engine_stopped, closing);
}

void
core_close(struct core *core, uint64_t grace_ms, void (*closed)(void *arg), void *arg)
{
	struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The engine is stopping."};
	__atomic_store_n(&core->leaving, 1, __ATOMIC_RELAXED);
	if (core->ended)
		return;
	if (core->ending) {
		core->ending->grace_ms = grace_ms;
		purge_hurry(core);
		if (core->ending_engine && core->engine)
			engine_stop(core->engine, grace_ms, engine_stopped, core->ending);
		return;
	}
	struct closing *closing = calloc(1, sizeof(*closing));
	if (!closing)
		abort(); /* a process that cannot even end: nothing is lost, the database holds it all */
	*closing = (struct closing){core, grace_ms, closed, arg};
	core->ending = closing;
	if (core->engine) {
		if (grace_ms == 0)
			purge_hurry(core);
		purge_wait(core, stop_engine, closing);
		return;
	}
	core->closing = true;
	attach_stop(core, &err);
	client_close(STEAL(core->client), server_closed, closing);
}

int
core_reload(struct core *core, const json_t *devices, const struct core_limits *limits, struct kettle_error *err)
{
	json_t *copy = json_deep_copy(devices);
	if (!copy)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the devices.");
	if (core->engine) {
		int status = engine_reload(core->engine, copy, err);
		if (status < 0) {
			json_decref(copy);
			return status;
		}
	}
	/* The store's thread may be reading the old snapshot: it stays until the core is freed. */
	json_array_append_new(core->retired, core->devices);
	core->devices = copy;
	core->env.devices = copy;
	core->setup.limits = *limits;
	core->env.submission_bytes = limits->submission_bytes;
	if (core->engine)
		engine_limit(core->engine, limits->artifact_bytes);
	return 0;
}
