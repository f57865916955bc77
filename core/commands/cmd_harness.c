/* SPDX-License-Identifier: MIT */
/* The command that shows the harness of a language. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/text.h"
#include "commands/pool_call.h"
#include "session/core.h"

#include <string.h>

static int
find_harness_language(
	const struct languages *languages, const char *word, const struct language **ret_language, struct kettle_error *err)
{
	const struct language *language = language_find(languages, word);
	AUTO_FREE char *names = language_names(languages);
	if (!language)
		return kettle_fail(
			err, KETTLE_EINVAL, "There is no language `%.64s`; loaded languages: %s.", word, names ? names : "none");
	if (language->ops->harness_count == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The language `%s` has no harness.", language->name);
	*ret_language = language;
	return 0;
}

static int
read_harness_file(const char *folder, const struct kettle_harness_file *file, json_t *files, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, file->path), *text = NULL;
	size_t size = 0;
	int rc = path_check_inside(file->path, err);
	if (rc == 0)
		rc = file_read(path, HARNESS_MAX_FILE, &text, &size, err);
	if (rc < 0)
		return rc;
	json_t *one = json_pack("{s:s, s:o}", "name", file->name, "text", json_stringn(text, size));
	if (!one || json_array_append_new(files, one) < 0)
		return kettle_fail(err, KETTLE_EIO, "The harness file %s is not UTF-8.", path);
	return 0;
}

static int
read_harness(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const struct language *language = NULL;
	AUTO_FREE char *tasks = installed_tasks(), *folder = path_join(tasks, "harness");
	AUTO_JSON json_t *files = json_array();
	int rc = find_harness_language(call->languages, json_text_or_null(call->args, "language"), &language, err);
	for (size_t i = 0; rc == 0 && i < language->ops->harness_count; i++)
		rc = read_harness_file(folder, &language->ops->harness[i], files, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O}", "language", language->name, "files", files);
	return rc;
}

void
cmd_harness_show(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, read_harness, pool_call_answer, answer, arg);
}
