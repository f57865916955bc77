/* SPDX-License-Identifier: MIT */
/*
 * A websocket connection over libwebsockets.
 *
 * Theory of operation. Opening and cutting happen in timers of the library, because it may answer from within the
 * call. A connection that is given up is forgotten before it is killed: callbacks for a connection other than `wsi`
 * are ignored. So each connection_open has exactly one `closed`.
 */
#include <config.h>

#include "discord/gateway/connection.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/x509_vfy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/xalloc.h"

#define HOST_MAX 253
#define RECEIVE_BYTES 65536
#define KEEP_BYTES (1u << 20) /* of a frame's memory that is kept for the next frame */
#define PROTOCOL "kettle-discord-gateway"

struct outgoing {
	size_t len;
	struct outgoing *next;
	unsigned char data[]; /* LWS_PRE bytes, then the text */
};

struct connection {
	struct lws_context *context;
	size_t max_frame;
	const struct connection_events *events;
	void *arg;
	struct lws *wsi; /* NULL: none, or given up */
	bool wanted;     /* `closed` was not called yet */
	bool established, paused, skipping;
	int closing, code; /* of this side's close frame, of the server's */
	char *url, why[200];
	unsigned turn; /* which of the name's addresses is next */
	struct buf frame;
	struct outgoing *first, **last;
	lws_sorted_usec_list_t open_timer, cut_timer;
};

struct address {
	char host[HOST_MAX + 1], ip[INET6_ADDRSTRLEN];
	const char *path; /* of the URL */
	int port;
	bool tls;
};

static void
drop_outgoing(struct connection *c)
{
	for (struct outgoing *out = c->first, *next; out; out = next) {
		next = out->next;
		free(out);
	}
	c->first = NULL;
	c->last = &c->first;
}

/* Forgets the connection and calls `closed`. */
static void
end(struct connection *c, const char *why)
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
	c->events->closed(c->arg, code, reason);
}

static void
on_cut(lws_sorted_usec_list_t *timer)
{
	struct connection *c = lws_container_of(timer, struct connection, cut_timer);
	struct lws *wsi = c->wsi;
	c->wsi = NULL;
	if (wsi)
		lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
	end(c, "it was cut");
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
		end(c, err.message);
		return;
	}
	bool usual = address.port == (address.tls ? 443 : 80);
	AUTO_FREE char *host = usual ? xstrdup(address.host) : xasprintf("%s:%d", address.host, address.port);
	struct lws_client_connect_info info = {
		.context = c->context,
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
		end(c, *c->why ? c->why : "it was refused");
}

struct connection *
connection_new(struct lws_context *context, size_t max_frame, const struct connection_events *events, void *arg)
{
	struct connection *c = xcalloc(1, sizeof(*c));
	c->context = context;
	c->max_frame = max_frame;
	c->events = events;
	c->arg = arg;
	c->last = &c->first;
	return c;
}

void
connection_free(struct connection *c)
{
	if (!c)
		return;
	drop_outgoing(c);
	buf_free(&c->frame);
	free(c->url);
	free(c);
}

void
connection_open(struct connection *c, const char *url)
{
	free(c->url);
	c->url = xstrdup(url);
	c->why[0] = '\0';
	c->wanted = true;
	lws_sul_schedule(c->context, 0, &c->open_timer, on_open, 1);
}

void
connection_send(struct connection *c, const char *text, size_t len)
{
	if (!c->established || c->closing)
		return;
	struct outgoing *out = xmalloc(sizeof(*out) + LWS_PRE + len);
	out->len = len;
	out->next = NULL;
	(void)memcpy(out->data + LWS_PRE, text, len);
	*c->last = out;
	c->last = &out->next;
	(void)lws_callback_on_writable(c->wsi);
}

void
connection_close(struct connection *c, int code)
{
	if (!c->wanted || c->closing)
		return;
	c->closing = code;
	if (c->established)
		(void)lws_callback_on_writable(c->wsi);
	lws_sul_schedule(c->context, 0, &c->cut_timer, on_cut, c->established ? CONNECTION_CLOSE_MS * (lws_usec_t)1000 : 1);
	lws_sul_cancel(&c->open_timer);
}

void
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
	if (lws_frame_is_binary(wsi) || len > c->max_frame - c->frame.len) {
		(void)snprintf(
			why, sizeof(why), lws_frame_is_binary(wsi) ? "it is binary" : "it is longer than %zu bytes", c->max_frame);
		c->skipping = !ends;
		buf_free(&c->frame);
		c->events->refused(c->arg, why);
		return;
	}
	buf_add(&c->frame, part, len);
	if (!ends)
		return;
	/* The handler may end the connection, which frees the buffer. */
	struct buf frame = c->frame;
	c->frame = (struct buf){0};
	c->events->text(c->arg, frame.data ? frame.data : "", frame.len);
	if (c->frame.data || frame.cap > KEEP_BYTES) {
		buf_free(&frame);
	} else {
		frame.len = 0;
		c->frame = frame;
	}
}

/*
 * Sends the next frame, or closes. -1: the library must close the connection, with the reason set by lws_close_reason.
 */
static int
write_next(struct connection *c)
{
	struct outgoing *out = c->first;
	if (c->closing) {
		lws_close_reason(c->wsi, (enum lws_close_status)c->closing, NULL, 0);
		return -1;
	}
	if (!out)
		return 0;
	c->first = out->next;
	if (!c->first)
		c->last = &c->first;
	int written = lws_write(c->wsi, out->data + LWS_PRE, out->len, LWS_WRITE_TEXT);
	bool whole = written >= 0 && (size_t)written >= out->len;
	free(out);
	if (whole && c->first)
		(void)lws_callback_on_writable(c->wsi);
	return whole ? 0 : -1;
}

/*
 * Records OpenSSL's error about the server's certificate, since the library's own text has none. Decides by the error
 * in `store`.
 */
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
		c->events->opened(c->arg);
	} else if (reason == LWS_CALLBACK_CLIENT_RECEIVE) {
		take_part(c, wsi, in, len);
	} else if (reason == LWS_CALLBACK_CLIENT_WRITEABLE) {
		return write_next(c);
	} else if (reason == LWS_CALLBACK_WS_PEER_INITIATED_CLOSE) {
		const unsigned char *bytes = in;
		c->code = len >= 2 ? bytes[0] << 8 | bytes[1] : 0;
		lws_sul_schedule(c->context, 0, &c->cut_timer, on_cut, CONNECTION_CLOSE_MS * (lws_usec_t)1000);
	} else if (reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR) {
		if (!*c->why)
			(void)snprintf(c->why, sizeof(c->why), "%.*s", in ? (int)len : 0, in ? (const char *)in : "");
		end(c, *c->why ? c->why : "it was refused");
	} else if (reason == LWS_CALLBACK_CLIENT_CLOSED) {
		end(c, "the connection broke");
	} else if (reason == LWS_CALLBACK_WSI_DESTROY) {
		/* A server that does not speak HTTP ends without any other callback. */
		end(c, "the server does not speak websockets");
	}
	return 0;
}

const struct lws_protocols *
connection_protocols(void)
{
	static const struct lws_protocols protocols[] = {
		{.name = PROTOCOL, .callback = on_connection, .rx_buffer_size = RECEIVE_BYTES}, {0}};
	return protocols;
}
