/* SPDX-License-Identifier: MIT */
/* The engine's host: forwards calls of plugins to the loop's services, the core, the store and the jobs in flight. */
#include <config.h>

#include "session/plugin_host.h"

#include <pthread.h>

#include "base/base.h"
#include "base/log.h"
#include "base/text.h"
#include "loop/loop_host.h"
#include "loop/watch.h"
#include "model/download_urls.h"
#include "model/settings.h"
#include "session/core_internal.h"

/* ---- state of plugins (host.h: state_get, state_put, state_list), in the process that owns the database ---- */

/* An access under way. */
struct state_access {
	struct core_host *host;
	store_op op;
	bool write;
	char *key;   /* or the prefix */
	char *after; /* of state_list */
	unsigned limit;
	json_t *value; /* to store, or as read */
	kettle_answer done;
	void *arg;
};

static int
get_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_get(db, access->host->name, access->key, &access->value, err);
}

static int
put_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_put(db, access->host->name, access->key, access->value, err);
}

static int
list_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_list(db, access->host->name, access->key, access->after, access->limit, &access->value, err);
}

static void
free_access(struct state_access *access)
{
	json_decref(access->value);
	free_all(access->key, access->after, access);
}

static void
state_done(void *arg, const struct kettle_error *err)
{
	struct state_access *access = arg;
	struct kettle_error none = {0};
	const struct watch watch = watch_begin();
	if (access->done) {
		access->done(access->arg, err ? err : &none, err ? NULL : access->value);
		watch_end(&watch, access->host->name, "the answer of its state");
	} else if (err)
		log_write(
			KETTLE_LOG_WARNING, access->host->name, "cannot access the state `%s`: %s", access->key, err->message);
	free_access(access);
}

static void
state_attached(void *arg, const struct kettle_error *err)
{
	struct state_access *access = arg;
	struct core *core = access->host->core;
	struct kettle_error not_here = {.code = KETTLE_EUNAVAIL,
		.message = "Only the process that runs the engine of a database keeps the state of plugins."};
	if (err || core->role != CORE_OWNER || !core->store)
		state_done(access, err ? err : &not_here);
	else
		(access->write ? store_write : store_read)(core->store, access->op, state_done, access);
}

static void
state_begin(void *arg)
{
	struct state_access *access = arg;
	core_attach(access->host->core, state_attached, access);
}

/* Whether the caller is on the owner's loop thread: then its access joins the store's queue at once, in the order of calls. */
static bool
is_at_store(const struct core *core)
{
	uv_thread_t self = uv_thread_self();
	return core && core->role == CORE_OWNER && core->store && uv_thread_equal(&self, &core->thread);
}

/* Starts an access. Takes what the request points to, and copies the key. */
static int
begin(struct state_access request, const char *key)
{
	struct state_access *access = xmalloc(sizeof(*access));
	int rc = 0;
	*access = request;
	access->key = xstrdup(key);
	if (strlen(key) > STATE_KEY_MAX)
		rc = KETTLE_ETOOBIG;
	else if (is_at_store(access->host->core))
		state_attached(access, NULL);
	else
		rc = loop_post(access->host->io, state_begin, access);
	if (rc < 0)
		free_access(access);
	return rc;
}

static int
host_state_get(const struct kettle_host *table, const char *key, kettle_answer done, void *arg)
{
	return begin((struct state_access){.host = host_of(table), .op = get_op, .done = done, .arg = arg}, key);
}

static int
host_state_put(const struct kettle_host *table, const char *key, const json_t *value, kettle_answer done, void *arg)
{
	if (value && json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) > STATE_VALUE_MAX)
		return KETTLE_ETOOBIG;
	struct state_access access = {.host = host_of(table), .op = put_op, .write = true, .done = done, .arg = arg};
	access.value = value ? json_deep_copy(value) : NULL;
	return begin(access, key);
}

