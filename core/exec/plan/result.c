/* SPDX-License-Identifier: MIT */
/* Reads the result channel: bounded `key: value` lines, of which some keys may come once only. */
#include <config.h>

#include "exec/plan/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int
result_check_pattern(const char *pattern, struct kettle_error *err)
{
	regex_t compiled;
	int rc = regcomp(&compiled, pattern, REG_EXTENDED);
	if (rc != 0) {
		char why[200];
		(void)regerror(rc, &compiled, why, sizeof(why));
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is no POSIX extended regular expression: %s.", pattern, why);
	}
	regfree(&compiled);
	return 0;
}

int
result_open(struct result *result, uint64_t max, const json_t *unique, struct kettle_error *err)
{
	*result = (struct result){.max = max, .values = json_object()};
	size_t count = json_array_size(unique);
	result->unique = count ? calloc(count, sizeof(*result->unique)) : NULL;
	if (!result->values || (count && !result->unique)) {
		result_close(result);
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a result channel.");
	}
	for (; result->unique_count < count; result->unique_count++) {
		const char *pattern = json_string_value(json_array_get(unique, result->unique_count));
		if (regcomp(&result->unique[result->unique_count], pattern ? pattern : "(", REG_EXTENDED) != 0) {
			result_close(result);
			return kettle_fail(err, KETTLE_EINVAL, "A pattern of `unique` is no regular expression.");
		}
	}
	return 0;
}

void
result_close(struct result *result)
{
	for (size_t i = 0; i < result->unique_count; i++)
		regfree(&result->unique[i]);
	free(result->unique);
	json_decref(result->values);
	free(result->error);
	buf_free(&result->line);
	*result = (struct result){0};
}

/* Only the first reason is kept. */
static void
void_result(struct result *result, const char *format, const char *key)
{
	struct buf text = {0};
	if (!result->error && buf_printf(&text, format, key) == 0)
		result->error = buf_take(&text);
	else
		buf_free(&text);
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

static int
result_store(struct result *result, const char *key, const char *value, size_t size)
{
	if (json_object_get(result->values, key)) {
		if (is_unique(result, key))
			void_result(result, "The result channel has a second value for `%s`.", key);
	} else if (json_object_size(result->values) >= RESULT_MAX_KEYS) {
		result->over = true;
		void_result(result, "The result channel has more different keys than are allowed%s.", "");
		return 0;
	}
	if (json_object_set_new(result->values, key, json_stringn(value, size)) != 0)
		return KETTLE_ENOMEM;
	if (result->on_value && result->events < RESULT_MAX_EVENTS) {
		result->events++;
		result->on_value(result->arg, key, value);
	}
	return 0;
}

/* One line without its newline. What is no `key: value` belongs to nothing and disturbs nothing. */
static int
take_line(struct result *result, const char *line, size_t len)
{
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
		void_result(result, "The result channel has bytes in the value of `%s` that are no UTF-8 text.", key);
	return result_store(result, key, clean.len ? clean.data : "", clean.len);
}

int
result_add(struct result *result, const char *data, size_t size)
{
	result->bytes += size;
	if (result->bytes > result->max && !result->over) {
		result->over = true;
		void_result(result, "The result channel is over its limit%s.", "");
	}
	while (size > 0 && !result->over) {
		const char *newline = memchr(data, '\n', size);
		size_t part = newline ? (size_t)(newline - data) : size;
		if (part > 0 && buf_add(&result->line, data, part) != 0)
			return KETTLE_ENOMEM;
		if (!newline)
			return 0;
		if (result->line.len > 0 && take_line(result, result->line.data, result->line.len) != 0)
			return KETTLE_ENOMEM;
		result->line.len = 0;
		data += part + 1;
		size -= part + 1;
	}
	return 0;
}

int
result_end(struct result *result)
{
	size_t len = result->line.len;
	result->line.len = 0;
	return len > 0 && !result->over ? take_line(result, result->line.data, len) : 0;
}
