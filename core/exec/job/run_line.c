/* SPDX-License-Identifier: MIT */
/* Reads a run line: the parts of a job, its place, and the places of its files. */
#include <config.h>

#include <inttypes.h>
#include <limits.h>

#include "base/base.h"
#include "base/text.h"
#include "exec/job/job.h"
#include "exec/job/job_internal.h"
#include "exec/machine/machine.h"

/* Reads a member that is a number or a string. New string; NULL: it is missing. */
static int
text_member(const json_t *object, const char *key, char **ret_text, struct kettle_error *err)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_integer(value))
		*ret_text = xasprintf("%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		*ret_text = xstrdup(json_string_value(value));
	else if (value && !json_is_null(value))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` of the unit must be a string or an integer.", key);
	return 0;
}

static int
read_cores(const struct exec_context *exec, const json_t *object, const char *name, struct cores *cores,
	struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	int rc = text_member(object, "cores", &text, err);
	if (rc == 0 && text)
		rc = cores_parse(text, cores, err);
	for (size_t i = 0; rc == 0 && i < cores->count; i++)
		if (!cores_has(&exec->all, cores->list[i]))
			rc = kettle_fail(err, KETTLE_EUNAVAIL,
				"Unit `%s` runs on the cores %s, but core %d is not available to kettle-exec (%zu cores are).", name,
				text, cores->list[i], exec->all.count);
	return rc;
}

static int
read_slots(const json_t *object, unsigned *ret_slots, struct kettle_error *err)
{
	const json_t *slots = json_object_get(object, "slots");
	if (slots &&
		(!json_is_integer(slots) || json_integer_value(slots) < 1 || json_integer_value(slots) > JOB_MAX_SLOTS))
		return kettle_fail(err, KETTLE_EINVAL, "`slots` of the unit must be an integer from 1 to %d.", JOB_MAX_SLOTS);
	*ret_slots = slots ? (unsigned)json_integer_value(slots) : 1;
	return 0;
}

static int
read_memory(const struct exec_context *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const json_t *memory = json_object_get(object, "memory"), *slots = json_object_get(object, "runner_slots");
	json_int_t bytes = json_integer_value(memory), count = slots ? json_integer_value(slots) : 1;
	uint64_t most = exec->config.max.memory;
	if ((memory && bytes < 1) || count < 1 || count > INT_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "`memory` and `runner_slots` of the unit must be positive integers.");
	if (most > 0 && (uint64_t)bytes > most)
		return kettle_fail(err, KETTLE_EINVAL,
			"Unit `%s` has `memory: %" JSON_INTEGER_FORMAT "`, but a run on this machine has %" PRIu64
			" bytes at most.",
			unit->name, bytes, most);
	unit->memory = memory ? (uint64_t)bytes : execconfig_run_memory(&exec->config, (unsigned)count);
	return 0;
}

static int
read_level(const struct exec_context *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const json_t *level = json_object_get(object, "sandbox");
	unit->level = exec->config.level;
	if (level && !json_is_string(level))
		return kettle_fail(err, KETTLE_EINVAL, "`sandbox` of the unit must be full, reduced or off.");
	return level ? sandbox_level_parse(json_string_value(level), &unit->level, err) : 0;
}

/* Names the lock after the device, since two units with the same device must share a lock. */
static char *
name_lock(const json_t *object, const char *name, const struct device_slot *device)
{
	const char *lock = json_text_or_null(object, "lock");
	AUTO_FREE char *cores = cores_text(&device->cores);
	if (lock)
		return xstrdup(lock);
	if (device->gpu)
		return xasprintf("gpu-%s", device->gpu);
	return device->cores.count > 0 ? xasprintf("cores-%s", cores) : xasprintf("device-%s", name);
}

/* Adds a device slot from its section. gpu: {"gpu": index or UUID}, or an object without that. */
static int
add_device_slot(const struct exec_context *exec, const json_t *object, const json_t *gpu, struct unit *unit,
	struct kettle_error *err)
{
	if (unit->count == JOB_MAX_DEVICES)
		return kettle_fail(err, KETTLE_EINVAL, "A unit has more than %d devices.", JOB_MAX_DEVICES);
	unit->devices = xreallocarray(unit->devices, unit->count + 1, sizeof(*unit->devices));
	struct device_slot *device = &unit->devices[unit->count++];
	*device = (struct device_slot){0};
	int rc = read_slots(object, &device->slots, err);
	if (rc == 0)
		rc = text_member(gpu, "gpu", &device->gpu, err);
	const char *name = json_text_or_null(object, "name");
	if (!name)
		name = unit->name;
	if (rc == 0)
		rc = read_cores(exec, object, name, &device->cores, err);
	device->lock = name_lock(object, name, device);
	return rc;
}

/* Adds the device slots of a section: one for each GPU that it names, at least one. */
static int
add_section(const struct exec_context *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const json_t *gpus = json_object_get(object, "gpu");
	int rc = 0;
	if (object && !json_is_object(object))
		return kettle_fail(err, KETTLE_EINVAL, "`unit` must be an object.");
	if (!json_is_array(gpus))
		return add_device_slot(exec, object, object, unit, err);
	if (json_array_size(gpus) == 0)
		return kettle_fail(err, KETTLE_EINVAL, "`gpu` of the unit is an empty list.");
	json_array_each(gpus, one) {
		AUTO_JSON json_t *gpu = json_pack("{s:O}", "gpu", one);
		if (rc == 0)
			rc = add_device_slot(exec, object, gpu, unit, err);
	}
	return rc;
}

/* Reads the unit; NULL: this machine without a device of its own. Checks that this machine has its cores. */
static int
read_unit(const struct exec_context *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const char *name = json_text_or_null(object, "name");
	const json_t *more = json_object_get(object, "more");
	unit->name = name ? name : "local";
	unit->score = member_true(object, "score");
	if (more && !json_is_array(more))
		return kettle_fail(err, KETTLE_EINVAL, "`more` of the unit must be a list of units.");
	int rc = add_section(exec, object, unit, err);
	json_array_each(more, one)
		if (rc == 0)
			rc = add_section(exec, one, unit, err);
	if (rc == 0)
		rc = read_memory(exec, object, unit, err);
	return rc == 0 ? read_level(exec, object, unit, err) : rc;
}

int
run_line_open(json_t *object_take, struct run_line *ret_line, struct kettle_error *err)
{
	*ret_line = (struct run_line){.object = object_take, .job = json_text_or_null(object_take, "job")};
	if (!ret_line->job || !ret_line->job[0] || strlen(ret_line->job) > JOB_MAX_REF)
		return kettle_fail(err, KETTLE_EINVAL, "The line has no `job`, a string of 1 to %d bytes.", JOB_MAX_REF);
	return 0;
}

/* Refuses a run that needs more memory than runs get here, since it would end as the participant's failure. */
static int
check_memory(const struct exec_context *exec, const struct plan *plan, struct kettle_error *err)
{
	uint64_t most = exec->config.max.memory;
	for (size_t i = 0; i < plan->count; i++)
		for (size_t k = 0; k < plan->steps[i].count && most > 0 && plan->steps[i].kind == STEP_RUN; k++)
			if (plan->steps[i].processes[k].limits.memory > most)
				return kettle_fail(err, KETTLE_EINVAL,
					"The task requires %" PRIu64 " MiB of memory, but a run on this machine has %" PRIu64 " at most.",
					plan->steps[i].processes[k].limits.memory >> 20, most >> 20);
	return 0;
}

int
run_line_read(const struct exec_context *exec, struct run_line *line, struct kettle_error *err)
{
	const json_t *spool = json_object_get(line->object, "spool"), *blobs = json_object_get(line->object, "blobs");
	const json_t *plan = json_object_get(line->object, "plan");
	if (!plan)
		return kettle_fail(err, KETTLE_EINVAL, "The run line has no `plan`.");
	const json_t *send = json_object_get(line->object, "send");
	if ((spool && !json_is_string(spool)) || (blobs && !json_is_string(blobs)))
		return kettle_fail(err, KETTLE_EINVAL, "`spool` and `blobs` of a run line must be paths.");
	line->spool = json_string_value(spool);
	line->blobs = json_string_value(blobs);
	line->send = json_is_true(send);
	if (send && (!json_is_boolean(send) || (line->send && spool)))
		return kettle_fail(
			err, KETTLE_EINVAL, "`send` of a run line must be true or false, and true only without `spool`.");
	line->keep = member_true(line->object, "keep");
	int rc = plan_read(exec->plan_schema, plan, &line->plan, err);
	if (rc == 0)
		rc = check_memory(exec, &line->plan, err);
	return rc == 0 ? read_unit(exec, json_object_get(line->object, "unit"), &line->unit, err) : rc;
}

void
run_line_close(struct run_line *line)
{
	for (size_t i = 0; i < line->unit.count; i++) {
		free_all(line->unit.devices[i].gpu, line->unit.devices[i].lock);
		cores_free(&line->unit.devices[i].cores);
	}
	free(line->unit.devices);
	plan_free(&line->plan);
	json_decref(line->object);
	*line = (struct run_line){0};
}

/* ---- check of the machine, where each job may come to another one ---- */

/* The machine that a run line expects. */
struct expected {
	const char *cpu, *gpu; /* NULL: any */
	bool whole;            /* compare whole names, not parts of them */
};

static int
read_expected(const json_t *object, struct expected *ret_expected, struct kettle_error *err)
{
	static const char *const keys[] = {"cpu", "gpu"};
	if (object && !json_is_object(object))
		return kettle_fail(err, KETTLE_EINVAL, "`expect` of the unit must be an object.");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *text = json_object_get(object, keys[i]);
		if (text && (json_string_length(text) == 0 || json_string_length(text) > JOB_MAX_MODEL))
			return kettle_fail(err, KETTLE_EINVAL, "`expect.%s` of the unit must be a string of 1 to %d bytes.",
				keys[i], JOB_MAX_MODEL);
	}
	*ret_expected = (struct expected){.cpu = json_text_or_null(object, "cpu"),
		.gpu = json_text_or_null(object, "gpu"),
		.whole = member_true(object, "whole")};
	return 0;
}

/* name: of the machine's part; NULL: the machine has none. */
static int
check_name(const struct unit *unit, const char *what, const char *name, const char *wanted, bool whole,
	struct kettle_error *err)
{
	if (name && (whole ? strcmp(name, wanted) == 0 : strcasestr(name, wanted) != NULL))
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "The machine has %s%s%s%s, but `%s` needs %s%s`.", name ? "the " : "no ",
		what, name ? " " : "", name ? name : "", unit->name, whole ? "`" : "one whose name contains `", wanted);
}

