/* SPDX-License-Identifier: MIT */
/*
 * device.calibrate: runs the calibration tasks that ship with Kettle on each unit and keeps the median; then the tasks
 * of its boards, as far as they have calibrators of their own.
 *
 * Theory of operation. The folders of tasks/calibration are read on a thread of the pool, the rows of units and boards
 * on the store's; everything else happens on the loop thread, in sequence: unit by unit, and on each unit
 * CALIBRATE_ROUNDS times every task that its language can plan there (cmd_calibrate_run.c). The submission of such a
 * task is its template. Each run reports the time of its harness's calibrator; the medians are stored with the machine
 * that the runner names, those of a task as soon as it is whole (cmd_calibrate_keep.c). A unit whose machine is the one
 * of its calibration keeps it unless `force` is given. Calibrated now or before, its boards come next
 * (cmd_calibrate_boards.c).
 *
 *   load ──▶ stored ──▶ next unit ──▶ machine? ──▶ run … run ──▶ store ──▶ boards ──▶ next unit … ──▶ answer
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/cmd_calibrate_internal.h"
#include "commands/local_job.h"
#include "judge/calibration.h"
#include "model/board.h"
#include "model/settings.h"
#include "session/core.h"
#include "task/task.h"

#include <dirent.h>
#include <unistd.h>

#define CALIBRATE_FAILURES 3           /* of a task, after which it is left out: a busy machine fails some */
#define CALIBRATE_FOLDER "calibration" /* below the folder of the tasks that ship */

static void next_unit(struct calibration_run *c);
static void next_run(struct calibration_run *c);

struct calibration_run *
calibrate_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct calibration_run *c =
		xnew(struct calibration_run, .core = core, .languages = core->languages, .waiter = actor->waiter,
			.args = json_deep_copy(args), .units = json_array(), .tasks = json_array(), .results = json_array(),
			.mode = "benchmark", .kind = "calibrate", .load = calibrate_load_average(), .answer = answer, .arg = arg);
	return c;
}

void
calibrate_free(struct calibration_run *c)
{
	json_decref_all(c->args, c->units, c->tasks, c->stored, c->results, c->samples, c->ratios, c->parts, c->machine,
		c->remarks, c->found);
	calibrate_boards_free(&c->boards);
	free(c);
}

static void
calibrate_end(struct calibration_run *c)
{
	AUTO_JSON json_t *result = c->err.code < 0 ? NULL : json_pack("{s:O}", "units", c->results);
	c->answer(c->arg, &c->err, result);
	calibrate_free(c);
}

/* ---- the tasks ---- */

