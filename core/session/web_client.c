/* SPDX-License-Identifier: MIT */
/*
 * A client of another machine's server, by HTTP.
 *
 * Theory of operation. Each call is a request whose answer is an event stream: progress, then the answer or an error.
 * Each subscription is a stream of its own, which begins again behind the last event when it breaks off.
 */
#include <config.h>

#include "session/web_client.h"

#include "base/base.h"
#include "session/event_reader.h"
#include "session/server_request.h"

#define IDLE_MS 60000  /* a stream has a line every 15 s */
#define BEGIN_MS 60000 /* until an answer begins */
#define AGAIN_MS 1000  /* until a broken subscription is tried again */

/* A request under way: of a call, or of a subscription. */
struct ask {
	struct web_client *client;
	struct ask *next;
	struct call *call;     /* NULL: of a subscription, or answered */
	uint64_t subscription; /* 0: of a call */
	json_t *filter;
	int64_t last; /* number of the last event */
	struct event_reader reader;
	struct kettle_error fault; /* what was wrong with the stream */
	struct kettle_timer *timer;
	uint64_t request;
};

struct web_client {
	struct core *core;
	const struct web_client_events *events;
	struct ask *asks;
};

/* ---- requests ---- */

static void
free_ask(struct ask *ask)
{
	struct web_client *client = ask->client;
	struct ask **link = &client->asks;
	while (*link != ask)
		link = &(*link)->next;
	*link = ask->next;
	loop_timer_stop(client->core->setup.io, ask->timer);
	event_reader_free(&ask->reader);
	json_decref(ask->filter);
	free(ask);
}

static void on_part(void *arg, const void *data, size_t size);

static void on_done(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer);

static int
send_ask(struct ask *ask, const char *method, const char *path, const char *body, struct kettle_error *err)
{
	const struct core_setup *setup = &ask->client->core->setup;
	const struct kettle_http_request request = {.method = method,
		.url = path,
		.body = body,
		.total_ms = BEGIN_MS,
		.idle_ms = IDLE_MS,
		.on_part = on_part,
		.done = on_done,
		.arg = ask};
	return server_send(setup, ask->client, setup->token, &request, &ask->request, err);
}

static struct ask *
new_ask(struct web_client *client)
{
	struct ask *ask = xnew(struct ask, .client = client, .next = client->asks);
	client->asks = ask;
	return ask;
}

/* ---- calls ---- */

static void
answer(struct ask *ask, const struct kettle_error *err, json_t *result)
{
	struct call *call = STEAL(ask->call);
	if (call)
		ask->client->events->answered(call, err, result);
}

/* The progress is that of this process's own calls. */
static void
publish_progress(const struct ask *ask, json_t *event)
{
	if (!json_is_object(event) || !ask->call)
		return;
	json_object_set_new(event, "caller", json_integer((json_int_t)ask->call->waiter.caller));
	ask->client->events->progress(ask->client->core, event);
}

static void
on_call_event(void *arg, const char *name, const char *data, size_t size)
{
	struct ask *ask = arg;
	struct kettle_error err = {0};
	AUTO_JSON json_t *value = server_value(data, size);
	if (!value) {
		(void)kettle_fail(&ask->fault, KETTLE_EIO, "The server's answer is not JSON.");
	} else if (strcmp(name, "answer") == 0) {
		answer(ask, NULL, value);
	} else if (strcmp(name, "error") == 0) {
		server_read_error(&ask->client->core->setup, value, 0, &err);
		answer(ask, &err, NULL);
	} else if (strcmp(name, "progress") == 0) {
		publish_progress(ask, value);
	}
}

void
web_client_call(struct web_client *client, struct call *call)
{
	struct ask *ask = new_ask(client);
	struct kettle_error err = {0};
	AUTO_FREE char *path = xasprintf("/api/v1/%s", call->command->name);
	AUTO_FREE char *body = json_dumps(call->args, JSON_COMPACT);
	ask->call = call;
	ask->reader = (struct event_reader){.fn = on_call_event, .arg = ask};
	if (send_ask(ask, "POST", path, body, &err) < 0) {
		answer(ask, &err, NULL);
		free_ask(ask);
	}
}

void
web_client_cancel(struct web_client *client, struct call *call)
{
	const struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The call was cancelled."};
	struct ask *ask = client->asks;
	while (ask && ask->call != call)
		ask = ask->next;
	if (!ask)
		return;
	http_cancel(client->core->setup.http, client, ask->request);
	answer(ask, &err, NULL);
	free_ask(ask);
}

