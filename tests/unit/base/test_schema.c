/* SPDX-License-Identifier: MIT */
/* The checker: what it takes, and the sentences for what it does not. */
#include <config.h>

#include "base/schema.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/yaml.h"
#include "lib/unit_test.h"

static const char *schema_text;

/* Checks YAML against schema_text; NULL: it fits. New string: the sentence. */
static char *
sentence(const char *text)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *schema = NULL, *value = NULL, *places = NULL;
	if (schema_load(schema_text, &schema, &err) != 0 || yaml_parse("f", text, strlen(text), &value, &places, &err) != 0)
		fail_msg("%s", err.message);
	int rc = schema_check(schema, value, "f", places, &err);
	assert_true(rc == 0 || rc == KETTLE_EINVAL);
	assert_int_equal(err.code, rc);
	return rc ? strdup(err.message) : NULL;
}

static void
fits(const char *text)
{
	AUTO_FREE char *found = sentence(text);
	if (found)
		fail_msg("%s", found);
}

static void
says(const char *text, const char *wanted)
{
	AUTO_FREE char *found = sentence(text);
	assert_non_null(found);
	assert_string_equal(found, wanted);
}

/* All sentences about a text, "POINTER SENTENCE" on a line each. New string. */
static char *
all_sentences(const char *text, size_t most)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *schema = NULL, *value = NULL, *places = NULL, *faults = json_array();
	if (schema_load(schema_text, &schema, &err) != 0 || yaml_parse("f", text, strlen(text), &value, &places, &err) != 0)
		fail_msg("%s", err.message);
	schema_check_all(schema, value, "f", places, "", faults, most);
	struct buf out = {0};
	size_t i;
	json_t *fault;
	json_array_foreach(faults, i, fault)
		buf_printf(&out, "%s %s\n", json_string_value(json_object_get(fault, "pointer")),
			json_string_value(json_object_get(fault, "message")));
	return out.data;
}

static void
test_all(void **state)
{
	(void)state;
	schema_text =
		"{\"type\": \"object\", \"required\": [\"a\", \"b\"], \"additionalProperties\": false, \"properties\": "
		"{\"a\": {\"type\": \"integer\"}, \"b\": {}, \"l\": {\"items\": {\"enum\": [1, 2]}}, \"o\": "
		"{\"oneOf\": [{\"type\": \"integer\", \"minimum\": 5}, {\"type\": \"array\"}]}}}";
	static const char text[] = "a: x\nl: [1, 3, 4]\no: 1\nzz: 1\n";
	AUTO_FREE char *all = all_sentences(text, 100), *some = all_sentences(text, 2);
	assert_string_equal(all, "/a f:1:4: a must be an integer, not the string \"x\".\n"
							 "/l/1 f:2:8: l[1] must be one of 1 or 2, not 3.\n"
							 "/l/2 f:2:11: l[2] must be one of 1 or 2, not 4.\n"
							 "/o f:3:4: o must be an integer of at least 5, not 1.\n"
							 "/zz f:4:1: unknown key `zz`; known keys are `a`, `b`, `l` and `o`.\n"
							 " f:1:1: the top level lacks the key `b`.\n");
	assert_memory_equal(some, all, strlen(some));
	assert_non_null(strstr(some, "l[1]"));
	assert_null(strstr(some, "l[2]"));
}

static void
test_types(void **state)
{
	(void)state;
	schema_text = "{\"properties\": {\"i\": {\"type\": \"integer\"}, \"n\": {\"type\": \"number\"}, \"s\": {\"type\": "
				  "\"string\"}, \"b\": {\"type\": \"boolean\"}, \"l\": {\"type\": \"array\"}, \"o\": {\"type\": "
				  "\"object\"}, \"z\": {\"type\": \"null\"}, \"m\": {\"type\": [\"string\", \"integer\"]}}}";
	fits("{i: 1, n: 1.5, s: x, b: true, l: [], o: {}, z: null, m: 5, other: 9}");
	fits("{n: 1, m: x}");
	fits("5");
	says("i: 1.0", "f:1:4: i must be an integer, not 1.0.");
	says("i: \"1\"", "f:1:4: i must be an integer, not the string \"1\".");
	says("n: x", "f:1:4: n must be a number, not the string \"x\".");
	says("s: 1", "f:1:4: s must be a string, not 1.");
	says("s:", "f:1:3: s must be a string, not empty.");
	says("b: 0", "f:1:4: b must be true or false, not 0.");
	says("l: {}", "f:1:4: l must be a list, not an empty map.");
	says("o: [1]", "f:1:4: o must be a map, not a list.");
	says("z: {a: 1}", "f:1:4: z must be empty, not a map with `a`.");
	says("m: true", "f:1:4: m must be a string or an integer, not true.");
}

