/* SPDX-License-Identifier: MIT */
/* Reads the result channel: bounded `key: value` lines, of which some keys may come once only. */
#ifndef KETTLE_EXEC_PLAN_RESULT_H
#define KETTLE_EXEC_PLAN_RESULT_H

#include <jansson.h>
#include <kettle/error.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/line.h"
#include "base/text.h"
#include "exec/util/strings.h"

#define RESULT_MAX_KEY 200     /* a longer key is no key: its line is dropped */
#define RESULT_MAX_KEYS 20000  /* different ones; more is over the limit */
#define RESULT_MAX_EVENTS 1000 /* lines passed on as they come */

/* Opened by result_open, closed by result_close. */
struct result {
	json_t *values; /* key → value; the last one of a key that may come again */
	char *error;    /* the first thing that voids the result, a sentence; NULL: none */
	bool over;      /* more bytes or keys than allowed */
	regex_t *unique;
	size_t unique_count;
	struct line_reader lines; /* as long as the channel may be */
	uint64_t bytes, max;
	unsigned events;
	void (*on_value)(void *arg, const char *key, const char *value);
	void *arg;
};

/* unique: POSIX extended patterns, checked, each meant to match a whole key. on_value may be NULL. */
void result_open(struct result *result, uint64_t max, const struct strings *unique,
	void (*on_value)(void *arg, const char *key, const char *value), void *arg);
/* Bytes as they come, in parts of any size. After the limit nothing more is kept. */
void result_add(struct result *result, const char *data, size_t size);
/* The end of the channel: a last line without a newline counts. */
void result_end(struct result *result);
void result_close(struct result *result);

/* Whether a pattern is one, for the plan's check. */
int result_check_pattern(const char *pattern, struct kettle_error *err);

#endif
