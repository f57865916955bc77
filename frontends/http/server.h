/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 server for frontends, by libmicrohttpd.
 *
 * Theory of operation. The server has one thread, which reads requests and sends answers. A request comes by an event
 * on that thread, and is answered from any thread, at once or later; meanwhile its connection is suspended. What an
 * answer consists of is immutable and counted, so that one body or one piece of a stream serves any number of clients.
 *
 * What it refuses itself: heads that take more than 8 KiB of memory (431, 414 where the URL takes most of it), where a
 * header and a cookie take 64 bytes beside their text, and the text of cookies counts twice (the library closes the
 * connection without an answer where they take more than 10 KiB); heads and paths that are malformed or ambiguous (400);
 * bodies without Content-Length (411), also chunked ones; bodies over what `head` accepts (413), over
 * HTTP_SERVER_BODIES together, or over a quarter of that from one address where half is taken (503); requests while it
 * stops (503). HTTP/1.0 is served too, as proxies speak it.
 */
#pragma once

#include <kettle/error.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_SERVER_CONNECTIONS 1000    /* default of connections */
#define HTTP_SERVER_REQUEST_S 10        /* default of request_s */
#define HTTP_SERVER_DRAIN_S 20          /* default of drain_s */
#define HTTP_SERVER_RATE (16u << 10)    /* bytes in a second; each such part of a body prolongs request_s by a second */
#define HTTP_SERVER_BODIES (256u << 20) /* bytes of all bodies that wait or are read */
#define HTTP_STREAM_BEHIND (256u << 10) /* bytes that a reader of a stream may be behind */
#define HTTP_STREAM_SILENT_MS 15000     /* without a piece; then a comment line is sent */

struct http_server;
struct http_request; /* the server's; valid from its first event until it is answered */
struct http_content; /* body and headers of an answer; immutable, counted */
struct http_chunk;   /* a piece of a stream; immutable, counted */
struct http_stream;  /* an answer that goes on */

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER };

/* One header; a list of them ends with a NULL name. */
struct http_header {
	const char *name, *value;
};

/* A server's addresses and limits. 0 or NULL gives the default. */
struct http_rules {
	const char *title;                  /* of the server in errors and the log: "The endpoint for interactions" */
	const char *listen;                 /* ADDRESS:PORT, [ADDRESS]:PORT (port 0: the system chooses one) or unix:PATH */
	unsigned socket_mode;               /* of a unix socket; default 0600 */
	const char *certificate;            /* PEM file with certificate and chain; NULL: no TLS */
	const char *private_key;            /* PEM file; NULL: it is in `certificate` */
	const char *const *trusted_proxies; /* addresses and networks (10.0.0.0/8) whose X-Forwarded-For and -Proto count */
	const char *const *cors_origins;    /* of pages that may read answers, such as https://site.example; NULL: none */
	unsigned connections;               /* at once; further ones are closed */
	unsigned address_connections;       /* at once from one address; default: as many as connections */
	unsigned request_s;                 /* for a client to send a request, or to take an answer that is no stream */
	unsigned drain_s;                   /* for answers under way after http_server_stop */
};

/* An answered request, for the access log. Borrowed. */
struct http_record {
	const char *address, *method, *path; /* without its query; "" where the head is malformed */
	unsigned status;
	uint64_t bytes;    /* of the body that was sent; 0 if the client left before the end of one that is no stream */
	uint64_t taken_ms; /* from the complete head to the last byte */
};

/* Events, on the server's thread but for `ended`. Those that are NULL are left out. */
struct http_events {
	/*
	 * The head is complete. Returns how many bytes of body are accepted (a longer one gets 413 and is not read). May
	 * answer the request at once: then the body is not read and `request` does not come.
	 */
	size_t (*head)(void *arg, struct http_request *request);
	/*
	 * The server refuses a request, of which only path and headers can be read, and only where they are well-formed. Must
	 * answer it at once with this status. NULL: the answer is empty. The library answers by itself what it cannot read.
	 */
	void (*refused)(void *arg, struct http_request *request, unsigned status);
	/* The request is complete. It must be answered exactly once, now or later, by http_answer or http_stream_open. */
	void (*request)(void *arg, struct http_request *request);
	/*
	 * The client of a request that is not answered yet has left, or has closed its sending side. If `request` has come,
	 * the request must still be answered; if not, its body broke off, and it is not valid any more when this returns.
	 */
	void (*gone)(void *arg, struct http_request *request);
	/* An answer has been sent, or its client has left. */
	void (*answered)(void *arg, const struct http_record *record);
};

