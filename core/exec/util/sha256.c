/* SPDX-License-Identifier: MIT */
/* SHA-256 over parts: of files, of manifests, of the build cache's keys. */
#include <config.h>

#include "exec/util/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define COPY_CHUNK (64u << 10)

struct digest {
	EVP_MD_CTX *context;
};

struct digest *
digest_new(void)
{
	struct digest *digest = calloc(1, sizeof(*digest));
	if (!digest)
		return NULL;
	digest->context = EVP_MD_CTX_new();
	if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
		digest_free(digest);
		return NULL;
	}
	return digest;
}

void
digest_add(struct digest *digest, const void *data, size_t size)
{
	/* Without an engine behind it, an update of an initialised digest has no way to fail. */
	(void)EVP_DigestUpdate(digest->context, data, size);
}

void
digest_number(struct digest *digest, uint64_t value)
{
	unsigned char bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	digest_add(digest, bytes, sizeof(bytes));
}

void
digest_field(struct digest *digest, const char *text)
{
	digest_number(digest, text ? strlen(text) : UINT64_MAX);
	if (text)
		digest_add(digest, text, strlen(text));
}

void
digest_end(struct digest *digest, char ret_hex[DIGEST_HEX_SIZE])
{
	unsigned char bytes[EVP_MAX_MD_SIZE] = {0};
	unsigned size = 0;
	(void)EVP_DigestFinal_ex(digest->context, bytes, &size);
	for (size_t i = 0; i < (DIGEST_HEX_SIZE - 1) / 2; i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", bytes[i]);
}

void
digest_free(struct digest *digest)
{
	if (digest)
		EVP_MD_CTX_free(digest->context);
	free(digest);
}

void
digest_cleanup(struct digest **digest)
{
	digest_free(*digest);
}

int
digest_copy(int from, int to, uint64_t max, uint64_t *ret_size, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err)
{
	AUTO_DIGEST struct digest *digest = digest_new();
	AUTO_FREE char *chunk = malloc(COPY_CHUNK);
	if (!digest || !chunk)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to copy a file.");
	uint64_t total = 0;
	for (;;) {
		ssize_t n = read(from, chunk, COPY_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kettle_fail(err, KETTLE_EIO, "A file could not be read: %s.", strerror(errno));
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > max)
			return kettle_fail(
				err, KETTLE_ETOOBIG, "A file has more than the %llu bytes that are allowed.", (unsigned long long)max);
		digest_add(digest, chunk, (size_t)n);
		if (to >= 0 && write_all(to, chunk, (size_t)n) != 0)
			return kettle_fail(err, KETTLE_EIO, "A file could not be written: %s.", strerror(errno));
	}
	*ret_size = total;
	digest_end(digest, ret_hex);
	return 0;
}
