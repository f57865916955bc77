/* SPDX-License-Identifier: MIT */
/*
 * For languages that explain outcomes: sentences, step results, and what a machine lacks. All functions are pure. [any]
 * Link with `pkg-config --libs kettle-language`.
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

/* The string under a key, or "". Borrowed. */
const char *kettle_json_text(const json_t *object, const char *key);
/* Whether the string under a key is this one. */
bool kettle_json_is(const json_t *object, const char *key, const char *text);

/* Appends; cuts what does not fit. */
void kettle_sentence_add(struct kettle_sentence *sentence, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends a line of output, cut between characters. */
void kettle_sentence_quote(struct kettle_sentence *sentence, const char *line, size_t len);
/* The step result "not passed" with the sentence: state, blame and retry of `interpret` in kettle/language.h. EINVAL. */
int kettle_sentence_result(const struct kettle_sentence *sentence, const char *state, const char *blame, bool retry,
	json_t **ret_result, struct kettle_error *err);

/* The same with the one sentence that the format makes. */
int kettle_explain(const char *state, const char *blame, bool retry, json_t **ret_result, struct kettle_error *err,
	const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * The same for a machine that lacks something, named by `lacks`; another attempt would not help. own: only the
 * submission needs it, so the submission has failed; else the machine is at fault.
 */
int kettle_explain_lacks(const char *lacks, bool own, json_t **ret_result, struct kettle_error *err, const char *format,
	...) __attribute__((format(printf, 5, 6)));

/* The harness's messages on failed cases, a line each. New string; NULL: there is not enough memory. */
char *kettle_explain_reported(const json_t *outcome);
/* Returns KETTLE_ENOENT: nothing to add to the core's own reading. */
int kettle_explain_nothing(struct kettle_error *err);
/*
 * Whether a build step reads no part of a submission (`interpret` of kettle/language.h), so that its output can be
 * trusted.
 */
bool kettle_explain_is_task_only(const json_t *step);
/*
 * Like `interpret` of kettle/language.h for build steps, or KETTLE_ENOENT if the outcome shows no such failure. The
 * step result tells how to get the missing part. It blames the machine where the step is task_only or facts that the
 * machine reports of its toolkit agree. product: "CUDA", the toolkit of the outcome's parts; NULL: none.
 */
/* A header that the compiler did not find, of a part that the toolkit lacks. Blames the participant, unless task_only. */
int kettle_explain_header(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
/* A library that the linker did not find: any where the step is task_only, else a missing part that its command names. */
int kettle_explain_library(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
/* The compiler library (api: "nvrtc") that the program did not find, a part that the toolkit lacks. */
int kettle_explain_rtc(
	const char *product, const char *api, const json_t *outcome, json_t **ret_result, struct kettle_error *err);

#ifdef __cplusplus
}
#endif
#endif
