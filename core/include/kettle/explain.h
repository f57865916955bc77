/* SPDX-License-Identifier: MIT */
/*
 * How languages explain outcomes: sentences, the step results that say them, and what every machine may lack. All of it is pure.
 * [any] Link with `pkg-config --libs kettle-language`.
 */
#ifndef KETTLE_EXPLAIN_H
#define KETTLE_EXPLAIN_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_SENTENCE_SIZE 1200
#define KETTLE_SENTENCE_QUOTE_MAX 300 /* bytes of a line that a sentence quotes */

/* Zero-initialise. */
struct kettle_sentence {
	char text[KETTLE_SENTENCE_SIZE];
	size_t len;
};

/* The string under a key, "" where there is none. Borrowed. */
const char *kettle_json_text(const json_t *object, const char *key);
/* Whether the string under a key is this one. */
bool kettle_json_is(const json_t *object, const char *key, const char *text);

/* Appends; what is too much is cut. */
void kettle_sentence_add(struct kettle_sentence *sentence, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends a line that a tool or a program wrote, cut where a character ends. */
void kettle_sentence_quote(struct kettle_sentence *sentence, const char *line, size_t len);
/* The step result "not passed" that says it: state, blame and retry as `interpret` of kettle/language.h has them. EINVAL. */
int kettle_sentence_result(const struct kettle_sentence *sentence, const char *state, const char *blame, bool retry,
	json_t **ret_result, struct kettle_error *err);

/* What the harness reported of cases that failed, a line each. New string; NULL: no memory. */
char *kettle_explain_reported(const json_t *outcome);
/* KETTLE_ENOENT: the core's own reading says it all. */
int kettle_explain_nothing(struct kettle_error *err);
/*
 * Like `interpret` of kettle/language.h, with KETTLE_ENOENT where it is nothing of the kind: what a machine lacks is its
 * fault, and the sentence says how to get it. product: "CUDA", of the toolkit whose parts the outcome tells; NULL: none.
 */
/* A header that the compiler did not find, where it belongs to a part that the toolkit lacks. */
int kettle_explain_header(const char *product, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
/* A library that the linker did not find, or the loader when the program started. */
int kettle_explain_library(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
/* The compiler that is a library (api: "nvrtc"), which the program that opens it did not find. */
int kettle_explain_rtc(
	const char *product, const char *api, const json_t *outcome, json_t **ret_result, struct kettle_error *err);

#ifdef __cplusplus
}
#endif
#endif
