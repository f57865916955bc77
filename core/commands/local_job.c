/* SPDX-License-Identifier: MIT */
/* Jobs that no queue knows: a plan on one unit, for a command of this process that waits for its end. */
#include <config.h>

#include "commands/local_job.h"

#include "base/base.h"
#include "base/log.h"
#include "base/text.h"
#include "judge/unit_facts.h"
#include "loop/loop_services.h"

json_t *
local_job_unit(const struct core *core, const char *device)
{
	json_object_each(core->devices, name, found) {
		if (device && strcasecmp(device, name) != 0)
			continue;
		json_t *unit = json_deep_copy(json_array_get(json_object_get(found, "units"), 0));
		json_object_set_new(unit, "name", json_string(name));
		return unit;
	}
	return NULL;
}

json_t *
local_job_devices(const struct core *core, const json_t *bundle, const json_t *devices)
{
	const json_t *gpus = json_object_get(json_object_get(bundle, "task"), "gpus");
	if (json_array_size(devices) > 0 || json_array_size(gpus) > 0)
		return json_copy((json_t *)(json_array_size(devices) > 0 ? devices : gpus));
	json_t *names = json_array();
	json_object_each(core->devices, name, device)
		(void)json_array_append_new(names, json_string(name));
	return names;
}

const struct runner *
local_job_runner(const struct core *core, const json_t *unit)
{
	const char *name = json_text_or_null(unit, "runner");
	for (size_t i = 0; i < core->runners_count; i++)
		if (strcmp(core->runners[i].name, name ? name : "local") == 0)
			return &core->runners[i];
	return NULL;
}

/* A pending description of a unit. It stays until the runner answers. */
struct describe_request {
	json_t *unit;
	const char *runner;
	struct loop_services *io;
	struct kettle_timer *limit;
	void (*then)(void *arg); /* NULL: the limit has passed */
	void *arg;
};

static void
describe_overdue(void *arg)
{
	struct describe_request *request = arg;
	request->limit = NULL;
	log_write(KETTLE_LOG_WARNING, request->runner,
		"The machine of %s did not report its facts within %.3g s; the job is planned by the configuration alone.",
		json_text_or_empty(request->unit, "name"), (double)LOCAL_JOB_DESCRIBE_MS / 1000);
	STEAL(request->then)(request->arg);
}

static void
on_described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct describe_request *request = arg;
	if (request->then) {
		loop_timer_stop(request->io, request->limit);
		if (err->code == 0)
			json_object_set_new(request->unit, "facts", unit_facts_lasting(request->unit, greeting));
		request->then(request->arg);
	}
	json_decref(request->unit);
	free(request);
}

void
local_job_describe(const struct core *core, const json_t *task, json_t *unit, void (*then)(void *arg), void *arg)
{
	const struct runner *runner = local_job_runner(core, unit);
	struct kettle_error err = {0};
	bool matters = json_object_get(unit, "gpu") || json_object_get(task, "memory");
	if (!runner || !runner->ops->describe || !matters) {
		then(arg);
		return;
	}
	struct describe_request *request = xnew(struct describe_request, .unit = json_incref(unit), .runner = runner->name,
		.io = core->setup.io, .then = then, .arg = arg);
	(void)loop_timer_start(request->io, LOCAL_JOB_DESCRIBE_MS, 0, describe_overdue, request, &request->limit, NULL);
	AUTO_JSON json_t *section = unit_brief(unit);
	int rc = runner->ops->describe(runner->self, section, on_described, request, &err);
	if (rc < 0) {
		err.code = rc;
		on_described(request, &err, NULL);
	}
}

/* ---- the time of a job ---- */

/* Between a job and its caller. It is freed with the job's completion. */
struct job_limit {
	struct core *core;
	const struct runner *runner;
	struct inflight_job *job;
	uint64_t total_ms;
	struct kettle_timer *timer; /* NULL: the job waits on the remote side */
	bool cancelled;
	void (*event)(struct inflight_job *job, const json_t *event);
	void (*done)(struct inflight_job *job, const struct completion *completion);
};

/* Gives the job back to its caller. */
static void
limit_free(struct job_limit *limit)
{
	loop_timer_stop(limit->core->setup.io, limit->timer);
	limit->job->event = limit->event;
	limit->job->done = limit->done;
	limit->job->limit = NULL;
	free(limit);
}

static void
limited_done(struct inflight_job *job, const struct completion *completion)
{
	limit_free(job->limit);
	job->done(job, completion);
}

