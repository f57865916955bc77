/* SPDX-License-Identifier: MIT */
/* Servers that a test of the gateway connects to. */
#include <config.h>

#include "unit/discord/websocket_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/gateway/service.h"

#define PIECE 4000
#define READY_MS 5
#define PATIENCE_ROUNDS 6000

struct text {
	size_t len, at;
	bool binary;
	struct text *next;
	char data[];
};

struct websocket_server {
	struct service *service;
	char *tls;
	int interval, *ended;
	struct lws_context *context;
	struct lws *wsi; /* the newest connection */
	struct buf received;
	struct text *first, **last;
	int close_code;
	bool closes, mute;
	pthread_mutex_t lock; /* of what follows */
	int port;             /* 0: not yet; -1: it failed */
	struct buf log;
	unsigned written;
};

/* An order to the thread. */
struct order {
	struct websocket_server *server;
	char *text;
	bool binary;
	int code;
};

static void
note(struct websocket_server *server, const char *text)
{
	(void)pthread_mutex_lock(&server->lock);
	buf_printf(&server->log, "%s\n", text);
	(void)pthread_mutex_unlock(&server->lock);
}

static void
drop_texts(struct websocket_server *server)
{
	for (struct text *text = server->first, *next; text; text = next) {
		next = text->next;
		free(text);
	}
	server->first = NULL;
	server->last = &server->first;
}

static void
queue_text(struct websocket_server *server, const char *data, bool binary)
{
	size_t len = strlen(data);
	struct text *text = xmalloc(sizeof(*text) + len);
	*text = (struct text){.len = len, .binary = binary};
	(void)memcpy(text->data, data, len);
	*server->last = text;
	server->last = &text->next;
	if (server->wsi)
		(void)lws_callback_on_writable(server->wsi);
}

/* The least that a gateway says of itself. */
static void
answer(struct websocket_server *server, const char *text)
{
	AUTO_JSON json_t *frame = json_loads(text, 0, NULL);
	json_int_t op = member_int(frame, "op");
	AUTO_FREE char *ready =
		xasprintf("{\"op\":0,\"s\":1,\"t\":\"READY\",\"d\":{\"session_id\":\"S1\",\"resume_gateway_url\":"
				  "\"%s://%s:%d\"}}",
			server->tls ? "wss" : "ws", server->tls ? "localhost" : "127.0.0.1", server->port);
	if (op == 2)
		queue_text(server, ready, false);
	else if (op == 1 && !server->mute)
		queue_text(server, "{\"op\":11}", false);
}

static int
write_text(struct websocket_server *server, struct lws *wsi)
{
	unsigned char piece[LWS_PRE + PIECE];
	struct text *text = server->first;
	if (server->closes) {
		server->closes = false;
		if (server->close_code)
			lws_close_reason(wsi, (enum lws_close_status)server->close_code, NULL, 0);
		return -1;
	}
	if (!text)
		return 0;
	size_t len = text->len - text->at < PIECE ? text->len - text->at : PIECE;
	(void)memcpy(piece + LWS_PRE, text->data + text->at, len);
	int flags = lws_write_ws_flags(
		text->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT, text->at == 0, text->at + len == text->len);
	if (lws_write(wsi, piece + LWS_PRE, len, (enum lws_write_protocol)flags) < 0)
		return -1;
	text->at += len;
	if (text->at == text->len) {
		server->first = text->next;
		if (!server->first)
			server->last = &server->first;
		free(text);
		(void)pthread_mutex_lock(&server->lock);
		server->written++;
		(void)pthread_mutex_unlock(&server->lock);
	}
	if (server->first)
		(void)lws_callback_on_writable(wsi);
	return 0;
}

