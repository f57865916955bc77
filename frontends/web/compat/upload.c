/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: forms with a file, as arguments of `submit`. */
#include <config.h>

#include "web/compat/compat.h"

#include <stdlib.h>
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

/* The last part of a path, of either kind. */
static const char *
last_part(const char *path)
{
	const char *last = path;
	for (; *path; path++)
		if (*path == '/' || *path == '\\')
			last = path + 1;
	return last;
}

/* ---- what a profile captures ---- */

/* A refusal of a field, in the form of field validation. */
static json_t *
field_error(const char *name, const char *sentence)
{
	return json_pack("[{s:[s, s], s:s, s:s}]", "loc", "body", name, "msg", sentence, "type", "value_error");
}

/* The text of a part; NULL: there is none, or it has a NUL. New string. */
static char *
part_text(const struct form *form, const char *name, bool *ret_has_nul)
{
	const struct form_part *part = form_part(form, name);
	bool has_nul = part && memchr(part->data, '\0', part->size);
	*ret_has_nul = *ret_has_nul || has_nul;
	return part && !has_nul ? xstrndup(part->data, part->size) : NULL;
}

/* Takes a number of at least min; *ret_wrong: it is none. */
static void
take_number(const char *text, const char *name, long long min, const char *argument, json_t *args, json_t *options,
	json_t **ret_wrong)
{
	long long number = 0;
	char sentence[80];
	if (!text || *ret_wrong)
		return;
	if (strlen(text) > NUMBER_DIGITS || !number_parse_integer(text, &number) || number < min) {
		(void)snprintf(sentence, sizeof(sentence), "It must be a whole number of at least %lld.", min);
		*ret_wrong = field_error(name, sentence);
		return;
	}
	json_object_set_new(args, argument, json_integer(number));
	json_object_set_new(options, name, json_integer(number));
}

static void
take_kernel(const char *text, json_t *args, json_t *options, json_t **ret_wrong)
{
	static const char name[] = "ncu_kernel_name";
	size_t characters = 0, at = 0, length = 1;
	if (!text || *ret_wrong)
		return;
	for (; text[at] && length > 0; at += length, characters++)
		length = utf8_length(text + at, strlen(text + at));
	if (characters == 0 || characters > KERNEL_MAX || length == 0) {
		*ret_wrong = field_error(name, "It must have 1 to 1024 characters.");
		return;
	}
	json_object_set_new(args, "kernel", json_string(text));
	json_object_set_new(options, name, json_string(text));
}

/* Adds what a form of /profile asks for to the arguments. *ret_wrong: a field is wrong; else NULL. */
static int
take_capture(const struct form *form, json_t *args, json_t *options, json_t **ret_wrong, struct kettle_error *err)
{
	bool has_nul = false;
	AUTO_FREE char *index = part_text(form, "benchmark_index", &has_nul);
	AUTO_FREE char *launches = part_text(form, "ncu_launch_count", &has_nul);
	AUTO_FREE char *kernel = part_text(form, "ncu_kernel_name", &has_nul);
	AUTO_FREE char *base = part_text(form, "ncu_kernel_name_base", &has_nul);
	if (has_nul)
		return kettle_fail(err, KETTLE_EINVAL, "A field of the form has a NUL.");
	take_number(index, "benchmark_index", 0, "benchmark", args, options, ret_wrong);
	take_number(launches, "ncu_launch_count", 1, "launches", args, options, ret_wrong);
	take_kernel(kernel, args, options, ret_wrong);
	if (base && !utf8_valid(base, strlen(base)))
		return kettle_fail(err, KETTLE_EINVAL, "The field `ncu_kernel_name_base` is not UTF-8.");
	if (base) {
		json_object_set_new(args, "kernel_base", json_string(base));
		json_object_set_new(options, "ncu_kernel_name_base", json_string(base));
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
			http_segment(request, first + 1), "mode", mode ? mode : "profile", "file", "name",
			last_part(part->file_name), "base64", content);
		json_object_set_new(data, "args", args);
		if (options)
			rc = take_capture(&form, args, options, ret_wrong, err);
	}
	form_free(&form);
	return rc;
}

json_t *
compat_upload(const struct http_request *request, size_t first, bool is_profile)
{
	struct kettle_error err = {0};
	json_t *data = is_profile ? json_pack("{s:{}}", "options") : json_object(), *wrong = NULL;
	int rc = read_form(request, first, data, &wrong, &err);
	unsigned status = rc == KETTLE_EVERSION ? STATUS_UNSUPPORTED_TYPE
					  : rc < 0              ? (unsigned)kettle_error_http(rc)
											: STATUS_UNPROCESSABLE;
	if (rc < 0 || wrong)
		json_object_update_new(
			data, json_pack("{s:i, s:o}", "status", (int)status, "wrong", wrong ? wrong : json_string(err.message)));
	return data;
}

bool
compat_upload_refused(struct visit *visit)
{
	json_t *wrong = json_object_get(visit->data, "wrong");
	if (!wrong)
		return false;
	AUTO_JSON json_t *value = json_pack("{s:O}", "detail", wrong);
	compat_answer(visit, (unsigned)member_int(visit->data, "status"), value);
	return true;
}
