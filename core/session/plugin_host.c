/* SPDX-License-Identifier: MIT */
/* The engine's host: forwards to the loop's services, the core, the store and the jobs in flight. */
#include <config.h>

#include "session/plugin_host.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "loop/watch.h"
#include "session/core_internal.h"

#include <stdlib.h>

static void
host_log(const struct kettle_host *table, enum kettle_log_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_vwrite(level, host_of(table)->name, format, args);
	va_end(args);
}

static int
host_post(const struct kettle_host *table, kettle_fn fn, void *arg)
{
	return loop_post(host_of(table)->io, fn, arg);
}

static int
host_work(const struct kettle_host *table, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	return loop_work(host_of(table)->io, work, after, arg, err);
}

static int
host_timer_start(const struct kettle_host *table, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	return loop_timer_start(host_of(table)->io, delay_ms, repeat_ms, fn, arg, ret_timer, err);
}

static void
host_timer_stop(const struct kettle_host *table, struct kettle_timer *timer)
{
	loop_timer_stop(host_of(table)->io, timer);
}

static uint64_t
host_monotonic_ms(const struct kettle_host *table)
{
	return clock_ms(loop_clock(host_of(table)->io));
}

static int64_t
host_utc_ms(const struct kettle_host *table)
{
	return clock_utc_ms(loop_clock(host_of(table)->io));
}

static int
host_spawn(const struct kettle_host *table, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err)
{
	return loop_spawn(host_of(table)->io, spawn, ret_process, err);
}

static int
host_process_write(const struct kettle_host *table, struct kettle_process *process, const void *data, size_t size,
	struct kettle_error *err)
{
	return loop_process_write(host_of(table)->io, process, data, size, err);
}

static void
host_process_close_stdin(const struct kettle_host *table, struct kettle_process *process)
{
	loop_process_close_stdin(host_of(table)->io, process);
}

static void
host_process_kill(const struct kettle_host *table, struct kettle_process *process, int signal)
{
	loop_process_kill(host_of(table)->io, process, signal);
}

/* An answer that a plugin waits for. Whatever answers calls it once, so that the time of the plugin is taken here alone. */
struct watched_answer {
	const struct core_host *host;
	const char *what;
	kettle_answer done;
	void *arg;
	bool asking, answered; /* the plugin's call has not returned: the answer waits for that */
	struct kettle_error err;
	json_t *result;
};

static void
answer_watched(void *arg, const struct kettle_error *err, json_t *result)
{
	struct watched_answer *answer = arg;
	if (answer->asking) {
		answer->answered = true;
		answer->err = *err;
		answer->result = json_incref(result);
		return;
	}
	const struct watch watch = watch_begin();
	answer->done(answer->arg, err, result);
	watch_end(&watch, answer->host->name, answer->what);
	json_decref(answer->result);
	free(answer);
}

static void
answer_later(void *arg)
{
	struct watched_answer *answer = arg;
	answer_watched(answer, &answer->err, answer->result);
}

static struct watched_answer *
watch_answer(const struct kettle_host *table, const char *what, kettle_answer done, void *arg)
{
	struct watched_answer *answer = xmalloc(sizeof(*answer));
	*answer = (struct watched_answer){.host = host_of(table), .what = what, .done = done, .arg = arg};
	return answer;
}

static int
host_call(const struct kettle_host *table, const json_t *actor, const char *command, const json_t *args,
	kettle_answer done, void *arg)
{
	struct core *core = host_of(table)->core;
	if (!done)
		return core_call(core, actor, command, args, NULL, NULL);
	struct watched_answer *answer = watch_answer(table, "the answer to a call", done, arg);
	int rc = core_call(core, actor, command, args, answer_watched, answer);
	if (rc < 0)
		free(answer);
	return rc;
}

static const json_t *
host_commands(const struct kettle_host *table)
{
	return host_of(table)->core->commands;
}

static const json_t *
host_answers(const struct kettle_host *table)
{
	struct core *core = host_of(table)->core;
	core->answers = core->answers ? core->answers : command_answers(core->setup.commands);
	return core->answers;
}

