/* SPDX-License-Identifier: MIT */
/* Pages of HTML. All [any]. */
#pragma once

#include "base/buf.h"
#include "http/server.h"

/* Adds HTML in which each %s, the only conversion, is a text in which nothing is markup. */
void html_printf(struct buf *page, const char *html, ...) __attribute__((format(printf, 2, 3)));
/* Adds a whole page: content is HTML, title is trusted text. data: the path of the same as JSON, or NULL. */
void html_add_page(struct buf *page, const char *title, const char *data, const struct buf *content);
/* Answers with a page that no cache keeps and that loads nothing. retry_s: of its Retry-After, 0: without. */
void html_respond(
	struct http_request *request, unsigned status, const char *title, const struct buf *content, unsigned retry_s);
