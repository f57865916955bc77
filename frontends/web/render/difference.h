/* SPDX-License-Identifier: MIT */
/* A unified difference as HTML. */
#pragma once

#include "base/buf.h"

#define DIFFERENCE_LINES_MAX 5000      /* rows that a page shows */
#define DIFFERENCE_HTML_MAX (4u << 20) /* bytes of them */

/*
 * Adds the rows of a table for a unified text: of each line its number before and after, its sign and its text, as a row
 * of the class added, removed or context; a place between changes and a missing line end are rows of the class note. What
 * is over the limits is left out, and a last row says so. [any]
 */
void difference_add(struct buf *html, const char *unified);
