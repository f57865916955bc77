/* SPDX-License-Identifier: MIT */
/*
 * The bot's connection to Discord's gateway.
 *
 * Theory of operation. The protocol (machine.h) and the connection run on the thread of a service (service.h). The loop
 * calls them by service_send, they call the loop by host->post, and both keep the order. The thread parses frames; the
 * loop gets the data of events. Events that the loop has not handled are counted: above a limit the connection is not
 * read until the loop has caught up, so Discord's server holds the rest.
 *
 * The connection is one of libwebsockets. Opening and cutting happen in timers of the library, because it may answer
 * from within the call. A connection that is given up is forgotten before it is killed: callbacks for another one than
 * `wsi` are ignored, so each connection_open has exactly one on_closed.
 */
#include <config.h>

#include "discord/gateway/gateway.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/certificates.h"
#include "base/base.h"
#include "base/number.h"
#include "base/text.h"
#include "discord/gateway/service.h"

#define NS_PER_MS UINT64_C(1000000)
#define US_PER_MS 1000
#define HOST_MAX 253
#define RECEIVE_BYTES 65536
#define KEEP_BYTES (1u << 20) /* of a frame's memory that is kept for the next frame */
#define PROTOCOL "kettle-discord-gateway"

struct outgoing {
	size_t len;
	STAILQ_ENTRY(outgoing) link;
	unsigned char data[]; /* LWS_PRE bytes, then the text */
};

/* One websocket connection at a time. */
struct connection {
	struct gateway *gateway;
	struct lws *wsi; /* NULL: none, or given up */
	bool wanted;     /* `closed` was not called yet */
	bool established, paused, skipping;
	int closing, code; /* of this side's close frame, of the server's */
	char *url, why[200];
	unsigned turn; /* which of the name's addresses is next */
	struct buf frame;
	STAILQ_HEAD(, outgoing) outgoing;
	lws_sorted_usec_list_t open_timer, cut_timer;
};

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
	struct connection connection;
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

/* ---- the connection, on the thread ---- */

static void on_opened(struct gateway *g);
static void on_text(struct gateway *g, const char *text, size_t len);
static void on_refused(struct gateway *g, const char *why);
static void on_closed(struct gateway *g, int code, const char *why);

struct address {
	char host[HOST_MAX + 1], ip[INET6_ADDRSTRLEN];
	const char *path; /* of the URL */
	int port;
	bool tls;
};

static void
drop_outgoing(struct connection *c)
{
	for (struct outgoing *out; (out = STAILQ_FIRST(&c->outgoing));) {
		STAILQ_REMOVE_HEAD(&c->outgoing, link);
		free(out);
	}
}

/* Forgets the connection and calls `closed`. */
static void
end_connection(struct connection *c, const char *why)
{
	char reason[sizeof(c->why)];
	int code = c->code;
	if (!c->wanted)
		return;
	(void)snprintf(reason, sizeof(reason), "%s", why);
	lws_sul_cancel(&c->open_timer);
	lws_sul_cancel(&c->cut_timer);
	c->turn += !c->established;
	c->wsi = NULL;
	c->wanted = c->established = c->skipping = false;
	c->closing = c->code = 0;
	drop_outgoing(c);
	buf_free(&c->frame);
	on_closed(c->gateway, code, reason);
}

static void
on_cut(lws_sorted_usec_list_t *timer)
{
	struct connection *c = lws_container_of(timer, struct connection, cut_timer);
	struct lws *wsi = c->wsi;
	c->wsi = NULL;
	if (wsi)
		lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
	end_connection(c, "it was cut");
}

/* ---- addresses ---- */

static bool
is_host(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", text[i]))
			return false;
	return len > 0 && len <= HOST_MAX;
}