static void
test_numbers(void **state)
{
	(void)state;
	schema_text = "{\"additionalProperties\": {\"type\": \"number\"}, \"properties\": {\"a\": {\"type\": \"integer\", "
				  "\"minimum\": 1}, \"b\": {\"type\": \"integer\", \"maximum\": 5}, \"c\": {\"type\": \"number\", "
				  "\"exclusiveMinimum\": 0, \"maximum\": 9.5}, \"d\": {\"type\": \"integer\", \"minimum\": 1, "
				  "\"maximum\": 4}}}";
	fits("{a: 1, b: 5, c: 9.5, d: 4, e: 1}");
	says("a: 0", "f:1:4: a must be an integer of at least 1, not 0.");
	says("a: -9223372036854775808", "f:1:4: a must be an integer of at least 1, not -9223372036854775808.");
	says("b: 6", "f:1:4: b must be an integer of at most 5, not 6.");
	says("c: 0", "f:1:4: c must be a number above 0 and at most 9.5, not 0.");
	says("d: 5", "f:1:4: d must be an integer from 1 to 4, not 5.");
	says("d: x", "f:1:4: d must be an integer from 1 to 4, not the string \"x\".");
	says("e: x", "f:1:4: e must be a number, not the string \"x\".");
}

static void
test_strings(void **state)
{
	(void)state;
	schema_text =
		"{\"properties\": {\"a\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 3}, \"p\": {\"type\": "
		"\"string\", \"pattern\": \"^[a-z]+$\"}, \"e\": {\"enum\": [\"test\", \"benchmark\", 3]}, \"c\": "
		"{\"const\": 1}, \"n\": {\"type\": \"string\", \"minLength\": 1}}}";
	fits("{a: \"\xc3\xa9\xc3\xa9\xc3\xa9\", p: abc, e: 3, c: 1}");
	says("a: abcd", "f:1:4: a must be a string of 1 to 3 characters, not the string \"abcd\".");
	says("n: ''", "f:1:4: n must be a string that is not empty, not the string \"\".");
	says("p: A1", "f:1:4: p must match the pattern ^[a-z]+$; the string \"A1\" does not.");
	says("p: \"a\\nb\"", "f:1:4: p must match the pattern ^[a-z]+$; the string \"a b\" does not.");
	says("e: bencmark", "f:1:4: e must be one of \"test\", \"benchmark\" or 3, not the string \"bencmark\"; did you "
						"mean \"benchmark\"?");
	says("e: 4", "f:1:4: e must be one of \"test\", \"benchmark\" or 3, not 4.");
	says("c: 2", "f:1:4: c must be 1, not 2.");
	says("p: \"\\e[31m0123456789012345678901234567890123456789012345678901234567890123456789\"",
		"f:1:4: p must match the pattern ^[a-z]+$; the string "
		"\"\xef\xbf\xbd[31m0123456789012345678901234567890123456789"
		"012345678901234…\" does not.");
}

static void
test_objects(void **state)
{
	(void)state;
	schema_text =
		"{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"lang\"], \"properties\": "
		"{\"lang\": {}, \"tests\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 2, \"items\": {\"type\": "
		"\"object\", \"additionalProperties\": {\"type\": \"integer\"}, \"maxProperties\": 2}}, \"names\": "
		"{\"type\": \"object\", \"propertyNames\": {\"pattern\": \"^[a-z]+$\"}, \"minProperties\": 1}, \"none\": "
		"{\"type\": \"object\", \"additionalProperties\": false}}}";
	fits("{lang: py, tests: [{a: 1}], names: {x: 1}}");
	says("lang: py\ntest: []\n", "f:2:1: unknown key `test`; did you mean `tests`?");
	says("lang: py\nquux: 1\n", "f:2:1: unknown key `quux`; known keys are `lang`, `tests`, `names` and `none`.");
	says("lang: py\nnone:\n  x: 1\n", "f:3:3: unknown key `x` in `none`; none is known here.");
	says("tests: [{}]", "f:1:1: the top level lacks the key `lang`.");
	says("lang: py\ntests: []", "f:2:8: tests must have at least 1 element, not 0.");
	says("lang: py\ntests: [{}, {}, {}]", "f:2:8: tests must have at most 2 elements, not 3.");
	says("lang: py\ntests:\n  - {a: 1}\n  - {a: x}\n", "f:4:9: tests[1].a must be an integer, not the string \"x\".");
	says("lang: py\ntests:\n  - {a: 1, b: 2, c: 3}\n", "f:3:5: tests[0] must have at most 2 keys, not 3.");
	says("lang: py\nnames: {}\n", "f:2:8: names must have at least 1 key, not 0.");
	says("lang: py\nnames:\n  Xx: 1\n", "f:3:3: names.Xx has a name that does not match the pattern ^[a-z]+$.");
	says("[]", "f:1:1: the top level must be a map, not a list.");
}

