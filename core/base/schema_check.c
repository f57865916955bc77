/* SPDX-License-Identifier: MIT */
/* Checking a value against a schema, and saying in a sentence what is wrong with it. */
#include <config.h>

#include "base/schema.h"

#include <regex.h>

#include "base/base.h"
#include "base/json_text.h"
#include "base/pointer.h"
#include "base/text.h"
#include "base/yaml.h"

#define SHOWN_STRING 60 /* bytes of a value that a message repeats */
#define SHOWN_NAMES 20  /* known names that a message lists */
#define SHOWN_FOUND 5   /* names of what was found */
#define PATTERNS_KEPT 32

/* Compiled patterns of one check: compiling takes longer than the rest of a string's check, and a plan has hundreds. */
struct patterns {
	struct {
		const char *text; /* the schema's own */
		regex_t regex;
	} list[PATTERNS_KEPT];
	size_t count;
};

struct check {
	const json_t *root;
	struct patterns *patterns;
	const char *name;
	const json_t *places;
	const char *base; /* pointer of the value that was given */
	json_t *faults;   /* takes all of them; NULL: the first one ends the check */
	size_t most;      /* elements of faults */
	struct kettle_error *err;
	unsigned depth;
};

/* Where the checker is: a chain through its own frames. The top has no up. */
struct path_node {
	const struct path_node *up;
	const char *key; /* NULL: index counts */
	size_t index;
};

static int check_value(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node);

/* ---- the sentence ---- */

/* A string from outside, shortened and without anything that a terminal acts on. */
static void
say_string(struct buf *out, const char *text, size_t size)
{
	AUTO_BUF struct buf clean = {0};
	size_t shown = size > SHOWN_STRING ? SHOWN_STRING : size;
	while (shown < size && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	(void)utf8_sanitize(text, shown, &clean);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '\n' || clean.data[i] == '\t')
			clean.data[i] = ' ';
	}
	buf_add(out, clean.data, clean.len);
	if (shown < size)
		buf_adds(out, "…");
}

static void
say_value(struct buf *out, const json_t *value)
{
	if (json_is_string(value)) {
		buf_adds(out, "\"");
		say_string(out, json_string_value(value), json_string_length(value));
		buf_adds(out, "\"");
		return;
	}
	AUTO_FREE char *text = json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
	if (text)
		say_string(out, text, strlen(text));
}

/* `a, b or c` of the n-th piece of count. */
static void
say_separator(struct buf *out, size_t n, size_t count, const char *last)
{
	if (n)
		buf_adds(out, n + 1 == count ? last : ", ");
}

/* The keys of a map, at most `most` of them. */
static void
say_keys(struct buf *out, const json_t *map, size_t most)
{
	size_t n = 0, count = json_object_size(map);
	json_object_each(map, key, unused) {
		if (n == most) {
			buf_adds(out, " …");
			break;
		}
		say_separator(out, n++, count, " and ");
		buf_adds(out, "`");
		say_string(out, key, strlen(key));
		buf_adds(out, "`");
	}
}

static void
say_found(struct buf *out, const json_t *value)
{
	static const char *const kinds[] = {
		[JSON_OBJECT] = "a map with ",
		[JSON_ARRAY] = "a list",
		[JSON_STRING] = "the string ",
		[JSON_INTEGER] = "",
		[JSON_REAL] = "",
		[JSON_TRUE] = "",
		[JSON_FALSE] = "",
		[JSON_NULL] = "empty",
	};
	if (json_is_object(value) && json_object_size(value) == 0) {
		buf_adds(out, "an empty map");
		return;
	}
	buf_adds(out, kinds[json_typeof(value)]);
	if (json_is_object(value))
		say_keys(out, value, SHOWN_FOUND);
	if (!json_is_object(value) && !json_is_array(value) && !json_is_null(value))
		say_value(out, value);
}

static void
say_range(struct buf *out, const json_t *schema)
{
	const json_t *min = json_object_get(schema, "minimum"), *max = json_object_get(schema, "maximum");
	const json_t *above = json_object_get(schema, "exclusiveMinimum");
	if (above) {
		buf_adds(out, " above ");
		say_value(out, above);
	} else if (min) {
		buf_adds(out, max ? " from " : " of at least ");
		say_value(out, min);
	}
	if (max) {
		buf_adds(out, above ? " and at most " : min ? " to " : " of at most ");
		say_value(out, max);
	}
}

