/* SPDX-License-Identifier: MIT */
/* Files that plugins publish (host->publish): each is served once, to whoever has its link. */
#pragma once

#include "web/visit/visit.h"

/* Answers a GET of the link with this token. On the server's thread. */
void links_request(struct web *web, struct http_request *request, const char *token);
/*
 * Ends a visit with the file of an answer {"path"}, which is this request's own and loses its name. name: under which a browser
 * keeps it, NULL: it is not told. Loop thread.
 */
void links_send(struct visit *visit, const json_t *file, const char *name);
