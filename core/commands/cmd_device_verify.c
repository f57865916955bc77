/* SPDX-License-Identifier: MIT */
/*
 * device.verify: runs the templates of shipped tasks, which are correct, on each unit, and says which of them work.
 *
 * Theory of operation. The simplest shipped task of each language is run by its tests, one after the other and unit by
 * unit, as device.calibrate runs its tasks (cmd_calibrate_run.c): through the unit's runner, beside the queue. A
 * language that is not loaded is left out; a task that its language cannot plan on the unit, such as CUDA on a CPU, is
 * skipped. A unit that is disabled is tried as well.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/log.h"
#include "commands/cmd_calibrate_internal.h"
#include "commands/local_job.h"

#define VERIFY_LIMIT_MS 1200000 /* of one run, with its wait for the device */

/* The identity task, if there is one for the language. */
static const char *const verify_tasks[] = {"identity_py", "vectoradd_cpp", "identity_cuda", "vectoradd_hip"};

static void verify_next_unit(struct calibration_run *c);
static void verify_next_task(struct calibration_run *c);

static void
verify_end(struct calibration_run *c)
{
	AUTO_JSON json_t *result = c->err.code < 0 ? NULL : json_pack("{s:O}", "units", c->results);
	c->answer(c->arg, &c->err, result);
	calibrate_free(c);
}

static void
verify_load(void *arg)
{
	struct calibration_run *c = arg;
	AUTO_FREE char *folder = installed_tasks();
	for (size_t i = 0; i < ARRAY_SIZE(verify_tasks); i++)
		calibrate_load_task(c, folder, verify_tasks[i]);
	if (json_array_size(c->tasks) == 0)
		(void)kettle_fail(&c->err, KETTLE_EUNAVAIL,
			"The folder `%s` has none of the tasks for a verification in a loaded language; KETTLE_TASKS names another "
			"folder.",
			folder);
}

static const json_t *
verify_task(const struct calibration_run *c)
{
	return json_array_get(c->tasks, c->task);
}

/* The position of the run, for the caller who waits. */
static json_t *
verify_position(const struct calibration_run *c)
{
	return json_pack("{s:s, s:s, s:O, s:I, s:I, s:i, s:i}", "event", "measuring", "what", "verification task", "name",
		json_object_get(verify_task(c), "name"), "index", (json_int_t)c->task + 1, "count",
		(json_int_t)json_array_size(c->tasks), "run", 1, "runs", 1);
}

static void
verify_note(struct calibration_run *c, const char *state, const char *error)
{
	(void)json_array_append_new(c->parts,
		json_pack("{s:O, s:s, s:s*}", "name", json_object_get(verify_task(c), "name"), "state", state, "error", error));
}

/* The unit has failed if one of its tasks has, or none could be run. */
static void
verify_conclude(struct calibration_run *c)
{
	const json_t *unit = calibrate_unit(c);
	AUTO_FREE char *error = NULL;
	size_t passed = 0;
	json_array_each(c->parts, row) {
		passed += member_is(row, "state", "passed");
		if (!error && member_is(row, "state", "failed"))
			error = xasprintf("%s: %s", json_text_or_empty(row, "name"), json_text_or_empty(row, "error"));
	}
	if (!error && passed == 0)
		error = xasprintf("no task could be run: %s", json_text_or_empty(json_array_get(c->parts, 0), "error"));
	(void)json_array_append_new(c->results,
		json_pack("{s:O, s:O, s:s, s:s*, s:O}", "device", json_object_get(unit, "device"), "unit",
			json_object_get(unit, "unit"), "state", error ? "failed" : "passed", "error", error, "tasks", c->parts));
	c->unit++;
	verify_next_unit(c);
}

static void
verify_ran(struct calibration_run *c, const struct verdict *verdict, const char *error)
{
	verify_note(c, verdict ? "passed" : "failed", verdict ? NULL : *error ? error : "It did not pass.");
	c->task++;
	verify_next_task(c);
}

static void
verify_next_task(struct calibration_run *c)
{
	struct kettle_error err = {0};
	if (calibrate_stopped(c)) {
		(void)kettle_fail(&c->err, KETTLE_ECANCELED, "The verification was interrupted.");
		verify_end(c);
		return;
	}
	for (; c->task < json_array_size(c->tasks); c->task++) {
		int rc = calibrate_run(c, verify_task(c), verify_ran, &err);
		if (rc == 0)
			return;
		/* A refusal of the runner is a fault of the unit, a failure to plan is not. */
		verify_note(c, calibrate_is_planned(c) ? "failed" : "skipped", err.message);
	}
	verify_conclude(c);
}

static void
verify_begin_unit(void *arg)
{
	struct calibration_run *c = arg;
	c->task = 0;
	verify_next_task(c);
}

static void
verify_next_unit(struct calibration_run *c)
{
	json_decref(STEAL(c->parts));
	c->parts = json_array();
	if (c->unit == json_array_size(c->units))
		verify_end(c);
	else
		local_job_describe(c->core, NULL, json_object_get(calibrate_unit(c), "config"), verify_begin_unit, c);
}

static void
verify_begun(struct calibration_run *c)
{
	if (c->err.code < 0)
		verify_end(c);
	else
		verify_next_unit(c);
}

void
cmd_device_verify(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct calibration_run *c = calibrate_new(core, actor, args, answer, arg);
	c->mode = "test";
	c->kind = "verify";
	c->limit_ms = VERIFY_LIMIT_MS;
	c->position = verify_position;
	calibrate_prepare(c, verify_load, verify_begun);
}
