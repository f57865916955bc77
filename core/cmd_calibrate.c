/* SPDX-License-Identifier: MIT */
/*
 * device.calibrate: runs the calibration tasks that ship with Kettle on each unit and keeps the median.
 *
 * Theory of operation. The folders of tasks/calibration are read on a thread of the pool, what is stored of the units on
 * the store's; everything else happens on the loop thread, one thing after the other: unit by unit, and on each unit
 * CALIBRATE_ROUNDS times every task that its language can plan there. A run is given to the unit's runner directly, as
 * task.run does: kettle-exec makes it wait for the device like any other job. The submission of such a task is its
 * template. Each run reports what its harness's calibrator took; the medians are stored with the machine that the runner
 * names. A unit whose machine is the one of its calibration is left as it is unless `force` is said.
 *
 *   load ──▶ stored ──▶ next unit ──▶ machine? ──▶ run … run ──▶ store ──▶ next unit … ──▶ answer
 */
#include <config.h>

#include "cmd_calibrate.h"

#include "calibration.h"
#include "cleanup.h"
#include "core_inner.h"
#include "file.h"
#include "log.h"
#include "nearest.h"
#include "shipped.h"
#include "shown.h"
#include "state.h"
#include "task.h"
#include "task_plan.h"
#include "times.h"
#include "verdict.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CALIBRATE_ROUNDS 5
#define CALIBRATE_FOLDER "calibration" /* below the folder of the tasks that ship */

