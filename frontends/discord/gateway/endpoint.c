/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server for interactions.
 *
 * Theory of operation. The thread of a service (service.h) reads requests, checks their signatures and parses them;
 * the loop gets interactions by host->post. Each connection serves one request and is closed after its answer, and a
 * timer ends it if that takes too long. A proxy or Discord itself then opens another one.
 */
#include <config.h>

#include "discord/gateway/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "discord/gateway/service.h"
#include "discord/gateway/signature.h"

#define HEADER_MAX 200 /* bytes of a header that is read */
#define ADDRESS_MAX 64
#define PING 1
#define MS_PER_S 1000

struct endpoint {
	const struct kettle_host *host;
	void (*interaction)(void *arg, json_t *data_take);
	void *arg;
	struct service *service;
	/* The loop's. */
	bool stopping;
	kettle_fn done;
	void *done_arg;
	/* Shared, atomic. */
	int port;
	unsigned waiting;
	/* The thread's. */
	char *listen, address[ADDRESS_MAX], *certificate, *private_key;
	int listen_port;
	int64_t max_age_s;
	unsigned request_s;
	struct signature_key *key;
	unsigned connections;
	int64_t *remembered; /* a ring */
	size_t remembered_count;
};

/* One request's; the library zeroes and frees it. */
struct request {
	bool begun;
	size_t expected;
	struct buf body;
	char signature[HEADER_MAX], timestamp[HEADER_MAX];
};

struct message {
	struct endpoint *endpoint;
	json_t *data;
};

/* ---- to the loop ---- */

static void
take_message(void *arg)
{
	struct message *message = arg;
	struct endpoint *e = message->endpoint;
	(void)__atomic_sub_fetch(&e->waiting, 1, __ATOMIC_ACQ_REL);
	if (e->stopping)
		json_decref(message->data);
	else
		e->interaction(e->arg, message->data);
	free(message);
}

static void
hand_over(struct endpoint *e, const json_t *data)
{
	struct message *message = xmalloc(sizeof(*message));
	*message = (struct message){.endpoint = e, .data = json_incref((json_t *)data)};
	(void)__atomic_add_fetch(&e->waiting, 1, __ATOMIC_ACQ_REL);
	if (e->host->post(e->host, take_message, message) < 0) {
		json_decref(message->data);
		free(message);
	}
}

/* ---- reading a request ---- */

static bool
is_new(struct endpoint *e, int64_t id)
{
	size_t known = e->remembered_count < ENDPOINT_REMEMBERED_MAX ? e->remembered_count : ENDPOINT_REMEMBERED_MAX;
	for (size_t i = 0; i < known; i++)
		if (e->remembered[i] == id)
			return false;
	e->remembered[e->remembered_count++ % ENDPOINT_REMEMBERED_MAX] = id;
	return true;
}

/* Returns the status of the answer; *ret_body is set if it has one. */
static unsigned
handle(struct endpoint *e, const struct request *request, const char **ret_body)
{
	long long id = 0;
	const char *body = request->body.data ? request->body.data : "";
	if (signature_check(e->key, request->signature, request->timestamp, body, request->body.len,
			time_now_ms() / MS_PER_S, e->max_age_s) < 0)
		return HTTP_STATUS_UNAUTHORIZED;
	AUTO_JSON json_t *data = bounded_json_parse(body, request->body.len, BOUNDED_JSON_VALUES, 0, NULL);
	if (!data || !json_is_integer(json_object_get(data, "type")))
		return HTTP_STATUS_BAD_REQUEST;
	if (member_int(data, "type") == PING) {
		*ret_body = "{\"type\":1}";
		return HTTP_STATUS_OK;
	}
	if (!number_parse_integer(json_text_or_null(data, "id"), &id) || id < 1)
		return HTTP_STATUS_BAD_REQUEST;
	if (__atomic_load_n(&e->waiting, __ATOMIC_ACQUIRE) >= ENDPOINT_WAITING_MAX)
		return HTTP_STATUS_SERVICE_UNAVAILABLE;
	if (is_new(e, id))
		hand_over(e, data);
	return 202;
}

