/* SPDX-License-Identifier: MIT */
/* Times that Discord shows each reader in the reader's language and zone. */
#include <config.h>

#include "discord/text/timestamp.h"

#include <stdio.h>

#include "common/format.h"

void
timestamp_text(int64_t ms, char style, char ret_text[TIMESTAMP_SIZE])
{
	int64_t seconds = ms / 1000 - (ms % 1000 < 0);
	(void)snprintf(ret_text, TIMESTAMP_SIZE, "<t:%lld:%c>", (long long)seconds, style);
}

void
timestamp_of(const char *iso, char style, char ret_text[TIMESTAMP_SIZE])
{
	int64_t ms;
	if (format_parse_time(iso, &ms))
		timestamp_text(ms, style, ret_text);
	else
		(void)snprintf(ret_text, TIMESTAMP_SIZE, "–");
}