struct calibrating {
	struct live_job live; /* first: what a runner says comes here */
	struct core *core;
	json_t *args, *units, *tasks, *stored, *results; /* units: of engine_devices, with "device" */
	size_t unit, task;
	unsigned round;
	json_t *plan, *samples, *machine, *remarks; /* of the unit at hand */
	json_t *ratios, *spreads;                   /* of the task at hand, of the unit */
	json_t *found;                              /* its calibration, while it is stored */
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static void next_unit(struct calibrating *c);
static void next_run(struct calibrating *c);

static void
end(struct calibrating *c)
{
	AUTO_JSON json_t *result = c->err.code < 0 ? NULL : json_pack("{s:O}", "units", c->results);
	c->answer(c->arg, &c->err, result);
	json_decref(c->args);
	json_decref(c->units);
	json_decref(c->tasks);
	json_decref(c->stored);
	json_decref(c->results);
	json_decref(c->plan);
	json_decref(c->samples);
	json_decref(c->ratios);
	json_decref(c->spreads);
	json_decref(c->machine);
	json_decref(c->remarks);
	json_decref(c->found);
	free(c);
}

/* ---- the tasks ---- */

/* The template of a task is what it calibrates with. */
static const char *
code_of(const json_t *bundle)
{
	const char *language;
	json_t *template;
	json_object_foreach(json_object_get(bundle, "templates"), language, template)
		return json_string_value(json_object_get(template, "text"));
	return NULL;
}

/* A folder whose language is not loaded here is nothing to complain about: its boards do not exist here either. */
static void
load_task(struct calibrating *c, const char *folder, const char *name)
{
	AUTO_FREE char *path = path_join(folder, name);
	AUTO_JSON json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (name[0] == '.' || !path)
		return;
	if (task_read(&c->core->languages, path, &bundle, &err) < 0)
		log_write(KETTLE_LOG_DEBUG, "calibrate", "%s: %s", path, err.message);
	else if (code_of(bundle))
		(void)json_array_append(c->tasks, bundle);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
load(void *arg)
{
	struct calibrating *c = arg;
	AUTO_FREE char *tasks = shipped_dir(), *folder = tasks ? path_join(tasks, CALIBRATE_FOLDER) : NULL;
	struct dirent **entries = NULL;
	int count = folder ? scandir(folder, &entries, NULL, by_name) : -1;
	for (int i = 0; i < count; i++) {
		load_task(c, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (json_array_size(c->tasks) == 0)
		(void)kettle_fail(&c->err, KETTLE_EUNAVAIL,
			"There is no calibration task for a language that is loaded in `%s`; KETTLE_TASKS names another folder.",
			folder ? folder : "");
}

/* ---- one unit ---- */

static json_t *
unit_of(const struct calibrating *c)
{
	return json_array_get(c->units, c->unit);
}

/* What is stored of the unit, or NULL. */
static const json_t *
stored_of(const struct calibrating *c)
{
	size_t i;
	json_t *row;
	json_array_foreach(c->stored, i, row)
		if (strcasecmp(text_of(row, "device"), text_of(unit_of(c), "device")) == 0 &&
			strcmp(text_of(row, "unit"), text_of(unit_of(c), "unit")) == 0 &&
			json_is_object(json_object_get(row, "calibration")))
			return json_object_get(row, "calibration");
	return NULL;
}

static const struct runner *
runner_of(const struct calibrating *c)
{
	for (size_t i = 0; i < c->core->runners_count; i++)
		if (strcmp(c->core->runners[i].name, text_of(unit_of(c), "runner")) == 0)
			return &c->core->runners[i];
	return NULL;
}

/* The unit is done with: one more result, and on to the next. */
static void
conclude(struct calibrating *c, const char *state, const json_t *calibration, const char *error)
{
	const json_t *unit = unit_of(c), *before = strcmp(state, "calibrated") == 0 ? stored_of(c) : NULL;
	json_t *result =
		json_pack("{s:O, s:O, s:s, s:O*, s:O*, s:O*, s:O*, s:s*, s:O}", "device", json_object_get(unit, "device"),
			"unit", json_object_get(unit, "unit"), "state", state, "names", json_object_get(calibration, "names"),
			"spreads", json_object_get(calibration, "spreads"), "at", json_object_get(calibration, "at"), "before",
			json_object_get(before, "names"), "error", error, "remarks", c->remarks);
	(void)json_array_append_new(c->results, result);
	c->unit++;
	next_unit(c);
}

static int
store_op_calibrate(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibrating *c = arg;
	const char *device = text_of(unit_of(c), "device"), *unit = text_of(unit_of(c), "unit");
	AUTO_JSON json_t *data =
		json_pack("{s:s, s:s, s:O}", "device", device, "unit", unit, "names", json_object_get(c->found, "names"));
	int code = state_unit_calibrate(db, device, unit, c->found, err);
	return code < 0 ? code : db_event(db, "device.calibrated", 'a', 0, 0, 0, data, err);
}

static void
stored(void *arg, const struct kettle_error *err)
{
	struct calibrating *c = arg;
	AUTO_JSON json_t *found = STEAL(c->found);
	conclude(c, err ? "failed" : "calibrated", err ? NULL : found, err ? err->message : NULL);
}

/* All runs of the unit are over. */
static void
finish_unit(struct calibrating *c)
{
	char now[TIME_TEXT_SIZE];
	AUTO_JSON json_t *names = calibration_medians(c->samples);
	if (!names || json_object_size(names) == 0) {
		conclude(c, "failed", NULL, "no harness reported a calibrator");
		return;
	}
	time_text(time_now_ms(), now);
	c->found =
		json_pack("{s:O, s:O, s:O*, s:s}", "names", names, "spreads", c->spreads, "machine", c->machine, "at", now);
	store_write(c->core->store, store_op_calibrate, stored, c);
}

/* ---- one run ---- */

static const json_t *
task_of(const struct calibrating *c)
{
	return json_array_get(c->tasks, c->task);
}

static void
on_event(struct live_job *live, const json_t *event)
{
	struct calibrating *c = (struct calibrating *)live;
	json_t *shown = shown_event(c->plan, event);
	AUTO_JSON json_t *progress = json_pack("{s:s, s:b, s:O, s:o}", "kind", "progress", "task_run", 1, "device",
		json_object_get(unit_of(c), "device"), "event", shown);
	if (progress)
		subscriptions_event(c->core, progress);
}

/* Nothing is to be found again after a restart: it is asked for anew. */
static void
on_handle(struct live_job *live, const char *handle, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	(void)live;
	(void)handle;
	answer(arg, &none, json_null());
}

static void
take_run(struct calibrating *c, const json_t *verdict)
{
	size_t i, count = json_array_size(json_object_get(json_object_get(task_of(c), "task"), "benchmarks"));
	json_t *run;
	json_array_foreach(json_object_get(verdict, "runs"), i, run) {
		(void)calibration_collect(json_object_get(run, "result"), count, c->samples);
		(void)calibration_collect_ratios(json_object_get(run, "result"), c->ratios);
	}
}

/* On to the next task. Ratios of different work have nothing to do with each other. */
static void
next_task(struct calibrating *c)
{
	calibration_spreads(c->ratios, c->spreads);
	json_object_clear(c->ratios);
	c->task++;
	c->round = 0;
}

/* A task that does not work here, for want of a compiler, say: its language's boards do not either. */
static void
remark(struct calibrating *c, const char *why)
{
	(void)json_array_append_new(c->remarks, json_sprintf("%s: %s", text_of(task_of(c), "name"), why));
	next_task(c);
}

static void
on_done(struct live_job *live, const json_t *completion)
{
	struct calibrating *c = (struct calibrating *)live;
	const json_t *machine = json_object_get(completion, "system");
	const json_t *task = json_object_get(task_of(c), "task");
	AUTO_JSON json_t *verdict = NULL;
	struct kettle_error err = {0};
	int code = verdict_make(&c->core->languages, task, c->plan, completion, &verdict, &err);
	json_decref(STEAL(c->plan));
	if (code == 0 && strcmp(text_of(verdict, "state"), "passed") != 0)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s", text_of(verdict, "error"));
	if (err.code < 0) {
		remark(c, err.message);
	} else {
		take_run(c, verdict);
		if (json_is_object(machine) && !c->machine)
			c->machine = json_pack("{s:O*, s:O*, s:O*}", "cpu", json_object_get(machine, "cpu"), "cores",
				json_object_get(machine, "cores"), "memory", json_object_get(machine, "memory"));
		c->round++;
	}
	next_run(c);
}

/* Gives the plan to the unit's runner, which may complete it before this returns: nothing of c is touched after that. */
static int
give(struct calibrating *c, const json_t *device, struct kettle_error *err)
{
	struct core *core = c->core;
	const struct runner *runner = runner_of(c);
	AUTO_JSON json_t *plan = json_incref(c->plan);
	char ref[LIVE_REF_SIZE];
	(void)snprintf(ref, sizeof(ref), "calibrate-%ld.%llu", (long)getpid(), (unsigned long long)++core->local_jobs);
	if (!runner)
		return kettle_fail(err, KETTLE_EUNAVAIL, "Its runner is not loaded.");
	c->live = (struct live_job){.event = on_event, .handle = on_handle, .done = on_done};
	memcpy(c->live.ref, ref, sizeof(ref));
	if (live_add(&core->live, &c->live) < 0)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	struct kettle_job job = {.size = sizeof(job), .ref = ref, .device = text_of(device, "name"), .unit = device};
	int code = runner->ops->submit(runner->self, &job, plan, err);
	if (code < 0 && live_find(&core->live, ref) == &c->live)
		live_remove(&core->live, &c->live);
	else
		code = 0;
	return code;
}

/* Plans the task at hand for the unit and starts it. */
static int
start_run(struct calibrating *c, struct kettle_error *err)
{
	const json_t *bundle = task_of(c);
	/* As the configuration has it, without a calibration: harnesses report their own times. */
	AUTO_JSON json_t *device = json_incref(json_object_get(unit_of(c), "config"));
	int code = task_plan(&c->core->languages, bundle, code_of(bundle), "benchmark", device, NULL, &c->plan, err);
	if (code == 0)
		code = give(c, device, err);
	return code;
}

static void
next_run(struct calibrating *c)
{
	struct kettle_error err = {0};
	if (c->round == CALIBRATE_ROUNDS)
		next_task(c);
	/* The store goes with the engine: what was measured could not be kept. */
	if (c->core->closing) {
		(void)kettle_fail(&c->err, KETTLE_ECANCELED, "The engine is stopping; nothing more is calibrated.");
		end(c);
		return;
	}
	while (c->task < json_array_size(c->tasks)) {
		if (start_run(c, &err) == 0)
			return;
		json_decref(STEAL(c->plan));
		remark(c, err.message);
	}
	finish_unit(c);
}

static void
begin_unit(struct calibrating *c)
{
	json_decref(STEAL(c->samples));
	json_decref(STEAL(c->ratios));
	json_decref(STEAL(c->spreads));
	json_decref(STEAL(c->machine));
	c->samples = json_object();
	c->ratios = json_object();
	c->spreads = json_object();
	c->task = 0;
	c->round = 0;
	next_run(c);
}

/* ---- all units ---- */

/* Whether a unit that is calibrated still has the machine of then. */
static void
described(void *arg, const struct kettle_error *err, json_t *facts)
{
	struct calibrating *c = arg;
	const json_t *calibration = stored_of(c);
	if (err->code < 0)
		conclude(c, "failed", NULL, err->message);
	else if (calibration_machine_changed(calibration, json_object_get(facts, "machine")))
		begin_unit(c);
	else
		conclude(c, "already", calibration, NULL);
}

static void
next_unit(struct calibrating *c)
{
	struct kettle_error err = {0};
	json_decref(STEAL(c->remarks));
	c->remarks = json_array();
	if (c->unit == json_array_size(c->units)) {
		end(c);
		return;
	}
	const json_t *calibration = stored_of(c);
	const struct runner *runner = runner_of(c);
	if (!calibration || json_is_true(json_object_get(c->args, "force")))
		begin_unit(c);
	else if (!runner || !runner->ops->describe)
		conclude(c, "already", calibration, NULL);
	else if (runner->ops->describe(runner->self, json_object_get(unit_of(c), "config"), described, c, &err) < 0)
		conclude(c, "failed", NULL, err.message);
}

static int
read_stored(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibrating *c = arg;
	return state_units(db, &c->stored, err);
}

static void
begin(void *arg, const struct kettle_error *err)
{
	struct calibrating *c = arg;
	if (err)
		c->err = *err;
	if (c->err.code < 0)
		end(c);
	else
		next_unit(c);
}

static void
loaded(void *arg)
{
	struct calibrating *c = arg;
	if (c->err.code < 0 || c->core->closing)
		begin(c, NULL);
	else
		store_read(c->core->store, read_stored, begin, c);
}

static bool
is_wanted(const json_t *wanted, const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach(wanted, i, one)
		if (strcasecmp(json_string_value(one), name) == 0)
			return true;
	return json_array_size(wanted) == 0;
}

/* The units of the devices that were named, or of all. */
static int
choose(struct calibrating *c, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = engine_devices(c->core->engine);
	const json_t *wanted = json_object_get(c->args, "device");
	size_t i, k;
	json_t *device, *unit, *one;
	json_array_foreach((json_t *)wanted, i, one) {
		bool found = false;
		json_array_foreach(devices, k, device)
			found = found || strcasecmp(text_of(device, "name"), json_string_value(one)) == 0;
		if (found)
			continue;
		const char *near = nearest_key(json_string_value(one), c->core->devices);
		return kettle_fail(err, KETTLE_EINVAL, "There is no device `%s` here%s%s%s", json_string_value(one),
			near ? "; did you mean `" : "", near ? near : "", near ? "`?" : ".");
	}
	json_array_foreach(devices, i, device)
		json_array_foreach(json_object_get(device, "units"), k, unit)
			if (is_wanted(wanted, text_of(device, "name")) && strcmp(text_of(unit, "state"), "removed") != 0) {
				(void)json_object_set(unit, "device", json_object_get(device, "name"));
				(void)json_array_append(c->units, unit);
			}
	return 0;
}

void
cmd_device_calibrate(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {.code = KETTLE_ENOMEM, .message = "There is not enough memory to calibrate."};
	struct calibrating *c = calloc(1, sizeof(*c));
	(void)actor;
	if (!c) {
		answer(arg, &err, NULL);
		return;
	}
	*c = (struct calibrating){.core = core,
		.args = json_deep_copy(args),
		.units = json_array(),
		.tasks = json_array(),
		.results = json_array(),
		.answer = answer,
		.arg = arg};
	if (choose(c, &c->err) < 0 || hostio_work(core->setup.io, load, loaded, c, &c->err) < 0)
		end(c);
}
