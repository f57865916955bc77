/* SPDX-License-Identifier: MIT */
/*
 * One run of device.calibrate: a task's template, as a benchmark, on one unit.
 *
 * Theory of operation. The plan is given to the unit's runner directly, as task.run does: kettle-exec makes it wait for
 * the device like any other job. What the runner reports comes back on the loop thread; a runner may complete a run
 * inside submit, so the caller does not use it afterwards.
 */
#include <config.h>

#include "commands/cmd_calibrate_internal.h"

#include "base/base.h"
#include "base/file.h"
#include "base/gpu_fitness.h"
#include "commands/local_job.h"
#include "judge/plan.h"
#include "judge/verdict.h"
#include "session/core.h"
#include "task/task.h"

#include <math.h>
#include <unistd.h>

#define LOAD_TEXT_MAX 256
#define LOAD_CORES 4 /* a load of one for this many cores is idle enough */
#define WATCH_MS 200 /* between checks whether a run is still needed */

/* ---- the present unit ---- */

json_t *
calibrate_unit(const struct calibration_run *c)
{
	return json_array_get(c->units, c->unit);
}

const json_t *
calibrate_row(const struct calibration_run *c)
{
	json_array_each(c->stored, row)
		if (strcasecmp(json_text_or_empty(row, "device"), json_text_or_empty(calibrate_unit(c), "device")) == 0 &&
			strcmp(json_text_or_empty(row, "key"), json_text_or_empty(calibrate_unit(c), "key")) == 0)
			return row;
	return NULL;
}

void
calibrate_remark(struct calibration_run *c, const char *what, const char *why)
{
	(void)json_array_append_new(c->remarks, json_sprintf("%s: %s", what, why));
}

bool
calibrate_stopped(const struct calibration_run *c)
{
	return c->core->closing || !core_is_awaited(c->core, &c->waiter);
}

/* ---- other work on its machine ---- */

double
calibrate_load_average(void)
{
	const char *named = getenv("KETTLE_LOADAVG");
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	if (file_read(named ? named : "/proc/loadavg", LOAD_TEXT_MAX, &text, &size, NULL) < 0)
		return NAN;
	char *end = text;
	double load = strtod(text, &end);
	return end > text ? load : NAN;
}

char *
calibrate_busy(const struct calibration_run *c)
{
	const struct runner *runner = local_job_runner(c->core, json_object_get(calibrate_unit(c), "config"));
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	/* Cores of a processor share caches and memory, so one free core is not enough. */
	double most = fmax(1, (double)cores / LOAD_CORES);
	if (member_true(c->args, "force") || !runner || strcmp(runner->name, "local") != 0 || !(c->load > most))
		return NULL;
	return xasprintf("The machine is busy: its load average is %.2f, and the limit for a calibration is %.2f (%ld "
					 "core%s). Try again when it is idle, or measure it now with --force.",
		c->load, most, cores, cores == 1 ? "" : "s");
}

/* ---- a run on it ---- */

/* The number of the run, and how many there are: of a shipped task, or of a leaderboard's. */
static json_t *
position(const struct calibration_run *c)
{
	const json_t *board = c->bundle == c->boards.bundle ? json_array_get(c->boards.list, c->boards.index) : NULL;
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:i, s:i}", "event", "measuring", "what",
		board ? "leaderboard" : "calibration task", "name",
		board ? json_text_or_empty(board, "leaderboard") : json_text_or_empty(c->bundle, "name"), "index",
		(json_int_t)(board ? c->boards.index : c->task) + 1, "count",
		(json_int_t)json_array_size(board ? c->boards.list : c->tasks), "run",
		(int)(board ? c->boards.round : c->round) + 1, "runs", CALIBRATE_ROUNDS);
}

/* The harness's own events do not matter, but a busy unit does. */
static void
on_calibrate_event(struct inflight_job *job, const json_t *event)
{
	const struct calibration_run *c = (struct calibration_run *)job;
	json_t *shown = NULL;
	if (member_is(event, "event", "waiting"))
		shown = json_pack("{s:s}", "event", "waiting");
	else if (member_is(event, "event", "step"))
		shown = c->position ? c->position(c) : position(c);
	if (shown)
		local_job_progress(c->core, c->waiter.caller, json_text_or_empty(calibrate_unit(c), "unit"), shown);
}

