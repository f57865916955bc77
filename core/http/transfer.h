/* SPDX-License-Identifier: MIT */
/* One request on the thread: its hops, from the first attempt to the answer. */
#pragma once

#if KETTLE_HAVE_HTTP
#include "http/http_internal.h"

#include <curl/curl.h>
#include <kettle/error.h>

/* libcurl, loaded on first use: it and its dependencies take several MB. */
#define CURL_FUNCTIONS(X) \
	X(global_init) \
	X(version_info) \
	X(slist_append) \
	X(slist_free_all) \
	X(easy_init) \
	X(easy_cleanup) \
	X(easy_reset) \
	X(easy_setopt) \
	X(easy_getinfo) \
	X(easy_pause) \
	X(easy_strerror) \
	X(multi_init) \
	X(multi_cleanup) \
	X(multi_setopt) \
	X(multi_assign) \
	X(multi_add_handle) \
	X(multi_remove_handle) \
	X(multi_socket_action) \
	X(multi_info_read) \
	X(url) \
	X(url_cleanup) \
	X(url_get) \
	X(url_set) \
	X(free) \
	X(getdate)

/* The functions of the library, named without their `curl_`. */
struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
};

/* State that all transfers of a thread share. */
struct transfer_context {
	const struct curl_library *curl;
	CURLM *multi;
	const struct http_settings *settings;
	const char *certificates;   /* file of the trusted certificates, or NULL: the library's built-in one */
	CURL *spare[HTTP_OPEN_MAX]; /* handles for reuse */
	size_t spares;
	/* Keeps a part of a body for the loop. False: the loop has too many, and the body pauses (transfer_resume). */
	bool (*keep_part)(struct transfer_context *context, struct http_request *request, const char *data, size_t size);
};

/* A callback's fault, beside the library's own code. */
enum transfer_fault {
	TRANSFER_FINE,
	TRANSFER_HEADERS,   /* too many or too long */
	TRANSFER_BODY,      /* too long */
	TRANSFER_WRITE,     /* the answer_file cannot be written; errno is kept */
	TRANSFER_READ,      /* the body_file cannot be read; errno is kept, 0: it became shorter */
	TRANSFER_ENOUGH,    /* of the body of a redirect: nothing is wrong */
	TRANSFER_CANCELLED, /* the loop wants no answer any more */
};

struct transfer {
	struct transfer_context *context;
	struct http_request *request;
	CURL *easy;
	bool under_way; /* the library has it */
	struct curl_slist *headers;
	CURLU *url;                 /* of this hop */
	char *scheme, *host, *port; /* of url */
	char *location;             /* of a redirect */
	char *retry_after;
	uint64_t deadline_ns, due_ns; /* due: when the next attempt begins; 0: it is under way */
	uint32_t attempts, redirects;
	bool foreign, bodiless; /* it has left its origin; it has become a GET */
	bool in_body, redirecting;
	size_t header_bytes, headers_count;
	uint64_t limit; /* of the body */
	int body_fd, answer_fd;
	uint64_t body_size, body_at;
	enum transfer_fault fault;
	int fault_errno;
	char text[CURL_ERROR_SIZE];
};

/* Begins; on a failure the request's err has the reason and there is no transfer. */
int transfer_start(struct transfer_context *context, struct http_request *request);
/*
 * Call when the library has ended an exchange. True: the request has ended, with err or an answer. False: it goes on,
 * at once or at due_ns (transfer_again).
 */
bool transfer_ended(struct transfer *transfer, CURLcode code);
/* Begins the next attempt. True: it could not, and the request has ended. */
bool transfer_again(struct transfer *transfer);
/* Goes on with a paused body. True: that failed, and the request has ended. */
bool transfer_resume(struct transfer *transfer);
/* Sets the request's err if a transfer with idle_ms is past its deadline, which only the caller watches. True: it is. */
bool transfer_is_late(struct transfer *transfer);
/* Moves the deadline of a body that has just sent something. */
void transfer_extend(struct transfer *transfer);
/* Ends what is under way and frees it; removes the answer's file unless it holds an answer. */
void transfer_free(struct transfer *transfer);

/* transfer_io.c: the library's callbacks; arg: the transfer. */
size_t transfer_on_header(char *line, size_t one, size_t size, void *arg);
size_t transfer_on_body(char *data, size_t one, size_t size, void *arg);
size_t transfer_on_read(char *into, size_t one, size_t size, void *arg);
int transfer_on_seek(void *arg, curl_off_t offset, int origin);
/* Forgets the part of an answer that has arrived, before another answer comes. */
void transfer_forget_answer(struct transfer *transfer);
#endif
