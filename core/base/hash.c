/* SPDX-License-Identifier: MIT */
/* Hashes and random bytes. */
#include <config.h>

#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"

#define HASH_SIZE 32
#define TOKEN_BYTES 32
#define CHUNK 65536

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
	unsigned char hash[HASH_SIZE];
	/* Fails only where the library has no memory left for a context. */
	if (!EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL))
		abort();
	write_hex(hash, ret_hex);
}

/* As above: this fails only for lack of memory. */
struct sha256 *
sha256_new(void)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
		abort();
	return (struct sha256 *)context;
}

void
sha256_add(struct sha256 *digest, const void *data, size_t size)
{
	if (!EVP_DigestUpdate((EVP_MD_CTX *)digest, data, size))
		abort();
}

void
sha256_end(struct sha256 *digest, char ret_hex[65])
{
	unsigned char hash[HASH_SIZE];
	if (!EVP_DigestFinal_ex((EVP_MD_CTX *)digest, hash, NULL))
		abort();
	write_hex(hash, ret_hex);
}

void
sha256_free(struct sha256 *digest)
{
	EVP_MD_CTX_free((EVP_MD_CTX *)digest);
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
