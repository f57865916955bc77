/* SPDX-License-Identifier: MIT */
/* JSON from other machines, bounded before it is parsed. */
#include <config.h>

#include "base/bounded_json.h"

#include <stdbool.h>

/* Counts levels and values outside strings; the parser checks whether it is JSON at all. */
static int
check_bounds(const char *text, size_t len, size_t max_values, struct kettle_error *err)
{
	bool quoted = false;
	size_t values = 1, depth = 0;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (quoted && c == '\\') {
			i++;
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted) {
			values += c == ',' || c == '[' || c == '{';
			depth += c == '[' || c == '{';
			depth -= depth > 0 && (c == ']' || c == '}');
		}
		if (values > max_values)
			return kettle_fail(err, KETTLE_ETOOBIG, "it has more than %zu values", max_values);
		if (depth > BOUNDED_JSON_DEPTH)
			return kettle_fail(err, KETTLE_ETOOBIG, "it has more than %d levels", BOUNDED_JSON_DEPTH);
	}
	return 0;
}

json_t *
bounded_json_parse(const char *text, size_t len, size_t max_values, size_t flags, struct kettle_error *err)
{
	json_error_t fault;
	if (check_bounds(text, len, max_values, err) < 0)
		return NULL;
	json_t *object = json_loadb(text, len, flags, &fault);
	if (json_is_object(object))
		return object;
	(void)kettle_fail(err, KETTLE_EINVAL, "it is %s", object ? "no JSON object" : "no valid JSON");
	json_decref(object);
	return NULL;
}
