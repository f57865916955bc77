/* SPDX-License-Identifier: MIT */
/*
 * The fake host of kettle/testing.h.
 *
 * Theory of operation. One loop, which runs only inside kettle_fake_run and kettle_fake_free, and a hostio on it.
 * Answers that the engine would give later come by a post, so that no callback comes before the call returned. Other
 * threads reach the log, which has a lock, and posts; a call from one becomes a post with copies of its arguments.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>

#include <uv.h>

#include "base/base.h"
#include "base/text.h"
#include "conformance/fake_host_internal.h"
#include "http/http.h"
#include "loop/loop_host.h"
#include "model/download_urls.h"
#include "model/settings.h"

#define CLOSE_MS 10000 /* time for the remaining parts to end */

LOOP_HOST_CHECK(struct kettle_fake);

static void
fake_log(const struct kettle_host *host, enum kettle_log_level level, const char *format, ...)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	struct kettle_fake *fake = of(host);
	va_list args;
	va_start(args, format);
	json_t *message = json_vsprintf(format, args);
	va_end(args);
	json_t *entry = json_pack("{s:s, s:o}", "level", levels[level], "message", message ? message : json_null());
	uv_mutex_lock(&fake->lock);
	json_array_append_new(fake->log, entry);
	uv_mutex_unlock(&fake->lock);
}

/* ---- the loop's functions ---- */

static int
fake_http(const struct kettle_host *host, const struct kettle_http_request *request, uint64_t *ret_id,
	struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	const struct http_settings settings = {.proxy = fake->proxy, .ca_file = fake->ca_file};
	if (!fake->http)
		fake->http = http_new(fake->io, &settings);
	return http_send(fake->http, host, request, ret_id, err);
}

static void
fake_credential(const struct kettle_host *host, const char *error)
{
	json_array_append_new(of(host)->remote, json_pack("{s:s, s:s?}", "call", "credential", "error", error));
}

static void
fake_reached(const struct kettle_host *host, const json_t *options, const char *error)
{
	(void)options;
	json_array_append_new(of(host)->remote, json_pack("{s:s, s:s?}", "call", "reached", "error", error));
}

static void
fake_http_cancel(const struct kettle_host *host, uint64_t id)
{
	if (of(host)->http)
		http_cancel(of(host)->http, host, id);
}

/* ---- later answers ---- */

void
fake_free_answer(struct answer *answer)
{
	json_decref_all(answer->result, answer->actor, answer->args);
	free_all(answer->command, answer);
}

static void
run_command(struct answer *answer)
{
	struct kettle_fake *fake = answer->fake;
	answer->err.code =
		fake->answer ? fake->answer(fake->answer_arg, answer->actor, answer->command, answer->args, &answer->result,
						   &answer->err)
					 : kettle_fail(&answer->err, KETTLE_ENOENT, "The fake host has no command `%s`.", answer->command);
}

void
fake_deliver(void *arg)
{
	struct answer *answer = arg;
	fake_unlink_request(answer);
	if (answer->command && answer->err.code == 0)
		run_command(answer);
	if (answer->done)
		answer->done(answer->arg, &answer->err, answer->err.code ? NULL : answer->result);
	fake_free_answer(answer);
}

static int
post_answer(struct answer *answer)
{
	int rc = loop_post(answer->fake->io, fake_deliver, answer);
	if (rc)
		fake_free_answer(answer);
	return rc;
}

struct answer *
fake_new_answer(struct kettle_fake *fake, kettle_answer done, void *arg)
{
	struct answer *answer = xnew(struct answer, .fake = fake, .done = done, .arg = arg);
	return answer;
}

static int
fake_call(const struct kettle_host *host, const json_t *actor, const char *command, const json_t *args,
	kettle_answer done, void *arg)
{
	struct answer *answer = fake_new_answer(of(host), done, arg);
	answer->actor = json_deep_copy(actor);
	answer->args = args ? json_deep_copy(args) : json_object();
	answer->command = xstrdup(command);
	return post_answer(answer);
}

static const json_t *
fake_answers(const struct kettle_host *host)
{
	return of(host)->answers;
}

static const json_t *
fake_commands(const struct kettle_host *host)
{
	return of(host)->commands;
}