static int
host_subscribe(const struct kettle_host *table, const json_t *actor, const json_t *filter, int64_t after,
	kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err)
{
	return core_subscribe(host_of(table)->core, actor, filter, after, fn, arg, ret_id, err);
}

static int
host_unsubscribe(const struct kettle_host *table, uint64_t id, kettle_fn ended, void *arg)
{
	return core_unsubscribe(host_of(table)->core, id, ended, arg);
}

static int
host_event_done(const struct kettle_host *table, int64_t seq)
{
	return event_feed_done(host_of(table), seq);
}

static void
host_job_event(const struct kettle_host *table, const char *ref, const json_t *event)
{
	struct inflight_job *job = inflight_find(&host_of(table)->core->inflight, ref);
	if (job)
		job->event(job, event);
}

static void
host_reached(const struct kettle_host *table, const json_t *options, const char *error)
{
	const struct core_host *host = host_of(table);
	if (host->core->engine)
		engine_reached(host->core->engine, host->name, options, error);
}

static int
host_job_handle(const struct kettle_host *table, const char *ref, const char *handle, kettle_answer done, void *arg)
{
	struct inflight_job *job = inflight_find(&host_of(table)->core->inflight, ref);
	if (!job)
		return KETTLE_ENOENT;
	if (!done) {
		job->handle(job, handle, NULL, NULL);
		return 0;
	}
	struct watched_answer *answer = watch_answer(table, "the answer to a handle", done, arg);
	answer->asking = true;
	job->handle(job, handle, answer_watched, answer);
	answer->asking = false;
	if (answer->answered && loop_post(host_of(table)->io, answer_later, answer) < 0)
		answer_later(answer);
	return 0;
}

static void
host_job_done(const struct kettle_host *table, const char *ref, json_t *completion_take)
{
	struct inflight *inflight = &host_of(table)->core->inflight;
	struct inflight_job *job = inflight_find(inflight, ref);
	if (job) {
		inflight_remove(inflight, job);
		AUTO_COMPLETION struct completion completion = completion_read(completion_take);
		job->done(job, &completion);
	} else {
		log_write(KETTLE_LOG_INFO, host_of(table)->name, "ignored a late result of job %.40s", ref);
	}
	json_decref(completion_take);
}

static int
host_http(const struct kettle_host *table, const struct kettle_http_request *request, uint64_t *ret_id,
	struct kettle_error *err)
{
	struct http *http = host_of(table)->core->setup.http;
	if (!http)
		return kettle_fail(err, KETTLE_ECANCELED, "No request can be sent any more: the engine is closing.");
	return http_send(http, table, request, ret_id, err);
}

static void
host_http_cancel(const struct kettle_host *table, uint64_t id)
{
	struct http *http = host_of(table)->core->setup.http;
	if (http)
		http_cancel(http, table, id);
}

void
host_end(struct core_host *host)
{
	if (!host->core)
		return;
	(void)host_link_base(&host->table, NULL, NULL);
	if (host->core->setup.http)
		http_cancel_all(host->core->setup.http, &host->table);
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
				.state_get = host_state_get,
				.state_put = host_state_put,
				.state_list = host_state_list,
				.call = host_call,
				.commands = host_commands,
				.answers = host_answers,
				.subscribe = host_subscribe,
				.unsubscribe = host_unsubscribe,
				.event_done = host_event_done,
				.job_event = host_job_event,
				.job_handle = host_job_handle,
				.job_done = host_job_done,
				.http = host_http,
				.http_cancel = host_http_cancel,
				.publish = host_publish,
				.link_base = host_link_base,
				.credential = host_credential,
				.reached = host_reached,
				.monotonic_ms = host_monotonic_ms,
				.utc_ms = host_utc_ms,
			},
		.io = io,
		.core = core,
	};
	(void)snprintf(host->name, sizeof(host->name), "%s", name);
	host->table.name = host->name;
}
