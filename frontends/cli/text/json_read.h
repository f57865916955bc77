/* SPDX-License-Identifier: MIT */
/* Reading answers: members of JSON objects that may be absent. */
#ifndef KETTLE_CLI_TEXT_JSON_READ_H
#define KETTLE_CLI_TEXT_JSON_READ_H

#include <jansson.h>

/* A number, also one written as text (results are); NAN where there is none. */
double value_of(const json_t *value);
double value_number(const json_t *object, const char *key);
json_int_t value_int(const json_t *object, const char *key, json_int_t otherwise);
/* Captured output: a string, or {"text": …}. "" where there is none. Borrowed. */
const char *value_log(const json_t *object, const char *key);
/* Member "PREFIX.INDEX.FIELD" of a result ("test.0.status"). "" or NAN where there is none. */
const char *value_result(const json_t *result, const char *prefix, json_int_t index, const char *field);
double value_result_number(const json_t *result, const char *prefix, json_int_t index, const char *field);
/* How many cases a result says that it has. Whatever a submission made of that number: no more than the result has members. */
json_int_t value_count(const json_t *result, const char *key);
/* How far the mean of a benchmark may be off, ns: its interval where the harness gives one, else its standard error. NAN
 * without both. */
double value_result_error(const json_t *result, json_int_t index);

#endif