static void
test_one_of(void **state)
{
	(void)state;
	schema_text =
		"{\"$defs\": {\"t\": {\"type\": \"object\", \"required\": [\"text\"], \"additionalProperties\": false, "
		"\"properties\": {\"text\": {\"type\": \"string\"}}}}, \"properties\": {\"x\": {\"oneOf\": [{\"$ref\": "
		"\"#/$defs/t\"}, {\"type\": \"object\", \"required\": [\"step\", \"output\"], \"properties\": {\"step\": "
		"{\"type\": \"string\"}}}, {\"type\": \"integer\", \"minimum\": 3}]}, \"y\": {\"oneOf\": [{\"type\": "
		"\"integer\"}, {\"type\": \"number\"}]}}}";
	fits("x: {text: a}");
	fits("x: {step: a, output: b}");
	fits("x: 3");
	says("x: 2", "f:1:4: x must be an integer of at least 3, not 2.");
	says("x: {text: 5}", "f:1:11: x.text must be a string, not 5.");
	says("x: {text: a, base64: b}", "f:1:14: unknown key `base64` in `x`; the only known key is `text`.");
	says("x: {step: a}", "f:1:4: x must be a map with `text`, a map with `step` and `output` or an integer of at least "
						 "3, not a map with "
						 "`step`.");
	says("x: s", "f:1:4: x must be a map with `text`, a map with `step` and `output` or an integer of at least 3, not "
				 "the string "
				 "\"s\".");
	says("y: 1", "f:1:4: y fits more than one of its forms.");
	fits("y: 1.5");
}

