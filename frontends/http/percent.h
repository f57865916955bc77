/* SPDX-License-Identifier: MIT */
/* Percent-encoded text of URLs. Pure. [any] */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Adds a value of a query. */
void percent_add(struct buf *text, const char *value);

/* Whether it is UTF-8 without control characters. */
bool percent_is_text(const char *text, size_t size);
/*
 * Decodes size bytes into `to`, which has room for as many and a NUL; plus: `+` is a blank. false: an incomplete escape,
 * or the result is no UTF-8 or has control characters.
 */
bool percent_decode(const char *from, size_t size, bool plus, char *to);
