/* SPDX-License-Identifier: MIT */
/* Forms and queries, well-formed and hostile. */
#include <config.h>

#include "http/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "lib/unit_test.h"

#define TYPE "multipart/form-data; boundary=b"
#define NAMED(name) "Content-Disposition: form-data; name=\"" name "\"\r\n"

/* The form must be found in an allocation of exactly its size, so that a sanitizer sees a read beyond it. */
static int
parse(const char *type, const char *text, size_t size, struct form *ret_form, char **ret_body)
{
	*ret_body = malloc(size ? size : 1);
	(void)memcpy(*ret_body, text, size);
	return form_parse(type, *ret_body, size, ret_form, NULL);
}

static void
reads_forms(void **state)
{
	static const struct {
		const char *type, *body, *name, *file_name, *data;
	} cases[] = {
		{TYPE, "--b\r\n" NAMED("a") "\r\nx\r\n--b--\r\n", "a", NULL, "x"},
		{TYPE, "--b\r\n" NAMED("a") "\r\n\r\n--b--", "a", NULL, ""},
		{TYPE, "--b\r\n" NAMED("a") "\r\n--b--", "a", NULL, ""},
		{TYPE, "preamble\r\n--b\r\n" NAMED("a") "\r\nx\r\n\r\n--b-- \t\r\nepilogue", "a", NULL, "x\r\n"},
		{TYPE, "\r\n--b \t\r\n" NAMED("a") "\r\n--c\r\n-b\r\n--b--", "a", NULL, "--c\r\n-b"},
		{TYPE, "--b\r\nContent-Type: text/plain\r\n" NAMED("a") "X: y\r\n\r\nx\r\n--b--", "a", NULL, "x"},
		{TYPE, "--b\r\ncontent-disposition:form-data;NAME=a ; FileName=\"k\xc3\xa9.py\"\r\n\r\nx\r\n--b--", "a",
			"k\xc3\xa9.py", "x"},
		{TYPE, "--b\r\nContent-Disposition: form-data; filename=\"a\\\"b\\\\c\\d\"; name=\"q\"\r\n\r\nx\r\n--b--", "q",
			"d", "x"},
		{TYPE, "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\"\r\n\r\n\r\n--b--", "a", "", ""},
		{TYPE, "--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=UTF-8''x\r\n\r\n\r\n--b--", "a", NULL, ""},
		{"Multipart/Form-Data;charset=utf-8 ; BOUNDARY=\"a b:c\"",
			"--a b:c\r\n" NAMED("a") "Content-Transfer-Encoding: binary\r\n\r\nx\r\n--a b:c--", "a", NULL, "x"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct form form = {.count = 0};
		AUTO_FREE char *body = NULL;
		assert_int_equal(parse(cases[i].type, cases[i].body, strlen(cases[i].body), &form, &body), 0);
		const struct form_part *part = form_part(&form, cases[i].name);
		assert_int_equal(form.count, 1);
		assert_non_null(part);
		assert_int_equal(part->size, strlen(cases[i].data));
		assert_memory_equal(part->data, cases[i].data, part->size);
		assert_int_equal(!part->file_name, !cases[i].file_name);
		if (part->file_name)
			assert_string_equal(part->file_name, cases[i].file_name);
		assert_null(form_part(&form, "other"));
		form_free(&form);
	}
}

static void
reads_several_parts(void **state)
{
	static const char text[] =
		"--b\r\n" NAMED("a") "\r\n\0\xff\r\n--b\r\n" NAMED("c") "\r\n2\r\n--b\r\n" NAMED("a") "\r\n3\r\n--b--\r\n";
	struct form form = {.count = 0};
	AUTO_FREE char *body = NULL;
	(void)state;
	assert_int_equal(parse(TYPE, text, sizeof(text) - 1, &form, &body), 0);
	assert_int_equal(form.count, 3);
	assert_int_equal(form_part(&form, "a")->size, 2);
	assert_memory_equal(form_part(&form, "a")->data, "\0\xff", 2);
	assert_memory_equal(form_part(&form, "c")->data, "2", 1);
	assert_memory_equal(form.parts[2].data, "3", 1);
	form_free(&form);
	/* No part at all. */
	AUTO_FREE char *empty = NULL;
	assert_int_equal(parse(TYPE, "--b--", 5, &form, &empty), 0);
	assert_int_equal(form.count, 0);
}

static void
refuses_forms(void **state)
{
	static const char *const bodies[] = {"", "--b", "--b\r\n", "--b\r\n\r\n", "b--\r\n", "--b\r\n\r\nx\r\n--b--",
		"--b\r\n" NAMED("a"), "--b\r\n" NAMED("a") "\r\nx", "--b\r\n" NAMED("a") "\r\nx\r\n--b",
		"--b\r\n" NAMED("a") "\r\nx\r\n--b\r\n", "--b\r\n" NAMED("a") "\r\nx--b--", "--b\r\n" NAMED("a") "\r\nx\n--b--",
		"--b\n" NAMED("a") "\r\nx\r\n--b--",
		/* The boundary in the content, as the beginning of another one. */
		"--b\r\n" NAMED("a") "\r\nx\r\n--bx\r\n--b--", "--b\r\n" NAMED("a") "\r\nx\r\n--b--x\r\n--b--",
		/* Without a name, with two, with a malformed one. */
		"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--", "--b\r\n" NAMED("") "\r\nx\r\n--b--",
		"--b\r\n" NAMED("a") NAMED("b") "\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data name=\"a\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"a\"x\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"\xff\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\x1b[m\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data;\r\n name=\"a\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"a\rb\"\r\n\r\nx\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"a\nb\"\r\n\r\nx\r\n--b--",
		"--b\r\n" NAMED("a") "no colon\r\n\r\nx\r\n--b--",
		/* Nested, encoded. */
		"--b\r\n" NAMED("a") "Content-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--",
		"--b\r\n" NAMED("a") "Content-Transfer-Encoding: base64\r\n\r\neA==\r\n--b--"};
	static const char nul[] = "--b\r\nContent-Disposition: form-data; name=\"a\0b\"\r\n\r\nx\r\n--b--";
	static const char *const types[] = {"multipart/form-data", "multipart/form-data; boundary",
		"multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"", "multipart/form-data boundary=b",
		"multipart/form-data; boundary=\"b\x01\"", "multipart/form-data; boundary=\"b ",
		"multipart/form-data; boundary=\"b \"", "multipart/form-data; boundary=b;",
		"multipart/form-data; boundary=0123456789012345678901234567890123456789012345678901234567890123456789x"};
	struct form form;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		AUTO_FREE char *body = NULL;
		if (parse(TYPE, bodies[i], strlen(bodies[i]), &form, &body) != KETTLE_EINVAL)
			fail_msg("%s", bodies[i]);
	}
	AUTO_FREE char *body = NULL;
	assert_int_equal(parse(TYPE, nul, sizeof(nul) - 1, &form, &body), KETTLE_EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (form_parse(types[i], "--b--", 5, &form, NULL) != KETTLE_EINVAL)
			fail_msg("%s", types[i]);
	assert_int_equal(form_parse("text/plain", "", 0, &form, NULL), KETTLE_EVERSION);
	assert_int_equal(form_parse(NULL, "", 0, &form, NULL), KETTLE_EVERSION);
	assert_int_equal(form_parse("multipart/mixed; boundary=b", "--b--", 5, &form, NULL), KETTLE_EVERSION);
}

static void
bounds_forms(void **state)
{
	struct form form = {.count = 0};
	(void)state;
	for (size_t parts = FORM_PARTS_MAX; parts <= FORM_PARTS_MAX + 1; parts++) {
		AUTO_BUF struct buf body = {0};
		for (size_t i = 0; i < parts; i++)
			buf_adds(&body, "--b\r\n" NAMED("a") "\r\nx\r\n");
		buf_adds(&body, "--b--");
		int rc = form_parse(TYPE, body.data, body.len, &form, NULL);
		assert_int_equal(rc, parts > FORM_PARTS_MAX ? KETTLE_EINVAL : 0);
		form_free(&form);
	}
	/* Headers of 4096 bytes with their empty line, and of one more. */
	for (int more = 0; more < 2; more++) {
		AUTO_BUF struct buf body = {0};
		const char *begin = "--b\r\n" NAMED("a") "X: ";
		buf_adds(&body, begin);
		while (body.len < strlen("--b\r\n") + 4096 - 4 + (size_t)more)
			buf_adds(&body, "x");
		buf_adds(&body, "\r\n\r\nx\r\n--b--");
		assert_int_equal(form_parse(TYPE, body.data, body.len, &form, NULL), more ? KETTLE_EINVAL : 0);
		form_free(&form);
	}
}

static void
reads_queries(void **state)
{
	struct query query;
	(void)state;
	assert_int_equal(query_parse("a=1&b=x+y%2bz&a=%C3%A9&c&=d&&e==f&", &query, NULL), 0);
	assert_int_equal(query.count, 6);
	assert_string_equal(query_value(&query, "a"), "1");
	assert_string_equal(query_value(&query, "b"), "x y+z");
	assert_string_equal(query.parameters[2].name, "a");
	assert_string_equal(query.parameters[2].value, "\xc3\xa9");
	assert_string_equal(query_value(&query, "c"), "");
	assert_string_equal(query_value(&query, ""), "d");
	assert_string_equal(query_value(&query, "e"), "=f");
	assert_null(query_value(&query, "f"));
	query_free(&query);
	assert_int_equal(query_parse("", &query, NULL), 0);
	assert_int_equal(query.count, 0);
	query_free(&query);
}

static void
checks_names(void **state)
{
	static const char *const names[] = {"a", "b", NULL};
	static const struct {
		const char *text;
		int rc;
	} rows[] = {{"", 0}, {"a=1", 0}, {"b=1&a=2", 0}, {"a=1&a=1", KETTLE_EINVAL}, {"a&b&a", KETTLE_EINVAL},
		{"c=1", KETTLE_EINVAL}, {"=1", KETTLE_EINVAL}, {"A=1", KETTLE_EINVAL}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct query query;
		assert_int_equal(query_parse(rows[i].text, &query, NULL), 0);
		if (query_check(&query, names, NULL) != rows[i].rc)
			fail_msg("%s", rows[i].text);
		query_free(&query);
	}
}

static void
refuses_queries(void **state)
{
	static const char *const wrong[] = {
		"a=%", "a=%4", "a=%4x", "a=%x4", "%=1", "a=%00", "a%00=1", "a=%ff", "a=\xff", "a=%0a", "a=%C2%85", "a=\t"};
	struct query query;
	AUTO_BUF struct buf many = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (query_parse(wrong[i], &query, NULL) != KETTLE_EINVAL)
			fail_msg("%s", wrong[i]);
	for (size_t i = 0; i < QUERY_MAX; i++)
		buf_adds(&many, "&a");
	assert_int_equal(query_parse(many.data, &query, NULL), 0);
	assert_int_equal(query.count, QUERY_MAX);
	query_free(&query);
	buf_adds(&many, "&a");
	assert_int_equal(query_parse(many.data, &query, NULL), KETTLE_EINVAL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(reads_forms),
	cmocka_unit_test(reads_several_parts),
	cmocka_unit_test(refuses_forms),
	cmocka_unit_test(bounds_forms),
	cmocka_unit_test(reads_queries),
	cmocka_unit_test(checks_names),
	cmocka_unit_test(refuses_queries),
};

UNIT_TESTS(test_form);
