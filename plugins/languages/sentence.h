/* SPDX-License-Identifier: MIT */
/* The sentences with which languages explain outcomes, and the verdicts that say them. Pure. [any] */
#ifndef KETTLE_SENTENCE_H
#define KETTLE_SENTENCE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#define SENTENCE_SIZE 1200
#define SENTENCE_REPEAT_MAX 300 /* bytes of a line that a sentence repeats */

/* Zero-initialise. */
struct sentence {
	char text[SENTENCE_SIZE];
	size_t len;
};

/* Appends; what is too much is cut. */
void sentence_say(struct sentence *sentence, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a line that somebody else wrote, cut where a character ends. */
void sentence_repeat(struct sentence *sentence, const char *line, size_t len);
/* The verdict "not passed" that says it: state, blame and retry as `interpret` of kettle/language.h has them. EINVAL. */
int sentence_give(const struct sentence *sentence, const char *state, const char *blame, bool retry,
	json_t **ret_verdict, struct kettle_error *err);
/* KETTLE_ENOENT: the core's own reading says it all. */
int sentence_nothing(struct kettle_error *err);
/* What the harness reported of cases that failed, a line each. New string; NULL: no memory. */
char *sentence_reported(const json_t *outcome);

#endif
