/* SPDX-License-Identifier: MIT */
/* Times: stamps for the edges, clocks for durations, deadlines that people write. All [any]. */
#pragma once

#include <kettle/error.h>
#include <stdint.h>

/* UTC ISO 8601 with milliseconds, "2026-07-01T10:00:00.000Z", of a time in ms since 1970. */
#define TIME_TEXT_SIZE 32
char *time_text(int64_t ms, char ret_text[TIME_TEXT_SIZE]);
/* The same text, valid until the block ends. */
#define TIME_TEXT(ms) time_text(ms, (char[TIME_TEXT_SIZE]){0})
int64_t time_now_ms(void); /* wall clock, ms since 1970 */
uint64_t time_monotonic_ns(void);

/*
 * A deadline: "YYYY-MM-DD" (its end, 23:59:59.999 UTC), "YYYY-MM-DD HH:MM[:SS]" (T and Z allowed, one-digit hours
 * too), "+30d", "+12h", "+90m" from now (at most a hundred years). EINVAL: anything else, and dates that do not exist.
 */
int time_parse_deadline(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err);
/* The same of a time at which something begins: a date is its beginning, 00:00 UTC. */
int time_parse_opening(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err);
