/* SPDX-License-Identifier: MIT */
/* Times that Discord shows each reader in the reader's language and zone. All [any]. */
#pragma once

#include <stdint.h>

#define TIMESTAMP_SIZE 64

#define TIMESTAMP_RELATIVE 'R' /* "in 3 days" */
#define TIMESTAMP_DATE 'f'     /* "1 July 2026 10:00" */

/* The markup "<t:SECONDS:STYLE>" of a time in ms since 1970. */
void timestamp_text(int64_t ms, char style, char ret_text[TIMESTAMP_SIZE]);
/* The markup of a time in the core's answers; "–" for a text that is no time. */
void timestamp_of(const char *iso, char style, char ret_text[TIMESTAMP_SIZE]);
