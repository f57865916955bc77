/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. All [any]. */
#ifndef KETTLE_BASE_HASH_H
#define KETTLE_BASE_HASH_H

#include <stddef.h>

/* SHA-256 as 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *data, size_t size, char ret_hex[65]);
/* The same of what a descriptor still has to read. -1 with errno: it cannot be read. [blocks] */
int sha256_fd(int fd, char ret_hex[65]);
/* The same of bytes that come in pieces: sha256_stream_end frees it; ret_hex may be NULL. */
struct sha256_stream; /* opaque */
struct sha256_stream *sha256_stream_begin(void);
void sha256_stream_add(struct sha256_stream *stream, const void *data, size_t size);
void sha256_stream_end(struct sha256_stream *stream_take, char ret_hex[65]);
/* A token of 256 random bits, in letters, digits, - and _, behind a prefix. New string; its SHA-256, by which it is stored. */
char *random_token(const char *prefix, char ret_hash[65]);
/* Bytes of a cryptographic random source. Never fails: aborts where the kernel has none. */
void random_bytes(void *data, size_t size);

#endif