static void
test_names_and_places(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *schema = NULL, *places = json_pack("{s:[i,i,i,i]}", "/runners/x", 7, 6, 7, 3);
	AUTO_JSON json_t *value = json_pack("{s:[i, i], s:i}", "a b", 1, 2, "c/d~", 5);
	assert_int_equal(schema_load("{\"properties\": {\"a b\": {\"items\": {\"maximum\": 1}}}}", &schema, &err), 0);
	assert_int_equal(schema_check(schema, value, NULL, NULL, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "a b[1] must be , not 2.");
	json_decref(schema);
	assert_int_equal(schema_load("{\"additionalProperties\": {\"type\": \"array\"}}", &schema, &err), 0);
	assert_int_equal(schema_check_at(schema, value, "k.yml", places, "/runners/x", &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "k.yml:7:6: runners.x.c/d~ must be a list, not 5.");
	assert_int_equal(schema_check(schema, value, "plan", NULL, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "plan: c/d~ must be a list, not 5.");
	assert_int_equal(schema_check(schema, value, NULL, NULL, NULL), KETTLE_EINVAL);
}

static void
test_bad_schemas(void **state)
{
	(void)state;
	const char *const bad[] = {"", "[]", "5", "{", "{\"typ\": 1}", "{\"type\": \"strin\"}", "{\"type\": []}",
		"{\"type\": [\"string\", 5]}", "{\"properties\": []}", "{\"properties\": {\"a\": 5}}", "{\"required\": \"a\"}",
		"{\"required\": [5]}", "{\"pattern\": \"(\"}", "{\"pattern\": 5}", "{\"minItems\": -1}", "{\"minLength\": 1.5}",
		"{\"minimum\": \"1\"}", "{\"enum\": []}", "{\"enum\": \"a\"}", "{\"oneOf\": {}}", "{\"oneOf\": []}",
		"{\"oneOf\": [5]}", "{\"size\": \"si\"}", "{\"size\": false}", "{\"size\": 1}", "{\"$ref\": \"#/$defs/none\"}",
		"{\"$ref\": \"other.json\"}", "{\"items\": []}", "{\"additionalProperties\": 1}", "{\"anyOf\": []}",
		"{\"format\": \"email\"}", "{\"a\": 1, \"a\": 2}",
		"{\"properties\": {\"a\": {\"properties\": {\"b\": {\"nope\": 1}}}}}", "{\"$defs\": {\"a\": {\"nope\": 1}}}"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kettle_error err = {0};
		json_t *schema = NULL;
		if (schema_load(bad[i], &schema, &err) != KETTLE_EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_null(schema);
		assert_true(strlen(err.message) > 10);
	}
}

/* References that go round, and values without a bottom. */
static void
test_depth(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *loop = NULL, *tree = NULL, *deep = json_array();
	const char *round = "{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"$ref\": \"#/$defs/b\"}, \"b\": {\"$ref\": "
						"\"#/$defs/a\"}}}";
	assert_int_equal(schema_load(round, &loop, &err), 0);
	assert_int_equal(schema_check(loop, deep, NULL, NULL, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "nested too deeply"));
	assert_int_equal(schema_defaults(loop, deep, &err), KETTLE_EINVAL);
	assert_false(schema_fits(loop, loop, deep));
	assert_int_equal(
		schema_load("{\"$ref\": \"#/$defs/n\", \"$defs\": {\"n\": {\"type\": \"array\", \"items\": {\"$ref\": "
					"\"#/$defs/n\"}}}}",
			&tree, &err),
		0);
	for (int i = 0; i < 50; i++)
		deep = json_pack("[o]", deep);
	assert_int_equal(schema_check(tree, deep, NULL, NULL, &err), 0);
	for (int i = 0; i < 500; i++)
		deep = json_pack("[o]", deep);
	assert_int_equal(schema_check(tree, deep, NULL, NULL, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "nested too deeply"));
}

static void
test_defaults(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *schema = NULL;
	AUTO_JSON json_t *value =
		json_loads("{\"units\": [{}, {\"slots\": 5}], \"more\": {\"x\": {}}, \"c\": {\"text\": 1}}", 0, NULL);
	const char *text =
		"{\"$defs\": {\"unit\": {\"type\": \"object\", \"properties\": {\"slots\": {\"default\": 1}}}, \"d\": "
		"{\"default\": 7}}, \"properties\": {\"units\": {\"type\": \"array\", \"items\": {\"$ref\": "
		"\"#/$defs/unit\"}}, "
		"\"more\": {\"additionalProperties\": {\"$ref\": \"#/$defs/unit\"}}, \"limits\": {\"default\": {}, "
		"\"properties\": {\"bytes\": {\"default\": 10}}}, \"seven\": {\"$ref\": \"#/$defs/d\"}, \"c\": {\"oneOf\": "
		"[{\"required\": [\"blob\"]}, {\"required\": [\"text\"], \"properties\": {\"z\": {\"default\": true}}}]}}}";
	assert_int_equal(schema_load(text, &schema, &err), 0);
	assert_int_equal(schema_defaults(schema, value, &err), 0);
	AUTO_FREE char *found = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT);
	assert_string_equal(found,
		"{\"c\":{\"text\":1,\"z\":true},\"limits\":{\"bytes\":10},\"more\":{\"x\":{\"slots\":1}},\"seven\":7,\"units\":"
		"[{\"slots\":1},{\"slots\":5}]}");
	/* The schema's own default is copied, never shared. */
	AUTO_FREE char *again = json_dumps(schema, 0);
	assert_null(strstr(again, "\"default\": {\"bytes\""));
}

/* A size becomes a number wherever the schema has one, and what is none stays for the check to refuse. */
static void
test_sizes(void **state)
{
	(void)state;
	schema_text = "{\"$defs\": {\"s\": {\"type\": \"integer\", \"size\": true, \"maximum\": 8589934592}, "
				  "\"r\": {\"type\": \"number\", \"size\": \"SI\", \"minimum\": 1}}, "
				  "\"properties\": {\"r\": {\"$ref\": \"#/$defs/r\"}, \"a\": {\"$ref\": \"#/$defs/s\"}, \"n\": "
				  "{\"type\": \"string\"}, \"l\": {\"items\": "
				  "{\"oneOf\": [{\"type\": \"object\", \"properties\": {\"b\": {\"$ref\": \"#/$defs/s\"}}}, {\"type\": "
				  "\"null\"}]}}}}";
	AUTO_JSON json_t *schema = NULL, *value = NULL;
	assert_int_equal(schema_load(schema_text, &schema, NULL), 0);
	value = json_pack("{s:s, s:s, s:[{s:s}, n]}", "a", "4G", "n", "4G", "l", "b", "1Ki");
	schema_sizes(schema, value);
	AUTO_JSON json_t *wanted =
		json_pack("{s:I, s:s, s:[{s:i}, n]}", "a", (json_int_t)4 << 30, "n", "4G", "l", "b", 1024);
	assert_true(json_equal(value, wanted));
	AUTO_FREE char *found = sentence("a: 4X\n");
	assert_sentence(found);
	AUTO_JSON json_t *rate = json_pack("{s:s}", "r", "1.5K");
	schema_sizes(schema, rate);
	assert_true(json_real_value(json_object_get(rate, "r")) == 1500);
	AUTO_FREE char *refused = sentence("r: 1.5Ki\n");
	assert_sentence(refused);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_types),
	cmocka_unit_test(test_all),
	cmocka_unit_test(test_numbers),
	cmocka_unit_test(test_strings),
	cmocka_unit_test(test_objects),
	cmocka_unit_test(test_one_of),
	cmocka_unit_test(test_names_and_places),
	cmocka_unit_test(test_bad_schemas),
	cmocka_unit_test(test_depth),
	cmocka_unit_test(test_defaults),
	cmocka_unit_test(test_sizes),
};

UNIT_TESTS(test_schema);
