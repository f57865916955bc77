/* SPDX-License-Identifier: MIT */
/*
 * Requests: from their first line to the end of their answer.
 *
 * Theory of operation. libmicrohttpd calls request_begin with the URL, request_handle with the complete head, with each
 * piece of the body and with the end of it, and request_complete at the end of the answer. An answer to the head of a
 * request with a body is given at once, and the library closes the connection after it; all others wait for the last
 * call, after which the connection serves the next request. If the frontend has not answered then, the connection is
 * suspended; the answer resumes it, and the library makes the last call again.
 */
#include <config.h>

#include "http/server_internal.h"

#include <sys/socket.h>

#include "base/base.h"
#include "base/number.h"

/* ---- bodies of answers with their headers, which any number of requests may share ---- */

struct http_content *
content_of(struct MHD_Response *response_take, uint64_t size, const char *type, const struct http_header *headers)
{
	struct http_content *content = xcalloc(1, sizeof(*content));
	if (!response_take)
		xalloc_fail();
	*content = (struct http_content){.refs = 1, .response = response_take, .size = size};
	if (type)
		(void)MHD_add_response_header(response_take, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (; headers && headers->name; headers++)
		(void)MHD_add_response_header(response_take, headers->name, headers->value);
	return content;
}

struct http_content *
http_content_new(const char *type, const void *body, size_t size, const struct http_header *headers)
{
	void *copy = xmalloc(size + 1);
	(void)memcpy(copy, size ? body : "", size);
	struct http_content *content =
		content_of(MHD_create_response_from_buffer(size, copy, MHD_RESPMEM_MUST_FREE), size, type, headers);
	content->body = copy;
	return content;
}

struct http_content *
http_content_file(const char *type, int fd_take, uint64_t size, const struct http_header *headers)
{
	struct http_content *content = content_of(MHD_create_response_from_fd64(size, fd_take), size, type, headers);
	content->reads = true;
	return content;
}

struct http_content *
http_content_ref(struct http_content *content)
{
	(void)__atomic_add_fetch(&content->refs, 1, __ATOMIC_RELAXED);
	return content;
}

void
http_content_unref(struct http_content *content)
{
	if (!content || __atomic_sub_fetch(&content->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	MHD_destroy_response(content->response);
	free(content);
}

#define MS_PER_S 1000
#define RECORD_MEMORY 64         /* of the library for each header and cookie, aligned */
#define REFUSAL_MEMORY 1024      /* that the head of a refusal needs at most */
#define LIBRARY_LIMIT_S 1000000u /* any but that of other connections, and so long that it does not matter */

static const char *const method_names[] = {
	[HTTP_GET] = "GET",
	[HTTP_HEAD] = "HEAD",
	[HTTP_POST] = "POST",
	[HTTP_PUT] = "PUT",
	[HTTP_PATCH] = "PATCH",
	[HTTP_DELETE] = "DELETE",
	[HTTP_OPTIONS] = "OPTIONS",
};

static void
request_free(struct http_request *request)
{
	struct http_server *server = request->server;
	http_content_unref(request->content);
	path_free(&request->path);
	buf_free(&request->body);
	free_all(request->url, request);
	server_unref(server);
}

/* ---- the head ---- */

/* Whether the library is older than 1.0, from which on it does itself what is done for it here. */
static bool
library_is_old(void)
{
	return *MHD_get_version() == '0';
}

/*
 * Ends the query in the library's buffer before the library splits it: the server reads queries itself. The library would
 * keep a record of each parameter, and where their memory is spent, it goes on to wait for a head that it has dropped.
 */
static void
hide_query(const char *query)
{
	if (library_is_old())
		*(char *)(uintptr_t)query = '\0';
}

void *
request_begin(void *arg, const char *url, struct MHD_Connection *mhd)
{
	struct http_server *server = arg;
	struct http_request *request = xcalloc(1, sizeof(*request));
	struct http_connection *connection = http_connection_of(mhd);
	*request = (struct http_request){.server = server_ref(server),
		.connection = connection,
		.url = xstrdup(url ? url : ""),
		.begun_ms = server_now(server)};
	request->url_size = strlen(request->url);
	char *mark = strchr(request->url, '?');
	request->query = mark ? mark + 1 : request->url + request->url_size;
	if (mark) {
		*mark = '\0';
		hide_query(url + (request->query - request->url));
	}
	connection->request = request;
	http_connection_limit(connection, server->request_ms);
	return request;
}

struct framing {
	unsigned seen;     /* of `single`, each a bit */
	bool is_ambiguous; /* one of them came twice, or there is no such host */
	size_t encodings;
	size_t cookies; /* bytes of the first Cookie, which the library copies */
	const char *length;
	struct buf forwarded;
	bool https;
};

/* Headers of one value: of two, a proxy and this server might each take another one. */
static const char *const single[] = {MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_CONTENT_TYPE, MHD_HTTP_HEADER_HOST,
	MHD_HTTP_HEADER_AUTHORIZATION, MHD_HTTP_HEADER_ORIGIN, "Idempotency-Key", "Last-Event-ID", "X-Popcorn-Cli-Id",
	"X-Web-Auth-Id"};

static void
count_single(struct framing *framing, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (strcasecmp(name, single[i]) == 0) {
			framing->is_ambiguous = framing->is_ambiguous || (framing->seen & 1u << i);
			framing->seen |= 1u << i;
		}
}

static enum MHD_Result
take_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct framing *framing = arg;
	(void)kind;
	value = value ? value : "";
	count_single(framing, name);
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		framing->length = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		framing->is_ambiguous = framing->is_ambiguous || !head_is_host(value);
	} else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		framing->encodings++;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_COOKIE) == 0) {
		framing->cookies += framing->cookies ? 0 : strlen(value) + 1;
	} else if (strcasecmp(name, "X-Forwarded-For") == 0) {
		buf_printf(&framing->forwarded, "%s%s", framing->forwarded.len > 0 ? "," : "", value);
	} else if (strcasecmp(name, "X-Forwarded-Proto") == 0) {
		framing->https = strcasecmp(value, "https") == 0;
	}
	return MHD_YES;
}

