/* SPDX-License-Identifier: MIT */
/* Explanations of outcomes for languages: sentences, step results, headers and libraries that a machine lacks. */
#include <config.h>

#include <kettle/explain.h>
#include <stdarg.h>

#include "base/base.h"
#include "base/missing_header.h"

const char *
kettle_json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

bool
kettle_json_is(const json_t *object, const char *key, const char *text)
{
	return strcmp(kettle_json_text(object, key), text) == 0;
}

static void
add_args(struct kettle_sentence *sentence, const char *format, va_list args)
{
	size_t room = sizeof(sentence->text) - sentence->len;
	int len = vsnprintf(sentence->text + sentence->len, room, format, args);
	if (len > 0)
		sentence->len += (size_t)len < room ? (size_t)len : room - 1;
}

void
kettle_sentence_add(struct kettle_sentence *sentence, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_args(sentence, format, args);
	va_end(args);
}

void
kettle_sentence_quote(struct kettle_sentence *sentence, const char *line, size_t len)
{
	size_t kept = len < KETTLE_SENTENCE_QUOTE_MAX ? len : KETTLE_SENTENCE_QUOTE_MAX;
	while (kept < len && kept && ((unsigned char)line[kept] & 0xc0) == 0x80)
		kept--;
	kettle_sentence_add(sentence, "%.*s%s", (int)kept, line, kept < len ? "…" : "");
}

int
kettle_sentence_result(const struct kettle_sentence *sentence, const char *state, const char *blame, bool retry,
	json_t **ret_result, struct kettle_error *err)
{
	json_t *result = json_pack("{s:b, s:s, s:s, s:s, s:b}", "passed", 0, "state", state, "message", sentence->text,
		"blame", blame, "retry", retry);
	if (!result)
		return kettle_fail(err, KETTLE_EINVAL, "The output of the step cannot be repeated in a sentence.");
	*ret_result = result;
	return 0;
}

int
kettle_explain(const char *state, const char *blame, bool retry, json_t **ret_result, struct kettle_error *err,
	const char *format, ...)
{
	struct kettle_sentence sentence = {0};
	va_list args;
	va_start(args, format);
	add_args(&sentence, format, args);
	va_end(args);
	return kettle_sentence_result(&sentence, state, blame, retry, ret_result, err);
}

int
kettle_explain_lacks(
	const char *lacks, bool own, json_t **ret_result, struct kettle_error *err, const char *format, ...)
{
	struct kettle_sentence sentence = {0};
	va_list args;
	va_start(args, format);
	add_args(&sentence, format, args);
	va_end(args);
	int rc = kettle_sentence_result(
		&sentence, own ? "failed" : "error", own ? "participant" : "machine", false, ret_result, err);
	if (rc == 0)
		(void)json_object_set_new(*ret_result, "lacks", json_string(lacks));
	return rc;
}

int
kettle_explain_nothing(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOENT, "There is nothing to add.");
}

char *
kettle_explain_reported(const json_t *outcome)
{
	char *text = NULL;
	size_t size = 0;
	FILE *all = open_memstream(&text, &size);
	json_object_each(json_object_get(outcome, "result"), key, value) {
		const char *last = strrchr(key, '.');
		if (all && last && (strcmp(last, ".error") == 0 || strcmp(last, ".message") == 0) && json_is_string(value))
			(void)fprintf(all, "%s\n", json_string_value(value));
	}
	if (all && fclose(all) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- missing headers and libraries ---- */

/*
 * Returns the part of the machine's toolkit whose names (`key`: headers or libraries) begin like this one; NULL: none.
 */
static const json_t *
part_of(const json_t *outcome, const char *key, const char *name)
{
	json_array_each(json_object_get(json_object_get(outcome, "toolkit"), "parts"), part)
		json_array_each(json_object_get(part, key), beginning)
			if (strncmp(name, json_string_value(beginning), json_string_length(beginning)) == 0)
				return part;
	return NULL;
}

bool
kettle_explain_is_task_only(const json_t *step)
{
	return json_is_true(json_object_get(step, "task_only"));
}

/*
 * "The machine lacks cuBLAS: its CUDA toolkit in /opt/cuda has no `cublas_v2.h`. To get it: …" own: only the
 * submission needs it.
 */
static int
explain_part(const char *product, const json_t *outcome, const json_t *part, const char *what, bool own,
	json_t **ret_result, struct kettle_error *err)
{
	return kettle_explain_lacks(kettle_json_text(part, "name"), own, ret_result, err,
		"The machine lacks %s: its %s toolkit in %s has no `%.100s`. To get it: %s.", kettle_json_text(part, "name"),
		product, kettle_json_text(json_object_get(outcome, "toolkit"), "home"), what, kettle_json_text(part, "how"));
}

static bool
is_absent(const json_t *part)
{
	return part && json_is_false(json_object_get(part, "present"));
}

/* The header of a part of the toolkit that the machine lacks. */
struct lacking {
	const json_t *outcome, *part;
	char name[MISSING_HEADER_SIZE];
};

static bool
is_lacking(void *arg, const char *name)
{
	struct lacking *lacking = arg;
	lacking->part = part_of(lacking->outcome, "headers", name);
	(void)snprintf(lacking->name, sizeof(lacking->name), "%s", name);
	return is_absent(lacking->part);
}

int
kettle_explain_header(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	struct lacking lacking = {.outcome = outcome};
	if (!missing_header_find(kettle_json_text(json_object_get(outcome, "stderr"), "text"), is_lacking, &lacking))
		return kettle_explain_nothing(err);
	return explain_part(
		product, outcome, lacking.part, lacking.name, !kettle_explain_is_task_only(step), ret_result, err);
}

int
kettle_explain_rtc(
	const char *product, const char *api, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	const json_t *part = part_of(outcome, "libraries", api);
	if (!is_absent(part) ||
		!strstr(kettle_json_text(json_object_get(outcome, "stderr"), "text"), "rtc: the toolkit has no"))
		return kettle_explain_nothing(err);
	return explain_part(product, outcome, part, api, false, ret_result, err);
}

/* Whether the step's own arguments name the library. */
static bool
links(const json_t *step, const char *library)
{
	AUTO_JSON json_t *plain = json_sprintf("-l%s", library), *found = json_sprintf("-l@LIBRARY:%s@", library);
	json_array_each(json_object_get(step, "argv"), word)
		if (json_equal(word, plain) || json_equal(word, found))
			return true;
	return false;
}

int
kettle_explain_library(
	const char *product, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	const char *text = kettle_json_text(json_object_get(outcome, "stderr"), "text"), *found;
	char name[200];
	if (!kettle_json_is(outcome, "state", "failed") || !kettle_json_is(step, "kind", "build"))
		return kettle_explain_nothing(err);
	found = strstr(text, "ld: cannot find -l");
	found = found ? found : strstr(text, "unable to find library -l");
	if (!found)
		return kettle_explain_nothing(err);
	found += strcspn(found, "-") + strlen("-l");
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(found, ": \r\n"), found);
	const json_t *part = part_of(outcome, "libraries", name);
	if (is_absent(part) && (kettle_explain_is_task_only(step) || links(step, name)))
		return explain_part(product, outcome, part, name, false, ret_result, err);
	if (!kettle_explain_is_task_only(step))
		return kettle_explain_nothing(err);
	return kettle_explain_lacks(name, false, ret_result, err,
		"The machine lacks the library `%s`: install its development package%s.", name,
		product ? ", or add its folder to the device's `library_dirs`" : "");
}