static void
say_lengths(struct buf *out, const json_t *schema)
{
	const json_t *min = json_object_get(schema, "minLength"), *max = json_object_get(schema, "maxLength");
	long long least = json_integer_value(min), most = json_integer_value(max);
	if (max && least > 0)
		buf_printf(out, " of %lld to %lld characters", least, most);
	else if (max)
		buf_printf(out, " of at most %lld characters", most);
	else if (least == 1)
		buf_adds(out, " that is not empty");
	else if (least > 1)
		buf_printf(out, " of at least %lld characters", least);
}

static void
say_type(struct buf *out, const json_t *schema, const char *type)
{
	static const struct {
		const char *type, *text;
	} names[] = {
		{"null", "empty"},
		{"boolean", "true or false"},
		{"integer", "an integer"},
		{"number", "a number"},
		{"string", "a string"},
		{"array", "a list"},
		{"object", "a map"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(type, names[i].type) == 0)
			buf_adds(out, names[i].text);
	}
	const char *items = json_text_or_null(json_object_get(schema, "items"), "type");
	if (strcmp(type, "array") == 0 && items && strcmp(items, "string") == 0)
		buf_adds(out, " of strings");
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		say_range(out, schema);
	if (json_is_true(json_object_get(schema, "size")))
		buf_adds(out, " bytes, or one with K, M, G or T");
	if (json_is_string(json_object_get(schema, "size")))
		buf_adds(out, ", or one with K, M, G, T, P or E");
	if (strcmp(type, "string") == 0)
		say_lengths(out, schema);
}

static void
say_choices(struct buf *out, const json_t *choices)
{
	size_t i, count = json_array_size(choices);
	json_t *choice;
	if (count > 1)
		buf_adds(out, "one of ");
	json_array_foreach((json_t *)choices, i, choice) {
		say_separator(out, i, count, " or ");
		say_value(out, choice);
	}
}

static void say_expected(struct buf *out, const json_t *root, const json_t *schema, unsigned depth);

static void
say_alternatives(struct buf *out, const json_t *root, const json_t *alternatives, unsigned depth)
{
	size_t i, count = json_array_size(alternatives);
	json_t *alternative;
	json_array_foreach((json_t *)alternatives, i, alternative) {
		say_separator(out, i, count, " or ");
		say_expected(out, root, alternative, depth + 1);
	}
}

/* Describes a map by the keys that it must have. */
static void
say_required(struct buf *out, const json_t *required)
{
	size_t i, count = json_array_size(required);
	json_t *name;
	if (count)
		buf_adds(out, " with ");
	json_array_foreach((json_t *)required, i, name) {
		say_separator(out, i, count, " and ");
		buf_printf(out, "`%s`", json_string_value(name));
	}
}

/* Describes the valid values: "an integer of at least 1". */
static void
say_expected(struct buf *out, const json_t *root, const json_t *schema, unsigned depth)
{
	const json_t *type = json_object_get(schema, "type"), *only = json_object_get(schema, "const");
	if (depth > 4) {
		buf_adds(out, "something else");
	} else if (only) {
		say_value(out, only);
	} else if (json_object_get(schema, "enum")) {
		say_choices(out, json_object_get(schema, "enum"));
	} else if (json_object_get(schema, "oneOf")) {
		say_alternatives(out, root, json_object_get(schema, "oneOf"), depth);
	} else if (json_object_get(schema, "$ref")) {
		say_expected(out, root, schema_resolve(root, schema), depth + 1);
	} else if (json_is_string(type)) {
		say_type(out, schema, json_string_value(type));
		if (depth)
			say_required(out, json_object_get(schema, "required"));
	} else {
		size_t i;
		json_t *one;
		json_array_foreach((json_t *)type, i, one) {
			say_separator(out, i, json_array_size(type), " or ");
			say_type(out, schema, json_string_value(one));
		}
	}
}

static void
add_pointer(struct buf *out, const struct path_node *node)
{
	if (!node->up)
		return;
	add_pointer(out, node->up);
	if (node->key)
		pointer_add_key(out, node->key);
	else
		pointer_add_index(out, node->index);
}

typedef void (*add_place)(struct buf *out, const char *name, const json_t *places, const char *pointer);

