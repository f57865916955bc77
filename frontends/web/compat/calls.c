/* SPDX-License-Identifier: MIT */
/*
 * KernelBot's HTTP API: calls that commands answer.
 *
 * Theory of operation. A call is a row: its route, who may make it, the command that it stands for, where the command's
 * arguments come from, and what the answer consists of. The visit's data are {"query", "body", "args"}. Calls that need
 * more than one command, or an answer of another form, go on with a function.
 */
#include <config.h>

#include "web/compat/compat.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "web/visit/respond.h"

#define VALUES_MAX 1000 /* of a body */

/* ---- fields of arguments and answers ---- */

json_t *
compat_user(const char *text)
{
	long long number = 0;
	return number_parse_integer(text, &number) ? json_pack("{s:I}", "number", (json_int_t)number) : json_string(text);
}

static int
number_of(const char *name, const char *text, long long min, json_t **ret_value, struct kettle_error *err)
{
	long long number = 0;
	if (!number_parse_integer(text, &number) || number < min)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` must be a whole number of at least %lld.", name, min);
	*ret_value = json_integer(number);
	return 0;
}

/* The text of a field that is one; NULL: it is absent. */
static const char *
text_of(const struct compat_field *field, const struct visit *visit)
{
	const char *text = NULL;
	if (field->from == FROM_PATH || field->from == FROM_ID || field->from == FROM_USER)
		text = http_segment(visit->request, strtoul(field->key, NULL, 10));
	else if (field->from == FROM_QUERY || field->from == FROM_NUMBER || field->from == FROM_FLAG)
		text = json_text_or_null(json_object_get(visit->data, "query"), field->key);
	else if (field->option)
		text = json_text_or_null(visit->web->options, field->option);
	return text ? text : field->fallback;
}

/* The value of a field that is one as it is; NULL: it is absent. */
static json_t *
found_value(const struct compat_field *field, const struct visit *visit, const json_t *result)
{
	const json_t *body = json_object_get(visit->data, "body");
	json_t *value = json_object_get(field->from == FROM_BODY ? body : result, field->key);
	bool is_found = (field->from == FROM_BODY && !json_is_null(value)) || field->from == FROM_RESULT;
	return is_found ? value : NULL;
}

static int
flag_of(const char *name, const char *text, json_t **ret_value, struct kettle_error *err)
{
	bool is_true = strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0;
	if (!is_true && strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` must be true or false.", name);
	*ret_value = json_boolean(is_true);
	return 0;
}

/* *ret_value stays NULL where the field is absent. New reference. */
static int
value_of(const struct compat_field *field, const struct visit *visit, const json_t *result, json_t **ret_value,
	struct kettle_error *err)
{
	const char *text = text_of(field, visit);
	json_t *found = found_value(field, visit, result);
	if (field->from == FROM_TRUE || field->from == FROM_FALSE)
		*ret_value = json_boolean(field->from == FROM_TRUE);
	else if (field->from == FROM_FLAG)
		return flag_of(field->key, text ? text : "false", ret_value, err);
	else if (found)
		*ret_value = json_incref(found);
	else if (text && (field->from == FROM_ID || field->from == FROM_NUMBER))
		return number_of(field->to, text, field->from == FROM_ID, ret_value, err);
	else if (text)
		*ret_value = field->from == FROM_USER ? compat_user(text) : json_string(text);
	else if (field->is_needed)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` is missing.", field->key);
	return 0;
}

static int
put_fields(const struct compat_field *fields, const struct visit *visit, const json_t *result, json_t *object,
	struct kettle_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < COMPAT_FIELDS && fields[i].to && rc == 0; i++) {
		json_t *value = NULL;
		rc = value_of(&fields[i], visit, result, &value, err);
		if (value)
			json_object_set_new(object, fields[i].to, value);
	}
	return rc;
}

/* ---- requests ---- */

/* The body, with PUT and POST; NULL: it is no object. */
static json_t *
read_body(const struct http_request *request)
{
	size_t size = 0;
	const char *body = http_body(request, &size);
	bool has_body = http_method(request) == HTTP_POST || http_method(request) == HTTP_PUT;
	return has_body && size > 0 ? bounded_json_parse(body, size, VALUES_MAX, 0, NULL) : json_object();
}

void
compat_answer_row(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *value = json_pack("{s:s}", "status", "ok");
	struct kettle_error err = {0};
	const struct compat_call *call = visit->about;
	if (put_fields(call->answer, visit, result, value, &err) < 0)
		visit_fail(visit, &err);
	else
		compat_answer(visit, STATUS_OK, STEAL(value));
}

static void
begin(struct visit *visit, json_t *result)
{
	const struct compat_call *call = visit->about;
	struct kettle_error err = {0};
	json_t *args = json_object_get(visit->data, "args");
	if (call->fail)
		visit->fail = call->fail;
	if (call->who == COMPAT_ADMIN) {
		/* The actor is the frontend, which is known: a refusal is 403, not 401. */
		json_decref(visit->actor);
		visit->actor = json_incref(visit->web->self);
	}
	if (call->upload && compat_upload_refused(visit))
		return;
	if (put_fields(call->args, visit, NULL, args, &err) < 0)
		visit_fail(visit, &err);
	else if (call->command)
		compat_command(visit, call->command, json_incref(args), call->then ? call->then : compat_answer_row);
	else
		call->then(visit, result);
}

void
compat_request_call(struct web *web, struct http_request *request, const struct compat_call *call)
{
	struct kettle_error err = {0};
	bool as_admin = call->who == COMPAT_ADMIN || call->who == COMPAT_ADMIN_FOR_USER;
	bool as_user = call->who == COMPAT_USER || call->who == COMPAT_ADMIN_FOR_USER;
	const char *token = as_user || call->who == COMPAT_ANYBODY ? compat_credential(request) : NULL;
	if (as_admin && !compat_is_admin(web, request))
		return;
	if (as_user && !token) {
		compat_refuse(request, STATUS_UNAUTHORIZED,
			"This call needs the header X-Popcorn-Cli-Id: register first, or send a token of `kettle token create`.");
		return;
	}
	if (call->refusal.status) {
		compat_refuse(request, call->refusal.status, call->refusal.sentence);
		return;
	}
	AUTO_JSON json_t *body = call->upload ? json_object() : read_body(request), *query = visit_query(request, &err);
	if (!body)
		(void)kettle_fail(&err, KETTLE_EINVAL, "The body must be a JSON object.");
	if (err.code) {
		compat_refuse(request, STATUS_BAD_REQUEST, err.message);
		return;
	}
	json_t *data = json_pack("{s:O, s:O, s:{}}", "query", query, "body", body, "args");
	if (call->upload)
		compat_upload(request, call->upload - 1, call->is_profile, data);
	visit_begin(web, request, token, call->limit_ms ? call->limit_ms : COMPAT_LIMIT_MS, begin, compat_fail, data, call);
}
