/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. */
#include <config.h>

#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/random.h>

void
sha256_hex(const void *data, size_t size, char ret_hex[65])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char hash[32];
	/* Fails only where the library has no memory left for a context. */
	if (!EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL))
		abort();
	for (size_t i = 0; i < sizeof(hash); i++) {
		ret_hex[2 * i] = digits[hash[i] >> 4];
		ret_hex[2 * i + 1] = digits[hash[i] & 15];
	}
	ret_hex[64] = '\0';
}

void
random_bytes(void *data, size_t size)
{
	char *at = data;
	while (size) {
		ssize_t got = getrandom(at, size, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		at += got;
		size -= (size_t)got;
	}
}