/* Compares the unit's GPUs, or all of the machine if the unit names none. */
static int
check_names_of_gpus(
	const struct exec_context *exec, const struct unit *unit, const struct expected *expected, struct kettle_error *err)
{
	const json_t *all = json_object_get(exec->gpus, "gpus"), *one;
	bool named = false;
	size_t i;
	int rc = 0;
	for (i = 0; rc == 0 && i < unit->count; i++) {
		const char *gpu = unit->devices[i].gpu;
		named = named || gpu;
		if (gpu)
			rc = check_name(unit, "GPU", gpu_find(exec->gpus, gpu).name, expected->gpu, expected->whole, err);
	}
	if (named)
		return rc;
	json_array_foreach(all, i, one)
		if (rc == 0)
			rc = check_name(unit, "GPU", gpu_of(one).name, expected->gpu, expected->whole, err);
	return i > 0 ? rc : check_name(unit, "GPU", NULL, expected->gpu, expected->whole, err);
}

int
expected_machine_check(
	const struct exec_context *exec, const struct run_line *line, bool *ret_fits, struct kettle_error *err)
{
	struct expected expected = {0};
	int rc = read_expected(json_object_get(json_object_get(line->object, "unit"), "expect"), &expected, err);
	if (rc < 0)
		return rc;
	if (expected.gpu)
		rc = check_names_of_gpus(exec, &line->unit, &expected, err);
	if (rc == 0 && expected.cpu)
		rc = check_name(
			&line->unit, "processor", json_text_or_null(exec->facts, "cpu"), expected.cpu, expected.whole, err);
	if (rc == 0)
		rc = sandbox_level_check(exec->protections, line->unit.level, err);
	*ret_fits = rc == 0;
	return rc;
}
