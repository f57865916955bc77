/* SPDX-License-Identifier: MIT */
/* Sealed envelopes: opened by the right side alone, and void after any change. */
#include <config.h>

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "sealed/sealed.h"

#define JOB "kettle-1f0c9a3e-12.1"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_HASH "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADER (6 + 1 + 2 + sizeof(JOB) - 1 + 32 + 12)
#define MAX 100000

static const unsigned char key[SEALED_KEY_SIZE] = "a key of thirty-two bytes, no mo";
static const struct sealed_scope scope = {JOB, HASH};
static const char content[] = "{\"plan\":{\"seed\":424242}}";

/* New bytes: the content in an envelope. */
static char *
seal(enum sealed_kind kind, const void *data, size_t size, size_t *ret_size)
{
	struct kettle_error err = {0};
	char *sealed = NULL;
	if (sealed_seal(key, kind, &scope, data, size, &sealed, ret_size, &err))
		fail_msg("%s", err.message);
	return sealed;
}

/* What opening gives; on success the content is compared. */
static int
open_code(
	const unsigned char *with, enum sealed_kind kind, const char *job, const char *hash, const void *data, size_t size)
{
	struct kettle_error err = {0};
	const struct sealed_scope is = {job, hash};
	AUTO_FREE char *opened = NULL;
	size_t opened_size = 0;
	int rc = sealed_open(with, kind, &is, data, size, MAX, &opened, &opened_size, &err);
	if (rc == 0) {
		assert_int_equal(opened_size, strlen(content));
		assert_string_equal(opened, content);
	} else {
		assert_null(opened);
		assert_int_equal(err.code, rc);
		assert_true(strlen(err.message) > 20 && err.message[strlen(err.message) - 1] == '.');
	}
	return rc;
}

static void
test_scope(void **state)
{
	(void)state;
	static const unsigned char other[SEALED_KEY_SIZE] = "a key of thirty-two bytes, no mO";
	size_t size = 0;
	AUTO_FREE char *sealed = seal(SEALED_PLAN, content, strlen(content), &size);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, sealed, size), 0);
	assert_int_equal(open_code(other, SEALED_PLAN, JOB, HASH, sealed, size), KETTLE_EACCES);
	assert_int_equal(open_code(key, SEALED_RESULT, JOB, HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, "kettle-1f0c9a3e-12.2", HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, "kettle-1f0c9a3e-13.1", HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, "kettle-2f0c9a3e-12.1", HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB "0", HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, OTHER_HASH, sealed, size), KETTLE_ECONFLICT);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, "0123", sealed, size), KETTLE_EINVAL);
	enum sealed_kind kind = SEALED_RESULT;
	AUTO_FREE char *job = NULL;
	char hash[65];
	assert_int_equal(sealed_read_scope(sealed, size, &kind, &job, hash, NULL), 0);
	assert_int_equal(kind, SEALED_PLAN);
	assert_string_equal(job, JOB);
	assert_string_equal(hash, HASH);
}

/* Every bit of one byte after the other, the header among them, even where what opens it believes the header. */
static void
test_every_byte(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *sealed = seal(SEALED_RESULT, content, strlen(content), &size);
	for (size_t i = 0; i < size; i++)
		for (int bit = 0; bit < 8; bit++) {
			sealed[i] = (char)(sealed[i] ^ 1 << bit);
			AUTO_FREE char *job = NULL;
			char hash[65];
			enum sealed_kind kind = SEALED_RESULT;
			assert_int_not_equal(open_code(key, SEALED_RESULT, JOB, HASH, sealed, size), 0);
			if (sealed_read_scope(sealed, size, &kind, &job, hash, NULL) == 0)
				assert_int_equal(open_code(key, kind, job, hash, sealed, size), KETTLE_EACCES);
			sealed[i] = (char)(sealed[i] ^ 1 << bit);
		}
	assert_int_equal(open_code(key, SEALED_RESULT, JOB, HASH, sealed, size), 0);
}

