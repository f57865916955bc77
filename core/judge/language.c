/* SPDX-License-Identifier: MIT */
/* Finds a language by name, alias or file name. */
#include <config.h>

#include "judge/language.h"

#include "base/base.h"
#include "base/text.h"

#define SHOWN_NAME 64 /* bytes of an unknown name in a message */

static bool
list_has(const char *const *list, const char *word)
{
	for (; list && *list; list++)
		if (strcasecmp(*list, word) == 0)
			return true;
	return false;
}

const struct language *
language_find(const struct languages *languages, const char *name)
{
	/* A name wins over another language's alias. */
	for (size_t i = 0; i < languages->count; i++)
		if (strcasecmp(languages->items[i].name, name) == 0)
			return &languages->items[i];
	for (size_t i = 0; i < languages->count; i++)
		if (list_has(languages->items[i].ops->aliases, name))
			return &languages->items[i];
	return NULL;
}

char *
language_names(const struct languages *languages)
{
	AUTO_BUF struct buf names = {0};
	for (size_t i = 0; i < languages->count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", languages->items[i].name);
	if (languages->count == 0)
		buf_adds(&names, "no language");
	return buf_take(&names);
}

bool
language_ends_in(const char *file_name, const char *const *extensions)
{
	const char *slash = strrchr(file_name, '/');
	const char *dot = strrchr(slash ? slash : file_name, '.');
	return dot && list_has(extensions, dot);
}

/* The name or alias nearest to the word; NULL: none is near. */
static const char *
nearest_language(const struct languages *languages, const char *word)
{
	AUTO_JSON json_t *names = json_object();
	for (size_t i = 0; i < languages->count; i++) {
		const char *const *alias = languages->items[i].ops->aliases;
		json_object_set_new(names, languages->items[i].name, json_true());
		for (; alias && *alias; alias++)
			json_object_set_new(names, *alias, json_true());
	}
	const char *near = nearest_key(word, names);
	return near ? language_find(languages, near)->name : NULL;
}

int
language_fail_unknown(const struct languages *languages, const char *name, struct kettle_error *err)
{
	AUTO_FREE char *names = language_names(languages);
	AUTO_BUF struct buf clean = {0};
	const char *near = nearest_language(languages, name);
	(void)utf8_sanitize(name, strnlen(name, SHOWN_NAME), &clean);
	return kettle_fail(err, KETTLE_EINVAL, "There is no language `%s`%s%s%s; loaded languages: %s.",
		clean.data ? clean.data : "", near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "", names);
}

int
language_takes_file(const struct language *language, const char *file_name, struct kettle_error *err)
{
	const char *const *extensions = language->ops->extensions;
	if (!extensions || !extensions[0] || language_ends_in(file_name, extensions))
		return 0;
	AUTO_BUF struct buf wanted = {0}; /* ".cpp, .cc or .c" */
	for (size_t i = 0; extensions[i]; i++)
		buf_printf(&wanted, "%s%s", i == 0 ? "" : extensions[i + 1] ? ", " : " or ", extensions[i]);
	return kettle_fail(err, KETTLE_EINVAL, "A submission in %s must be a file that ends in %s, not `%.200s`.",
		language->name, wanted.data, file_name);
}
