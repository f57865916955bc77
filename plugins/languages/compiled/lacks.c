/* SPDX-License-Identifier: MIT */
/* Headers and libraries that a machine lacks: its fault, whoever named them, and said how to get. */
#include <config.h>

#include "lacks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "plugins/languages/sentence.h"

#define EXIT_LOADER 127 /* the program could not be loaded */

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* The part of the machine's toolkit that a name belongs to, by how its names begin; NULL: none. */
static const json_t *
part_of(const json_t *outcome, const char *key, const char *name)
{
	const json_t *part, *beginning;
	size_t i, k;
	json_array_foreach(json_object_get(json_object_get(outcome, "toolkit"), "parts"), i, part)
		json_array_foreach(json_object_get(part, key), k, beginning)
			if (strncmp(name, json_string_value(beginning), json_string_length(beginning)) == 0)
				return part;
	return NULL;
}

/* "The board's machine lacks cuBLAS: its CUDA toolkit in /opt/cuda has no `cublas_v2.h`. To get it: …" */
static int
explain_part(const char *product, const json_t *outcome, const json_t *part, const char *what, json_t **ret_verdict,
	struct kettle_error *err)
{
	struct sentence sentence = {0};
	sentence_say(&sentence, "The board's machine lacks %s: its %s toolkit in %s has no `%.100s`. To get it: %s.",
		text_of(part, "name"), product, text_of(json_object_get(outcome, "toolkit"), "home"), what,
		text_of(part, "how"));
	return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
}

/* What stands between a beginning and an end on the same line, into name; false: there is no such thing. */
static bool
between(const char *text, const char *begin, const char *end, char *name, size_t size)
{
	const char *found = strstr(text, begin), *last;
	size_t line;
	if (!found)
		return false;
	found += strlen(begin);
	line = strcspn(found, "\r\n");
	last = strstr(found, end);
	if (!last || last > found + line || (size_t)(last - found) >= size)
		return false;
	(void)snprintf(name, size, "%.*s", (int)(last - found), found);
	return true;
}

/* A header that a compiler did not find, where it belongs to a part that the toolkit lacks: no file of the board's. */
int
lacks_explain_header(const char *product, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	static const struct {
		const char *begin, *end;
	} ways[] = {{"fatal error: ", ": No such file or directory"}, {"fatal error: '", "' file not found"},
		{"could not open source file \"", "\""}, {"cannot open source file \"", "\""}};
	const char *text = text_of(json_object_get(outcome, "stderr"), "text");
	char name[200];
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const json_t *part = NULL;
		if (between(text, ways[i].begin, ways[i].end, name, sizeof(name)))
			part = part_of(outcome, "headers", name);
		if (part && json_is_false(json_object_get(part, "present")))
			return explain_part(product, outcome, part, name, ret_verdict, err);
	}
	return sentence_nothing(err);
}

int
lacks_explain_rtc(
	const char *product, const char *api, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	const json_t *part = part_of(outcome, "libraries", api);
	if (!part || !strstr(text_of(json_object_get(outcome, "stderr"), "text"), "rtc: the toolkit has no"))
		return sentence_nothing(err);
	return explain_part(product, outcome, part, api, ret_verdict, err);
}

/* A library by its name, where the linker or the loader did not find it. */
static int
explain_library(const char *product, const json_t *outcome, const char *name, const char *where, json_t **ret_verdict,
	struct kettle_error *err)
{
	struct sentence sentence = {0};
	const char *bare = strncmp(name, "lib", 3) == 0 ? name + 3 : name;
	const json_t *part = part_of(outcome, "libraries", bare);
	if (part && json_is_false(json_object_get(part, "present")))
		return explain_part(product, outcome, part, name, ret_verdict, err);
	sentence_say(&sentence, "The board's machine lacks the library `%s`%s: install %s package%s.", name, where,
		where[0] ? "its" : "its development",
		product ? ", or name the folder where it lies in the device's `library_dirs`" : "");
	return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
}

int
lacks_explain_library(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	const char *text = text_of(json_object_get(outcome, "stderr"), "text"), *found;
	char name[200];
	if (strcmp(text_of(outcome, "state"), "failed") != 0)
		return sentence_nothing(err);
	if (strcmp(text_of(step, "kind"), "run") == 0) {
		if (json_integer_value(json_object_get(outcome, "exit")) != EXIT_LOADER ||
			!between(
				text, "error while loading shared libraries: ", ": cannot open shared object file", name, sizeof(name)))
			return sentence_nothing(err);
		return explain_library(product, outcome, name, " where programs run", ret_verdict, err);
	}
	found = strstr(text, "ld: cannot find -l");
	found = found ? found : strstr(text, "unable to find library -l");
	if (!found)
		return sentence_nothing(err);
	found += strcspn(found, "-") + strlen("-l");
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(found, ": \r\n"), found);
	return explain_library(product, outcome, name, "", ret_verdict, err);
}