static int
on_server(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct websocket_server *server = lws_context_user(lws_get_context(wsi));
	char text[100];
	(void)user;
	if (reason == LWS_CALLBACK_ESTABLISHED) {
		server->wsi = wsi;
		drop_texts(server);
		note(server, "connected");
		(void)snprintf(text, sizeof(text), "{\"op\":10,\"d\":{\"heartbeat_interval\":%d}}", server->interval);
		queue_text(server, text, false);
	} else if (reason == LWS_CALLBACK_RECEIVE) {
		buf_add(&server->received, in, len);
		if (!lws_is_final_fragment(wsi))
			return 0;
		AUTO_FREE char *received = buf_take(&server->received);
		note(server, received);
		answer(server, received);
	} else if (reason == LWS_CALLBACK_SERVER_WRITEABLE && wsi == server->wsi) {
		return write_text(server, wsi);
	} else if (reason == LWS_CALLBACK_WS_PEER_INITIATED_CLOSE) {
		const unsigned char *bytes = in;
		(void)snprintf(text, sizeof(text), "closed %d", len >= 2 ? bytes[0] << 8 | bytes[1] : 0);
		note(server, text);
	} else if (reason == LWS_CALLBACK_CLOSED && wsi == server->wsi) {
		server->wsi = NULL;
		drop_texts(server);
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{.name = "gateway", .callback = on_server, .rx_buffer_size = 65536}, {0}};

static int
prepare(void *arg, struct lws_context_creation_info *info, struct kettle_error *err)
{
	struct websocket_server *server = arg;
	(void)err;
	info->port = 0;
	info->iface = "127.0.0.1";
	info->protocols = protocols;
	info->user = server;
	info->ssl_cert_filepath = info->ssl_private_key_filepath = server->tls;
	return 0;
}

static void
begun(void *arg, struct lws_context *context, const struct kettle_error *err)
{
	struct websocket_server *server = arg;
	(void)err;
	server->context = context;
	(void)pthread_mutex_lock(&server->lock);
	server->port = context ? lws_get_vhost_listen_port(lws_get_vhost_by_name(context, "default")) : -1;
	(void)pthread_mutex_unlock(&server->lock);
}

static void
ended(void *arg)
{
	struct websocket_server *server = arg;
	int *flag = server->ended;
	drop_texts(server);
	buf_free(&server->received);
	buf_free(&server->log);
	(void)pthread_mutex_destroy(&server->lock);
	free(server->tls);
	free(server);
	*flag = 1;
}

static const struct service_events events = {.prepare = prepare, .begun = begun, .ended = ended};

int
websocket_server_port(const struct websocket_server *server)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->lock;
	(void)pthread_mutex_lock(lock);
	int port = server->port;
	(void)pthread_mutex_unlock(lock);
	return port;
}

struct websocket_server *
websocket_server_start(const struct kettle_host *host, const char *tls, int interval)
{
	struct websocket_server *server = xcalloc(1, sizeof(*server));
	server->tls = tls ? xstrdup(tls) : NULL;
	server->interval = interval;
	server->last = &server->first;
	(void)pthread_mutex_init(&server->lock, NULL);
	if (service_start(host, &events, server, &server->service, NULL) < 0)
		return NULL;
	for (int i = 0; websocket_server_port(server) == 0 && i < PATIENCE_ROUNDS; i++)
		(void)poll(NULL, 0, READY_MS);
	return websocket_server_port(server) > 0 ? server : NULL;
}

unsigned
websocket_server_saw(struct websocket_server *server, const char *text)
{
	unsigned found = 0;
	(void)pthread_mutex_lock(&server->lock);
	for (const char *at = server->log.data; at && (at = strstr(at, text)); at += strlen(text))
		found++;
	(void)pthread_mutex_unlock(&server->lock);
	return found;
}

unsigned
websocket_server_written(struct websocket_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	unsigned written = server->written;
	(void)pthread_mutex_unlock(&server->lock);
	return written;
}

/* ---- orders ---- */

static void
obey_say(void *arg)
{
	struct order *order = arg;
	queue_text(order->server, order->text, order->binary);
	free(order->text);
	free(order);
}

