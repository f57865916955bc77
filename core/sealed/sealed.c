/* SPDX-License-Identifier: MIT */
/* Sealed envelopes: AES-256-GCM over zlib, bound to kind, job, attempt and plan. */
#include <config.h>

#include "sealed/sealed.h"

#include <ctype.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/xalloc.h"

#define MAGIC "KTLE1\n"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)
#define FAMILY "KTLE" /* what the magic of every version begins with */
#define VERSION_AT (sizeof(FAMILY) - 1)
#define HASH_SIZE 32
#define NONCE_SIZE 12
#define TAG_SIZE 16
#define HEADER_SIZE(job_len) (MAGIC_SIZE + 3 + (job_len) + HASH_SIZE + NONCE_SIZE)
#define CHUNK 65536
#define LEVEL 6
/* Keys in base64: 43 digits and one "=". */
#define KEY_TEXT_SIZE ((SEALED_KEY_SIZE + 2) / 3 * 4)

static const char job_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/* Where the parts of an envelope lie. */
struct envelope {
	const unsigned char *data;
	size_t size;
	enum sealed_kind kind;
	const char *job; /* job_len bytes, without a NUL */
	size_t job_len;
	const unsigned char *hash;
};

static const char *
kind_name(enum sealed_kind kind)
{
	return kind == SEALED_PLAN ? "plan" : "result";
}

/* ---- keys ---- */

int
sealed_key_parse(const char *text, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err)
{
	void *key = NULL;
	size_t size = 0, len;
	while (isspace((unsigned char)*text))
		text++;
	for (len = strnlen(text, PATH_MAX); len && isspace((unsigned char)text[len - 1]);)
		len--;
	int rc = len == KEY_TEXT_SIZE ? base64_decode(text, len, &key, &size) : KETTLE_EINVAL;
	if (rc == 0 && size == SEALED_KEY_SIZE)
		memcpy(ret_key, key, SEALED_KEY_SIZE);
	else
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The key must be %d bytes in base64 (%d characters), as `openssl rand -base64 %d` makes them.",
			SEALED_KEY_SIZE, KEY_TEXT_SIZE, SEALED_KEY_SIZE);
	if (key)
		explicit_bzero(key, size);
	free(key);
	return rc;
}

/* HMAC-SHA256; fails only where the library has no memory left. */
static void
hmac(const unsigned char *key, const void *data, size_t size, unsigned char ret_mac[HASH_SIZE])
{
	if (!HMAC(EVP_sha256(), key, HASH_SIZE, data, size, ret_mac, NULL))
		xalloc_fail();
}

void
sealed_key_derive(
	const unsigned char key[SEALED_KEY_SIZE], const char *job, unsigned char ret_attempt_key[SEALED_KEY_SIZE])
{
	/* RFC 5869: one block of output is all that is needed, which is the HMAC of the info and the byte 1. */
	static const unsigned char no_salt[HASH_SIZE];
	unsigned char extracted[HASH_SIZE];
	AUTO_FREE char *info = xasprintf("%s%c", job, 1);
	hmac(no_salt, key, SEALED_KEY_SIZE, extracted);
	hmac(extracted, info, strlen(job) + 1, ret_attempt_key);
	explicit_bzero(extracted, sizeof(extracted));
}

/* ---- reading the header ---- */

