/* SPDX-License-Identifier: MIT */
/* The loop of a task author: read, check and run a task here, without a database. */
#include <config.h>

#include "cmd_local.h"

#include "cleanup.h"
#include "core_inner.h"
#include "file.h"
#include "shown.h"
#include "task.h"
#include "text.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

/* Tasks read on a thread of the pool. */
struct reading {
	struct core *core;
	json_t *paths, *results;
	json_t *args;
	json_t *bundle;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

/* What --lang said, or NULL. */
static const char *
language_of(const json_t *args)
{
	return json_string_value(json_object_get(args, "lang"));
}

static void
free_reading(struct reading *reading)
{
	json_decref(reading->paths);
	json_decref(reading->results);
	json_decref(reading->args);
	json_decref(reading->bundle);
	free(reading);
}

static void
start_reading(struct core *core, const json_t *args, json_t *paths_take, kettle_fn work, kettle_fn after,
	kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading) {
		json_decref(paths_take);
		(void)kettle_fail(&err, KETTLE_ENOMEM, "There is not enough memory to read a task.");
		answer(arg, &err, NULL);
		return;
	}
	*reading = (struct reading){.core = core,
		.paths = paths_take,
		.args = json_deep_copy(args),
		.results = json_array(),
		.answer = answer,
		.arg = arg};
	if (hostio_work(core->setup.io, work, after, reading, &err) < 0) {
		answer(arg, &err, NULL);
		free_reading(reading);
	}
}

static void
read_one(void *arg)
{
	struct reading *reading = arg;
	(void)task_read_as(&reading->core->languages, json_string_value(json_array_get(reading->paths, 0)),
		language_of(reading->args), &reading->bundle, &reading->err);
}

static void
read_done(void *arg)
{
	struct reading *reading = arg;
	reading->answer(reading->arg, &reading->err, reading->bundle);
	free_reading(reading);
}

void
cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	start_reading(core, args, json_pack("[O]", json_object_get(args, "path")), read_one, read_done, answer, arg);
}

static void
check_one(struct reading *reading, const char *path)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *bundle = NULL;
	json_t *result;
	if (task_read_as(&reading->core->languages, path, language_of(reading->args), &bundle, &err) < 0) {
		result = json_pack("{s:s, s:b, s:s}", "path", path, "ok", 0, "error", err.message);
	} else {
		const json_t *task = json_object_get(bundle, "task");
		result = json_pack("{s:s, s:b, s:n, s:O, s:O*, s:I, s:I, s:I, s:O*}", "path", path, "ok", 1, "error", "name",
			json_object_get(bundle, "name"), "lang", json_object_get(task, "lang"), "tests",
			(json_int_t)json_array_size(json_object_get(task, "tests")), "benchmarks",
			(json_int_t)json_array_size(json_object_get(task, "benchmarks")), "files",
			(json_int_t)json_object_size(json_object_get(bundle, "files")), "remarks",
			json_object_get(bundle, "remarks"));
	}
	(void)json_array_append_new(reading->results, result);
}

static void
check_all(void *arg)
{
	struct reading *reading = arg;
	size_t i;
	json_t *path;
	json_array_foreach(reading->paths, i, path)
		check_one(reading, json_string_value(path));
}

static void
check_done(void *arg)
{
	struct reading *reading = arg;
	bool ok = true;
	size_t i;
	json_t *result;
	json_array_foreach(reading->results, i, result)
		ok = ok && json_is_true(json_object_get(result, "ok"));
	AUTO_JSON json_t *answer = json_pack("{s:O, s:b}", "tasks", reading->results, "ok", ok);
	reading->answer(reading->arg, &reading->err, answer);
	free_reading(reading);
}

void
cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	start_reading(core, args, json_deep_copy(json_object_get(args, "path")), check_all, check_done, answer, arg);
}

