/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON: types, places, limits, and everything that is refused. */
#include <config.h>

#include "base/yaml.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

/* The text becomes this JSON. */
static void
becomes(const char *text, const char *wanted)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *value = NULL;
	if (yaml_parse("f.yml", text, strlen(text), &value, NULL, &err) != 0)
		fail_msg("%s", err.message);
	AUTO_FREE char *found = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	assert_string_equal(found, wanted);
}

static void
refused_bytes(const char *text, size_t size, int code, const char *part)
{
	struct kettle_error err = {0};
	json_t *value = NULL, *places = NULL;
	int rc = yaml_parse("f.yml", text, size, &value, &places, &err);
	if (rc != code || !strstr(err.message, part))
		fail_msg("%d \"%s\", not %d and \"%s\"", rc, err.message, code, part);
	assert_null(value);
	assert_null(places);
}

static void
refused(const char *text, const char *part)
{
	refused_bytes(text, strlen(text), KETTLE_EINVAL, part);
}

static void
test_scalars(void **state)
{
	(void)state;
	becomes("[null, Null, NULL, ~, ]", "[null,null,null,null]");
	becomes("a:\nb: \n", "{\"a\":null,\"b\":null}");
	becomes("[true, True, TRUE, false, False, FALSE, yes, no, on, off, tRUE]",
		"[true,true,true,false,false,false,\"yes\",\"no\",\"on\",\"off\",\"tRUE\"]");
	becomes("[0, -0, +12, -7, 007, 0x1F, 0o17, 9223372036854775807, -9223372036854775808]",
		"[0,0,12,-7,7,31,15,9223372036854775807,-9223372036854775808]");
	becomes("[1.5, -.5, 1., 1e3, 1E-2, +0.0]", "[1.5,-0.5,1.0,1000.0,0.01,0.0]");
	becomes("[2025-06-30, 12:30, 1_000, 0xZZ, 1e, ., -, +, 0x, 1.2.3, \"5\", 'true', \"\"]",
		"[\"2025-06-30\",\"12:30\",\"1_000\",\"0xZZ\",\"1e\",\".\",\"-\",\"+\",\"0x\",\"1.2.3\",\"5\",\"true\",\"\"]");
	becomes("!!str 5", "\"5\"");
	becomes("", "null");
	becomes("# nothing\n", "null");
	becomes("--- 5\n...\n", "5");
	becomes("\xef\xbb\xbf"
			"a: 1\r\nb: 2\r\n",
		"{\"a\":1,\"b\":2}");
}

/* What PyYAML 6 makes of them otherwise, and what it reads alike. */
static void
test_old_words(void **state)
{
	(void)state;
	static const char *const alike[] = {"true", "False", "null", "~", "12", "-7", "+3", "0", "0x1F", "1.5", "1.", ".5",
		"1.0e+5", "2.5E-3", "word", "1.2.3", "y", "n", "1e", "0b", "0b12", "1:60", "12:345", "_1", "x_1",
		"9223372036854775807", "2025-6-30", "'no'", "\"1_000\"", "!!str 017", "x, own: no"};
	static const char *const otherwise[][2] = {{"no", "a word here, but `false`"}, {"Yes", "a word here, but `true`"},
		{"OFF", "`false`"}, {"1_000", "a word here, but the number 1000"}, {"0b11", "the number 3"},
		{"017", "a number here, but the number 15"}, {"-0x1F", "a word here, but the number -31"},
		{"08", "a number here, but a word"}, {"0o17", "a number here, but a word"},
		{"1e5", "a number here, but a word"}, {"1.0e5", "a number here, but a word"},
		{"-.5", "a number here, but a word"}, {"1_0.5", "a word here, but a number"}, {"1:30", "to the base of sixty"},
		{"2025-06-30", "a date"}, {"1_000_000_000_000_000_000", "a number"}};
	for (size_t i = 0; i < ARRAY_SIZE(alike) + ARRAY_SIZE(otherwise); i++) {
		const char *word = i < ARRAY_SIZE(alike) ? alike[i] : otherwise[i - ARRAY_SIZE(alike)][0];
		AUTO_FREE char *text = xasprintf("a: x\nb: [{c: %s}]\n", word);
		AUTO_JSON json_t *remarks = json_array();
		yaml_add_remarks("f.yml", text, strlen(text), "own", remarks);
		const char *found = json_string_value(json_array_get(remarks, 0));
		if (i < ARRAY_SIZE(alike) ? found != NULL : !found || !strstr(found, otherwise[i - ARRAY_SIZE(alike)][1]))
			fail_msg("%s: %s", word, found ? found : "no remark");
		if (found)
			assert_ptr_equal(strstr(found, "f.yml:2:9: "), found);
	}
	AUTO_BUF struct buf many = {0};
	for (int i = 0; i < 100; i++)
		buf_adds(&many, "- no\n");
	AUTO_JSON json_t *remarks = json_array();
	yaml_add_remarks("f.yml", many.data, many.len, "own", remarks);
	assert_int_equal(json_array_size(remarks), YAML_MAX_REMARKS);
}