/* Reports a fault of the value at the pointer. 0: the check goes on. */
static int
report_fault(const struct check *check, const char *pointer, const char *sentence)
{
	struct kettle_error one; /* its message is UTF-8, as JSON needs it */
	if (!check->faults)
		return kettle_fail(check->err, KETTLE_EINVAL, "%s", sentence);
	(void)kettle_fail(&one, KETTLE_EINVAL, "%s", sentence);
	(void)json_array_append_new(check->faults, json_pack("{s:s, s:s}", "pointer", pointer, "message", one.message));
	return json_array_size(check->faults) < check->most ? 0 : KETTLE_EINVAL;
}

/* "PREFIX PLACE SENTENCE". */
static int
fault_at(const struct check *check, const struct path_node *node, add_place add, const char *sentence)
{
	AUTO_BUF struct buf pointer = {0}, out = {0};
	buf_adds(&pointer, check->base);
	add_pointer(&pointer, node);
	add(&out, check->name, check->places, pointer.data);
	if (pointer.len == 0)
		buf_adds(&out, check->name ? "the top level" : "The top level");
	else
		pointer_add_path(&out, pointer.data);
	bool asks = sentence[0] && sentence[strlen(sentence) - 1] == '?';
	buf_printf(&out, " %s%s", sentence, asks ? "" : ".");
	return report_fault(check, pointer.data ? pointer.data : "", out.data);
}

static int
fault(const struct check *check, const struct path_node *node, const char *sentence)
{
	return fault_at(check, node, yaml_add_place, sentence);
}

/* The choice nearest to a string; NULL: none is near. Borrowed. */
static const char *
nearest_choice(const json_t *choices, const json_t *value)
{
	AUTO_FREE const char **names = xcalloc(json_array_size(choices) + 1, sizeof(*names));
	size_t count = 0;
	if (!json_is_string(value))
		return NULL;
	json_array_each(choices, choice) {
		if (json_is_string(choice))
			names[count++] = json_string_value(choice);
	}
	return nearest(json_string_value(value), names);
}

/* "PLACE must be EXPECTED, not FOUND." */
static int
mismatch(const struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	AUTO_BUF struct buf out = {0};
	buf_adds(&out, "must be ");
	say_expected(&out, check->root, schema, 0);
	buf_adds(&out, ", not ");
	say_found(&out, value);
	const char *meant = nearest_choice(json_object_get(schema, "enum"), value);
	if (meant)
		buf_printf(&out, "; did you mean \"%s\"?", meant);
	return fault(check, node, out.data);
}

/* ` in `PLACE``, nothing at the top. */
static void
say_inside(struct buf *out, const char *pointer)
{
	if (*pointer == '\0')
		return;
	buf_adds(out, " in `");
	pointer_add_path(out, pointer);
	buf_adds(out, "`");
}

static void
say_known(struct buf *out, const json_t *properties)
{
	size_t count = json_object_size(properties);
	buf_adds(out, count == 0 ? "; none is known here" : count == 1 ? "; the only known key is " : "; known keys are ");
	say_keys(out, properties, SHOWN_NAMES);
	buf_adds(out, ".");
}

static int
unknown_key(const struct check *check, const json_t *properties, const char *key, const struct path_node *node)
{
	AUTO_BUF struct buf pointer = {0}, inside = {0}, out = {0};
	const struct path_node at = {.up = node, .key = key};
	buf_adds(&pointer, check->base);
	add_pointer(&pointer, &at);
	yaml_add_key_place(&out, check->name, check->places, pointer.data);
	buf_adds(&out, check->name ? "unknown key `" : "Unknown key `");
	say_string(&out, key, strlen(key));
	buf_adds(&out, "`");
	buf_adds(&inside, check->base);
	add_pointer(&inside, node);
	say_inside(&out, inside.data ? inside.data : "");
	const char *meant = nearest_key(key, properties);
	if (meant)
		buf_printf(&out, "; did you mean `%s`?", meant);
	else
		say_known(&out, properties);
	return report_fault(check, pointer.data, out.data);
}

/* ---- the checks ---- */

