/* SPDX-License-Identifier: MIT */
/* Values of answers: numbers, captured output, the cases of a result. Members may be absent. */
#ifndef KETTLE_FRONTENDS_COMMON_VALUE_H
#define KETTLE_FRONTENDS_COMMON_VALUE_H

#include <jansson.h>
#include <stdbool.h>

/* A number, also one written as text (results are); NAN where there is none. */
double value_of(const json_t *value);
double value_number(const json_t *object, const char *key);
/* Captured output: a string, or {"text": …}. "" where there is none. Borrowed. */
const char *value_log(const json_t *object, const char *key);

/* One case of a result: the members "KIND.INDEX.…", texts "" and numbers NAN where they are absent. Texts are borrowed. */
struct value_case {
	const char *spec, *status, *error, *message, *report;
	double mean, ratio; /* mean in ns */
	double off;         /* the standard error of a plain mean, ns; NAN of one that is a ratio to a calibrator */
	bool uncalibrated;  /* that ratio is to a calibrator that was not measured on the quiet device */
};

/* kind: "test" or "benchmark". */
struct value_case value_case(const json_t *result, const char *kind, json_int_t index);
/* The text of a member "KIND.INDEX.FIELD". "" where there is none. Borrowed. */
const char *value_case_text(const json_t *result, const char *kind, json_int_t index, const char *field);
/* The number that it is; NAN where there is none. */
double value_of_case(const json_t *result, const char *kind, json_int_t index, const char *field);
/* The number of cases by "KIND-count"; no more than the result has members, whatever a submission wrote there. */
json_int_t value_case_count(const json_t *result, const char *kind);

#endif