static void
test_tasks_of_the_field(void **state)
{
	(void)state;
	becomes("files:\n  - {\"name\": \"submission.py\", \"source\": \"@SUBMISSION@\"}\n"
			"  - {\"name\":\"eval.py\",\"source\":\"../eval.py\"}\n"
			"lang: \"py\"\n"
			"description: |\n  One\n    two\n\n  three\n"
			"tests:\n  - {\"size\": 127, \"seed\": 4242}\n  - {size: 64; , ok: True}\n",
		"{\"files\":[{\"name\":\"submission.py\",\"source\":\"@SUBMISSION@\"},{\"name\":\"eval.py\",\"source\":\"../"
		"eval.py\"}],\"lang\":\"py\",\"description\":\"One\\n  "
		"two\\n\\nthree\\n\",\"tests\":[{\"size\":127,\"seed\":4242},"
		"{\"size\":\"64;\",\"ok\":true}]}");
	becomes("a: >-\n  folded\n  text\nb: {l: [1, 2], 'q r': x}\n1: y\n",
		"{\"a\":\"folded text\",\"b\":{\"l\":[1,2],\"q r\":\"x\"},\"1\":\"y\"}");
}

static void
test_aliases(void **state)
{
	(void)state;
	becomes("a: &x [1, {b: 2}]\nc: *x\n", "{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}]}");
	becomes("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: {q: 4, <<: *x}\n",
		"{\"a\":{\"p\":1,\"q\":2},\"b\":{\"q\":3,\"p\":1},\"c\":{\"q\":4,\"p\":1}}");
	becomes("- &x {p: 1}\n- &y {p: 2, q: 3}\n- {<<: [*x, *y], r: 4}\n",
		"[{\"p\":1},{\"p\":2,\"q\":3},{\"r\":4,\"p\":1,\"q\":3}]");
	becomes("{'<<': 1}", "{\"<<\":1}");
	refused("a: *x\n", "f.yml:1:4: the alias `*x` refers to no anchor");
	refused("a: &x [1, *x]\n", "refers to no anchor that is complete");
	refused("a: &x {b: *x}\n", "refers to no anchor that is complete");
	refused("a: {<<: 5}\n", "needs a map");
	refused("a: {<<: [1]}\n", "needs a map");
}