/* ---- HTTP ---- */

/* Writes an answer; -1: the connection is closed after it. */
static int
respond(struct lws *wsi, unsigned status, const char *body)
{
	unsigned char buffer[LWS_PRE + 1024], *start = buffer + LWS_PRE, *at = start, *end = buffer + sizeof(buffer) - 1;
	size_t size = body ? strlen(body) : 0;
	static const unsigned char json[] = "application/json", closes[] = "close", allowed[] = "POST";
	if (lws_add_http_header_status(wsi, status, &at, end) || lws_add_http_header_content_length(wsi, size, &at, end) ||
		lws_add_http_header_by_token(wsi, WSI_TOKEN_CONNECTION, closes, sizeof(closes) - 1, &at, end) ||
		(status == HTTP_STATUS_METHOD_NOT_ALLOWED &&
			lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_ALLOW, allowed, sizeof(allowed) - 1, &at, end)) ||
		(body && lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, json, sizeof(json) - 1, &at, end)) ||
		lws_finalize_http_header(wsi, &at, end) || size > (size_t)(end - at))
		return -1;
	if (size)
		(void)memcpy(at, body, size);
	(void)lws_write(wsi, start, (size_t)(at - start) + size, LWS_WRITE_HTTP_HEADERS);
	return -1;
}

/* Reads a header; "" if it is absent or too long. */
static void
read_header(struct lws *wsi, const char *name, char ret_value[HEADER_MAX])
{
	if (lws_hdr_custom_copy(wsi, ret_value, HEADER_MAX, name, (int)strlen(name)) <= 0)
		ret_value[0] = '\0';
}