static int
fake_state_get(const struct kettle_host *host, const char *key, kettle_answer done, void *arg)
{
	struct answer *answer = fake_new_answer(of(host), done, arg);
	const json_t *value = json_object_get(of(host)->state, key);
	answer->result = value ? json_deep_copy(value) : json_null();
	return post_answer(answer);
}

static int
fake_state_put(const struct kettle_host *host, const char *key, const json_t *value, kettle_answer done, void *arg)
{
	size_t size = value ? json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) : 0;
	if (strlen(key) > STATE_KEY_MAX || size > STATE_VALUE_MAX)
		return KETTLE_ETOOBIG;
	struct answer *answer = fake_new_answer(of(host), done, arg);
	answer->result = json_null();
	if (value && !json_is_null(value))
		json_object_set_new(of(host)->state, key, json_deep_copy(value));
	else
		(void)json_object_del(of(host)->state, key);
	return post_answer(answer);
}

static int
compare_keys(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static int
fake_state_list(const struct kettle_host *host, const char *prefix, const char *after, unsigned limit,
	kettle_answer done, void *arg)
{
	json_t *state = of(host)->state, *items = json_array();
	AUTO_FREE const char **keys = xcalloc(json_object_size(state) + 1, sizeof(*keys));
	size_t count = 0, most = limit > 0 && limit < STATE_LIST_MAX ? limit : STATE_LIST_MAX;
	json_object_each(state, key, value)
		if ((!prefix || strncmp(key, prefix, strlen(prefix)) == 0) && (!after || strcmp(key, after) > 0))
			keys[count++] = key;
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count && i < most; i++)
		json_array_append_new(items, json_pack("{s:s, s:O}", "key", keys[i], "value", json_object_get(state, keys[i])));
	struct answer *answer = fake_new_answer(of(host), done, arg);
	answer->result = json_pack("{s:o, s:b}", "items", items, "more", count > most);
	return post_answer(answer);
}

/* ---- links ---- */

static int
fake_link_base(const struct kettle_host *host, const char *base, struct kettle_error *err)
{
	int rc = base ? download_url_check_base(base, err) : 0;
	if (rc < 0)
		return rc;
	free(of(host)->link_base);
	of(host)->link_base = base ? xstrdup(base) : NULL;
	return 0;
}

static int
fake_publish(const struct kettle_host *host, const struct kettle_blob *blob, uint32_t ttl_s, kettle_answer done,
	void *arg, struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	char hash[65], expires[TIME_TEXT_SIZE];
	int rc = download_url_check(blob, ttl_s, err);
	if (rc < 0)
		return rc;
	struct answer *answer = fake_new_answer(fake, done, arg);
	if (!fake->link_base) {
		(void)kettle_fail(&answer->err, KETTLE_EUNAVAIL, "No frontend serves links.");
		return post_answer(answer);
	}
	AUTO_FREE char *token = random_token("", hash);
	time_text(host->utc_ms(host) + (int64_t)ttl_s * 1000, expires);
	answer->result = json_pack("{s:o, s:s}", "url", json_sprintf("%s%s", fake->link_base, token), "expires", expires);
	json_t *link = blob->data ? contents_json(blob->data, blob->data_size) : json_pack("{s:s}", "file", blob->file);
	json_object_set_new(link, "ttl", json_integer(ttl_s));
	json_object_set(link, "url", json_object_get(answer->result, "url"));
	json_array_append_new(fake->links, link);
	return post_answer(answer);
}

/* ---- events ---- */

static bool
fake_matches(const json_t *filter, const json_t *event)
{
	json_object_each(filter, key, value) {
		const json_t *found = json_object_get(event, key);
		if (!found || !json_equal(found, value))
			return false;
	}
	return true;
}

int
fake_subscribe(const struct kettle_host *host, const json_t *actor, const json_t *filter, int64_t after,
	kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	struct subscription *subscription = xmalloc(sizeof(*subscription));
	(void)actor;
	(void)err;
	*subscription = (struct subscription){.next = fake->subscriptions,
		.id = __atomic_add_fetch(&fake->next_id, 1, __ATOMIC_RELAXED),
		.filter = filter ? json_deep_copy(filter) : json_object(),
		.fn = fn,
		.arg = arg};
	fake->subscriptions = subscription;
	*ret_id = subscription->id;
	json_array_each(fake->events, event) {
		if (after >= 0 && member_int(event, "seq") > after && fake_matches(subscription->filter, event))
			fn(arg, event);
	}
	return 0;
}

