/* SPDX-License-Identifier: MIT */
/*
 * Tries a task on its devices before it gets submissions.
 *
 * Theory of operation. First the probes, one device after the other: reads its machine's report on the GPU, if the unit
 * names one; then makes the language's probe, a plan of build steps; then runs that plan as a local job. kettle-exec keeps
 * what was built, so the second probe of the same machine costs nothing. Only a step that the language blames on the
 * machine is an error here; any other failure is left to the runs, which report it.
 *
 * Then the template, again one device after the other, as runs of task_run.c. A run that would wait for its unit is
 * cancelled and begun again on the next unit of the device. A failure of a template is the task's fault only if its verdict
 * says so: a template may be unfinished, and an empty file never passes, but faults of the task's own files show before
 * both.
 *
 * The next probe or run is posted, not called, so that those that end at once do not pile up on the stack. A timer cancels
 * the present probe when its caller has gone or the engine ends; a run does that itself.
 */
#include <config.h>

#include "commands/task_try.h"

#include "base/base.h"
#include "commands/local_job.h"
#include "commands/task_run.h"
#include "judge/plan.h"
#include "judge/step_verdict.h"
#include "task/task.h"

#define TRIAL_WATCH_MS 200 /* between checks whether a probe is still wanted */

/* A task that is tried. */
struct trial {
	struct inflight_job job; /* of a probe; first */
	struct core *core;
	struct waiter waiter;
	bool runs;
	json_t *bundle, *names, *tried; /* names: of the devices that are left */
	json_t *devices;                /* all of them */
	json_t *unit;                   /* of a probe */
	struct plan *plan;              /* of a probe */
	const char *code;               /* of the bundle, or NULL: there is no template */
	size_t index;                   /* of the unit of the first device that is left */
	struct kettle_timer *watch;
	struct kettle_error err;
	task_tried done;
	void *arg;
};

static void trial_probe(void *arg);
static void trial_run(void *arg);

static bool
trial_stopped(const struct trial *trial)
{
	return trial->core->closing || !core_is_awaited(trial->core, &trial->waiter);
}

static void
trial_finish(struct trial *trial)
{
	loop_timer_stop(trial->core->setup.io, trial->watch);
	if (trial->err.code == 0 && trial_stopped(trial))
		(void)kettle_fail(&trial->err, KETTLE_ECANCELED, "The engine is stopping.");
	trial->done(trial->arg, &trial->err, trial->runs ? trial->tried : NULL);
	json_decref_all(trial->bundle, trial->names, trial->tried, trial->devices, trial->unit);
	plan_free(trial->plan);
	free(trial);
}

static void
trial_post(struct trial *trial, void (*next)(void *arg))
{
	if (loop_post(trial->core->setup.io, next, trial) < 0)
		trial_finish(trial);
}

/* Cancels the present probe, so that neither the device nor the engine's end waits for it. */
static void
on_watch(void *arg)
{
	struct trial *trial = arg;
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, trial->job.ref, sizeof(ref));
	if (!*ref || !trial_stopped(trial))
		return;
	const struct runner *runner = local_job_runner(trial->core, trial->unit);
	loop_timer_stop(trial->core->setup.io, STEAL(trial->watch));
	runner->ops->cancel(runner->self, ref); /* the trial may end in it */
}

/* ---- probes ---- */

static void
probe_go_on(struct trial *trial)
{
	json_decref(STEAL(trial->unit));
	plan_free(STEAL(trial->plan));
	trial->job.ref[0] = '\0';
	trial_post(trial, trial_probe);
}

static void
ignore_event(struct inflight_job *job, const json_t *event)
{
	(void)job;
	(void)event;
}

/* The first step for which the machine is to blame, in words. */
static void
read_outcomes(struct trial *trial, const struct completion *completion)
{
	const json_t *task = json_object_get(trial->bundle, "task");
	const struct language *language = language_find(trial->core->languages, json_text_or_null(task, "lang"));
	for (size_t i = 0; i < trial->plan->count && trial->err.code == 0; i++) {
		const struct plan_step *step = &trial->plan->steps[i];
		const struct outcome *outcome = completion_outcome(completion, step->id);
		struct step_result result = {0};
		if (outcome)
			step_result_read(language, task, step, outcome, &result);
		if (result.state == VERDICT_ERROR && result.blame && strcmp(result.blame, "machine") == 0)
			(void)kettle_fail(&trial->err, KETTLE_EUNAVAIL, "The task cannot run on %s: %s",
				json_text_or_null(trial->unit, "name"), result.why.message);
	}
}

