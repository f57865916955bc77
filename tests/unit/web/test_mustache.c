/* SPDX-License-Identifier: MIT */
/* Templates over answers: what is escaped, what a section is entered for, and which names there are. */
#include <config.h>

#include "web/render/mustache.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

/* The template over a model in JSON; unknown: the name that none of its sections has, or NULL. */
static void
renders(const char *template, const char *model, const char *html, const char *unknown)
{
	AUTO_BUF struct buf page = {0};
	AUTO_FREE char *found = NULL;
	AUTO_JSON json_t *value = json_loads(model, JSON_DECODE_ANY, NULL);
	assert_non_null(value);
	assert_true(mustache_render_text(&page, template, value, &found));
	assert_string_equal(page.data ? page.data : "", html);
	assert_true(unknown ? found && strcmp(found, unknown) == 0 : !found);
}

static void
test_escaping(void **state)
{
	(void)state;
	renders("<a b=\"{{x}}\">", "{\"x\": \"<i>&\\\"'\"}", "<a b=\"&#60;i&#62;&#38;&#34;&#39;\">", NULL);
	renders("{{x}}", "{\"x\": \"a\\u0007b\\u202ec\\u200bd\\u0085e\\tf\\ng\"}",
		"a\xef\xbf\xbd"
		"b\xef\xbf\xbd"
		"c\xef\xbf\xbd"
		"d\xef\xbf\xbd"
		"e\tf\ng",
		NULL);
	/* What a form sends back is whole, and escaped. */
	renders("{{x:raw}}", "{\"x\": \"<\\u202e\"}", "&#60;\xe2\x80\xae", NULL);
	renders("{{{markdown}}}{{{diff}}}", "{\"markdown\": \"<b>\", \"diff\": \"<i>\"}", "<b><i>", NULL);
	/* Neither values nor names are templates. */
	renders("{{x}}", "{\"x\": \"{{y}}\", \"y\": \"z\"}", "{{y}}", NULL);
}

static void
test_values(void **state)
{
	(void)state;
	const char *const model = "{\"n\": null, \"f\": false, \"t\": true, \"z\": 0, \"i\": 7, \"r\": 1.5, \"e\": \"\", "
							  "\"s\": \"a\", \"l\": [], \"o\": {}}";
	renders("{{n}}|{{f}}|{{t}}|{{z}}|{{i}}|{{r}}|{{e}}|{{s}}|{{l}}|{{o}}", model, "|||0|7|1.5||a||", NULL);
	renders("{{#n}}n{{/n}}{{#f}}f{{/f}}{{#t}}t{{/t}}{{#z}}z{{/z}}{{#e}}e{{/e}}{{#s}}s{{/s}}{{#l}}l{{/l}}{{#o}}o{{/o}}",
		model, "tzs", NULL);
	renders("{{^n}}n{{/n}}{{^f}}f{{/f}}{{^t}}t{{/t}}{{^z}}z{{/z}}{{^e}}e{{/e}}{{^s}}s{{/s}}{{^l}}l{{/l}}{{^o}}o{{/o}}",
		model, "nfelo", NULL);
	renders("{{#z?1}}z{{/z?1}}{{#i?1}}i{{/i?1}}{{#l?1}}l{{/l?1}}{{^z?1}}-{{/z?1}}", model, "i-", NULL);
}

static void
test_maps(void **state)
{
	(void)state;
	renders("{{#m*}}{{name}}={{value}};{{/m*}}{{^e*}}none{{/e*}}", "{\"m\": {\"a\": 1, \"<\": \"b\"}, \"e\": {}}",
		"a=1;&#60;=b;none", NULL);
	renders("{{#m*}}{{#value*}}{{name}}{{value}}{{/value*}}{{/m*}}", "{\"m\": {\"name\": {\"x\": 2}}}", "x2", NULL);
}