static void
job_overdue(void *arg)
{
	struct job_limit *limit = arg;
	struct core *core = limit->core;
	struct inflight_job *job = limit->job;
	limit->timer = NULL;
	if (!limit->cancelled) {
		limit->cancelled = true;
		log_write(KETTLE_LOG_WARNING, limit->runner->name, "job %s exceeded its limit of %.3g s and is cancelled.",
			job->ref, (double)limit->total_ms / 1000);
		(void)loop_timer_start(core->setup.io, LOCAL_JOB_CANCEL_MS, 0, job_overdue, limit, &limit->timer, NULL);
		/* It may complete the job. */
		limit->runner->ops->cancel(limit->runner->self, job->ref);
		return;
	}
	const struct completion lost = {.status = COMPLETION_LOST,
		.error = "The runner has neither completed the job within its time nor cancelled it."};
	inflight_remove(&core->inflight, job);
	limited_done(job, &lost);
}

static void
limit_begin(struct job_limit *limit)
{
	loop_timer_stop(limit->core->setup.io, STEAL(limit->timer));
	(void)loop_timer_start(limit->core->setup.io, limit->total_ms, 0, job_overdue, limit, &limit->timer, NULL);
}

/* As the engine counts (runner.h): no clock runs while the job queues on a remote side. */
static void
limited_event(struct inflight_job *job, const json_t *event)
{
	struct job_limit *limit = job->limit;
	if (!limit->cancelled && member_is(event, "event", "waiting"))
		loop_timer_stop(limit->core->setup.io, STEAL(limit->timer));
	else if (!limit->cancelled && !limit->timer)
		limit_begin(limit);
	limit->event(job, event);
}

static void
limit_job(struct core *core, const struct runner *runner, struct inflight_job *job, const struct plan *plan)
{
	struct job_limit *limit =
		xnew(struct job_limit, .core = core, .runner = runner, .job = job, .event = job->event, .done = job->done);
	/* If a GPU is throttled, kettle-exec runs a step a second time. */
	limit->total_ms = (uint64_t)((plan_wall_s(plan, false) + 2 * plan_wall_s(plan, true)) * 1000) + LOCAL_JOB_SLACK_MS;
	job->limit = limit;
	job->event = limited_event;
	job->done = limited_done;
	limit_begin(limit);
}

/* Nothing that could be recovered outlives this process. */
static void
drop_handle(struct inflight_job *job, const char *handle, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	(void)job;
	(void)handle;
	if (answer)
		answer(arg, &none, json_null());
}

int
local_job_start(struct core *core, struct inflight_job *job, const char *kind, json_t *unit, const struct plan *plan,
	struct kettle_error *err)
{
	const struct runner *runner = local_job_runner(core, unit);
	if (!runner)
		return kettle_fail(
			err, KETTLE_EINVAL, "The device's runner `%s` is not loaded.", json_text_or_empty(unit, "runner"));
	plan_set_owner(plan, kind);
	/* The job's owner may be gone when the runner returns: these references hold the runner's arguments. */
	AUTO_JSON json_t *held_unit = json_copy(unit), *held_plan = json_incref(plan->json);
	AUTO_JSON json_t *expect = json_object_get(unit, "expect") ? NULL : unit_expect(unit, NULL);
	if (expect)
		(void)json_object_set(held_unit, "expect", expect);
	char ref[INFLIGHT_REF_SIZE];
	(void)snprintf(ref, sizeof(ref), "%s-%ld.%llu", kind, (long)getpid(), (unsigned long long)++core->local_jobs);
	memcpy(job->ref, ref, sizeof(ref));
	job->handle = drop_handle;
	(void)inflight_add(&core->inflight, job); /* the reference is new */
	uint32_t bits;
	char name[INFLIGHT_REF_SIZE + 20]; /* of no database, so that only chance keeps it apart from others */
	random_bytes(&bits, sizeof(bits));
	(void)snprintf(name, sizeof(name), "kettle-%08x-%s", bits, ref);
	struct kettle_job request = {.size = sizeof(request),
		.ref = ref,
		.device = json_text_or_empty(unit, "name"),
		.unit = held_unit,
		.name = name};
	limit_job(core, runner, job, plan);
	int rc = runner->ops->submit(runner->self, &request, held_plan, err);
	if (rc >= 0 || inflight_find(&core->inflight, ref) != job)
		return 0;
	inflight_remove(&core->inflight, job);
	limit_free(job->limit);
	return rc;
}

void
local_job_tell(struct core *core, uint64_t caller, json_t *members_take)
{
	AUTO_JSON json_t *progress =
		json_pack("{s:s, s:s, s:b, s:I}", "at", TIME_TEXT(clock_utc_ms(loop_clock(core->setup.io))), "kind", "progress",
			"task_run", 1, "caller", (json_int_t)caller);
	(void)json_object_update_new(progress, members_take);
	core_publish(core, progress);
}

void
local_job_progress(struct core *core, uint64_t caller, const char *device, json_t *event_take)
{
	json_t *members = json_pack("{s:s, s:o}", "device", device, "event", event_take);
	if (members)
		local_job_tell(core, caller, members);
}

void
local_job_publish(struct core *core, uint64_t caller, const struct plan *plan, const char *device, const json_t *event)
{
	json_t *shown = plan_redact_event(plan, event);
	if (shown)
		local_job_progress(core, caller, device, shown);
}
