/* SPDX-License-Identifier: MIT */
/* The API as OpenAPI 3.1 and as a page. */
#include <config.h>

#include "web/api/openapi.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "web/api/api.h"
#include "http/html.h"

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
		"400", "401", "403", "404", "409", "411", "413", "415", "426", "429", "500", "503"};
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

/* What stands between braces in a path. */
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

static void
add_argument(struct buf *rows, const char *name, const json_t *schema, bool is_required)
{
	const json_t *type = json_object_get(schema, "type");
	const char *kind = json_string_value(json_is_array(type) ? json_array_get(type, 0) : type);
	html_printf(rows, "<tr><td><code>%s</code><td>%s%s<td>%s\n", name, kind ? kind : "",
		is_required ? ", required" : "", json_text_or_empty(schema, "description"));
}

/* The arguments of an operation, in its path, query and body. */
static void
add_arguments(struct buf *page, const json_t *operation)
{
	AUTO_BUF struct buf rows = {0};
	json_t *content = json_object_get(json_object_get(operation, "requestBody"), "content");
	const json_t *body = json_object_get(json_object_iter_value(json_object_iter(content)), "schema");
	json_array_each(json_object_get(operation, "parameters"), parameter)
		add_argument(&rows, json_text_or_empty(parameter, "name"), json_object_get(parameter, "schema"),
			member_true(parameter, "required"));
	json_object_each(json_object_get(body, "properties"), name, property)
		add_argument(&rows, name, property, list_has_text(json_object_get(body, "required"), name));
	if (rows.len)
		buf_printf(page, "<table><tr><th>argument<th>type<th>meaning\n%s</table>\n", rows.data);
}

char *
openapi_page(const json_t *document)
{
	struct buf page = {0};
	AUTO_BUF struct buf content = {0};
	buf_adds(&content,
		"<p>Each command is a POST of its arguments, as a JSON object, to <code>/api/v1/COMMAND</code>. "
		"Those with a GET take them as a query, too. <a href=\"/openapi.json\">The same as OpenAPI.</a></p>\n");
	json_object_each(json_object_get(document, "paths"), path, methods) {
		html_printf(&content, "<h2 id=\"%s\">%s</h2>\n", path, path);
		json_object_each(methods, method, operation) {
			const json_t *security = json_array_get(json_object_get(operation, "security"), 0);
			const char *credential = json_object_iter_key(json_object_iter((json_t *)security));
			html_printf(&content, "<p><b>%s</b>: %s.%s%s</p>\n", method, json_text_or_empty(operation, "summary"),
				credential ? " Credential: " : "", credential ? credential : "");
			if (strcmp(method, "get") != 0 || !json_object_get(methods, "post"))
				add_arguments(&content, operation);
		}
	}
	html_add_page(&page, "The API", "/openapi.json", &content);
	return buf_take(&page);
}