static void
test_truncated(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *sealed = seal(SEALED_RESULT, content, strlen(content), &size);
	/* Exactly as many bytes as are given: a sanitizer sees what is read beyond. */
	for (size_t len = 0; len < size; len++) {
		AUTO_FREE char *part = malloc(len ? len : 1);
		memcpy(part, sealed, len);
		assert_int_not_equal(open_code(key, SEALED_RESULT, JOB, HASH, part, len), 0);
	}
	AUTO_FREE char *longer = xmalloc(size + 1);
	memcpy(longer, sealed, size);
	longer[size] = 0;
	assert_int_equal(open_code(key, SEALED_RESULT, JOB, HASH, longer, size + 1), KETTLE_EACCES);
}

static void
test_text(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *sealed = seal(SEALED_PLAN, content, strlen(content), &size);
	AUTO_FREE char *text = sealed_to_text(sealed, size);
	AUTO_FREE char *line = xasprintf("%s\r\n", text), *spaced = xasprintf("%.20s %s", text, text + 20);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, text, strlen(text)), 0);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, line, strlen(line)), 0);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, spaced, strlen(spaced)), KETTLE_EINVAL);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, text, strlen(text) - 4), KETTLE_EACCES);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, text, strlen(text) - 1), KETTLE_EINVAL);
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, "", 0), KETTLE_EINVAL);
}

static void
test_other_version(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *sealed = seal(SEALED_PLAN, content, strlen(content), &size);
	sealed[4] = '2';
	assert_int_equal(open_code(key, SEALED_PLAN, JOB, HASH, sealed, size), KETTLE_EVERSION);
	struct kettle_error err = {0};
	enum sealed_kind kind;
	AUTO_FREE char *job = NULL;
	char hash[65];
	assert_int_equal(sealed_read_scope(sealed, size, &kind, &job, hash, &err), KETTLE_EVERSION);
	assert_non_null(strstr(err.message, "version 2, and Kettle " PACKAGE_VERSION " reads version 1;"));
}

static void
test_nonce(void **state)
{
	(void)state;
	size_t one_size = 0, other_size = 0;
	AUTO_FREE char *one = seal(SEALED_PLAN, content, strlen(content), &one_size);
	AUTO_FREE char *other = seal(SEALED_PLAN, content, strlen(content), &other_size);
	assert_int_equal(one_size, other_size);
	assert_memory_equal(one, other, HEADER - 12);
	assert_memory_not_equal(one + HEADER - 12, other + HEADER - 12, 12);
	assert_memory_not_equal(one + HEADER, other + HEADER, one_size - HEADER);
}

/* Zeros compress a thousandfold: what is taken in is bounded, not what comes. */
static void
test_bomb(void **state)
{
	(void)state;
	size_t size = 0, opened_size = 0;
	AUTO_FREE char *zeros = xcalloc(MAX * 100, 1), *opened = NULL;
	AUTO_FREE char *sealed = seal(SEALED_RESULT, zeros, MAX * 100, &size);
	assert_true(size < MAX);
	assert_int_equal(open_code(key, SEALED_RESULT, JOB, HASH, sealed, size), KETTLE_ETOOBIG);
	assert_int_equal(sealed_open(key, SEALED_RESULT, &scope, sealed, size, MAX * 100 - 1, &opened, &opened_size, NULL),
		KETTLE_ETOOBIG);
	assert_int_equal(sealed_open(key, SEALED_RESULT, &scope, sealed, size, MAX * 100, &opened, &opened_size, NULL), 0);
	assert_int_equal(opened_size, MAX * 100);
	assert_memory_equal(opened, zeros, opened_size);
}

/* What is longer than the content may be by zlib is not even decrypted. */
static void
test_too_long(void **state)
{
	(void)state;
	size_t size = 0, opened_size = 0;
	AUTO_FREE char *noise = xmalloc(MAX), *opened = NULL;
	random_bytes(noise, MAX);
	AUTO_FREE char *sealed = seal(SEALED_RESULT, noise, MAX, &size);
	sealed[size - 1] ^= 1;
	assert_int_equal(
		sealed_open(key, SEALED_RESULT, &scope, sealed, size, MAX, &opened, &opened_size, NULL), KETTLE_EACCES);
	assert_int_equal(
		sealed_open(key, SEALED_RESULT, &scope, sealed, size, MAX / 2, &opened, &opened_size, NULL), KETTLE_ETOOBIG);
}

