/* SPDX-License-Identifier: MIT */
/* Tasks without a database: read, checked, packed, begun. What reads files does so on a thread of the pool. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "task/competition.h"
#include "session/core.h"
#include "base/file.h"
#include "commands/device_probe.h"
#include "base/installed.h"
#include "task/task.h"
#include "task/detect_form.h"
#include "task/pack.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One command while a thread of the pool reads for it. */
struct task_request {
	const struct languages *languages;
	json_t *args, *result;
	struct kettle_error err;
	struct core *core;
	json_t *bundles; /* [[index of the entry in "tasks" or null, bundle]]: what is still to be probed; or NULL */
	/* On the pool's thread: the result, or the error. */
	int (*work)(struct task_request *request, json_t **ret_result, struct kettle_error *err);
	kettle_answer answer;
	void *arg;
};

static const char *
argument(const struct task_request *request, const char *name)
{
	return json_string_value(json_object_get(request->args, name));
}

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to read a task.");
}

static void
read_now(void *arg)
{
	struct task_request *request = arg;
	(void)request->work(request, &request->result, &request->err);
}

static void
read_done(void *arg)
{
	struct task_request *request = arg;
	request->answer(request->arg, &request->err, request->err.code < 0 ? NULL : request->result);
	json_decref(request->args);
	json_decref(request->result);
	json_decref(request->bundles);
	free(request);
}

static void probe_next(struct task_request *request);

/* What a device lacks is an error of the entry, where there is one, else of the command. */
static void
on_probed(void *arg, const struct kettle_error *err)
{
	struct task_request *request = arg;
	const json_t *index = json_array_get(json_array_get(request->bundles, 0), 0);
	json_t *entry = json_array_get(json_object_get(request->result, "tasks"), (size_t)json_integer_value(index));
	if (err->code < 0 && json_is_integer(index)) {
		(void)json_object_set_new(entry, "ok", json_false());
		(void)json_object_set_new(entry, "error", json_string(err->message));
		(void)json_object_set_new(request->result, "ok", json_false());
	} else if (err->code < 0) {
		request->err = *err;
	}
	(void)json_array_remove(request->bundles, 0);
	probe_next(request);
}

static void
probe_next(struct task_request *request)
{
	const json_t *bundle = json_array_get(json_array_get(request->bundles, 0), 1);
	if (request->err.code < 0 || !bundle)
		read_done(request);
	else
		probe_task(request->core, bundle, json_object_get(request->args, "device"), on_probed, request);
}

static void
read_ended(void *arg)
{
	probe_next(arg);
}

static void
task_request_start(struct core *core, const json_t *args,
	int (*work)(struct task_request *request, json_t **ret_result, struct kettle_error *err), kettle_answer answer,
	void *arg)
{
	struct kettle_error err = {0};
	struct task_request *request = calloc(1, sizeof(*request));
	json_t *copy = json_deep_copy(args);
	if (!request || !copy) {
		(void)fail_memory(&err);
		answer(arg, &err, NULL);
		json_decref(copy);
		free(request);
		return;
	}
	*request = (struct task_request){
		.languages = &core->languages, .core = core, .args = copy, .work = work, .answer = answer, .arg = arg};
	/* Once the work has begun, its error is the other thread's. */
	if (loop_work(core->setup.io, read_now, read_ended, request, &err) < 0) {
		request->err = err;
		read_done(request);
	}
}

/* ---- reading ---- */

static int
task_read_one(struct task_request *request, json_t **ret_result, struct kettle_error *err)
{
	int rc = task_read_as(request->languages, argument(request, "path"), argument(request, "lang"), ret_result, err);
	if (rc == 0 && json_is_true(json_object_get(request->args, "probe")))
		request->bundles = json_pack("[[n, O]]", *ret_result);
	return rc;
}

void
cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	task_request_start(core, args, task_read_one, answer, arg);
}

static int
read_problems(struct task_request *request, json_t **ret_result, struct kettle_error *err)
{
	json_t *sets = NULL;
	int rc = competition_read_all(request->languages, argument(request, "path"), argument(request, "set"), &sets, err);
	if (rc)
		return rc;
	*ret_result = json_pack("{s:o}", "sets", sets);
	return *ret_result ? 0 : fail_memory(err);
}

void
cmd_problems_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	task_request_start(core, args, read_problems, answer, arg);
}

/* ---- checking ---- */

/* What is said of one task. New reference. */
static json_t *
on_checked(const char *path, const json_t *bundle, const char *error)
{
	const json_t *task = json_object_get(bundle, "task");
	if (!bundle)
		return json_pack("{s:s, s:b, s:s?}", "path", path, "ok", 0, "error", error);
	return json_pack("{s:s, s:b, s:n, s:O, s:O*, s:I, s:I, s:I, s:O*}", "path", path, "ok", 1, "error", "name",
		json_object_get(bundle, "name"), "lang", json_object_get(task, "lang"), "tests",
		(json_int_t)json_array_size(json_object_get(task, "tests")), "benchmarks",
		(json_int_t)json_array_size(json_object_get(task, "benchmarks")), "files",
		(json_int_t)json_object_size(json_object_get(bundle, "files")), "remarks", json_object_get(bundle, "remarks"));
}

static void
check_task(struct task_request *request, const char *path, json_t *results)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *bundle = NULL;
	(void)task_read_as(request->languages, path, argument(request, "lang"), &bundle, &err);
	if (bundle)
		(void)json_array_append_new(
			request->bundles, json_pack("[I, O]", (json_int_t)json_array_size(results), bundle));
	(void)json_array_append_new(results, on_checked(path, bundle, err.message));
}

