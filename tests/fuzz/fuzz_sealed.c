/* SPDX-License-Identifier: MIT */
/*
 * Sealed envelopes, and what is in a result's, with a fixed key; the first byte chooses: an envelope in either form; a
 * compressed content that was sealed with the right key; the content of a result; the text of a key.
 */
#include <config.h>

#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sealed/result_package.h"
#include "sealed/sealed.h"

#define MAX_CONTENT (1u << 20)
#define JOB "kettle-1f0c9a3e-12.1"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADER_SIZE (6 + 1 + 2 + sizeof(JOB) - 1 + 32 + 12)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char unit_key[SEALED_KEY_SIZE] = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";

static void
read_package(const void *data, size_t size)
{
	AUTO_JSON json_t *completion = NULL;
	AUTO_FREE char *run = NULL;
	struct result_reader *reader = result_reader_new(NULL, MAX_CONTENT);
	if (result_reader_take(reader, data, size, NULL) == 0 &&
		result_reader_finish(reader, &completion, &run, NULL) == 0 && !json_is_object(completion))
		abort();
	result_reader_free(reader);
}

/* Opens an envelope as what it says that it is. */
static void
read_envelope(const void *data, size_t size)
{
	enum sealed_kind kind = SEALED_PLAN;
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *job = NULL, *content = NULL, *sealed = NULL;
	char hash[65] = "";
	size_t content_size = 0, sealed_size = 0;
	if (sealed_read_scope(data, size, &kind, &job, hash, NULL))
		return;
	const struct sealed_scope scope = {job, hash};
	sealed_key_derive(unit_key, job, key);
	int rc = sealed_open(key, kind, &scope, data, size, MAX_CONTENT, &content, &content_size, NULL);
	if (rc == KETTLE_ECONFLICT || (rc == 0 && content_size > MAX_CONTENT))
		abort();
	/* Every name that is read can be sealed under. */
	if (sealed_seal(key, kind, &scope, "", 0, &sealed, &sealed_size, NULL))
		abort();
	if (rc == 0 && kind == SEALED_RESULT)
		read_package(content, content_size);
}

/* What was sealed with the right key, and no zlib of ours has compressed. */
static void
inflate_sealed(const uint8_t *packed, size_t size)
{
	const struct sealed_scope scope = {JOB, HASH};
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *sealed = NULL;
	AUTO_FREE unsigned char *made = xmalloc(HEADER_SIZE + size + 16);
	size_t sealed_size = 0;
	int len = 0;
	sealed_key_derive(unit_key, JOB, key);
	if (sealed_seal(key, SEALED_RESULT, &scope, "", 0, &sealed, &sealed_size, NULL))
		abort();
	memcpy(made, sealed, HEADER_SIZE);
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	if (!cipher || !EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, made + HEADER_SIZE - 12) ||
		!EVP_EncryptUpdate(cipher, NULL, &len, made, (int)HEADER_SIZE) ||
		!EVP_EncryptUpdate(cipher, made + HEADER_SIZE, &len, packed, (int)size) ||
		!EVP_EncryptFinal_ex(cipher, made + HEADER_SIZE + len, &len) ||
		!EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, made + HEADER_SIZE + size))
		abort();
	EVP_CIPHER_CTX_free(cipher);
	read_envelope(made, HEADER_SIZE + size + 16);
}

static void
read_key(const uint8_t *data, size_t size)
{
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *text = xstrndup((const char *)data, size);
	(void)sealed_key_parse(text, key, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	switch (data[0]) {
	case 'e':
		read_envelope(data + 1, size - 1);
		break;
	case 'z':
		inflate_sealed(data + 1, size - 1);
		break;
	case 'p':
		read_package(data + 1, size - 1);
		break;
	case 'k':
		read_key(data + 1, size - 1);
		break;
	}
	return 0;
}
