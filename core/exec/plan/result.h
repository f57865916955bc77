/* SPDX-License-Identifier: MIT */
/* Reads the result channel: limited `key: value` lines, in which some keys may come only once. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/line.h"
#include "base/text.h"
#include "exec/util/strings.h"

#define RESULT_MAX_KEY 200     /* a line with a longer key is dropped */
#define RESULT_MAX_KEYS 20000  /* different keys; more exceed the limit */
#define RESULT_MAX_EVENTS 1000 /* lines that are passed on when they come */

/* Opened by result_open, closed by result_close. */
struct result {
	json_t *values; /* key → value; of a key that may come again, the last value */
	char *error;    /* the first reason that voids the result, a sentence; NULL: none */
	bool over;      /* more bytes or keys than allowed came */
	regex_t *unique;
	size_t unique_count;
	struct line_reader lines; /* limited to the channel's size */
	uint64_t bytes, max;
	unsigned events;
	void (*on_value)(void *arg, const char *key, const char *value);
	void *arg;
};

/* unique: checked POSIX extended patterns, each of which matches a whole key. on_value may be NULL. */
void result_open(struct result *result, uint64_t max, const struct strings *unique,
	void (*on_value)(void *arg, const char *key, const char *value), void *arg);
/* Adds bytes in parts of any size. Keeps nothing after the limit. */
void result_add(struct result *result, const char *data, size_t size);
/* The channel has ended: a last line without a newline counts. */
void result_end(struct result *result);
void result_close(struct result *result);

/* Whether the text is a pattern, for the check of a plan. */
int result_check_pattern(const char *pattern, struct kettle_error *err);