static int
host_state_list(const struct kettle_host *table, const char *prefix, const char *after, unsigned limit,
	kettle_answer done, void *arg)
{
	if (after && strlen(after) > STATE_KEY_MAX)
		return KETTLE_ETOOBIG;
	struct state_access access = {.host = host_of(table), .op = list_op, .limit = limit, .done = done, .arg = arg};
	access.after = xstrdup(after ? after : "");
	return begin(access, prefix ? prefix : "");
}

/* ---- refused credentials ---- */

#define CREDENTIAL_ERROR_MAX 500 /* characters */

struct credential_note {
	struct core_host *host;
	json_t *data;
};

static int
credential_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct credential_note *note = arg;
	return db_event(db, "runner.credential_failed", 'a', 0, 0, 0, note->data, err);
}

/* If the event could not be stored, the runner's next report stores it. */
static void
credential_noted(void *arg, const struct kettle_error *err)
{
	struct credential_note *note = arg;
	if (err)
		note->host->told = false;
	json_decref(note->data);
	free(note);
}

static void
host_credential(const struct kettle_host *table, const char *error)
{
	struct core_host *host = host_of(table);
	struct core *core = host->core;
	AUTO_FREE char *line = error ? sanitize_line(error, CREDENTIAL_ERROR_MAX) : NULL;
	if (!error && host->refused)
		log_write(KETTLE_LOG_INFO, host->name, "the remote side accepts the credential again");
	if (line && !host->refused)
		log_write(KETTLE_LOG_ERROR, host->name, "the remote side refuses the credential: %s", line);
	host->refused = error != NULL;
	host->told = host->told && error;
	/* Only the owner of the database stores events, and its own runner reports the error there. */
	if (!error || host->told || !core || !core->store || core->closing)
		return;
	host->told = true;
	struct credential_note *note =
		xnew(struct credential_note, host, json_pack("{s:s, s:s}", "runner", host->name, "error", line ? line : ""));
	store_write(core->store, credential_op, credential_noted, note);
}

/* ---- one-time links for plugins (host.h: publish, link_base) ---- */

/*
 * Theory of operation. A frontend that serves links sets its URL; the core knows one at a time. The pool writes a
 * published blob to a file, then the store writes its row, and after the commit the plugin gets the URL. A frontend
 * that receives a request for the link calls link.take, which removes the row, and owns the file from then on. Only the
 * URL contains the token.
 */

/* A blob that is being published. */
struct publication {
	struct core_host *host;
	char *url;
	void *data;
	size_t size;
	char *file; /* instead of data */
	uint32_t ttl_s;
	int64_t expires_at;
	char hash[65];
	struct kettle_error err; /* of the pool */
	kettle_answer done;
	void *arg;
};

static void
free_publication(struct publication *p)
{
	free_all(p->url, p->data, p->file, p);
}

/* Answers and frees. The sweep removes a file without a row. */
static void
publish_done(void *arg, const struct kettle_error *err)
{
	struct publication *p = arg;
	const struct kettle_error none = {0};
	const struct watch watch = watch_begin();
	if (p->done) {
		AUTO_JSON json_t *result =
			err ? NULL : json_pack("{s:s, s:s}", "url", p->url, "expires", TIME_TEXT(p->expires_at));
		p->done(p->arg, err ? err : &none, result);
		watch_end(&watch, p->host->name, "the answer of publish");
	} else if (err)
		log_write(KETTLE_LOG_WARNING, p->host->name, "cannot publish a link: %s", err->message);
	free_publication(p);
}

static void
publish_fail(struct publication *p, int code, const char *message)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, code, "%s", message);
	publish_done(p, &err);
}

static int
add_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct publication *p = arg;
	return download_url_add(db, p->hash, p->expires_at, err);
}

static void
write_blob(void *arg)
{
	struct publication *p = arg;
	int64_t now = clock_utc_ms(loop_clock(p->host->io));
	p->expires_at = now + (int64_t)p->ttl_s * 1000;
	download_url_sweep(p->host->core->links.folder, now);
	(void)download_url_write(p->host->core->links.folder, p->hash, p->data, p->size, p->file, p->expires_at, &p->err);
}

