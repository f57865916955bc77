/* SPDX-License-Identifier: MIT */
/* Sealed envelopes: AES-256-GCM over zlib, bound to kind, job, attempt and plan. */
#include <config.h>

#include "sealed/sealed.h"

#include <ctype.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <zlib.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/contents.h"
#include "base/hash.h"

#define MAGIC "KTLE1\n"
#define MAGIC_SIZE (sizeof(MAGIC) - 1)
#define FAMILY "KTLE" /* the first bytes of every version's magic */
#define VERSION_AT (sizeof(FAMILY) - 1)
#define HASH_SIZE 32
#define NONCE_SIZE 12
#define TAG_SIZE 16
#define HEADER_SIZE(job_len) (MAGIC_SIZE + 3 + (job_len) + HASH_SIZE + NONCE_SIZE)
#define CODED_PIECE (SEALED_PIECE / 3 * 4) /* characters of the text form of a piece */
#define MOST_SPACE 64                      /* characters of white space behind the text form */
#define LEVEL 6
/* Keys in base64: 43 digits and one "=". */
#define KEY_TEXT_SIZE ((SEALED_KEY_SIZE + 2) / 3 * 4)

static const char job_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/* The header of an envelope, and its position. */
struct envelope {
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
	/* RFC 5869: one block of output is enough, the HMAC of the info and the byte 1. */
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

/* ---- reading in pieces ---- */

/* The binary form of an envelope, whatever form its source has. */
struct input {
	const struct sealed_source *source;
	bool text;
	uint64_t size; /* of the binary form */
	unsigned char *piece;
};
#define AUTO_INPUT __attribute__((cleanup(close_input)))

static void
close_input(struct input *input)
{
	free(input->piece);
}

/* The text form ends with at most two "=", and perhaps with white space. */
static int
measure_text(struct input *input, struct kettle_error *err)
{
	char end[MOST_SPACE + 2];
	uint64_t size = input->source->size;
	size_t len = size < sizeof(end) ? (size_t)size : sizeof(end);
	int rc = input->source->read(input->source->arg, size - len, end, len, err);
	if (rc)
		return rc;
	for (; len && isspace((unsigned char)end[len - 1]); len--)
		size--;
	if (len < 2 || size % 4)
		return fail_shape(err);
	input->size = size / 4 * 3 - (end[len - 1] == '=') - (end[len - 1] == '=' && end[len - 2] == '=');
	return 0;
}

static int
open_input(struct input *input, const struct sealed_source *source, struct kettle_error *err)
{
	char magic[MAGIC_SIZE];
	if (source->size < HEADER_SIZE(1) + TAG_SIZE)
		return fail_shape(err);
	int rc = source->read(source->arg, 0, magic, sizeof(magic), err);
	if (rc)
		return rc;
	*input = (struct input){.source = source, .size = source->size, .piece = xmalloc(SEALED_PIECE)};
	input->text = memcmp(magic, FAMILY, strlen(FAMILY)) != 0;
	rc = input->text ? measure_text(input, err) : 0;
	return rc == 0 && input->size < HEADER_SIZE(1) + TAG_SIZE ? fail_shape(err) : rc;
}

/* From a number of whole pieces on; `size` bytes. */
static int
decode_piece(struct input *input, uint64_t offset, size_t size, struct kettle_error *err)
{
	char coded[CODED_PIECE];
	size_t len = (size + 2) / 3 * 4, got = 0;
	AUTO_FREE void *data = NULL;
	int rc = input->source->read(input->source->arg, offset / 3 * 4, coded, len, err);
	if (rc)
		return rc;
	if (base64_decode(coded, len, &data, &got) || got != size)
		return fail_shape(err);
	memcpy(input->piece, data, size);
	return 0;
}

static int
read_piece(struct input *input, uint64_t offset, size_t *ret_size, struct kettle_error *err)
{
	uint64_t left = input->size - offset;
	size_t size = left < SEALED_PIECE ? (size_t)left : SEALED_PIECE;
	*ret_size = size;
	return input->text ? decode_piece(input, offset, size, err)
					   : input->source->read(input->source->arg, offset, input->piece, size, err);
}

/* An envelope in memory. */
struct held {
	const char *data;
};

static int
read_held(void *arg, uint64_t offset, void *data, size_t size, struct kettle_error *err)
{
	const struct held *held = arg;
	(void)err;
	memcpy(data, held->data + offset, size);
	return 0;
}

/* ---- the header ---- */

/* at: the first piece of an envelope of this size. */
static int
read_header(const unsigned char *at, uint64_t size, struct envelope *ret_envelope, struct kettle_error *err)
{
	if (memcmp(at, FAMILY, strlen(FAMILY)) != 0)
		return fail_shape(err);
	if (memcmp(at, MAGIC, MAGIC_SIZE) != 0)
		return kettle_fail(err, KETTLE_EVERSION,
			"This envelope is of version %c, and Kettle %s reads version %c; use the same version of Kettle on both "
			"sides.",
			at[VERSION_AT] >= '0' && at[VERSION_AT] <= '9' ? at[VERSION_AT] : '?', PACKAGE_VERSION, MAGIC[VERSION_AT]);
	at += MAGIC_SIZE;
	struct envelope envelope = {
		.kind = (enum sealed_kind)at[0], .job_len = (size_t)at[1] << 8 | at[2], .job = (const char *)at + 3};
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
	struct held held = {data};
	const struct sealed_source source = {size, read_held, &held};
	AUTO_INPUT struct input input = {0};
	struct envelope envelope;
	size_t first;
	int rc = open_input(&input, &source, err);
	if (rc == 0)
		rc = read_piece(&input, 0, &first, err);
	if (rc == 0)
		rc = read_header(input.piece, input.size, &envelope, err);
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

struct opening {
	struct input input;
	const unsigned char *key;
	enum sealed_kind kind;
	const struct sealed_scope *scope;
	uint64_t max_size;
	EVP_CIPHER_CTX *cipher;
	size_t header_size;
	unsigned char *plain; /* a piece, decrypted */
	unsigned char tag[TAG_SIZE];
	/* Of the content; sink NULL: the envelope is only proven. */
	sealed_sink sink;
	void *arg;
	unsigned char *chunk; /* a piece of the content */
	uint64_t taken;
	z_stream stream;
	int state; /* of inflate */
};

/* Whether its header names what is expected; the tag proves it afterwards. */
static int
check_scope(
	const struct envelope *envelope, enum sealed_kind kind, const struct sealed_scope *scope, struct kettle_error *err)
{
	unsigned char hash[HASH_SIZE];
	if (read_hash(scope->plan_hash, hash))
		return kettle_fail(err, KETTLE_EINVAL, "The plan's hash must be 64 hexadecimal digits.");
	if (envelope->kind != kind)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"The sealed envelope of job %.*s contains a %s where a %s is expected.", (int)envelope->job_len,
			envelope->job, kind_name(envelope->kind), kind_name(kind));
	if (strlen(scope->job) != envelope->job_len || memcmp(scope->job, envelope->job, envelope->job_len) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The sealed %s is of job %.*s, not of job %s.", kind_name(kind),
			(int)envelope->job_len, envelope->job, scope->job);
	if (memcmp(hash, envelope->hash, HASH_SIZE) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The sealed %s of job %s belongs to another plan of that job.",
			kind_name(kind), scope->job);
	return 0;
}

/* The envelope before its ciphertext. */
static int
begin(struct opening *opening, struct kettle_error *err)
{
	struct envelope envelope;
	const unsigned char *header = opening->input.piece;
	int len = 0, rc = read_header(header, opening->input.size, &envelope, err);
	if (rc == 0)
		rc = check_scope(&envelope, opening->kind, opening->scope, err);
	if (rc)
		return rc;
	opening->header_size = HEADER_SIZE(envelope.job_len);
	/* zlib makes at most this many bytes of an allowed content: a larger envelope is neither decrypted nor read. */
	if (opening->input.size > opening->header_size + compressBound(opening->max_size) + TAG_SIZE)
		return kettle_fail(err, KETTLE_ETOOBIG, "The sealed %s of job %s exceeds the %llu bytes allowed.",
			kind_name(opening->kind), opening->scope->job, (unsigned long long)opening->max_size);
	if (!EVP_DecryptInit_ex(
			opening->cipher, EVP_aes_256_gcm(), NULL, opening->key, header + opening->header_size - NONCE_SIZE) ||
		!EVP_DecryptUpdate(opening->cipher, NULL, &len, header, (int)opening->header_size))
		return kettle_fail(err, KETTLE_EINTERNAL, "OpenSSL on this machine refuses to decrypt with AES-256-GCM.");
	return 0;
}

/* Content that was sealed with the right key may still be a bomb: the other machine runs strangers' code. */
static int
inflate_piece(struct opening *opening, size_t size, struct kettle_error *err)
{
	z_stream *stream = &opening->stream;
	int rc = 0;
	stream->next_in = opening->plain;
	stream->avail_in = (uInt)size;
	stream->avail_out = 0;
	while (rc == 0 && opening->state == Z_OK && (stream->avail_in || stream->avail_out == 0)) {
		stream->next_out = opening->chunk;
		stream->avail_out = SEALED_PIECE;
		opening->state = inflate(stream, Z_NO_FLUSH);
		size_t made = SEALED_PIECE - stream->avail_out;
		/* inflate needs more input, which is no error. */
		if (opening->state == Z_BUF_ERROR && stream->avail_in == 0)
			opening->state = Z_OK;
		opening->taken += made;
		if (opening->taken > opening->max_size)
			rc = kettle_fail(err, KETTLE_ETOOBIG, "The content of the sealed envelope exceeds the %llu bytes allowed.",
				(unsigned long long)opening->max_size);
		else if (made)
			rc = opening->sink(opening->arg, opening->chunk, made, err);
	}
	if (rc == 0 && opening->state != Z_OK && (opening->state != Z_STREAM_END || stream->avail_in))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "The content of the sealed envelope is not a complete zlib stream and nothing else.");
	return rc;
}