/* The value of a lower-case hexadecimal digit; -1: it is none. */
static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
read_hash(const char *text, unsigned char ret_hash[HASH_SIZE])
{
	if (!text || strlen(text) != 2 * (size_t)HASH_SIZE)
		return KETTLE_EINVAL;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return KETTLE_EINVAL;
		ret_hash[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static bool
job_is_valid(const char *job, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!job[i] || !strchr(job_characters, job[i]))
			return false;
	return len > 0 && len <= SEALED_MAX_JOB;
}

static int
fail_shape(struct kettle_error *err)
{
	return kettle_fail(
		err, KETTLE_EINVAL, "This is not a sealed envelope: it must begin with %.4s and be complete.", FAMILY);
}

/* The binary form of either form; *ret_own: what it lies in, to be freed; NULL: it is the argument. */
static int
find_binary(const void **data, size_t *size, char **ret_own, struct kettle_error *err)
{
	const char *text = *data;
	size_t len = *size;
	void *own = NULL;
	if (len >= MAGIC_SIZE && memcmp(text, FAMILY, strlen(FAMILY)) == 0)
		return 0;
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	if (len < (HEADER_SIZE(1) + TAG_SIZE + 2) / 3 * 4 || base64_decode(text, len, &own, size))
		return fail_shape(err);
	*ret_own = own;
	*data = own;
	return 0;
}

static int
read_header(const void *data, size_t size, struct envelope *ret_envelope, struct kettle_error *err)
{
	const unsigned char *at = data;
	if (size < HEADER_SIZE(1) + TAG_SIZE || memcmp(at, FAMILY, strlen(FAMILY)) != 0)
		return fail_shape(err);
	if (memcmp(at, MAGIC, MAGIC_SIZE) != 0)
		return kettle_fail(err, KETTLE_EVERSION,
			"This envelope is of version %c, and Kettle %s reads version %c; use the same version of Kettle on both "
			"sides.",
			at[VERSION_AT] >= '0' && at[VERSION_AT] <= '9' ? at[VERSION_AT] : '?', PACKAGE_VERSION, MAGIC[VERSION_AT]);
	at += MAGIC_SIZE;
	struct envelope envelope = {.data = data,
		.size = size,
		.kind = (enum sealed_kind)at[0],
		.job_len = (size_t)at[1] << 8 | at[2],
		.job = (const char *)at + 3};
	if ((envelope.kind != SEALED_PLAN && envelope.kind != SEALED_RESULT) || envelope.job_len > SEALED_MAX_JOB ||
		size < HEADER_SIZE(envelope.job_len) + TAG_SIZE || !job_is_valid(envelope.job, envelope.job_len))
		return kettle_fail(err, KETTLE_EINVAL,
			"The sealed envelope is damaged: its kind must be 1 or 2, and its job a name of at most %d plain "
			"characters.",
			SEALED_MAX_JOB);
	envelope.hash = at + 3 + envelope.job_len;
	*ret_envelope = envelope;
	return 0;
}

int
sealed_read_scope(const void *data, size_t size, enum sealed_kind *ret_kind, char **ret_job, char ret_plan_hash[65],
	struct kettle_error *err)
{
	static const char digits[] = "0123456789abcdef";
	AUTO_FREE char *own = NULL;
	struct envelope envelope;
	int rc = find_binary(&data, &size, &own, err);
	if (rc == 0)
		rc = read_header(data, size, &envelope, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		ret_plan_hash[2 * i] = digits[envelope.hash[i] >> 4];
		ret_plan_hash[2 * i + 1] = digits[envelope.hash[i] & 15];
	}
	ret_plan_hash[2 * HASH_SIZE] = '\0';
	*ret_kind = envelope.kind;
	*ret_job = xstrndup(envelope.job, envelope.job_len);
	return 0;
}

/* ---- sealing ---- */

/* New bytes; the caller bounds the size. */
static unsigned char *
deflate_all(const void *data, size_t size, size_t *ret_size)
{
	uLongf packed_size = compressBound((uLong)size);
	unsigned char *packed = xmalloc(packed_size);
	if (compress2(packed, &packed_size, data, (uLong)size, LEVEL) != Z_OK)
		xalloc_fail();
	*ret_size = packed_size;
	return packed;
}

/* Fails only where the library has no memory left. */
static EVP_CIPHER_CTX *
cipher_new(void)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	if (!cipher)
		xalloc_fail();
	return cipher;
}

