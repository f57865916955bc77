/* SPDX-License-Identifier: MIT */
/* What several pages ask of a request, and show. */
#include <config.h>

#include "web/site/site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "common/format.h"
#include "web/accounts/session.h"
#include "web/api/api.h"
#include "web/visit/caller.h"

#define DECIMAL 10
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

const char *
site_user(const struct visit *visit)
{
	return session_user(visit);
}

bool
site_has_role(const struct visit *visit, const char *role)
{
	return member_is(visit->actor, STORED_ROLE, role);
}

bool
site_operates(const struct visit *visit)
{
	return session_operates(visit->actor);
}

json_t *
site_model(const struct visit *visit, const char *path)
{
	json_t *value = json_object_get(visit->data, "model");
	for (size_t len; *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		value = json_object_getn(value, path, len);
	}
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
	for (const char *at = text + strspn(text, separators); *at; at += strspn(at, separators)) {
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

/* What a source of site_read has for an argument, whose type it gets. New reference; NULL: nothing. */
static json_t *
source_value(const struct visit *visit, const json_t *argument, const char *source)
{
	const char *name = source + 1, *text = source;
	if (*source == '#' || *source == '+') {
		json_int_t number = *source == '#' ? site_number(visit, name)
										   : (site_page_number(visit) - 1) * (json_int_t)strtol(name, NULL, DECIMAL);
		return number || *source == '+' ? json_integer(number) : NULL;
	}
	if (*source == '.')
		return json_incref(site_model(visit, name));
	if (*source == '/')
		text = site_segment(visit, (size_t)(*name - '0'));
	else if (*source == '?')
		text = site_query(visit, name);
	else if (*source == '@')
		text = site_user(visit);
	else if (*source == ':')
		text = *name == ':' ? json_text_or_empty(json_object_get(visit->data, "fields"), name + 1)
							: site_field(visit, name);
	return text ? api_value(argument, text) : NULL;
}

/* The values of an argument that takes several, between commas. New reference. */
static json_t *
listed(const json_t *argument, json_t *value_take)
{
	AUTO_JSON json_t *value = value_take;
	return json_is_string(value) ? site_list(json_string_value(value), ",", argument) : json_pack("[O]", value);
}

json_t *
site_read_args(const struct visit *visit, const struct site_read *read)
{
	if (read->make)
		return read->make(visit);
	const json_t *row = json_object_get(visit->web->commands, read->command);
	AUTO_JSON json_t *args = json_object();
	for (const char *at = read->args ? read->args : ""; *at;) {
		size_t len = strcspn(at, " "), name_len = strcspn(at, "=");
		bool is_needed = *at == '!';
		AUTO_FREE char *name = xstrndup(at, is_needed ? 0 : name_len);
		AUTO_FREE char *source =
			is_needed ? xstrndup(at + 1, len - 1) : xstrndup(at + name_len + 1, len - name_len - 1);
		const json_t *argument = list_find(json_object_get(row, "args"), "name", name);
		json_t *value = source_value(visit, argument, source);
		if (is_needed && !value)
			return NULL;
		if (is_needed || !value)
			json_decref(value);
		else
			json_object_set_new(args, name, member_true(argument, "repeated") ? listed(argument, value) : value);
		at += len + (at[len] == ' ');
	}
	return STEAL(args);
}

/* ---- what several pages show ---- */

const char *
site_medal(json_int_t rank)
{
	static const char *const medals[] = {"gold", "silver", "bronze"};
	return rank >= 1 && rank <= (json_int_t)ARRAY_SIZE(medals) ? medals[rank - 1] : "";
}

json_t *
site_change(double percent, const json_t *significant)
{
	char text[FORMAT_SIZE];
	bool is_noise = json_is_false(significant), is_unclear = json_is_null(significant);
	if (!isfinite(percent))
		return json_null();
	format_change(percent, text);
	bool is_far = !strchr(text, '%'), is_same = strcmp(text, "0 %") == 0;
	const char *word = percent < 0 ? "less time" : "more time";
	return json_pack("{s:o, s:s}", "text",
		is_noise                ? json_sprintf("%s, within noise", text)
		: is_same               ? json_string("the same")
		: is_far && percent < 0 ? json_sprintf("%.3g times as fast", 1 / (1 + percent / 100))
		: is_far                ? json_sprintf("%s the time", text)
								: json_sprintf("%s %s", text + strspn(text, "+-"), word),
		"class",
		is_noise || is_same || is_unclear ? "quiet"
		: percent < 0                     ? "good"
										  : "bad");
}