/* ---- subscriptions ---- */

static void
on_feed_event(void *arg, const char *name, const char *data, size_t size)
{
	struct ask *ask = arg;
	AUTO_JSON json_t *event = server_value(data, size);
	(void)name;
	if (!json_is_object(event))
		return;
	if (json_object_get(event, "seq"))
		ask->last = member_int(event, "seq");
	ask->client->events->event(ask->client->core, ask->subscription, event);
}

static void follow(void *arg);

static void
follow_later(struct ask *ask)
{
	struct kettle_error err = {0};
	if (loop_timer_start(ask->client->core->setup.io, AGAIN_MS, 0, follow, ask, &ask->timer, &err) < 0)
		free_ask(ask);
}

static void
follow(void *arg)
{
	struct ask *ask = arg;
	struct kettle_error err = {0};
	const char *board = json_text_or_null(ask->filter, "leaderboard");
	json_int_t submission = member_int(ask->filter, "submission");
	AUTO_BUF struct buf path = {0};
	ask->timer = NULL;
	ask->reader = (struct event_reader){.fn = on_feed_event, .arg = ask};
	buf_adds(&path, "/api/v1/events?");
	if (board) {
		buf_adds(&path, "leaderboard=");
		/* Adds a value of a query. */
		for (const unsigned char *at = (const unsigned char *)board; *at; at++)
			buf_printf(&path, "%%%02X", *at);
		buf_adds(&path, "&");
	}
	if (submission)
		buf_printf(&path, "submission=%lld&", (long long)submission);
	if (ask->last >= 0)
		buf_printf(&path, "after=%lld", (long long)ask->last);
	if (send_ask(ask, "GET", path.data, NULL, &err) < 0)
		follow_later(ask);
}

void
web_client_subscribe(struct web_client *client, const struct subscription *subscription)
{
	/* The progress of own calls comes with them. */
	if (member_true(subscription->filter, "task_run"))
		return;
	struct ask *ask = new_ask(client);
	ask->subscription = subscription->id;
	ask->filter = json_deep_copy(subscription->filter);
	ask->last = subscription->last;
	follow(ask);
}

void
web_client_unsubscribe(struct web_client *client, uint64_t id)
{
	struct ask *ask = client->asks;
	while (ask && ask->subscription != id)
		ask = ask->next;
	if (!ask)
		return;
	http_cancel(client->core->setup.http, client, ask->request);
	free_ask(ask);
}

/* ---- both ---- */

static void
on_part(void *arg, const void *data, size_t size)
{
	struct ask *ask = arg;
	if (ask->fault.code == 0)
		(void)event_reader_add(&ask->reader, data, size, &ask->fault);
}

static void
explain(const struct ask *ask, const struct kettle_error *err, const struct kettle_http_answer *told,
	struct kettle_error *ret_err)
{
	if (ask->fault.code)
		*ret_err = ask->fault;
	else if (!err->code && told->status >= 200 && told->status < 300)
		(void)kettle_fail(ret_err, KETTLE_EUNAVAIL,
			"The server ended before it answered: check whether the command took effect before you try again.");
	else
		server_explain(&ask->client->core->setup, err, told, ret_err);
}

static void
on_done(void *arg, const struct kettle_error *err, const struct kettle_http_answer *told)
{
	struct ask *ask = arg;
	struct kettle_error why = {0};
	ask->request = 0;
	bool refuses = told && told->status >= 400 && told->status < 500;
	if (ask->subscription && !refuses) {
		event_reader_free(&ask->reader);
		ask->fault = (struct kettle_error){0};
		follow_later(ask);
		return;
	}
	if (ask->call) {
		explain(ask, err, told, &why);
		answer(ask, &why, NULL);
	}
	free_ask(ask);
}

struct web_client *
web_client_new(struct core *core, const struct web_client_events *events)
{
	struct web_client *client = xnew(struct web_client, .core = core, .events = events);
	return client;
}

void
web_client_free(struct web_client *client)
{
	const struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The engine is stopping."};
	if (!client)
		return;
	http_cancel_all(client->core->setup.http, client);
	while (client->asks) {
		answer(client->asks, &err, NULL);
		free_ask(client->asks);
	}
	free(client);
}
