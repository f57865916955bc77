/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: forms with a file, as arguments of `submit`. */
#include <config.h>

#include "web/compat/compat.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "web/visit/respond.h"

#define KERNEL_MAX 1024 /* characters */
#define NUMBER_DIGITS 18

/* ---- the file ---- */

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
value_of(const struct part *part, const char *text)
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
		AUTO_JSON json_t *value = value_of(&parts[i], text);
		if (!value && !*ret_wrong)
			*ret_wrong = json_pack(
				"[{s:[s, s], s:s, s:s}]", "loc", "body", parts[i].name, "msg", parts[i].rule, "type", "value_error");
		json_object_set(args, parts[i].argument, value);
		json_object_set(options, parts[i].name, value);
	}
	return 0;
}

/* ---- the form ---- */

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

void
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

bool
compat_upload_refused(struct visit *visit)
{
	json_t *wrong = json_object_get(visit->data, "wrong");
	if (!wrong)
		return false;
	compat_answer(visit, (unsigned)member_int(visit->data, "status"), json_pack("{s:O}", "detail", wrong));
	return true;
}
