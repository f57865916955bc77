/* SPDX-License-Identifier: MIT */
/* Reading answers: members of JSON objects that may be absent. */
#include <config.h>

#include "cli/text/json_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_access.h"

#define VALUE_KEY_SIZE 64

double
value_of(const json_t *value)
{
	if (json_is_number(value))
		return json_number_value(value);
	const char *text = json_string_value(value);
	char *end;
	if (!text || !*text)
		return NAN;
	double number = strtod(text, &end);
	return *end ? NAN : number;
}

double
value_number(const json_t *object, const char *key)
{
	return value_of(json_object_get(object, key));
}

json_int_t
value_int(const json_t *object, const char *key, json_int_t otherwise)
{
	double number = value_number(object, key);
	return number >= -9e15 && number <= 9e15 ? (json_int_t)number : otherwise;
}

const char *
value_log(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_string(value) ? json_string_value(value) : member_text(value, "text");
}

const char *
value_result(const json_t *result, const char *prefix, json_int_t index, const char *field)
{
	char key[VALUE_KEY_SIZE];
	snprintf(key, sizeof(key), "%s.%lld.%s", prefix, (long long)index, field);
	return member_text(result, key);
}

double
value_result_number(const json_t *result, const char *prefix, json_int_t index, const char *field)
{
	char key[VALUE_KEY_SIZE];
	snprintf(key, sizeof(key), "%s.%lld.%s", prefix, (long long)index, field);
	return value_number(result, key);
}

json_int_t
value_count(const json_t *result, const char *key)
{
	json_int_t count = value_int(result, key, 0), most = (json_int_t)json_object_size(result);
	return count < most ? count : most;
}

double
value_result_error(const json_t *result, json_int_t index)
{
	double mean = value_result_number(result, "benchmark", index, "mean"),
		   low = value_result_number(result, "benchmark", index, "low"),
		   high = value_result_number(result, "benchmark", index, "high");
	return isfinite(low) && isfinite(high) ? fmax(mean - low, high - mean)
										   : value_result_number(result, "benchmark", index, "err");
}