/* A member that an object lacks is not that of the section around it. */
static void
test_optional(void **state)
{
	(void)state;
	static const char *const model = "{\"x\": \"outer\", \"o\": {\"y\": {\"z\": 1}}, \"l\": [{\"x\": 2}, {}]}";
	renders("{{#o}}{{x}}{{#y}}{{.z}}{{/y}}{{/o}}", model, "outer1", NULL);
	renders("{{#o}}{{#.x}}{{x}}{{/.x}}{{^.x}}-{{/.x}}{{/o}}", model, "-", ".x");
	renders("{{#l}}{{.x}}{{#x?1}}{{.x}}{{/x?1}},{{/l}}", model, "22,,", ".x");
	renders("{{#o}}{{.x?is|is not}} {{.y.z}}{{/o}}", model, "is not 1", ".x");
}

static void
test_sentences(void **state)
{
	(void)state;
	renders("{{s:sentence}}", "{\"s\": \"No `<a>` and `b`, `c\"}", "No <code>&#60;a&#62;</code> and <code>b</code>, `c",
		NULL);
	renders(
		"{{#l}}{{.:sentence}}{{/l}}{{e:sentence}}", "{\"l\": [\"`\", \"``\"], \"e\": \"\"}", "`<code></code>", NULL);
	renders("{{f:language}} {{g:language}} {{h:language}}", "{\"f\": \"a.b.cuh\", \"g\": \"Makefile\", \"h\": \"x.\"}",
		"cpp none none", NULL);
}

static void
test_equal(void **state)
{
	(void)state;
	renders("{{#l}}{{#n==o.n}}{{n}}!{{/n==o.n}}{{^n==o.n}}{{n}}{{/n==o.n}}{{/l}}",
		"{\"o\": {\"n\": \"a\"}, \"l\": [{\"n\": \"a\"}, {\"n\": \"b\"}, {\"n\": null}]}", "a!b", NULL);
	renders("{{#n==o.p}}x{{/n==o.p}}", "{\"n\": 1, \"o\": {}}", "", NULL);
	renders("{{r=1?gold}}{{r=2?silver}}", "{\"r\": 2}", "silver", NULL);
}

/* What is known to be uncertain is neither good nor bad; where nothing is known of it, the change counts. */
static void
test_changes(void **state)
{
	(void)state;
	renders("{{#c}}{{p:tone}} {{p:change}};{{/c}}",
		"{\"c\": [{\"p\": -10.0, \"significant\": null}, {\"p\": -10.0}, {\"p\": 3, \"significant\": true}, {\"p\": "
		"0}, "
		"{\"p\": 1.5, \"significant\": false}]}",
		"quiet 10.0 % less time;good 10.0 % less time;bad 3.0 % more time;quiet the same;quiet +1.5 %, within noise;",
		NULL);
}

static void
test_long(void **state)
{
	(void)state;
	char text[5000] = "";
	memset(text, 'x', sizeof(text) - 1);
	AUTO_FREE char *model = xasprintf("{\"t\": \"%s\"}", text), *html = xasprintf("%.4096s …", text);
	renders("{{t:said}}", model, html, NULL);
}

static void
test_sections(void **state)
{
	(void)state;
	const char *const model = "{\"a\": [{\"b\": [\"x\", \"y\"], \"n\": 1}, {\"b\": [], \"n\": 2}], \"n\": 9, \"t\": "
							  "[\"p\", \"<\"], \"o\": {\"n\": 3, "
							  "\"q\": {\"r\": \"s\"}}}";
	renders("{{#a}}{{n}}{{#b}}{{.}},{{/b}}{{^b}}none{{/b}};{{/a}}{{n}}", model, "1x,y,;2none;9", NULL);
	renders("{{#t}}<{{.}}>{{/t}}{{t.0}}{{a.0.n}}", model, "<p><&#60;>p1", NULL);
	renders("{{#o}}{{n}}{{q.r}}{{#q}}{{r}}{{n}}{{/q}}{{/o}}{{o.q.r}}", model, "3ss3s", NULL);
	/* A section that is entered for a list as a whole, then for each of it. */
	renders("{{#t?1}}[{{#t}}{{.}}{{/t}}]{{/t?1}}", model, "[p&#60;]", NULL);
}

