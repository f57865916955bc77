/* SPDX-License-Identifier: MIT */
/* The API as OpenAPI 3.1 and as a page. */
#include <config.h>

#include "web/api/openapi.h"

#include "base/buf.h"
#include "base/base.h"
#include "web/api/api.h"

#include "frontends/web/api/openapi_json.h"

#define SCHEMAS "#/components/schemas/"
#define RESPONSES "#/components/responses/"

/* ---- schemas of answers ---- */

/*
 * A copy of a schema in which each shape that has a title is a reference to one of `shared`, where it is put. A title
 * stands for one shape.
 */
static json_t *
lift(const json_t *schema, json_t *shared)
{
	if (json_is_array(schema)) {
		json_t *list = json_array();
		json_array_each(schema, item)
			json_array_append_new(list, lift(item, shared));
		return list;
	}
	if (!json_is_object(schema))
		return json_copy((json_t *)schema);
	json_t *copy = json_object();
	const char *title = json_text_or_null(schema, "title");
	json_object_each(schema, key, value)
		json_object_set_new(copy, key, lift(value, shared));
	if (!title)
		return copy;
	json_t *reference = json_object();
	json_object_set_new(reference, "$ref", json_sprintf(SCHEMAS "%s", title));
	json_object_set_new(shared, title, copy);
	return reference;
}

/* ---- arguments ---- */

#define NO_CONTROLS "[^\\u0000-\\u001f\\u007f-\\u009f]"
#define NAME_TEXT "[^:\\u0000-\\u001f\\u007f-\\u009f]"
#define TEXT "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$"
#define NAME "^[A-Za-z0-9._-]{1,64}$"
#define WHEN "^(none|[+][0-9]{1,5}[dhm]|[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?Z?)?)$"

