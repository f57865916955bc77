/* SPDX-License-Identifier: MIT */
/* Values of answers: numbers, captured output, statistics of devices, the cases of a result. */
#include <config.h>

#include "common/value.h"

#include <math.h>

#include "base/base.h"
#include "base/number.h"

#define VALUE_KEY_SIZE 64

double
value_of(const json_t *value)
{
	double number = json_is_number(value) ? json_number_value(value) : NAN;
	number_parse(json_string_value(value), &number);
	return number;
}

double
value_number(const json_t *object, const char *key)
{
	return value_of(json_object_get(object, key));
}

const char *
value_log(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_string(value) ? json_string_value(value) : json_text_or_empty(value, "text");
}

json_t *
value_device_stats(const json_t *stats)
{
	static const char *const figures[] = {
		"num_run", "runs_passed", "runs_scored", "runs_secret", "avg_delay", "max_delay", "total_runtime"};
	const size_t prefix = strlen("num_run.");
	json_t *rows = json_array();
	json_object_each(stats, key, value) {
		if (strncmp(key, "num_run.", prefix) != 0)
			continue;
		json_t *row = json_pack("{s:s}", "device", key + prefix);
		for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
			AUTO_FREE char *name = xasprintf("%s.%s", figures[i], key + prefix);
			json_object_set(row, figures[i], json_object_get(stats, name));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

static const json_t *
case_member(const json_t *result, const char *kind, json_int_t index, const char *field)
{
	char key[VALUE_KEY_SIZE];
	snprintf(key, sizeof(key), "%s.%lld.%s", kind, (long long)index, field);
	return json_object_get(result, key);
}

const char *
value_case_text(const json_t *result, const char *kind, json_int_t index, const char *field)
{
	const char *text = json_string_value(case_member(result, kind, index, field));
	return text ? text : "";
}

double
value_of_case(const json_t *result, const char *kind, json_int_t index, const char *field)
{
	return value_of(case_member(result, kind, index, field));
}

struct value_case
value_case(const json_t *result, const char *kind, json_int_t index)
{
#define TEXT(field) value_case_text(result, kind, index, field)
#define NUMBER(field) value_of_case(result, kind, index, field)
	double ratio = NUMBER("ratio");
	return (struct value_case){
		.spec = TEXT("spec"),
		.status = TEXT("status"),
		.error = TEXT("error"),
		.message = TEXT("message"),
		.report = TEXT("report"),
		.mean = NUMBER("mean"),
		.ratio = ratio,
		.off = isfinite(ratio) ? NAN : NUMBER("err"),
		.uncalibrated = strcmp(TEXT("calibrated"), "no") == 0,
	};
#undef TEXT
#undef NUMBER
}

json_int_t
value_case_count(const json_t *result, const char *kind)
{
	char key[VALUE_KEY_SIZE];
	snprintf(key, sizeof(key), "%s-count", kind);
	double count = value_number(result, key);
	return count > 0 ? (json_int_t)fmin(count, (double)json_object_size(result)) : 0;
}
