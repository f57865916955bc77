/* SPDX-License-Identifier: MIT */
/* A request that commands of the core answer. */
#include <config.h>

#include "web/visit/visit.h"

#include <pthread.h>
#include <stdarg.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "http/form.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

#define LOOK_MS 1000 /* between two looks for visits that take too long */
#define STOP_MS 3000 /* for what is under way when the server begins to stop */

struct visits {
	struct web *web;
	struct kettle_timer *timer;
	pthread_mutex_t lock;
	/* Under the lock. */
	struct visit *open;
	size_t count;
	uint64_t last_number;
};

char *
web_address(const struct web *web, const char *path)
{
	const char *url = json_text_or_empty(web->options, "url");
	size_t len = strlen(url);
	return xasprintf("%.*s%s", (int)(len && url[len - 1] == '/' ? len - 1 : len), url, path);
}

/* ---- the open ones ---- */

/* Puts a visit among the open ones. false: there are too many of them. */
static bool
open_visit(struct visits *visits, struct visit *visit)
{
	size_t of_address = 0;
	(void)pthread_mutex_lock(&visits->lock);
	for (const struct visit *other = visits->open; other; other = other->next)
		of_address += strcmp(other->address, visit->address) == 0;
	bool fits = visits->count < VISITS_MAX && of_address < VISITS_ADDRESS_MAX;
	if (fits) {
		visit->number = ++visits->last_number;
		visit->next = visits->open;
		visit->link = &visits->open;
		if (visit->next)
			visit->next->link = &visit->next;
		visits->open = visit;
		visits->count++;
	}
	(void)pthread_mutex_unlock(&visits->lock);
	return fits;
}

static void
close_visit(struct visit *visit)
{
	struct visits *visits = visit->web->visits;
	(void)pthread_mutex_lock(&visits->lock);
	*visit->link = visit->next;
	if (visit->next)
		visit->next->link = visit->link;
	visits->count--;
	(void)pthread_mutex_unlock(&visits->lock);
}

static void
free_visit(struct visit *visit)
{
	if (visit->free_state)
		visit->free_state(visit->state);
	json_decref_all(visit->actor, visit->data);
	free_all(visit->address, visit);
}

void
visit_end(struct visit *visit)
{
	const struct kettle_host *host = visit->web->host;
	close_visit(visit);
	if (visit->subscription)
		(void)host->unsubscribe(host, visit->subscription, NULL, NULL);
	if (visit->caller)
		(void)host->caller_close(host, visit->caller, NULL, NULL);
	if (visit->stream)
		http_stream_end(visit->stream);
	free_visit(visit);
}

bool
visit_is_over(struct visit *visit)
{
	struct visits *visits = visit->web->visits;
	(void)pthread_mutex_lock(&visits->lock);
	bool is_over = visit->has_left || visit->is_cut;
	(void)pthread_mutex_unlock(&visits->lock);
	return is_over;
}

void
visit_fail(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error why = *err;
	if (visit->is_late)
		(void)kettle_fail(&why, KETTLE_EUNAVAIL, "The answer takes too long now; try again later.");
	else if (visit->is_cut)
		(void)kettle_fail(&why, KETTLE_ECANCELED, "Kettle is shutting down.");
	else if (visit->mend && visit->mend(visit, &why))
		return;
	visit->fail(visit, &why);
	visit_end(visit);
}

void
visit_refuse(struct visit *visit, int code, const char *format, ...)
{
	struct kettle_error err = {.code = code};
	va_list args;
	va_start(args, format);
	(void)vsnprintf(err.message, sizeof(err.message), format, args);
	va_end(args);
	visit_fail(visit, &err);
}

void
visit_respond_error(struct visit *visit, const struct kettle_error *err)
{
	if (visit->stream) {
		AUTO_JSON json_t *value = error_value(visit->web->host, err);
		visit_send(visit, "error", value);
	} else if (err->code == KETTLE_EACCES && visit->actor == visit->web->anonymous) {
		/* With a credential it may be allowed. */
		respond_refusal(visit->request, STATUS_UNAUTHORIZED, kettle_error_name(err->code), err->message);
	} else {
		respond_error(visit->request, visit->web->host, err);
	}
}

/* ---- beginning ---- */

json_t *
visit_query(const struct http_request *request, struct kettle_error *err)
{
	struct query parsed = {0};
	json_t *query = json_object();
	(void)query_parse(http_query(request), &parsed, err);
	for (size_t i = parsed.count; i-- > 0;)
		json_object_set_new(query, parsed.parameters[i].name, json_string(parsed.parameters[i].value));
	query_free(&parsed);
	return query;
}