/* A source and a sink that note how much is held at a time. */
struct stream {
	const char *data;
	uint64_t size, read, most_read;
	unsigned passes;
	uint64_t changed; /* a byte that is another one in the second pass; 0: none */
	uint64_t broken;  /* a byte that cannot be read; 0: none */
	struct buf content;
	uint64_t most_taken, full; /* full: bytes that the sink takes; 0: all */
};

static int
read_stream(void *arg, uint64_t offset, void *data, size_t size, struct kettle_error *err)
{
	struct stream *stream = arg;
	assert_true(size <= stream->size && offset <= stream->size - size);
	stream->passes += offset == 0 && size > 6;
	stream->read += size;
	stream->most_read = size > stream->most_read ? size : stream->most_read;
	if (stream->broken && stream->broken >= offset && stream->broken < offset + size)
		return kettle_fail(err, KETTLE_EIO, "The disk is broken.");
	memcpy(data, stream->data + offset, size);
	if (stream->passes == 2 && stream->changed && stream->changed >= offset && stream->changed < offset + size)
		((char *)data)[stream->changed - offset] ^= 1;
	return 0;
}

static int
take_stream(void *arg, const void *data, size_t size, struct kettle_error *err)
{
	struct stream *stream = arg;
	assert_true(size > 0);
	stream->most_taken = size > stream->most_taken ? size : stream->most_taken;
	buf_add(&stream->content, data, size);
	return stream->full && stream->content.len > stream->full ? kettle_fail(err, KETTLE_EUNAVAIL, "It is full.") : 0;
}

static int
open_stream(struct stream *stream, uint64_t max_size)
{
	const struct sealed_source source = {stream->size, read_stream, stream};
	struct kettle_error err = {0};
	return sealed_open_stream(key, SEALED_RESULT, &scope, &source, max_size, take_stream, stream, &err);
}

#define LARGE (1u << 20)

/* Half noise, half zeros, so that neither form of it fits the pieces of the other. */
static char *
make_large(void)
{
	char *large = xcalloc(LARGE, 1);
	random_bytes(large, LARGE / 2);
	return large;
}

/* In either form it comes and goes in pieces, and the content only once all of it is proven. */
static void
test_stream(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *large = make_large(), *sealed = seal(SEALED_RESULT, large, LARGE, &size),
				   *text = sealed_to_text(sealed, size);
	for (int i = 0; i < 2; i++) {
		struct stream stream = {.data = i ? text : sealed, .size = i ? strlen(text) : size};
		assert_int_equal(open_stream(&stream, LARGE), 0);
		assert_int_equal(stream.content.len, LARGE);
		assert_memory_equal(stream.content.data, large, LARGE);
		assert_int_equal(stream.passes, 2);
		assert_true(stream.most_taken <= SEALED_PIECE && stream.most_read <= SEALED_PIECE / 3 * 4);
		buf_free(&stream.content);
	}
}

/* What was changed, cut, put into another order or made longer gives no byte of its content. */
static void
test_stream_damaged(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *large = make_large(), *sealed = seal(SEALED_RESULT, large, LARGE, &size);
	for (int i = 0; i < 6; i++) {
		AUTO_FREE char *damaged = xmalloc(size + 1);
		memcpy(damaged, sealed, size);
		damaged[size] = 0;
		struct stream stream = {.data = damaged,
			.size = i == 0   ? size - 1
					: i == 1 ? size - SEALED_PIECE
					: i == 2 ? size + 1
							 : size};
		if (i == 3)
			damaged[size - 17] ^= 1;
		if (i == 4)
			damaged[HEADER] ^= 1;
		if (i == 5) { /* two pieces, each for the other */
			memcpy(damaged + SEALED_PIECE, sealed + (size_t)2 * SEALED_PIECE, SEALED_PIECE);
			memcpy(damaged + (size_t)2 * SEALED_PIECE, sealed + SEALED_PIECE, SEALED_PIECE);
		}
		assert_int_equal(open_stream(&stream, LARGE), KETTLE_EACCES);
		assert_int_equal(stream.content.len, 0);
	}
}