/* The client's address: a trusted proxy may name it, and so may a process that can open the unix socket. */
static void
name_client(struct http_request *request, const struct framing *framing)
{
	const struct http_server *server = request->server;
	const struct http_connection *connection = request->connection;
	struct address address = connection->address;
	bool trusted = !connection->is_ip || network_has(server->proxies, server->proxies_count, &connection->address);
	if (trusted && framing->forwarded.len > 0)
		address_forwarded(framing->forwarded.data, server->proxies, server->proxies_count, &address);
	if (connection->is_ip || !address_equals(&address, &connection->address))
		address_text(&address, request->address);
	else
		(void)strcpy(request->address, "unix");
	request->secure = server->certificate || (trusted && framing->https);
}

static bool
is_strict(const struct http_request *request, const char *url, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(request->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t method_size = strlen(method);
	if (!head_is_token(method, method_size))
		return false;
	if (!library_is_old())
		return true;
	/* The pieces lie where they were received; what is between them would be a NUL or a second blank. */
	return size && url == method + method_size + 1 && version == url + request->url_size + 1 &&
		   head_is_strict(version, method + size->header_size);
}

/* The bytes of the connection's memory that a head takes. */
static size_t
head_memory(const struct http_request *request, const struct framing *framing)
{
	struct MHD_Connection *mhd = request->connection->mhd;
	const union MHD_ConnectionInfo *size = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	int records = MHD_get_connection_values(mhd, MHD_HEADER_KIND | MHD_COOKIE_KIND, NULL, NULL);
	return (size ? size->header_size : 0) + framing->cookies + (size_t)records * RECORD_MEMORY;
}

/* The status that refuses a head that is too large. */
static unsigned
refusal_of_size(const struct http_request *request)
{
	return request->url_size > HEAD_MEMORY / 2 ? MHD_HTTP_URI_TOO_LONG : MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
}

/* Reads the head; 0, or the status with which it is refused. */
static unsigned
read_head(struct http_request *request, const char *url, const char *method, const char *version)
{
	struct framing framing = {.seen = 0};
	long long length = 0;
	(void)MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, take_header, &framing);
	request->head_memory = head_memory(request, &framing);
	name_client(request, &framing);
	buf_free(&framing.forwarded);
	request->old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
	request->method = HTTP_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(method_names); i++)
		if (strcmp(method, method_names[i]) == 0)
			request->method = (enum http_method)i;
	(void)snprintf(request->method_name, sizeof(request->method_name), "%s", method);
	/* A length beside an encoding: a proxy may have taken the other one for the end of the body. */
	if (!is_strict(request, url, method, version) || framing.is_ambiguous ||
		(framing.length && framing.encodings > 0) || !path_split(request->url, &request->path))
		return MHD_HTTP_BAD_REQUEST;
	if (request->head_memory > HEAD_MEMORY)
		return refusal_of_size(request);
	if (framing.encodings > 0)
		return MHD_HTTP_LENGTH_REQUIRED;
	/* The library has checked its form, and answers 413 to more than 64 bits. */
	if (framing.length && (!number_parse_integer(framing.length, &length) || length < 0))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	request->expected = (size_t)length;
	return request->server->draining ? MHD_HTTP_SERVICE_UNAVAILABLE : 0;
}

