/* SPDX-License-Identifier: MIT */
/* The head of a request, beyond what libmicrohttpd checks. */
#include <config.h>

#include "http/head.h"

#include "base/base.h"
#include "http/percent.h"

bool
head_is_token(const char *text, size_t size)
{
	for (size_t at = 0; at < size; at++)
		if (!((text[at] >= '0' && text[at] <= '9') || ((text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z') ||
				(text[at] && strchr("!#$%&'*+-.^_`|~", text[at]))))
			return false;
	return size > 0;
}

bool
head_is_host(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=:[]";
	return text[strspn(text, letters)] == '\0';
}

bool
head_is_value(const char *from, const char *to)
{
	for (const char *at = from; at < to; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == '\x7f')
			return false;
	return true;
}

/* Moves *at behind the NULs that were the CR and LF of a line. */
static bool
end_line(const char **at, const char *end)
{
	bool ends = end - *at >= 2 && (*at)[0] == '\0' && (*at)[1] == '\0';
	*at += ends ? 2 : 0;
	return ends;
}

bool
head_is_strict(const char *version, const char *end)
{
	const char *at = version + strnlen(version, (size_t)(end - version));
	if (!end_line(&at, end))
		return false;
	while (!end_line(&at, end)) {
		const char *colon = memchr(at, '\0', (size_t)(end - at));
		if (!colon || !head_is_token(at, (size_t)(colon - at)))
			return false;
		const char *value = colon + 1;
		at = value + strnlen(value, (size_t)(end - value));
		if (!head_is_value(value, at) || !end_line(&at, end))
			return false;
	}
	return at == end;
}

bool
path_split(const char *url, struct path *ret_path)
{
	struct path path = {.count = 0};
	AUTO_FREE char *room = xmalloc(strlen(url) + 1);
	char *to = room;
	if (*url != '/')
		return false;
	for (const char *at = url; *at;) {
		size_t size = strcspn(at, "/");
		if (size > 0) {
			if (!percent_decode(at, size, false, to) || strcmp(to, ".") == 0 || strcmp(to, "..") == 0 || !*to)
				return false;
			to += strlen(to) + 1;
			path.count++;
		}
		at += size + (at[size] == '/');
	}
	path.text = STEAL(room);
	*ret_path = path;
	return true;
}

const char *
path_segment(const struct path *path, size_t index)
{
	const char *at = path->text;
	if (index >= path->count)
		return NULL;
	while (index-- > 0)
		at += strlen(at) + 1;
	return at;
}

void
path_free(struct path *path)
{
	free(path->text);
	*path = (struct path){.count = 0};
}
