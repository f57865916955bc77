/* SPDX-License-Identifier: MIT */
/* Values of requests and of pages that several pages need. */
#include <config.h>

#include "web/site/site.h"

#include "base/base.h"
#include "base/number.h"
#include "web/api/api.h"
#include "web/visit/caller.h"

#define PAGE_NUMBER_MAX 1000000

/* ---- what the request says ---- */

const char *
site_segment(const struct visit *visit, size_t index)
{
	const char *segment = json_string_value(json_array_get(json_object_get(visit->data, "path"), index));
	return segment ? segment : "";
}

static const char *
text_of(const struct visit *visit, const char *object, const char *name)
{
	const char *text = json_text_or_null(json_object_get(visit->data, object), name);
	return text && *text ? text : NULL;
}

const char *
site_query(const struct visit *visit, const char *name)
{
	return text_of(visit, "query", name);
}

json_int_t
site_number(const struct visit *visit, const char *name)
{
	long long number = 0;
	const char *text = site_query(visit, name);
	return text && number_parse_integer(text, &number) && number > 0 ? number : 0;
}

const char *
site_field(const struct visit *visit, const char *name)
{
	return text_of(visit, "fields", name);
}

bool
site_administers(const struct visit *visit)
{
	return member_is(visit->actor, STORED_ROLE, "admin");
}

bool
site_operates(const struct visit *visit)
{
	return session_operates(visit->actor);
}

json_t *
site_model(const struct visit *visit, const char *path)
{
	json_t *value = json_at(json_object_get(visit->data, "model"), path, strlen(path));
	return json_is_null(value) ? NULL : value;
}

json_int_t
site_page_number(const struct visit *visit)
{
	json_int_t page = site_number(visit, "page");
	return page < 1 ? 1 : page < PAGE_NUMBER_MAX ? page : PAGE_NUMBER_MAX;
}

/* ---- arguments ---- */

json_t *
site_list(const char *text, const char *separators, const json_t *argument)
{
	json_t *list = json_array();
	for (const char *at = text ? text + strspn(text, separators) : ""; *at; at += strspn(at, separators)) {
		size_t len = strcspn(at, separators), blank = strspn(at, " "), end = len;
		while (end > blank && at[end - 1] == ' ')
			end--;
		AUTO_FREE char *item = xstrndup(at + blank, end > blank ? end - blank : 0);
		if (*item)
			json_array_append_new(list, api_value(argument, item));
		at += len;
	}
	return list;
}

/* The value for an argument in a source of site_read, converted to its type. New reference; NULL: none. */
static json_t *
source_value(const struct visit *visit, const json_t *argument, const char *source)
{
	const char *name = source + 1, *text = source;
	if (*source == '#' || *source == '+') {
		json_int_t number = *source == '#' ? site_number(visit, name) : (site_page_number(visit) - 1) * atol(name);
		return number || *source == '+' ? json_integer(number) : NULL;
	}
	if (*source == '.')
		return json_incref(site_model(visit, name));
	if (*source == '/')
		text = site_segment(visit, (size_t)(*name - '0'));
	else if (*source == '?')
		text = site_query(visit, name);
	else if (*source == '@')
		text = session_user(visit);
	else if (*source == '*')
		text = member_is(visit->actor, STORED_ROLE, name) ? name : NULL;
	else if (*source == ':')
		text = *name == ':' ? json_text_or_empty(json_object_get(visit->data, "fields"), name + 1)
							: site_field(visit, name);
	return text ? api_value(argument, text) : NULL;
}

json_t *
site_read_args(const struct visit *visit, const struct site_read *read)
{
	if (read->make)
		return read->make(visit);
	const json_t *row = json_object_get(visit->web->commands, read->command);
	AUTO_JSON json_t *args = json_object(), *sources = site_list(read->args, " ", NULL);
	json_array_each(sources, one) {
		const char *text = json_string_value(one);
		bool is_needed = *text == '!';
		size_t name_len = is_needed ? 0 : strcspn(text, "=");
		AUTO_FREE char *name = xstrndup(text, name_len);
		const json_t *argument = list_find(json_object_get(row, "args"), "name", name);
		AUTO_JSON json_t *value = source_value(visit, argument, text + name_len + 1);
		if (is_needed && !value)
			return NULL;
		if (!is_needed && value && member_true(argument, "repeated")) /* several are between commas */
			json_object_set_new(args, name,
				json_is_string(value) ? site_list(json_string_value(value), ",", argument) : json_pack("[O]", value));
		else if (!is_needed && value)
			json_object_set(args, name, value);
	}
	return STEAL(args);
}
