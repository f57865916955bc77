/* SPDX-License-Identifier: MIT */
/*
 * Replaces the sandbox's name of the submission by the path that the user knows, in messages of compilers and
 * interpreters. Pure.
 */
#include <config.h>

#include "common/source_path.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/base.h"

#define PARTS_MAX 1000 /* of a text: what follows is one part */
#define LINE_DIGITS 6
#define FOLDER "/job/" /* a job's folder in its sandbox */

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-/", c)) || (unsigned char)c >= 0x80;
}

/* Whether a line number follows a file's name; the form and the bytes up to the number. */
static bool
line_follows(const char *at, size_t *ret_skip, bool *ret_python)
{
	static const char *const forms[] = {":", "(", " line ", "\", line "};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t len = strlen(forms[i]);
		if (strncmp(at, forms[i], len) != 0 || !isdigit((unsigned char)at[len]))
			continue;
		*ret_skip = len;
		*ret_python = forms[i][0] == '"';
		return true;
	}
	return false;
}

/* Whether a compiler's line such as "s.cpp: In function ‘f’:" begins here. */
static bool
scope_follows(const char *text, const char *begin, const char *at)
{
	return (begin == text || begin[-1] == '\n') && (strncmp(at, ": In ", 5) == 0 || strncmp(at, ": At ", 5) == 0);
}

/* Ends a part of a text; parts NULL: it is one, in `out`. */
static void
end_part(json_t *parts, struct buf *out, long line)
{
	if (!parts || !out->len)
		return;
	json_array_append_new(parts,
		json_pack("{s:s%, s:o}", "text", out->data, out->len, "line", line > 0 ? json_integer(line) : json_null()));
	buf_free(out);
}

/* Writes the place that begins here, as a part of its own; returns the text after it. */
static const char *
put_place(json_t *parts, struct buf *out, const char *path, const char *at)
{
	size_t skip = 0;
	bool python = false;
	(void)line_follows(at, &skip, &python);
	size_t digits = strspn(at + skip, "0123456789");
	end_part(parts, out, 0);
	buf_adds(out, path);
	if (python)
		buf_add(out, at, skip);
	else
		buf_adds(out, ":");
	buf_add(out, at + skip, digits);
	end_part(parts, out, digits <= LINE_DIGITS ? strtol(at + skip, NULL, 10) : 0);
	return at + skip + digits + (*at == '(' && at[skip + digits] == ')');
}

/* Writes a text with the path in it. */
static void
put_text(json_t *parts, struct buf *out, const char *text, const char *name, const char *path)
{
	size_t len = strlen(name), folder = strlen(FOLDER), skip;
	bool python;
	for (const char *at = text, *found; len > 0 && (found = strstr(at, name)); text = at) {
		const char *begin = found;
		if (found - text >= (ptrdiff_t)folder && strncmp(found - folder, FOLDER, folder) == 0)
			begin -= folder;
		bool whole = begin == text || !is_name(begin[-1]);
		at = found + len;
		bool scope = whole && scope_follows(text, begin, at);
		if (!scope && (!whole || !line_follows(at, &skip, &python))) {
			buf_add(out, text, (size_t)(at - text));
			continue;
		}
		buf_add(out, text, (size_t)(begin - text));
		if (scope)
			buf_adds(out, path);
		else
			at = put_place(json_array_size(parts) < PARTS_MAX ? parts : NULL, out, path, at);
	}
	buf_adds(out, text);
	end_part(parts, out, 0);
}

char *
source_path_put(const char *text, const char *name, const char *path)
{
	struct buf out = {0};
	put_text(NULL, &out, text, name, path);
	return buf_take(&out);
}

json_t *
source_path_parts(const char *text, const char *name, const char *path)
{
	AUTO_BUF struct buf out = {0};
	json_t *parts = json_array();
	put_text(parts, &out, text, name, path);
	return parts;
}

json_t *
source_path_put_all(const json_t *value, const char *name, const char *path)
{
	json_t *copy;
	if (json_is_string(value)) {
		AUTO_FREE char *text = source_path_put(json_string_value(value), name, path);
		copy = json_string(text);
		return copy ? copy : json_incref((json_t *)value); /* NULL: the path is not UTF-8 */
	}
	if (!json_is_object(value) && !json_is_array(value))
		return json_incref((json_t *)value);
	copy = json_is_object(value) ? json_object() : json_array();
	json_object_each(value, key, one)
		json_object_set_new(copy, key, source_path_put_all(one, name, path));
	json_array_each(value, one)
		json_array_append_new(copy, source_path_put_all(one, name, path));
	return copy;
}
