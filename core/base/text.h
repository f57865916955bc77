/* SPDX-License-Identifier: MIT */
/* Bytes and text: a growing buffer, UTF-8, nearest names, hashes, base64, times. All [any]. */
#ifndef KETTLE_TEXT_H
#define KETTLE_TEXT_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Growing bytes, always NUL-terminated once something was added. Zero-initialise; buf_free at the end. */
struct buf {
	char *data;
	size_t len, cap;
};
int buf_add(struct buf *buf, const void *data, size_t size); /* KETTLE_ENOMEM or 0 */
int buf_adds(struct buf *buf, const char *text);
int buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *buf_take(struct buf *buf); /* the caller frees; "" when empty; NULL: no memory */
void buf_free(struct buf *buf);
#define AUTO_BUF __attribute__((cleanup(buf_free)))

/* Whether it is UTF-8 without NUL (what JSON strings can hold). */
bool utf8_valid(const char *data, size_t size);
/*
 * Makes bytes into UTF-8 that JSON, SQLite and terminals can hold: invalid sequences and NUL become U+FFFD, other
 * control characters than \t \n become U+FFFD as well (so that no escape sequence reaches a terminal); \r\n becomes \n.
 * Appends to out; returns how many were replaced.
 */
size_t utf8_clean(const char *data, size_t size, struct buf *out);

/* The candidate that is nearest to word (edit distance at most a third of its length, at least 1), or NULL. List ends
 * with NULL. */
const char *nearest(const char *word, const char *const *candidates);
/* The same over the keys of an object. Borrowed from it. */
const char *nearest_key(const char *word, const json_t *object);

/* SHA-256 as 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *data, size_t size, char ret_hex[65]);

/* Standard base64. base64_encode: new string. base64_decode: new bytes with a NUL behind them; whitespace is refused.
 */
char *base64_encode(const void *data, size_t size);
int base64_decode(const char *text, size_t size, void **ret_data, size_t *ret_size);

/* Contents ({"text"} or {"base64"}) ↔ bytes. contents_bytes: new bytes, NUL behind them. contents_json picks text where
 * it can. */
int contents_bytes(const json_t *contents, char **ret_data, size_t *ret_size, struct kettle_error *err);
json_t *contents_json(const void *data, size_t size);

/* UTC ISO 8601 with milliseconds, "2026-07-01T10:00:00.000Z", of a time in ms since 1970. */
#define TIME_TEXT_SIZE 32
void time_text(int64_t ms, char ret_text[TIME_TEXT_SIZE]);
int64_t time_now_ms(void); /* wall clock, ms since 1970 */
uint64_t time_monotonic_ns(void);
/*
 * A deadline: "YYYY-MM-DD" (its end, 23:59:59.999 UTC), "YYYY-MM-DD HH:MM[:SS]" (T and Z allowed, one-digit hours too),
 * "+30d",
 * "+12h", "+90m" from now. Refuses dates that do not exist.
 */
int time_parse_deadline(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err);

/* Bytes of a cryptographic random source. Never fails: aborts where the kernel has none. */
void random_bytes(void *data, size_t size);

#endif
