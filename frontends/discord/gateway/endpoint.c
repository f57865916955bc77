/* SPDX-License-Identifier: MIT */
/*
 * The endpoint for interactions.
 *
 * Theory of operation. On the thread of the HTTP server (http/server.h) this checks the signatures of requests and parses
 * them; the loop gets interactions by host->post.
 */
#include <config.h>

#include "discord/gateway/endpoint.h"

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/number.h"
#include "discord/gateway/signature.h"
#include "http/server.h"

#define PING 1
#define MS_PER_S 1000

enum status {
	OK = 200,
	ACCEPTED = 202,
	BAD_REQUEST = 400,
	UNAUTHORIZED = 401,
	NOT_FOUND = 404,
	METHOD_NOT_ALLOWED = 405,
	LENGTH_REQUIRED = 411,
	SERVICE_UNAVAILABLE = 503
};

struct endpoint {
	const struct kettle_host *host;
	void (*interaction)(void *arg, json_t *data_take);
	void *arg;
	struct http_server *server;
	/* The loop's. */
	bool stopping;
	kettle_fn done;
	void *done_arg;
	/* Shared, atomic. */
	unsigned waiting;
	/* The server's thread's. */
	int64_t max_age_s;
	struct signature_key *key;
	int64_t *remembered; /* a ring */
	size_t remembered_count;
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
	struct message *message = xnew(struct message, .endpoint = e, .data = json_incref((json_t *)data));
	(void)__atomic_add_fetch(&e->waiting, 1, __ATOMIC_ACQ_REL);
	if (e->host->post(e->host, take_message, message) < 0) {
		json_decref(message->data);
		free(message);
	}
}

/* ---- requests ---- */

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
static enum status
handle(struct endpoint *e, const struct http_request *request, const char **ret_body)
{
	long long id = 0;
	size_t size;
	const char *body = http_body(request, &size);
	if (size == 0)
		return http_header_value(request, "Content-Length") ? BAD_REQUEST : LENGTH_REQUIRED;
	if (signature_check(e->key, http_header_value(request, "X-Signature-Ed25519"),
			http_header_value(request, "X-Signature-Timestamp"), body, size, e->host->utc_ms(e->host) / MS_PER_S,
			e->max_age_s) < 0)
		return UNAUTHORIZED;
	AUTO_JSON json_t *data = bounded_json_parse(body, size, BOUNDED_JSON_VALUES, 0, NULL);
	if (!data || !json_is_integer(json_object_get(data, "type")))
		return BAD_REQUEST;
	if (member_int(data, "type") == PING) {
		*ret_body = "{\"type\":1}";
		return OK;
	}
	if (!number_parse_integer(json_text_or_null(data, "id"), &id) || id < 1)
		return BAD_REQUEST;
	if (__atomic_load_n(&e->waiting, __ATOMIC_ACQUIRE) >= ENDPOINT_WAITING_MAX)
		return SERVICE_UNAVAILABLE;
	if (is_new(e, id))
		hand_over(e, data);
	return ACCEPTED;
}

static void
answer(struct http_request *request, enum status status, const char *body)
{
	static const struct http_header allowed[] = {{"Allow", "POST"}, {NULL, NULL}};
	http_answer(request, status,
		http_content_new(body ? "application/json" : NULL, body, body ? strlen(body) : 0,
			status == METHOD_NOT_ALLOWED ? allowed : NULL));
}

static size_t
on_head(void *arg, struct http_request *request)
{
	(void)arg;
	if (http_segment(request, 0))
		answer(request, NOT_FOUND, NULL);
	else if (http_method(request) != HTTP_POST)
		answer(request, METHOD_NOT_ALLOWED, NULL);
	else if (!http_header_value(request, "X-Signature-Ed25519") || !http_header_value(request, "X-Signature-Timestamp"))
		answer(request, UNAUTHORIZED, NULL);
	return ENDPOINT_BODY_MAX;
}

static void
on_request(void *arg, struct http_request *request)
{
	const char *body = NULL;
	enum status status = handle(arg, request, &body);
	answer(request, status, body);
}

static const struct http_events events = {.head = on_head, .request = on_request};

/* ---- the loop's side ---- */

static void
free_endpoint(struct endpoint *e)
{
	signature_key_free(e->key);
	free_all(e->remembered, e);
}

static void
on_stopped(void *arg)
{
	struct endpoint *e = arg;
	kettle_fn done = e->done;
	void *done_arg = e->done_arg;
	free_endpoint(e);
	if (done)
		done(done_arg);
}

int
endpoint_new(const struct kettle_host *host, const struct endpoint_rules *rules,
	void (*interaction)(void *arg, json_t *data_take), void *arg, struct endpoint **ret_endpoint,
	struct kettle_error *err)
{
	const struct http_rules server_rules = {.title = "The endpoint for interactions",
		.listen = rules->listen,
		.certificate = rules->certificate,
		.private_key = rules->private_key,
		.connections = ENDPOINT_CONNECTIONS_MAX,
		.request_s = rules->request_s};
	struct signature_key *key = NULL;
	int rc = signature_key_new(rules->public_key, &key, err);
	if (rc < 0)
		return rc;
	struct endpoint *e = xnew(struct endpoint, .host = host, .interaction = interaction, .arg = arg,
		.max_age_s = rules->max_age_s ? rules->max_age_s : ENDPOINT_AGE_S, .key = key,
		.remembered = xcalloc(ENDPOINT_REMEMBERED_MAX, sizeof(*e->remembered)));
	rc = http_server_start(host, &server_rules, &events, e, &e->server, err);
	if (rc < 0) {
		free_endpoint(e);
		return rc;
	}
	*ret_endpoint = e;
	return 0;
}

int
endpoint_port(const struct endpoint *e)
{
	return http_server_port(e->server);
}

void
endpoint_stop(struct endpoint *e, kettle_fn done, void *arg)
{
	e->stopping = true;
	e->done = done;
	e->done_arg = arg;
	http_server_stop(e->server, on_stopped, e);
}
