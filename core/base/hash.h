/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. All [any]. */
#pragma once

#include <stddef.h>

/* SHA-256 as 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *data, size_t size, char ret_hex[65]);
/* The same for the bytes that a descriptor still has to read. -1 with errno: it cannot be read. [blocks] */
int sha256_fd(int fd, char ret_hex[65]);
/* The same for bytes that come in pieces. */
struct sha256; /* opaque */
struct sha256 *sha256_new(void);
void sha256_add(struct sha256 *digest, const void *data, size_t size);
/* Writes the hash; no more bytes may be added. */
void sha256_end(struct sha256 *digest, char ret_hex[65]);
void sha256_free(struct sha256 *digest); /* NULL is allowed */
/* A token of 256 random bits, in letters, digits, - and _, behind a prefix. New string; its SHA-256, by which it is stored. */
char *random_token(const char *prefix, char ret_hash[65]);
/* Bytes of a cryptographic random source. Never fails: aborts where the kernel has none. */
void random_bytes(void *data, size_t size);