/* A run without a database. */
struct run {
	struct live_job live;
	struct core *core;
	json_t *args, *bundle, *plan, *unit;
	char *code;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static void
end_run(struct run *run, json_t *result)
{
	live_remove(&run->core->live, &run->live);
	run->answer(run->arg, &run->err, run->err.code < 0 ? NULL : result);
	json_decref(run->args);
	json_decref(run->bundle);
	json_decref(run->plan);
	json_decref(run->unit);
	free(run->code);
	free(run);
}

static void
run_event(struct live_job *live, const json_t *event)
{
	struct run *run = (struct run *)live;
	AUTO_JSON json_t *shown = shown_event(run->plan, event);
	if (!shown)
		return;
	AUTO_JSON json_t *progress = json_pack("{s:s, s:b, s:O, s:O}", "kind", "progress", "task_run", 1, "device",
		json_object_get(run->unit, "name"), "event", shown);
	subscriptions_event(run->core, progress);
}

static void
run_handle(struct live_job *live, const char *handle, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	(void)live;
	(void)handle;
	answer(arg, &none, json_null()); /* nothing outlives this process that could be recovered */
}

static void
run_done(struct live_job *live, const json_t *completion)
{
	struct run *run = (struct run *)live;
	AUTO_JSON json_t *verdict = NULL;
	const char *status = json_string_value(json_object_get(completion, "status"));
	const char *why = json_string_value(json_object_get(completion, "error"));
	const json_t *task = json_object_get(run->bundle, "task");
	if (!status || strcmp(status, "done") != 0)
		(void)kettle_fail(&run->err, KETTLE_EUNAVAIL, "The task could not be run: %s", why ? why : "it was cancelled.");
	else if (verdict_make(&run->core->languages, task, run->plan, completion, &verdict, &run->err) == 0)
		(void)json_object_update_new(
			verdict, json_pack("{s:O, s:O, s:O, s:O*}", "task", json_object_get(run->bundle, "name"), "device",
						 json_object_get(run->unit, "name"), "mode", json_object_get(run->args, "mode"), "kept",
						 json_object_get(completion, "kept")));
	end_run(run, verdict);
}

/* The device that was named, else the first that is configured. */
static int
choose_unit(struct run *run, struct kettle_error *err)
{
	const char *wanted = json_string_value(json_object_get(run->args, "device"));
	const char *name;
	json_t *device;
	json_object_foreach(run->core->devices, name, device) {
		if (wanted && strcasecmp(wanted, name) != 0)
			continue;
		run->unit = json_deep_copy(json_array_get(json_object_get(device, "units"), 0));
		(void)json_object_set_new(run->unit, "name", json_string(name));
		if (json_is_true(json_object_get(run->args, "keep")))
			(void)json_object_set_new(run->unit, "keep", json_true());
		return 0;
	}
	if (!wanted)
		return kettle_fail(err, KETTLE_EINVAL, "No device is configured here.");
	const char *near = nearest_key(wanted, run->core->devices);
	return kettle_fail(err, KETTLE_EINVAL, "There is no device `%s` here%s%s%s", wanted, near ? "; did you mean `" : "",
		near ? near : "", near ? "`?" : ".");
}

static int
give_to_runner(struct run *run, struct kettle_error *err)
{
	const char *name = json_string_value(json_object_get(run->unit, "runner"));
	/* The runner may complete it before it returns, and the run is gone then: what it was lent is held here. */
	AUTO_JSON json_t *unit = json_incref(run->unit), *plan = json_incref(run->plan);
	char ref[LIVE_REF_SIZE];
	memcpy(ref, run->live.ref, sizeof(ref));
	struct kettle_job job = {
		.size = sizeof(job), .ref = ref, .device = json_string_value(json_object_get(unit, "name")), .unit = unit};
	for (size_t i = 0; i < run->core->runners_count; i++) {
		const struct runner *runner = &run->core->runners[i];
		if (strcmp(runner->name, name ? name : "local") == 0)
			return runner->ops->submit(runner->self, &job, plan, err);
	}
	return kettle_fail(err, KETTLE_EINVAL, "The device's runner `%s` is not loaded.", name ? name : "local");
}

static void
run_read(void *arg)
{
	struct run *run = arg;
	size_t size = 0;
	const char *path = json_string_value(json_object_get(run->args, "path"));
	const char *file = json_string_value(json_object_get(run->args, "file"));
	if (task_read_as(&run->core->languages, path, language_of(run->args), &run->bundle, &run->err) < 0)
		return;
	if (file_read(file, (size_t)run->core->env.submission_bytes, &run->code, &size, &run->err) < 0)
		return;
	const char *lang = json_string_value(json_object_get(json_object_get(run->bundle, "task"), "lang"));
	const struct language *language = language_find(&run->core->languages, lang);
	if (!utf8_valid(run->code, size))
		(void)kettle_fail(&run->err, KETTLE_EINVAL, "%s is no text in UTF-8.", file);
	else if (size == 0)
		(void)kettle_fail(&run->err, KETTLE_EINVAL, "%s is empty.", file);
	else
		(void)language_takes_file(language, file, &run->err);
}

static void
run_begin(void *arg)
{
	struct run *run = arg;
	struct core *core = run->core;
	uint32_t seed = 0;
	char seed_text[16];
	random_bytes(&seed, sizeof(seed));
	(void)snprintf(seed_text, sizeof(seed_text), "%u", seed >> 1);
	(void)snprintf(
		run->live.ref, sizeof(run->live.ref), "local-%ld.%llu", (long)getpid(), (unsigned long long)++core->local_jobs);
	if (core->closing)
		(void)kettle_fail(&run->err, KETTLE_ECANCELED, "The engine is stopping.");
	if (run->err.code < 0 || choose_unit(run, &run->err) < 0 ||
		task_plan(&core->languages, run->bundle, run->code, json_string_value(json_object_get(run->args, "mode")),
			run->unit, seed_text, &run->plan, &run->err) < 0 ||
		live_add(&core->live, &run->live) < 0 || give_to_runner(run, &run->err) < 0)
		end_run(run, NULL);
}

void
cmd_task_run(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	struct run *run = calloc(1, sizeof(*run));
	(void)actor;
	if (!run) {
		(void)kettle_fail(&err, KETTLE_ENOMEM, "There is not enough memory to run a task.");
		answer(arg, &err, NULL);
		return;
	}
	*run = (struct run){
		.live = {.event = run_event, .handle = run_handle, .done = run_done},
		.core = core,
		.args = json_deep_copy(args),
		.answer = answer,
		.arg = arg,
	};
	if (hostio_work(core->setup.io, run_read, run_begin, run, &run->err) < 0)
		end_run(run, NULL);
}
