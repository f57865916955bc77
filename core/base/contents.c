/* SPDX-License-Identifier: MIT */
/* Bytes inside JSON: base64, and contents as plans carry them. */
#include <config.h>

#include "base/contents.h"

#include <limits.h>

#include "base/base.h"
#include "base/utf8.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *
base64_encode(const void *data, size_t size)
{
	const unsigned char *in = data;
	if (size > SIZE_MAX / 2)
		xalloc_fail();
	char *text = xmalloc((size + 2) / 3 * 4 + 1), *out = text;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)in[i] << 16;
		bits |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
		bits |= left > 2 ? in[i + 2] : 0;
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		*out++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? alphabet[bits & 63] : '=';
	}
	*out = '\0';
	return text;
}

static int
digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four characters, the last `pads` of which are padding, into 3 - pads bytes. */
static int
decode_group(const char *text, size_t pads, unsigned char *out)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < 4; i++) {
		int digit = i < 4 - pads ? digit_of(text[i]) : 0;
		if (digit < 0)
			return KETTLE_EINVAL;
		bits = bits << 6 | (uint32_t)digit;
	}
	/* Unused bits must be 0, so that each content has one text. */
	if (bits & (pads == 2 ? 0xffffu : pads == 1 ? 0xffu : 0u))
		return KETTLE_EINVAL;
	for (size_t i = 0; i < 3 - pads; i++)
		out[i] = (unsigned char)(bits >> (16 - 8 * i));
	return 0;
}

int
base64_decode(const char *text, size_t size, void **ret_data, size_t *ret_size)
{
	if (size % 4)
		return KETTLE_EINVAL;
	AUTO_FREE unsigned char *data = xmalloc(size / 4 * 3 + 1);
	size_t len = 0;
	for (size_t i = 0; i < size; i += 4) {
		bool last = i + 4 == size;
		size_t pads = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
		int rc = decode_group(text + i, pads, data + len);
		if (rc)
			return rc;
		len += 3 - pads;
	}
	data[len] = '\0';
	*ret_size = len;
	*ret_data = STEAL(data);
	return 0;
}

char *
base64url_encode(const void *data, size_t size)
{
	char *text = base64_encode(data, size);
	for (char *at = text; *at; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at == '=' ? '\0' : *at;
	return text;
}

int
base64url_decode(const char *text, size_t size, void **ret_data, size_t *ret_size)
{
	if (size > INT_MAX || memchr(text, '=', size) || memchr(text, '+', size) || memchr(text, '/', size))
		return KETTLE_EINVAL;
	AUTO_FREE char *padded = xasprintf("%.*s%.*s", (int)size, text, (int)(-size & 3), "===");
	for (char *at = padded; *at; at++)
		*at = *at == '-' ? '+' : *at == '_' ? '/' : *at;
	return base64_decode(padded, strlen(padded), ret_data, ret_size);
}

int
contents_bytes(const json_t *contents, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	const json_t *text = json_object_get(contents, "text"), *base64 = json_object_get(contents, "base64");
	if (json_is_string(text)) {
		*ret_size = json_string_length(text);
		*ret_data = xmemdup(json_string_value(text), *ret_size + 1);
		return 0;
	}
	if (!json_is_string(base64))
		return kettle_fail(err, KETTLE_EINVAL, "Contents must be {\"text\": …} or {\"base64\": …} here.");
	void *data = NULL;
	int rc = base64_decode(json_string_value(base64), json_string_length(base64), &data, ret_size);
	if (rc)
		return kettle_fail(err, rc, "The contents given as base64 are not base64.");
	*ret_data = data;
	return 0;
}

json_t *
contents_json(const void *data, size_t size)
{
	if (utf8_valid(data, size))
		return json_pack("{s:s%}", "text", size ? data : "", size);
	AUTO_FREE char *text = base64_encode(data, size);
	return json_pack("{s:s}", "base64", text);
}
