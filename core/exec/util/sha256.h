/* SPDX-License-Identifier: MIT */
/* SHA-256 over parts: files, manifests, keys of the build cache. All [any]. */
#pragma once

#include "base/hash.h"

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_SIZE 65

/* Adds a text with its length before it, so that two fields never read as one. NULL is a field of its own. */
void sha256_field(struct sha256 *digest, const char *text);
void sha256_number(struct sha256 *digest, uint64_t value);
#define AUTO_DIGEST __attribute__((cleanup(sha256_cleanup)))
static inline void
sha256_cleanup(struct sha256 **digest)
{
	sha256_free(*digest);
}

/*
 * Copies at most max bytes from one descriptor to another (to -1: only reads), from the present positions to the end,
 * and hashes them. `to` must be empty; blocks of zeros become holes there. KETTLE_ETOOBIG: there are more bytes;
 * KETTLE_EIO.
 */
int sha256_copy(
	int from, int to, uint64_t max, uint64_t *ret_size, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err);