void
fake_drop_subscription(struct kettle_fake *fake, uint64_t id)
{
	for (struct subscription **at = &fake->subscriptions; *at; at = &(*at)->next) {
		struct subscription *subscription = *at;
		if (subscription->id != id)
			continue;
		*at = subscription->next;
		json_decref(subscription->filter);
		free(subscription);
		return;
	}
}

static int
fake_unsubscribe(const struct kettle_host *host, uint64_t id, kettle_fn ended, void *arg)
{
	fake_drop_subscription(of(host), id);
	return ended ? loop_post(of(host)->io, ended, arg) : 0;
}

static int
fake_event_done(const struct kettle_host *host, int64_t seq)
{
	json_array_append_new(of(host)->events_done, json_integer(seq));
	return 0;
}

int
kettle_fake_event(struct kettle_fake *fake, const json_t *event)
{
	json_t *stored = json_deep_copy(event);
	json_int_t seq = (json_int_t)json_array_size(fake->events) + 1;
	json_object_set_new(stored, "seq", json_integer(seq));
	json_array_append_new(fake->events, stored);
	for (struct subscription *at = fake->subscriptions, *next; at; at = next) {
		next = at->next; /* it may end itself */
		if (fake_matches(at->filter, stored))
			at->fn(at->arg, stored);
	}
	return 0;
}

/* ---- jobs ---- */

static json_t *
job_of(struct kettle_fake *fake, const char *ref)
{
	json_t *job = json_object_get(fake->jobs, ref);
	if (!job) {
		job = json_pack("{s:[], s:n, s:[]}", "events", "handle", "completions");
		json_object_set_new(fake->jobs, ref, job);
	}
	return job;
}

static void
fake_job_event(const struct kettle_host *host, const char *ref, const json_t *event)
{
	json_array_append_new(json_object_get(job_of(of(host), ref), "events"), json_deep_copy(event));
}

static int
fake_job_handle(const struct kettle_host *host, const char *ref, const char *handle, kettle_answer done, void *arg)
{
	struct answer *answer = fake_new_answer(of(host), done, arg);
	answer->result = json_null();
	json_object_set_new(job_of(of(host), ref), "handle", json_string(handle));
	return post_answer(answer);
}

static void
fake_job_done(const struct kettle_host *host, const char *ref, json_t *completion_take)
{
	json_array_append_new(json_object_get(job_of(of(host), ref), "completions"), completion_take);
}

/* ---- its life ---- */

static struct kettle_host
make_table(const char *name)
{
	return (struct kettle_host){
		.size = sizeof(struct kettle_host),
		.abi_major = KETTLE_ABI_MAJOR,
		.abi_minor = KETTLE_ABI_MINOR,
		.version = PACKAGE_VERSION,
		.name = name,
		.log = fake_log,
		.state_get = fake_state_get,
		.state_put = fake_state_put,
		.state_list = fake_state_list,
		.call = fake_call,
		.caller_open = fake_caller_open,
		.caller_close = fake_caller_close,
		.request = fake_request,
		.request_cancel = fake_request_cancel,
		.follow = fake_follow,
		.commands = fake_commands,
		.answers = fake_answers,
		.subscribe = fake_subscribe,
		.unsubscribe = fake_unsubscribe,
		.event_done = fake_event_done,
		.job_event = fake_job_event,
		.job_handle = fake_job_handle,
		.job_done = fake_job_done,
		.http = fake_http,
		.http_cancel = fake_http_cancel,
		.publish = fake_publish,
		.link_base = fake_link_base,
		.credential = fake_credential,
		.reached = fake_reached,
	};
}

static void
free_fake(struct kettle_fake *fake)
{
	while (fake->subscriptions)
		fake_drop_subscription(fake, fake->subscriptions->id);
	fake_callers_free(fake);
	json_decref_all(fake->links, fake->log, fake->state, fake->jobs, fake->commands, fake->answers, fake->events,
		fake->events_done, fake->remote);
	uv_mutex_destroy(&fake->lock);
	free_all(fake->name, fake->proxy, fake->ca_file, fake->link_base, fake);
}

