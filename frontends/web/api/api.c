/* SPDX-License-Identifier: MIT */
/*
 * Calls of commands: a visit (visit.h) of one command, whose data is {"name", "args", "board", "key", "changes"}: for an
 * answer that is kept (pages.h), the board that it is about, its key, and how often the board had changed.
 */
#include <config.h>

#include "web/api/api.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/number.h"
#include "http/form.h"
#include "web/visit/caller.h"
#include "web/api/pages.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

#define SUBMIT "submit"
#define JSON_TYPE "application/json"
#define WHOLE_MAX 9007199254740992.0 /* up to which every whole number is one of JSON */

/* ---- what may be called how ---- */

/* Whether a member is one of these texts, the last of which is NULL. */
static bool
is_among(const json_t *object, const char *key, const char *const *texts)
{
	while (*texts && !member_is(object, key, *texts))
		texts++;
	return *texts;
}

bool
api_has_get(const json_t *row)
{
	static const char *const whole[] = {"file", "task", "problems", "path", NULL};
	if (!member_is(row, "kind", "read"))
		return false;
	json_array_each(json_object_get(row, "args"), argument)
		if (is_among(argument, "type", whole))
			return false;
	return true;
}

bool
api_is_open(const json_t *row)
{
	static const char *const own[] = {"submission.list", "token.list", "user.export", "user.show", NULL};
	/* An engine command for anybody only reads. */
	bool reads =
		member_is(row, "kind", "read") || (member_is(row, "kind", "engine") && member_is(row, "right", "anybody"));
	return reads && !is_among(row, "name", own);
}

/* ---- arguments ---- */