static void
begin(void *arg)
{
	struct visit *visit = arg;
	if (visit->refused.code || visit->is_cut)
		visit_fail(visit, &visit->refused);
	else
		visit->then(visit, NULL);
}

/* The sender of the request is known, or not found. */
static void
on_caller(void *arg, const json_t *actor, const struct kettle_error *err)
{
	struct visit *visit = arg;
	const struct kettle_host *host = visit->web->host;
	visit->actor = json_incref(actor ? (json_t *)actor : visit->web->anonymous);
	visit->refused = *err;
	/* Where the engine has closed, so has the server, and the request goes nowhere. */
	if (host->post(host, begin, visit) < 0) {
		close_visit(visit);
		free_visit(visit);
	}
}

void
visit_begin(struct web *web, struct http_request *request, const char *token, uint64_t limit_ms, visit_fn start,
	visit_fail_fn fail, json_t *data_take, const void *about)
{
	struct visit *visit =
		xnew(struct visit, .web = web, .request = request, .data = data_take ? data_take : json_object(),
			.about = about, .fail = fail, .then = start, .address = xstrdup(http_address(request)),
			.until_ms = limit_ms ? web->host->monotonic_ms(web->host) + limit_ms : UINT64_MAX);
	if (!open_visit(web->visits, visit)) {
		struct kettle_error err = {0};
		(void)kettle_fail(&err, KETTLE_ERATE, "Too many of your requests are in progress: wait until one is answered.");
		err.retry_s = 1;
		visit->actor = json_incref(web->anonymous);
		fail(visit, &err);
		free_visit(visit);
		return;
	}
	http_set_context(request, (void *)(uintptr_t)visit->number);
	callers_identify(web, token, on_caller, visit);
}

/* ---- calling ---- */

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct visit *visit = arg;
	failpoint("web.answer");
	visit->call = 0;
	if (err->code || visit->is_cut)
		visit_fail(visit, err);
	else
		visit->then(visit, result);
}

static void
call(struct visit *visit, const json_t *actor, bool outside, const char *command, json_t *args_take, visit_fn then)
{
	AUTO_JSON json_t *args = args_take;
	const struct kettle_host *host = visit->web->host;
	struct kettle_error err = {0};
	const struct kettle_request request = {.size = sizeof(request),
		.actor = actor,
		.command = command,
		.args = args,
		.caller = visit->caller,
		.outside = outside,
		.done = on_answer,
		.arg = visit};
	visit->then = then;
	visit->waits = false;
	if (host->request(host, &request, &visit->call, &err) < 0)
		visit_fail(visit, &err);
}

void
visit_call(struct visit *visit, const char *command, json_t *args_take, visit_fn then)
{
	call(visit, visit->actor, true, command, args_take, then);
}

void
visit_call_internal(struct visit *visit, const char *command, json_t *args_take, visit_fn then)
{
	call(visit, visit->web->self, false, command, args_take, then);
}

void
visit_call_admin(struct visit *visit, const char *command, json_t *args_take, visit_fn then)
{
	AUTO_JSON json_t *actor = json_copy(visit->actor);
	json_object_set_new(actor, "role", json_string("admin"));
	call(visit, actor, false, command, args_take, then);
}

/* ---- streams ---- */

/* The client of a stream has left, on the server's thread; the visit is there until its stream has ended. */
static void on_closed(void *arg);

void
visit_stream(struct visit *visit)
{
	visit->stream = http_stream_open(visit->request, EVENTS_TYPE, respond_uncached, on_closed, visit);
}

int
visit_follow(struct visit *visit, const json_t *filter, int64_t after, kettle_event_fn fn, struct kettle_error *err)
{
	const struct kettle_host *host = visit->web->host;
	int rc = host->caller_open(host, &visit->caller, err);
	if (rc < 0)
		return rc;
	const struct kettle_subscription subscription = {.size = sizeof(subscription),
		.actor = visit->actor,
		.filter = filter,
		.after = after,
		.caller = visit->caller,
		.outside = true,
		.fn = fn,
		.arg = visit};
	rc = host->follow(host, &subscription, &visit->subscription, err);
	if (rc == 0)
		visit_stream(visit);
	visit->until_ms = UINT64_MAX;
	return rc;
}