/* The piece that begins at offset: ciphertext, and at the end of the envelope its tag. */
static int
decrypt_piece(struct opening *opening, uint64_t offset, size_t size, struct kettle_error *err)
{
	const unsigned char *piece = opening->input.piece;
	const uint64_t tag_at = opening->input.size - TAG_SIZE, end = offset + size;
	uint64_t from = offset > opening->header_size ? offset : opening->header_size, to = end < tag_at ? end : tag_at;
	int len = 0, rc = 0;
	if (from < to &&
		!EVP_DecryptUpdate(opening->cipher, opening->plain, &len, piece + (from - offset), (int)(to - from)))
		rc = kettle_fail(err, KETTLE_EINTERNAL, "OpenSSL on this machine refuses to decrypt with AES-256-GCM.");
	if (rc == 0 && from < to && opening->sink)
		rc = inflate_piece(opening, (size_t)(to - from), err);
	for (from = offset > tag_at ? offset : tag_at; from < end; from++)
		opening->tag[from - tag_at] = piece[from - offset];
	return rc;
}

static int
read_envelope(struct opening *opening, struct kettle_error *err)
{
	int rc = 0, len = 0;
	size_t size = 0;
	for (uint64_t offset = 0; rc == 0 && offset < opening->input.size; offset += size) {
		rc = read_piece(&opening->input, offset, &size, err);
		if (rc == 0 && offset == 0)
			rc = begin(opening, err);
		if (rc == 0)
			rc = decrypt_piece(opening, offset, size, err);
	}
	if (rc)
		return rc;
	if (!EVP_CIPHER_CTX_ctrl(opening->cipher, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, opening->tag) ||
		EVP_DecryptFinal_ex(opening->cipher, opening->plain, &len) <= 0)
		return kettle_fail(err, KETTLE_EACCES,
			"The sealed %s of job %s cannot be opened: it was changed, or sealed with another key than this one.",
			kind_name(opening->kind), opening->scope->job);
	if (opening->sink && opening->state != Z_STREAM_END)
		return kettle_fail(
			err, KETTLE_EINVAL, "The content of the sealed envelope is not a complete zlib stream and nothing else.");
	return 0;
}