json_t *
api_value(const json_t *argument, const char *text)
{
	long long number = 0;
	bool is_number = member_is(argument, "type", "int") || member_is(argument, "type", "id");
	if (is_number && number_parse_integer(text, &number))
		return json_integer(number);
	if (member_is(argument, "type", "bool") && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
		return json_boolean(*text == 't');
	return json_string(text);
}

static int
read_query(const json_t *row, const char *text, json_t **ret_args, struct kettle_error *err)
{
	struct query query;
	AUTO_JSON json_t *args = json_object();
	int rc = query_parse(text, &query, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < query.count && rc == 0; i++) {
		const char *name = query.parameters[i].name;
		const json_t *argument = list_find(json_object_get(row, "args"), "name", name);
		json_t *value = api_value(argument, query.parameters[i].value), *list = json_object_get(args, name);
		if (member_true(argument, "repeated") && !list)
			json_object_set_new(args, name, json_pack("[o]", value));
		else if (member_true(argument, "repeated"))
			json_array_append_new(list, value);
		else if (!list)
			json_object_set_new(args, name, value);
		else
			rc = kettle_blame(err, KETTLE_CAUSE_NONE, name,
				kettle_fail(err, KETTLE_EINVAL, "The parameter `%.60s` is given twice.", name));
		if (rc < 0)
			json_decref(value);
	}
	query_free(&query);
	if (rc == 0)
		*ret_args = STEAL(args);
	return rc;
}

/* The whole number that a client writes as 28.0; NULL: it is another value. New reference. */
static json_t *
whole_number(const json_t *value)
{
	double number = json_real_value(value);
	bool is_whole = json_is_real(value) && fabs(number) < WHOLE_MAX && number == floor(number);
	return is_whole ? json_integer((json_int_t)number) : NULL;
}

static void
take_whole_numbers(const json_t *row, json_t *args)
{
	size_t k;
	const json_t *item;
	json_array_each(json_object_get(row, "args"), argument) {
		const char *name = json_text_or_empty(argument, "name");
		json_t *value = json_object_get(args, name);
		if (!member_is(argument, "type", "int") && !member_is(argument, "type", "id"))
			continue;
		json_array_foreach(value, k, item)
			(void)json_array_set_new(value, k, whole_number(item));
		(void)json_object_set_new(args, name, whole_number(value));
	}
}

static int
read_body(const struct http_request *request, const json_t *row, json_t **ret_args, struct kettle_error *err)
{
	size_t size = 0;
	struct kettle_error why = {0};
	const char *body = http_body(request, &size);
	if (size == 0) {
		*ret_args = json_object();
		return 0;
	}
	*ret_args = bounded_json_parse(body, size, API_VALUES_MAX, JSON_REJECT_DUPLICATES, &why);
	if (!*ret_args)
		return kettle_fail(err, why.code, "The body must be a JSON object of the arguments: %s.", why.message);
	take_whole_numbers(row, *ret_args);
	return 0;
}

/* The header Idempotency-Key is the argument `request` of `submit`. */
static int
take_key(const struct http_request *request, const json_t *row, json_t *args, struct kettle_error *err)
{
	const char *key = http_header_value(request, "Idempotency-Key");
	if (!key || !member_is(row, "name", SUBMIT))
		return 0;
	json_t *value = json_string(key);
	if (!value || json_object_get(args, "request")) {
		json_decref(value);
		return kettle_fail(
			err, KETTLE_EINVAL, "Idempotency-Key is the argument `request`: give one of the two, in UTF-8.");
	}
	json_object_set_new(args, "request", value);
	return 0;
}

/* ---- the answer ---- */

static void
answer(struct visit *visit, json_t *result)
{
	const char *key = json_text_or_null(visit->data, "key");
	if (visit->stream) {
		visit_send_last(visit, visit_chunk("answer", result));
	} else if (key && visit->actor == visit->web->anonymous) {
		AUTO_FREE char *text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
		const struct page_body body = {JSON_TYPE, text, strlen(text), PAGES_KEEP_MS};
		pages_keep(visit->web->pages, key, json_text_or_null(visit->data, "board"),
			(uint64_t)member_int(visit->data, "changes"), &body, visit->request);
	} else if (key) {
		pages_answer_user(visit->web->pages, key, result, visit->request);
	} else {
		respond_json(visit->request, STATUS_OK, result);
	}
	visit_end(visit);
}

static void
on_progress(void *arg, const json_t *event)
{
	if (member_is(event, "kind", "progress"))
		visit_send(arg, "progress", event);
}

static bool
wants_stream(const struct http_request *request)
{
	const char *accept = http_header_value(request, "Accept");
	return accept && strcasecmp(accept, "text/event-stream") == 0;
}

static void
start(struct visit *visit, json_t *result)
{
	struct kettle_error err = {0};
	const char *name = json_text_or_empty(visit->data, "name");
	(void)result;
	if (visit->actor == visit->web->anonymous && !api_is_open(json_object_get(visit->web->commands, name)))
		(void)kettle_fail(&err, KETTLE_EACCES,
			"`%s` needs a credential: send `Authorization: Bearer TOKEN`, with a token of `kettle token create`.",
			name);
	if (err.code == 0 && wants_stream(visit->request)) {
		AUTO_JSON json_t *filter = json_pack("{s:b}", "task_run", 1);
		(void)visit_follow(visit, filter, -1, on_progress, &err);
	}
	if (err.code)
		visit_fail(visit, &err);
	else
		visit_call(visit, name, json_incref(json_object_get(visit->data, "args")), answer);
}

/* ---- the request ---- */

/* Whether answers of a command are kept. */
static bool
is_kept(const json_t *row, const json_t *args)
{
	static const char *const kept[] = {
		"leaderboard.list", "leaderboard.show", "leaderboard.task", "competition.list", "competition.show", NULL};
	return !json_object_get(args, "mine") && !json_object_get(args, "practice") && is_among(row, "name", kept);
}

/* Answers a request without a credential by what is kept, or else adds to data what keeping the answer needs. */
static bool
answer_kept(struct web *web, struct http_request *request, const json_t *row, json_t *data, bool is_anonymous)
{
	const json_t *args = json_object_get(data, "args");
	bool of_board = strncmp(json_text_or_empty(row, "name"), "leaderboard.", strlen("leaderboard.")) == 0;
	const char *board = of_board ? json_text_or_null(args, "name") : NULL;
	AUTO_FREE char *text = json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS);
	AUTO_FREE char *key = xasprintf("%s %s", json_text_or_empty(row, "name"), text);
	if (is_anonymous && pages_answer(web->pages, key, request))
		return true;
	json_object_set_new(data, "key", json_string(key));
	json_object_set_new(data, "changes", json_integer((json_int_t)pages_changes(web->pages, board)));
	if (board)
		json_object_set_new(data, "board", json_string(board));
	return false;
}

