/* SPDX-License-Identifier: MIT */
/* Whether this machine is the one that the unit of a run line needs, where each job may come to another one. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "exec/job/job_internal.h"
#include "exec/machine/machine.h"

/* What a run line says of the machine that it needs. */
struct expected {
	const char *cpu, *gpu; /* NULL: any */
	bool whole;            /* the names themselves, not a part of them */
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

/* name: what the machine has; NULL: nothing. */
static int
check_name(const struct unit *unit, const char *what, const char *name, const char *wanted, bool whole,
	struct kettle_error *err)
{
	if (name && (whole ? strcmp(name, wanted) == 0 : strcasestr(name, wanted) != NULL))
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "The machine has %s%s%s%s, but `%s` needs %s%s`.", name ? "the " : "no ",
		what, name ? " " : "", name ? name : "", unit->name, whole ? "`" : "one whose name contains `", wanted);
}

/* The GPUs of the unit; where it names none, those of the machine. */
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
