/* SPDX-License-Identifier: MIT */
/* Pages of HTML. */
#include <config.h>

#include "http/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_SIZE 24

static void
add_text(struct buf *page, const char *text)
{
	for (; *text; text++)
		if (strchr("&<>\"'", *text))
			buf_printf(page, "&#%d;", *text);
		else
			buf_add(page, text, 1);
}

void
html_printf(struct buf *page, const char *html, ...)
{
	va_list args;
	va_start(args, html);
	for (const char *mark; (mark = strstr(html, "%s")); html = mark + 2) {
		buf_add(page, html, (size_t)(mark - html));
		add_text(page, va_arg(args, const char *));
	}
	buf_adds(page, html);
	va_end(args);
}

void
html_add_page(struct buf *page, const char *title, const char *data, const struct buf *content)
{
	buf_printf(page,
		"<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
		"content=\"width=device-width\"><title>%s</title>\n",
		title);
	if (data)
		buf_printf(page, "<link rel=\"alternate\" type=\"application/json\" href=\"%s\">\n", data);
	buf_printf(page, "<h1>%s</h1>\n%s</html>\n", title, content->data ? content->data : "");
}

void
html_respond(
	struct http_request *request, unsigned status, const char *title, const struct buf *content, unsigned retry_s)
{
	char after[NUMBER_SIZE];
	const struct http_header headers[] = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "same-origin"},
		{"Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'"},
		{retry_s ? "Retry-After" : NULL, after}, {NULL, NULL}};
	(void)snprintf(after, sizeof(after), "%u", retry_s);
	AUTO_BUF struct buf page = {0};
	html_add_page(&page, title, NULL, content);
	http_answer(request, status, http_content_new("text/html; charset=utf-8", page.data, page.len, headers));
}
