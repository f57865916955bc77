/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. */
#include <config.h>

/* These functions of OpenSSL 1.1 cannot fail, and need none of its start, which is a fifth of that of a command line. */
#define OPENSSL_API_COMPAT 0x10100000L

#include "base/hash.h"

#include <errno.h>
#include <openssl/sha.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"

#define HASH_SIZE 32
#define TOKEN_BYTES 32
#define CHUNK 65536

struct sha256 {
	SHA256_CTX context;
};

static void
write_hex(const unsigned char hash[HASH_SIZE], char ret_hex[65])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < HASH_SIZE; i++) {
		ret_hex[2 * i] = digits[hash[i] >> 4];
		ret_hex[2 * i + 1] = digits[hash[i] & 15];
	}
	ret_hex[2 * HASH_SIZE] = '\0';
}

void
sha256_hex(const void *data, size_t size, char ret_hex[65])
{
	struct sha256 digest;
	SHA256_Init(&digest.context);
	sha256_add(&digest, data, size);
	sha256_end(&digest, ret_hex);
}

struct sha256 *
sha256_new(void)
{
	struct sha256 *digest = xmalloc(sizeof(*digest));
	SHA256_Init(&digest->context);
	return digest;
}

void
sha256_add(struct sha256 *digest, const void *data, size_t size)
{
	SHA256_Update(&digest->context, data, size);
}

void
sha256_end(struct sha256 *digest, char ret_hex[65])
{
	unsigned char hash[HASH_SIZE];
	SHA256_Final(hash, &digest->context);
	write_hex(hash, ret_hex);
}

void
sha256_free(struct sha256 *digest)
{
	free(digest);
}

int
sha256_fd(int fd, char ret_hex[65])
{
	unsigned char data[CHUNK];
	struct sha256 *digest = sha256_new();
	ssize_t got = 1;
	while (got > 0 || (got < 0 && errno == EINTR)) {
		got = read(fd, data, sizeof(data));
		if (got > 0)
			sha256_add(digest, data, (size_t)got);
	}
	if (got == 0)
		sha256_end(digest, ret_hex);
	int number = errno;
	sha256_free(digest);
	errno = number;
	return got < 0 ? -1 : 0;
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

char *
random_token(const char *prefix, char ret_hash[65])
{
	unsigned char bytes[TOKEN_BYTES];
	random_bytes(bytes, sizeof(bytes));
	AUTO_FREE char *base64 = base64url_encode(bytes, sizeof(bytes));
	char *token = xasprintf("%s%s", prefix, base64);
	sha256_hex(token, strlen(token), ret_hash);
	return token;
}
