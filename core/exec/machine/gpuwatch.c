/* SPDX-License-Identifier: MIT */
/* Looks at the GPUs of a job: that they are there and free before and after it, what slowed them during a step. */
#include <config.h>

#include "exec/machine/gpu.h"

#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"

/* A machine whose drivers have no library installed can say nothing, and works all the same. */
static bool
says_something(const json_t *reading)
{
	return json_array_size(json_object_get(reading, "gpus")) > 0 ||
		   json_array_size(json_object_get(reading, "errors")) > 0;
}

static const char *
name_of(const json_t *facts, const char *gpu)
{
	const char *uuid = member_string(facts, "uuid");
	return uuid ? uuid : gpu;
}

/* What has the memory, for the sentence: " (processes 12, 13)". */
static void
add_processes(struct buf *text, const json_t *facts)
{
	const json_t *process;
	size_t i;
	json_array_foreach(json_object_get(facts, "processes"), i, process)
		buf_printf(text, "%s%lld", i ? ", " : " (processes ", (long long)member_int(process, "pid"));
	if (i > 0)
		buf_adds(text, ")");
}

/* Whether all that is wrong with a GPU is that its memory is in use: that may pass. */
static bool
is_occupied(const struct gpuwatch *watch, const json_t *facts, const char *gpu, struct kettle_error *ret_why)
{
	const json_t *idle = json_object_get(watch->idle, name_of(facts, gpu));
	uint64_t used = gpu_used(facts), usual = (uint64_t)json_integer_value(idle);
	AUTO_BUF struct buf by = {0};
	if (!idle || used <= usual + watch->config->gpu_left)
		return false;
	add_processes(&by, facts);
	(void)kettle_fail(ret_why, KETTLE_EUNAVAIL,
		"GPU %s is not free: %llu MiB of its memory are in use%s, where it is %llu MiB when nothing runs.", gpu,
		(unsigned long long)(used >> 20), by.data ? by.data : "", (unsigned long long)(usual >> 20));
	return true;
}

static void
note_fault(json_t *faults, const char *gpu, const struct kettle_error *why)
{
	json_object_set_new(faults, gpu, json_string(why->message));
}

/* Adds what is wrong with the GPUs; whether waiting may help. */
static bool
find_faults(const struct gpuwatch *watch, const json_t *reading, const struct kettle_error *failed, json_t *faults)
{
	bool wait = false;
	for (size_t i = 0; i < watch->gpus.count; i++) {
		const char *gpu = watch->gpus.list[i];
		const json_t *facts = gpu_find(reading, gpu);
		struct kettle_error why = {0};
		if (!reading) {
			note_fault(faults, gpu, failed);
		} else if (!facts && says_something(reading)) {
			(void)gpu_missing(reading, gpu, &why);
			note_fault(faults, gpu, &why);
		} else if (facts && is_occupied(watch, facts, gpu, &why)) {
			note_fault(faults, gpu, &why);
			wait = true;
		}
	}
	return wait;
}

json_t *
gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading)
{
	uint64_t limit = time_monotonic_ns() + GPU_FREE_MS * UINT64_C(1000000);
	json_t *faults = json_object();
	*ret_reading = NULL;
	for (;;) {
		struct kettle_error failed = {0};
		json_decref(STEAL(*ret_reading));
		(void)gpu_read(watch->config, ret_reading, &failed);
		json_object_clear(faults);
		if (!find_faults(watch, *ret_reading, &failed, faults) || time_monotonic_ns() > limit)
			return faults;
		(void)poll(NULL, 0, GPU_POLL_MS);
	}
}

static json_t *
gpuwatch_describe(const struct gpuwatch *watch, const json_t *before, const json_t *after, json_t *throttled)
{
	json_t *list = json_array();
	for (size_t i = 0; i < watch->gpus.count; i++) {
		const json_t *then = gpu_find(before, watch->gpus.list[i]);
		const json_t *now = gpu_find(after, watch->gpus.list[i]);
		if (!now)
			continue;
		gpu_throttled(then, now, throttled);
		json_array_append_new(list, json_pack("{s:O*, s:O*, s:O*, s:o*, s:o}", "index", json_object_get(now, "index"),
										"uuid", json_object_get(now, "uuid"), "name", json_object_get(now, "name"),
										"before", then ? gpu_state(then) : NULL, "after", gpu_state(now)));
	}
	return list;
}

static bool
is_hot(const struct gpuwatch *watch, const json_t *reading)
{
	for (size_t i = 0; i < watch->gpus.count; i++)
		if (gpu_is_throttled(gpu_find(reading, watch->gpus.list[i])))
			return true;
	return false;
}

static void
cool_down(const struct gpuwatch *watch, json_t **reading)
{
	uint64_t limit = time_monotonic_ns() + GPU_COOL_MS * UINT64_C(1000000);
	while (is_hot(watch, *reading) && time_monotonic_ns() < limit) {
		json_t *newer = NULL;
		(void)poll(NULL, 0, GPU_POLL_MS);
		if (gpu_read(watch->config, &newer, NULL) != 0)
			return;
		json_decref(*reading);
		*reading = newer;
	}
}

json_t *
gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err)
{
	*ret_reading = NULL;
	if (gpu_read(watch->config, ret_reading, err) != 0 || !says_something(*ret_reading))
		return NULL;
	for (size_t i = 0; i < watch->gpus.count; i++)
		if (!gpu_find(*ret_reading, watch->gpus.list[i])) {
			(void)gpu_missing(*ret_reading, watch->gpus.list[i], err);
			return NULL;
		}
	json_t *throttled = json_array(), *gpus = gpuwatch_describe(watch, before, *ret_reading, throttled);
	if (cool && json_array_size(throttled) > 0)
		cool_down(watch, ret_reading);
	return json_pack("{s:o, s:o}", "gpus", gpus, "throttled", throttled);
}

void
gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus)
{
	for (size_t i = 0; i < gpus->count; i++) {
		const char *gpu = gpus->list[i];
		const json_t *facts = gpu_find(reading, gpu), *before = json_object_get(idle, name_of(facts, gpu));
		uint64_t used = gpu_used(facts);
		if (facts && json_object_get(facts, "used") && (!before || used < (uint64_t)json_integer_value(before)))
			json_object_set_new(idle, name_of(facts, gpu), json_integer((json_int_t)used));
	}
}
