/* SPDX-License-Identifier: MIT */
/* Text that users supply, made harmless in a message. All [any]. */
#ifndef KETTLE_DISCORD_TEXT_ESCAPE_H
#define KETTLE_DISCORD_TEXT_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"

/*
 * One line for where Discord knows no markup (labels, options of a menu, titles of modals, footers): without controls,
 * invisible characters and characters that change the direction of writing, with at most two combining marks in a row,
 * none in front. At most max UTF-16 units, 1 or more; a longer text is cut and ends with "…". New string, possibly empty.
 */
char *escape_plain(const char *text, size_t max);
/*
 * The same for the middle of a message: what is markup, a mention, a link, an invitation or an emoji of a server comes
 * out as the characters that were written. max counts the backslashes too, so the result fits wherever max units do.
 * It must not be put between backticks, where a backslash is shown.
 */
char *escape_markdown(const char *text, size_t max);
/*
 * The same for a sentence, in which single backticks enclose names: they become code, as far as it holds nothing that
 * works in code, too, such as a link. max counts all characters that are sent.
 */
char *escape_sentence(const char *text, size_t max);
/* A sentence for where Discord shows backticks as they are: quotation marks enclose the names. New string. */
char *escape_quotes(const char *text);
/*
 * Appends lines as a code block, without a newline behind it: sanitized as sanitize_text does, and with a space in front
 * of each third backtick in a row, so that nothing in it ends the block. language: a tag for the colours; NULL or what is
 * no tag: none.
 */
void escape_code_block(struct buf *out, const char *language, const char *text);

#endif
