/* SPDX-License-Identifier: MIT */
/* The limits of a step: defaults of its kind, what the plan says, what the machine gives at most. */
#include <config.h>

#include "exec/plan/limits.h"

#include <stdbool.h>
#include <string.h>

struct limits
limits_default(enum step_kind kind, unsigned devices)
{
	static const struct limits of_kind[] = {
#define X(name, wire, build, prepare, run) .name = build,
		[STEP_BUILD] = {LIMITS(X)},
#undef X
#define X(name, wire, build, prepare, run) .name = prepare,
		[STEP_PREPARE] = {LIMITS(X)},
#undef X
#define X(name, wire, build, prepare, run) .name = run,
		[STEP_RUN] = {LIMITS(X)},
#undef X
	};
	struct limits limits = of_kind[kind];
	if (devices > 1) {
		limits.memory *= devices;
		limits.processes *= devices;
		limits.shm = devices * LIMITS_SHM_DEVICE;
	}
	return limits;
}

static bool
is_time(const char *name)
{
	return strcmp(name, "wall") == 0 || strcmp(name, "cpu") == 0;
}

double
limits_named(const struct limits *limits, const char *name)
{
	uint64_t value = 0;
#define X(member, wire, build, prepare, run) value = strcmp(name, wire) == 0 ? limits->member : value;
	LIMITS(X)
#undef X
	return is_time(name) ? (double)value / (double)LIMITS_SECOND : (double)value;
}

static void
limits_take(uint64_t *limit, const char *name, const json_t *object)
{
	const json_t *value = json_object_get(object, name);
	if (!json_is_number(value))
		return;
	if (is_time(name))
		*limit = (uint64_t)(json_number_value(value) * (double)LIMITS_SECOND);
	else
		*limit = (uint64_t)json_number_value(value);
}

void
limits_apply(struct limits *limits, const json_t *object)
{
#define X(name, wire, build, prepare, run) limits_take(&limits->name, wire, object);
	LIMITS(X)
#undef X
}

static void
cap(uint64_t *limit, uint64_t max)
{
	if (max > 0 && (*limit == 0 || *limit > max))
		*limit = max;
}

void
limits_cap(struct limits *limits, const struct limits *max)
{
#define X(name, wire, build, prepare, run) cap(&limits->name, max->name);
	LIMITS(X)
#undef X
}