/* A file that somebody changes once it is proven. */
static void
test_stream_changes(void **state)
{
	(void)state;
	size_t size = 0;
	AUTO_FREE char *noise = xmalloc(LARGE);
	random_bytes(noise, LARGE);
	AUTO_FREE char *sealed = seal(SEALED_RESULT, noise, LARGE, &size);
	const uint64_t changed[] = {HEADER - 1, HEADER + 100000, size - 1};
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		struct stream stream = {.data = sealed, .size = size, .changed = changed[i]};
		int rc = open_stream(&stream, LARGE);
		assert_true(rc == KETTLE_EACCES || rc == KETTLE_EINVAL);
		assert_int_equal(stream.passes, 2);
		buf_free(&stream.content);
	}
}

/* By its header and its size it is refused before more than that is read; what fails on either side ends it. */
static void
test_stream_ends_early(void **state)
{
	(void)state;
	static const unsigned char other[SEALED_KEY_SIZE] = "a key of thirty-two bytes, no mO";
	size_t size = 0;
	AUTO_FREE char *large = make_large(), *sealed = seal(SEALED_RESULT, large, LARGE, &size),
				   *plan = seal(SEALED_PLAN, large, LARGE, &size);
	struct stream too_large = {.data = sealed, .size = size}, wrong = {.data = plan, .size = size};
	assert_int_equal(open_stream(&too_large, LARGE / 4), KETTLE_ETOOBIG);
	assert_int_equal(open_stream(&wrong, LARGE), KETTLE_ECONFLICT);
	assert_true(too_large.read < SEALED_PIECE + 100 && wrong.read < SEALED_PIECE + 100);
	struct stream bomb = {.data = sealed, .size = size};
	assert_int_equal(open_stream(&bomb, LARGE - 1), KETTLE_ETOOBIG);
	assert_true(bomb.content.len < LARGE);
	struct stream broken = {.data = sealed, .size = size, .broken = size - 1},
				  full = {.data = sealed, .size = size, .full = 1};
	assert_int_equal(open_stream(&broken, LARGE), KETTLE_EIO);
	assert_int_equal(broken.content.len, 0);
	assert_int_equal(open_stream(&full, LARGE), KETTLE_EUNAVAIL);
	assert_true(full.content.len <= SEALED_PIECE);
	const struct sealed_source source = {size, read_stream, &(struct stream){.data = sealed, .size = size}};
	struct stream none = {0};
	assert_int_equal(
		sealed_open_stream(other, SEALED_RESULT, &scope, &source, LARGE, take_stream, &none, NULL), KETTLE_EACCES);
	assert_int_equal(none.content.len, 0);
	buf_free(&bomb.content);
	buf_free(&full.content);
}

static void
test_empty(void **state)
{
	(void)state;
	size_t size = 0, opened_size = 1;
	AUTO_FREE char *sealed = seal(SEALED_RESULT, "", 0, &size), *opened = NULL;
	assert_int_equal(sealed_open(key, SEALED_RESULT, &scope, sealed, size, 0, &opened, &opened_size, NULL), 0);
	assert_int_equal(opened_size, 0);
	assert_string_equal(opened, "");
}

/* An envelope by OpenSSL alone, whose content is no zlib stream: the right key is no reason to trust it. */
static int
open_raw(const unsigned char *raw, int size)
{
	size_t sealed_size = 0;
	AUTO_FREE char *sealed = seal(SEALED_RESULT, content, strlen(content), &sealed_size), *opened = NULL;
	AUTO_FREE unsigned char *made = xmalloc(HEADER + (size_t)size + 16);
	memcpy(made, sealed, HEADER);
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	int len = 0;
	assert_true(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, made + HEADER - 12));
	assert_true(EVP_EncryptUpdate(cipher, NULL, &len, made, (int)HEADER));
	assert_true(EVP_EncryptUpdate(cipher, made + HEADER, &len, raw, size));
	assert_true(EVP_EncryptFinal_ex(cipher, made + HEADER + len, &len));
	assert_true(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, made + HEADER + size));
	EVP_CIPHER_CTX_free(cipher);
	return sealed_open(key, SEALED_RESULT, &scope, made, HEADER + (size_t)size + 16, MAX, &opened, &sealed_size, NULL);
}

