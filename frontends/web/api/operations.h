/* SPDX-License-Identifier: MIT */
/* For the operators of the server: /health, /ready and /metrics. On the server's thread. */
#pragma once

#include "web/visit/web.h"

/* Whether a client's token is the one of the configuration, in constant time; false where either is NULL. [any] */
bool operations_token_is(const char *token, const char *expected);
/*
 * Answers whether the engine can take and run submissions (200, or 503 with a sentence for each fault), or with metrics in
 * Prometheus' text format.
 */
void operations_request(struct web *web, struct http_request *request, bool is_ready);
