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

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/number.h"
#include "base/text.h"
#include "web/visit/respond.h"

#define VALUES_MAX 1000 /* of a body */
#define KERNEL_MAX 1024 /* characters */
#define NUMBER_DIGITS 18

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

/* ---- the file of a form ---- */

/* The only part `file` of a form. */
static int
find_file(const struct form *form, const struct form_part **ret_part, struct kettle_error *err)
{
	size_t count = 0;
	for (size_t i = 0; i < form->count; i++)
		count += strcmp(form->parts[i].name, "file") == 0;
	*ret_part = form_part(form, "file");
	if (count != 1 || !(*ret_part)->file_name)
		return kettle_fail(err, KETTLE_EINVAL, "The form must have one part `file`, with a file name.");
	if ((*ret_part)->size > COMPAT_FILE_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "The file has %zu bytes; at most %d are accepted.", (*ret_part)->size,
			COMPAT_FILE_MAX);
	return 0;
}

/* ---- what a profile captures ---- */

/* The parts of a form that say what to capture, and what they are for `submit`. */
static const struct part {
	const char *name, *argument, *rule;
	enum { PART_NUMBER, PART_KERNEL, PART_WORD } kind;
	long long min;
} parts[] = {
	{"benchmark_index", "benchmark", "It must be a whole number of at least 0.", PART_NUMBER, 0},
	{"ncu_launch_count", "launches", "It must be a whole number of at least 1.", PART_NUMBER, 1},
	{"ncu_kernel_name", "kernel", "It must have 1 to 1024 characters.", PART_KERNEL, 0},
	{"ncu_kernel_name_base", "kernel_base", NULL, PART_WORD, 0},
};

static size_t
characters_of(const char *text)
{
	size_t count = 0;
	for (size_t at = 0; text[at]; at += utf8_length(text + at, strlen(text + at)))
		count++;
	return count;
}

/* The value of a part, which is valid UTF-8; NULL: it is wrong. New reference. */
static json_t *
part_value(const struct part *part, const char *text)
{
	long long number = 0;
	if (part->kind == PART_NUMBER)
		return strlen(text) <= NUMBER_DIGITS && number_parse_integer(text, &number) && number >= part->min
				   ? json_integer(number)
				   : NULL;
	size_t count = characters_of(text);
	return part->kind == PART_WORD || (count > 0 && count <= KERNEL_MAX) ? json_string(text) : NULL;
}

/* Adds what a form of /profile asks for to the arguments. *ret_wrong: a field is wrong; else it stays NULL. */
static int
take_capture(const struct form *form, json_t *args, json_t *options, json_t **ret_wrong, struct kettle_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct form_part *found = form_part(form, parts[i].name);
		if (!found)
			continue;
		if (!utf8_valid(found->data, found->size))
			return kettle_fail(err, KETTLE_EINVAL, "The field `%s` is not UTF-8, or has a NUL.", parts[i].name);
		AUTO_FREE char *text = xstrndup(found->data, found->size);
		AUTO_JSON json_t *value = part_value(&parts[i], text);
		if (!value && !*ret_wrong)
			*ret_wrong = json_pack(
				"[{s:[s, s], s:s, s:s}]", "loc", "body", parts[i].name, "msg", parts[i].rule, "type", "value_error");
		json_object_set(args, parts[i].argument, value);
		json_object_set(options, parts[i].name, value);
	}
	return 0;
}

/* ---- a form as arguments of `submit` ---- */

static int
read_form(const struct http_request *request, size_t first, json_t *data, json_t **ret_wrong, struct kettle_error *err)
{
	size_t size = 0;
	struct form form;
	const struct form_part *part = NULL;
	const char *type = http_header_value(request, "Content-Type"), *body = http_body(request, &size);
	const char *mode = http_segment(request, first + 2);
	json_t *options = json_object_get(data, "options");
	int rc = form_parse(type ? type : "", body, size, &form, err);
	if (rc < 0)
		return rc;
	rc = find_file(&form, &part, err);
	AUTO_FREE char *content = rc == 0 ? base64_encode(part->data, part->size) : NULL;
	if (rc == 0) {
		json_t *args = json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "leaderboard", http_segment(request, first), "device",
			http_segment(request, first + 1), "mode", mode ? mode : "profile", "file", "name", part->file_name,
			"base64", content);
		json_object_set_new(data, "args", args);
		if (options)
			rc = take_capture(&form, args, options, ret_wrong, err);
	}
	form_free(&form);
	return rc;
}

/*
 * Adds the file of a form to the visit's data: "args" of `submit`, for the board, device and mode in the segments from
 * `first` on, and for /profile "options", which the form's other parts say; or {"status", "wrong"}, for
 * compat_upload_refused.
 */
static void
compat_upload(const struct http_request *request, size_t first, bool is_profile, json_t *data)
{
	struct kettle_error err = {0};
	json_t *wrong = NULL;
	if (is_profile)
		json_object_set_new(data, "options", json_object());
	int rc = read_form(request, first, data, &wrong, &err);
	unsigned status = rc == KETTLE_EVERSION ? STATUS_UNSUPPORTED_TYPE
					  : rc < 0              ? (unsigned)kettle_error_http(rc)
											: STATUS_UNPROCESSABLE;
	if (rc < 0 || wrong)
		json_object_update_new(
			data, json_pack("{s:i, s:o}", "status", (int)status, "wrong", wrong ? wrong : json_string(err.message)));
}

/* Whether the upload of the visit's data is wrong; then answers with why. Who does not say who he is hears that first. */
static bool
compat_upload_refused(struct visit *visit)
{
	json_t *wrong = json_object_get(visit->data, "wrong");
	if (!wrong)
		return false;
	compat_answer(visit, (unsigned)member_int(visit->data, "status"), json_pack("{s:O}", "detail", wrong));
	return true;
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
