/* SPDX-License-Identifier: MIT */
/* Which of the languages that can make a task of one reference file run it on the devices at hand. */
/*
 * Theory of operation. One device after the other is described, as a language learns the architecture of a GPU from that;
 * then the language of each bundle plans a test for it, which runs nothing. The next device is posted, not called, so that
 * devices that are described at once do not pile up on the stack.
 */
#include <config.h>

#include "commands/task_choice.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "commands/local_job.h"
#include "judge/plan.h"

#include <stdlib.h>

struct choice {
	struct core *core;
	json_t *bundles, *names; /* names: of the devices that are left */
	json_t *unit;            /* of the present device */
	json_t *fits;            /* for each bundle whether it fits a device */
	void (*done)(void *arg, const json_t *fitting);
	void *arg;
};

static void choose_next(void *arg);

static void
finish_choice(struct choice *choice)
{
	AUTO_JSON json_t *fitting = json_array();
	size_t i;
	json_t *bundle;
	json_array_foreach(choice->bundles, i, bundle)
		if (json_is_true(json_array_get(choice->fits, i)))
			(void)json_array_append(fitting, bundle);
	choice->done(choice->arg, fitting);
	json_decref(choice->bundles);
	json_decref(choice->names);
	json_decref(choice->fits);
	free(choice);
}

static void
plan_each(void *arg)
{
	struct choice *choice = arg;
	size_t i;
	const json_t *bundle;
	json_array_foreach(choice->bundles, i, bundle) {
		AUTO_PLAN struct plan *plan = NULL;
		if (!choice->core->closing &&
			plan_make(choice->core->languages, bundle, "", "test", choice->unit, "0", NULL, &plan, NULL) == 0)
			(void)json_array_set_new(choice->fits, i, json_true());
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
	while (!choice->unit && json_array_size(choice->names) > 0 && !core->closing) {
		choice->unit = local_job_unit(core, json_string_value(json_array_get(choice->names, 0)));
		(void)json_array_remove(choice->names, 0);
	}
	if (choice->unit)
		local_job_describe(
			core, json_object_get(json_array_get(choice->bundles, 0), "task"), choice->unit, plan_each, choice);
	else
		finish_choice(choice);
}

void
task_choose(struct core *core, const json_t *bundles, json_t *names_take,
	void (*done)(void *arg, const json_t *fitting), void *arg)
{
	struct choice *choice = xmalloc(sizeof(*choice));
	*choice = (struct choice){.core = core,
		.bundles = json_incref((json_t *)bundles),
		.names = names_take,
		.fits = json_array(),
		.done = done,
		.arg = arg};
	for (size_t i = 0; i < json_array_size(bundles); i++)
		(void)json_array_append_new(choice->fits, json_false());
	choose_next(choice);
}