static int
parse_url(const char *url, struct address *ret_address, struct kettle_error *err)
{
	struct address address = {.tls = strncmp(url, "wss://", 6) == 0};
	long long port = address.tls ? 443 : 80;
	if (!address.tls && strncmp(url, "ws://", 5) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "its address does not begin with wss://");
	const char *host = strchr(url, '/') + 2;
	size_t len = strcspn(host, ":/?");
	const char *rest = host + len;
	if (!is_host(host, len))
		return kettle_fail(err, KETTLE_EINVAL, "its address names no host");
	(void)memcpy(address.host, host, len);
	if (*rest == ':') {
		char digits[8] = "";
		size_t count = strspn(rest + 1, "0123456789");
		if (count < sizeof(digits))
			(void)memcpy(digits, rest + 1, count);
		rest += 1 + count;
		if (!number_parse_integer(digits, &port) || port < 1 || port > 65535)
			return kettle_fail(err, KETTLE_EINVAL, "its address has no valid port");
	}
	if (*rest != '/')
		return kettle_fail(err, KETTLE_EINVAL, "its address has no path");
	for (const char *at = rest; *at; at++)
		if (*at <= ' ' || *at > '~')
			return kettle_fail(err, KETTLE_EINVAL, "its address is not in ASCII");
	address.path = rest;
	address.port = (int)port;
	*ret_address = address;
	return 0;
}

