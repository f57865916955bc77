/* SPDX-License-Identifier: MIT */
/* Chooses the language of a single reference file: one that runs it on the devices at hand. */
/*
 * Theory of operation. A thread of the pool reads the file in each language. Then one device after the other is described,
 * as a language learns the architecture of a GPU from that, and the language of each bundle plans a test for it, which runs
 * nothing. The next device is posted, not called, so that devices that are described at once do not pile up on the stack.
 */
#include <config.h>

#include "commands/task_choice.h"

#include "base/base.h"
#include "commands/local_job.h"
#include "judge/plan.h"
#include "model/board.h"
#include "task/folder.h"
#include "task/task.h"

struct choice {
	struct core *core;
	const struct languages *languages; /* as they were when it began: a reload changes the core's */
	struct task_source source;
	json_t *devices;         /* that are left */
	json_t *bundles, *names; /* names: of those that fit a device */
	json_t *unit;            /* of the present device */
	void (*done)(void *arg, const json_t *languages);
	void *arg;
};

static void choose_next(void *arg);

int
task_source_read(const struct languages *languages, const struct task_source *source, const char *lang,
	json_t **ret_bundle, struct kettle_error *err)
{
	if (source->path)
		return task_read_as(languages, source->path, lang, ret_bundle, err);
	return task_read_bytes(languages, source->name, source->data, source->size, lang, ret_bundle, err);
}

static void
finish_choice(struct choice *choice)
{
	AUTO_JSON json_t *ordered = json_array();
	json_array_each(choice->bundles, bundle) {
		json_t *name = json_object_get(json_object_get(bundle, "task"), "lang");
		if (list_has_text(choice->names, json_string_value(name)))
			(void)json_array_append(ordered, name);
	}
	choice->done(choice->arg, ordered);
	json_decref_all(choice->bundles, choice->names, choice->devices);
	free(choice);
}

static void
read_each(void *arg)
{
	struct choice *choice = arg;
	const struct task_source *source = &choice->source;
	AUTO_JSON json_t *names = NULL;
	if (!source->path)
		names = task_single_languages(choice->languages, source->name);
	else if (task_languages(choice->languages, source->path, &names, NULL) < 0)
		return;
	json_array_each(names, name) {
		json_t *bundle = NULL;
		if (task_source_read(choice->languages, source, json_string_value(name), &bundle, NULL) == 0)
			(void)json_array_append_new(choice->bundles, bundle);
	}
}

static void
each_read(void *arg)
{
	struct choice *choice = arg;
	const json_t *first = json_array_get(choice->bundles, 0);
	json_t *devices = first ? local_job_devices(choice->core, first, choice->devices) : json_array();
	json_decref(choice->devices);
	choice->devices = devices;
	choose_next(choice);
}

static void
plan_each(void *arg)
{
	struct choice *choice = arg;
	json_array_each(choice->bundles, bundle) {
		AUTO_PLAN struct plan *plan = NULL;
		json_t *name = json_object_get(json_object_get(bundle, "task"), "lang");
		if (!choice->core->closing && !list_has_text(choice->names, json_string_value(name)) &&
			plan_make(choice->languages, bundle, "", "test", choice->unit, "0", NULL, &plan, NULL) == 0)
			(void)json_array_append(choice->names, name);
	}
	json_decref(STEAL(choice->unit));
	if (loop_post(choice->core->setup.io, choose_next, choice) < 0)
		finish_choice(choice);
}

static void
choose_next(void *arg)
{
	struct choice *choice = arg;
	struct core *core = choice->core;
	while (!choice->unit && json_array_size(choice->devices) > 0 && !core->closing) {
		choice->unit = local_job_unit(core, json_string_value(json_array_get(choice->devices, 0)));
		(void)json_array_remove(choice->devices, 0);
	}
	if (choice->unit)
		local_job_describe(
			core, json_object_get(json_array_get(choice->bundles, 0), "task"), choice->unit, plan_each, choice);
	else
		finish_choice(choice);
}

void
task_choose(struct core *core, const struct task_source *source, const char *lang, const json_t *devices,
	void (*done)(void *arg, const json_t *languages), void *arg)
{
	struct choice *choice = xnew(struct choice, .core = core, .languages = core->languages, .source = *source,
		.devices = json_incref((json_t *)devices), .bundles = json_array(), .names = json_array(), .done = done,
		.arg = arg);
	if (lang || core_work(core, read_each, each_read, choice, NULL) < 0)
		finish_choice(choice);
}

int
task_choice_take(const json_t *languages, const char *file, json_t *args, struct kettle_error *err)
{
	AUTO_FREE char *list = board_join(languages);
	if (json_array_size(languages) == 1)
		(void)json_object_set(args, "lang", json_array_get(languages, 0));
	if (json_array_size(languages) < 2)
		return 0;
	return kettle_blame(err, KETTLE_CAUSE_NONE, "lang",
		kettle_fail(err, KETTLE_EINVAL, "`%.200s` fits several languages: choose with `lang` from %s.", file, list));
}
