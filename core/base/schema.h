/* SPDX-License-Identifier: MIT */
/* The one checker: a value against a schema, for options, configuration, tasks, plans and requests. */
#ifndef KETTLE_SCHEMA_H
#define KETTLE_SCHEMA_H

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/option.h>

/*
 * The subset of JSON Schema 2020-12 that is understood: type (one or a list), enum, const, properties, required,
 * additionalProperties (bool or schema), propertyNames.pattern, items, minItems, maxItems, minProperties,
 * maxProperties, minLength, maxLength, pattern (POSIX extended), minimum, maximum, exclusiveMinimum, oneOf (told apart
 * by the keys present), $defs with $ref "#/$defs/NAME", default, title, description. A schema that uses another
 * keyword is refused by schema_load, so nothing is ignored in silence.
 */

/* Parses schema text and checks that it is within the subset. New reference. */
int schema_load(const char *text, json_t **ret_schema, struct kettle_error *err);

/*
 * Checks value. On the first fault err is a sentence that names the place, what was found and what would be right,
 * an unknown key together with the nearest known one. With `name`, it begins "NAME:LINE: " (lines as yaml_parse gives
 * them; may be NULL) or "NAME: ". [any]
 */
int schema_check(
	const json_t *schema, const json_t *value, const char *name, const json_t *lines, struct kettle_error *err);

/* Fills in defaults of absent properties, in place, recursively. */
int schema_defaults(const json_t *schema, json_t *value, struct kettle_error *err);

/* The schema of an option table, as an object schema. New reference; NULL: no memory. */
json_t *schema_of_options(const struct kettle_option *options, size_t count, size_t option_size);

#endif
