/* SPDX-License-Identifier: MIT */
/* Short codes that one person shows and another, or the same one elsewhere, types: 50 random bits. */
#pragma once

#include <stdbool.h>

#define MERGE_CODE_LETTERS 10                    /* of 32: 50 bits */
#define MERGE_CODE_TEXT (MERGE_CODE_LETTERS + 2) /* bytes of a code as it is shown, ABCDE-FGHJK */

/* A new code as it is shown, and the hash that is stored of it. [any] */
void merge_code_draw(char ret_code[MERGE_CODE_TEXT], char ret_hash[65]);
/* The hash of a code as it was typed, without case, blanks and dashes. False: it is none. [any] */
bool merge_code_read(const char *typed, char ret_hash[65]);
