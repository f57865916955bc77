/* SPDX-License-Identifier: MIT */
/* Questions with options, of which the user of a terminal names some by number or by name. */
#include <config.h>

#include "cli/run/menu.h"

#include "base/base.h"
#include "base/number.h"
#include "common/term.h"

const char *
menu_option(const char *word, const json_t *options)
{
	long long number = 0;
	const char *named = list_find_text(options, word);
	if (named)
		return named;
	if (!number_parse_integer(word, &number) || number < 1)
		return NULL;
	return json_string_value(json_array_get(options, (size_t)number - 1));
}

void
menu_put(FILE *out, const json_t *options, const char *question)
{
	json_array_each_at(options, i, option) {
		fprintf(out, "  %zu  ", i + 1);
		term_sanitize(out, json_string_value(option), 0);
		fputc('\n', out);
	}
	fprintf(out, "%s: ", question);
	fflush(out);
}

void
menu_say_unknown(FILE *out, const char *line)
{
	AUTO_FREE char *typed = term_sanitized(line);
	fprintf(out, "`%s` is none of them.\n", typed);
}

const char *
menu_typed(const char *line, const json_t *options)
{
	AUTO_FREE char *copy = xstrdup(line);
	char *rest = NULL, *word = strtok_r(copy, " \t", &rest);
	return word && !strtok_r(NULL, " \t", &rest) ? menu_option(word, options) : NULL;
}
