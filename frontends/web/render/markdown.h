/* SPDX-License-Identifier: MIT */
/* Markdown as HTML, by cmark-gfm. */
#pragma once

#include "base/buf.h"

#define MARKDOWN_MAX 20000 /* bytes of a text that are rendered: 60 ms for the worst of them */

/*
 * Adds a text as HTML: GitHub's tables, strike-through and links; HTML inside is left out, pictures become links, so that a
 * page loads nothing from elsewhere, and links are only those of http, https and mailto. Headings begin at the second
 * level. Where tables would have very many cells they stay text. May take long: on the pool. [any]
 */
void markdown_add(struct buf *html, const char *text);