static void
obey_close(void *arg)
{
	struct order *order = arg;
	struct websocket_server *server = order->server;
	if (order->code == 0 && server->wsi) {
		lws_set_timeout(server->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
	} else if (server->wsi) {
		server->closes = true;
		server->close_code = order->code;
		(void)lws_callback_on_writable(server->wsi);
	}
	free(order);
}

static void
obey_mute(void *arg)
{
	struct order *order = arg;
	order->server->mute = order->code;
	free(order);
}

static void
obey_stop(void *arg)
{
	service_quit(((struct websocket_server *)arg)->service);
}

static void
send_order(struct websocket_server *server, kettle_fn fn, struct order content)
{
	content.server = server;
	service_send(server->service, fn, xmemdup(&content, sizeof(content)));
}

void
websocket_server_say(struct websocket_server *server, const char *text)
{
	send_order(server, obey_say, (struct order){.text = xstrdup(text)});
}

void
websocket_server_say_binary(struct websocket_server *server, const char *text)
{
	send_order(server, obey_say, (struct order){.text = xstrdup(text), .binary = true});
}

void
websocket_server_close(struct websocket_server *server, int code)
{
	send_order(server, obey_close, (struct order){.code = code});
}

void
websocket_server_mute(struct websocket_server *server, bool mute)
{
	send_order(server, obey_mute, (struct order){.code = mute});
}

void
websocket_server_stop(struct websocket_server *server, int *ret_ended)
{
	server->ended = ret_ended;
	service_send(server->service, obey_stop, server);
}

/* ---- raw bytes ---- */

struct raw_server {
	pthread_t thread;
	int listener, port, stop[2];
	bool upgrade;
	unsigned connections; /* atomic */
	size_t size;
	char bytes[];
};

/* Reads the request's head and answers as RFC 6455 says. */
static void
upgrade_connection(int fd)
{
	char head[8192], key[128] = "", joined[200], digest[20], accepted[64], text[300];
	size_t len = 0;
	ssize_t got;
	while (len < sizeof(head) - 1 && (got = recv(fd, head + len, sizeof(head) - 1 - len, 0)) > 0) {
		len += (size_t)got;
		head[len] = '\0';
		if (strstr(head, "\r\n\r\n"))
			break;
	}
	const char *at = strcasestr(head, "Sec-WebSocket-Key: ");
	if (len == 0 || !at || sscanf(at + 19, "%127[^\r]", key) != 1)
		return;
	(void)snprintf(joined, sizeof(joined), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	(void)lws_SHA1((const unsigned char *)joined, strlen(joined), (unsigned char *)digest);
	(void)lws_b64_encode_string(digest, 20, accepted, sizeof(accepted));
	(void)snprintf(text, sizeof(text),
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Accept: %s\r\n\r\n",
		accepted);
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *
serve_raw(void *arg)
{
	struct raw_server *server = arg;
	int held = -1;
	struct pollfd fds[2] = {{.fd = server->listener, .events = POLLIN}, {.fd = server->stop[0], .events = POLLIN}};
	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		int fd = accept(server->listener, NULL, NULL);
		if (held >= 0)
			(void)close(held);
		held = fd;
		if (fd < 0)
			continue;
		if (server->upgrade)
			upgrade_connection(fd);
		(void)send(fd, server->bytes, server->size, MSG_NOSIGNAL);
		if (server->size)
			(void)shutdown(fd, SHUT_WR);
		__atomic_add_fetch(&server->connections, 1, __ATOMIC_RELEASE);
	}
	if (held >= 0)
		(void)close(held);
	return NULL;
}

struct raw_server *
raw_server_start(bool upgrade, const void *bytes, size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	struct raw_server *server = xcalloc(1, sizeof(*server) + size);
	(void)memcpy(server->bytes, bytes, size);
	server->size = size;
	server->upgrade = upgrade;
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->listener < 0 || pipe(server->stop) != 0 ||
		bind(server->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		listen(server->listener, 16) != 0 || getsockname(server->listener, (struct sockaddr *)&address, &len) != 0)
		abort();
	server->port = ntohs(address.sin_port);
	if (pthread_create(&server->thread, NULL, serve_raw, server) != 0)
		abort();
	return server;
}

int
raw_server_port(const struct raw_server *server)
{
	return server->port;
}

unsigned
raw_server_connections(struct raw_server *server)
{
	return __atomic_load_n(&server->connections, __ATOMIC_ACQUIRE);
}

void
raw_server_stop(struct raw_server *server)
{
	(void)!write(server->stop[1], "", 1);
	(void)pthread_join(server->thread, NULL);
	(void)close(server->listener);
	(void)close(server->stop[0]);
	(void)close(server->stop[1]);
	free(server);
}
