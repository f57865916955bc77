/* SPDX-License-Identifier: MIT */
/* The head of a request, beyond what libmicrohttpd checks. Pure. [any] */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether the lines of a head have the form that HTTP demands: CR LF ends each, names are tokens, nothing is folded, and
 * there are no other control characters. The head is that from its version to its end, as libmicrohttpd leaves it once it
 * has read the headers: it has put a NUL in place of the first colon of each line and of each CR and LF.
 */
bool head_is_strict(const char *version, const char *end);
/* Whether it is a token (of a method, of a header's name). */
bool head_is_token(const char *text, size_t size);
/* Whether the bytes from `from` to `to` are the value of a header: no control characters but tabs. */
bool head_is_value(const char *from, const char *to);
/* Whether the value of Host has only what names, addresses and ports consist of; it may be empty. */
bool head_is_host(const char *text);

/* The segments of a path. */
struct path {
	char *text; /* holds them, each with a NUL */
	size_t count;
};

/* Splits and decodes the path of a URL, as http_segment says. false: it is malformed. Freed by path_free. */
bool path_split(const char *url, struct path *ret_path);
/* NULL: there are no more. */
const char *path_segment(const struct path *path, size_t index);
void path_free(struct path *path);
