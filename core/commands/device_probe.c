/* SPDX-License-Identifier: MIT */
/* Whether the devices that are at hand have what a task needs, found out by building a little on each. */
/*
 * Theory of operation. One device after the other: what its machine says of its GPU, where the unit names one; then the
 * language's probe, which is a plan of build steps; then that plan, given to the unit's runner as a job that no queue knows.
 * What was built once is kept by kettle-exec, so the second probe of the same machine costs nothing. Nothing that goes
 * wrong here but a step that the language blames on the machine is told: jobs will say it.
 */
#include <config.h>

#include "commands/device_probe.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "judge/plan.h"
#include "judge/step_verdict.h"
#include "judge/unit_facts.h"
#include "session/core.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct probe {
	struct inflight_job inflight;
	struct core *core;
	json_t *bundle, *names; /* of devices that are still to be probed */
	json_t *unit;           /* of the one that is */
	struct plan *plan;
	struct kettle_error err;
	void (*done)(void *arg, const struct kettle_error *err);
	void *arg;
};

static void probe_next(void *arg);

static void
probe_finish(struct probe *probe)
{
	probe->done(probe->arg, &probe->err);
	json_decref(probe->bundle);
	json_decref(probe->names);
	json_decref(probe->unit);
	plan_free(probe->plan);
	free(probe);
}

/* The next one is posted, not called: those that end at once must not pile up on the stack. */
static void
probe_go_on(struct probe *probe)
{
	json_decref(STEAL(probe->unit));
	plan_free(STEAL(probe->plan));
	if (probe->err.code < 0 || probe->core->closing || loop_post(probe->core->setup.io, probe_next, probe) < 0)
		probe_finish(probe);
}

static void
no_event(struct inflight_job *inflight, const json_t *event)
{
	(void)inflight, (void)event;
}

static void
no_handle(struct inflight_job *inflight, const char *handle, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	(void)inflight, (void)handle;
	answer(arg, &none, json_null());
}

/* The first step that the machine is to blame for, in words. */
static void
read_outcomes(struct probe *probe, const struct completion *completion)
{
	const json_t *task = json_object_get(probe->bundle, "task");
	const struct language *language = language_find(&probe->core->languages, member_string(task, "lang"));
	for (size_t i = 0; i < probe->plan->count && probe->err.code == 0; i++) {
		const struct plan_step *step = &probe->plan->steps[i];
		const struct outcome *outcome = completion_outcome(completion, step->id);
		struct step_result result = {0};
		if (outcome)
			step_result_read(language, task, step, outcome, &result);
		if (result.state == VERDICT_ERROR && result.blame && strcmp(result.blame, "machine") == 0)
			(void)kettle_fail(&probe->err, KETTLE_EUNAVAIL, "The task cannot run on %s: %s",
				member_string(probe->unit, "name"), result.why.message);
	}
}

static void
on_probed(struct inflight_job *inflight, const struct completion *completion)
{
	struct probe *probe = (struct probe *)inflight;
	if (completion->status == COMPLETION_DONE)
		read_outcomes(probe, completion);
	probe_go_on(probe);
}

static const struct runner *
runner_of(const struct probe *probe)
{
	const char *name = member_string(probe->unit, "runner");
	for (size_t i = 0; i < probe->core->runners_count; i++)
		if (strcmp(probe->core->runners[i].name, name ? name : "local") == 0)
			return &probe->core->runners[i];
	return NULL;
}

static void
build(struct probe *probe)
{
	struct core *core = probe->core;
	const struct runner *runner = runner_of(probe);
	struct kettle_error untold = {0};
	(void)snprintf(probe->inflight.ref, sizeof(probe->inflight.ref), "probe-%ld.%llu", (long)getpid(),
		(unsigned long long)++core->local_jobs);
	if (!runner || core->closing ||
		task_plan_probe(&core->languages, probe->bundle, probe->unit, &probe->plan, &untold) != 0 ||
		inflight_add(&core->inflight, &probe->inflight) < 0) {
		probe_go_on(probe);
		return;
	}
	/* The runner may complete it before it returns, and the probe may be gone then: what it was lent is held here. */
	AUTO_JSON json_t *unit = json_incref(probe->unit), *plan = json_incref(probe->plan->json);
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, probe->inflight.ref, sizeof(ref));
	struct kettle_job job = {.size = sizeof(job), .ref = ref, .device = member_string(unit, "name"), .unit = unit};
	if (runner->ops->submit(runner->self, &job, plan, &untold) < 0 && inflight_find(&core->inflight, ref)) {
		inflight_remove(&core->inflight, &probe->inflight);
		probe_go_on(probe);
	}
}

/* What cannot be asked is planned with what the configuration says. */
static void
on_probe_described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct probe *probe = arg;
	if (err->code == 0)
		json_object_set_new(probe->unit, "facts", unit_facts_lasting(probe->unit, greeting));
	build(probe);
}

/* The first unit of the device as languages see it; NULL: it is not configured. New reference. */
static json_t *
unit_of(const struct core *core, const char *wanted)
{
	const char *name;
	json_t *device;
	json_object_foreach(core->devices, name, device) {
		if (strcasecmp(wanted, name) != 0)
			continue;
		json_t *unit = json_deep_copy(json_array_get(json_object_get(device, "units"), 0));
		(void)json_object_set_new(unit, "name", json_string(name));
		return unit;
	}
	return NULL;
}

static void
probe_next(void *arg)
{
	struct probe *probe = arg;
	struct kettle_error untold = {0};
	if (json_array_size(probe->names) == 0 || probe->core->closing) {
		probe_finish(probe);
		return;
	}
	probe->unit = unit_of(probe->core, json_string_value(json_array_get(probe->names, 0)));
	(void)json_array_remove(probe->names, 0);
	const struct runner *runner = probe->unit ? runner_of(probe) : NULL;
	if (!runner) {
		probe_go_on(probe);
		return;
	}
	AUTO_JSON json_t *section = unit_brief(probe->unit);
	if (!runner->ops->describe || !json_object_get(probe->unit, "gpu") ||
		runner->ops->describe(runner->self, section, on_probe_described, probe, &untold) < 0)
		build(probe);
}

/* Those that are named, else the task's, else all that are configured. New reference. */
static json_t *
probe_choose(const struct core *core, const json_t *bundle, const json_t *devices)
{
	const json_t *gpus = json_object_get(json_object_get(bundle, "task"), "gpus");
	if (json_array_size(devices) > 0 || json_array_size(gpus) > 0)
		return json_copy((json_t *)(json_array_size(devices) > 0 ? devices : gpus));
	json_t *names = json_array();
	const char *name;
	json_t *device;
	json_object_foreach(core->devices, name, device)
		(void)json_array_append_new(names, json_string(name));
	return names;
}

void
probe_task(struct core *core, const json_t *bundle, const json_t *devices,
	void (*done)(void *arg, const struct kettle_error *err), void *arg)
{
	struct probe *probe = xmalloc(sizeof(*probe));
	*probe = (struct probe){.inflight = {.event = no_event, .handle = no_handle, .done = on_probed},
		.core = core,
		.bundle = json_incref((json_t *)bundle),
		.names = probe_choose(core, bundle, devices),
		.done = done,
		.arg = arg};
	probe_next(probe);
}