/* The schema of one value of an argument's type; a query has no control characters at all. */
static json_t *
type_of(const json_t *argument, bool in_query)
{
	const struct {
		const char *type, *json_type, *pattern;
	} types[] = {
		{"string", "string", in_query ? "^" NO_CONTROLS "*$" : TEXT},
		{"board", "string", NAME},
		{"device", "string", NAME},
		{"when", "string", WHEN},
		{"path", "string", NULL},
		{"choice", "string", NULL},
		{"int", "integer", NULL},
		{"id", "integer", NULL},
		{"bool", "boolean", NULL},
		{"user", "string", "^([a-z0-9_-]{1,32}:" NO_CONTROLS "{1,160}|" NAME_TEXT "{1,200})$"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (member_is(argument, "type", types[i].type))
			return json_pack("{s:s, s:s*}", "type", types[i].json_type, "pattern", types[i].pattern);
	if (!member_is(argument, "type", "file"))
		return json_pack("{s:s}", "type", "object");
	return json_pack("{s:s, s:{s:{s:s}, s:{s:s, s:s}}, s:[s, s], s:b}", "type", "object", "properties", "name", "type",
		"string", "base64", "type", "string", "contentEncoding", "base64", "required", "name", "base64",
		"additionalProperties", 0);
}

static json_t *
argument_schema(const json_t *argument, bool in_query)
{
	json_t *schema = type_of(argument, in_query);
	const char *usual = json_text_or_null(argument, "default");
	bool is_text = member_is(argument, "type", "string");
	if (json_is_array(json_object_get(argument, "choices")))
		json_object_set_new(schema, "enum", json_copy(json_object_get(argument, "choices")));
	if (member_is(schema, "type", "integer"))
		json_object_update_new(
			schema, json_pack("{s:I, s:I}", "minimum", member_is(argument, "type", "id") ? (json_int_t)1 : INT64_MIN,
						"maximum", (json_int_t)INT64_MAX));
	if (json_object_get(argument, "min"))
		json_object_set(schema, is_text ? "minLength" : "minimum", json_object_get(argument, "min"));
	if (json_object_get(argument, "max"))
		json_object_set(schema, is_text ? "maxLength" : "maximum", json_object_get(argument, "max"));
	AUTO_JSON json_t *value = usual ? api_value(argument, usual) : NULL;
	/* The default of a number may be a word, such as "latest". */
	if (value && json_is_string(value) == member_is(schema, "type", "string"))
		json_object_set(schema, "default", value);
	if (member_true(argument, "repeated"))
		schema = json_pack(
			"{s:s, s:o, s:i}", "type", "array", "items", schema, "minItems", member_true(argument, "required") ? 1 : 0);
	json_object_set(schema, "description", json_object_get(argument, "help"));
	return schema;
}

/* In a body, null stands for an argument that is left out. */
static json_t *
body_argument(const json_t *argument)
{
	json_t *schema = argument_schema(argument, false);
	if (member_true(argument, "required"))
		return schema;
	json_object_set_new(schema, "type", json_pack("[O, s]", json_object_get(schema, "type"), "null"));
	if (json_object_get(schema, "enum"))
		json_array_append_new(json_object_get(schema, "enum"), json_null());
	return schema;
}

static json_t *
body_schema(const json_t *row)
{
	json_t *properties = json_object(), *required = json_array();
	json_array_each(json_object_get(row, "args"), argument) {
		json_object_set_new(properties, json_text_or_empty(argument, "name"), body_argument(argument));
		if (member_true(argument, "required"))
			json_array_append(required, json_object_get(argument, "name"));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
		"additionalProperties", 0);
}

static json_t *
parameters_of(const json_t *row)
{
	json_t *parameters = json_array();
	json_array_each(json_object_get(row, "args"), argument)
		json_array_append_new(
			parameters, json_pack("{s:s, s:O, s:b, s:o}", "in", "query", "name", json_object_get(argument, "name"),
							"required", member_true(argument, "required"), "schema", argument_schema(argument, true)));
	return parameters;
}

/* ---- operations ---- */

static json_t *
json_content(json_t *schema_take)
{
	return json_pack("{s:{s:o}}", "application/json", "schema", schema_take);
}

static json_t *
errors_of(json_t *responses)
{
	static const char *const statuses[] = {
		"400", "401", "403", "404", "409", "411", "413", "414", "415", "426", "429", "431", "500", "503"};
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		json_object_set_new(responses, statuses[i], json_pack("{s:s}", "$ref", RESPONSES "error"));
	return responses;
}

static json_t *
operation(const json_t *row, const json_t *answer, const char *method)
{
	const char *name = json_text_or_empty(row, "name");
	json_t *content = json_content(json_incref((json_t *)answer));
	json_object_set_new(content, "text/event-stream", json_pack("{s:{s:s}}", "schema", "type", "string"));
	json_t *responses = json_pack("{s:{s:s, s:o}}", "200", "description", "the answer", "content", content);
	json_t *made = json_pack("{s:o, s:O, s:[s#], s:o}", "operationId", json_sprintf("%s.%s", name, method), "summary",
		json_object_get(row, "help"), "tags", name, (int)strcspn(name, "."), "responses", errors_of(responses));
	if (json_text_or_null(row, "details"))
		json_object_set(made, "description", json_object_get(row, "details"));
	if (!api_is_open(row))
		json_object_set_new(made, "security", json_pack("[{s:[]}]", "token"));
	if (strcmp(method, "get") == 0) {
		json_object_set_new(made, "parameters", parameters_of(row));
		json_object_set_new(responses, "304", json_pack("{s:s}", "description", "unchanged"));
	} else {
		json_t *schema = body_schema(row);
		json_object_set_new(made, "requestBody",
			json_pack("{s:b, s:o}", "required", json_array_size(json_object_get(schema, "required")) > 0, "content",
				json_content(schema)));
	}
	return made;
}

static void
add_commands(const struct web *web, json_t *paths, json_t *shared)
{
	const json_t *answers = web->host->answers(web->host);
	json_object_each(web->commands, name, row) {
		AUTO_FREE char *path = xasprintf("/api/v1/%s", name);
		AUTO_JSON json_t *answer = lift(json_object_get(answers, name), shared);
		json_t *methods = json_object();
		if (!answer)
			answer = json_object();
		json_object_set_new(methods, "post", operation(row, answer, "post"));
		if (api_has_get(row))
			json_object_set_new(methods, "get", operation(row, answer, "get"));
		json_object_set_new(paths, path, methods);
	}
}

/* ---- KernelBot's calls ---- */

/* The names between braces in a path. */
static json_t *
path_parameters(const char *path)
{
	json_t *parameters = json_array();
	for (const char *at = strchr(path, '{'); at; at = strchr(at, '{')) {
		size_t size = strcspn(++at, "}");
		json_array_append_new(parameters, json_pack("{s:s, s:s%, s:b, s:{s:s}}", "in", "path", "name", at, size,
											  "required", 1, "schema", "type", "string"));
	}
	return parameters;
}

/* key: "METHOD PATH". call: {"summary", "who", "query", "takes", "status", "gives"}, of which three may be missing. */
static void
add_call(json_t *document, const json_t *security, const char *key, const json_t *call)
{
	const size_t size = strcspn(key, " ");
	const char *path = key + size + 1, *status = json_text_or_null(call, "status");
	json_t *parameters = path_parameters(path);
	json_object_each(json_object_get(call, "query"), name, schema)
		json_array_append_new(parameters, json_pack("{s:s, s:s, s:O}", "in", "query", "name", name, "schema", schema));
	json_t *operation = json_pack("{s:s, s:O, s:[s], s:O, s:o, s:{s:{s:s, s:O}, s:{s:s}, s:{s:s}}}", "operationId", key,
		"summary", json_object_get(call, "summary"), "tags", "KernelBot", "security",
		json_object_get(security, json_text_or_empty(call, "who")), "parameters", parameters, "responses",
		status ? status : "200", "description", "the answer", "content", json_object_get(call, "gives"), "4XX", "$ref",
		RESPONSES "detail", "5XX", "$ref", RESPONSES "detail");
	if (json_object_get(call, "takes"))
		json_object_set_new(operation, "requestBody",
			json_pack("{s:b, s:O}", "required", 1, "content", json_object_get(call, "takes")));
	json_t *paths = json_object_get(document, "paths"), *methods = json_object_get(paths, path);
	if (!methods)
		json_object_set_new(paths, path, methods = json_object());
	json_object_setn_new(methods, key, size, operation);
}

json_t *
openapi_make(const struct web *web)
{
	json_t *document = json_loads(openapi_base, 0, NULL);
	AUTO_JSON json_t *others = json_loads(openapi_calls, 0, NULL);
	json_t *shared = json_object_get(json_object_get(document, "components"), "schemas");
	json_object_set_new(json_object_get(document, "info"), "version", json_string(web->host->version));
	json_object_update(shared, json_object_get(others, "schemas"));
	json_object_each(json_object_get(others, "calls"), key, call)
		add_call(document, json_object_get(others, "security"), key, call);
	add_commands(web, json_object_get(document, "paths"), shared);
	return document;
}

/* ---- for people ---- */

#define ANYTHING "any value"
#define COMMANDS "/api/v1/"

/* The type of a schema that is neither an array, a map nor a reference, in words. New string. */
static char *
words_of(const json_t *schema, bool is_argument)
{
	const json_t *types = json_object_get(schema, "type"), *first = json_array_get(types, 0);
	const char *type = json_string_value(first ? first : types), *unit = json_text_or_null(schema, "x-unit");
	AUTO_BUF struct buf words = {0};
	json_array_each(json_object_get(schema, "enum"), choice)
		if (json_is_string(choice))
			buf_printf(&words, "%s%s", words.len ? ", " : "", json_string_value(choice));
	if (json_is_string(json_object_get(schema, "const")))
		buf_adds(&words, json_text_or_empty(schema, "const"));
	if (member_is(schema, "format", "date-time"))
		type = "time";
	if (words.len == 0)
		buf_adds(&words, type ? type : ANYTHING);
	if (unit)
		buf_printf(&words, " (%s)", unit);
	/* In an argument, null stands for none. */
	if (json_array_size(types) > 1 && !is_argument)
		buf_printf(&words, " or %s", json_string_value(json_array_get(types, 1)));
	return buf_take(&words);
}

static void add_members(json_t *rows, const char *path, const json_t *schema, bool are_arguments);

/*
 * Adds a row for a value, {"name", "kind", "link": the name of an object of several answers or null, "note", "help"}, and
 * one for each member.
 */
static void
add_value(json_t *rows, const char *name, const char *note, const json_t *schema, bool are_arguments)
{
	AUTO_BUF struct buf kind = {0};
	const json_t *inner = schema;
	for (const json_t *next = inner; next; inner = next ? next : inner) {
		const json_t *items = json_object_get(inner, "items"), *more = json_object_get(inner, "additionalProperties");
		next = items ? items : json_is_object(more) ? more : NULL;
		if (next)
			buf_adds(&kind, items ? "array of " : "map of ");
	}
	const char *reference = json_text_or_null(inner, "$ref"), *slash = reference ? strrchr(reference, '/') : NULL;
	AUTO_FREE char *words = slash ? xstrdup("") : words_of(inner, are_arguments);
	const json_t *usual = are_arguments ? json_object_get(schema, "default") : NULL;
	AUTO_FREE char *other = usual && !json_is_string(usual) ? json_dumps(usual, JSON_ENCODE_ANY) : NULL;
	AUTO_FREE char *with_default = usual ? xasprintf("default %s", other ? other : json_string_value(usual)) : NULL;
	buf_adds(&kind, words);
	json_array_append_new(rows,
		json_pack("{s:s, s:s, s:s?, s:s, s:O?}", "name", name, "kind", kind.data, "link", slash ? slash + 1 : NULL,
			"note", with_default ? with_default : note, "help", json_object_get(schema, "description")));
	add_members(rows, name, inner, are_arguments);
}

/* Adds rows for the members of an object, with the path to it in front of their names. */
static void
add_members(json_t *rows, const char *path, const json_t *schema, bool are_arguments)
{
	json_object_each(json_object_get(schema, "properties"), member, property) {
		AUTO_FREE char *name = *path ? xasprintf("%s.%s", path, member) : xstrdup(member);
		bool is_required = list_has_text(json_object_get(schema, "required"), member);
		const char *note = are_arguments == is_required ? (are_arguments ? "required" : "may be missing") : "";
		add_value(rows, name, note, property, are_arguments);
	}
}

/* The schema of the first content of a body or an answer, of this type; NULL: there is none. */
static const json_t *
schema_in(const json_t *body, const char *type)
{
	const json_t *content = json_object_get(body, "content");
	const json_t *of_type =
		type ? json_object_get(content, type) : json_object_iter_value(json_object_iter((json_t *)content));
	return json_object_get(of_type, "schema");
}

/* The arguments of an operation in its path, query and body: rows of add_value. */
static json_t *
arguments_of(const json_t *operation)
{
	json_t *rows = json_array();
	json_array_each(json_object_get(operation, "parameters"), parameter) {
		AUTO_JSON json_t *schema = json_copy(json_object_get(parameter, "schema"));
		if (json_object_get(parameter, "description"))
			json_object_set(schema, "description", json_object_get(parameter, "description"));
		add_value(rows, json_text_or_empty(parameter, "name"), member_true(parameter, "required") ? "required" : "",
			schema, true);
	}
	add_members(rows, "", schema_in(json_object_get(operation, "requestBody"), NULL), true);
	return rows;
}

/* {"kind", "link", "members"} of a schema. New reference. */
static json_t *
value_of(const json_t *schema)
{
	AUTO_JSON json_t *rows = json_array();
	add_value(rows, "", "", schema, false);
	json_t *value = json_incref(json_array_get(rows, 0));
	json_array_remove(rows, 0);
	json_object_set(value, "members", rows);
	return value;
}

static json_t *
call_of(const char *methods, const json_t *operation)
{
	const json_t *security = json_array_get(json_object_get(operation, "security"), 0), *answer = NULL;
	json_object_each(json_object_get(operation, "responses"), status, response)
		if (*status == '2')
			answer = schema_in(response, "application/json");
	return json_pack("{s:s, s:O, s:O?, s:s?, s:o, s:o}", "methods", methods, "summary",
		json_object_get(operation, "summary"), "details", json_object_get(operation, "description"), "credential",
		json_object_iter_key(json_object_iter((json_t *)security)), "arguments", arguments_of(operation), "answer",
		answer ? value_of(answer) : json_null());
}

static bool
is_command(const char *path)
{
	return strncmp(path, COMMANDS, strlen(COMMANDS)) == 0;
}

/* Adds a path to its group. Where a GET takes what a POST takes, they are shown as one. */
static void
add_path(json_t *groups, const char *path, const json_t *methods)
{
	json_t *calls = json_array();
	const json_t *any = json_object_iter_value(json_object_iter((json_t *)methods));
	const char *tag = json_string_value(json_array_get(json_object_get(any, "tags"), 0)), *name = tag ? tag : "server";
	bool takes_both = is_command(path) && json_object_get(methods, "get");
	json_object_each(methods, method, operation)
		if (!takes_both || strcmp(method, "get") != 0)
			json_array_append_new(calls, call_of(takes_both ? "get, post" : method, operation));
	json_t *group = list_find(groups, "name", name);
	if (!group)
		json_array_append_new(groups, group = json_pack("{s:s, s:[]}", "name", name, "paths"));
	json_array_append_new(json_object_get(group, "paths"),
		json_pack("{s:s, s:O, s:o}", "path", path, "about", json_object_get(any, "summary"), "calls", calls));
}

json_t *
openapi_model(const struct web *web)
{
	json_t *groups = json_array(), *objects = json_array();
	AUTO_JSON json_t *document = openapi_make(web);
	for (int others = 0; others < 2; others++)
		json_object_each(json_object_get(document, "paths"), path, methods)
			if (is_command(path) != others)
				add_path(groups, path, methods);
	json_object_each(json_object_get(json_object_get(document, "components"), "schemas"), name, schema) {
		json_t *value = value_of(schema);
		json_object_set_new(value, "name", json_string(name));
		json_array_append_new(objects, value);
	}
	return json_pack("{s:o, s:o}", "groups", groups, "objects", objects);
}