struct http_chunk *
visit_chunk(const char *name, const json_t *value)
{
	AUTO_FREE char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	AUTO_FREE char *block = xasprintf("event: %s\ndata: %s\n\n", name, text);
	return http_chunk_new(block, strlen(block));
}

void
visit_send(struct visit *visit, const char *name, const json_t *value)
{
	struct http_chunk *chunk = visit_chunk(name, value);
	(void)http_stream_send(visit->stream, chunk);
	http_chunk_unref(chunk);
}

void
visit_send_last(struct visit *visit, struct http_chunk *chunk_take)
{
	(void)http_stream_send_last(visit->stream, chunk_take);
	http_chunk_unref(chunk_take);
}

/* ---- clients that leave, and answers that do not come ---- */

static void
cancel(struct visit *visit)
{
	const struct kettle_host *host = visit->web->host;
	if (visit->call)
		host->request_cancel(host, visit->call);
}

/* A visit that waits for events, and whose client has left; NULL: there is none. */
static struct visit *
find_left(struct visits *visits)
{
	(void)pthread_mutex_lock(&visits->lock);
	struct visit *visit = visits->open;
	while (visit && !(visit->waits && visit->has_left))
		visit = visit->next;
	(void)pthread_mutex_unlock(&visits->lock);
	return visit;
}

/* Cancels what the visits do whose clients have left, and ends those that wait. */
static void
end_left(void *arg)
{
	struct visits *visits = arg;
	(void)pthread_mutex_lock(&visits->lock);
	for (struct visit *visit = visits->open; visit; visit = visit->next)
		if (visit->has_left)
			cancel(visit);
	(void)pthread_mutex_unlock(&visits->lock);
	for (struct visit *visit; (visit = find_left(visits));)
		visit_end(visit);
}

static void
leave(struct visits *visits, uint64_t number)
{
	const struct kettle_host *host = visits->web->host;
	(void)pthread_mutex_lock(&visits->lock);
	for (struct visit *visit = visits->open; visit; visit = visit->next)
		visit->has_left = visit->has_left || visit->number == number;
	(void)pthread_mutex_unlock(&visits->lock);
	(void)host->post(host, end_left, visits);
}

static void
on_closed(void *arg)
{
	const struct visit *visit = arg;
	leave(visit->web->visits, visit->number);
}

void
visits_gone(struct visits *visits, struct http_request *request)
{
	uint64_t number = (uint64_t)(uintptr_t)http_context(request);
	if (number)
		leave(visits, number);
}

static void
look(void *arg)
{
	struct visits *visits = arg;
	uint64_t now_ms = visits->web->host->monotonic_ms(visits->web->host);
	(void)pthread_mutex_lock(&visits->lock);
	for (struct visit *visit = visits->open; visit; visit = visit->next)
		if (visit->until_ms < now_ms && !visit->is_late) {
			visit->is_late = true;
			cancel(visit);
		}
	(void)pthread_mutex_unlock(&visits->lock);
}

/* ---- all of them ---- */

int
visits_start(struct visits *visits, struct kettle_error *err)
{
	const struct kettle_host *host = visits->web->host;
	return host->timer_start(host, LOOK_MS, LOOK_MS, look, visits, &visits->timer, err);
}

void
visits_hurry(struct visits *visits)
{
	uint64_t until_ms = visits->web->host->monotonic_ms(visits->web->host) + STOP_MS;
	(void)pthread_mutex_lock(&visits->lock);
	for (struct visit *visit = visits->open; visit; visit = visit->next)
		visit->until_ms = visit->until_ms < until_ms ? visit->until_ms : until_ms;
	(void)pthread_mutex_unlock(&visits->lock);
}

void
visits_cut(struct visits *visits)
{
	const struct kettle_host *host = visits->web->host;
	host->timer_stop(host, STEAL(visits->timer));
	(void)pthread_mutex_lock(&visits->lock);
	for (struct visit *visit = visits->open; visit; visit = visit->next)
		visit->is_cut = visit->has_left = true;
	(void)pthread_mutex_unlock(&visits->lock);
	end_left(visits);
}

struct visits *
visits_new(struct web *web)
{
	struct visits *visits = xnew(struct visits, .web = web, .lock = PTHREAD_MUTEX_INITIALIZER);
	return visits;
}

void
visits_free(struct visits *visits)
{
	if (!visits)
		return;
	/* Those whose answer from a provider of logins does not come any more. */
	while (visits->open) {
		struct visit *visit = visits->open;
		close_visit(visit);
		free_visit(visit);
	}
	(void)pthread_mutex_destroy(&visits->lock);
	free(visits);
}
