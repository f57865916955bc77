/* SPDX-License-Identifier: MIT */
/* SHA-256 over parts: of files, of manifests, of the build cache's keys. All [any]. */
#ifndef KETTLE_EXEC_DIGEST_H
#define KETTLE_EXEC_DIGEST_H

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX_SIZE 65

struct digest; /* one digest that grows; opaque */

/* NULL: no memory. */
struct digest *digest_new(void);
void digest_add(struct digest *digest, const void *data, size_t size);
/* Adds a text with its length before it, so that two fields never read as one. NULL counts as a field of its own. */
void digest_field(struct digest *digest, const char *text);
void digest_number(struct digest *digest, uint64_t value);
/* Ends the digest: 64 hexadecimal digits and a NUL. */
void digest_end(struct digest *digest, char ret_hex[DIGEST_HEX_SIZE]);
void digest_free(struct digest *digest);
#define AUTO_DIGEST __attribute__((cleanup(digest_cleanup)))
void digest_cleanup(struct digest **digest);

/*
 * Copies at most max bytes from one descriptor to another (to -1: reads only), from where they stand to the end, and
 * hashes them. KETTLE_ETOOBIG: there was more; KETTLE_EIO.
 */
int digest_copy(
	int from, int to, uint64_t max, uint64_t *ret_size, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err);

#endif
