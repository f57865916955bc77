/* SPDX-License-Identifier: MIT */
/* Markdown as HTML, by cmark-gfm. */
#include <config.h>

#include "web/render/markdown.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm-extension_api.h>
#include <cmark-gfm.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#define CUT "\n\n…\n"

static const char *const extensions[] = {"table", "strikethrough", "autolink", "tagfilter"};

/* A picture becomes a link with its text, or its address where it has none. */
static void
make_link(cmark_node *image)
{
	cmark_node *link = cmark_node_new(CMARK_NODE_LINK);
	const char *url = cmark_node_get_url(image);
	cmark_node_set_url(link, url);
	for (cmark_node *child; (child = cmark_node_first_child(image));)
		cmark_node_append_child(link, child);
	if (!cmark_node_first_child(link)) {
		cmark_node *text = cmark_node_new(CMARK_NODE_TEXT);
		cmark_node_set_literal(text, url);
		cmark_node_append_child(link, text);
	}
	cmark_node_replace(image, link);
	cmark_node_free(image);
}

/* Links go nowhere but to other pages and to people. */
static void
tame_link(cmark_node *link)
{
	static const char *const schemes[] = {"http://", "https://", "mailto:"};
	const char *url = cmark_node_get_url(link);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			return;
	cmark_node_set_url(link, "");
}

static void
tame(cmark_node *root)
{
	cmark_iter *iter = cmark_iter_new(root);
	for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
		cmark_node *node = cmark_iter_get_node(iter);
		cmark_node_type type = cmark_node_get_type(node);
		/* At its exit the iterator has left what is in it. */
		if (event == CMARK_EVENT_EXIT && type == CMARK_NODE_IMAGE)
			make_link(node);
	}
	cmark_iter_free(iter);
	iter = cmark_iter_new(root);
	for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;)
		if (event == CMARK_EVENT_ENTER && cmark_node_get_type(cmark_iter_get_node(iter)) == CMARK_NODE_LINK)
			tame_link(cmark_iter_get_node(iter));
	cmark_iter_free(iter);
}

void
markdown_add(struct buf *html, const char *text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, cmark_gfm_core_extensions_ensure_registered);
	size_t size = strlen(text), kept = size < MARKDOWN_MAX ? size : MARKDOWN_MAX;
	while (kept < size && kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80)
		kept--;
	AUTO_FREE char *clean = NULL;
	AUTO_BUF struct buf shown = {0};
	AUTO_FREE char *part = xstrndup(text, kept);
	clean = sanitize_text(part, kept);
	buf_adds(&shown, clean);
	if (kept < size)
		buf_adds(&shown, CUT);
	cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		(void)cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension(extensions[i]));
	cmark_parser_feed(parser, shown.data, shown.len);
	cmark_node *root = cmark_parser_finish(parser);
	tame(root);
	char *made = cmark_render_html(root, CMARK_OPT_DEFAULT, cmark_parser_get_syntax_extensions(parser));
	buf_adds(html, made);
	free(made);
	cmark_node_free(root);
	cmark_parser_free(parser);
}
