/* SPDX-License-Identifier: MIT */
/*
 * One run of a task here and now, without a database.
 *
 * Theory of operation. A run is a job that no queue knows: it is planned for a unit, given to the unit's runner, and ends
 * in a verdict. All of it happens on the loop; a runner may complete a job inside submit.
 */
#include <config.h>

#include "commands/task_run.h"

#include "base/base.h"
#include "base/text.h"
#include "commands/local_job.h"
#include "judge/capture.h"
#include "model/jobs.h"

#define RUN_WATCH_MS 200 /* between checks whether it is still wanted */

void
task_run_end(struct task_run *run)
{
	loop_timer_stop(run->core->setup.io, run->watch);
	run->ended(run);
	verdict_free(run->verdict);
	json_decref_all(run->args, run->bundle);
	plan_free(run->plan);
	json_decref_all(run->unit, run->units);
	free_all(run->code, run);
}

static void
task_run_event(struct inflight_job *job, const json_t *event)
{
	struct task_run *run = (struct task_run *)job;
	const struct runner *runner = local_job_runner(run->core, run->unit);
	local_job_publish(run->core, run->waiter.caller, run->plan, json_text_or_empty(run->unit, "name"), event);
	if (!run->unless_busy || run->busy || !member_is(event, "event", "waiting"))
		return;
	run->busy = true;
	runner->ops->cancel(runner->self, run->job.ref);
}

static void
on_task_run_done(struct inflight_job *job, const struct completion *completion)
{
	struct task_run *run = (struct task_run *)job;
	run->kept = completion->kept;
	if (completion->status == COMPLETION_DONE)
		run->verdict =
			verdict_make(run->core->languages, json_object_get(run->bundle, "task"), run->plan, completion, NULL);
	else
		(void)kettle_fail(&run->err, KETTLE_EUNAVAIL, "The task could not be run: %s",
			completion->error ? completion->error : "it was cancelled.");
	task_run_end(run);
}

/* Cancels a run whose caller has gone or whose engine ends: it would hold the device, or the end. */
static void
on_run_watch(void *arg)
{
	struct task_run *run = arg;
	if (!run->core->closing && core_is_awaited(run->core, &run->waiter))
		return;
	const struct runner *runner = local_job_runner(run->core, run->unit);
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, run->job.ref, sizeof(ref));
	loop_timer_stop(run->core->setup.io, STEAL(run->watch));
	runner->ops->cancel(runner->self, ref); /* may free the run */
}

/* Whether the run may go on; else with the reason in its error. */
static bool
is_wanted(struct task_run *run)
{
	if (run->err.code == 0 && run->core->closing)
		(void)kettle_fail(&run->err, KETTLE_ECANCELED, "The engine is stopping.");
	if (run->err.code == 0 && !core_is_awaited(run->core, &run->waiter))
		(void)kettle_fail(&run->err, KETTLE_ECANCELED, "The run was cancelled, because the command ended.");
	return run->err.code == 0;
}

static int
choose_unit(struct task_run *run, struct kettle_error *err)
{
	const char *wanted = json_text_or_null(run->args, "device");
	run->unit = local_job_unit(run->core, wanted);
	if (run->unit) {
		const json_t *device = json_object_get(run->core->devices, json_text_or_null(run->unit, "name"));
		run->units = json_incref(json_object_get(device, "units"));
		json_object_update(run->unit, json_array_get(run->units, run->index));
		if (member_true(run->args, "keep"))
			(void)json_object_set_new(run->unit, "keep", json_true());
		return 0;
	}
	if (!wanted)
		return kettle_fail(err, KETTLE_EINVAL, "No device is configured here.");
	const char *near = nearest_key(wanted, run->core->devices);
	return kettle_fail(err, KETTLE_EINVAL, "There is no device `%s` here%s%s%s", wanted, NEAREST_END(near));
}

static bool
needs_several(const struct plan *plan)
{
	bool needs = false;
	for (size_t i = 0; i < plan->count; i++)
		needs = needs || plan->steps[i].devices > 1;
	return needs;
}

/* Further units of the machine, if the plan needs more than the first. */
static void
add_more(struct task_run *run)
{
	const struct runner *runner = local_job_runner(run->core, run->unit);
	if (!runner || !needs_several(run->plan))
		return;
	json_t *more = json_array();
	for (size_t i = 0; i < json_array_size(run->units) && runner->ops->same_machine; i++) {
		json_t *other = json_array_get(run->units, i);
		if (i != run->index && json_equal(json_object_get(other, "runner"), json_object_get(run->unit, "runner")) &&
			runner->ops->same_machine(runner->self, run->unit, other))
			(void)json_array_append(more, other);
	}
	(void)json_object_set_new(run->unit, "more", more);
}

static void
task_run_plan(void *arg)
{
	struct task_run *run = arg;
	struct core *core = run->core;
	char seed[24];
	run->job = (struct inflight_job){.event = task_run_event, .done = on_task_run_done};
	(void)snprintf(seed, sizeof(seed), "%lld", (long long)jobs_seed());
	const char *mode = json_text_or_null(run->args, "mode");
	AUTO_JSON json_t *capture = NULL;
	if (is_wanted(run))
		(void)capture_read(run->args, mode, json_object_get(run->bundle, "task"), &capture, &run->err);
	if (run->err.code == 0 && plan_make(core->languages, run->bundle, run->code, mode, run->unit, seed, capture,
								  &run->plan, &run->err) == 0) {
		add_more(run);
		(void)loop_timer_start(core->setup.io, RUN_WATCH_MS, RUN_WATCH_MS, on_run_watch, run, &run->watch, NULL);
		if (local_job_start(core, &run->job, "local", run->unit, run->plan, &run->err) == 0)
			return;
	}
	task_run_end(run);
}

void
task_run_begin(void *arg)
{
	struct task_run *run = arg;
	if (member_is(run->args, "mode", "leaderboard"))
		(void)json_object_set_new(run->args, "mode", json_string("ranked"));
	if (!is_wanted(run) || choose_unit(run, &run->err) < 0)
		task_run_end(run);
	else
		local_job_describe(run->core, json_object_get(run->bundle, "task"), run->unit, task_run_plan, run);
}