/* Checks `listen`, trusted_proxies and cors_origins. [any] EINVAL (member: the rule). */
int http_rules_check(const struct http_rules *rules, struct kettle_error *err);
/*
 * Starts a server, and logs its address. Copies the rules; borrows events for its life. Checks the rules, the
 * certificate and that the address is free. Loop thread. EINVAL, EUNAVAIL (member: the rule).
 */
int http_server_start(const struct kettle_host *host, const struct http_rules *rules, const struct http_events *events,
	void *arg, struct http_server **ret_server, struct kettle_error *err);
/* The port; 0 for a unix socket. [any] */
int http_server_port(const struct http_server *server);
/*
 * Takes the certificate anew from its file, for later connections. The server does so itself when a client connects and
 * the file has changed. Loop thread. EUNAVAIL: the old one stays.
 */
int http_server_reload(struct http_server *server, struct kettle_error *err);
/*
 * Ends a server: accepts no connection and no request any more, ends streams (those of events with `retry:`, so that not
 * all clients come back at once), and waits up to drain_s for answers under way. Then calls done(arg) on the loop thread,
 * after which no event comes. What was not answered or ended then must still be, and goes nowhere. Loop thread.
 */
void http_server_stop(struct http_server *server, kettle_fn done, void *arg);

/* ---- requests: what they say is borrowed until they are answered. [any] ---- */

enum http_method http_method(const struct http_request *request);
/* Whether it is GET or HEAD. */
bool http_reads(const struct http_request *request);
/*
 * The path without its query, split at `/` and then decoded, without empty segments: "//api/v1/a%2Fb" has "api", "v1",
 * "a/b". Segments are valid UTF-8 without control characters, and none is "." or "..": other paths get 400. NULL: there
 * are no more.
 */
const char *http_segment(const struct http_request *request, size_t index);
/* The path as it was sent, without its query. */
const char *http_path(const struct http_request *request);
/* The query after the first `?`, as it was sent; "": none. form.h reads it. */
const char *http_query(const struct http_request *request);
/* The value of the first header of that name, in any case; NULL: there is none. */
const char *http_header_value(const struct http_request *request, const char *name);
/* The value of the first cookie of that name, whose case counts; NULL: there is none. */
const char *http_cookie_value(const struct http_request *request, const char *name);
/* The body, with a NUL behind it. */
const char *http_body(const struct http_request *request, size_t *ret_size);
/* The client's address, as a trusted proxy says it or else as it is; "unix" for a unix socket without one. */
const char *http_address(const struct http_request *request);
/* Whether the client uses TLS, here or at a trusted proxy. */
bool http_is_secure(const struct http_request *request);
/* A pointer of the frontend's; NULL at first. */
void http_set_context(struct http_request *request, void *context);
void *http_context(const struct http_request *request);

/* ---- answers [any] ---- */

/*
 * A body with its type (NULL: none) and further headers (NULL: none), all copied; a header with a line break, and
 * Content-Length, are left out. The caller has one reference.
 */
struct http_content *http_content_new(
	const char *type, const void *body, size_t size, const struct http_header *headers);
/* The same from a regular file, which is closed with the content. */
struct http_content *http_content_file(const char *type, int fd_take, uint64_t size, const struct http_header *headers);
struct http_content *http_content_ref(struct http_content *content);
void http_content_unref(struct http_content *content); /* NULL is allowed */
/* Answers a request, which is not valid any more. A HEAD and a 304 get the headers alone. */
void http_answer(struct http_request *request, unsigned status, struct http_content *content_take);

/* A piece of text, copied. The caller has one reference. */
struct http_chunk *http_chunk_new(const void *text, size_t size);
void http_chunk_unref(struct http_chunk *chunk); /* NULL is allowed */
/*
 * Answers a request with 200 and a body whose pieces come later; the request is not valid any more. `type` and headers
 * are copied. After HTTP_STREAM_SILENT_MS without a piece text/event-stream gets a comment line (":"). closed(arg), which
 * may be NULL, is called once on the server's thread when nothing can be sent any more: the client has left, it was more
 * than HTTP_STREAM_BEHIND bytes behind, or the server stops. The stream is the caller's until http_stream_end.
 */
struct http_stream *http_stream_open(struct http_request *request, const char *type, const struct http_header *headers,
	void (*closed)(void *arg), void *arg);
/* Sends a piece, of which the stream takes a reference of its own. false: nothing can be sent any more. */
bool http_stream_send(struct http_stream *stream, struct http_chunk *chunk);
/*
 * Sends the last piece, of any size; only http_stream_end follows. Its client has as long to take what is left as for an
 * answer of that size.
 */
bool http_stream_send_last(struct http_stream *stream, struct http_chunk *chunk);
/* Ends a stream when what was sent has gone out, and gives it back; closed is not called after this returns. */
void http_stream_end(struct http_stream *stream);