static void
on_probed(struct inflight_job *job, const struct completion *completion)
{
	struct trial *trial = (struct trial *)job;
	if (completion->status == COMPLETION_DONE)
		read_outcomes(trial, completion);
	probe_go_on(trial);
}

/* A machine that does not report its memory may have enough. */
static bool
has_memory(struct trial *trial)
{
	const json_t *facts = json_object_get(trial->unit, "facts");
	json_int_t needed = member_int(json_object_get(trial->bundle, "task"), "memory");
	json_int_t most = member_int(json_object_get(facts, "machine"), "memory");
	if (most > 0 && needed > most)
		(void)kettle_fail(&trial->err, KETTLE_EUNAVAIL,
			"The task requires `memory: %" JSON_INTEGER_FORMAT "`, but the machine of %s has %" JSON_INTEGER_FORMAT
			" bytes.",
			needed, json_text_or_null(trial->unit, "name"), most);
	return trial->err.code == 0;
}

static void
build(void *arg)
{
	struct trial *trial = arg;
	struct core *core = trial->core;
	struct kettle_error ignored = {0};
	if (core->closing || !has_memory(trial) ||
		plan_make_probe(core->languages, trial->bundle, trial->unit, &trial->plan, &ignored) != 0 ||
		local_job_start(core, &trial->job, "probe", trial->unit, trial->plan, &ignored) < 0)
		probe_go_on(trial);
}

static void
trial_probe(void *arg)
{
	struct trial *trial = arg;
	if (trial->err.code < 0 || trial_stopped(trial)) {
		trial_finish(trial);
		return;
	}
	if (json_array_size(trial->names) == 0) {
		json_decref(trial->names);
		trial->names = json_copy(trial->devices);
		trial_run(trial);
		return;
	}
	trial->unit = local_job_unit(trial->core, json_string_value(json_array_get(trial->names, 0)));
	(void)json_array_remove(trial->names, 0);
	if (trial->unit)
		local_job_describe(trial->core, json_object_get(trial->bundle, "task"), trial->unit, build, trial);
	else
		trial_post(trial, trial_probe);
}

/* ---- runs ---- */

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
	json_array_each(names, one)
		if (strcmp(json_string_value(one), name) == 0)
			return;
	(void)json_array_append_new(names, json_string(name));
}

/* The imports that the harness reports of the cases (`test.N.imported`); the template is the task's own, so they are too. */
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
		return json_string("not tried: a job could not begin there at once");
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
		return json_string("the task has no template; a run with an empty file shows no fault in the task's own files");
	return json_sprintf(
		"the template does not pass the tests, which is fine if participants complete it: %s", verdict->why.message);
}

static void
device_tried(struct task_run *run)
{
	struct trial *trial = run->arg;
	if (run->busy && trial->index + 1 < json_array_size(run->units)) {
		trial->index++;
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
		trial->index = 0;
	}
	trial_post(trial, trial_run);
}

static void
trial_run(void *arg)
{
	struct trial *trial = arg;
	const json_t *name = json_array_get(trial->names, 0);
	if (!trial->runs || !name || trial_stopped(trial)) {
		trial_finish(trial);
		return;
	}
	struct task_run *run = xnew(struct task_run, .core = trial->core, .waiter = trial->waiter,
		.args = json_pack("{s:s, s:O}", "mode", "test", "device", name), .bundle = json_incref(trial->bundle),
		.code = xstrdup(trial->code ? trial->code : "\n"), .index = trial->index, .unless_busy = true,
		.ended = device_tried, .arg = trial);
	task_run_begin(run);
}

void
task_try(struct core *core, const struct waiter *waiter, const json_t *bundle, const json_t *devices, bool runs,
	task_tried done, void *arg)
{
	struct trial *trial = xnew(struct trial, .job = {.event = ignore_event, .done = on_probed}, .core = core,
		.waiter = *waiter, .runs = runs, .bundle = json_incref((json_t *)bundle),
		.names = local_job_devices(core, bundle, devices), .devices = local_job_devices(core, bundle, devices),
		.tried = json_array(), .code = task_template(bundle), .done = done, .arg = arg);
	(void)loop_timer_start(core->setup.io, TRIAL_WATCH_MS, TRIAL_WATCH_MS, on_watch, trial, &trial->watch, NULL);
	trial_post(trial, trial_probe);
}

json_t *
task_try_imports(const json_t *tried)
{
	json_t *all = json_array();
	json_array_each(tried, one)
		json_array_each(json_object_get(one, "imported"), name)
			add_name(all, json_string_value(name));
	return all;
}

const json_t *
task_try_obstacle(const json_t *tried)
{
	json_array_each(tried, one)
		if (member_is(one, "blame", "task") || json_text_or_null(one, "lacks"))
			return one;
	return NULL;
}
