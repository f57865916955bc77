/* SPDX-License-Identifier: MIT */
/*
 * The bot's connection to Discord's gateway.
 *
 * Theory of operation. The protocol (machine.h) and the connection (connection.h) run on the thread of a service
 * (service.h). The loop calls them by service_send, they call the loop by host->post, and both keep the order. The
 * thread parses frames; the loop gets the data of events. Events that the loop has not handled are counted: above a
 * limit the connection is not read until the loop has caught up, so Discord's server holds the rest.
 */
#include <config.h>

#include "discord/gateway/gateway.h"

#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/certificates.h"
#include "base/cleanup.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "discord/gateway/connection.h"
#include "discord/gateway/service.h"

#define NS_PER_MS UINT64_C(1000000)
#define US_PER_MS 1000

struct gateway {
	const struct kettle_host *host;
	const struct gateway_events *events;
	void *arg;
	struct service *service;
	/* The loop's. */
	bool stopping;
	kettle_fn done;
	void *done_arg;
	/* Shared, atomic. */
	unsigned latency; /* atomic */
	size_t unread;    /* atomic: bytes of events that wait for the loop */
	size_t max_unread;
	/* The thread's. */
	char *ca_file;
	size_t max_frame, frame_len;
	struct lws_context *context; /* NULL: it could not be made, and the gateway does not work */
	struct machine *machine;
	struct connection *connection;
	bool ending, paused;
	lws_sorted_usec_list_t timer;
};

/* A message from the thread to the loop. */
struct message {
	struct gateway *gateway;
	enum { MESSAGE_DISPATCH, MESSAGE_FETCH, MESSAGE_STATE } kind;
	enum gateway_state state;
	char *text; /* the event's name, or the sentence */
	json_t *data;
	size_t size;
};

/* A message from the loop to the thread. */
struct fetched {
	struct gateway *gateway;
	char *url; /* NULL: the fetch failed */
	char *why;
	unsigned remaining;
	uint64_t ms;
};

static uint64_t
now_ms(void)
{
	return time_monotonic_ns() / NS_PER_MS;
}

/* ---- to the loop ---- */

static void resume_reading(void *arg);

static void
take_message(void *arg)
{
	struct message *message = arg;
	struct gateway *g = message->gateway;
	if (message->kind == MESSAGE_DISPATCH) {
		size_t before = __atomic_fetch_sub(&g->unread, message->size, __ATOMIC_ACQ_REL);
		if (before > g->max_unread && before - message->size <= g->max_unread && !g->stopping)
			service_send(g->service, resume_reading, g);
	}
	if (g->stopping) {
		json_decref(message->data);
	} else {
		switch (message->kind) {
		case MESSAGE_DISPATCH:
			g->events->dispatch(g->arg, message->text, message->data);
			break;
		case MESSAGE_FETCH:
			g->events->fetch(g->arg);
			break;
		case MESSAGE_STATE:
			g->events->state(g->arg, message->state, message->text);
			break;
		}
	}
	free(message->text);
	free(message);
}

static void
post(struct gateway *g, struct message content)
{
	struct message *message = xmemdup(&content, sizeof(content));
	message->gateway = g;
	if (g->host->post(g->host, take_message, message) < 0) {
		json_decref(message->data);
		free(message->text);
		free(message);
	}
}

/* ---- the machine's actions, on the thread ---- */

static void
on_fetch(void *arg)
{
	post(arg, (struct message){.kind = MESSAGE_FETCH});
}

static void
on_connect(void *arg, const char *url)
{
	connection_open(((struct gateway *)arg)->connection, url);
}

static void
on_send(void *arg, const char *text, size_t len)
{
	connection_send(((struct gateway *)arg)->connection, text, len);
}

