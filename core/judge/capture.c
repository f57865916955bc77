/* SPDX-License-Identifier: MIT */
/* The scope of a profile: which benchmarks, and which launches of kernels. */
#include <config.h>

#include "judge/capture.h"

#include <pthread.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/embedded_text.h"
#include "base/schema.h"

/* ---- the schema of plans, loaded once ---- */

static struct {
	pthread_once_t once;
	json_t *schema;
	int rc;
	struct kettle_error err;
} kept = {.once = PTHREAD_ONCE_INIT};

static void
load_once(void)
{
	kept.rc = schema_load(plan_schema, &kept.schema, &kept.err);
}

int
kept_schema_of_plans(const json_t **ret_schema, struct kettle_error *err)
{
	(void)pthread_once(&kept.once, load_once);
	if (kept.rc < 0) {
		*err = kept.err;
		return kept.rc;
	}
	*ret_schema = kept.schema;
	return 0;
}

#define BENCHMARKS "benchmarks" /* of a capture and of a task */

/* Members that select launches; each is an argument of the same name. */
enum { KERNEL = 1, KERNEL_BASE = 2, LAUNCHES = 4, SKIP = 8 };
static const struct {
	const char *name;
	unsigned bit;
} members[] = {{"kernel", KERNEL}, {"kernel_base", KERNEL_BASE}, {"launches", LAUNCHES}, {"skip", SKIP}};

/* The members that each profiler supports; why: its behaviour instead. */
static const struct {
	const char *profiler, *why;
	unsigned can;
} profilers[] = {
	{"ncu", "", KERNEL | KERNEL_BASE | LAUNCHES | SKIP},
	{"rocprofv3", "", KERNEL | KERNEL_BASE | LAUNCHES | SKIP},
	{"perf", ": it samples all functions of the program", 0},
};

/* Checks the value by `capture` of the plan's schema, the one place that limits what a profiler gets. */
static int
check_values(const json_t *launches, struct kettle_error *err)
{
	const json_t *schema = NULL;
	int rc = kept_schema_of_plans(&schema, err);
	if (rc < 0)
		return rc;
	const char *kernel = json_text_or_null(launches, "kernel");
	struct kettle_error why = {0};
	rc = schema_check(json_object_get(json_object_get(schema, "$defs"), "capture"), launches, NULL, NULL, &why);
	if (rc == 0)
		return 0;
	if (kernel)
		return kettle_fail(err, KETTLE_EINVAL,
			"A kernel name must have 1 to 1024 characters, none of them a control character, and must not begin with "
			"`-`.");
	return kettle_fail(err, KETTLE_EINVAL, "%s", why.message);
}

/* The indexes in ascending order, each once. New reference. */
static json_t *
ordered(const json_t *wanted)
{
	json_t *list = json_array();
	json_array_each(wanted, value) {
		json_int_t index = json_integer_value(value);
		size_t at = 0;
		while (at < json_array_size(list) && json_integer_value(json_array_get(list, at)) < index)
			at++;
		if (at == json_array_size(list) || json_integer_value(json_array_get(list, at)) != index)
			(void)json_array_insert_new(list, at, json_integer(index));
	}
	return list;
}

int
capture_check(const json_t *capture, const json_t *task, struct kettle_error *err)
{
	json_int_t count = (json_int_t)json_array_size(json_object_get(task, BENCHMARKS));
	json_array_each(json_object_get(capture, BENCHMARKS), index)
		if (json_integer_value(index) >= count)
			return kettle_blame(err, KETTLE_CAUSE_NONE, "benchmark",
				kettle_fail(err, KETTLE_EINVAL,
					"The task has no benchmark %" JSON_INTEGER_FORMAT ": it has %" JSON_INTEGER_FORMAT
					", numbered from 0.",
					json_integer_value(index), count));
	return 0;
}

int
capture_read(const json_t *args, const char *mode, const json_t *task, json_t **ret_capture, struct kettle_error *err)
{
	AUTO_JSON json_t *capture = json_object();
	const json_t *wanted = json_object_get(args, "benchmark");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_object_get(args, members[i].name))
			json_object_set(capture, members[i].name, json_object_get(args, members[i].name));
	int rc = check_values(capture, err);
	if (rc < 0)
		return rc;
	if (json_array_size(wanted) > 0)
		json_object_set_new(capture, BENCHMARKS, ordered(wanted));
	if (json_object_size(capture) == 0)
		return 0;
	if (strcmp(mode, "profile") != 0)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "mode",
			kettle_fail(err, KETTLE_EINVAL,
				"Benchmarks, kernels and launches can be selected only for a profile: set `mode` to profile."));
	if (json_text_or_null(capture, "kernel_base") && !json_text_or_null(capture, "kernel"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "kernel_base",
			kettle_fail(err, KETTLE_EINVAL, "`kernel_base` requires the name of a kernel."));
	if (task && (rc = capture_check(capture, task, err)) < 0)
		return rc;
	*ret_capture = STEAL(capture);
	return 0;
}

bool
capture_has(const json_t *capture, size_t benchmark)
{
	const json_t *list = json_object_get(capture, BENCHMARKS);
	json_array_each(list, index)
		if (json_integer_value(index) == (json_int_t)benchmark)
			return true;
	return !list;
}

json_t *
capture_for_step(const json_t *capture)
{
	AUTO_JSON json_t *step = capture ? json_copy((json_t *)capture) : NULL;
	if (step)
		(void)json_object_del(step, BENCHMARKS);
	return json_object_size(step) > 0 ? STEAL(step) : NULL;
}

int
capture_fits(const char *profiler, const char *device, const json_t *capture, struct kettle_error *err)
{
	const char *name = profiler ? profiler : "the harness profiles itself and", *why = "";
	unsigned can = 0;
	for (size_t i = 0; profiler && i < ARRAY_SIZE(profilers); i++)
		if (strcmp(profilers[i].profiler, profiler) == 0) {
			why = profilers[i].why;
			can = profilers[i].can;
		}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if ((can & members[i].bit) || !json_object_get(capture, members[i].name))
			continue;
		AUTO_BUF struct buf have = {0};
		/* The profilers that have an option, "ncu and rocprofv3". */
		for (size_t k = 0; k < ARRAY_SIZE(profilers); k++)
			if (profilers[k].can & members[i].bit)
				buf_printf(&have, "%s%s", have.len > 0 ? " and " : "", profilers[k].profiler);
		return kettle_blame(err, KETTLE_CAUSE_NONE, members[i].name,
			kettle_fail(err, KETTLE_EINVAL, "On `%s`, %s does not support `%s` (%s can)%s.", device, name,
				members[i].name, have.data ? have.data : "", why));
	}
	return 0;
}
