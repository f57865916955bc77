/* SPDX-License-Identifier: MIT */
/* Files that plugins publish (host->publish): each is served once, to whoever has its link. */
#pragma once

#include "web/visit/web.h"

/* Answers a GET of the link with this token. On the server's thread. */
void links_request(struct web *web, struct http_request *request, const char *token);
