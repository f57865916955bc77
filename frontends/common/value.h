/* SPDX-License-Identifier: MIT */
/* Values of answers: numbers, captured output, statistics of devices, the cases of a result. Members may be absent. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A number, even if written as text (results are); NAN: none. */
double value_of(const json_t *value);
double value_number(const json_t *object, const char *key);
/* Captured output: a string, or {"text": …}. "": none. Borrowed. */
const char *value_log(const json_t *object, const char *key);
/* The statistics of each device, of the members "NAME.DEVICE" of admin.stats: [{"device", NAME: value}]. New reference. */
json_t *value_device_stats(const json_t *stats);

/* One case of a result: the members "KIND.INDEX.…"; absent texts are "", absent numbers NAN. Texts are borrowed. */
struct value_case {
	const char *spec, *status, *error, *message, *report;
	double mean, ratio; /* mean in ns */
	double off;         /* standard error of the mean, ns; NAN for a ratio to a calibrator */
	bool uncalibrated;  /* `ratio` is to a calibrator that was not measured on a quiet device */
};

/* kind: "test" or "benchmark". */
struct value_case value_case(const json_t *result, const char *kind, json_int_t index);
/* The text of a member "KIND.INDEX.FIELD". "": none. Borrowed. */
const char *value_case_text(const json_t *result, const char *kind, json_int_t index, const char *field);
/* The number in such a member; NAN: none. */
double value_of_case(const json_t *result, const char *kind, json_int_t index, const char *field);
/* The number of cases by "KIND-count"; at most the number of members, whatever a submission wrote there. */
json_int_t value_case_count(const json_t *result, const char *kind);
