/* SPDX-License-Identifier: MIT */
/* Fills in templates of the command table's views from an answer; session/command.h describes them. */
#include <config.h>

#include "common/template.h"

#include <math.h>

#include "base/base.h"
#include "base/number.h"
#include "base/times.h"
#include "common/format.h"
#include "common/value.h"

struct scope {
	const struct term *term;
	const json_t *object, *args;
	template_escape escape; /* NULL: not Markdown */
};

static void put(const struct scope *scope, const char *text, const char *end);

/* Returns the first character `stop` outside braces, or end. */
static const char *
find_outside(const char *text, const char *end, char stop)
{
	int depth = 0;
	for (; text < end && (depth > 0 || *text != stop); text++)
		depth += (*text == '{') - (*text == '}');
	return text;
}

static const json_t *
find_member(const struct scope *scope, const char *path, size_t len)
{
	const json_t *value = scope->object;
	if (len >= 5 && strncmp(path, "args.", 5) == 0) {
		value = scope->args;
		path += 5;
		len -= 5;
	}
	return json_at(value, path, len);
}

static double
count_of(const json_t *value)
{
	return json_is_array(value) ? (double)json_array_size(value) : value_of(value);
}

static bool
is_set(const json_t *value)
{
	if (json_is_string(value) || json_is_array(value))
		return json_string_length(value) > 0 || json_array_size(value) > 0;
	return json_is_true(value) || json_is_object(value) || (json_is_number(value) && json_number_value(value) != 0);
}

static bool
is_equal(const json_t *value, const char *text, size_t len)
{
	AUTO_FREE char *wanted = xstrndup(text, len);
	AUTO_FREE char *number = json_is_integer(value) ? xasprintf("%lld", (long long)json_integer_value(value)) : NULL;
	const char *found = number ? number : json_string_value(value);
	return (found && strcmp(found, wanted) == 0) || list_has_text(value, wanted);
}

/* ---- one value ---- */

/* Writes a text of the object; format: what follows its name. */
static void
put_string(const struct scope *scope, const char *text, const char *format, size_t len)
{
	AUTO_FREE char *name = xstrndup(format, len), *safe = scope->escape ? scope->escape(text, name) : NULL;
	if (safe)
		fputs(safe, scope->term->out);
	else
		term_sanitize(scope->term->out, text, 0);
}

static void
put_plain(const struct scope *scope, const json_t *value, const char *format, size_t len)
{
	char number[NUMBER_TEXT_SIZE] = "";
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		number_text(json_real_value(value), number);
	fputs(number, scope->term->out);
	if (json_is_string(value))
		put_string(scope, json_string_value(value), format, len);
}

/* Writes "A, B" or "A, B and C" for an array. words: in words for people ("code visibility"). */
static void
put_list(const struct scope *scope, const json_t *list, const char *last, bool words)
{
	size_t count = json_array_size(list);
	json_array_each_at(list, i, value) {
		fputs(i == 0 ? "" : i + 1 < count ? ", " : last, scope->term->out);
		char text[FORMAT_SIZE];
		if (words)
			format_word(json_string_value(value) ? json_string_value(value) : "", text);
		if (words)
			term_sanitize(scope->term->out, text, 0);
		else
			put_plain(scope, value, "", 0);
	}
}

/* Formats a score in seconds with the interval of its object. */
static void
format_score(const json_t *object, double seconds, char text[FORMAT_SIZE])
{
	double low = value_number(object, "low"), high = value_number(object, "high");
	format_ns_error(seconds * 1e9, fmax(seconds - low, high - seconds) * 1e9, text);
}

static void
format_until(const char *time, char text[FORMAT_SIZE])
{
	int64_t ms;
	text[0] = '\0';
	if (format_parse_time(time, &ms))
		format_relative(ms, time_now_ms(), text);
}

static void
put_first_line(const struct scope *scope, const char *text)
{
	text += strspn(text, " \n");
	size_t marks = strspn(text, "#");
	bool is_heading = marks > 0 && text[marks] == ' ';
	AUTO_FREE char *lines = format_unwrapped(is_heading ? text + marks + strspn(text + marks, " ") : text);
	lines[strcspn(lines, "\n")] = '\0';
	term_sanitize(scope->term->out, lines, 0);
}

