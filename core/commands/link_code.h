/* SPDX-License-Identifier: MIT */
/* Short codes that one person shows and another, or the same one elsewhere, types: 50 random bits. */
#ifndef KETTLE_COMMANDS_LINK_CODE_H
#define KETTLE_COMMANDS_LINK_CODE_H

#include <stdbool.h>

#define LINK_CODE_LETTERS 10                   /* of 32: 50 bits */
#define LINK_CODE_TEXT (LINK_CODE_LETTERS + 2) /* bytes of a code as it is shown, ABCDE-FGHJK */

/* A new code as it is shown, and the hash that is stored of it. [any] */
void link_code_draw(char ret_code[LINK_CODE_TEXT], char ret_hash[65]);
/* The hash of a code as it was typed, without case, blanks and dashes. False: it is none. [any] */
bool link_code_read(const char *typed, char ret_hash[65]);

#endif