static void
test_names(void **state)
{
	(void)state;
	renders("{{a}}{{b}}{{c}}", "{\"a\": 1}", "1", "b");
	renders("{{#b}}x{{/b}}{{^c}}y{{/c}}", "{\"a\": 1}", "y", "b");
	renders("{{a.b}}{{a.c}}", "{\"a\": {\"b\": 1}}", "1", "a.c");
	renders("{{a.b.c}}", "{\"a\": {\"b\": null}}", "", NULL);
	renders("{{a:seconds}}", "{}", "", "a");
	renders("{{#l}}{{x}}{{/l}}", "{\"l\": [{\"x\": 1}, {}]}", "1", "x");
}

/* Cells are those of views. */
static void
test_cells(void **state)
{
	(void)state;
	renders("{{s:seconds}} {{l:and}} {{l#one|several}} {{d:line}} {{k=a?A|B}} {{b:bytes}}",
		"{\"s\": 0.0015, \"l\": [\"<\", \"y\", \"z\"], \"d\": \"<a>\\nb\", \"k\": \"a\", \"b\": 2048}",
		"1.500 ms &#60;, y and z several &#60;a&#62; A 2.0 KiB", NULL);
	renders("{{a:line}}|{{b:line}}|{{c:line}}|{{d:line}}",
		"{\"a\": \"\\n## Title\\ntext\", \"b\": \"#2 try\", \"c\": \"# \", \"d\": \"##\"}", "Title|#2 try||##", NULL);
	renders("{{#x}}{{.:seconds}};{{/x}}{{o.p:count}}", "{\"x\": [1.5, 2], \"o\": {\"p\": [1, 2]}}", "1.500 s;2.000 s;2",
		NULL);
}

static void
test_partials(void **state)
{
	(void)state;
	renders("{{#m}}{{>docs_row}}{{/m}}",
		"{\"m\": [{\"name\": \"<\", \"kind\": \"k\", \"link\": null, \"note\": \"\", \"help\": \"h\"}]}",
		"<tr><td><code>&#60;</code></td><td>k</td><td>h</td></tr>", NULL);
	AUTO_BUF struct buf page = {0};
	AUTO_JSON json_t *model = json_object();
	assert_false(mustache_render(&page, "none", model, NULL));
	assert_false(mustache_render_text(&page, "{{#a}}", model, NULL));
}

/* Whether a template can be parsed, and leaves nothing unescaped but what Kettle makes itself. */
static bool
is_good(const char *text)
{
	AUTO_BUF struct buf page = {0};
	AUTO_JSON json_t *model = json_object();
	for (const char *at = text; (at = strstr(at, "{{")); at += 2) {
		char first = at[2 + strspn(at + 2, " \t\r\n")];
		bool is_made = strncmp(at, "{{{markdown}}}", strlen("{{{markdown}}}")) == 0 ||
					   strncmp(at, "{{{diff}}}", strlen("{{{diff}}}")) == 0;
		if (first == '&' || first == '=' || (first == '{' && !is_made))
			return false;
		at += is_made;
	}
	return mustache_render_text(&page, text, model, NULL);
}

static void
test_check(void **state)
{
	(void)state;
	assert_true(is_good("{{a}}{{{markdown}}}{{{diff}}}"));
	static const char *const bad[] = {"{{{a}}}", "{{& a}}", "{{&a}}", "{{ \n&a}}", "{{ =<% %>=}}", "{{=<% %>=}}",
		"{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{a", "{{{ diff2 }}}"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(is_good(bad[i]));
	for (const char *const *name = mustache_names(); *name; name++)
		if (!is_good(mustache_text(*name)))
			fail_msg("%s", *name);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_escaping),
	cmocka_unit_test(test_values),
	cmocka_unit_test(test_maps),
	cmocka_unit_test(test_optional),
	cmocka_unit_test(test_sentences),
	cmocka_unit_test(test_equal),
	cmocka_unit_test(test_changes),
	cmocka_unit_test(test_long),
	cmocka_unit_test(test_sections),
	cmocka_unit_test(test_names),
	cmocka_unit_test(test_cells),
	cmocka_unit_test(test_partials),
	cmocka_unit_test(test_check),
};

UNIT_TESTS(test_mustache);