static void
test_refused(void **state)
{
	(void)state;
	refused("a: 1\nb: 2\na: 3\n", "f.yml:3:1: the key `a` is given twice.");
	refused("a: 9223372036854775808\n", "does not fit in 64 bits");
	refused("a: -99999999999999999999999\n", "does not fit in 64 bits");
	refused("a: .inf\n", "is not finite");
	refused("a: -.INF\n", "is not finite");
	refused("a: .nan\n", "is not finite");
	refused("a: 1e999\n", "is not finite");
	refused("\n\na: [1, 2\nb: 3\n", "f.yml:4:2: this is not YAML");
	refused("a:\n\tb: 1\n", "f.yml:2:1: this is not YAML: a tab cannot indent a line; use spaces.");
	refused("a: 1\nb: 'open\nc: 2\n",
		"f.yml:4:1: this is not YAML: while scanning a quoted scalar that begins at line 2, found unexpected end of "
		"stream.");
	refused(
		"a:\n  - {b: @C}\n", "f.yml:2:9: this is not YAML: a value cannot begin with `@`; put the value in quotes.");
	refused("a: \xc3\xa4\nb: `c`\n",
		"f.yml:2:4: this is not YAML: a value cannot begin with ```; put the value in quotes.");
	refused("a: \xc3\xa4\x01\n", "f.yml:1:5: this is not YAML: control characters are not allowed.");
	refused("? [a]\n: b\n", "a key must be a string");
	refused("? {a: 1}\n: b\n", "a key must be a string");
	refused("a: 1\n---\nb: 2\n", "f.yml:2:1: a second document begins");
	refused("a: !!binary aGk=\n", "the tag tag:yaml.org,2002:binary is not understood");
	refused("a: !!set {x}\n", "is not understood");
	refused("&k a: 1\n", "neither an anchor nor a tag");
	refused("a: \"x\\0y\"\n", "contains a NUL");
	refused("\"x\\0y\": 1\n", "a key contains a NUL");
	refused_bytes("a: 1\nb: \xff\n", 10, KETTLE_EINVAL, "f.yml:2:4: the file is not UTF-8 text");
	refused_bytes("a\0b", 3, KETTLE_EINVAL, "not UTF-8 text");
	refused_bytes("\xff\xfe"
				  "a\0",
		4, KETTLE_EINVAL, "not UTF-8 text");
}

static char *
repeat(const char *head, const char *piece, size_t count, const char *tail)
{
	struct buf text = {0};
	buf_adds(&text, head);
	for (size_t i = 0; i < count; i++)
		buf_adds(&text, piece);
	buf_adds(&text, tail);
	return buf_take(&text);
}

static void
test_limits(void **state)
{
	(void)state;
	AUTO_FREE char *deep = repeat("", "[", YAML_MAX_DEPTH, ""), *deeper = repeat("", "[", YAML_MAX_DEPTH + 1, "");
	AUTO_FREE char *closed = repeat(deep, "]", YAML_MAX_DEPTH, "");
	AUTO_FREE char *much_deeper = repeat("", "[", 200000, "");
	AUTO_FREE char *block = repeat("", "- ", 200000, "x");
	AUTO_FREE char *many = repeat("[", "1,", YAML_MAX_NODES, "1]"), *large = repeat("", "#xxxxxx\n", (1 << 17) + 1, "");
	AUTO_FREE char *key = repeat("", "k", YAML_MAX_KEY + 1, ": 1\n");
	AUTO_FREE char *tags = repeat("", "%TAG !a! x\xe2\x80\xa8", YAML_MAX_TAGS + 1, "---\na: 1\n");
	json_t *value = NULL;
	assert_int_equal(yaml_parse("f", closed, strlen(closed), &value, NULL, NULL), 0);
	json_decref(value);
	refused_bytes(deeper, strlen(deeper), KETTLE_ETOOBIG, "deeper than 64 levels");
	refused_bytes(much_deeper, strlen(much_deeper), KETTLE_ETOOBIG, "deeper than 64 levels");
	refused_bytes(block, strlen(block), KETTLE_ETOOBIG, "deeper than 64 levels");
	refused_bytes(many, strlen(many), KETTLE_ETOOBIG, "more than 100000 values");
	refused_bytes(large, strlen(large), KETTLE_ETOOBIG, "larger than the 1048576 bytes allowed");
	refused_bytes(key, strlen(key), KETTLE_ETOOBIG, "a key is longer than 1000 bytes");
	/* libyaml takes U+2028 for the end of a line. */
	refused_bytes(tags, strlen(tags), KETTLE_ETOOBIG, "there are more than 8 `%TAG`");
}

