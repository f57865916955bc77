/* SPDX-License-Identifier: MIT */
/* Short codes that one person shows and another, or the same one elsewhere, types. */
#include <config.h>

#include "commands/merge_code.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* No I, L, O and U: these are confused with other letters. */
static const char letters[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void
merge_code_draw(char ret_code[MERGE_CODE_TEXT], char ret_hash[65])
{
	unsigned char bytes[MERGE_CODE_LETTERS];
	char code[MERGE_CODE_LETTERS + 1];
	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < MERGE_CODE_LETTERS; i++)
		code[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	code[MERGE_CODE_LETTERS] = '\0';
	sha256_hex(code, MERGE_CODE_LETTERS, ret_hash);
	(void)snprintf(ret_code, MERGE_CODE_TEXT, "%.*s-%s", MERGE_CODE_LETTERS / 2, code, code + MERGE_CODE_LETTERS / 2);
}

bool
merge_code_read(const char *typed, char ret_hash[65])
{
	char code[MERGE_CODE_LETTERS];
	size_t len = 0;
	for (; *typed; typed++) {
		char letter = (char)toupper((unsigned char)*typed);
		letter = letter == 'O' ? '0' : letter == 'I' || letter == 'L' ? '1' : letter;
		if (letter == ' ' || letter == '-')
			continue;
		if (!strchr(letters, letter) || len == MERGE_CODE_LETTERS)
			return false;
		code[len++] = letter;
	}
	if (len != MERGE_CODE_LETTERS)
		return false;
	sha256_hex(code, MERGE_CODE_LETTERS, ret_hash);
	return true;
}