static void
blob_written(void *arg)
{
	struct publication *p = arg;
	struct core *core = p->host->core;
	if (p->err.code < 0)
		publish_done(p, &p->err);
	else if (core->closing || !core->store)
		publish_fail(p, KETTLE_ECANCELED, "The engine is stopping.");
	else
		store_write(core->store, add_op, publish_done, p);
}

static void
publish_attached(void *arg, const struct kettle_error *err)
{
	struct publication *p = arg;
	struct core *core = p->host->core;
	if (err)
		publish_done(p, err);
	else if (core->role != CORE_OWNER)
		publish_fail(p, KETTLE_EUNAVAIL, "Only the process that runs the engine of a database publishes links.");
	else if (core->closing)
		publish_fail(p, KETTLE_ECANCELED, "The engine is stopping.");
	else if (!core->links.base)
		publish_fail(p, KETTLE_EUNAVAIL,
			"No frontend serves links: `kettle serve` needs a frontend that the machine which fetches the link can "
			"reach.");
	else {
		AUTO_FREE char *token = random_token("", p->hash);
		p->url = xasprintf("%s%s", core->links.base, token);
		if (core_work(core, write_blob, blob_written, p, &p->err) < 0)
			publish_done(p, &p->err);
	}
}

static void
publish_begin(void *arg)
{
	struct publication *p = arg;
	core_attach(p->host->core, publish_attached, p);
}

static int
host_publish(const struct kettle_host *table, const struct kettle_blob *blob, uint32_t ttl_s, kettle_answer done,
	void *arg, struct kettle_error *err)
{
	int rc = download_url_check(blob, ttl_s, err);
	if (rc < 0)
		return rc;
	struct publication *p = xnew(struct publication, .host = host_of(table), .ttl_s = ttl_s, .done = done, .arg = arg,
		.file = blob->file ? xstrdup(blob->file) : NULL);
	if (blob->data) {
		p->size = blob->data_size;
		p->data = xmalloc(p->size + 1);
		memcpy(p->data, blob->data, p->size);
	}
	rc = loop_post(p->host->io, publish_begin, p);
	if (rc < 0) {
		free_publication(p);
		return kettle_fail(err, rc, "The engine has closed.");
	}
	return 0;
}

static int
host_link_base(const struct kettle_host *table, const char *base, struct kettle_error *err)
{
	struct core *core = host_of(table)->core;
	int rc = base ? download_url_check_base(base, err) : 0;
	if (rc < 0)
		return rc;
	/* A frontend can take back only its own URL. */
	if (!base && core->links.host != host_of(table))
		return 0;
	free(core->links.base);
	core->links.base = base ? xstrdup(base) : NULL;
	core->links.host = base ? host_of(table) : NULL;
	return 0;
}

LOOP_HOST_CHECK(struct core_host);

static void
host_log(const struct kettle_host *table, enum kettle_log_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_vwrite(level, host_of(table)->name, format, args);
	va_end(args);
}

/*
 * An answer that a plugin waits for. It passes through here once, so that the plugin's time for it is measured in one
 * place.
 */