/* ---- answering ---- */

/*
 * Gives the answer to the library. If there are no more bytes to read of one, it closes the connection and then forgets to
 * clean it up, but for connections with a limit of their own, all of which it looks at whenever it runs.
 */
static enum MHD_Result
send_answer(struct http_request *request)
{
	cors_mark(request);
	struct http_content *content = request->content;
	bool stream = content->size == MHD_SIZE_UNKNOWN;
	uint64_t ms = request->server->request_ms + (stream ? 0 : content->size / HTTP_SERVER_RATE * MS_PER_S);
	http_connection_limit(request->connection, stream ? NEVER : ms);
	request->sent = true;
	if (content->reads)
		(void)MHD_set_connection_option(request->connection->mhd, MHD_CONNECTION_OPTION_TIMEOUT, LIBRARY_LIMIT_S);
	return MHD_queue_response(request->connection->mhd, request->status, content->response);
}

/* The same before the body: the library closes the connection after it. */
static enum MHD_Result
send_early(struct http_request *request)
{
	request->connection->lingers = true;
	return send_answer(request);
}

static void
refuse(struct http_request *request, unsigned status)
{
	const struct http_server *server = request->server;
	if (server->events->refused)
		server->events->refused(server->arg, request, status);
	else
		http_answer(request, status, http_content_new(NULL, "", 0, NULL));
}

/*
 * Refuses a head beside which the connection's memory has no room for the head of an answer: past the library, which would
 * close the connection without one.
 */
