/* SPDX-License-Identifier: MIT */
/* Names that people choose: in one form of Unicode, and of one script. */
#include <config.h>

#include "model/name.h"

#include "base/base.h"
#include "base/utf8.h"

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

/* Scripts that are written together: Han with one of the others. */
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

/* Cyrillic and Greek letters that look like Latin ones (of Unicode's confusables those that no font tells apart). */
static bool
looks_latin(uint32_t code_point)
{
	static const uint32_t letters[] = {0x430 /* a */, 0x441 /* c */, 0x501 /* d */, 0x435 /* e */, 0x4bb /* h */,
		0x456 /* i */, 0x458 /* j */, 0x43e /* o */, 0x440 /* p */, 0x51b /* q */, 0x455 /* s */, 0x51d /* w */,
		0x445 /* x */, 0x443 /* y */, 0x410, 0x412, 0x421, 0x415, 0x41d, 0x406, 0x408, 0x41a, 0x41c, 0x41e, 0x420,
		0x405, 0x422, 0x425, 0x51a, 0x51c, 0x4ae, 0x391, 0x392, 0x395, 0x396, 0x397, 0x399, 0x39a, 0x39c, 0x39d, 0x39f,
		0x3a1, 0x3a4, 0x3a5, 0x3a7, 0x3bf /* o */, 0x3bd /* v */};
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (letters[i] == code_point)
			return true;
	return false;
}

int
name_check_scripts(const char *what, const char *name, struct kettle_error *err)
{
	const char *first = NULL;
	unsigned families = 0;
	bool alike = true; /* every letter so far looks like a Latin one */
	for (size_t at = 0, size = strlen(name), len; at < size; at += len ? len : 1) {
		len = utf8_length(name + at, size - at);
		uint32_t code_point = len ? utf8_code_point(name + at, len) : 0;
		const char *script = len ? script_of(code_point) : NULL;
		alike = alike && (!script || looks_latin(code_point));
		if (!script || (first && strcmp(first, script) == 0))
			continue;
		families |= family_of(script);
		if (first && ((families & OTHER) || !is_one_script(families)))
			return kettle_fail(err, KETTLE_EINVAL, "%s, `%.200s`, mixes %s and %s letters; write it in one script.",
				what, name, first, script);
		first = first ? first : script;
	}
	if (first && alike)
		return kettle_fail(err, KETTLE_EINVAL,
			"%s, `%.200s`, looks like Latin letters, but all of them are %s; write it in Latin ones.", what, name,
			first);
	return 0;
}

const char *const names_reserved[] = {"admin", "all", "api", "assets", "auth", "board", "boards", "code", "device",
	"devices", "diff", "docs", "events", "favicon.ico", "files", "gpu", "gpus", "health", "invite", "invites", "join",
	"leaderboard", "leaderboards", "link", "list", "login", "logout", "me", "metrics", "new", "openapi.json",
	"operator", "problems", "profile", "queue", "ready", "robots.txt", "runner_queue", "runs", "settings", "static",
	"stats", "submission", "submission_count", "submissions", "submit", "task", "tasks", "template", "token", "tokens",
	"user", "users", "well-known", NULL};

bool
name_is_reserved(const char *name)
{
	size_t i = 0;
	while (names_reserved[i] && strcasecmp(names_reserved[i], name) != 0)
		i++;
	return names_reserved[i] != NULL;
}
