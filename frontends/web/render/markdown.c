/* SPDX-License-Identifier: MIT */
/* Markdown as HTML, by cmark-gfm. */
#include <config.h>

#include "web/render/markdown.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm-extension_api.h>
#include <cmark-gfm.h>
#include <pthread.h>

#include "base/base.h"
#include "base/utf8.h"

#define CUT "\n\n…\n"
#define LEVELS 6        /* of headings */
#define CELLS_MAX 20000 /* that tables may have */

static const char *const extensions[] = {"strikethrough", "autolink", "tagfilter", "table"};

/* Puts what is in a link or a picture, or its address where that is nothing, in place of it. */
static void
unwrap(cmark_node *node)
{
	if (!cmark_node_first_child(node)) {
		cmark_node *text = cmark_node_new(CMARK_NODE_TEXT);
		cmark_node_set_literal(text, cmark_node_get_url(node));
		cmark_node_insert_before(node, text);
	}
	for (cmark_node *child; (child = cmark_node_first_child(node)) && cmark_node_insert_before(node, child);)
		continue;
	cmark_node_free(node);
}

/* Links go nowhere but to other pages and to people. */
static bool
is_address(const char *url)
{
	static const char *const schemes[] = {"http://", "https://", "mailto:"};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/* A link that stays, or a picture that becomes one, which has at least its address as its text. */
static void
make_link(cmark_node *node)
{
	cmark_node *link = cmark_node_new(CMARK_NODE_LINK);
	cmark_node_set_url(link, cmark_node_get_url(node));
	cmark_node_insert_before(node, link);
	cmark_node_append_child(link, node);
	unwrap(node);
}

/* Makes links of pictures. What is in another link or picture, or leads elsewhere, stays as text. */
static void
tame(cmark_node *root)
{
	size_t around = 0; /* how many links and pictures are open */
	cmark_iter *iter = cmark_iter_new(root);
	for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
		cmark_node *node = cmark_iter_get_node(iter);
		cmark_node_type type = cmark_node_get_type(node);
		if (event == CMARK_EVENT_ENTER && type == CMARK_NODE_HEADING)
			/* The page has the first one. */
			cmark_node_set_heading_level(
				node, cmark_node_get_heading_level(node) < LEVELS ? cmark_node_get_heading_level(node) + 1 : LEVELS);
		if (type != CMARK_NODE_LINK && type != CMARK_NODE_IMAGE)
			continue;
		around = event == CMARK_EVENT_ENTER ? around + 1 : around - 1;
		/* At its exit the iterator has left what is in it. */
		if (event == CMARK_EVENT_EXIT)
			(around > 0 || !is_address(cmark_node_get_url(node)) ? unwrap : make_link)(node);
	}
	cmark_iter_free(iter);
}

/*
 * Whether the tables of a text are small. The parser fills up each row to the columns of the first one, so a text may have
 * cells by the square of its size.
 */
static bool
has_small_tables(const char *text)
{
	size_t lines = 1, columns = 1, most = 1;
	for (; *text; text++) {
		columns = *text == '\n' ? 1 : columns + (*text == '|');
		lines += *text == '\n';
		most = columns > most ? columns : most;
	}
	return most * lines <= CELLS_MAX;
}

void
markdown_add(struct buf *html, const char *text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, cmark_gfm_core_extensions_ensure_registered);
	size_t size = strlen(text), kept = utf8_cut(text, size, MARKDOWN_MAX);
	AUTO_BUF struct buf shown = {0};
	AUTO_FREE char *part = xstrndup(text, kept), *clean = sanitize_text(part, kept);
	buf_adds(&shown, clean);
	if (kept < size)
		buf_adds(&shown, CUT);
	cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8);
	for (size_t i = 0; i < ARRAY_SIZE(extensions) - !has_small_tables(shown.data); i++)
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
