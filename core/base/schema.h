/* SPDX-License-Identifier: MIT */
/* The one checker: a value against a schema, for options, configuration, tasks, plans and requests. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#define SCHEMA_MAX_DEPTH 200 /* levels of a value or a schema, references counted */

/*
 * The subset of JSON Schema 2020-12 that is understood: type (one or a list), enum, const, properties, required,
 * additionalProperties (bool or schema), propertyNames.pattern, items, minItems, maxItems, minProperties,
 * maxProperties, minLength, maxLength (characters), pattern (POSIX extended), minimum, maximum, exclusiveMinimum, oneOf
 * (distinguished by type and by the required keys that are present), $defs with $ref "#/$defs/NAME", default, title,
 * description, $schema; and `size`: true of an integer in bytes, "SI" of a rate, see schema_sizes. schema_load refuses a schema that uses
 * another keyword, or one of these wrongly, so no keyword is ignored silently. An integer is written without a point;
 * NULs never match a pattern.
 */

/* Parses schema text and checks that it is within the subset. New reference. EINVAL. [any] */
int schema_load(const char *text, json_t **ret_schema, struct kettle_error *err);
/* Parses a schema of Kettle's own, which a test loads by schema_load: its check would be a third of reading a configuration. New
 * reference. [any] */
json_t *schema_own(const char *text);

/*
 * Checks value against a schema that one of these gave. On the first fault err is a sentence that names the place, what
 * was found and what would be right, an unknown key together with the nearest known one. With `name`, it begins
 * "NAME:LINE:COLUMN: " (places as yaml_parse gives them; may be NULL) or "NAME: ". EINVAL. [any]
 */
int schema_check(
	const json_t *schema, const json_t *value, const char *name, const json_t *places, struct kettle_error *err);
/* The same for a value at `pointer` ("/runners/local") of the document to which places refer. */
int schema_check_at(const json_t *schema, const json_t *value, const char *name, const json_t *places,
	const char *pointer, struct kettle_error *err);
/*
 * All faults instead of the first: appends {"pointer", "message"} for each until `faults` has `most` elements, those of a
 * value before those of its container. Of a value with oneOf, only its first. [any]
 */
void schema_check_all(const json_t *schema, const json_t *value, const char *name, const json_t *places,
	const char *pointer, json_t *faults, size_t most);

/*
 * Before a check, of a value from a file or an option: replaces texts such as "4G" by the number that they mean (number.h:
 * number_parse_size, with "SI" number_parse_rate) wherever the schema has `size`, in place. Other texts stay, for the check to refuse. [any]
 */
void schema_sizes(const json_t *schema, json_t *value);

/* Fills in defaults of absent properties, in place, recursively; value has passed schema_check. EINVAL: too deep. [any] */
int schema_defaults(const json_t *schema, json_t *value, struct kettle_error *err);

/* For schema.c and schema_check.c. Follows "$ref" once; NULL: no such definition. Borrowed. [any] */
const json_t *schema_resolve(const json_t *root, const json_t *schema);
/* Whether a value is of a "type" (NULL: any). [any] */
bool schema_type_matches(const json_t *type, const json_t *value);
/* Whether an alternative of oneOf is meant: by type and by the required keys. [any] */
bool schema_fits(const json_t *root, const json_t *schema, const json_t *value);
