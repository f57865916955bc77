/* SPDX-License-Identifier: MIT */
/* Shared by the files of core/http. */
#pragma once

#include "http/http.h"

#include <stdbool.h>

#include "base/buf.h"

/* The result of a request; built by the thread, read by the loop. */
struct http_answer {
	int status;
	char *url;
	struct buf head; /* "name NUL value NUL" of each header */
	size_t headers_count;
	struct buf body;
	uint64_t body_size;
	bool in_file;  /* the body belongs into answer_file */
	bool kept;     /* ... and is there */
	bool in_parts; /* the body goes to on_part */
};

/*
 * One request. The loop makes it and frees it; from http_thread_give until http_thread_take it is the thread's, except
 * the members that are the loop's.
 */
struct http_request {
	struct http_request *next; /* in a queue */
	/* The loop's. done NULL: cancelled, or the caller wants none; on_part likewise. */
	uint64_t id;
	struct http_owner *owner;
	struct http_request *sibling, **link; /* among those of its owner */
	kettle_http_fn done;
	void (*on_part)(void *arg, const void *data, size_t size);
	void *arg;
	struct http_request *next_taken; /* in the list of http_thread_take */
	struct buf taken;                /* the part to hand over */
	/* The request itself; never changes. */
	char *method, *url, *body_file, *answer_file, *unix_socket;
	char **headers;
	size_t headers_count;
	void *body;
	size_t body_size, max_headers;
	uint64_t max_body;
	uint32_t connect_ms, total_ms, idle_ms, max_redirects, retries;
	bool streams; /* it has an on_part */
	/* Atomic: the loop wants no answer any more. */
	int cancelled;
	/* Under the thread's lock. */
	struct http_request *next_parted; /* among those with parts for the loop */
	struct buf parts;                 /* that the loop has not taken; not empty: it is among those */
	bool held;                        /* the body pauses until the loop takes the parts */
	bool resumes;                     /* the loop has taken them: the body goes on */
	/* The thread's. */
	struct transfer *transfer;
	struct http_request *later, **before; /* among those under way */
	struct kettle_error err;
	struct http_answer answer;
};

/* http_request.c */
/* A checked copy of a request with its defaults; the checks need no library. EINVAL, ETOOBIG. */
int http_request_new(
	const struct kettle_http_request *wanted, struct http_request **ret_request, struct kettle_error *err);
void http_request_free(struct http_request *request);
/* Whether a header ("Name: value", or a line of an answer) has that name, without case. */
bool http_header_is(const char *line, const char *name);
/* Whether repeating a method changes nothing more (RFC 9110, 9.2.2). */
bool http_method_repeatable(const char *method);

/* http_thread.c */
struct http_thread;
/*
 * Starts the thread. Calls finished(arg) on it when the queue of ended requests was empty and is so no longer. The
 * settings are borrowed until http_thread_join. EUNAVAIL.
 */
int http_thread_start(const struct http_settings *settings, void (*finished)(void *arg), void *arg,
	struct http_thread **ret_thread, struct kettle_error *err);
/* Hands a request over. [any] */
void http_thread_give(struct http_thread *thread, struct http_request *request);
/* Ends cancelled requests. [any] */
void http_thread_wake(struct http_thread *thread);
/*
 * The requests that have ended, linked by `next`; NULL: none. *ret_parted: those that have a part in `taken`, linked by
 * `next_taken`, which has come before their ends.
 */
struct http_request *http_thread_take(struct http_thread *thread, struct http_request **ret_parted);
/* Ends all requests under way, joins the thread, frees it. Requests that were given and not taken are the caller's again. */
void http_thread_join(struct http_thread *thread);
