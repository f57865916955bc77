/* SPDX-License-Identifier: MIT */
/* Reads the result channel: limited `key: value` lines, in which some keys may come only once. */
#include <config.h>

#include "exec/plan/result.h"

#include "base/base.h"

int
result_check_pattern(const char *pattern, struct kettle_error *err)
{
	regex_t compiled;
	int rc = regcomp(&compiled, pattern, REG_EXTENDED);
	if (rc != 0) {
		char why[200];
		(void)regerror(rc, &compiled, why, sizeof(why));
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is not a POSIX extended regular expression: %s.", pattern, why);
	}
	regfree(&compiled);
	return 0;
}

void
result_open(struct result *result, uint64_t max, const struct strings *unique,
	void (*on_value)(void *arg, const char *key, const char *value), void *arg)
{
	*result =
		(struct result){.max = max, .lines.max = SIZE_MAX, .values = json_object(), .on_value = on_value, .arg = arg};
	result->unique = xcalloc(unique->count, sizeof(*result->unique));
	/* The patterns were checked with their plan. */
	for (; result->unique_count < unique->count; result->unique_count++)
		if (regcomp(&result->unique[result->unique_count], unique->list[result->unique_count], REG_EXTENDED) != 0)
			xalloc_fail();
}

void
result_close(struct result *result)
{
	for (size_t i = 0; i < result->unique_count; i++)
		regfree(&result->unique[i]);
	free(result->unique);
	json_decref(result->values);
	free(result->error);
	line_free(&result->lines);
	*result = (struct result){0};
}

/* Voids the result; only the first reason is kept. */
static void
void_result(struct result *result, const char *format, const char *key)
{
	if (!result->error)
		result->error = xasprintf(format, key);
}

static bool
is_unique(const struct result *result, const char *key)
{
	for (size_t i = 0; i < result->unique_count; i++) {
		regmatch_t match;
		if (regexec(&result->unique[i], key, 1, &match, 0) == 0 && match.rm_so == 0 && key[match.rm_eo] == '\0')
			return true;
	}
	return false;
}

static size_t
key_length(const char *line, size_t len)
{
	size_t n = 0;
	while (n < len && n <= RESULT_MAX_KEY &&
		   ((line[n] >= 'a' && line[n] <= 'z') || (line[n] >= 'A' && line[n] <= 'Z') ||
			   (line[n] >= '0' && line[n] <= '9') || line[n] == '.' || line[n] == '_' || line[n] == '-'))
		n++;
	return n <= RESULT_MAX_KEY && n < len && line[n] == ':' ? n : 0;
}

static void
result_store(struct result *result, const char *key, const char *value, size_t size)
{
	if (json_object_get(result->values, key)) {
		if (is_unique(result, key))
			void_result(result, "The result channel has a second value for `%s`.", key);
	} else if (json_object_size(result->values) >= RESULT_MAX_KEYS) {
		result->over = true;
		void_result(result, "The result channel has more distinct keys than are allowed%s.", "");
		return;
	}
	json_object_set_new(result->values, key, json_stringn(value, size));
	if (result->on_value && result->events < RESULT_MAX_EVENTS) {
		result->events++;
		result->on_value(result->arg, key, value);
	}
}

/* Takes a line without its newline. Ignores a line that is no `key: value`. */
static int
take_line(void *arg, char *line, size_t len)
{
	struct result *result = arg;
	size_t n = key_length(line, len);
	if (n == 0)
		return 0;
	char key[RESULT_MAX_KEY + 1];
	memcpy(key, line, n);
	key[n] = '\0';
	const char *value = line + n + 1;
	size_t size = len - n - 1;
	if (size > 0 && value[0] == ' ') {
		value++;
		size--;
	}
	if (size > 0 && value[size - 1] == '\r')
		size--;
	AUTO_BUF struct buf clean = {0};
	if (utf8_sanitize(value, size, &clean) > 0 && !utf8_valid(value, size))
		void_result(result, "On the result channel, the value of `%s` is not UTF-8 text.", key);
	result_store(result, key, clean.len ? clean.data : "", clean.len);
	return result->over;
}

void
result_add(struct result *result, const char *data, size_t size)
{
	result->bytes += size;
	if (result->bytes > result->max && !result->over) {
		result->over = true;
		void_result(result, "The result channel exceeded its limit%s.", "");
	}
	if (!result->over)
		(void)line_add(&result->lines, data, size, take_line, result);
}

void
result_end(struct result *result)
{
	if (!result->over)
		(void)line_end(&result->lines, take_line, result);
}
