/* SPDX-License-Identifier: MIT */
/* Names that people choose: in one form of Unicode, and of one script. */
#include <config.h>

#include "model/name.h"

#include "base/cleanup.h"
#include "base/sanitize_text.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <uninorm.h>
#include <unictype.h>

char *
name_normal(const char *text, size_t max_characters)
{
	AUTO_FREE char *clean = sanitize_line(text, max_characters);
	size_t len = 0;
	AUTO_FREE uint8_t *normal = u8_normalize(UNINORM_NFKC, (const uint8_t *)clean, strlen(clean) + 1, NULL, &len);
	if (!normal)
		xalloc_fail();
	/* The normal form of a sign may be a blank, or longer than the sign. */
	return sanitize_line((const char *)normal, max_characters);
}

/* What is written together: Han with one of the others. */
enum { HAN = 1, KANA = 2, HANGUL = 4, BOPOMOFO = 8, OTHER = 16 };

static unsigned
family_of(const char *script)
{
	static const struct {
		const char *script;
		unsigned family;
	} families[] = {{"Han", HAN}, {"Hiragana", KANA}, {"Katakana", KANA}, {"Hangul", HANGUL}, {"Bopomofo", BOPOMOFO}};
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strcmp(families[i].script, script) == 0)
			return families[i].family;
	return OTHER;
}

static bool
is_one_script(unsigned families)
{
	unsigned beside = families & ~(unsigned)HAN;
	return beside == 0 || beside == KANA || beside == HANGUL || beside == BOPOMOFO || families == OTHER;
}

/* The script of a character; NULL: any goes with it, or this Unicode does not know it yet. */
static const char *
script_of(uint32_t code_point)
{
	const uc_script_t *script = uc_script(code_point);
	bool any = !script || strcmp(script->name, "Common") == 0 || strcmp(script->name, "Inherited") == 0;
	return any ? NULL : script->name;
}

int
name_check_scripts(const char *what, const char *name, struct kettle_error *err)
{
	const char *first = NULL;
	unsigned families = 0;
	for (size_t at = 0, size = strlen(name), len; at < size; at += len ? len : 1) {
		len = utf8_length(name + at, size - at);
		const char *script = len ? script_of(utf8_code_point(name + at, len)) : NULL;
		if (!script || (first && strcmp(first, script) == 0))
			continue;
		families |= family_of(script);
		if (first && ((families & OTHER) || !is_one_script(families)))
			return kettle_fail(err, KETTLE_EINVAL, "%s, `%.200s`, mixes %s and %s letters; write it in one script.",
				what, name, first, script);
		first = first ? first : script;
	}
	return 0;
}
