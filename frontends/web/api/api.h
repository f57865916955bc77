/* SPDX-License-Identifier: MIT */
/*
 * POST and GET /api/v1/COMMAND: the commands of the core, as the command table has them. The body of a POST is an object
 * of the arguments; a GET, for commands that read, has them in its query. With `Accept: text/event-stream` the answer is
 * a stream: the command's progress as events `progress`, then `answer` or `error`.
 */
#pragma once

#include "web/visit/visit.h"

#define API_BODY_MAX (16u << 20) /* bytes: a file of 8 MiB in base64 */
#define API_VALUES_MAX 500000    /* values of JSON in a body */

/* Answers a request for the command `name`. On the server's thread. */
void api_request(struct web *web, struct http_request *request, const char *name);
/*
 * A text as a value of an argument of the command table. What is no value of its type stays text, which the core refuses.
 * New reference.
 */
json_t *api_value(const json_t *argument, const char *text);
/* Whether a command is for requests without a credential: one that only reads, and nothing of the caller. */
bool api_is_open(const json_t *row);
/* Whether a GET can call a command: it reads, and its arguments are plain values. */
bool api_has_get(const json_t *row);

/* ---- files that plugins publish (host->publish): each is served once, to the client that has its link ---- */

/*
 * Ends a visit with the file of an answer {"path"}, which is this request's own and loses its name. name: under which a browser
 * keeps it, NULL: it is not told. Loop thread.
 */
void links_send(struct visit *visit, const json_t *file, const char *name);
/* Answers a GET of the link with this token. On the server's thread. */
void links_request(struct web *web, struct http_request *request, const char *token);