int
kettle_fake_new(const char *name, struct kettle_fake **ret_fake, struct kettle_error *err)
{
	struct kettle_fake *fake = xcalloc(1, sizeof(*fake));
	if (uv_mutex_init(&fake->lock) != 0)
		xalloc_fail();
	fake->name = xstrdup(name);
	fake->host = make_table(fake->name);
	loop_host_fill(&fake->host);
	fake->links = json_array();
	fake->log = json_array();
	fake->state = json_object();
	fake->jobs = json_object();
	fake->commands = json_array();
	fake->answers = json_object();
	fake->events = json_array();
	fake->events_done = json_array();
	fake->remote = json_array();
	int rc = uv_loop_init(&fake->loop);
	if (rc) {
		free_fake(fake);
		return kettle_fail(err, KETTLE_EIO, "The event loop cannot be set up: %s.", uv_strerror(rc));
	}
	rc = loop_new(&fake->loop, &fake->io, err);
	if (rc) {
		(void)uv_loop_close(&fake->loop);
		free_fake(fake);
		return rc;
	}
	*ret_fake = fake;
	return 0;
}

static void
wake(uv_timer_t *timer)
{
	(void)timer;
}

/* Whether nothing of the plugin is under way: only timers are left. */
static bool
rests(struct kettle_fake *fake)
{
	size_t timers, children;
	loop_left(fake->io, &timers, &children);
	/* In tests a child that has stopped itself takes the place of one that hangs; its earlier output is read. */
	if (children > 0 && loop_children_stopped(fake->io))
		(void)uv_run(&fake->loop, UV_RUN_NOWAIT);
	return loop_rests(fake->io) && loop_children_stopped(fake->io) && (!fake->http || http_left(fake->http) == 0);
}

static int
run_simulated(struct kettle_fake *fake, int (*done)(void *arg), void *arg, unsigned timeout_ms)
{
	struct clock *clock = loop_clock(fake->io);
	uint64_t end_ms = clock_ms(clock) + timeout_ms, now_ms;
	bool reached = done && done(arg);
	while (!reached && (now_ms = clock_ms(clock)) < end_ms) {
		uint64_t wait_ms = clock_wait_ms(clock);
		bool waits = wait_ms == 0 || rests(fake);
		if (waits)
			clock_advance(clock, wait_ms < end_ms - now_ms ? wait_ms : end_ms - now_ms);
		(void)uv_run(&fake->loop, waits ? UV_RUN_NOWAIT : UV_RUN_ONCE);
		reached = done && done(arg);
	}
	return reached || !done ? 0 : KETTLE_EUNAVAIL;
}

static int
run_real(struct kettle_fake *fake, int (*done)(void *arg), void *arg, unsigned timeout_ms)
{
	uint64_t end = time_monotonic_ns() + timeout_ms * UINT64_C(1000000);
	uv_timer_t timer;
	(void)uv_timer_init(&fake->loop, &timer);
	(void)uv_timer_start(&timer, wake, timeout_ms, 1);
	bool reached = done && done(arg);
	while (!reached && time_monotonic_ns() < end) {
		(void)uv_run(&fake->loop, UV_RUN_ONCE);
		reached = done && done(arg);
	}
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&fake->loop, UV_RUN_NOWAIT);
	return reached || !done ? 0 : KETTLE_EUNAVAIL;
}

int
kettle_fake_run(struct kettle_fake *fake, int (*done)(void *arg), void *arg, unsigned timeout_ms)
{
	bool simulated = loop_clock(fake->io)->simulated;
	return (simulated ? run_simulated : run_real)(fake, done, arg, timeout_ms);
}

void
kettle_fake_simulate(struct kettle_fake *fake, int64_t utc_ms)
{
	clock_simulate(loop_clock(fake->io), utc_ms);
}

