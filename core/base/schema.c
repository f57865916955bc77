/* SPDX-License-Identifier: MIT */
/* Schemas: loading them, and filling in what they give by default. */
#include <config.h>

#include "base/schema.h"

#include <regex.h>

#include "base/base.h"
#include "base/nearest.h"
#include "base/number.h"

#define REF_PREFIX "#/$defs/"

/* The form that the value of a keyword must have. */
enum form {
	FORM_ANY,
	FORM_TEXT,
	FORM_COUNT,
	FORM_NUMBER,
	FORM_TYPE,
	FORM_VALUES,
	FORM_NAMES,
	FORM_PATTERN,
	FORM_REF,
	FORM_SIZE,
	FORM_SCHEMA,
	FORM_BOOL_OR_SCHEMA,
	FORM_SCHEMAS,
	FORM_SCHEMA_MAP,
};

static const struct keyword {
	const char *name;
	enum form form;
} keywords[] = {
	{"$defs", FORM_SCHEMA_MAP},
	{"$ref", FORM_REF},
	{"$schema", FORM_TEXT},
	{"additionalProperties", FORM_BOOL_OR_SCHEMA},
	{"const", FORM_ANY},
	{"default", FORM_ANY},
	{"description", FORM_TEXT},
	{"enum", FORM_VALUES},
	{"exclusiveMinimum", FORM_NUMBER},
	{"items", FORM_SCHEMA},
	{"maxItems", FORM_COUNT},
	{"maxLength", FORM_COUNT},
	{"maxProperties", FORM_COUNT},
	{"maximum", FORM_NUMBER},
	{"minItems", FORM_COUNT},
	{"minLength", FORM_COUNT},
	{"minProperties", FORM_COUNT},
	{"minimum", FORM_NUMBER},
	{"oneOf", FORM_SCHEMAS},
	{"pattern", FORM_PATTERN},
	{"properties", FORM_SCHEMA_MAP},
	{"propertyNames", FORM_SCHEMA},
	{"required", FORM_NAMES},
	{"size", FORM_SIZE},
	{"title", FORM_TEXT},
	{"type", FORM_TYPE},
};

static const char *const types[] = {
	[JSON_OBJECT] = "object",
	[JSON_ARRAY] = "array",
	[JSON_STRING] = "string",
	[JSON_INTEGER] = "integer",
	[JSON_REAL] = "number",
	[JSON_TRUE] = "boolean",
	[JSON_FALSE] = "boolean",
	[JSON_NULL] = "null",
};

struct schema_loader {
	const json_t *root;
	struct kettle_error *err;
	unsigned depth;
};

static int check_schema(struct schema_loader *loader, const json_t *schema);

static bool
is_type(const json_t *value)
{
	for (size_t i = 0; json_is_string(value) && i < ARRAY_SIZE(types); i++) {
		if (strcmp(json_string_value(value), types[i]) == 0)
			return true;
	}
	return false;
}

static bool
is_names(const json_t *value)
{
	json_array_each(value, name) {
		if (!json_is_string(name))
			return false;
	}
	return json_is_array(value);
}

static bool
is_type_or_types(const json_t *value)
{
	if (!json_is_array(value))
		return is_type(value);
	json_array_each(value, type) {
		if (!is_type(type))
			return false;
	}
	return json_array_size(value) > 0;
}