/* Writes the ciphertext of `in` and the tag behind the header. */
static bool
encrypt(const unsigned char *key, unsigned char *envelope, size_t header_size, const unsigned char *in, size_t size)
{
	EVP_CIPHER_CTX *cipher = cipher_new();
	unsigned char *out = envelope + header_size;
	int len = 0;
	bool done = EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, out - NONCE_SIZE) &&
				EVP_EncryptUpdate(cipher, NULL, &len, envelope, (int)header_size) &&
				EVP_EncryptUpdate(cipher, out, &len, in, (int)size) && EVP_EncryptFinal_ex(cipher, out + len, &len) &&
				EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, out + size);
	EVP_CIPHER_CTX_free(cipher);
	return done;
}

int
sealed_seal(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind, const struct sealed_scope *scope,
	const void *data, size_t size, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	unsigned char hash[HASH_SIZE];
	size_t job_len = strnlen(scope->job, SEALED_MAX_JOB + 1), packed_size = 0;
	if (!job_is_valid(scope->job, job_len) || read_hash(scope->plan_hash, hash))
		return kettle_fail(err, KETTLE_EINVAL,
			"A %s cannot be sealed: its job must be a name of at most %d plain characters, and its plan's hash 64 "
			"hexadecimal digits.",
			kind_name(kind), SEALED_MAX_JOB);
	if (size > SEALED_MAX_CONTENT)
		return kettle_fail(err, KETTLE_ETOOBIG, "A %s of %zu bytes cannot be sealed: at most %u bytes are allowed.",
			kind_name(kind), size, SEALED_MAX_CONTENT);
	AUTO_FREE unsigned char *packed = deflate_all(data, size, &packed_size);
	size_t header_size = HEADER_SIZE(job_len), total = header_size + packed_size + TAG_SIZE;
	AUTO_FREE unsigned char *envelope = xmalloc(total);
	unsigned char *at = envelope;
	memcpy(at, MAGIC, MAGIC_SIZE);
	at += MAGIC_SIZE;
	*at++ = (unsigned char)kind;
	*at++ = (unsigned char)(job_len >> 8);
	*at++ = (unsigned char)(job_len & 0xff);
	memcpy(at, scope->job, job_len);
	memcpy(at + job_len, hash, HASH_SIZE);
	random_bytes(at + job_len + HASH_SIZE, NONCE_SIZE);
	bool done = encrypt(attempt_key, envelope, header_size, packed, packed_size);
	explicit_bzero(packed, packed_size);
	if (!done)
		return kettle_fail(err, KETTLE_EINTERNAL, "OpenSSL on this machine refuses to encrypt with AES-256-GCM.");
	*ret_data = (char *)STEAL(envelope);
	*ret_size = total;
	return 0;
}

char *
sealed_to_text(const void *data, size_t size)
{
	return base64_encode(data, size);
}

/* ---- opening ---- */

/* Decrypts into `out`, which has room for the ciphertext. False: the tag does not fit. */
static bool
decrypt(const unsigned char *key, const struct envelope *envelope, unsigned char *out, size_t size)
{
	EVP_CIPHER_CTX *cipher = cipher_new();
	size_t header_size = HEADER_SIZE(envelope->job_len);
	const unsigned char *in = envelope->data + header_size;
	int len = 0;
	unsigned char tag[TAG_SIZE];
	memcpy(tag, in + size, TAG_SIZE);
	bool done = EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, in - NONCE_SIZE) &&
				EVP_DecryptUpdate(cipher, NULL, &len, envelope->data, (int)header_size) &&
				EVP_DecryptUpdate(cipher, out, &len, in, (int)size) &&
				EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag) &&
				EVP_DecryptFinal_ex(cipher, out + len, &len) > 0;
	EVP_CIPHER_CTX_free(cipher);
	return done;
}