void
kettle_fake_advance(struct kettle_fake *fake, uint64_t ms)
{
	struct clock *clock = loop_clock(fake->io);
	bool first = true;
	while (ms > 0 || first) {
		uint64_t wait_ms = clock_wait_ms(clock), step_ms = wait_ms < ms ? wait_ms : ms;
		clock_advance(clock, step_ms);
		ms -= step_ms;
		first = false;
		do
			(void)uv_run(&fake->loop, loop_rests(fake->io) ? UV_RUN_NOWAIT : UV_RUN_ONCE);
		while (!loop_rests(fake->io));
	}
}

static void
on_fake_closed(void *arg)
{
	((struct kettle_fake *)arg)->closed = true;
}

static int
is_closed(void *arg)
{
	return ((struct kettle_fake *)arg)->closed;
}

static void
add_handle(uv_handle_t *handle, void *arg)
{
	const char *type = uv_handle_type_name(uv_handle_get_type(handle));
	buf_printf(arg, " %s", type ? type : "handle");
}

static void
add_left(struct buf *left, size_t count, const char *what)
{
	if (count)
		buf_printf(left, "%s%zu %s", left->len ? ", " : "", count, what);
}

/* Ends the remaining parts, lists them in `left`, and closes the loop. False: the loop does not close. */
static bool
close_loop(struct kettle_fake *fake, struct buf *left)
{
	size_t timers, children, subscriptions = 0;
	for (const struct subscription *at = fake->subscriptions; at; at = at->next)
		subscriptions++;
	loop_left(fake->io, &timers, &children);
	add_left(left, timers, "timer(s)");
	add_left(left, children, "child process(es)");
	add_left(left, subscriptions, "subscription(s)");
	add_left(left, fake_callers_count(fake), "open caller(s)");
	add_left(left, fake->http ? http_left(fake->http) : 0, "HTTP request(s)");
	http_close(STEAL(fake->http));
	loop_close(fake->io, on_fake_closed, fake);
	bool ended = run_real(fake, is_closed, fake, CLOSE_MS) == 0;
	if (!ended)
		buf_printf(left, "%swork that does not end", left->len ? ", " : "");
	if (!ended || uv_loop_close(&fake->loop) == 0)
		return ended;
	buf_printf(left, "%shandles of the loop:", left->len ? ", " : "");
	uv_walk(&fake->loop, add_handle, left);
	return false;
}

int
kettle_fake_free(struct kettle_fake *fake, struct kettle_error *err)
{
	if (!fake)
		return 0;
	AUTO_BUF struct buf left = {0};
	/* Anything that still runs would use it. */
	if (close_loop(fake, &left))
		free_fake(fake);
	return left.len ? kettle_fail(err, KETTLE_EINTERNAL, "The plugin left behind: %s.", left.data) : 0;
}

const struct kettle_host *
kettle_fake_host(struct kettle_fake *fake)
{
	return &fake->host;
}

struct uv_loop_s *
kettle_fake_loop(struct kettle_fake *fake)
{
	return &fake->loop;
}

void
kettle_fake_answer(struct kettle_fake *fake, kettle_fake_call_fn fn, void *arg)
{
	fake->answer = fn;
	fake->answer_arg = arg;
}

int
kettle_fake_commands(struct kettle_fake *fake, const json_t *commands)
{
	json_t *copy = json_deep_copy(commands);
	json_decref(fake->commands);
	fake->commands = copy;
	return 0;
}

void
kettle_fake_http(struct kettle_fake *fake, const char *proxy, const char *ca_file)
{
	free_all(fake->proxy, fake->ca_file);
	fake->proxy = proxy ? xstrdup(proxy) : NULL;
	fake->ca_file = ca_file ? xstrdup(ca_file) : NULL;
}

const json_t *
kettle_fake_log(struct kettle_fake *fake)
{
	return fake->log;
}

json_t *
kettle_fake_state(struct kettle_fake *fake)
{
	return fake->state;
}

const json_t *
kettle_fake_events_done(struct kettle_fake *fake)
{
	return fake->events_done;
}

const json_t *
kettle_fake_jobs(struct kettle_fake *fake)
{
	return fake->jobs;
}

const json_t *
kettle_fake_remote(struct kettle_fake *fake)
{
	return fake->remote;
}

const json_t *
kettle_fake_links(struct kettle_fake *fake)
{
	return fake->links;
}
