/* SPDX-License-Identifier: MIT */
/* A single reference file, the older form of a task: the language makes a task of it. */
#include <config.h>

#include "task/single_file.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "task/folder.h"

/* Whether the language makes its board of such a file by default. */
static bool
claims(const struct language *language, const char *name)
{
	const struct kettle_language *ops = language->ops;
	if (!ops->single_file)
		return false;
	return language_ends_in(name, ops->references ? ops->references : ops->extensions);
}

static int
fail_unclaimed(const struct languages *languages, const char *name, struct kettle_error *err)
{
	for (size_t i = 0; i < languages->count; i++) {
		const struct kettle_language *ops = languages->items[i].ops;
		if (ops->single_file && ops->other_hint && language_ends_in(name, ops->other_references))
			return kettle_fail(err, KETTLE_EINVAL, "`%s` %s", name, ops->other_hint);
	}
	AUTO_FREE char *names = language_names(languages);
	return kettle_fail(err, KETTLE_EINVAL,
		"`%s` is neither a task's folder nor its task.yml, nor a zip, nor a reference file of a language that this "
		"Kettle has: %s.",
		name, names);
}

static int
single_choose(const struct languages *languages, const char *name, const char *lang,
	const struct language **ret_language, struct kettle_error *err)
{
	const struct language *language = lang ? language_find(languages, lang) : NULL;
	for (size_t i = 0; i < languages->count && !lang && !language; i++)
		if (claims(&languages->items[i], name))
			language = &languages->items[i];
	if (!language)
		return lang ? language_fail_unknown(languages, lang, err) : fail_unclaimed(languages, name, err);
	if (!language->ops->single_file)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The language %s has no tasks of a single reference file; make a folder with a task.yml.", language->name);
	*ret_language = language;
	return 0;
}

int
task_single_load(const struct languages *languages, const char *name, const char *text, size_t size, const char *lang,
	json_t **ret_bundle, struct kettle_error *err)
{
	const struct language *language = NULL;
	AUTO_JSON json_t *made = NULL;
	int rc = single_choose(languages, name, lang, &language, err);
	if (rc == 0)
		rc = language->ops->single_file(language->self, name, text, size, &made, err);
	if (rc)
		return rc;
	json_t *task = json_object_get(made, "task"), *files = json_object_get(made, "files"),
		   *templates = json_object_get(made, "templates");
	if (!json_is_object(task) || !json_is_object(files))
		return kettle_fail(err, KETTLE_EINTERNAL, "The language %s made no task of `%s`.", language->name, name);
	/* "softmax.py" makes the task "softmax". */
	const char *dot = strrchr(name, '.');
	AUTO_FREE char *stem = dot && dot > name ? xstrndup(name, (size_t)(dot - name)) : xstrdup(name);
	/* JSON is YAML: what was made is read and checked like what somebody wrote. */
	AUTO_FREE char *yml = json_dumps(task, JSON_INDENT(2));
	*ret_bundle = json_pack("{s:s, s:s, s:O, s:o, s:[]}", "name", task_folder_name(stem), "yml", yml, "files", files,
		"templates", templates ? json_incref(templates) : json_object(), "remarks");
	return 0;
}
