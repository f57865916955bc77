/* SPDX-License-Identifier: MIT */
/* Bytes inside JSON: base64, and contents as plans carry them. All [any]. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

/* Standard base64 with padding; new string. */
char *base64_encode(const void *data, size_t size);
/* New bytes with a NUL behind them. KETTLE_EINVAL: anything else than canonical base64, whitespace included. */
int base64_decode(const char *text, size_t size, void **ret_data, size_t *ret_size);
/* The same in the letters of URLs, without padding; new string, new bytes. */
char *base64url_encode(const void *data, size_t size);
int base64url_decode(const char *text, size_t size, void **ret_data, size_t *ret_size);

/* The bytes of contents ({"text"} or {"base64"}); new, a NUL behind them. EINVAL. */
int contents_bytes(const json_t *contents, char **ret_data, size_t *ret_size, struct kettle_error *err);
/* Contents of bytes: text where they are UTF-8 without NUL, else base64. New reference. */
json_t *contents_json(const void *data, size_t size);
