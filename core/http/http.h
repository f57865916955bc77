/* SPDX-License-Identifier: MIT */
/* Outgoing HTTP for plugins: http and http_cancel of kettle/host.h. Used by the core's host and the fake one. */
#pragma once

#include "loop/loop_services.h"

#include <kettle/host.h>

#define HTTP_OPEN_MAX 64       /* requests of one owner that are under way */
#define HTTP_WAITING_MAX 10000 /* ... and requests that wait for their turn */
#define HTTP_BODY_MAX (8u << 20)
#define HTTP_URL_MAX 8000
#define HTTP_REQUEST_HEADERS_MAX 100          /* headers of a request */
#define HTTP_REQUEST_HEADER_BYTES (64u << 10) /* ... and their bytes */
#define HTTP_HEADERS_MAX 256 /* headers of an answer, those of redirects and interim answers included */
#define HTTP_HEADER_BYTES (64u << 10)
#define HTTP_MEMORY_MAX (16u << 20)       /* bytes of a body in memory, unless the request has a limit */
#define HTTP_FILE_MAX (UINT64_C(1) << 30) /* ... and in a file */
#define HTTP_OTHER_MAX (1u << 20)         /* ... and in memory beside an answer_file or parts */
#define HTTP_PARTS_MAX (256u << 10)       /* of parts that the loop has not taken; then the server must wait */
#define HTTP_CONNECT_MS 10000
#define HTTP_TOTAL_MS 60000
#define HTTP_TOTAL_MAX_MS 86400000
#define HTTP_RETRY_MS 500 /* the longest wait before the first further attempt; it doubles with each */
#define HTTP_RETRY_MAX_MS 30000
#define HTTP_CONNECTIONS_KEPT 64

/* One per process: all plugins share its thread and its open connections. All functions run on the loop's thread. */
struct http;

/* The settings of the configuration; strings are borrowed until http_close. */
struct http_settings {
	const char *proxy;   /* its URL, or NULL: none. The environment is ignored */
	const char *ca_file; /* PEM file of the certificates that are trusted instead of the system's, or NULL */
};

/* Costs nothing until the first request, which loads libcurl and starts the thread. */
struct http *http_new(struct loop_services *io, const struct http_settings *settings);
/* See kettle_host. owner: the owner of the request, any pointer. */
int http_send(struct http *http, const void *owner, const struct kettle_http_request *request, uint64_t *ret_id,
	struct kettle_error *err);
void http_cancel(struct http *http, const void *owner, uint64_t id);
/* Ends all requests of an owner. */
void http_cancel_all(struct http *http, const void *owner);
/* The number of requests whose done is still to come. */
size_t http_left(const struct http *http);
/*
 * Ends all requests without a callback and joins the thread, which does not wait for servers. Call it before
 * loop_close, which frees the requests still on their way to the loop. NULL is allowed.
 */
void http_close(struct http *http);