static void
stop_watch(struct calibration_run *c)
{
	loop_timer_stop(c->core->setup.io, STEAL(c->watch));
}

/* Cancels a run that is no longer needed, so that neither the device nor the engine's end waits for it. */
static void
on_watch(void *arg)
{
	struct calibration_run *c = arg;
	c->watched_ms += WATCH_MS;
	if (!calibrate_stopped(c) && (!c->limit_ms || c->watched_ms < c->limit_ms))
		return;
	const struct runner *runner = local_job_runner(c->core, json_object_get(calibrate_unit(c), "config"));
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, c->job.ref, sizeof(ref));
	stop_watch(c);
	runner->ops->cancel(runner->self, ref); /* may free c */
}

/* A run that passed fails where a GPU was unfit to score. */
static void
check_fitness(const struct calibration_run *c, const struct completion *completion, struct verdict *verdict)
{
	AUTO_JSON json_t *causes = json_array();
	AUTO_BUF struct buf text = {0};
	gpu_words_add_unfit(causes, completion->unfit, NULL);
	if (verdict->state != VERDICT_PASSED || strcmp(c->mode, "benchmark") != 0 || json_array_size(causes) == 0)
		return;
	gpu_words_explain(causes, &text);
	verdict->state = VERDICT_ERROR;
	(void)kettle_fail(&verdict->why, KETTLE_EUNAVAIL, "The GPU was not fit to score: %s.", text.data);
}

static void
on_done(struct inflight_job *job, const struct completion *completion)
{
	struct calibration_run *c = (struct calibration_run *)job;
	stop_watch(c);
	const json_t *machine = completion->system;
	AUTO_VERDICT struct verdict *verdict =
		verdict_make(c->languages, json_object_get(c->bundle, "task"), c->plan, completion, NULL);
	check_fitness(c, completion, verdict);
	bool passed = verdict->state == VERDICT_PASSED;
	plan_free(STEAL(c->plan));
	if (passed && json_is_object(machine) && !c->machine)
		c->machine = json_pack("{s:O*, s:O*, s:O*}", "cpu", json_object_get(machine, "cpu"), "cores",
			json_object_get(machine, "cores"), "memory", json_object_get(machine, "memory"));
	c->ran(c, passed ? verdict : NULL, passed ? NULL : verdict->why.message);
}

/* The unit as the engine passes it to plans, but without a calibration: harnesses report their own times. */
static json_t *
planned_unit(const struct calibration_run *c)
{
	json_t *device = json_copy(json_object_get(calibrate_unit(c), "config"));
	json_t *facts = json_object_get(calibrate_row(c), "facts");
	if (device && json_is_object(facts) && !json_object_get(device, "facts"))
		(void)json_object_set(device, "facts", facts);
	return device;
}

bool
calibrate_is_planned(const struct calibration_run *c)
{
	return c->planned;
}

int
calibrate_run(struct calibration_run *c, const json_t *bundle, calibrate_done ran, struct kettle_error *err)
{
	AUTO_JSON json_t *device = json_copy(json_object_get(calibrate_unit(c), "config")), *planned = planned_unit(c);
	json_t *expect = json_object_get(calibrate_unit(c), "expect");
	if (expect) /* where another machine may come each time, it is of the model that submissions run on */
		(void)json_object_set(device, "expect", expect);
	if (strcmp(c->mode, "benchmark") == 0) /* every score depends on these times */
		(void)json_object_set_new(device, "score", json_true());
	c->bundle = bundle;
	c->ran = ran;
	c->job = (struct inflight_job){.event = on_calibrate_event, .done = on_done};
	c->watched_ms = 0;
	int rc = plan_make(c->languages, bundle, task_template(bundle), c->mode, planned, NULL, NULL, &c->plan, err);
	c->planned = rc == 0;
	if (rc == 0)
		rc = loop_timer_start(c->core->setup.io, WATCH_MS, WATCH_MS, on_watch, c, &c->watch, err);
	if (rc == 0)
		rc = local_job_start(c->core, &c->job, c->kind, device, c->plan, err);
	if (rc < 0) {
		stop_watch(c);
		plan_free(STEAL(c->plan));
	}
	return rc;
}
