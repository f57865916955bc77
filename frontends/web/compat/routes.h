/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API, for the rest of the frontend. */
#pragma once

#include "web/visit/web.h"

/* Whether a request is for this API; then answers it. On the server's thread. */
bool compat_request(struct web *web, struct http_request *request);
/* How much body a request may have; 0: none, or it is not for this API. */
size_t compat_body_max(const struct http_request *request);