/* What was sealed with the right key may still be a bomb: the other side's machine runs strangers' code. */
static int
inflate_all(const unsigned char *packed, size_t size, size_t max_size, struct buf *out, struct kettle_error *err)
{
	AUTO_FREE unsigned char *chunk = xmalloc(CHUNK);
	z_stream stream = {.next_in = (unsigned char *)packed, .avail_in = (uInt)size};
	int state = inflateInit(&stream);
	if (state != Z_OK)
		xalloc_fail();
	while (state == Z_OK && out->len <= max_size) {
		stream.next_out = chunk;
		stream.avail_out = CHUNK;
		state = inflate(&stream, Z_NO_FLUSH);
		buf_add(out, chunk, CHUNK - stream.avail_out);
	}
	bool whole = state == Z_STREAM_END && stream.avail_in == 0;
	(void)inflateEnd(&stream);
	explicit_bzero(chunk, CHUNK);
	if (out->len > max_size)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "The content of the sealed envelope exceeds the %zu bytes allowed.", max_size);
	return whole ? 0
				 : kettle_fail(err, KETTLE_EINVAL,
					   "The content of the sealed envelope is not a complete zlib stream and nothing else.");
}

/* Whether it says that it is what is expected; the tag proves it afterwards. */
static int
check_scope(
	const struct envelope *envelope, enum sealed_kind kind, const struct sealed_scope *scope, struct kettle_error *err)
{
	unsigned char hash[HASH_SIZE];
	if (read_hash(scope->plan_hash, hash))
		return kettle_fail(err, KETTLE_EINVAL, "The plan's hash must be 64 hexadecimal digits.");
	if (envelope->kind != kind)
		return kettle_fail(err, KETTLE_ECONFLICT, "The sealed envelope of job %.*s holds a %s where a %s is expected.",
			(int)envelope->job_len, envelope->job, kind_name(envelope->kind), kind_name(kind));
	if (strlen(scope->job) != envelope->job_len || memcmp(scope->job, envelope->job, envelope->job_len) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The sealed %s is of job %.*s, not of job %s.", kind_name(kind),
			(int)envelope->job_len, envelope->job, scope->job);
	if (memcmp(hash, envelope->hash, HASH_SIZE) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The sealed %s of job %s belongs to another plan of that job.",
			kind_name(kind), scope->job);
	return 0;
}

int
sealed_open(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind, const struct sealed_scope *scope,
	const void *data, size_t size, size_t max_size, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FREE char *own = NULL;
	struct envelope envelope;
	int rc = find_binary(&data, &size, &own, err);
	if (rc == 0)
		rc = read_header(data, size, &envelope, err);
	if (rc == 0)
		rc = check_scope(&envelope, kind, scope, err);
	/* More than what is allowed comes to by zlib: nothing is decrypted, nor room made for it. */
	if (max_size > SEALED_MAX_CONTENT)
		max_size = SEALED_MAX_CONTENT;
	if (rc == 0 && size > HEADER_SIZE(envelope.job_len) + compressBound(max_size) + TAG_SIZE)
		rc = kettle_fail(err, KETTLE_ETOOBIG, "The sealed %s of job %s exceeds the %zu bytes allowed.", kind_name(kind),
			scope->job, max_size);
	if (rc)
		return rc;
	size_t packed_size = size - HEADER_SIZE(envelope.job_len) - TAG_SIZE;
	AUTO_FREE unsigned char *packed = xmalloc(packed_size);
	AUTO_BUF struct buf out = {0};
	if (decrypt(attempt_key, &envelope, packed, packed_size))
		rc = inflate_all(packed, packed_size, max_size, &out, err);
	else
		rc = kettle_fail(err, KETTLE_EACCES,
			"The sealed %s of job %s cannot be opened: it was changed, or sealed with another key than this one.",
			kind_name(kind), scope->job);
	explicit_bzero(packed, packed_size);
	if (rc)
		return rc;
	*ret_size = out.len;
	*ret_data = buf_take(&out);
	return 0;
}