static bool
is_pattern(const json_t *value)
{
	regex_t regex;
	if (!json_is_string(value) || regcomp(&regex, json_string_value(value), REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	regfree(&regex);
	return true;
}

/* Whether the value of a keyword that holds no schema has its form. */
static bool
has_form(const struct schema_loader *loader, enum form form, const json_t *value)
{
	switch (form) {
	case FORM_ANY:
		return true;
	case FORM_TEXT:
		return json_is_string(value);
	case FORM_COUNT:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case FORM_NUMBER:
		return json_is_number(value);
	case FORM_TYPE:
		return is_type_or_types(value);
	case FORM_VALUES:
		return json_array_size(value) > 0;
	case FORM_NAMES:
		return is_names(value);
	case FORM_PATTERN:
		return is_pattern(value);
	case FORM_REF:
		return json_is_string(value) && strncmp(json_string_value(value), REF_PREFIX, strlen(REF_PREFIX)) == 0 &&
			   json_object_get(json_object_get(loader->root, "$defs"), json_string_value(value) + strlen(REF_PREFIX)) !=
				   NULL;
	case FORM_SIZE:
		return json_is_true(value) || (json_is_string(value) && strcmp(json_string_value(value), "SI") == 0);
	case FORM_BOOL_OR_SCHEMA:
		return json_is_boolean(value) || json_is_object(value);
	case FORM_SCHEMAS:
		return json_array_size(value) > 0;
	case FORM_SCHEMA:
	case FORM_SCHEMA_MAP:
		return json_is_object(value);
	}
	return false;
}

static int
check_inner(struct schema_loader *loader, enum form form, const json_t *value)
{
	int rc = 0;
	if (form == FORM_SCHEMA || (form == FORM_BOOL_OR_SCHEMA && json_is_object(value)))
		return check_schema(loader, value);
	if (form == FORM_SCHEMAS) {
		json_array_each(value, inner) {
			if (rc == 0)
				rc = check_schema(loader, inner);
		}
	}
	if (form == FORM_SCHEMA_MAP) {
		json_object_each(value, key, inner) {
			if (rc == 0)
				rc = check_schema(loader, inner);
		}
	}
	return rc;
}

static int
check_keyword(struct schema_loader *loader, const char *key, const json_t *value)
{
	const char *names[ARRAY_SIZE(keywords) + 1] = {NULL};
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
		names[i] = keywords[i].name;
		if (strcmp(key, keywords[i].name) != 0)
			continue;
		if (!has_form(loader, keywords[i].form, value))
			return kettle_fail(loader->err, KETTLE_EINVAL, "The schema gives `%s` a value that it cannot have.", key);
		return check_inner(loader, keywords[i].form, value);
	}
	const char *meant = nearest(key, names);
	return kettle_fail(loader->err, KETTLE_EINVAL, "The schema uses the keyword `%s`, which is not supported%s%s%s",
		key, NEAREST_END(meant));
}

static int
check_schema(struct schema_loader *loader, const json_t *schema)
{
	if (!json_is_object(schema))
		return kettle_fail(loader->err, KETTLE_EINVAL, "A schema must be an object.");
	if (loader->depth >= SCHEMA_MAX_DEPTH)
		return kettle_fail(loader->err, KETTLE_EINVAL, "The schema is nested too deeply.");
	loader->depth++;
	int rc = 0;
	json_object_each(schema, key, value) {
		rc = check_keyword(loader, key, value);
		if (rc)
			break;
	}
	loader->depth--;
	return rc;
}

int
schema_load(const char *text, json_t **ret_schema, struct kettle_error *err)
{
	json_error_t error;
	AUTO_JSON json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!schema)
		return kettle_fail(err, KETTLE_EINVAL, "The schema is not valid JSON: line %d: %s.", error.line, error.text);
	struct schema_loader loader = {.root = schema, .err = err};
	int rc = check_schema(&loader, schema);
	if (rc == 0)
		*ret_schema = STEAL(schema);
	return rc;
}

json_t *
schema_own(const char *text)
{
	return json_loads(text, 0, NULL);
}

const json_t *
schema_resolve(const json_t *root, const json_t *schema)
{
	const char *ref = json_text_or_null(schema, "$ref");
	if (!ref)
		return schema;
	return json_object_get(json_object_get(root, "$defs"), ref + strlen(REF_PREFIX));
}

static bool
type_is(const char *type, const json_t *value)
{
	return strcmp(type, types[json_typeof(value)]) == 0 || (json_is_integer(value) && strcmp(type, "number") == 0);
}

bool
schema_type_matches(const json_t *type, const json_t *value)
{
	if (!type)
		return true;
	if (json_is_string(type))
		return type_is(json_string_value(type), value);
	json_array_each(type, one) {
		if (type_is(json_string_value(one), value))
			return true;
	}
	return false;
}

bool
schema_fits(const json_t *root, const json_t *schema, const json_t *value)
{
	for (unsigned hops = 0; json_object_get(schema, "$ref"); hops++) {
		if (hops > SCHEMA_MAX_DEPTH)
			return false;
		schema = schema_resolve(root, schema);
	}
	if (!schema_type_matches(json_object_get(schema, "type"), value))
		return false;
	json_array_each(json_object_get(schema, "required"), name) {
		if (json_is_object(value) && !json_object_get(value, json_string_value(name)))
			return false;
	}
	return true;
}

