/* SPDX-License-Identifier: MIT */
/*
 * Tries a task on its devices before it gets submissions.
 *
 * Theory of operation. One device after the other, as runs of task_run.c; the next one is posted, not called, so that
 * runs that end at once do not pile up on the stack. A run that would wait for its unit is cancelled and begun again on
 * the next unit of the device. A failure of a template is the task's fault only if its verdict says so: a template may
 * be unfinished, and an empty file never passes, but faults of the task's own files show before both.
 */
#include <config.h>

#include "commands/task_try.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "commands/task_run.h"
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

/* A task that is tried. */
struct trial {
	struct core *core;
	struct waiter waiter;
	json_t *bundle, *names, *tried; /* names: of the devices that are left */
	const char *code;               /* of the bundle, or NULL: there is no template */
	size_t unit;                    /* of the first device */
	void (*done)(void *arg, json_t *tried);
	void *arg;
};

static void try_next(void *arg);

static void
try_finish(struct trial *trial)
{
	trial->done(trial->arg, trial->tried);
	json_decref(trial->bundle);
	json_decref(trial->names);
	json_decref(trial->tried);
	free(trial);
}

/* The output of the step that decided, below its command. New reference, or NULL. */
static json_t *
log_of(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_entry *entry = &verdict->entries[i];
		if (entry->judged.blame && strcmp(entry->judged.blame, "task") == 0)
			return json_sprintf("%s\n%s%s", entry->outcome.command ? entry->outcome.command : entry->step.title,
				json_is_string(entry->err) ? json_string_value(entry->err) : "",
				json_is_string(entry->out) ? json_string_value(entry->out) : "");
	}
	return NULL;
}

static void
add_name(json_t *names, const char *name)
{
	size_t i;
	const json_t *one;
	json_array_foreach(names, i, one)
		if (strcmp(json_string_value(one), name) == 0)
			return;
	(void)json_array_append_new(names, json_string(name));
}

/*
 * The imports that the harness reports for the cases (`test.N.imported`). The template is the task's own: no submission
 * had a part in it.
 */
static json_t *
imports_of(const struct verdict *verdict)
{
	json_t *names = json_array();
	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_entry *entry = &verdict->entries[i];
		for (size_t k = 0; entry->step.run && k < entry->step.cases; k++) {
			const char *given = result_value(entry->result, "test", k, "imported");
			AUTO_FREE char *text = xstrdup(given ? given : "");
			char *rest = text;
			for (const char *name; (name = strsep(&rest, " "));)
				if (*name)
					add_name(names, name);
		}
	}
	if (json_array_size(names) > 0)
		return names;
	json_decref(names);
	return NULL;
}

/* The result in words. New reference. */
static json_t *
words_of(const struct trial *trial, const struct task_run *run)
{
	const struct verdict *verdict = run->verdict;
	if (run->busy)
		return json_string("not tried: it is busy");
	if (!verdict)
		return json_sprintf("not tried: %s", run->err.message);
	if (verdict->state == VERDICT_PASSED)
		return json_sprintf(
			"the %s passes the tests", trial->code ? "template" : "task has no template; an empty file");
	if (verdict->blame && strcmp(verdict->blame, "task") == 0)
		return json_string(verdict->why.message);
	if (verdict->state == VERDICT_ERROR)
		return json_sprintf("not tried: %s", verdict->why.message);
	if (!trial->code)
		return json_string("the task has no template; with an empty file its own files show no fault");
	return json_sprintf(
		"the template does not pass the tests, which is fine if participants complete it: %s", verdict->why.message);
}

static void
device_tried(struct task_run *run)
{
	struct trial *trial = run->arg;
	if (run->busy && trial->unit + 1 < json_array_size(run->units)) {
		trial->unit++;
	} else {
		const struct verdict *verdict = run->verdict;
		const char *error = verdict ? verdict_message(&verdict->why) : run->err.message;
		(void)json_array_append_new(trial->tried,
			json_pack("{s:O, s:s, s:s?, s:s*, s:s?, s:o, s:o*, s:o*}", "device", json_array_get(trial->names, 0),
				"state", verdict ? verdict_state_name(verdict->state) : "skipped", "blame",
				verdict ? verdict->blame : NULL, "lacks",
				verdict && verdict->why.cause == KETTLE_CAUSE_LACKS ? verdict->why.member : NULL, "error", error,
				"said", words_of(trial, run), "log", verdict ? log_of(verdict) : NULL, "imported",
				verdict ? imports_of(verdict) : NULL));
		(void)json_array_remove(trial->names, 0);
		trial->unit = 0;
	}
	if (loop_post(trial->core->setup.io, try_next, trial) < 0)
		try_finish(trial);
}

static void
try_next(void *arg)
{
	struct trial *trial = arg;
	const json_t *name = json_array_get(trial->names, 0);
	if (!name || trial->core->closing) {
		try_finish(trial);
		return;
	}
	struct task_run *run = xmalloc(sizeof(*run));
	*run = (struct task_run){
		.core = trial->core,
		.waiter = trial->waiter,
		.args = json_pack("{s:s, s:O}", "mode", "test", "device", name),
		.bundle = json_incref(trial->bundle),
		.code = xstrdup(trial->code ? trial->code : "\n"),
		.index = trial->unit,
		.unless_busy = true,
		.ended = device_tried,
		.arg = trial,
	};
	task_run_begin(run);
}

void
task_try(struct core *core, const struct waiter *waiter, const json_t *bundle, json_t *names_take,
	void (*done)(void *arg, json_t *tried), void *arg)
{
	struct trial *trial = xmalloc(sizeof(*trial));
	*trial = (struct trial){.core = core,
		.waiter = *waiter,
		.bundle = json_incref((json_t *)bundle),
		.names = names_take,
		.tried = json_array(),
		.code = task_template(bundle),
		.done = done,
		.arg = arg};
	try_next(trial);
}

json_t *
task_try_imports(const json_t *tried)
{
	json_t *all = json_array();
	size_t i, k;
	const json_t *one, *name;
	json_array_foreach(tried, i, one)
		json_array_foreach(json_object_get(one, "imported"), k, name)
			add_name(all, json_string_value(name));
	return all;
}

const json_t *
task_try_fault(const json_t *tried)
{
	size_t i;
	const json_t *one;
	json_array_foreach(tried, i, one)
		if (member_is(one, "blame", "task"))
			return one;
	return NULL;
}

const json_t *
task_try_obstacle(const json_t *tried)
{
	size_t i;
	const json_t *one;
	json_array_foreach(tried, i, one)
		if (member_is(one, "blame", "task") || json_text_or_null(one, "lacks"))
			return one;
	return NULL;
}
