/* SPDX-License-Identifier: MIT */
/* Signatures of Discord's HTTP interactions. */
#include <config.h>

#include "discord/gateway/signature.h"

#include <openssl/evp.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/number.h"

#define KEY_BYTES 32
#define SIGNATURE_BYTES 64
#define TIMESTAMP_MAX 19 /* digits */

struct signature_key {
	EVP_PKEY *key;
};

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Whether the text is exactly so many bytes in hexadecimal. */
static bool
read_hex(const char *text, unsigned char *bytes, size_t count)
{
	if (strnlen(text, 2 * count + 1) != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

int
signature_key_new(const char *hex, struct signature_key **ret_key, struct kettle_error *err)
{
	unsigned char bytes[KEY_BYTES];
	EVP_PKEY *key =
		read_hex(hex, bytes, KEY_BYTES) ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, KEY_BYTES) : NULL;
	if (!key)
		return kettle_fail(err, KETTLE_EINVAL,
			"`public_key` is not the application's public key, which has %d hexadecimal digits.", 2 * KEY_BYTES);
	*ret_key = xmalloc(sizeof(**ret_key));
	(*ret_key)->key = key;
	return 0;
}

void
signature_key_free(struct signature_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->key);
	free(key);
}

int
signature_check(const struct signature_key *key, const char *signature, const char *timestamp, const void *body,
	size_t size, int64_t now_s, int64_t max_age_s)
{
	unsigned char bytes[SIGNATURE_BYTES];
	long long signed_s = 0;
	AUTO_BUF struct buf text = {0};
	size_t len = strnlen(timestamp, TIMESTAMP_MAX + 1);
	if (!read_hex(signature, bytes, SIGNATURE_BYTES) || len > TIMESTAMP_MAX || strspn(timestamp, "0123456789") != len ||
		!number_parse_integer(timestamp, &signed_s) || signed_s < now_s - max_age_s || signed_s > now_s + max_age_s)
		return KETTLE_EACCES;
	buf_add(&text, timestamp, len);
	buf_add(&text, body, size);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->key) == 1 &&
				EVP_DigestVerify(context, bytes, sizeof(bytes), (const unsigned char *)text.data, text.len) == 1;
	EVP_MD_CTX_free(context);
	return good ? 0 : KETTLE_EACCES;
}