static void expand_inner(const json_t *root, const json_t *schema, json_t *value, unsigned depth);

/* The number that a text means where a schema has `size`; NULL: the value stays. New reference. */
static json_t *
size_meant(const json_t *root, const json_t *schema, const json_t *value)
{
	long long bytes;
	double rate;
	const json_t *own = json_object_get(schema, "size"),
				 *size = own ? own : json_object_get(schema_resolve(root, schema), "size");
	const char *text = json_string_value(value);
	if (json_is_string(size))
		return number_parse_rate(text, &rate) ? json_real(rate) : NULL;
	return json_is_true(size) && number_parse_size(text, &bytes) ? json_integer(bytes) : NULL;
}

static void
expand_sizes(const json_t *root, const json_t *schema, json_t *value, unsigned depth)
{
	const json_t *properties = json_object_get(schema, "properties"), *items = json_object_get(schema, "items"), *inner;
	const json_t *rest = json_object_get(schema, "additionalProperties");
	json_object_each(value, key, member) {
		inner = json_object_get(properties, key) ? json_object_get(properties, key) : rest;
		json_t *size = size_meant(root, inner, member);
		if (size)
			(void)json_object_set_new(value, key, size);
		else
			expand_inner(root, inner, member, depth);
	}
	json_array_each(value, member)
		expand_inner(root, items, member, depth);
}

static void
expand_inner(const json_t *root, const json_t *schema, json_t *value, unsigned depth)
{
	if (depth >= SCHEMA_MAX_DEPTH || !(json_is_object(value) || json_is_array(value)))
		return;
	if (json_object_get(schema, "$ref"))
		expand_inner(root, schema_resolve(root, schema), value, depth + 1);
	json_array_each(json_object_get(schema, "oneOf"), inner) {
		if (schema_fits(root, inner, value)) {
			expand_inner(root, inner, value, depth + 1);
			break;
		}
	}
	expand_sizes(root, schema, value, depth + 1);
}

void
schema_sizes(const json_t *schema, json_t *value)
{
	expand_inner(schema, schema, value, 0);
}

static int schema_fill(const json_t *root, const json_t *schema, json_t *value, unsigned depth);

static int
fill_object(const json_t *root, const json_t *schema, json_t *value, unsigned depth)
{
	const json_t *properties = json_object_get(schema, "properties"), *inner;
	const json_t *rest = json_object_get(schema, "additionalProperties");
	int rc = 0;
	json_object_each(properties, key, member) {
		json_t *preset = json_object_get(schema_resolve(root, member), "default");
		preset = json_object_get(member, "default") ? json_object_get(member, "default") : preset;
		if (preset && !json_object_get(value, key))
			json_object_set_new(value, key, json_deep_copy(preset));
	}
	json_object_each(value, key, member) {
		inner = json_object_get(properties, key);
		if (!inner)
			inner = rest;
		if (rc == 0 && json_is_object(inner))
			rc = schema_fill(root, inner, member, depth);
	}
	return rc;
}

static int
schema_fill(const json_t *root, const json_t *schema, json_t *value, unsigned depth)
{
	int rc = 0;
	if (depth >= SCHEMA_MAX_DEPTH)
		return KETTLE_EINVAL;
	if (json_object_get(schema, "$ref"))
		rc = schema_fill(root, schema_resolve(root, schema), value, depth + 1);
	json_array_each(json_object_get(schema, "oneOf"), inner) {
		if (rc == 0 && schema_fits(root, inner, value)) {
			rc = schema_fill(root, inner, value, depth + 1);
			break;
		}
	}
	if (rc == 0 && json_is_object(value))
		rc = fill_object(root, schema, value, depth + 1);
	const json_t *items = json_object_get(schema, "items");
	json_array_each(value, inner) {
		if (rc == 0 && items)
			rc = schema_fill(root, items, inner, depth + 1);
	}
	return rc;
}

int
schema_defaults(const json_t *schema, json_t *value, struct kettle_error *err)
{
	if (schema_fill(schema, schema, value, 0) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "The value is nested too deeply.");
	return 0;
}
