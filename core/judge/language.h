/* SPDX-License-Identifier: MIT */
/* The languages that are loaded. The core names none of them: it looks them up here. */
#pragma once

#include <kettle/language.h>
#include <stdbool.h>

struct language {
	const char *name;
	const struct kettle_language *ops;
	void *self;
};

/* The loaded languages: filled before use, then read-only for every function. A reload makes another one. [any] */
struct languages {
	struct language *items;
	size_t count;
};

/* By name or alias, without case; NULL when there is none. */
const struct language *language_find(const struct languages *languages, const char *name);
/* "cpp, cu, py": for messages; "no language" when there is none. New string. */
char *language_names(const struct languages *languages);
/*
 * Whether the language takes a submission of this file name (by its extension, without case). KETTLE_EINVAL names the
 * extensions that it takes.
 */
int language_takes_file(const struct language *language, const char *file_name, struct kettle_error *err);
/* Whether a file's name has one of these endings (a list that NULL ends, or NULL), without case. */
bool language_ends_in(const char *file_name, const char *const *extensions);
/* "There is no language `X`; …": EINVAL, with the nearest name or those there are. */
int language_fail_unknown(const struct languages *languages, const char *name, struct kettle_error *err);
