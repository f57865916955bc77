/* SPDX-License-Identifier: MIT */
/* Whether the GPUs of a job are there, free and fit to score before and after it, and what slowed them during a step. */
#include <config.h>

#include "exec/machine/machine.h"

#include <poll.h>

#include "base/base.h"
#include "base/gpu_fitness.h"
#include "base/text.h"

/* Without the drivers' libraries a reading is empty, while the machine works. */
static bool
says_something(const json_t *reading)
{
	return json_array_size(json_object_get(reading, "gpus")) > 0 ||
		   json_array_size(json_object_get(reading, "errors")) > 0;
}

/* The key of a GPU in watch->idle. */
static const char *
idle_key(const struct gpu *gpu, const char *name)
{
	return gpu->uuid ? gpu->uuid : name;
}

/* Whether the only fault of a GPU is that its memory is in use, which may pass. */
static bool
is_occupied(const struct gpuwatch *watch, const struct gpu *gpu, const char *name, struct kettle_error *ret_why)
{
	const json_t *idle = json_object_get(watch->idle, idle_key(gpu, name));
	AUTO_BUF struct buf by = {0};
	if (!gpu_is_occupied(gpu, idle, watch->config->gpu_max_residual_bytes))
		return false;
	json_array_each_at(gpu->processes, i, process)
		buf_printf(&by, "%s%lld", i ? ", " : " (processes ", (long long)member_int(process, "pid"));
	(void)kettle_fail(ret_why, KETTLE_EUNAVAIL,
		"GPU %s is not free: %lld MiB of its memory are in use%s%s; when idle it is %lld MiB.", name,
		(long long)gpu->used >> 20, by.data ? by.data : "", by.data ? ")" : "",
		(long long)json_integer_value(idle) >> 20);
	return true;
}

/* Whether the GPU is unfit to score, which may pass: its causes are noted. */
static bool
is_unfit(const struct gpuwatch *watch, const struct gpu *gpu, const char *name, json_t *unfit)
{
	AUTO_JSON json_t *causes = json_array();
	if (watch->score)
		gpu_unfit(gpu, watch->idle != NULL, causes);
	if (json_array_size(causes) == 0)
		return false;
	json_object_set(unfit, name, causes);
	return true;
}

/* Adds the faults of the GPUs, and causes for which they are unfit. Returns whether waiting may help. */
static bool
find_faults(const struct gpuwatch *watch, const json_t *reading, const struct kettle_error *failed, json_t *faults,
	json_t *unfit)
{
	bool wait = false;
	for (size_t i = 0; i < watch->gpus.count; i++) {
		const char *name = watch->gpus.list[i];
		struct gpu gpu = gpu_find(reading, name);
		struct kettle_error why = {0};
		if (!reading)
			why = *failed;
		else if (!gpu.json && says_something(reading))
			(void)gpu_missing(reading, name, &why);
		else if (gpu.json && is_occupied(watch, &gpu, name, &why))
			wait = true;
		else {
			wait = (gpu.json && is_unfit(watch, &gpu, name, unfit)) || wait;
			continue;
		}
		json_object_set_new(faults, name, json_string(why.message));
	}
	return wait;
}

/* listed: only those that the driver lists under a number that is known here, and only bytes that it says. */
static void
take_prepared(const struct gpuwatch *watch, const json_t *reading, bool listed)
{
	json_object_each(watch->prepared, name, pids) {
		struct gpu gpu = gpu_find(reading, name);
		AUTO_JSON json_t *taken = json_array();
		json_array_each(pids, pid)
			if (!listed || json_integer_value(pid) > 0)
				json_array_append(taken, pid);
		gpu_take_prepared((json_t *)gpu.json, taken, listed ? 0 : watch->config->gpu_prepared_bytes);
	}
}

/* Whether no process of any run has a part of the GPUs. *ret_says: false if the driver does not say. */
static bool
are_freed(const struct gpuwatch *watch, const json_t *reading, bool *ret_says)
{
	bool freed = *ret_says = true;
	for (size_t i = 0; i < watch->gpus.count; i++) {
		const char *name = watch->gpus.list[i];
		struct gpu gpu = gpu_find(reading, name);
		const json_t *idle = json_object_get(watch->idle, idle_key(&gpu, name));
		*ret_says = *ret_says && gpu.processes && gpu.used >= 0 && idle;
		freed = freed && json_array_size(gpu.processes) == 0 && !gpu_is_occupied(&gpu, idle, GPU_FREED_LEFT_BYTES);
	}
	return freed && *ret_says;
}

