/* SPDX-License-Identifier: MIT */
/* The core's life: made without a database, closed in the order engine, socket, store. */
#include <config.h>

#include "session/core_internal.h"
#include "session/web_client.h"

#include "base/base.h"
#include "engine/secret_output.h"
#include "model/artifact.h"
#include "model/download_urls.h"

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

/* ---- the end ---- */

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