/* A folder whose language is not loaded is skipped silently: no board here is in that language. */
void
calibrate_load_task(struct calibration_run *c, const char *folder, const char *name)
{
	AUTO_FREE char *path = path_join(folder, name);
	AUTO_JSON json_t *bundle = NULL;
	struct kettle_error err = {0};
	if (name[0] == '.' || !path)
		return;
	if (task_read(c->languages, path, &bundle, &err) < 0)
		log_write(KETTLE_LOG_DEBUG, "calibrate", "%s: %s", path, err.message);
	else if (task_template(bundle))
		(void)json_array_append(c->tasks, bundle);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
calibrate_load(void *arg)
{
	struct calibration_run *c = arg;
	AUTO_FREE char *tasks = installed_tasks(), *folder = path_join(tasks, CALIBRATE_FOLDER);
	struct dirent **entries = NULL;
	int count = folder ? scandir(folder, &entries, NULL, by_name) : -1;
	for (int i = 0; i < count; i++) {
		calibrate_load_task(c, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (json_array_size(c->tasks) == 0)
		(void)kettle_fail(&c->err, KETTLE_EUNAVAIL,
			"The folder `%s` has no calibration task in a loaded language; KETTLE_TASKS names another folder.",
			folder ? folder : "");
}

/* ---- one unit ---- */

/* Ends the command if the engine stops or its caller has gone. True: it did, and c is freed. */
static bool
end_stopped(struct calibration_run *c)
{
	if (!calibrate_stopped(c))
		return false;
	(void)kettle_fail(&c->err, KETTLE_ECANCELED, "The calibration was interrupted; its measurements so far are kept.");
	calibrate_end(c);
	return true;
}

/* Adds the unit's result and goes on with the next unit. error: NULL, or the reason of a failure. */
static void
conclude(struct calibration_run *c, const char *error)
{
	const json_t *unit = calibrate_unit(c), *before = c->found && !calibrate_is_partial(c) ? calibrate_stored(c) : NULL;
	const json_t *calibration = error ? NULL : c->found ? c->found : calibrate_stored(c);
	const char *state = error ? "failed" : c->found ? "calibrated" : "already";
	json_t *result =
		json_pack("{s:O, s:O, s:s, s:O*, s:O*, s:O*, s:O*, s:O*, s:s*, s:O}", "device", json_object_get(unit, "device"),
			"unit", json_object_get(unit, "unit"), "state", state, "names", json_object_get(calibration, "names"),
			"spreads", json_object_get(calibration, "spreads"), "at", json_object_get(calibration, "at"), "before",
			json_object_get(before, "names"), "boards", c->boards.results, "error", error, "remarks", c->remarks);
	(void)json_array_append_new(c->results, result);
	c->unit++;
	next_unit(c);
}

static void
boards_ended(struct calibration_run *c, const char *error)
{
	if (end_stopped(c))
		return;
	/* The unit's own measurements are stored by now. */
	if (error)
		calibrate_remark(c, "leaderboards", error);
	conclude(c, NULL);
}

/*
 * The calibrations of its boards' tasks stay, unless the machine has changed; so do times that no task measures any more,
 * as long as there is a board that is old enough for a harness with them.
 */
static int
store_op_calibrate(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	const char *device = json_text_or_empty(calibrate_unit(c), "device"),
			   *key = json_text_or_empty(calibrate_unit(c), "key");
	AUTO_JSON json_t *before = NULL,
					 *data = json_pack("{s:s, s:s, s:O}", "device", device, "unit",
						 json_text_or_empty(calibrate_unit(c), "unit"), "names", json_object_get(c->found, "names"));
	int64_t oldest = INT64_MAX;
	int rc = settings_unit_calibration(db, device, key, &before, err);
	json_t *tasks = json_object_get(before, "tasks");
	if (rc == 0)
		rc = board_oldest_task(db, &oldest, err);
	if (rc == 0 && json_is_object(before) && !calibration_machine_changed(before, c->machine)) {
		calibration_keep_names(c->found, before, db->now_ms, oldest);
		if (tasks)
			(void)json_object_set(c->found, "tasks", tasks);
	}
	if (rc == 0)
		rc = calibrate_boards_prune(db, c->found, err);
	if (rc == 0)
		rc = settings_unit_calibrate(db, device, key, c->found, err);
	if (rc == 0)
		rc = settings_calibration_add(db, device, json_text_or_empty(calibrate_unit(c), "unit"), c->found, err);
	return rc < 0 ? rc : db_event(db, "device.calibrated", 'a', 0, 0, 0, data, err);
}

static void
on_calibrate_stored(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	if (err)
		conclude(c, err->message);
	else
		calibrate_boards(c);
}

/* Why nothing was measured: the first task's error, and whether the engine's machine is busy with other work. */
static void
conclude_unmeasured(struct calibration_run *c)
{
	AUTO_BUF struct buf error = {0};
	const char *first = json_string_value(json_array_get(c->remarks, 0));
	double load = calibrate_load_average();
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	buf_printf(&error, "no run of a calibrator passed%s%s", first ? ": " : "", first ? first : "");
	if (load > (double)cores)
		buf_printf(&error,
			" The engine's machine is busy: its load average is %.1f on %ld core%s. Try again when it is idle.", load,
			cores, cores == 1 ? "" : "s");
	conclude(c, error.data);
}

/* ---- the shipped tasks on it ---- */

static const json_t *
task_of(const struct calibration_run *c)
{
	return json_array_get(c->tasks, c->task);
}

/* Each task has its own samples, since different work cannot be compared. */
static void
next_task(struct calibration_run *c)
{
	json_object_clear(c->samples);
	json_object_clear(c->ratios);
	c->task++;
	c->round = 0;
	c->failures = 0;
}

static void
on_parts_stored(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	/* Only an interrupted calibration needs them. */
	if (err && err->code != KETTLE_ECANCELED)
		calibrate_remark(c, "the measurements so far are not kept", err->message);
	else if (!err)
		calibrate_tell_kept(c);
	next_run(c);
}

static void
task_ran(struct calibration_run *c, const struct verdict *verdict, const char *error)
{
	if (verdict) {
		size_t count = json_array_size(json_object_get(json_object_get(task_of(c), "task"), "benchmarks"));
		for (size_t i = 0; i < verdict->count; i++) {
			(void)calibration_collect(verdict->entries[i].result, count, false, c->samples);
			(void)calibration_collect_ratios(verdict->entries[i].result, c->ratios);
		}
		if (++c->round == CALIBRATE_ROUNDS) {
			/* All rounds of the task are over: its times are kept, whatever happens to the other tasks. */
			calibrate_add_part(c, task_of(c));
			next_task(c);
			if (c->core->closing || c->task == json_array_size(c->tasks) || json_object_size(c->parts) == 0)
				next_run(c);
			else
				store_write(c->core->store, calibrate_store_parts, on_parts_stored, c);
			return;
		}
	} else if (++c->failures == CALIBRATE_FAILURES) {
		/* The compiler may be missing, for example: its language's boards would fail as well. */
		calibrate_remark(c, json_text_or_empty(task_of(c), "name"), error);
		next_task(c);
	}
	next_run(c);
}

static void
next_run(struct calibration_run *c)
{
	struct kettle_error err = {0};
	/* The store closes with the engine: nothing more can be kept. */
	if (end_stopped(c))
		return;
	for (; c->task < json_array_size(c->tasks); next_task(c)) {
		if (calibrate_has_part(c, task_of(c)))
			continue;
		if (calibrate_run(c, task_of(c), task_ran, &err) == 0)
			return;
		calibrate_remark(c, json_text_or_empty(task_of(c), "name"), err.message);
	}
	/* All runs of the shipped tasks are over. */
	c->found = calibrate_join_parts(c);
	if (c->found)
		store_write(c->core->store, store_op_calibrate, on_calibrate_stored, c);
	else
		conclude_unmeasured(c);
}

static void
begin_unit(struct calibration_run *c, bool resume)
{
	AUTO_FREE char *busy = calibrate_busy(c);
	if (busy) {
		conclude(c, busy);
		return;
	}
	json_decref_all(STEAL(c->samples), STEAL(c->ratios));
	c->samples = json_object();
	c->ratios = json_object();
	c->task = 0;
	c->round = 0;
	c->failures = 0;
	calibrate_parts_begin(c, resume);
	calibrate_tell_kept(c);
	next_run(c);
}

/* ---- all units ---- */

/* Continues with a calibrated unit: with the rest of an interrupted calibration, else with its boards alone. */
static void
resume_unit(struct calibration_run *c)
{
	if (calibrate_is_partial(c))
		begin_unit(c, true);
	else
		calibrate_boards(c);
}

/* Calibrates the unit again if its machine has changed since. */
static void
on_calibrate_described(void *arg, const struct kettle_error *err, json_t *facts)
{
	struct calibration_run *c = arg;
	if (err->code < 0)
		conclude(c, err->message);
	else if (calibration_machine_changed(calibrate_stored(c), json_object_get(facts, "machine")))
		begin_unit(c, false);
	else
		resume_unit(c);
}

static void
next_unit(struct calibration_run *c)
{
	struct kettle_error err = {0};
	json_decref_all(STEAL(c->remarks), STEAL(c->found), STEAL(c->parts), STEAL(c->machine));
	calibrate_boards_free(&c->boards);
	c->remarks = json_array();
	if (c->unit == json_array_size(c->units)) {
		calibrate_end(c);
		return;
	}
	json_t *section = json_object_get(calibrate_unit(c), "config");
	const struct runner *runner = local_job_runner(c->core, section);
	if (!calibrate_stored(c) || member_true(c->args, "force"))
		begin_unit(c, false);
	else if (!runner || !runner->ops->describe)
		resume_unit(c);
	else if (runner->ops->describe(runner->self, section, on_calibrate_described, c, &err) < 0)
		conclude(c, err.message);
}

static int
read_stored(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	return settings_units(db, &c->stored, err);
}

static void
calibrate_begin(struct calibration_run *c)
{
	if (c->err.code < 0)
		calibrate_end(c);
	else
		next_unit(c);
}

static void
on_stored_read(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	if (err)
		c->err = *err;
	c->begun(c);
}

static void
on_loaded(void *arg)
{
	struct calibration_run *c = arg;
	if (c->err.code < 0 || c->core->closing)
		c->begun(c);
	else
		store_read(c->core->store, read_stored, on_stored_read, c);
}

/* The units of the devices that were named, or of all. */
static int
calibrate_choose(struct calibration_run *c, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = engine_devices(c->core->engine);
	const json_t *wanted = json_object_get(c->args, "device");
	json_array_each(wanted, one) {
		bool found = false;
		json_array_each(devices, device)
			found = found || strcasecmp(json_text_or_empty(device, "name"), json_string_value(one)) == 0;
		if (found)
			continue;
		const char *near = nearest_key(json_string_value(one), c->core->devices);
		return kettle_fail(
			err, KETTLE_EINVAL, "There is no device `%s` here%s%s%s", json_string_value(one), NEAREST_END(near));
	}
	json_array_each(devices, device)
		json_array_each(json_object_get(device, "units"), unit)
			if ((json_array_size(wanted) == 0 || list_find_text(wanted, json_text_or_empty(device, "name"))) &&
				strcmp(json_text_or_empty(unit, "state"), "removed") != 0) {
				(void)json_object_set(unit, "device", json_object_get(device, "name"));
				(void)json_array_append(c->units, unit);
			}
	return 0;
}

void
calibrate_prepare(struct calibration_run *c, void (*load)(void *arg), void (*begun)(struct calibration_run *c))
{
	c->begun = begun;
	if (calibrate_choose(c, &c->err) < 0 || core_work(c->core, load, on_loaded, c, &c->err) < 0)
		begun(c);
}

void
cmd_device_calibrate(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct calibration_run *c = calibrate_new(core, actor, args, answer, arg);
	c->boards_ended = boards_ended;
	calibrate_prepare(c, calibrate_load, calibrate_begin);
}
