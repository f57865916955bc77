/* SPDX-License-Identifier: MIT */
/*
 * GET /api/v1/events: events of the core as they happen, of one submission, one board, or all that the caller may see.
 *
 * An event is `id: SEQ`, `event: KIND` and `data: JSON`; progress has no number. Last-Event-ID, or the parameter
 * `after`, goes on behind that number. Streams without a credential that begin now share one subscription for each board.
 */
#pragma once

#include "web/visit/web.h"

#define FEEDS_MAX 6000 /* streams */

struct feeds *feeds_new(struct web *web);
void feeds_free(struct feeds *feeds); /* NULL is allowed */
/* Answers a request for events. On the server's thread. */
void feeds_request(struct web *web, struct http_request *request);
/*
 * An event of the core, after which credentials may be none any more: then the streams that began with one end, and
 * their clients come again. Loop thread.
 */
void feeds_event(struct feeds *feeds, const json_t *event);
/* The server has stopped: ends all subscriptions. Loop thread. */
void feeds_cut(struct feeds *feeds);
