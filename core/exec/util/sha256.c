/* SPDX-License-Identifier: MIT */
/* SHA-256 over parts: files, manifests, keys of the build cache. */
#include <config.h>

#include "exec/util/sha256.h"

#include <errno.h>
#include <unistd.h>

#include "base/base.h"
#include "base/io.h"

#define COPY_CHUNK (64u << 10)

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
		if (to >= 0 && write_sparse(to, chunk, (size_t)n) != 0)
			return kettle_fail(err, KETTLE_EIO, "A file could not be written: %s.", strerror(errno));
	}
	/* Makes a hole at the end, which has no bytes yet. */
	if (to >= 0 && total > 0 && ftruncate(to, (off_t)total) != 0)
		return kettle_fail(err, KETTLE_EIO, "A file could not be written: %s.", strerror(errno));
	*ret_size = total;
	sha256_end(digest, ret_hex);
	return 0;
}