/* Nine levels of nine aliases each would be 387 million values; and a megabyte of aliases of a large list. */
static void
test_alias_bombs(void **state)
{
	(void)state;
	AUTO_BUF struct buf bomb = {0};
	buf_adds(&bomb, "a: &a [x,x,x,x,x,x,x,x,x]\n");
	for (char c = 'b'; c <= 'i'; c++) {
		buf_printf(&bomb, "%c: &%c [", c, c);
		for (int i = 0; i < 9; i++)
			buf_printf(&bomb, "*%c,", c - 1);
		buf_adds(&bomb, "]\n");
	}
	refused_bytes(bomb.data, bomb.len, KETTLE_ETOOBIG, "with aliases expanded");
	AUTO_FREE char *list = repeat("- &a [", "1,", 1000, "]\n"), *large = repeat(list, "- *a\n", 200000, "");
	refused_bytes(large, strlen(large), KETTLE_ETOOBIG, "with aliases expanded");
	/* Few values, but a long one; and as a key. */
	AUTO_FREE char *text = repeat("- &a ", "x", 500000, "\n"), *texts = repeat(text, "- *a\n", 1000, "");
	refused_bytes(texts, strlen(texts), KETTLE_ETOOBIG, "aliases expand to more than 8 MiB of text");
	AUTO_FREE char *name = repeat("- &a {", "k", YAML_MAX_KEY, ": 1}\n"), *names = repeat(name, "- *a\n", 30000, "");
	refused_bytes(names, strlen(names), KETTLE_ETOOBIG, "aliases expand to more than 8 MiB of text");
	/* A chain of depth: each alias one level further down. */
	AUTO_BUF struct buf chain = {0};
	buf_adds(&chain, "- &a0 [1]\n");
	for (int i = 1; i < 100; i++)
		buf_printf(&chain, "- &a%d [*a%d]\n", i, i - 1);
	refused_bytes(chain.data, chain.len, KETTLE_ETOOBIG, "deeper than 64 levels");
	/* Long keys around many values: the places must not become gigabytes. */
	AUTO_BUF struct buf keys = {0};
	for (int i = 0; i < 60; i++) {
		AUTO_FREE char *key = repeat("{", "k", YAML_MAX_KEY, ": ");
		buf_adds(&keys, key);
	}
	AUTO_FREE char *values = repeat("[", "1,", 90000, "1]"), *end = repeat("", "}", 60, "");
	buf_adds(&keys, values);
	buf_adds(&keys, end);
	AUTO_JSON json_t *value = NULL, *places = NULL;
	assert_int_equal(yaml_parse("f", keys.data, keys.len, &value, &places, NULL), 0);
	assert_true(json_object_size(places) < 100);
}

static void
is_at(const json_t *places, const char *pointer, const char *value, const char *key)
{
	AUTO_BUF struct buf found = {0}, found_key = {0};
	yaml_add_place(&found, "f", places, pointer);
	yaml_add_key_place(&found_key, "f", places, pointer);
	assert_string_equal(found.data, value);
	assert_string_equal(found_key.data, key);
}

