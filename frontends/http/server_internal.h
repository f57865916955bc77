/* SPDX-License-Identifier: MIT */
/*
 * What the files of the server share.
 *
 * Threads. libmicrohttpd runs on the server's thread alone, without one of its own (its external epoll mode), so that no
 * function of it meets another one. Other threads leave what they want under the lock and wake the thread.
 */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <time.h>

#include "base/buf.h"
#include "http/address.h"
#include "http/head.h"
#include "http/server.h"
#include "http/tls.h"

#define NEVER UINT64_MAX
#define METHOD_MAX 16
/* Bytes of a connection for heads, and what the library makes of them: of a request's, and with that of its answer. */
#define HEAD_MEMORY 8192
#define CONNECTION_MEMORY (HEAD_MEMORY + 2048)

struct http_server {
	const struct kettle_host *host;
	const struct http_events *events;
	void *arg;
	char *title, *certificate, *private_key;
	char **origins; /* of pages that may read, NULL at the end; NULL: none */
	struct network *proxies;
	size_t proxies_count;
	unsigned connections_max, address_max, request_ms, drain_ms;
	int port, epoll_fd, wake_fd;
	unsigned refs; /* atomic: the server itself, requests and streams */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t called; /* a `closed` has returned */
	/* Protected by the lock. */
	struct http_request *answered; /* a list: to be sent */
	struct http_stream *busy;      /* a list: a piece or the end is to be sent */
	struct http_stream *streams;
	unsigned retries; /* said so far */
	struct tls_identity *identity;
	bool stopping, woken;
	/* The thread's. */
	struct MHD_Daemon *daemon;
	struct listener listener;
	struct http_connection *connections;
	unsigned connections_count; /* of those that are not ended */
	uint64_t due_ms;            /* no limit is reached before */
	size_t bodies;              /* bytes */
	bool draining;
	uint64_t drained_ms;       /* the end of draining */
	uint64_t checked_ms;       /* when the files of the certificate were looked at */
	struct timespec stamps[2]; /* of these files */
	kettle_fn done;
	void *done_arg;
};

/* server_connection.c: connections, and what other threads need to reach the thread */

/* A client's connection; all its members are the thread's. */
struct http_connection {
	struct http_server *server;
	struct MHD_Connection *mhd; /* NULL: it lingers */
	struct tls_identity *identity;
	struct address address;
	bool is_ip, suspended, lingers, left, ended;
	int fd;
	uint64_t due_ms; /* when it is ended; NEVER */
	struct http_request *request;
	struct http_stream *stream;           /* for which it waits */
	struct http_connection *next, **link; /* link: what points to it */
};

struct http_server *server_ref(struct http_server *server);
/* The last one frees it. [any] */
void server_unref(struct http_server *server);
/* Has the thread look at its lists; the lock is held. [any] */
void server_wake(struct http_server *server);
uint64_t server_now(const struct http_server *server);
/* Has the thread look at its limits at that time, or before. */
void server_due(struct http_server *server, uint64_t due_ms);
/* Whether the server takes a connection; libmicrohttpd calls it. */
enum MHD_Result http_connection_accept(void *server, const struct sockaddr *address, socklen_t size);
struct http_connection *http_connection_new(struct http_server *server, struct MHD_Connection *mhd);
/*
 * The library closes it. If it is to linger, or has something to read, what its client still sends is read for a while: a
 * socket that is closed with something unread is reset, and the client may lose the answer that refuses its request.
 */
void http_connection_free(struct http_connection *connection);
/* Drops what has come from one that lingers, and frees it at its end; all: in any case. */
void http_connection_discard(struct http_connection *connection, bool all);
struct http_connection *http_connection_of(struct MHD_Connection *mhd);
/* Ends it in ms, unless it is called again; NEVER: not. */
void http_connection_limit(struct http_connection *connection, uint64_t ms);
/* Ends it: libmicrohttpd notices. */
void http_connection_end(struct http_connection *connection);
/* Ends those that have taken too long, and has the thread look again in time. */
void http_connections_check(struct http_server *server, uint64_t now_ms);
/* Its client has left. Whether it is suspended; if not, the library will notice. */
bool http_connection_left(struct http_connection *connection);
/* Suspends it until http_connection_resume. */
void http_connection_suspend(struct http_connection *connection);
void http_connection_resume(struct http_connection *connection);

/* server_request.c */

struct http_content {
	unsigned refs; /* atomic */
	struct MHD_Response *response;
	uint64_t size;
	void *body; /* in memory, the response's; or NULL */
	bool reads; /* the library asks for its bytes while it sends */
};

/* Makes a content of a response, which may be NULL: it ends the process if there is no memory. */
struct http_content *content_of(
	struct MHD_Response *response_take, uint64_t size, const char *type, const struct http_header *headers);

struct http_request {
	struct http_server *server;
	struct http_connection *connection; /* changed under the lock; NULL: the server has ended */
	char *url, *query;                  /* as it was sent; query: "" or what follows `?`, in url */
	size_t url_size;
	size_t head_memory; /* bytes of the connection's memory that the head takes */
	struct path path;
	enum http_method method;
	char method_name[METHOD_MAX], address[ADDRESS_TEXT];
	bool secure, old; /* old: HTTP/1.0 */
	struct buf body;
	size_t expected, reserved; /* bytes of the body: by the head, and of server->bodies */
	void *context;
	uint64_t begun_ms;
	/* The thread's. */
	bool begun, passed, announced; /* head is complete; `head`, `request` has come */
	bool left, sent;               /* `gone` has been called; the answer is libmicrohttpd's */
	uint64_t bytes;                /* of a stream */
	/* Protected by the lock. */
	bool waiting, is_answered; /* waiting: the connection is suspended */
	unsigned status;
	struct http_content *content;
	struct http_request *next;
};

/* Callbacks of libmicrohttpd; request is *context there. */
void *request_begin(void *server, const char *url, struct MHD_Connection *mhd);
enum MHD_Result request_handle(void *server, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *data, size_t *size, void **context);
void request_complete(void *server, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode reason);
/* The end of a request's connection, if request_complete has not come. Thread. */
void request_drop(struct http_request *request);
/* Its client has left. Thread. */
void request_left(struct http_request *request);
/* Sends the answers that other threads gave. Thread. */
void requests_send(struct http_server *server);

/* server_cors.c: pages of other sites that may read */

/* Checks a list of origins, which ends with NULL; NULL is an empty one. EINVAL (member: cors_origins). [any] */
int cors_check(const char *const *origins, struct kettle_error *err);
/* Answers what a browser asks before such a page's request; false: the request is something else. Thread. */
bool cors_preflight(struct http_request *request);
/* Adds to an answer which page may read it. Thread. */
void cors_mark(struct http_request *request);

/* server_stream.c */

/* Sends the pieces that other threads gave. Thread. */
void streams_send(struct http_server *server);
/* Sends comment lines where nothing was sent for a while. Thread. */
void streams_keep_alive(struct http_server *server);
/* Ends all of them. Thread. */
void streams_end(struct http_server *server);
/* Its client has left. Thread. */
void stream_left(struct http_stream *stream);
