/* SPDX-License-Identifier: MIT */
/* Text that users supply, made harmless in a message. All [any]. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/*
 * One line for a place without markup (labels, options of a menu, titles of modals, footers): without controls,
 * invisible characters and characters that change the direction of writing, with at most two combining marks in a row,
 * and none at the beginning. At most max UTF-16 units, 1 or more; a longer text is cut and ends with "…". New string,
 * possibly empty.
 */
char *escape_plain(const char *text, size_t max);
/*
 * The same for the middle of a message: markup, mentions, links, invitations and a server's emoji appear as the
 * written characters. max includes the backslashes, so the result fits into max units. Do not put it between
 * backticks, where backslashes are shown.
 */
char *escape_markdown(const char *text, size_t max);
/*
 * The same for a sentence in which single backticks enclose names: they become code, unless they contain something
 * that works in code, too, such as a link. max includes all sent characters.
 */
char *escape_sentence(const char *text, size_t max);
/* A sentence for a place where Discord shows backticks: quotation marks enclose the names. New string. */
char *escape_quotes(const char *text);
/*
 * Appends lines as a code block, without a newline after it: sanitized like sanitize_text, and with a space before
 * each third backtick in a row, so that nothing in it ends the block. language: a tag for the colours; NULL or an
 * invalid tag: none.
 */
void escape_code_block(struct buf *out, const char *language, const char *text);