int
sealed_open_stream(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind,
	const struct sealed_scope *scope, const struct sealed_source *source, uint64_t max_size, sealed_sink sink,
	void *arg, struct kettle_error *err)
{
	struct opening opening = {.key = attempt_key, .kind = kind, .scope = scope, .max_size = max_size};
	if (opening.max_size > SEALED_MAX_CONTENT)
		opening.max_size = SEALED_MAX_CONTENT;
	opening.cipher = cipher_new();
	opening.plain = xmalloc(SEALED_PIECE);
	opening.chunk = xmalloc(SEALED_PIECE);
	if (inflateInit(&opening.stream) != Z_OK)
		xalloc_fail();
	int rc = open_input(&opening.input, source, err);
	if (rc == 0)
		rc = read_envelope(&opening, err);
	opening.sink = sink;
	opening.arg = arg;
	if (rc == 0)
		rc = read_envelope(&opening, err);
	(void)inflateEnd(&opening.stream);
	explicit_bzero(opening.plain, SEALED_PIECE);
	explicit_bzero(opening.chunk, SEALED_PIECE);
	free_all(opening.plain, opening.chunk);
	EVP_CIPHER_CTX_free(opening.cipher);
	close_input(&opening.input);
	return rc;
}

static int
hold(void *arg, const void *data, size_t size, struct kettle_error *err)
{
	(void)err;
	buf_add(arg, data, size);
	return 0;
}

int
sealed_open(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind, const struct sealed_scope *scope,
	const void *data, size_t size, size_t max_size, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	struct held held = {data};
	const struct sealed_source source = {size, read_held, &held};
	AUTO_BUF struct buf out = {0};
	int rc = sealed_open_stream(attempt_key, kind, scope, &source, max_size, hold, &out, err);
	if (rc)
		return rc;
	*ret_size = out.len;
	*ret_data = buf_take(&out);
	return 0;
}