static void
put_value(const struct scope *scope, const json_t *value, const char *format, size_t len)
{
	char text[FORMAT_SIZE] = "";
	const char *string = json_is_string(value) ? json_string_value(value) : "";
#define IS(name) (len == sizeof(name) - 1 && strncmp(format, name, len) == 0)
	if (IS("seconds"))
		format_ns(value_of(value) * 1e9, text);
	else if (IS("ns"))
		format_ns(value_of(value), text);
	else if (IS("score"))
		format_score(scope->object, value_of(value), text);
	else if (IS("change"))
		format_difference(value_of(value), json_is_false(json_object_get(scope->object, "significant")), text);
	else if (IS("share"))
		format_share(value_of(value), text);
	else if (IS("wait"))
		format_wait((int64_t)value_of(value), text);
	else if (IS("bytes"))
		format_bytes(value_of(value), text);
	else if (IS("time"))
		format_time(string, text);
	else if (IS("until"))
		format_until(string, text);
	else if (IS("count"))
		snprintf(text, sizeof(text), "%.0f", count_of(value));
	else if (IS("word"))
		format_word(string, text);
	else if (IS("line"))
		put_first_line(scope, string);
	else if (json_is_array(value))
		put_list(scope, value, IS("and") || IS("words") ? " and " : ", ", IS("words"));
	else
		put_plain(scope, value, format, len);
#undef IS
	term_sanitize(scope->term->out, text, 0);
}

/* ---- the syntax of templates ---- */

/* Writes the text for each element of an array, or once for an object, with that value's members. */
static void
put_each(const struct scope *scope, const json_t *value, const char *text, const char *end)
{
	const char *between = *text == '@' ? "" : ", ";
	struct scope inner = *scope;
	text += *text == '@';
	size_t count = json_is_array(value) ? json_array_size(value) : json_is_object(value);
	for (size_t i = 0; i < count; i++) {
		fputs(i > 0 ? between : "", scope->term->out);
		inner.object = json_is_array(value) ? json_array_get(value, i) : value;
		put(&inner, text, end);
	}
}

static void
put_style(const struct scope *scope, enum term_style style)
{
	if (scope->escape)
		fputs("**", scope->term->out);
	else
		term_style(scope->term, style);
}

/* Writes the text between two braces. */
static void
put_member(const struct scope *scope, const char *text, const char *end)
{
	enum term_style style = *text == '*' ? STYLE_BOLD : *text == '!' ? STYLE_RED : STYLE_NONE;
	text += style != STYLE_NONE;
	size_t len = strcspn(text, ":?=#@}");
	const json_t *value = find_member(scope, text, len);
	const char *then = text + len + 1;
	char kind = text[len];
	bool holds;
	if (kind == ':' || kind == '}') {
		if (style != STYLE_NONE)
			put_style(scope, style);
		put_value(scope, value, then, kind == ':' ? (size_t)(end - then) : 0);
		if (style != STYLE_NONE)
			put_style(scope, STYLE_NONE);
		return;
	}
	if (kind == '@') {
		put_each(scope, value, then, end);
		return;
	}
	if (kind == '=') {
		size_t wanted = strcspn(then, "?");
		holds = is_equal(value, then, wanted);
		then += wanted + 1;
	} else {
		holds = kind == '#' ? count_of(value) == 1 : is_set(value);
	}
	const char *bar = find_outside(then, end, '|');
	if (holds)
		put(scope, then, bar);
	else if (bar < end)
		put(scope, bar + 1, end);
}

static void
put(const struct scope *scope, const char *text, const char *end)
{
	while (text < end) {
		const char *open = memchr(text, '{', (size_t)(end - text));
		size_t literal = (size_t)((open ? open : end) - text);
		fwrite(text, 1, literal, scope->term->out);
		if (!open)
			return;
		const char *close = find_outside(open + 1, end, '}');
		put_member(scope, open + 1, close);
		text = close + 1;
	}
}

void
template_put(const struct term *term, const char *template, const json_t *object, const json_t *args)
{
	put(&(struct scope){.term = term, .object = object, .args = args}, template, template + strlen(template));
}

static char *
put_into_text(const char *template, struct scope scope)
{
	char *text = NULL;
	size_t size = 0;
	const struct term term = {.out = term_memory(&text, &size)};
	scope.term = &term;
	put(&scope, template, template + strlen(template));
	fclose(term.out);
	return text;
}

char *
template_text(const char *template, const json_t *object, const json_t *args)
{
	return put_into_text(template, (struct scope){.object = object, .args = args});
}

char *
template_markdown(const char *template, const json_t *object, template_escape escape)
{
	return put_into_text(template, (struct scope){.object = object, .escape = escape});
}