static void
on_close(void *arg, int code)
{
	connection_close(((struct gateway *)arg)->connection, code);
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct gateway *g = arg;
	size_t unread = __atomic_add_fetch(&g->unread, g->frame_len, __ATOMIC_ACQ_REL);
	if (unread > g->max_unread) {
		g->paused = true;
		connection_pause(g->connection, true);
	}
	post(g, (struct message){.kind = MESSAGE_DISPATCH, .text = xstrdup(name), .data = data_take, .size = g->frame_len});
}

static void
on_state(void *arg, enum gateway_state state, const char *sentence)
{
	post(arg, (struct message){.kind = MESSAGE_STATE, .state = state, .text = xstrdup(sentence)});
}

static const struct machine_actions machine_actions = {
	.fetch = on_fetch,
	.connect = on_connect,
	.send = on_send,
	.close = on_close,
	.dispatch = on_dispatch,
	.state = on_state,
};

/* ---- the thread ---- */

static void on_timer(lws_sorted_usec_list_t *timer);

/* Updates the timer and the latency after each call of the machine. */
static void
follow(struct gateway *g)
{
	uint64_t due = machine_due(g->machine), now = now_ms();
	__atomic_store_n(&g->latency, machine_latency_ms(g->machine), __ATOMIC_RELAXED);
	if (due == MACHINE_NEVER)
		lws_sul_cancel(&g->timer);
	else
		lws_sul_schedule(g->context, 0, &g->timer, on_timer, due > now ? (lws_usec_t)(due - now) * US_PER_MS : 1);
}

static void
on_timer(lws_sorted_usec_list_t *timer)
{
	struct gateway *g = lws_container_of(timer, struct gateway, timer);
	machine_timer(g->machine, now_ms());
	follow(g);
}

static void
on_opened(void *arg)
{
	struct gateway *g = arg;
	machine_connected(g->machine, now_ms());
	follow(g);
}

static void
on_text(void *arg, const char *text, size_t len)
{
	struct gateway *g = arg;
	g->frame_len = len;
	machine_frame(g->machine, now_ms(), text, len);
	follow(g);
}

static void
on_refused(void *arg, const char *why)
{
	struct gateway *g = arg;
	machine_bad_frame(g->machine, now_ms(), why);
	follow(g);
}

static void
on_closed(void *arg, int code, const char *why)
{
	struct gateway *g = arg;
	machine_closed(g->machine, now_ms(), code, why);
	follow(g);
	if (g->ending)
		service_quit(g->service);
}

static const struct connection_events connection_events = {
	.opened = on_opened, .text = on_text, .refused = on_refused, .closed = on_closed};

/* Loads the certificates of the configuration, or else the system's. */
static int
prepare(void *arg, struct lws_context_creation_info *info, struct kettle_error *err)
{
	struct gateway *g = arg;
	const char *file = g->ca_file ? g->ca_file : certificates_of_system();
	SSL_CTX *tls = info->provided_client_ssl_ctx;
	int good = file ? SSL_CTX_load_verify_locations(tls, file, NULL) : SSL_CTX_set_default_verify_paths(tls);
	if (good != 1)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The gateway cannot check certificates: %s cannot be read, or contains no PEM certificate.",
			file ? file : "the system's folder");
	info->protocols = connection_protocols();
	return 0;
}

static void
begun(void *arg, struct lws_context *context, const struct kettle_error *err)
{
	struct gateway *g = arg;
	g->context = context;
	if (!context) {
		on_state(g, GATEWAY_FATAL, err->message);
		return;
	}
	g->connection = connection_new(context, g->max_frame, &connection_events, g);
	machine_start(g->machine, now_ms());
	follow(g);
}

static void
ended(void *arg)
{
	struct gateway *g = arg;
	kettle_fn done = g->done;
	void *done_arg = g->done_arg;
	connection_free(g->connection);
	machine_free(g->machine);
	free(g->ca_file);
	free(g);
	if (done)
		done(done_arg);
}

static const struct service_events service_events = {.prepare = prepare, .begun = begun, .ended = ended};

