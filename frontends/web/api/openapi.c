/* SPDX-License-Identifier: MIT */
/* The API as OpenAPI 3.1 and as a page. */
#include <config.h>

#include "web/api/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "web/api/api.h"
#include "web/visit/html.h"
#include "web/visit/respond.h"

#define SCHEMAS "#/components/schemas/"

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
		size_t i;
		const json_t *item;
		json_array_foreach(schema, i, item)
			json_array_append_new(list, lift(item, shared));
		return list;
	}
	if (!json_is_object(schema))
		return json_copy((json_t *)schema);
	json_t *copy = json_object(), *value;
	const char *key, *title = json_text_or_null(schema, "title");
	json_object_foreach((json_t *)schema, key, value)
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
#define NAME "^[A-Za-z0-9._-]{1,64}$"
#define WHEN "^(none|[+][0-9]{1,5}[dhm]|[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?Z?)?)$"

/* The schema of one value of an argument's type. */
static json_t *
type_of(const json_t *argument)
{
	static const struct {
		const char *type, *json_type, *pattern;
	} types[] = {
		{"string", "string", "^" NO_CONTROLS "*$"},
		{"board", "string", NAME},
		{"device", "string", NAME},
		{"when", "string", WHEN},
		{"path", "string", NULL},
		{"choice", "string", NULL},
		{"int", "integer", NULL},
		{"id", "integer", NULL},
		{"bool", "boolean", NULL},
		{"user", "string", "^" NO_CONTROLS "{1,200}$"},
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

/* The default, which the table has as text, as a value of the argument's type; NULL: there is none. */
static json_t *
default_of(const json_t *argument)
{
	const char *text = json_text_or_null(argument, "default");
	long long number = 0;
	if (!text)
		return NULL;
	if (member_is(argument, "type", "bool"))
		return json_boolean(strcmp(text, "true") == 0);
	if (member_is(argument, "type", "int") || member_is(argument, "type", "id"))
		return number_parse_integer(text, &number) ? json_integer(number) : NULL;
	return json_string(text);
}

static json_t *
argument_schema(const json_t *argument)
{
	json_t *schema = type_of(argument), *value = default_of(argument);
	if (json_is_array(json_object_get(argument, "choices")))
		json_object_set_new(schema, "enum", json_copy(json_object_get(argument, "choices")));
	if (member_is(argument, "type", "id"))
		json_object_set_new(schema, "minimum", json_integer(1));
	if (json_object_get(argument, "min"))
		json_object_set(schema, "minimum", json_object_get(argument, "min"));
	if (json_object_get(argument, "max"))
		json_object_set(schema, "maximum", json_object_get(argument, "max"));
	if (value)
		json_object_set_new(schema, "default", value);
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
	json_t *schema = argument_schema(argument);
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
	size_t i;
	const json_t *argument;
	json_array_foreach(json_object_get(row, "args"), i, argument) {
		json_object_set_new(properties, json_text_or_empty(argument, "name"), body_argument(argument));
		if (member_true(argument, "required"))
			json_array_append(required, json_object_get(argument, "name"));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
		"additionalProperties", 0);
}

static bool
needs_body(const json_t *row)
{
	size_t i;
	const json_t *argument;
	json_array_foreach(json_object_get(row, "args"), i, argument)
		if (member_true(argument, "required"))
			return true;
	return false;
}

static json_t *
parameters_of(const json_t *row)
{
	json_t *parameters = json_array();
	size_t i;
	const json_t *argument;
	json_array_foreach(json_object_get(row, "args"), i, argument)
		json_array_append_new(
			parameters, json_pack("{s:s, s:O, s:b, s:o}", "in", "query", "name", json_object_get(argument, "name"),
							"required", member_true(argument, "required"), "schema", argument_schema(argument)));
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
		json_object_set_new(responses, statuses[i], json_pack("{s:s}", "$ref", "#/components/responses/error"));
	return responses;
}

static json_t *
operation(const json_t *row, const json_t *answer, const char *method)
{
	const char *name = json_text_or_empty(row, "name");
	json_t *responses = json_pack(
		"{s:{s:s, s:o}}", "200", "description", "the answer", "content", json_content(json_incref((json_t *)answer)));
	json_t *made = json_pack("{s:o, s:O, s:[s#], s:o}", "operationId", json_sprintf("%s.%s", name, method), "summary",
		json_object_get(row, "help"), "tags", name, (int)strcspn(name, "."), "responses", errors_of(responses));
	if (json_text_or_null(row, "details"))
		json_object_set(made, "description", json_object_get(row, "details"));
	if (!api_is_open(row))
		json_object_set_new(made, "security", json_pack("[{s:[]}]", "token"));
	if (strcmp(method, "get") == 0)
		json_object_set_new(made, "parameters", parameters_of(row));
	else
		json_object_set_new(made, "requestBody",
			json_pack("{s:b, s:o}", "required", needs_body(row), "content", json_content(body_schema(row))));
	return made;
}

static void
add_commands(const struct web *web, json_t *paths, json_t *shared)
{
	const json_t *answers = web->host->answers(web->host);
	const char *name;
	json_t *row;
	json_object_foreach(web->commands, name, row) {
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

/* The addresses that are no commands. */
static const char other_paths[] =
	"{\"/health\": {\"get\": {\"operationId\": \"health\", \"summary\": \"whether the server runs\", \"security\": [],"
	" \"responses\": {\"200\": {\"description\": \"it runs\", \"content\": {\"application/json\": {\"schema\": "
	"{\"type\": \"object\"}}}}}}},"
	" \"/api/v1/events\": {\"get\": {\"operationId\": \"events\", \"summary\": \"events as they happen\","
	" \"description\": \"A stream: `id` is the number of a stored event, `event` its kind, `data` the event as JSON."
	" Without a parameter, all events that you may see.\", \"parameters\": ["
	"{\"in\": \"query\", \"name\": \"submission\", \"schema\": {\"type\": \"integer\", \"minimum\": 1}},"
	"{\"in\": \"query\", \"name\": \"leaderboard\", \"schema\": {\"type\": \"string\"}},"
	"{\"in\": \"query\", \"name\": \"after\", \"description\": \"events behind this number; default: new ones\","
	" \"schema\": {\"type\": \"integer\", \"minimum\": 0}},"
	"{\"in\": \"header\", \"name\": \"Last-Event-ID\", \"schema\": {\"type\": \"integer\", \"minimum\": 0}}],"
	" \"responses\": {\"200\": {\"description\": \"the stream\", \"content\": {\"text/event-stream\": {\"schema\": "
	"{\"type\": \"string\"}}}}}}}}";

static const char error_schema[] =
	"{\"type\": \"object\", \"properties\": {\"error\": {\"type\": \"object\", \"properties\": {"
	"\"code\": {\"type\": \"string\"}, \"message\": {\"type\": \"string\", \"description\": \"a sentence\"},"
	" \"member\": {\"type\": \"string\", \"description\": \"the argument that is wrong\"},"
	" \"cause\": {\"type\": \"string\", \"description\": \"what the code does not say\"},"
	" \"retry_s\": {\"type\": \"integer\", \"description\": \"seconds until a retry is allowed\"}},"
	" \"required\": [\"code\", \"message\"], \"additionalProperties\": false}},"
	" \"required\": [\"error\"], \"additionalProperties\": false}";

static json_t *
add_errors(json_t *paths)
{
	const char *path;
	json_t *methods;
	json_object_foreach(paths, path, methods) {
		json_t *get = json_object_get(methods, "get");
		if (get && strcmp(path, "/health") != 0)
			(void)errors_of(json_object_get(get, "responses"));
	}
	return paths;
}

json_t *
openapi_make(const struct web *web)
{
	json_t *paths = add_errors(json_loads(other_paths, 0, NULL)), *shared = json_object();
	add_commands(web, paths, shared);
	json_object_set_new(shared, "error", json_loads(error_schema, 0, NULL));
	json_t *error = json_pack("{s:s, s:o}", "description", "what was wrong, and what would be right", "content",
		json_content(json_pack("{s:s}", "$ref", SCHEMAS "error")));
	return json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{}, {s:[]}], s:{s:{s:{s:s, s:s}}, s:{s:o}, s:o}, s:o}", "openapi",
		"3.1.0", "info", "title", "Kettle", "version", web->host->version, "description",
		"Every command of Kettle: a POST of its arguments as a JSON object.", "security", "token", "components",
		"securitySchemes", "token", "type", "http", "scheme", "bearer", "responses", "error", error, "schemas", shared,
		"paths", paths);
}

/* ---- for people ---- */

static void
add_arguments(struct buf *page, const json_t *row)
{
	size_t i;
	const json_t *argument;
	if (json_array_size(json_object_get(row, "args")) == 0)
		return;
	buf_adds(page, "<table><tr><th>argument<th>type<th>meaning\n");
	json_array_foreach(json_object_get(row, "args"), i, argument) {
		buf_adds(page, "<tr><td><code>");
		html_add(page, json_text_or_empty(argument, "name"));
		buf_adds(page, "</code><td>");
		html_add(page, json_text_or_empty(argument, "type"));
		buf_adds(page, member_true(argument, "required") ? ", required<td>" : "<td>");
		html_add(page, json_text_or_empty(argument, "help"));
		buf_adds(page, "\n");
	}
	buf_adds(page, "</table>\n");
}

char *
openapi_page(const struct web *web)
{
	struct buf page = {0};
	AUTO_BUF struct buf content = {0};
	const char *name;
	json_t *row;
	buf_adds(&content,
		"<p>Each command is a POST of its arguments, as a JSON object, to <code>/api/v1/COMMAND</code>. "
		"Those marked GET take them as a query, too. <a href=\"/openapi.json\">The same as OpenAPI.</a></p>\n");
	json_object_foreach(web->commands, name, row) {
		buf_adds(&content, "<h2 id=\"");
		html_add(&content, name);
		buf_adds(&content, "\">");
		html_add(&content, name);
		buf_adds(&content, api_has_get(row) ? " (GET)</h2>\n<p>" : "</h2>\n<p>");
		html_add(&content, json_text_or_empty(row, "help"));
		buf_adds(&content, ". Right: ");
		html_add(&content, json_text_or_empty(row, "right"));
		buf_adds(&content, ".</p>\n");
		add_arguments(&content, row);
	}
	html_add_page(&page, "The API", &content);
	return buf_take(&page);
}

char *
openapi_hints(const struct web *web)
{
	(void)web;
	struct buf text = {0};
	buf_adds(&text,
		"# Kettle\n\n"
		"> Leaderboards for kernels: a submission is built, run, checked, timed and ranked.\n\n"
		"Every command is `POST /api/v1/COMMAND` with a JSON object of its arguments; commands that read also take "
		"GET. "
		"Send `Authorization: Bearer TOKEN` to act as a user; without it public boards can be read. An error is "
		"`{\"error\": {\"code\", \"message\"}}`, and a 429 has Retry-After.\n\n"
		"- [OpenAPI](/openapi.json): all commands, their arguments and answers\n"
		"- [Boards](/api/v1/leaderboard.list): what can be solved, and on which devices\n"
		"- [Events](/api/v1/events?leaderboard=NAME): what happens on a board, as an event stream\n\n"
		"## Example\n\n"
		"    POST /api/v1/submit\n"
		"    {\"leaderboard\": \"vectoradd\", \"mode\": \"test\", \"file\": {\"name\": \"kernel.py\", \"base64\": "
		"\"…\"}}\n\n"
		"answers with the number of the submission, for `submission.show`. Verdicts name who is at fault: "
		"`participant`, `task`, `machine` or `operator`.\n");
	return buf_take(&text);
}