/* Handles the complete head of a request. */
static int
begin_request(struct lws *wsi, struct request *request, const char *path)
{
	char length[32] = "";
	long long size = 0;
	if (strcmp(path, "/") != 0)
		return respond(wsi, HTTP_STATUS_NOT_FOUND, NULL);
	if (lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) == 0)
		return respond(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, NULL);
	if (lws_hdr_copy(wsi, length, sizeof(length), WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
		return respond(wsi, HTTP_STATUS_LENGTH_REQUIRED, NULL);
	if (strspn(length, "0123456789") != strlen(length) || !number_parse_integer(length, &size) || size < 1)
		return respond(wsi, HTTP_STATUS_BAD_REQUEST, NULL);
	if (size > ENDPOINT_BODY_MAX)
		return respond(wsi, HTTP_STATUS_REQ_ENTITY_TOO_LARGE, NULL);
	read_header(wsi, "x-signature-ed25519:", request->signature);
	read_header(wsi, "x-signature-timestamp:", request->timestamp);
	if (!*request->signature || !*request->timestamp)
		return respond(wsi, HTTP_STATUS_UNAUTHORIZED, NULL);
	request->expected = (size_t)size;
	request->begun = true;
	return 0;
}

static int
end_request(struct endpoint *e, struct lws *wsi, const struct request *request)
{
	const char *body = NULL;
	if (!request->begun || request->body.len != request->expected)
		return respond(wsi, HTTP_STATUS_BAD_REQUEST, NULL);
	unsigned status = handle(e, request, &body);
	return respond(wsi, status, body);
}

/* Counts a connection, until its end, and limits the time for its request. */
static void
count_connection(struct endpoint *e, struct lws *wsi)
{
	e->connections++;
	lws_set_opaque_user_data(wsi, e);
	lws_set_timer_usecs(wsi, e->request_s * LWS_USEC_PER_SEC);
}

static int
on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
	struct endpoint *e = lws_context_user(lws_get_context(wsi));
	struct request *request = user;
	/* The library has dozens of reasons. */
	if (reason == LWS_CALLBACK_FILTER_NETWORK_CONNECTION) {
		return e->connections >= ENDPOINT_CONNECTIONS_MAX;
	} else if (reason == LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED) {
		count_connection(e, wsi);
	} else if (reason == LWS_CALLBACK_WSI_DESTROY && lws_get_opaque_user_data(wsi) == e) {
		e->connections--;
	} else if (reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE || reason == LWS_CALLBACK_TIMER) {
		return -1;
	} else if (reason == LWS_CALLBACK_HTTP) {
		return begin_request(wsi, request, in);
	} else if (reason == LWS_CALLBACK_HTTP_BODY) {
		if (!request->begun || len > request->expected - request->body.len)
			return -1;
		buf_add(&request->body, in, len);
	} else if (reason == LWS_CALLBACK_HTTP_BODY_COMPLETION) {
		return end_request(e, wsi, request);
	} else if (reason == LWS_CALLBACK_HTTP_DROP_PROTOCOL && request) {
		buf_free(&request->body);
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{.name = "kettle-discord-endpoint", .callback = on_http, .per_session_data_size = sizeof(struct request)}, {0}};

/* ---- the thread ---- */

/* Checks that the server can listen there: if not, the library leaks and does not say why. */
static int
check_address(const struct endpoint *e, struct kettle_error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
	struct addrinfo *found = NULL;
	int on = 1, fault = 0;
	if (getaddrinfo(e->address, "0", &hints, &found) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "`listen` does not name an address in numbers: %s", e->listen);
	if (found->ai_family == AF_INET)
		((struct sockaddr_in *)found->ai_addr)->sin_port = htons((uint16_t)e->listen_port);
	else
		((struct sockaddr_in6 *)found->ai_addr)->sin6_port = htons((uint16_t)e->listen_port);
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		bind(fd, found->ai_addr, found->ai_addrlen) != 0)
		fault = errno;
	if (fd >= 0)
		(void)close(fd);
	freeaddrinfo(found);
	return fault ? kettle_fail(err, KETTLE_EUNAVAIL, "The endpoint for interactions cannot listen on %s (listen): %s.",
					   e->listen, strerror(fault))
				 : 0;
}

/* Checks the files of TLS, for the same reason. */
static int
check_certificate(const struct endpoint *e, struct kettle_error *err)
{
	const char *key = e->private_key ? e->private_key : e->certificate;
	if (!e->certificate)
		return 0;
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
	bool certified = tls && SSL_CTX_use_certificate_chain_file(tls, e->certificate) == 1;
	bool good = certified && SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) == 1;
	SSL_CTX_free(tls);
	ERR_clear_error();
	return good ? 0
				: kettle_fail(err, KETTLE_EUNAVAIL,
					  "The endpoint for interactions cannot use %s (%s): it is not there, or not the PEM file that it "
					  "should be.",
					  certified ? key : e->certificate, certified ? "private_key" : "certificate");
}

static int
prepare(void *arg, struct lws_context_creation_info *info, struct kettle_error *err)
{
	struct endpoint *e = arg;
	bool all = strcmp(e->address, "0.0.0.0") == 0 || strcmp(e->address, "::") == 0;
	if (check_address(e, err) < 0 || check_certificate(e, err) < 0)
		return err->code;
	info->port = e->listen_port;
	info->iface = all ? NULL : e->address;
	info->protocols = protocols;
	info->user = e;
	info->options |= LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND;
	info->timeout_secs = e->request_s;
	info->alpn = "http/1.1";
	info->server_string = "kettle";
	info->ssl_cert_filepath = e->certificate;
	info->ssl_private_key_filepath = e->private_key ? e->private_key : e->certificate;
	return 0;
}