static bool
is_json(const struct http_request *request)
{
	const char *type = http_header_value(request, "Content-Type");
	size_t size = 0, len = type ? strcspn(type, "; ") : 0;
	(void)http_body(request, &size);
	return size == 0 || (len == strlen(JSON_TYPE) && strncasecmp(type, JSON_TYPE, len) == 0);
}

static void
call_command(struct web *web, struct http_request *request, const json_t *row, json_t *args_take)
{
	const char *token = callers_token(web, request);
	json_t *data = json_pack("{s:O, s:o}", "name", json_object_get(row, "name"), "args", args_take);
	if (!wants_stream(request) && is_kept(row, args_take) && answer_kept(web, request, row, data, !token))
		json_decref(data);
	else
		visit_begin(web, request, token, 0, start, visit_respond_error, data, NULL);
}

void
api_request(struct web *web, struct http_request *request, const char *name)
{
	struct kettle_error err = {0};
	const json_t *row = json_object_get(web->commands, name);
	json_t *args = NULL;
	bool gets = http_reads(request) && row && api_has_get(row);
	if (!row)
		respond_refusal(request, STATUS_NOT_FOUND, kettle_error_name(KETTLE_ENOENT),
			"There is no such command: /openapi.json lists them.");
	else if (!gets && http_method(request) != HTTP_POST)
		respond_not_allowed(request, api_has_get(row) ? "GET, HEAD, POST" : "POST");
	else if (!gets && !is_json(request))
		respond_refusal(request, STATUS_UNSUPPORTED_TYPE, kettle_error_name(KETTLE_EINVAL),
			"The body must be a JSON object, with Content-Type: application/json.");
	else if ((gets ? read_query(row, http_query(request), &args, &err) : read_body(request, row, &args, &err)) < 0 ||
			 take_key(request, row, args, &err) < 0)
		respond_error(request, web->host, &err);
	else
		call_command(web, request, row, STEAL(args));
	json_decref(args);
}

/* ---- files that plugins publish ---- */

void
links_send(struct visit *visit, const json_t *file, const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	struct stat about;
	const char *path = json_text_or_empty(file, "path"), *slash = name ? strrchr(name, '/') : NULL;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	(void)unlink(path);
	if (fd < 0 || fstat(fd, &about) != 0) {
		visit_refuse(visit, KETTLE_EIO, "The file cannot be read.");
		return;
	}
	AUTO_FREE char *plain = xstrdup(slash ? slash + 1 : name ? name : "");
	for (char *at = plain; *at; at++)
		*at = strchr(letters, *at) ? *at : '_';
	AUTO_FREE char *disposition = xasprintf("attachment; filename=\"%s\"", plain);
	const struct http_header headers[] = {
		respond_uncached[0], respond_uncached[1], {name ? "Content-Disposition" : NULL, disposition}, {NULL, NULL}};
	http_answer(visit->request, STATUS_OK,
		http_content_file("application/octet-stream", STEAL_FD(fd), (uint64_t)about.st_size, headers));
	visit_end(visit);
}

static void
on_taken(struct visit *visit, json_t *result)
{
	links_send(visit, result, NULL);
}

static void
take(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(
		visit, "link.take", json_pack("{s:O}", "token", json_object_get(visit->data, "token")), on_taken);
}

void
links_request(struct web *web, struct http_request *request, const char *token)
{
	if (http_method(request) != HTTP_GET)
		respond_not_allowed(request, "GET");
	else
		visit_begin(web, request, NULL, 0, take, visit_respond_error, json_pack("{s:s}", "token", token), NULL);
}
