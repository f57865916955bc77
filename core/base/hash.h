/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. All [any]. */
#ifndef KETTLE_BASE_HASH_H
#define KETTLE_BASE_HASH_H

#include <stddef.h>

/* SHA-256 as 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *data, size_t size, char ret_hex[65]);
/* The same of what a descriptor still has to read. -1 with errno: it cannot be read. [blocks] */
int sha256_fd(int fd, char ret_hex[65]);
/* Bytes of a cryptographic random source. Never fails: aborts where the kernel has none. */
void random_bytes(void *data, size_t size);

#endif