/* The pattern, compiled; NULL: there is no room to keep another one. */
static const regex_t *
kept_pattern(struct patterns *patterns, const char *pattern)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (patterns->list[i].text == pattern)
			return &patterns->list[i].regex;
	if (patterns->count >= PATTERNS_KEPT ||
		regcomp(&patterns->list[patterns->count].regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return NULL;
	patterns->list[patterns->count].text = pattern;
	return &patterns->list[patterns->count++].regex;
}

static bool
schema_matches(const struct check *check, const char *pattern, const char *text, size_t size)
{
	if (strlen(text) != size)
		return false;
	const regex_t *kept = kept_pattern(check->patterns, pattern);
	if (kept)
		return regexec(kept, text, 0, NULL, 0) == 0;
	regex_t regex;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	bool good = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return good;
}

static size_t
characters(const char *text, size_t size)
{
	size_t count = 0;
	for (size_t i = 0; i < size; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static int
check_string(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	const char *text = json_string_value(value), *pattern = json_text_or_null(schema, "pattern");
	size_t size = json_string_length(value), count = characters(text, size);
	const json_t *min = json_object_get(schema, "minLength"), *max = json_object_get(schema, "maxLength");
	if ((min && count < (size_t)json_integer_value(min)) || (max && count > (size_t)json_integer_value(max)))
		return mismatch(check, schema, value, node);
	if (!pattern || schema_matches(check, pattern, text, size))
		return 0;
	AUTO_BUF struct buf out = {0};
	buf_printf(&out, "must match the pattern %s; ", pattern);
	say_found(&out, value);
	buf_adds(&out, " does not");
	return fault(check, node, out.data);
}

static int
check_number(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	const json_t *min = json_object_get(schema, "minimum"), *max = json_object_get(schema, "maximum");
	const json_t *above = json_object_get(schema, "exclusiveMinimum");
	double number = json_number_value(value);
	bool good = (!min || number >= json_number_value(min)) && (!max || number <= json_number_value(max)) &&
				(!above || number > json_number_value(above));
	return good ? 0 : mismatch(check, schema, value, node);
}

/* The count of elements or keys against its bounds. */
static int
check_count(struct check *check, const json_t *min, const json_t *max, size_t count, const char *what,
	const struct path_node *node)
{
	bool few = min && count < (size_t)json_integer_value(min);
	if (!few && !(max && count > (size_t)json_integer_value(max)))
		return 0;
	AUTO_BUF struct buf out = {0};
	long long bound = json_integer_value(few ? min : max);
	buf_printf(
		&out, "must have at %s %lld %s%s, not %zu", few ? "least" : "most", bound, what, bound == 1 ? "" : "s", count);
	return fault(check, node, out.data);
}

static int
check_array(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	int rc = check_count(check, json_object_get(schema, "minItems"), json_object_get(schema, "maxItems"),
		json_array_size(value), "element", node);
	const json_t *items = json_object_get(schema, "items");
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)value, i, item) {
		const struct path_node at = {.up = node, .index = i};
		if (rc || !items)
			break;
		rc = check_value(check, items, item, &at);
	}
	return rc;
}

static int
check_member(
	struct check *check, const json_t *schema, const char *key, const json_t *member, const struct path_node *node)
{
	const json_t *properties = json_object_get(schema, "properties"), *inner = json_object_get(properties, key);
	const json_t *rest = json_object_get(schema, "additionalProperties");
	const struct path_node at = {.up = node, .key = key};
	if (inner)
		return check_value(check, inner, member, &at);
	if (json_is_false(rest))
		return unknown_key(check, properties, key, node);
	return json_is_object(rest) ? check_value(check, rest, member, &at) : 0;
}

static int
schema_check_names(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	const json_t *names = json_object_get(schema, "propertyNames");
	const char *pattern = json_text_or_null(names, "pattern");
	int rc = 0;
	json_object_each(value, key, unused) {
		if (rc || !pattern)
			break;
		if (schema_matches(check, pattern, key, strlen(key)))
			continue;
		const struct path_node at = {.up = node, .key = key};
		AUTO_FREE char *out = xasprintf("has a name that does not match the pattern %s", pattern);
		rc = fault_at(check, &at, yaml_add_key_place, out);
	}
	return rc;
}

static int
check_required(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	int rc = 0;
	json_array_each(json_object_get(schema, "required"), name) {
		if (rc)
			break;
		if (json_object_get(value, json_string_value(name)))
			continue;
		AUTO_FREE char *out = xasprintf("lacks the key `%s`", json_string_value(name));
		rc = fault(check, node, out);
	}
	return rc;
}

static int
check_object(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	/* Names first: a mistyped key that was meant as a required one is the better hint. */
	int rc = schema_check_names(check, schema, value, node);
	json_object_each(value, key, member) {
		if (rc)
			return rc;
		rc = check_member(check, schema, key, member, node);
	}
	if (rc == 0)
		rc = check_required(check, schema, value, node);
	if (rc == 0)
		rc = check_count(check, json_object_get(schema, "minProperties"), json_object_get(schema, "maxProperties"),
			json_object_size(value), "key", node);
	return rc;
}

/* The alternative that the value means is checked like any schema, so that the first fault inside it is named. */
static int
check_one_of(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	size_t passed = 0, meant = 0;
	struct kettle_error first = {0}, *err = check->err;
	json_t *faults = check->faults;
	check->faults = NULL;
	json_array_each(json_object_get(schema, "oneOf"), alternative) {
		struct kettle_error found = {0};
		if (!schema_fits(check->root, alternative, value))
			continue;
		check->err = &found;
		if (check_value(check, alternative, value, node) == 0)
			passed++;
		else if (!first.code)
			first = found;
		meant++;
	}
	check->err = err;
	check->faults = faults;
	if (passed == 1)
		return 0;
	if (passed > 1)
		return fault(check, node, "fits more than one of its forms");
	if (meant) {
		AUTO_BUF struct buf pointer = {0};
		buf_adds(&pointer, check->base);
		add_pointer(&pointer, node);
		return report_fault(check, pointer.data ? pointer.data : "", first.message);
	}
	return mismatch(check, schema, value, node);
}

static int
check_choice(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	const json_t *only = json_object_get(schema, "const"), *choices = json_object_get(schema, "enum");
	if (only && !json_equal(only, value))
		return mismatch(check, schema, value, node);
	json_array_each(choices, choice) {
		if (json_equal(choice, value))
			return 0;
	}
	return choices ? mismatch(check, schema, value, node) : 0;
}

static int
check_by_type(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return check_object(check, schema, value, node);
	case JSON_ARRAY:
		return check_array(check, schema, value, node);
	case JSON_STRING:
		return check_string(check, schema, value, node);
	case JSON_INTEGER:
	case JSON_REAL:
		return check_number(check, schema, value, node);
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return 0;
}

static int
check_value(struct check *check, const json_t *schema, const json_t *value, const struct path_node *node)
{
	if (check->depth >= SCHEMA_MAX_DEPTH)
		return fault(check, node, "is nested too deeply");
	if (!schema_type_matches(json_object_get(schema, "type"), value))
		return mismatch(check, schema, value, node);
	check->depth++;
	int rc = 0;
	if (json_object_get(schema, "$ref"))
		rc = check_value(check, schema_resolve(check->root, schema), value, node);
	if (rc == 0)
		rc = check_choice(check, schema, value, node);
	if (rc == 0 && json_object_get(schema, "oneOf"))
		rc = check_one_of(check, schema, value, node);
	if (rc == 0)
		rc = check_by_type(check, schema, value, node);
	check->depth--;
	return rc;
}

static int
check_top(struct check *check, const json_t *value)
{
	struct patterns patterns = {.count = 0};
	const struct path_node top = {0};
	check->patterns = &patterns;
	int rc = check_value(check, check->root, value, &top);
	for (size_t i = 0; i < patterns.count; i++)
		regfree(&patterns.list[i].regex);
	return rc;
}

int
schema_check_at(const json_t *schema, const json_t *value, const char *name, const json_t *places, const char *pointer,
	struct kettle_error *err)
{
	struct check check = {.root = schema, .name = name, .places = places, .base = pointer, .err = err};
	return check_top(&check, value);
}

void
schema_check_all(const json_t *schema, const json_t *value, const char *name, const json_t *places, const char *pointer,
	json_t *faults, size_t most)
{
	struct check check = {
		.root = schema, .name = name, .places = places, .base = pointer, .faults = faults, .most = most};
	if (json_array_size(faults) < most)
		(void)check_top(&check, value);
}

int
schema_check(
	const json_t *schema, const json_t *value, const char *name, const json_t *places, struct kettle_error *err)
{
	return schema_check_at(schema, value, name, places, "", err);
}
