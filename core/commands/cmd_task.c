/* SPDX-License-Identifier: MIT */
/* Commands on tasks without a database: read, check, pack, new. Files are read on a thread of the pool. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/text.h"
#include "commands/pool_call.h"
#include "commands/task_choice.h"
#include "commands/task_try.h"
#include "judge/judging.h"
#include "session/core.h"
#include "task/competition.h"
#include "task/folder.h"
#include "task/task_form.h"
#include "task/pack.h"
#include "task/task.h"

#include <sys/stat.h>

#define SENT_NAME_MAX 200 /* characters */

/* ---- reading ---- */

/* The task of the present path, else the file that was sent. */
static struct task_source
source_of(const struct pool_call *call)
{
	return (struct task_source){.path = json_text_or_null(call->args, "path"),
		.name = call->task.name,
		.data = call->task.data,
		.size = call->task.size};
}

static int
read_task(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const struct task_source source = source_of(call);
	return task_source_read(call->languages, &source, json_text_or_null(call->args, "lang"), ret_result, err);
}

static void
answer_task(struct pool_call *call)
{
	if (call->err.code == 0 && json_array_size(call->task.languages) > 1)
		(void)json_object_set(call->result, "languages", call->task.languages);
	pool_call_answer(call);
}

/* Takes the language that runs the file on a device at hand; of several the caller chooses, of none the default stays. */
static void
language_chosen(void *arg, const json_t *languages)
{
	struct pool_call *call = arg;
	const struct task_source source = source_of(call);
	call->task.languages = json_copy((json_t *)languages);
	if (json_array_size(languages) > 1 && member_true(call->args, "choose"))
		(void)json_object_set(call->args, "lang", json_array_get(languages, 0));
	else
		(void)task_choice_take(languages, source.path ? source.path : source.name, call->args, &call->err);
	if (call->err.code < 0)
		pool_call_answer(call);
	else
		pool_call_run(call, call->work, answer_task);
}

/* Decides the language of a single reference file, then does the work with it as `lang`. */
static void
choose_language(struct pool_call *call, pool_work *work)
{
	const struct task_source source = source_of(call);
	call->work = work;
	task_choose(call->core, &source, json_text_or_null(call->args, "lang"), json_object_get(call->args, "device"),
		language_chosen, call);
}

void
cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	choose_language(pool_call_new(core, actor, args, answer, arg), read_task);
}

/* A name from another machine may have either slash. Errors contain the name. */
static char *
sent_name(const char *name)
{
	const char *base = name + strlen(name);
	while (base > name && base[-1] != '/' && base[-1] != '\\')
		base--;
	return sanitize_line(base, SENT_NAME_MAX);
}

static int
unpack_sent(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const json_t *file = json_object_get(call->args, "file"), *base64 = json_object_get(file, "base64");
	size_t packed = json_string_length(base64);
	(void)ret_result;
	call->task.name = sent_name(json_text_or_null(file, "name"));
	if (!*call->task.name)
		return kettle_fail(
			err, KETTLE_EINVAL, "The file has no name; the extension of the name tells a zip from a reference file.");
	/* Four characters are three bytes: a file over the limit is not decoded. */
	if (packed / 4 * 3 > TASK_ARCHIVE_MAX_PACKED + 2)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "`%s` exceeds the limit of %u MiB.", call->task.name, TASK_ARCHIVE_MAX_PACKED >> 20);
	if (base64_decode(json_string_value(base64), packed, &call->task.data, &call->task.size) < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The contents of the file are not base64.");
	return 0;
}

static void
task_unpacked(struct pool_call *call)
{
	if (call->err.code < 0)
		pool_call_answer(call);
	else
		choose_language(call, read_task);
}

void
cmd_task_unpack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, unpack_sent, task_unpacked, answer, arg);
}

static int
read_problems(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	json_t *sets = NULL;
	int rc = competition_read_all(
		call->languages, json_text_or_null(call->args, "path"), json_text_or_null(call->args, "set"), &sets, err);
	if (rc)
		return rc;
	*ret_result = json_pack("{s:o}", "sets", sets);
	return 0;
}

