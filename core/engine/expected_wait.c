/* SPDX-License-Identifier: MIT */
/* How long a queued job is likely to wait: from what the last jobs of its device took. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/json_access.h"

#include <stdlib.h>
#include <string.h>

void
expected_wait_add(struct device *device, uint64_t took_ms)
{
	device->recent.ms[device->recent.count++ % ENGINE_RECENT] = took_ms;
}

void
expected_wait_load(struct engine *engine, const json_t *recent)
{
	size_t i;
	const json_t *row;
	json_array_foreach(recent, i, row) {
		struct device *device = engine_device_find(engine, json_text_or_empty(row, "device"));
		json_int_t took = member_int(row, "took_ms");
		if (device && !device->recent.loaded && took >= 0)
			expected_wait_add(device, (uint64_t)took);
	}
	for (struct device *device = engine->devices; device; device = device->next)
		device->recent.loaded = true;
}

static int
by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Jobs that run at once. */
static uint64_t
slots_of(const struct device *device)
{
	uint64_t slots = 0;
	for (const struct unit *unit = device->units; unit; unit = unit->next)
		if (unit_condition(unit) > CONDITION_DISABLED)
			slots += unit->slots;
	return slots;
}

/*
 * Slots become free a median apart over their number, if the jobs that run now began at any time before; the job gets
 * the one after those before it. The median, since one job that meets its time limit says nothing of the next.
 */
int64_t
expected_wait_s(const struct device *device, size_t place)
{
	uint64_t sorted[ENGINE_RECENT], slots = slots_of(device);
	size_t count = device->recent.count < ENGINE_RECENT ? device->recent.count : ENGINE_RECENT;
	if (count == 0 || slots == 0)
		return -1;
	memcpy(sorted, device->recent.ms, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_time);
	return (int64_t)((sorted[count / 2] * (place + 1) / slots + 999) / 1000);
}

json_t *
expected_wait_next(const struct engine *engine, const struct device *device)
{
	size_t length = fair_queue_length(device->queue);
	const struct unit *free_unit = length == 0 ? engine_unit_free(engine, device) : NULL;
	if (free_unit && free_unit->active < free_unit->slots)
		return json_integer(0);
	int64_t wait_s = expected_wait_s(device, length);
	return wait_s < 0 ? NULL : json_integer(wait_s);
}