bool
gpuwatch_await_freed(const struct gpuwatch *watch, int ended, int ms, json_t **ret_reading)
{
	uint64_t now, limit = time_monotonic_ns() + (uint64_t)ms * 1000000;
	struct pollfd end = {.fd = ended, .events = POLLIN};
	int wait = 0;
	bool says = true;
	while ((now = time_monotonic_ns()) < limit) {
		int left = (int)((limit - now) / 1000000) + 1;
		if (poll(&end, 1, says && wait < left ? wait : left) > 0)
			return true;
		if (!says)
			continue;
		AUTO_JSON json_t *reading = NULL;
		(void)gpu_read(watch->config, &reading, NULL);
		take_prepared(watch, reading, true);
		if (are_freed(watch, reading, &says)) {
			*ret_reading = STEAL(reading);
			return true;
		}
		wait = wait < GPU_POLL_MS ? wait + GPU_FREED_POLL_MS : GPU_POLL_MS;
	}
	return false;
}

json_t *
gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading, json_t *unfit)
{
	uint64_t limit = time_monotonic_ns() + GPU_FREE_MS * UINT64_C(1000000);
	json_t *faults = json_object();
	*ret_reading = NULL;
	for (;;) {
		struct kettle_error failed = {0};
		json_decref(STEAL(*ret_reading));
		(void)gpu_read(watch->config, ret_reading, &failed);
		take_prepared(watch, *ret_reading, false);
		json_object_clear(faults);
		json_object_clear(unfit);
		if (!find_faults(watch, *ret_reading, &failed, faults, unfit) || time_monotonic_ns() > limit)
			return faults;
		(void)poll(NULL, 0, GPU_POLL_MS);
	}
}

/* Adds to a report what one of the GPUs was before and after a step. */
static void
describe_one(const char *name, const struct gpu *then, const struct gpu *now, json_t *report)
{
	json_t *throttled = json_object_get(report, "throttled"), *unfit = json_object_get(report, "unfit");
	AUTO_JSON json_t *causes = json_array(), *slowed = json_array();
	gpu_throttled(then, now, throttled);
	gpu_throttled(then, now, slowed);
	gpu_words_add_causes(causes, slowed);
	gpu_unfit(now, false, causes);
	if (json_array_size(causes) > 0)
		json_object_set(unfit, name, causes);
	gpu_remarks(then, now, json_object_get(report, "remarks"));
	json_array_append_new(json_object_get(report, "gpus"),
		json_pack("{s:o*, s:s*, s:s*, s:o*, s:o}", "index", now->index < 0 ? NULL : json_integer(now->index), "uuid",
			now->uuid, "name", now->name, "before", then->json ? gpu_state(then) : NULL, "after", gpu_state(now)));
}

static json_t *
gpuwatch_describe(const struct gpuwatch *watch, const json_t *before, const json_t *after)
{
	json_t *report = json_pack("{s:[], s:[], s:{}, s:[]}", "gpus", "throttled", "unfit", "remarks");
	for (size_t i = 0; i < watch->gpus.count; i++) {
		const char *name = watch->gpus.list[i];
		struct gpu then = gpu_find(before, name), now = gpu_find(after, name);
		describe_one(name, &then, &now, report);
	}
	return report;
}

json_t *
gpuwatch_unreadable(const struct gpuwatch *watch)
{
	json_t *unfit = json_object();
	for (size_t i = 0; i < watch->gpus.count; i++)
		json_object_set_new(unfit, watch->gpus.list[i], json_pack("[s]", gpu_word(GPU_WORD_UNREADABLE)));
	return json_pack("{s:[], s:[], s:o, s:[]}", "gpus", "throttled", "unfit", unfit, "remarks");
}

static bool
is_hot(const struct gpuwatch *watch, const json_t *reading)
{
	const struct gpu uncounted = gpu_of(NULL);
	AUTO_JSON json_t *reasons = json_array();
	for (size_t i = 0; i < watch->gpus.count; i++) {
		struct gpu gpu = gpu_find(reading, watch->gpus.list[i]);
		gpu_throttled(&uncounted, &gpu, reasons);
	}
	return json_array_size(reasons) > 0;
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
	if ((!*ret_reading && gpu_read(watch->config, ret_reading, err) != 0) || !says_something(*ret_reading))
		return NULL;
	for (size_t i = 0; i < watch->gpus.count; i++)
		if (!gpu_find(*ret_reading, watch->gpus.list[i]).json) {
			(void)gpu_missing(*ret_reading, watch->gpus.list[i], err);
			return NULL;
		}
	json_t *report = gpuwatch_describe(watch, before, *ret_reading);
	if (cool && json_array_size(json_object_get(report, "throttled")) > 0)
		cool_down(watch, ret_reading);
	return report;
}

void
gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus)
{
	for (size_t i = 0; i < gpus->count; i++) {
		struct gpu gpu = gpu_find(reading, gpus->list[i]);
		const char *key = idle_key(&gpu, gpus->list[i]);
		const json_t *before = json_object_get(idle, key);
		if (gpu.used >= 0 && (!before || gpu.used < json_integer_value(before)))
			json_object_set_new(idle, key, json_integer(gpu.used));
	}
}
