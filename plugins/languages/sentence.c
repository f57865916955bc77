/* SPDX-License-Identifier: MIT */
/* The sentences with which languages explain outcomes, and the verdicts that say them. */
#include <config.h>

#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
sentence_say(struct sentence *sentence, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	size_t room = sizeof(sentence->text) - sentence->len;
	int len = vsnprintf(sentence->text + sentence->len, room, format, args);
	va_end(args);
	if (len > 0)
		sentence->len += (size_t)len < room ? (size_t)len : room - 1;
}

void
sentence_repeat(struct sentence *sentence, const char *line, size_t len)
{
	size_t kept = len < SENTENCE_REPEAT_MAX ? len : SENTENCE_REPEAT_MAX;
	while (kept < len && kept && ((unsigned char)line[kept] & 0xc0) == 0x80)
		kept--;
	sentence_say(sentence, "%.*s%s", (int)kept, line, kept < len ? "…" : "");
}

int
sentence_give(const struct sentence *sentence, const char *state, const char *blame, bool retry, json_t **ret_verdict,
	struct kettle_error *err)
{
	json_t *verdict = json_pack("{s:b, s:s, s:s, s:s, s:b}", "passed", 0, "state", state, "message", sentence->text,
		"blame", blame, "retry", retry);
	if (!verdict)
		return kettle_fail(err, KETTLE_EINVAL, "The output of the step cannot be repeated in a sentence.");
	*ret_verdict = verdict;
	return 0;
}

int
sentence_nothing(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOENT, "There is nothing to add.");
}

char *
sentence_reported(const json_t *outcome)
{
	char *text = NULL;
	size_t size = 0;
	FILE *all = open_memstream(&text, &size);
	const char *key;
	json_t *value;
	json_object_foreach(json_object_get(outcome, "result"), key, value) {
		const char *last = strrchr(key, '.');
		if (all && last && (strcmp(last, ".error") == 0 || strcmp(last, ".message") == 0) && json_is_string(value))
			(void)fprintf(all, "%s\n", json_string_value(value));
	}
	if (all && fclose(all) == 0)
		return text;
	free(text);
	return NULL;
}
