/* SPDX-License-Identifier: MIT */
/* Answers as JSON, and errors. All [any]; each answers the request, which is not valid any more. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>

#include "base/buf.h"
#include "http/server.h"

enum http_status {
	STATUS_OK = 200,
	STATUS_ACCEPTED = 202,
	STATUS_NOT_MODIFIED = 304,
	STATUS_BAD_REQUEST = 400,
	STATUS_UNAUTHORIZED = 401,
	STATUS_NOT_FOUND = 404,
	STATUS_NOT_ALLOWED = 405,
	STATUS_LENGTH_REQUIRED = 411,
	STATUS_TOO_LARGE = 413,
	STATUS_URI_TOO_LONG = 414,
	STATUS_UNSUPPORTED_TYPE = 415,
	STATUS_UNPROCESSABLE = 422,
	STATUS_TOO_MANY = 429,
	STATUS_HEAD_TOO_LARGE = 431,
	STATUS_INTERNAL = 500,
	STATUS_UNAVAILABLE = 503,
};

#define EVENTS_TYPE "text/event-stream"
#define HTML_TYPE "text/html; charset=utf-8"

/* Headers of what no cache keeps. */
extern const struct http_header respond_uncached[];

/* The value as JSON, which no cache keeps. */
void respond_json(struct http_request *request, unsigned status, const json_t *value);
/* The content of such an answer, with the size of its body. The caller has one reference. */
struct http_content *respond_content(const json_t *value, size_t *ret_size);
/* A page of HTML, which no cache keeps. retry_s: of its Retry-After, 0: without. */
void respond_page(struct http_request *request, unsigned status, const struct buf *html, unsigned retry_s);
void respond_text(struct http_request *request, unsigned status, const char *type, const char *text);
/*
 * An error of a command, {"error": {"code", "message", "member", "cause", "retry_s"}}, with the status of its code, and
 * Retry-After where trying again helps. The sentence of a fault of Kettle is replaced by a number, under which the log
 * has it.
 */
void respond_error(struct http_request *request, const struct kettle_host *host, const struct kettle_error *err);
/* The same value and status as JSON of another form, with Retry-After where that helps. */
void respond_retry(struct http_request *request, unsigned status, const json_t *value, unsigned retry_s);
/*
 * Copies an error as clients may read it: without control and invisible characters, which it may quote; the sentence of a
 * fault of Kettle is replaced, and logged.
 */
void error_tell(const struct kettle_host *host, const struct kettle_error *err, struct kettle_error *ret_told);
/* The members of such an error's `error`. New reference. */
json_t *error_value(const struct kettle_host *host, const struct kettle_error *err);
/* A refusal with this status that no code has (401, 405, 415), in the same form. */
void respond_refusal(struct http_request *request, unsigned status, const char *code, const char *message);
/* A refusal in the form of KernelBot's API, {"detail": sentence}, with one more header; name NULL: none. */
void respond_detail(
	struct http_request *request, unsigned status, const char *sentence, const char *name, const char *text);
/* 405, with the methods that there are: "GET, POST". */
void respond_not_allowed(struct http_request *request, const char *methods);

/*
 * A body that clients may keep, as content with an ETag of its bytes; ret_tag gets the tag, quotes included.
 */
#define TAG_SIZE 40
struct http_content *respond_kept(const char *type, const void *data, size_t size, char ret_tag[TAG_SIZE]);
/* Answers with such content, or with 304 where the request's If-None-Match has its tag. */
void respond_known(struct http_request *request, struct http_content *content_take, const char *tag);