void
cmd_competition_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, read_problems, pool_call_answer, answer, arg);
}

/* ---- checking ---- */

/* The result for one task. New reference. */
static json_t *
on_checked(const struct pool_call *call, const char *path, const json_t *bundle, const char *error)
{
	const json_t *task = json_object_get(bundle, "task");
	bool refused = json_array_size(json_object_get(bundle, "remarks")) > 0 && member_true(call->args, "strict");
	if (!bundle)
		return json_pack("{s:s, s:b, s:s?}", "path", path, "ok", 0, "error", error);
	const char *harness = json_text_or_null(task, "harness");
	return json_pack("{s:s, s:b, s:s?, s:O, s:O*, s:s, s:o, s:I, s:I, s:I, s:O*}", "path", path, "ok", !refused,
		"error", refused ? "With `--strict`, remarks are errors." : NULL, "name", json_object_get(bundle, "name"),
		"lang", json_object_get(task, "lang"), "harness", harness ? harness : "task", "judging",
		judging_shown(json_object_get(bundle, "judging")), "tests",
		(json_int_t)json_array_size(json_object_get(task, "tests")), "benchmarks",
		(json_int_t)json_array_size(json_object_get(task, "benchmarks")), "files",
		(json_int_t)json_object_size(json_object_get(bundle, "files")), "remarks", json_object_get(bundle, "remarks"));
}

/* Adds a result, and its bundle (or NULL) to those that are tried. */
static void
add_result(struct pool_call *call, json_t *result_take, json_t *bundle)
{
	if (bundle)
		(void)json_array_append_new(call->task.bundles, json_pack("[O, O]", result_take, bundle));
	(void)json_array_append_new(json_object_get(call->result, "tasks"), result_take);
}

static void
check_task(struct pool_call *call, const char *path)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *bundle = NULL;
	const char *lang = json_string_value(json_array_get(call->task.languages, 0));
	(void)task_read_harness(call->languages, path, lang ? lang : json_text_or_null(call->args, "lang"),
		json_text_or_null(call->args, "harness"), &bundle, &err);
	add_result(call, on_checked(call, path, bundle, err.message), bundle);
}

/* The file first, then every problem of it as a task of its own. */
static void
check_competition(struct pool_call *call, const char *path)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *sets = NULL;
	if (competition_read_all(call->languages, path, NULL, &sets, &err) < 0) {
		add_result(call, on_checked(call, path, NULL, err.message), NULL);
		return;
	}
	json_array_each(sets, set) {
		const json_t *problems = json_object_get(set, "problems");
		if (json_object_get(set, "error")) {
			add_result(call, on_checked(call, path, NULL, json_text_or_null(set, "error")), NULL);
			continue;
		}
		add_result(call,
			json_pack("{s:s, s:b, s:n, s:O, s:O, s:O, s:I}", "path", path, "ok", 1, "error", "competition",
				json_object_get(set, "name"), "file", json_object_get(set, "file"), "deadline",
				json_object_get(set, "deadline"), "problems", (json_int_t)json_array_size(problems)),
			NULL);
		json_array_each(problems, problem) {
			json_t *read = json_object_get(problem, "bundle");
			AUTO_JSON json_t *bundle = NULL;
			struct kettle_error why = {0};
			if (json_is_object(read))
				(void)task_add_harness(call->languages, read, json_text_or_null(call->args, "harness"), &bundle, &why);
			json_t *one = on_checked(call, json_text_or_null(problem, "directory"), bundle,
				json_is_object(read) ? why.message : json_text_or_null(problem, "error"));
			(void)json_object_set(one, "problem", json_object_get(problem, "name"));
			add_result(call, one, bundle);
		}
	}
}

static const char *
path_at_hand(const struct pool_call *call)
{
	return json_string_value(json_array_get(json_object_get(call->args, "path"), call->task.index));
}

