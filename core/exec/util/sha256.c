/* SPDX-License-Identifier: MIT */
/* SHA-256 over parts: of files, of manifests, of the build cache's keys. */
#include <config.h>

#include "exec/util/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/xalloc.h"

#define COPY_CHUNK (64u << 10)

struct sha256 {
	EVP_MD_CTX *context;
};

struct sha256 *
sha256_new(void)
{
	struct sha256 *digest = xcalloc(1, sizeof(*digest));
	digest->context = EVP_MD_CTX_new();
	if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1)
		xalloc_fail();
	return digest;
}

static void
sha256_add(struct sha256 *digest, const void *data, size_t size)
{
	/* Without an engine behind it, an update of an initialised digest has no way to fail. */
	(void)EVP_DigestUpdate(digest->context, data, size);
}

void
sha256_number(struct sha256 *digest, uint64_t value)
{
	unsigned char bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	sha256_add(digest, bytes, sizeof(bytes));
}

void
sha256_field(struct sha256 *digest, const char *text)
{
	sha256_number(digest, text ? strlen(text) : UINT64_MAX);
	if (text)
		sha256_add(digest, text, strlen(text));
}

void
sha256_end(struct sha256 *digest, char ret_hex[DIGEST_HEX_SIZE])
{
	unsigned char bytes[EVP_MAX_MD_SIZE] = {0};
	unsigned size = 0;
	(void)EVP_DigestFinal_ex(digest->context, bytes, &size);
	for (size_t i = 0; i < (DIGEST_HEX_SIZE - 1) / 2; i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", bytes[i]);
}

void
sha256_cleanup(struct sha256 **digest)
{
	EVP_MD_CTX_free((*digest)->context);
	free(*digest);
}

/* What is empty stays so: a file of holes, which takes nothing, does not become one that fills a disk. */
static int
put_chunk(int to, const char *chunk, size_t size)
{
	bool empty = chunk[0] == 0 && memcmp(chunk, chunk + 1, size - 1) == 0;
	return empty ? (lseek(to, (off_t)size, SEEK_CUR) < 0 ? -1 : 0) : write_all(to, chunk, size);
}

int
sha256_copy(int from, int to, uint64_t max, uint64_t *ret_size, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err)
{
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	AUTO_FREE char *chunk = xmalloc(COPY_CHUNK);
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
		sha256_add(digest, chunk, (size_t)n);
		if (to >= 0 && put_chunk(to, chunk, (size_t)n) != 0)
			return kettle_fail(err, KETTLE_EIO, "A file could not be written: %s.", strerror(errno));
	}
	/* A hole at its end is none yet. */
	if (to >= 0 && total > 0 && ftruncate(to, (off_t)total) != 0)
		return kettle_fail(err, KETTLE_EIO, "A file could not be written: %s.", strerror(errno));
	*ret_size = total;
	sha256_end(digest, ret_hex);
	return 0;
}