static void
begun(void *arg, struct lws_context *context, const struct kettle_error *err)
{
	struct endpoint *e = arg;
	struct lws_vhost *vhost = context ? lws_get_vhost_by_name(context, "default") : NULL;
	int port = vhost ? lws_get_vhost_listen_port(vhost) : 0;
	__atomic_store_n(&e->port, port, __ATOMIC_RELEASE);
	if (vhost)
		e->host->log(e->host, KETTLE_LOG_INFO, "Interactions are taken on %s, port %d.", e->address, port);
	else
		e->host->log(e->host, KETTLE_LOG_ERROR, "%s", err->message);
}

static void
ended(void *arg)
{
	struct endpoint *e = arg;
	kettle_fn done = e->done;
	void *done_arg = e->done_arg;
	signature_key_free(e->key);
	free(e->remembered);
	free(e->listen);
	free(e->certificate);
	free(e->private_key);
	free(e);
	if (done)
		done(done_arg);
}

static const struct service_events service_events = {.prepare = prepare, .begun = begun, .ended = ended};

static void
quit(void *arg)
{
	service_quit(((struct endpoint *)arg)->service);
}

/* ---- the loop's side ---- */

/* Splits ADDRESS:PORT; an address with colons is in brackets. */
static int
parse_listen(const char *text, char ret_address[ADDRESS_MAX], int *ret_port, struct kettle_error *err)
{
	const char *from = text + (*text == '['), *to = *text == '[' ? strchr(text, ']') : strrchr(text, ':');
	const char *colon = to && *to == ']' ? to + 1 : to;
	size_t len = to && to > from ? (size_t)(to - from) : 0;
	long long port = 0;
	if (len == 0 || len >= ADDRESS_MAX || *colon != ':' || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
		!number_parse_integer(colon + 1, &port) || port > 65535 || (*text != '[' && memchr(from, ':', len)))
		return kettle_fail(
			err, KETTLE_EINVAL, "`listen` is not ADDRESS:PORT, such as 127.0.0.1:8480 or [::1]:8480: %.100s", text);
	(void)memcpy(ret_address, from, len);
	ret_address[len] = '\0';
	*ret_port = (int)port;
	return 0;
}

int
endpoint_new(const struct kettle_host *host, const struct endpoint_rules *rules,
	void (*interaction)(void *arg, json_t *data_take), void *arg, struct endpoint **ret_endpoint,
	struct kettle_error *err)
{
	struct signature_key *key = NULL;
	char address[ADDRESS_MAX] = "";
	int port = 0, rc = parse_listen(rules->listen, address, &port, err);
	if (rc < 0 || (rc = signature_key_new(rules->public_key, &key, err)) < 0)
		return rc;
	struct endpoint *e = xcalloc(1, sizeof(*e));
	*e = (struct endpoint){.host = host,
		.interaction = interaction,
		.arg = arg,
		.listen = xstrdup(rules->listen),
		.listen_port = port,
		.certificate = rules->certificate ? xstrdup(rules->certificate) : NULL,
		.private_key = rules->private_key ? xstrdup(rules->private_key) : NULL,
		.max_age_s = rules->max_age_s ? rules->max_age_s : ENDPOINT_AGE_S,
		.request_s = rules->request_s ? rules->request_s : ENDPOINT_REQUEST_S,
		.key = key,
		.remembered = xcalloc(ENDPOINT_REMEMBERED_MAX, sizeof(*e->remembered))};
	(void)snprintf(e->address, sizeof(e->address), "%s", address);
	rc = service_start(host, &service_events, e, &e->service, err);
	if (rc < 0) {
		ended(e);
		return rc;
	}
	*ret_endpoint = e;
	return 0;
}

int
endpoint_port(const struct endpoint *e)
{
	return __atomic_load_n(&e->port, __ATOMIC_ACQUIRE);
}

void
endpoint_stop(struct endpoint *e, kettle_fn done, void *arg)
{
	e->stopping = true;
	e->done = done;
	e->done_arg = arg;
	service_send(e->service, quit, e);
}
