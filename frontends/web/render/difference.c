/* SPDX-License-Identifier: MIT */
/* A unified difference as HTML. */
#include <config.h>

#include "web/render/difference.h"

#include "base/base.h"
#include "web/render/mustache.h"

static void
add_note(struct buf *html, const char *text, size_t size)
{
	buf_adds(html, "<tr class=\"note\"><td colspan=\"4\">");
	mustache_escape(html, text, size);
	buf_adds(html, "</td></tr>\n");
}

/* A cell with the number of a line, which then grows; empty where the text does not have it. */
static void
add_number(struct buf *html, bool has, long *number)
{
	if (has)
		buf_printf(html, "<td class=\"number\">%ld</td>", (*number)++);
	else
		buf_adds(html, "<td class=\"number\"></td>");
}

/* A line that one of the texts has, or both. */
static void
add_line(struct buf *html, char sign, const char *text, size_t size, long numbers[2])
{
	const char *class = sign == '+' ? "added" : sign == '-' ? "removed" : "context";
	buf_printf(html, "<tr class=\"%s\">", class);
	add_number(html, sign != '+', &numbers[0]);
	add_number(html, sign != '-', &numbers[1]);
	buf_printf(html, "<td class=\"sign\">%s</td><td class=\"text\">", sign == '+' ? "+" : sign == '-' ? "−" : "");
	mustache_escape(html, text, size);
	buf_adds(html, "</td></tr>\n");
}

/* A line of the unified text: of its head, of a place between changes, or of the texts. */
static void
add_unified(struct buf *html, const char *line, size_t size, long numbers[2])
{
	if (*line == '@') {
		const char *after = memchr(line, '+', size);
		numbers[0] = atol(line + strlen("@@ -"));
		numbers[1] = after ? atol(after) : 0;
		add_note(html, line, size);
	} else if (*line == '\\') {
		add_note(html, line + 1, size - 1);
	} else if (numbers[1] >= 0 && size > 0 && strchr("+- ", *line)) {
		add_line(html, *line, line + 1, size - 1, numbers);
	}
}

void
difference_add(struct buf *html, const char *unified)
{
	long numbers[2] = {-1, -1};
	size_t lines = 0, begin = html->len;
	for (const char *at = unified; *at; lines++) {
		size_t size = strcspn(at, "\n");
		if (lines == DIFFERENCE_LINES_MAX || html->len - begin > DIFFERENCE_HTML_MAX) {
			static const char cut[] = "What follows is left out.";
			add_note(html, cut, strlen(cut));
			return;
		}
		add_unified(html, at, size, numbers);
		at += size + (at[size] == '\n');
	}
}
