/* SPDX-License-Identifier: MIT */
/* The engine's host: forwards to the loop's services, the core, the store and the jobs in flight. */
#include <config.h>

#include "session/plugin_host.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "model/settings.h"

#include <stdlib.h>
#include <string.h>

#define STATE_MAX_KEY 200
#define STATE_MAX_VALUE (1u << 20)

static struct core_host *
of(const struct kettle_host *table)
{
	return (struct core_host *)table;
}

static void
host_log(const struct kettle_host *table, enum kettle_log_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_vwrite(level, of(table)->name, format, args);
	va_end(args);
}

static int
host_post(const struct kettle_host *table, kettle_fn fn, void *arg)
{
	return loop_post(of(table)->io, fn, arg);
}

static int
host_work(const struct kettle_host *table, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	return loop_work(of(table)->io, work, after, arg, err);
}

static int
host_timer_start(const struct kettle_host *table, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	return loop_timer_start(of(table)->io, delay_ms, repeat_ms, fn, arg, ret_timer, err);
}

static void
host_timer_stop(const struct kettle_host *table, struct kettle_timer *timer)
{
	loop_timer_stop(of(table)->io, timer);
}

static int
host_spawn(const struct kettle_host *table, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err)
{
	return loop_spawn(of(table)->io, spawn, ret_process, err);
}

static int
host_process_write(const struct kettle_host *table, struct kettle_process *process, const void *data, size_t size,
	struct kettle_error *err)
{
	return loop_process_write(of(table)->io, process, data, size, err);
}

static void
host_process_close_stdin(const struct kettle_host *table, struct kettle_process *process)
{
	loop_process_close_stdin(of(table)->io, process);
}

static void
host_process_kill(const struct kettle_host *table, struct kettle_process *process, int signal)
{
	loop_process_kill(of(table)->io, process, signal);
}

/* One access to the plugin's state under way. */
struct settings_access {
	struct core_host *host;
	char *key;
	json_t *value;
	bool put;
	kettle_answer done;
	void *arg;
};

static int
state_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct settings_access *access = arg;
	if (access->put)
		return settings_put(db, access->host->name, access->key, access->value, err);
	return settings_get(db, access->host->name, access->key, &access->value, err);
}

static void
free_access(struct settings_access *access)
{
	json_decref(access->value);
	free(access->key);
	free(access);
}

static void
state_done(void *arg, const struct kettle_error *err)
{
	struct settings_access *access = arg;
	struct kettle_error none = {0};
	access->done(access->arg, err ? err : &none, err ? NULL : access->value);
	free_access(access);
}

static void
state_attached(void *arg, const struct kettle_error *err)
{
	struct settings_access *access = arg;
	struct core *core = access->host->core;
	struct kettle_error not_here = {.code = KETTLE_EUNAVAIL,
		.message = "Only the process that runs the engine of a database keeps the state of plugins."};
	if (err || core->role != CORE_OWNER || !core->store)
		state_done(access, err ? err : &not_here);
	else if (access->put)
		store_write(core->store, state_op, state_done, access);
	else
		store_read(core->store, state_op, state_done, access);
}

static void
state_begin(void *arg)
{
	struct settings_access *access = arg;
	struct core *core = access->host->core;
	core_attach(core, state_attached, access);
}

static int
access_state(
	const struct kettle_host *table, const char *key, const json_t *value, bool put, kettle_answer done, void *arg)
{
	if (strlen(key) > STATE_MAX_KEY || (value && json_dumpb(value, NULL, 0, JSON_ENCODE_ANY) > STATE_MAX_VALUE))
		return KETTLE_ETOOBIG;
	struct settings_access *access = xmalloc(sizeof(*access));
	*access = (struct settings_access){
		.host = of(table),
		.key = xstrdup(key),
		.value = value ? json_deep_copy(value) : NULL,
		.put = put,
		.done = done,
		.arg = arg,
	};
	int rc = loop_post(access->host->io, state_begin, access);
	if (rc < 0)
		free_access(access);
	return rc;
}

static int
host_state_get(const struct kettle_host *table, const char *key, kettle_answer done, void *arg)
{
	return access_state(table, key, NULL, false, done, arg);
}

static int
host_state_put(const struct kettle_host *table, const char *key, const json_t *value, kettle_answer done, void *arg)
{
	return access_state(table, key, value, true, done, arg);
}

static int
host_call(const struct kettle_host *table, const json_t *actor, const char *command, const json_t *args,
	kettle_answer done, void *arg)
{
	return core_call(of(table)->core, actor, command, args, done, arg);
}

static const json_t *
host_commands(const struct kettle_host *table)
{
	return of(table)->core->commands;
}

static int
host_subscribe(const struct kettle_host *table, const json_t *actor, const json_t *filter, int64_t after,
	kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err)
{
	return core_subscribe(of(table)->core, actor, filter, after, fn, arg, ret_id, err);
}

static void
host_unsubscribe(const struct kettle_host *table, uint64_t id)
{
	core_unsubscribe(of(table)->core, id);
}

static void
host_job_event(const struct kettle_host *table, const char *ref, const json_t *event)
{
	struct inflight_job *job = inflight_find(&of(table)->core->inflight, ref);
	if (job)
		job->event(job, event);
}

static int
host_job_handle(const struct kettle_host *table, const char *ref, const char *handle, kettle_answer done, void *arg)
{
	struct inflight_job *job = inflight_find(&of(table)->core->inflight, ref);
	if (!job)
		return KETTLE_ENOENT;
	job->handle(job, handle, done, arg);
	return 0;
}

static void
host_job_done(const struct kettle_host *table, const char *ref, json_t *completion_take)
{
	struct inflight *inflight = &of(table)->core->inflight;
	struct inflight_job *job = inflight_find(inflight, ref);
	if (job) {
		inflight_remove(inflight, job);
		AUTO_COMPLETION struct completion completion = completion_read(completion_take);
		job->done(job, &completion);
	} else {
		log_write(
			KETTLE_LOG_INFO, of(table)->name, "a completion of job %.40s, which is not in flight, is dropped", ref);
	}
	json_decref(completion_take);
}

void
host_init(struct core_host *host, struct loop_services *io, struct core *core, const char *name)
{
	*host = (struct core_host){
		.table =
			{
				.size = sizeof(struct kettle_host),
				.abi_major = KETTLE_ABI_MAJOR,
				.abi_minor = KETTLE_ABI_MINOR,
				.version = PACKAGE_VERSION,
				.log = host_log,
				.post = host_post,
				.work = host_work,
				.timer_start = host_timer_start,
				.timer_stop = host_timer_stop,
				.spawn = host_spawn,
				.process_write = host_process_write,
				.process_close_stdin = host_process_close_stdin,
				.process_kill = host_process_kill,
				.settings_get = host_state_get,
				.settings_put = host_state_put,
				.call = host_call,
				.commands = host_commands,
				.subscribe = host_subscribe,
				.unsubscribe = host_unsubscribe,
				.job_event = host_job_event,
				.job_handle = host_job_handle,
				.job_done = host_job_done,
			},
		.io = io,
		.core = core,
	};
	(void)snprintf(host->name, sizeof(host->name), "%s", name);
	host->table.name = host->name;
}
