/* SPDX-License-Identifier: MIT */
/* The command that hands out harnesses. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "session/core.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Files read on a thread of the pool. */
struct harness_request {
	const struct language *language;
	json_t *files;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static int
find_harness_language(
	const struct languages *languages, const char *word, const struct language **ret_language, struct kettle_error *err)
{
	const struct language *language = language_find(languages, word);
	AUTO_FREE char *names = language_names(languages);
	if (!language)
		return kettle_fail(
			err, KETTLE_EINVAL, "There is no language `%.64s`; loaded is %s.", word, names ? names : "none");
	if (language->ops->harness_count == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The language `%s` brings no harness.", language->name);
	*ret_language = language;
	return 0;
}

static int
read_harness_file(const char *folder, const struct kettle_harness_file *file, json_t *files, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, file->path), *text = NULL;
	size_t size = 0;
	int code = path ? path_check_inside(file->path, err) : kettle_fail(err, KETTLE_ENOMEM, "There is no memory.");
	if (code == 0)
		code = file_read(path, HARNESS_MAX_FILE, &text, &size, err);
	if (code < 0)
		return code;
	json_t *one = json_pack("{s:s, s:o}", "name", file->name, "text", json_stringn(text, size));
	if (!one || json_array_append_new(files, one) < 0)
		return kettle_fail(err, KETTLE_EIO, "The harness file %s is not UTF-8.", path);
	return 0;
}

static void
read_harness_all(void *arg)
{
	struct harness_request *request = arg;
	const struct kettle_language *ops = request->language->ops;
	AUTO_FREE char *tasks = installed_tasks(), *folder = path_join(tasks, "harness");
	int code = folder ? 0 : kettle_fail(&request->err, KETTLE_ENOMEM, "There is no memory.");
	for (size_t i = 0; i < ops->harness_count && code == 0; i++)
		code = read_harness_file(folder, &ops->harness[i], request->files, &request->err);
}

static void
read_done(void *arg)
{
	struct harness_request *request = arg;
	AUTO_JSON json_t *result = json_pack("{s:s, s:O}", "language", request->language->name, "files", request->files);
	request->answer(request->arg, &request->err, request->err.code < 0 ? NULL : result);
	json_decref(request->files);
	free(request);
}

void
cmd_eval_code(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	const struct language *language = NULL;
	(void)actor;
	if (find_harness_language(&core->languages, json_string_value(json_object_get(args, "language")), &language, &err) <
		0) {
		answer(arg, &err, NULL);
		return;
	}
	struct harness_request *request = calloc(1, sizeof(*request));
	if (request)
		*request = (struct harness_request){.language = language, .files = json_array(), .answer = answer, .arg = arg};
	if (!request)
		(void)kettle_fail(&err, KETTLE_ENOMEM, "There is not enough memory to read a harness.");
	else if (loop_work(core->setup.io, read_harness_all, read_done, request, &err) == 0)
		return;
	answer(arg, &err, NULL);
	if (request)
		json_decref(request->files);
	free(request);
}
