/* SPDX-License-Identifier: MIT */
/* What a page shows of a text in Markdown, also of a hostile one. */
#include <config.h>

#include "web/render/markdown.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define OUT_MAX (2u << 20) /* bytes of HTML for any text */

static void
becomes(const char *text, const char *html)
{
	AUTO_BUF struct buf made = {0};
	markdown_add(&made, text);
	assert_string_equal(made.data, html);
}

static void
test_plain(void **state)
{
	(void)state;
	becomes("a *b* **c** ~~d~~ `<e>`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>&lt;e&gt;</code></p>\n");
	becomes("# a\n\n###### b", "<h2>a</h2>\n<h6>b</h6>\n");
	becomes("|a|b|\n|-|:-:|\n|c|",
		"<table>\n<thead>\n<tr>\n<th>a</th>\n<th align=\"center\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>c</td>\n"
		"<td align=\"center\"></td>\n</tr>\n</tbody>\n</table>\n");
	becomes("```cpp x\n<b>\n```", "<pre><code class=\"language-cpp\">&lt;b&gt;\n</code></pre>\n");
	becomes("a[^1]\n\n[^1]: b", "<p>a^1</p>\n");
}

/* A page loads nothing from elsewhere, and no link is in another. */
static void
test_pictures(void **state)
{
	(void)state;
	becomes("![a](https://x/p.png)", "<p><a href=\"https://x/p.png\">a</a></p>\n");
	becomes("![](https://x)", "<p><a href=\"https://x\">https://x</a></p>\n");
	becomes("![a][r]\n\n[r]: http://x 'title'", "<p><a href=\"http://x\">a</a></p>\n");
	becomes("[![a](https://p)](https://x)", "<p><a href=\"https://x\">a</a></p>\n");
	becomes("[![](https://p)](https://x)", "<p><a href=\"https://x\">https://p</a></p>\n");
	becomes("![a ![b](https://i) c](https://o)", "<p><a href=\"https://o\">a b c</a></p>\n");
	becomes("![a [b](https://i) c](https://o)", "<p><a href=\"https://o\">a b c</a></p>\n");
	becomes("![a https://i.x c](https://o)", "<p><a href=\"https://o\">a https://i.x c</a></p>\n");
	becomes("[*![a](data:b)*](https://x)", "<p><a href=\"https://x\"><em>a</em></a></p>\n");
	becomes("![a](data:image/svg+xml,b) ![c](/d) ![](//e)", "<p>a c //e</p>\n");
}

static void
test_links(void **state)
{
	(void)state;
	becomes("[a](mailto:b@c) <d@e.f> www.g.h", "<p><a href=\"mailto:b@c\">a</a> <a href=\"mailto:d@e.f\">d@e.f</a> <a "
											   "href=\"http://www.g.h\">www.g.h</a></p>\n");
	static const char *const others[] = {"javascript:x", "JAVASCRIPT:x", "java&#115;cript:x", "&#106;avascript:x",
		"data:text/html,x", "vbscript:x", "//evil.test", "/logout", "?q", "#a", "file:///etc", "https:x", "http:/x",
		""};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO_FREE char *text = xasprintf("[a](<%s>) [b][r]\n\n[r]: <%s>", others[i], others[i]);
		becomes(text, "<p>a b</p>\n");
	}
	becomes("<javascript:x>", "<p>javascript:x</p>\n");
	becomes("[a](https://x\"onclick=y)", "<p><a href=\"https://x%22onclick=y\">a</a></p>\n");
}

static void
test_html(void **state)
{
	(void)state;
	static const char *const blocks[] = {
		"<script>alert(1)</script>", "<iframe src=x>", "<!-- a -->", "<style>b</style>", "<div onclick=a>", "<?a?>"};
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		becomes(blocks[i], "<!-- raw HTML omitted -->\n");
	becomes("a <img src=x onerror=y>", "<p>a <!-- raw HTML omitted --></p>\n");
	becomes("&lt;b&gt; \"'&", "<p>&lt;b&gt; &quot;'&amp;</p>\n");
	becomes("```\"><b>\na\n```", "<pre><code class=\"language-&quot;&gt;&lt;b&gt;\">a\n</code></pre>\n");
}

/* Bytes that are not UTF-8, and characters that are not seen. */
static void
test_bytes(void **state)
{
	(void)state;
	becomes("", "");
	AUTO_BUF struct buf made = {0};
	markdown_add(&made, "a\xff\xc0\xaf\xed\xa0\x80 b\x1b[1m c\xe2\x80\xae d\x01");
	for (size_t i = 0; i < made.len; i++)
		assert_true((unsigned char)made.data[i] >= ' ' || made.data[i] == '\n');
	assert_null(strchr(made.data, '\xff'));
	assert_null(strstr(made.data, "\xe2\x80\xae"));
}

/* A long text is cut between characters. */
static void
test_cut(void **state)
{
	(void)state;
	AUTO_BUF struct buf text = {0}, made = {0};
	while (text.len < MARKDOWN_MAX - 1)
		buf_adds(&text, "a");
	buf_adds(&text, "\xc3\xa4![secret](https://x)");
	markdown_add(&made, text.data);
	assert_int_equal(made.len, strlen("<p></p>\n<p></p>\n") + MARKDOWN_MAX - 1 + strlen("…"));
	assert_null(strstr(made.data, "secret"));
	assert_non_null(strstr(made.data, "…"));
}

/* What is repeated takes no time or room by its square. */
static void
test_worst(void **state)
{
	(void)state;
	static const char *const parts[] = {">", "[", "![", "![a", "](b)", "*a_ ", "<? ", "`a``b```", "a@a@", "a.b@c.",
		"www.a.", "https://a", "[a](b ", "[a]: b\n", "- ", "> - ", "  - a\n", "1. ", "|", "|a", "|a\n", "~~a~", "<a ",
		"<!-- ", "**a *a ", "a_b_", "a\n=\n", "```\n", "[![a](https://b)](", "\\", "\xff", "\xe2\x80\xae", "&", "\t"};
	clock_t begin = clock();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		AUTO_BUF struct buf text = {0}, made = {0};
		while (text.len < MARKDOWN_MAX)
			buf_adds(&text, parts[i]);
		markdown_add(&made, text.data);
		assert_true(made.len < OUT_MAX);
		assert_null(strstr(made.data, "<img"));
	}
	/* One row of many columns, and many rows that the parser would fill up to them. */
	static const size_t columns[] = {60, 250, 2500, 4990};
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		AUTO_BUF struct buf text = {0}, made = {0};
		for (size_t at = 0; at < columns[i]; at++)
			buf_adds(&text, "|a");
		buf_adds(&text, "\n");
		for (size_t at = 0; at < columns[i]; at++)
			buf_adds(&text, "|-");
		while (text.len < MARKDOWN_MAX)
			buf_adds(&text, "\na");
		markdown_add(&made, text.data);
		assert_true(made.len < OUT_MAX);
	}
	/* The squares above took minutes, and gigabytes. */
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_plain),
	cmocka_unit_test(test_pictures),
	cmocka_unit_test(test_links),
	cmocka_unit_test(test_html),
	cmocka_unit_test(test_bytes),
	cmocka_unit_test(test_cut),
	cmocka_unit_test(test_worst),
};

UNIT_TESTS(test_markdown);