/* The file first, then every problem of it as a task of its own. */
static void
check_competition(struct task_request *request, const char *path, json_t *results)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *sets = NULL;
	size_t i, j;
	json_t *set, *problem;
	if (competition_read_all(request->languages, path, NULL, &sets, &err) < 0) {
		(void)json_array_append_new(results, on_checked(path, NULL, err.message));
		return;
	}
	json_array_foreach(sets, i, set) {
		const json_t *problems = json_object_get(set, "problems");
		(void)json_array_append_new(
			results, json_pack("{s:s, s:b, s:n, s:O, s:O, s:O, s:I}", "path", path, "ok", 1, "error", "competition",
						 json_object_get(set, "name"), "file", json_object_get(set, "file"), "deadline",
						 json_object_get(set, "deadline"), "problems", (json_int_t)json_array_size(problems)));
		json_array_foreach(problems, j, problem) {
			json_t *bundle = json_object_get(problem, "bundle");
			if (json_is_object(bundle))
				(void)json_array_append_new(
					request->bundles, json_pack("[I, O]", (json_int_t)json_array_size(results), bundle));
			json_t *one = on_checked(json_string_value(json_object_get(problem, "directory")),
				json_is_object(bundle) ? bundle : NULL, json_string_value(json_object_get(problem, "error")));
			(void)json_object_set(one, "problem", json_object_get(problem, "name"));
			(void)json_array_append_new(results, one);
		}
	}
}

static int
check_all(struct task_request *request, json_t **ret_result, struct kettle_error *err)
{
	json_t *results = json_array(), *one;
	bool ok = true;
	size_t i;
	request->bundles = json_array();
	json_array_foreach(json_object_get(request->args, "path"), i, one) {
		AUTO_TASK_FORM struct task_form form = {0};
		const char *path = json_string_value(one);
		(void)task_form_open(path, &form, NULL);
		if (form.kind == TASK_FORM_COMPETITION)
			check_competition(request, path, results);
		else
			check_task(request, path, results);
	}
	json_array_foreach(results, i, one)
		ok = ok && json_is_true(json_object_get(one, "ok"));
	*ret_result = json_pack("{s:o, s:b}", "tasks", results, "ok", ok);
	return *ret_result ? 0 : fail_memory(err);
}

void
cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	task_request_start(core, args, check_all, answer, arg);
}

/* ---- packing, and beginning with a copy ---- */

static int
pack_task(struct task_request *request, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *pack = NULL, *names = json_array();
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	const char *name;
	json_t *contents;
	int rc = task_pack(request->languages, argument(request, "path"), argument(request, "lang"),
		json_is_true(json_object_get(request->args, "solutions")), &pack, err);
	if (rc == 0)
		rc = task_pack_zip(pack, &data, &size, err);
	if (rc)
		return rc;
	json_object_foreach(json_object_get(pack, "files"), name, contents)
		(void)json_array_append_new(names, json_string(name));
	AUTO_FREE char *base64 = base64_encode(data, size);
	*ret_result = json_pack("{s:O, s:O, s:O, s:I, s:s?}", "name", json_object_get(pack, "name"), "hash",
		json_object_get(pack, "hash"), "files", names, "size", (json_int_t)size, "base64", base64);
	return *ret_result && base64 ? 0 : fail_memory(err);
}

void
cmd_task_pack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	task_request_start(core, args, pack_task, answer, arg);
}

/* The one file of a folder, which is a task by itself. New string; NULL: there is none, or there are more. */
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
		only = strdup(entry->d_name);
	}
	return STEAL(only);
}

/*
 * The shipped tasks by name: folders that hold a task.yml, or a single reference file alone, whose name is the value.
 * New object; NULL: no memory.
 */
static json_t *
shipped_names(const char *dir)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, NULL, alphasort);
	json_t *names = json_object();
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		AUTO_FREE char *folder = path_join(dir, name);
		AUTO_FREE char *yml = folder ? path_join(folder, "task.yml") : NULL;
		AUTO_FREE char *only = NULL;
		if (name[0] != '.' && yml && access(yml, R_OK) == 0)
			(void)json_object_set_new(names, name, json_true());
		else if (name[0] != '.' && folder && (only = only_file(folder)))
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
	const char *name, *near = nearest_key(from, names);
	json_t *unused;
	json_object_foreach((json_t *)names, name, unused)
		buf_printf(&list, "%s%s", list.len ? ", " : "", name);
	if (!list.len)
		return kettle_fail(err, KETTLE_ENOENT,
			"There is no shipped task `%.64s`, nor any other: %s holds none (KETTLE_TASKS names another folder).", from,
			dir);
	return kettle_fail(err, KETTLE_ENOENT, "There is no shipped task `%.64s`%s%s%s; there are %s.", from,
		near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "", list.data);
}

static int
copy_shipped(struct task_request *request, json_t **ret_result, struct kettle_error *err)
{
	const char *from = argument(request, "from");
	AUTO_FREE char *dir = installed_tasks();
	AUTO_JSON json_t *names = dir ? shipped_names(dir) : NULL;
	if (!names)
		return fail_memory(err);
	if (!json_object_get(names, from))
		return fail_shipped(dir, from, names, err);
	const char *reference = json_string_value(json_object_get(names, from));
	bool solutions = json_is_true(json_object_get(request->args, "solutions"));
	AUTO_FREE char *path = path_join(dir, from);
	AUTO_FREE char *file = path && reference ? path_join(path, reference) : NULL;
	if (!path || (reference && !file))
		return fail_memory(err);
	return file ? task_pack_reference(request->languages, file, solutions, ret_result, err)
				: task_pack(request->languages, path, NULL, solutions, ret_result, err);
}

void
cmd_task_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	task_request_start(core, args, copy_shipped, answer, arg);
}