static int
check_path(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_TASK_FORM struct task_form form = {0};
	const char *path = path_at_hand(call);
	(void)ret_result;
	(void)err;
	(void)task_form_open(path, &form, NULL);
	if (form.kind == TASK_FORM_COMPETITION)
		check_competition(call, path);
	else
		check_task(call, path);
	call->task.index++;
	return 0;
}

static void try_next(struct pool_call *call);
static void check_next(struct pool_call *call);

static void
path_chosen(void *arg, const json_t *languages)
{
	struct pool_call *call = arg;
	struct kettle_error err = {0};
	AUTO_JSON json_t *chosen = json_object();
	json_decref(call->task.languages);
	call->task.languages = json_copy((json_t *)languages);
	if (task_choice_take(languages, path_at_hand(call), chosen, &err) == 0) {
		pool_call_run(call, check_path, check_next);
		return;
	}
	add_result(call, on_checked(call, path_at_hand(call), NULL, err.message), NULL);
	call->task.index++;
	check_next(call);
}

/* Reads the next path; after the last one tries the tasks. */
static void
check_next(struct pool_call *call)
{
	const struct task_source source = {.path = path_at_hand(call)};
	bool ok = true;
	if (source.path && call->err.code == 0) {
		task_choose(call->core, &source, json_text_or_null(call->args, "lang"), NULL, path_chosen, call);
		return;
	}
	json_array_each(json_object_get(call->result, "tasks"), one)
		ok = ok && member_true(one, "ok");
	(void)json_object_set_new(call->result, "ok", json_boolean(ok));
	try_next(call);
}

/* A fault of the task is an error of its entry, and so is something that a device lacks. */
static void
task_was_tried(void *arg, const struct kettle_error *err, json_t *tried)
{
	struct pool_call *call = arg;
	json_t *entry = json_array_get(json_array_get(call->task.bundles, 0), 0);
	const json_t *fault = list_find(tried, "blame", "task");
	if (tried)
		(void)json_object_set(entry, "tried", tried);
	if (err->code < 0 || fault) {
		(void)json_object_set_new(entry, "ok", json_false());
		(void)json_object_set_new(
			entry, "error", json_string(err->code < 0 ? err->message : json_text_or_empty(fault, "error")));
		(void)json_object_set_new(call->result, "ok", json_false());
	}
	(void)json_array_remove(call->task.bundles, 0);
	try_next(call);
}

static void
try_next(struct pool_call *call)
{
	const json_t *bundle = json_array_get(json_array_get(call->task.bundles, 0), 1);
	if (call->err.code < 0 || !bundle)
		pool_call_answer(call);
	else
		task_try(call->core, &call->waiter, bundle, NULL, !member_true(call->args, "no_try"), task_was_tried, call);
}

void
cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct pool_call *call = pool_call_new(core, actor, args, answer, arg);
	call->result = json_pack("{s:[]}", "tasks");
	call->task.bundles = json_array();
	check_next(call);
}

/* ---- packing, and beginning with a copy ---- */

static int
pack_task(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *pack = NULL, *names = json_array();
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = task_pack(call->languages, json_text_or_null(call->args, "path"), json_text_or_null(call->args, "lang"),
		member_true(call->args, "solutions"), &pack, err);
	if (rc == 0)
		rc = task_pack_zip(pack, &data, &size, err);
	if (rc)
		return rc;
	json_object_each(json_object_get(pack, "files"), name, contents)
		(void)json_array_append_new(names, json_string(name));
	AUTO_FREE char *base64 = base64_encode(data, size);
	*ret_result = json_pack("{s:O, s:O, s:O, s:I, s:s?}", "name", json_object_get(pack, "name"), "hash",
		json_object_get(pack, "hash"), "files", names, "size", (json_int_t)size, "base64", base64);
	return 0;
}

void
cmd_task_pack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	choose_language(pool_call_new(core, actor, args, answer, arg), pack_task);
}