/* ---- from the loop, on the thread ---- */

static void
resume_reading(void *arg)
{
	struct gateway *g = arg;
	if (!g->paused || __atomic_load_n(&g->unread, __ATOMIC_ACQUIRE) > g->max_unread)
		return;
	g->paused = false;
	connection_pause(g->connection, false);
}

static void
take_fetched(void *arg)
{
	struct fetched *fetched = arg;
	struct gateway *g = fetched->gateway;
	if (g->context && fetched->url)
		machine_fetched(g->machine, now_ms(), fetched->url, fetched->remaining, fetched->ms);
	else if (g->context)
		machine_fetch_failed(g->machine, now_ms(), fetched->ms, fetched->why);
	if (g->context)
		follow(g);
	free(fetched->url);
	free(fetched->why);
	free(fetched);
}

static void
stop(void *arg)
{
	struct gateway *g = arg;
	g->ending = true;
	bool connected = machine_stop(g->machine);
	if (g->context)
		follow(g);
	if (!connected)
		service_quit(g->service);
}

/* ---- the loop's side ---- */

static bool
is_token(const char *token)
{
	size_t len = token ? strlen(token) : 0;
	for (size_t i = 0; i < len; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return false;
	return len > 0 && len <= MACHINE_TOKEN_MAX;
}

int
gateway_new(const struct kettle_host *host, const struct gateway_rules *rules, const struct gateway_events *events,
	void *arg, struct gateway **ret_gateway, struct kettle_error *err)
{
	uint64_t seed;
	if (!is_token(rules->token))
		return kettle_fail(err, KETTLE_EINVAL,
			"The bot's token is not one of Discord's: it has 1 to %d characters of ASCII, without spaces.",
			MACHINE_TOKEN_MAX);
	if (RAND_bytes((unsigned char *)&seed, sizeof(seed)) != 1)
		seed = time_monotonic_ns();
	const struct machine_rules machine_rules = {
		.token = rules->token, .intents = rules->intents, .random_seed = seed, .retry_ms = rules->retry_ms};
	struct gateway *g = xcalloc(1, sizeof(*g));
	*g = (struct gateway){.host = host,
		.events = events,
		.arg = arg,
		.ca_file = rules->ca_file ? xstrdup(rules->ca_file) : NULL,
		.max_frame = rules->max_frame ? rules->max_frame : GATEWAY_FRAME_MAX,
		.max_unread = rules->max_unread ? rules->max_unread : GATEWAY_UNREAD_MAX};
	g->machine = machine_new(&machine_rules, &machine_actions, g);
	int rc = service_start(host, &service_events, g, &g->service, err);
	if (rc < 0) {
		machine_free(g->machine);
		free(g->ca_file);
		free(g);
		return rc;
	}
	*ret_gateway = g;
	return 0;
}

static void
send_fetched(struct gateway *g, struct fetched content)
{
	if (g->stopping)
		return;
	struct fetched *fetched = xmemdup(&content, sizeof(content));
	fetched->gateway = g;
	service_send(g->service, take_fetched, fetched);
}

void
gateway_fetched(struct gateway *g, const char *url, unsigned remaining, uint64_t reset_after_ms)
{
	send_fetched(g, (struct fetched){.url = xstrdup(url), .remaining = remaining, .ms = reset_after_ms});
}

void
gateway_fetch_failed(struct gateway *g, uint64_t retry_after_ms, const char *why)
{
	send_fetched(g, (struct fetched){.why = xstrdup(why), .ms = retry_after_ms});
}

unsigned
gateway_latency_ms(const struct gateway *g)
{
	return __atomic_load_n(&g->latency, __ATOMIC_RELAXED);
}

void
gateway_stop(struct gateway *g, kettle_fn done, void *arg)
{
	g->stopping = true;
	g->done = done;
	g->done_arg = arg;
	service_send(g->service, stop, g);
}
