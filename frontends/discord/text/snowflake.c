/* SPDX-License-Identifier: MIT */
/* Discord's identifiers, and the nonces by which it recognises a message that is sent again. */
#include <config.h>

#include "discord/text/snowflake.h"

#include <errno.h>

#include "base/base.h"
#include "base/hash.h"

#define EPOCH INT64_C(1420070400000) /* 2015-01-01 */
#define TIME_SHIFT 22

bool
snowflake_parse(const char *text, uint64_t *ret_id)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;
	if (digits == 0 || digits >= SNOWFLAKE_SIZE || text[digits] != '\0')
		return false;
	errno = 0;
	unsigned long long id = strtoull(text, NULL, 10);
	if (errno != 0 || id == 0)
		return false;
	*ret_id = id;
	return true;
}

bool
snowflake_copy(char ret_text[SNOWFLAKE_SIZE], const char *text)
{
	uint64_t id;
	bool valid = snowflake_parse(text, &id);
	snprintf(ret_text, SNOWFLAKE_SIZE, "%s", valid ? text : "");
	return valid;
}

int64_t
snowflake_time(uint64_t id)
{
	return (int64_t)(id >> TIME_SHIFT) + EPOCH;
}

void
snowflake_nonce(const char *event, const char *channel, char ret_nonce[NONCE_SIZE])
{
	char hex[65];
	/* The length distinguishes ("a", "bc") from ("ab", "c"). */
	AUTO_FREE char *text = xasprintf("%zu %s %s", strlen(event), event, channel);
	sha256_hex(text, strlen(text), hex);
	(void)snprintf(ret_nonce, NONCE_SIZE, "%.*s", NONCE_SIZE - 1, hex);
}