static enum MHD_Result
refuse_directly(struct http_request *request)
{
	struct http_connection *connection = request->connection;
	request->status = refusal_of_size(request);
	AUTO_FREE char *answer = xasprintf("HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		request->status, MHD_get_reason_phrase_for(request->status));
	request->sent = true;
	connection->lingers = true;
	if (request->server->certificate)
		(void)gnutls_record_send(
			MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session, answer,
			strlen(answer));
	else
		(void)send(connection->fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	return MHD_NO;
}

/* Whether there is room for the body. Once half is taken, no client's address may have more than a quarter. */
static bool
has_room(const struct http_request *request)
{
	const struct http_server *server = request->server;
	size_t own = request->expected;
	if (own <= HTTP_SERVER_BODIES / 2 && server->bodies <= HTTP_SERVER_BODIES / 2 - own)
		return true;
	for (const struct http_connection *other = server->connections; other; other = other->next)
		if (other->request && strcmp(other->request->address, request->address) == 0)
			own += other->request->reserved;
	return request->expected <= HTTP_SERVER_BODIES - server->bodies && own <= HTTP_SERVER_BODIES / 4;
}

/* The head is complete. */
static enum MHD_Result
handle_head(struct http_request *request, const char *url, const char *method, const char *version)
{
	struct http_server *server = request->server;
	const struct http_events *events = server->events;
	request->begun = true;
	request->begun_ms = server_now(server);
	unsigned status = read_head(request, url, method, version);
	if (request->head_memory > CONNECTION_MEMORY - REFUSAL_MEMORY)
		return refuse_directly(request);
	if (status) {
		refuse(request, status);
		return send_early(request);
	}
	request->passed = true;
	size_t accepted = !cors_preflight(request) && events->head ? events->head(server->arg, request) : 0;
	if (!request->is_answered && request->expected > accepted)
		refuse(request, MHD_HTTP_CONTENT_TOO_LARGE);
	if (!request->is_answered && !has_room(request))
		refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE);
	if (request->is_answered)
		return request->expected > 0 ? send_early(request) : MHD_YES;
	request->reserved = request->expected;
	server->bodies += request->reserved;
	http_connection_limit(request->connection, server->request_ms + request->expected / HTTP_SERVER_RATE * MS_PER_S);
	return MHD_YES;
}

/* The request is complete, or its answer has come meanwhile. */
static enum MHD_Result
handle_end(struct http_request *request)
{
	struct http_server *server = request->server;
	if (!request->announced && !request->is_answered) {
		request->announced = true;
		http_connection_limit(request->connection, NEVER);
		server->events->request(server->arg, request);
	}
	(void)pthread_mutex_lock(&server->lock);
	request->waiting = !request->is_answered;
	if (request->waiting)
		http_connection_suspend(request->connection);
	(void)pthread_mutex_unlock(&server->lock);
	return request->waiting ? MHD_YES : send_answer(request);
}

enum MHD_Result
request_handle(void *arg, struct MHD_Connection *mhd, const char *url, const char *method, const char *version,
	const char *data, size_t *size, void **context)
{
	struct http_request *request = *context;
	(void)arg;
	(void)mhd;
	if (!request->begun)
		return handle_head(request, url, method, version);
	if (*size == 0)
		return handle_end(request);
	buf_add(&request->body, data, *size);
	*size = 0;
	return MHD_YES;
}

void
http_answer(struct http_request *request, unsigned status, struct http_content *content_take)
{
	struct http_server *server = request->server;
	(void)pthread_mutex_lock(&server->lock);
	bool ended = !request->connection;
	request->status = status;
	request->content = content_take;
	request->is_answered = true;
	if (request->waiting && !ended) {
		request->next = server->answered;
		server->answered = request;
		server_wake(server);
	}
	(void)pthread_mutex_unlock(&server->lock);
	if (ended)
		request_free(request);
}

void
requests_send(struct http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	struct http_request *request = server->answered;
	server->answered = NULL;
	(void)pthread_mutex_unlock(&server->lock);
	for (struct http_request *next; request; request = next) {
		next = request->next;
		http_connection_resume(request->connection);
	}
}

/* ---- ends ---- */

static void
record(const struct http_request *request, unsigned status, bool complete)
{
	const struct http_server *server = request->server;
	const struct http_content *content = request->content;
	bool whole = complete && content && content->size != MHD_SIZE_UNKNOWN && request->method != HTTP_HEAD &&
				 status != MHD_HTTP_NOT_MODIFIED;
	const struct http_record answer = {.address = request->address,
		.method = request->method_name,
		.path = request->path.text ? request->url : "",
		.status = status,
		.bytes = whole ? content->size : request->bytes,
		.taken_ms = server_now(server) - request->begun_ms};
	if (server->events->answered)
		server->events->answered(server->arg, &answer);
}

void
request_left(struct http_request *request)
{
	struct http_server *server = request->server;
	(void)pthread_mutex_lock(&server->lock);
	bool tells = request->passed && !request->left && !request->is_answered;
	(void)pthread_mutex_unlock(&server->lock);
	request->left = true;
	if (tells && server->events->gone)
		server->events->gone(server->arg, request);
}

void
request_drop(struct http_request *request)
{
	struct http_server *server = request->server;
	request->connection->request = NULL;
	server->bodies -= request->reserved;
	if (!request->sent)
		request_left(request);
	(void)pthread_mutex_lock(&server->lock);
	/* A request that the frontend has not answered belongs to the frontend until then. */
	bool kept = request->announced && !request->is_answered;
	request->connection = NULL;
	(void)pthread_mutex_unlock(&server->lock);
	if (!kept)
		request_free(request);
}

void
request_complete(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode reason)
{
	struct http_request *request = *context;
	const struct http_server *server = arg;
	if (!request)
		return;
	*context = NULL;
	struct http_connection *connection = request->connection;
	/* The library answers by itself what it cannot read, and may not have read it to the end. */
	const union MHD_ConnectionInfo *status = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
	connection->lingers = connection->lingers || !request->begun;
	if (request->sent || (status && !request->announced))
		record(request, request->sent ? request->status : status->http_status,
			reason == MHD_REQUEST_TERMINATED_COMPLETED_OK);
	/* See send_answer: it has to run once more. */
	(void)pthread_mutex_lock(&request->server->lock);
	if (request->content && request->content->reads)
		server_wake(request->server);
	(void)pthread_mutex_unlock(&request->server->lock);
	request_drop(request);
	http_connection_limit(connection, server->request_ms);
	if (server->draining)
		http_connection_end(connection);
}

/* ---- what a request says ---- */

enum http_method
http_method(const struct http_request *request)
{
	return request->method;
}

bool
http_reads(const struct http_request *request)
{
	return request->method == HTTP_GET || request->method == HTTP_HEAD;
}

const char *
http_segment(const struct http_request *request, size_t index)
{
	return path_segment(&request->path, index);
}

const char *
http_path(const struct http_request *request)
{
	return request->url;
}

const char *
http_query(const struct http_request *request)
{
	return request->query;
}

const char *
http_header_value(const struct http_request *request, const char *name)
{
	struct http_server *server = request->server;
	const char *value = NULL;
	(void)pthread_mutex_lock(&server->lock);
	if (request->connection)
		value = MHD_lookup_connection_value(request->connection->mhd, MHD_HEADER_KIND, name);
	(void)pthread_mutex_unlock(&server->lock);
	return value;
}

struct cookie {
	const char *name, *value;
};

static enum MHD_Result
take_cookie(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct cookie *cookie = arg;
	(void)kind;
	if (strcmp(name, cookie->name) != 0)
		return MHD_YES;
	cookie->value = value;
	return MHD_NO;
}

/* The library's own look-up ignores case, while not all browsers do so where a prefix of the name says who may set it. */
const char *
http_cookie_value(const struct http_request *request, const char *name)
{
	struct http_server *server = request->server;
	struct cookie cookie = {name, NULL};
	(void)pthread_mutex_lock(&server->lock);
	if (request->connection)
		(void)MHD_get_connection_values(request->connection->mhd, MHD_COOKIE_KIND, take_cookie, &cookie);
	(void)pthread_mutex_unlock(&server->lock);
	return cookie.value;
}

const char *
http_body(const struct http_request *request, size_t *ret_size)
{
	*ret_size = request->body.len;
	return request->body.data ? request->body.data : "";
}

const char *
http_address(const struct http_request *request)
{
	return request->address;
}

bool
http_is_secure(const struct http_request *request)
{
	return request->secure;
}

void
http_set_context(struct http_request *request, void *context)
{
	request->context = context;
}

void *
http_context(const struct http_request *request)
{
	return request->context;
}