struct watched_answer {
	const struct core_host *host;
	const char *what;
	kettle_answer done;
	void *arg;
	bool asking, answered; /* asking: the plugin's call has not returned, so the answer waits */
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
	struct watched_answer *answer =
		xnew(struct watched_answer, .host = host_of(table), .what = what, .done = done, .arg = arg);
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

/* ---- on behalf of others ---- */

/* The sizes of the structures in ABI 1.3. */
#define REQUEST_LEAST (offsetof(struct kettle_request, arg) + sizeof(void *))
#define SUBSCRIPTION_LEAST (offsetof(struct kettle_subscription, arg) + sizeof(void *))

static int
host_caller_open(const struct kettle_host *table, uint64_t *ret_caller, struct kettle_error *err)
{
	return core_caller_open(host_of(table)->core, table, ret_caller, err);
}

static int
host_caller_close(const struct kettle_host *table, uint64_t caller, kettle_fn ended, void *arg)
{
	return core_caller_close(host_of(table)->core, table, caller, ended, arg);
}

/* Copies a structure of a plugin, which may be of another minor; what it lacks is 0. */
static int
read_sized(const void *given, uint32_t least, void *to, size_t size, struct kettle_error *err)
{
	uint32_t has;
	memcpy(&has, given, sizeof(has));
	if (has < least)
		return kettle_fail(err, KETTLE_EINVAL, "The `size` of the structure is %u: it is at least %u.", has, least);
	memcpy(to, given, has < size ? has : size);
	return 0;
}

static int
check_caller(const struct kettle_host *table, uint64_t caller, struct kettle_error *err)
{
	if (caller == 0 || core_caller_is_open(host_of(table)->core, table, caller))
		return 0;
	return kettle_blame(err, KETTLE_CAUSE_NONE, "caller",
		kettle_fail(err, KETTLE_EINVAL, "The caller %llu is not open.", (unsigned long long)caller));
}

static int
host_request(
	const struct kettle_host *table, const struct kettle_request *given, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_request request = {0};
	int rc = read_sized(given, REQUEST_LEAST, &request, sizeof(request), err);
	if (rc == 0)
		rc = check_caller(table, request.caller, err);
	if (rc < 0)
		return rc;
	struct watched_answer *answer = NULL;
	if (request.done) {
		answer = watch_answer(table, "the answer of a request", request.done, request.arg);
		request.done = answer_watched;
		request.arg = answer;
	}
	rc = core_request(host_of(table)->core, &request, table, ret_id, err);
	if (rc < 0)
		free(answer);
	return rc;
}

static void
host_request_cancel(const struct kettle_host *table, uint64_t id)
{
	core_cancel(host_of(table)->core, table, id);
}

static int
host_follow(const struct kettle_host *table, const struct kettle_subscription *given, uint64_t *ret_id,
	struct kettle_error *err)
{
	struct kettle_subscription subscription = {0};
	int rc = read_sized(given, SUBSCRIPTION_LEAST, &subscription, sizeof(subscription), err);
	if (rc == 0)
		rc = check_caller(table, subscription.caller, err);
	if (rc < 0)
		return rc;
	const struct core_subscription setup = {.actor = subscription.actor,
		.filter = subscription.filter,
		.after = subscription.after,
		.caller = subscription.caller,
		.outside = subscription.outside,
		.markers = true,
		.fn = subscription.fn,
		.arg = subscription.arg};
	return core_follow(host_of(table)->core, &setup, ret_id, err);
}

static const json_t *
host_commands(const struct kettle_host *table)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct core *core = host_of(table)->core;
	(void)pthread_mutex_lock(&lock);
	core->commands = core->commands ? core->commands : command_data(core->setup.commands);
	(void)pthread_mutex_unlock(&lock);
	return core->commands;
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
	const struct core_host *host = host_of(table);
	const struct core_subscription setup = {.actor = actor,
		.filter = filter,
		.after = after,
		.markers = host->abi_minor >= 3,
		.lenient = host->abi_minor < 3,
		.fn = fn,
		.arg = arg};
	return core_follow(host->core, &setup, ret_id, err);
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
		return kettle_fail(err, KETTLE_ECANCELED, "Requests can no longer be sent: the engine is closing.");
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
	core_callers_end(host->core, &host->table);
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
				.state_get = host_state_get,
				.state_put = host_state_put,
				.state_list = host_state_list,
				.call = host_call,
				.caller_open = host_caller_open,
				.caller_close = host_caller_close,
				.request = host_request,
				.request_cancel = host_request_cancel,
				.follow = host_follow,
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
			},
		.io = io,
		.core = core,
	};
	(void)snprintf(host->name, sizeof(host->name), "%s", name);
	host->table.name = host->name;
	loop_host_fill(&host->table);
}
