/* SPDX-License-Identifier: MIT */
/* Signatures of Discord's HTTP interactions: Ed25519 over the timestamp and the raw body. */
#pragma once

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

struct signature_key;

/* hex: the application's public key, 64 digits. EINVAL. [any] */
int signature_key_new(const char *hex, struct signature_key **ret_key, struct kettle_error *err);
/* NULL is allowed. */
void signature_key_free(struct signature_key *key);
/*
 * Checks that `signature` (128 hexadecimal digits) is of this body at this time (`timestamp`, decimal seconds since
 * 1970), at most max_age_s away from now_s. 0, else EACCES. The strings may have any contents. [any]
 */
int signature_check(const struct signature_key *key, const char *signature, const char *timestamp, const void *body,
	size_t size, int64_t now_s, int64_t max_age_s);