static void
test_not_zlib(void **state)
{
	(void)state;
	unsigned char packed[200];
	uLongf size = sizeof(packed) - 1;
	assert_int_equal(compress(packed, &size, (const unsigned char *)content, sizeof(content)), Z_OK);
	assert_int_equal(open_raw(packed, (int)size), 0);
	assert_int_equal(open_raw(packed, (int)size - 1), KETTLE_EINVAL);
	packed[size] = 0;
	assert_int_equal(open_raw(packed, (int)size + 1), KETTLE_EINVAL);
	assert_int_equal(open_raw(packed, 0), KETTLE_EINVAL);
	assert_int_equal(open_raw((const unsigned char *)"no zlib at all", 14), KETTLE_EINVAL);
}

static void
test_refused_scopes(void **state)
{
	(void)state;
	char longest[SEALED_MAX_JOB + 2];
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const struct sealed_scope refused[] = {{"", HASH}, {"a b", HASH}, {"a/b", HASH}, {"\xc3\xa4", HASH},
		{longest, HASH}, {JOB, ""}, {JOB, HASH "0"}, {JOB, NULL},
		{JOB, "X123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}};
	char *sealed = NULL;
	size_t size = 0;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(sealed_seal(key, SEALED_PLAN, &refused[i], "x", 1, &sealed, &size, NULL), KETTLE_EINVAL);
	longest[SEALED_MAX_JOB] = '\0';
	assert_int_equal(
		sealed_seal(key, SEALED_PLAN, &(struct sealed_scope){longest, HASH}, "x", 1, &sealed, &size, NULL), 0);
	free(sealed);
}

static void
test_key(void **state)
{
	(void)state;
	unsigned char parsed[SEALED_KEY_SIZE], derived[SEALED_KEY_SIZE], other[SEALED_KEY_SIZE];
	AUTO_FREE char *text = base64_encode(key, sizeof(key));
	AUTO_FREE char *line = xasprintf(" %s\r\n", text), *short_key = base64_encode(key, sizeof(key) - 1);
	AUTO_FREE char *long_key = base64_encode("a key of thirty-three bytes, no .", 33),
				   *twice = xasprintf("%s%s", text, text);
	assert_int_equal(sealed_key_parse(line, parsed, NULL), 0);
	assert_memory_equal(parsed, key, sizeof(key));
	struct kettle_error err = {0};
	const char *refused[] = {"", short_key, long_key, twice, "not base64",
		"YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcywgbm8gbW_=", "YSBrZXkgb2YgdGhpcnR5 XR3byBieXRlcywgbm8gbW8="};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(sealed_key_parse(refused[i], parsed, &err), KETTLE_EINVAL);
		assert_null(strstr(err.message, "YSBr"));
	}
	assert_memory_equal(parsed, key, sizeof(key));
	/* HKDF-SHA256 of these 32 bytes with this info, by another implementation (Python's hmac). */
	static const char expected[] = "65e055459cf1538fc0d4e9c97f422508548bd2d936493f012f4c750410ab81f2";
	sealed_key_derive(key, JOB, derived);
	for (size_t i = 0; i < SEALED_KEY_SIZE; i++) {
		char hex[3];
		(void)snprintf(hex, sizeof(hex), "%02x", derived[i]);
		assert_memory_equal(hex, expected + 2 * i, 2);
	}
	sealed_key_derive(key, "kettle-1f0c9a3e-12.2", other);
	assert_memory_not_equal(derived, other, sizeof(derived));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_scope),
	cmocka_unit_test(test_every_byte),
	cmocka_unit_test(test_truncated),
	cmocka_unit_test(test_text),
	cmocka_unit_test(test_other_version),
	cmocka_unit_test(test_nonce),
	cmocka_unit_test(test_bomb),
	cmocka_unit_test(test_too_long),
	cmocka_unit_test(test_stream),
	cmocka_unit_test(test_stream_damaged),
	cmocka_unit_test(test_stream_changes),
	cmocka_unit_test(test_stream_ends_early),
	cmocka_unit_test(test_empty),
	cmocka_unit_test(test_not_zlib),
	cmocka_unit_test(test_refused_scopes),
	cmocka_unit_test(test_key),
};

UNIT_TESTS(test_sealed);