static bool
is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Resolves the name; uses another one of several addresses after each failure. */
static int
resolve(struct connection *c, struct address *address, struct kettle_error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	unsigned count = 0;
	int rc = getaddrinfo(address->host, NULL, &hints, &found);
	if (rc)
		return kettle_fail(err, KETTLE_EUNAVAIL, "the name %s cannot be resolved: %s", address->host, gai_strerror(rc));
	for (const struct addrinfo *at = found; at; at = at->ai_next)
		count++;
	const struct addrinfo *chosen = found;
	for (unsigned i = c->turn % count; i > 0; i--)
		chosen = chosen->ai_next;
	bool local = is_loopback(chosen->ai_addr);
	rc = getnameinfo(chosen->ai_addr, chosen->ai_addrlen, address->ip, sizeof(address->ip), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (rc)
		return kettle_fail(err, KETTLE_EUNAVAIL, "the address of %s is unusable", address->host);
	if (!address->tls && !local)
		return kettle_fail(err, KETTLE_EINVAL, "ws:// is for this machine itself; %s needs wss://", address->host);
	return 0;
}

/* ---- opening ---- */

static void
on_open(lws_sorted_usec_list_t *timer)
{
	struct connection *c = lws_container_of(timer, struct connection, open_timer);
	struct address address;
	struct kettle_error err = {0};
	if (parse_url(c->url, &address, &err) < 0 || resolve(c, &address, &err) < 0) {
		end_connection(c, err.message);
		return;
	}
	bool usual = address.port == (address.tls ? 443 : 80);
	AUTO_FREE char *host = usual ? xstrdup(address.host) : xasprintf("%s:%d", address.host, address.port);
	struct lws_client_connect_info info = {
		.context = c->gateway->context,
		.address = address.ip, /* no name: the library would resolve it */
		.port = address.port,
		.ssl_connection = address.tls ? LCCSCF_USE_SSL : 0,
		.path = address.path,
		.host = host,
		.local_protocol_name = PROTOCOL,
		.ietf_version_or_minus_one = -1,
		.userdata = c,
		.pwsi = &c->wsi,
		.alpn = "http/1.1",
	};
	if (!lws_client_connect_via_info(&info))
		end_connection(c, *c->why ? c->why : "it was refused");
}

/* Opens wss://, with the certificate checked, or ws:// to this machine; resolves the name on this thread. */
static void
connection_open(void *arg, const char *url)
{
	struct connection *c = &((struct gateway *)arg)->connection;
	free(c->url);
	c->url = xstrdup(url);
	c->why[0] = '\0';
	c->wanted = true;
	lws_sul_schedule(c->gateway->context, 0, &c->open_timer, on_open, 1);
}

static void
connection_send(void *arg, const char *text, size_t len)
{
	struct connection *c = &((struct gateway *)arg)->connection;
	if (!c->established || c->closing)
		return;
	struct outgoing *out = xmalloc(sizeof(*out) + LWS_PRE + len);
	out->len = len;
	(void)memcpy(out->data + LWS_PRE, text, len);
	STAILQ_INSERT_TAIL(&c->outgoing, out, link);
	(void)lws_callback_on_writable(c->wsi);
}

/* Ends the connection, or stops making it: on_closed comes within GATEWAY_CLOSE_MS. */
static void
connection_close(void *arg, int code)
{
	struct connection *c = &((struct gateway *)arg)->connection;
	if (!c->wanted || c->closing)
		return;
	c->closing = code;
	if (c->established)
		(void)lws_callback_on_writable(c->wsi);
	lws_sul_schedule(
		c->gateway->context, 0, &c->cut_timer, on_cut, c->established ? GATEWAY_CLOSE_MS * (lws_usec_t)1000 : 1);
	lws_sul_cancel(&c->open_timer);
}

/* Stops or resumes reading, also for later connections: meanwhile frames wait in the network. */
static void
connection_pause(struct connection *c, bool pause)
{
	c->paused = pause;
	if (c->established)
		(void)lws_rx_flow_control(c->wsi, !pause);
}

/* ---- callbacks ---- */

static void
take_part(struct connection *c, struct lws *wsi, const char *part, size_t len)
{
	char why[80];
	bool ends = lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;
	if (c->closing || c->skipping) {
		c->skipping = c->skipping && !ends;
		return;
	}
	if (lws_frame_is_binary(wsi) || len > c->gateway->max_frame - c->frame.len) {
		(void)snprintf(why, sizeof(why), lws_frame_is_binary(wsi) ? "it is binary" : "it is longer than %zu bytes",
			c->gateway->max_frame);
		c->skipping = !ends;
		buf_free(&c->frame);
		on_refused(c->gateway, why);
		return;
	}
	buf_add(&c->frame, part, len);
	if (!ends)
		return;
	/* The handler may end the connection, which frees the buffer. */
	struct buf frame = c->frame;
	c->frame = (struct buf){0};
	on_text(c->gateway, frame.data ? frame.data : "", frame.len);
	if (c->frame.data || frame.cap > KEEP_BYTES) {
		buf_free(&frame);
	} else {
		frame.len = 0;
		c->frame = frame;
	}
}

/* Sends the next frame, or closes. -1: the library must close, with the reason set by lws_close_reason. */
static int
write_next(struct connection *c)
{
	struct outgoing *out = STAILQ_FIRST(&c->outgoing);
	if (c->closing) {
		lws_close_reason(c->wsi, (enum lws_close_status)c->closing, NULL, 0);
		return -1;
	}
	if (!out)
		return 0;
	STAILQ_REMOVE_HEAD(&c->outgoing, link);
	int written = lws_write(c->wsi, out->data + LWS_PRE, out->len, LWS_WRITE_TEXT);
	bool whole = written >= 0 && (size_t)written >= out->len;
	free(out);
	if (whole && !STAILQ_EMPTY(&c->outgoing))
		(void)lws_callback_on_writable(c->wsi);
	return whole ? 0 : -1;
}

/* Records OpenSSL's error about the server's certificate, which the library's own text lacks. */
static void
note_certificate(struct connection *c, X509_STORE_CTX *store, bool good)
{
	if (!good && c)
		(void)snprintf(c->why, sizeof(c->why), "its certificate is refused: %s",
			X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
}

/* default: the library has dozens of reasons. */
static int
on_connection(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	if (reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION) {
		note_certificate(lws_wsi_user(wsi), user, len != 0);
		return 0;
	}
	struct connection *c = user;
	if (!c || !c->wanted || wsi != c->wsi)
		return 0;
	if (reason == LWS_CALLBACK_CLIENT_ESTABLISHED) {
		if (c->closing)
			return -1;
		c->established = true;
		if (c->paused)
			(void)lws_rx_flow_control(wsi, 0);
		on_opened(c->gateway);
	} else if (reason == LWS_CALLBACK_CLIENT_RECEIVE) {
		take_part(c, wsi, in, len);
	} else if (reason == LWS_CALLBACK_CLIENT_WRITEABLE) {
		return write_next(c);
	} else if (reason == LWS_CALLBACK_WS_PEER_INITIATED_CLOSE) {
		const unsigned char *bytes = in;
		c->code = len >= 2 ? bytes[0] << 8 | bytes[1] : 0;
		lws_sul_schedule(c->gateway->context, 0, &c->cut_timer, on_cut, GATEWAY_CLOSE_MS * (lws_usec_t)1000);
	} else if (reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR) {
		if (!*c->why)
			(void)snprintf(c->why, sizeof(c->why), "%.*s", in ? (int)len : 0, in ? (const char *)in : "");
		end_connection(c, *c->why ? c->why : "it was refused");
	} else if (reason == LWS_CALLBACK_CLIENT_CLOSED) {
		end_connection(c, "the connection broke");
	} else if (reason == LWS_CALLBACK_WSI_DESTROY) {
		/* A server that does not speak HTTP ends without any other callback. */
		end_connection(c, "the server does not speak websockets");
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{.name = PROTOCOL, .callback = on_connection, .rx_buffer_size = RECEIVE_BYTES}, {0}};

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
	free_all(message->text, message);
}

static void
post(struct gateway *g, struct message content)
{
	struct message *message = xmemdup(&content, sizeof(content));
	message->gateway = g;
	if (g->host->post(g->host, take_message, message) < 0) {
		json_decref(message->data);
		free_all(message->text, message);
	}
}

/* ---- the machine's actions, on the thread ---- */

static void
on_fetch(void *arg)
{
	post(arg, (struct message){.kind = MESSAGE_FETCH});
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct gateway *g = arg;
	size_t unread = __atomic_add_fetch(&g->unread, g->frame_len, __ATOMIC_ACQ_REL);
	if (unread > g->max_unread) {
		g->paused = true;
		connection_pause(&g->connection, true);
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
	.connect = connection_open,
	.send = connection_send,
	.close = connection_close,
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
on_opened(struct gateway *g)
{
	machine_connected(g->machine, now_ms());
	follow(g);
}

static void
on_text(struct gateway *g, const char *text, size_t len)
{
	g->frame_len = len;
	machine_frame(g->machine, now_ms(), text, len);
	follow(g);
}

static void
on_refused(struct gateway *g, const char *why)
{
	machine_bad_frame(g->machine, now_ms(), why);
	follow(g);
}

static void
on_closed(struct gateway *g, int code, const char *why)
{
	machine_closed(g->machine, now_ms(), code, why);
	follow(g);
	if (g->ending)
		service_quit(g->service);
}

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
	info->protocols = protocols;
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
	machine_start(g->machine, now_ms());
	follow(g);
}

static void
ended(void *arg)
{
	struct gateway *g = arg;
	kettle_fn done = g->done;
	void *done_arg = g->done_arg;
	drop_outgoing(&g->connection);
	buf_free(&g->connection.frame);
	free(g->connection.url);
	machine_free(g->machine);
	free_all(g->ca_file, g);
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
	connection_pause(&g->connection, false);
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
	free_all(fetched->url, fetched->why, fetched);
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
	*g = (struct gateway){.connection = {.gateway = g, .outgoing = STAILQ_HEAD_INITIALIZER(g->connection.outgoing)},
		.host = host,
		.events = events,
		.arg = arg,
		.ca_file = rules->ca_file ? xstrdup(rules->ca_file) : NULL,
		.max_frame = rules->max_frame ? rules->max_frame : GATEWAY_FRAME_MAX,
		.max_unread = rules->max_unread ? rules->max_unread : GATEWAY_UNREAD_MAX};
	g->machine = machine_new(&machine_rules, &machine_actions, g);
	int rc = service_start(host, &service_events, g, &g->service, err);
	if (rc < 0) {
		machine_free(g->machine);
		free_all(g->ca_file, g);
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