static void
test_places(void **state)
{
	(void)state;
	const char text[] =
		"\xef\xbb\xbf# head\na: \"\xc3\xa4\"\nb:\n  c:\n    - x\n    - {y: 2,\n       \"z/~\": 3}\nd: {\xc3\xa4: "
		"1, o: 2}\ne:\n  5\n";
	AUTO_JSON json_t *value = NULL, *places = NULL;
	struct kettle_error err = {.code = KETTLE_ENOENT, .message = "gone."};
	assert_int_equal(yaml_parse("f", text, strlen(text), &value, &places, NULL), 0);
	is_at(places, "", "f:2:1: ", "f:2:1: ");
	is_at(places, "/a", "f:2:4: ", "f:2:1: ");
	is_at(places, "/b", "f:3:1: ", "f:3:1: ");
	is_at(places, "/b/c", "f:4:3: ", "f:4:3: ");
	is_at(places, "/b/c/0", "f:5:7: ", "f:5:7: ");
	is_at(places, "/b/c/1", "f:6:7: ", "f:6:7: ");
	is_at(places, "/b/c/1/y", "f:6:11: ", "f:6:8: ");
	is_at(places, "/b/c/1/z~1~0", "f:7:15: ", "f:7:8: ");
	is_at(places, "/b/c/1/none", "f:6:7: ", "f:6:7: ");
	is_at(places, "/d", "f:8:4: ", "f:8:1: ");
	is_at(places, "/d/o", "f:8:14: ", "f:8:11: ");
	is_at(places, "/e", "f:10:3: ", "f:9:1: ");
	is_at(places, "/none", "f:2:1: ", "f:2:1: ");
	is_at(NULL, "/a", "f: ", "f: ");
	assert_int_equal(yaml_fail_at("f", places, "/d/o", &err), KETTLE_ENOENT);
	assert_string_equal(err.message, "f:8:14: gone.");
}

static void
edits_to(const char *text, json_t *edits_take, const char *wanted)
{
	AUTO_JSON json_t *edits = edits_take;
	AUTO_FREE char *found = NULL;
	struct kettle_error err = {0};
	int rc = yaml_edit(text, strlen(text), edits, &found, &err);
	if (wanted && rc)
		fail_msg("%s", err.message);
	if (wanted)
		assert_string_equal(found, wanted);
	else
		assert_int_equal(rc, KETTLE_EINVAL);
}

/* Only the named scalars change, whatever stands around them. */
static void
test_edit(void **state)
{
	(void)state;
	edits_to("a: 1 # one\nb: [x, 'y', \"z\"]\n", json_pack("{s:s, s:s}", "/b/1", "new", "/a", "q\"q"),
		"a: \"q\\\"q\" # one\nb: [x, \"new\", \"z\"]\n");
	edits_to("\xef\xbb\xbf# \xc3\xa4\xc3\xb6\n\xc3\xa4: {b: c}\nlist:\n  - d: e\n    f: g\n",
		json_pack("{s:s, s:s}", "/list/0/f", "h", "/\xc3\xa4/b", "i"),
		"\xef\xbb\xbf# \xc3\xa4\xc3\xb6\n\xc3\xa4: {b: \"i\"}\nlist:\n  - d: e\n    f: \"h\"\n");
	edits_to("a: 1\n", json_object(), "a: 1\n");
	edits_to("a: &x b\nc: *x\n", json_pack("{s:s}", "/c", "d"), NULL);
	edits_to("a: &x b\nc: *x\n", json_pack("{s:s}", "/a", "d"), NULL);
	edits_to("a: |\n  b\n", json_pack("{s:s}", "/a", "d"), NULL);
	edits_to("a: {b: c}\n", json_pack("{s:s}", "/a", "d"), NULL);
	edits_to("a: b\n", json_pack("{s:s}", "/b", "d"), NULL);
	edits_to("{a: [}", json_pack("{s:s}", "/a", "d"), NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_edit),
	cmocka_unit_test(test_scalars),
	cmocka_unit_test(test_old_words),
	cmocka_unit_test(test_tasks_of_the_field),
	cmocka_unit_test(test_aliases),
	cmocka_unit_test(test_refused),
	cmocka_unit_test(test_limits),
	cmocka_unit_test(test_alias_bombs),
	cmocka_unit_test(test_places),
};

UNIT_TESTS(test_yaml);