/* The only file of a folder, which is then the task. New string; NULL: there is none, or there are more. */
static char *
only_file(const char *folder)
{
	AUTO_DIR DIR *dir = opendir(folder);
	AUTO_FREE char *only = NULL;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		AUTO_FREE char *path = path_join(folder, entry->d_name);
		struct stat st;
		if (entry->d_name[0] == '.' || !path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (only)
			return NULL;
		only = xstrdup(entry->d_name);
	}
	return STEAL(only);
}

/* The shipped tasks by name: folders with a task.yml, or with a single reference file, whose name is the value. New object. */
static json_t *
shipped_names(const char *dir)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, NULL, alphasort);
	json_t *names = json_object();
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		AUTO_FREE char *folder = path_join(dir, name);
		AUTO_FREE char *yml = path_join(folder, "task.yml");
		AUTO_FREE char *only = NULL;
		if (name[0] != '.' && access(yml, R_OK) == 0)
			(void)json_object_set_new(names, name, json_true());
		else if (name[0] != '.' && (only = only_file(folder)))
			(void)json_object_set_new(names, name, json_string(only));
		free(entries[i]);
	}
	free(entries);
	return names;
}

static int
fail_shipped(const char *dir, const char *from, const json_t *names, struct kettle_error *err)
{
	AUTO_BUF struct buf list = {0};
	const char *near = nearest_key(from, names);
	json_object_each(names, name, unused)
		buf_printf(&list, "%s%s", list.len ? ", " : "", name);
	if (!list.len)
		return kettle_fail(err, KETTLE_ENOENT,
			"There is no shipped task `%.64s`: the folder %s contains no tasks (KETTLE_TASKS sets another folder).",
			from, dir);
	return kettle_fail(err, KETTLE_ENOENT, "There is no shipped task `%.64s`%s%s%s; the shipped tasks are %s.", from,
		near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "", list.data);
}

static int
copy_shipped(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *from = json_text_or_null(call->args, "from");
	AUTO_FREE char *dir = installed_tasks();
	AUTO_JSON json_t *names = shipped_names(dir);
	if (!json_object_get(names, from))
		return fail_shipped(dir, from, names, err);
	const char *reference = json_text_or_null(names, from);
	bool solutions = member_true(call->args, "solutions");
	AUTO_FREE char *path = path_join(dir, from);
	AUTO_FREE char *file = reference ? path_join(path, reference) : NULL;
	return file ? task_pack_reference(call->languages, file, solutions, ret_result, err)
				: task_pack(call->languages, path, NULL, solutions, ret_result, err);
}

void
cmd_task_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, copy_shipped, pool_call_answer, answer, arg);
}

/* The entry of a shipped task, or the reason why it cannot be read, such as a language that is not loaded. New reference. */
static json_t *
describe_shipped(const struct languages *languages, const char *dir, const char *name, const json_t *reference)
{
	AUTO_FREE char *folder = path_join(dir, name);
	AUTO_FREE char *path =
		json_is_string(reference) ? path_join(folder, json_string_value(reference)) : xstrdup(folder);
	AUTO_JSON json_t *bundle = NULL;
	struct kettle_error why = {0};
	int rc = task_read(languages, path, &bundle, &why);
	const json_t *task = json_object_get(bundle, "task");
	return json_pack("{s:s, s:s?, s:s, s:s*}", "name", name, "language", json_text_or_null(task, "lang"), "description",
		json_text_or_empty(task, "description"), "error", rc < 0 ? why.message : NULL);
}

static int
list_shipped(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_FREE char *dir = installed_tasks();
	AUTO_JSON json_t *names = shipped_names(dir);
	json_t *list = json_array();
	(void)err;
	json_object_each(names, name, reference)
		(void)json_array_append_new(list, describe_shipped(call->languages, dir, name, reference));
	*ret_result = json_pack("{s:s, s:o}", "folder", dir, "tasks", list);
	return 0;
}

void
cmd_task_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, list_shipped, pool_call_answer, answer, arg);
}

/* ---- the harness of a language ---- */

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
