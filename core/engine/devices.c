/* SPDX-License-Identifier: MIT */
/* The engine's devices, units and jobs: configuration, queues, free slots, expected waits. */
#include <config.h>

#include "engine/engine_internal.h"
#include "judge/unit_facts.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

#include <assert.h>
#include <search.h>

struct device *
engine_device_find(const struct engine *engine, const char *name)
{
	for (struct device *device = engine->devices; device; device = device->next)
		if (strcasecmp(device->name, name) == 0)
			return device;
	return NULL;
}

/* ---- what is configured ---- */

static const struct runner *
find_runner(const struct engine *engine, const char *name)
{
	for (size_t i = 0; i < engine->setup.runners_count; i++)
		if (strcmp(engine->setup.runners[i].name, name) == 0)
			return &engine->setup.runners[i];
	return NULL;
}

static void
free_unit(struct unit *unit)
{
	assert(unit->active == 0 && unit->machine.requests == 0);
	/* The answer to an open heartbeat finds no unit. */
	if (unit->heartbeat.open)
		unit->heartbeat.open->unit = NULL;
	json_decref_all(unit->config, unit->gpus, unit->machine.calibration, unit->machine.facts, unit->fitness.causes);
	free_all(unit->key, unit->machine.identity, unit->machine.learned, unit);
}

/* The unit's key; a later unit with the same key gets a number. planned: the units before it. New string. */
static char *
make_key(const struct unit *planned, const struct device *device, const json_t *section)
{
	char *key = unit_key(section);
	unsigned same = 1;
	for (; planned; planned = planned->next)
		same += planned->device == device && planned->key && strncmp(planned->key, key, strlen(key)) == 0 &&
				(planned->key[strlen(key)] == '\0' || planned->key[strlen(key)] == ' ');
	if (same == 1)
		return key;
	char *numbered = xasprintf("%s #%u", key, same);
	free(key);
	return numbered;
}

/* Fills a unit from its section. The runner sets the number of its slots. */
static int
setup_unit(struct engine *engine, const struct unit *planned, struct unit *unit, const json_t *section, size_t index,
	struct kettle_error *err)
{
	const char *runner = json_text_or_null(section, "runner");
	if (!runner)
		runner = "local";
	unit->runner = find_runner(engine, runner);
	if (!unit->runner)
		return kettle_fail(
			err, KETTLE_EINVAL, "Device `%s` names the runner `%s`, which is not loaded.", unit->device->name, runner);
	(void)snprintf(unit->label, sizeof(unit->label), "%s.%zu", unit->device->name, index);
	unit->config = json_deep_copy(section);
	unit->gpus = unit_gpus(section);
	unit->key = make_key(planned, unit->device, unit->config);
	json_object_set_new(unit->config, "name", json_string(unit->device->name));
	json_object_set_new(unit->config, "unit", json_string(unit->label));
	return unit->runner->ops->capacity(unit->runner->self, unit->config, &unit->slots, &unit->prefetch, err);
}

static struct device *
add_engine_device(struct engine *engine, const char *name)
{
	struct device *device = xnew(struct device, .name = xstrdup(name), .queue = fair_queue_new());
	LIST_APPEND(engine->devices, device);
	return device;
}

static int
plan_device(
	struct engine *engine, const char *name, const json_t *section, struct unit **list, struct kettle_error *err)
{
	struct device *device = engine_device_find(engine, name);
	if (!device)
		device = add_engine_device(engine, name);
	size_t i;
	json_t *unit;
	json_array_foreach(json_object_get(section, "units"), i, unit) {
		/* The caller frees the list, also after a failure here. */
		struct unit *planned = xnew(struct unit, .device = device);
		LIST_APPEND(*list, planned);
		int rc = setup_unit(engine, *list, planned, unit, i, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Whether the units differ at most in their places in the configuration. */
static bool
is_same(const struct unit *unit, const struct unit *wanted)
{
	if (unit->runner != wanted->runner || strcmp(unit->key, wanted->key) != 0)
		return false;
	AUTO_JSON json_t *config = json_copy(unit->config);
	(void)json_object_set(config, "unit", json_object_get(wanted->config, "unit"));
	(void)json_object_set(config, "runner_slots", json_object_get(wanted->config, "runner_slots"));
	return json_equal(config, wanted->config);
}

/* Removes and returns the device's unit that has the same configuration and is not in force; NULL: there is none. */
static struct unit *
take_same(struct device *device, const struct unit *wanted)
{
	struct unit *unit = device->units;
	while (unit && (!unit->removed || !is_same(unit, wanted)))
		unit = unit->next;
	if (unit)
		LIST_REMOVE(device->units, unit);
	return unit;
}

/*
 * Appends the unit to its device's list, since the order of the configuration is the order of preference. An unchanged
 * unit keeps its state.
 */
static void
put_in_force(struct unit *unit)
{
	struct device *device = unit->device;
	struct unit *same = take_same(device, unit);
	if (same) {
		same->slots = unit->slots;
		same->prefetch = unit->prefetch;
		memcpy(same->label, unit->label, sizeof(same->label));
		json_decref(same->config);
		same->config = json_incref(unit->config);
		free_unit(unit);
		unit = same;
	}
	unit->removed = false;
	LIST_APPEND(device->units, unit);
}

static void
take_budgets(struct engine *engine, const json_t *devices)
{
	for (struct device *device = engine->devices; device; device = device->next) {
		json_decref(STEAL(device->budget.limits));
		budget_release(engine, device);
	}
	json_object_each(devices, name, section)
		engine_device_find(engine, name)->budget.limits = json_deep_copy(json_object_get(section, "budget"));
}

int
engine_devices_load(struct engine *engine, const json_t *devices, struct kettle_error *err)
{
	struct unit *planned = NULL, *next;
	int rc = 0;
	json_object_each(devices, name, section) {
		if (rc == 0)
			rc = plan_device(engine, name, section, &planned, err);
	}
	for (struct device *device = engine->devices; rc == 0 && device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			unit->removed = true;
	if (rc == 0)
		take_budgets(engine, devices);
	for (struct unit *unit = planned; unit; unit = next) {
		next = unit->next;
		if (rc == 0)
			put_in_force(unit);
		else
			free_unit(unit);
	}
	for (struct device *device = engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = next) {
			next = unit->next;
			if (!unit->removed || unit->active || unit->machine.requests)
				continue;
			LIST_REMOVE(device->units, unit);
			free_unit(unit);
		}
	return rc;
}

/* ---- jobs: by number, in their device's queue or held beside it ---- */

static int
by_id(const void *a, const void *b)
{
	const struct engine_job *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

struct engine_job *
engine_job_find(const struct engine *engine, int64_t id)
{
	struct engine_job key = {.id = id};
	struct engine_job *const *found = tfind(&key, &engine->jobs.by_id, by_id);
	return found ? *found : NULL;
}

struct engine_job *
engine_job_add(struct engine *engine, struct device *device, int64_t id, int64_t submission, int64_t user)
{
	struct engine_job *job =
		xnew(struct engine_job, .engine = engine, .id = id, .submission = submission, .user = user, .device = device);
	if (!tsearch(job, &engine->jobs.by_id, by_id))
		xalloc_fail();
	job->next = engine->jobs.first;
	if (job->next)
		job->next->previous = job;
	engine->jobs.first = job;
	return job;
}

/* The states that may follow each state, see the picture in engine.h. */
static const unsigned may_follow[] = {
	[JOB_QUEUED] = 1 << JOB_QUEUED | 1 << JOB_STARTING,
	[JOB_STARTING] = 1 << JOB_QUEUED | 1 << JOB_ACTIVE | 1 << JOB_ENDING,
	[JOB_ACTIVE] = 1 << JOB_ENDING,
	[JOB_ENDING] = 1 << JOB_QUEUED | 1 << JOB_ENDING,
};

void
engine_job_enter(struct engine_job *job, enum job_state state)
{
	assert(may_follow[job->state] & 1 << state);
	assert(state == JOB_ENDING || !job->again.write);
	job->engine->in_flight += state != JOB_QUEUED;
	job->engine->in_flight -= job->state != JOB_QUEUED;
	job->state = state;
}

static void
leave_list(struct engine_job *job)
{
	struct job_list *list = STEAL(job->held.list);
	if (list) {
		*(job->held.previous ? &job->held.previous->held.next : &list->first) = job->held.next;
		*(job->held.next ? &job->held.next->held.previous : &list->last) = job->held.previous;
		list->count--;
	}
	free(STEAL(job->held.why));
}

void
engine_job_forget(struct engine_job *job)
{
	struct engine *engine = job->engine;
	assert(!job->unit && !job->again.write);
	engine->in_flight -= job->state != JOB_QUEUED;
	if (engine->jobs.cursor == job)
		engine->jobs.cursor = job->next;
	job->device->unranked -= job->item.user_list && !job->ranked;
	fair_queue_remove(job->device->queue, &job->item);
	leave_list(job);
	inflight_remove(engine->setup.inflight, &job->inflight);
	(void)tdelete(job, &engine->jobs.by_id, by_id);
	*(job->previous ? &job->previous->next : &engine->jobs.first) = job->next;
	if (job->next)
		job->next->previous = job->previous;
	plan_free(job->plan);
	json_decref(job->task);
	free(job);
}

void
engine_job_queue(struct engine_job *job)
{
	uint64_t now = clock_ns(job->engine->setup.clock);
	assert(!job->unit);
	leave_list(job);
	engine_job_enter(job, JOB_QUEUED);
	if (job->stamps.accepted_ns == 0)
		job->stamps.accepted_ns = now;
	job->stamps.queued_ns = job->attempt > 0 ? now : job->stamps.accepted_ns;
	job->deadline_ms = 0;
	job->device->unranked += !job->ranked;
	/* A user's jobs that such units lost less often come first. */
	fair_queue_add(job->device->queue, job->user, job->id + ((int64_t)job->deprioritised << 48), &job->item);
}

void
engine_job_hold(struct engine_job *job, struct job_list *list)
{
	assert(!job->unit && !job->held.list && job->held.why);
	engine_job_enter(job, JOB_QUEUED);
	job->held.list = list;
	job->held.previous = list->last;
	job->held.next = NULL;
	*(list->last ? &list->last->held.next : &list->first) = job;
	list->last = job;
	list->count++;
}

void
engine_progress(const struct engine_job *job, json_t *event_take)
{
	AUTO_JSON json_t *event =
		json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:o}", "at", TIME_TEXT(clock_utc_ms(job->engine->setup.clock)),
			"kind", "progress", "submission", (json_int_t)job->submission, "user", (json_int_t)job->user, "job",
			(json_int_t)job->id, "device", job->device->name, "event", event_take);
	if (event && job->engine->setup.progress)
		job->engine->setup.progress(job->engine->setup.arg, event);
}

void
engine_each_job(struct engine *engine, void (*fn)(struct engine_job *job, void *arg), void *arg)
{
	for (struct engine_job *job = engine->jobs.first; job; job = engine->jobs.cursor) {
		engine->jobs.cursor = job->next;
		fn(job, arg);
	}
	engine->jobs.cursor = NULL;
}

/* ---- what has room ---- */

bool
engine_unit_has_room(const struct engine *engine, const struct unit *unit, bool prefetch)
{
	enum unit_condition condition = unit_condition(unit);
	unsigned room = condition != CONDITION_IN_ORDER || unit->losses.count >= ENGINE_LOSSES_ONE
						? 1
						: unit->slots + (prefetch ? unit->prefetch : 0);
	return condition > CONDITION_DISABLED && unit->pause_until_ms <= clock_ms(engine->setup.clock) &&
		   unit->active < room;
}

struct unit *
engine_unit_free(const struct engine *engine, const struct device *device)
{
	/* A unit that can run the job now comes before one that could only build it. */
	for (int prefetch = 0; prefetch <= 1; prefetch++)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (engine_unit_has_room(engine, unit, prefetch))
				return unit;
	return NULL;
}

/* ---- how long a job waits ---- */

void
expected_wait_add(struct device *device, uint64_t took_ms)
{
	device->recent.ms[device->recent.count++ % ENGINE_RECENT] = took_ms;
}

void
expected_wait_load(struct engine *engine, const json_t *recent)
{
	json_array_each(recent, row) {
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

static uint64_t
slots_of(const struct device *device)
{
	uint64_t slots = 0;
	for (const struct unit *unit = device->units; unit; unit = unit->next)
		if (unit_condition(unit) == CONDITION_IN_ORDER)
			slots += unit->slots;
	return slots;
}

/*
 * If the running jobs began at random times, a slot becomes free every (median time / slots). The job gets the free
 * slot that follows those for the jobs before it. The median ignores a single job that meets its time limit.
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

void
engine_unit_lost(const struct engine_job *job, const char *why, bool proven)
{
	struct unit *unit = job->unit;
	uint64_t now = clock_ms(job->engine->setup.clock);
	/* Losses during the pause belong to the loss before it: a machine that ends loses all its jobs. */
	bool grows = proven && unit->pause_until_ms <= now;
	unsigned shift = !grows ? 0 : unit->losses.count < 16 ? unit->losses.count : 16;
	uint64_t pause = (uint64_t)ENGINE_PAUSE_MS << shift;
	uint64_t until = now + (pause < ENGINE_PAUSE_MAX_MS ? pause : ENGINE_PAUSE_MAX_MS);
	unit->losses.count += grows;
	unit->pause_until_ms = unit->pause_until_ms > until ? unit->pause_until_ms : until;
	utf8_copy(unit->losses.why, sizeof(unit->losses.why), why);
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s lost job %lld of submission %lld, which will be retried: %s",
		unit->label, (long long)job->id, (long long)job->submission, why);
}

bool
engine_unit_gone(struct unit *unit)
{
	return unit->losses.unknown++ >= ENGINE_GONE_MAX;
}

void
engine_unit_works(struct unit *unit)
{
	unit->losses.count = unit->losses.unknown = 0;
}

const char *
engine_unit_state(const struct engine *engine, const struct unit *unit)
{
	enum unit_condition condition = unit_condition(unit);
	if (condition <= CONDITION_DISABLED)
		return condition == CONDITION_REMOVED ? "removed" : "disabled";
	if (condition == CONDITION_UNUSABLE || unit->pause_until_ms > clock_ms(engine->setup.clock))
		return "paused";
	if (condition == CONDITION_AWAY)
		return "waiting";
	return unit->running ? "running" : unit->active ? "building" : "idle";
}

size_t
engine_device_queued(const struct device *device)
{
	return fair_queue_length(device->queue) + device->awaiting_units.count + device->budget.waiting.count;
}

void
engine_devices_free(struct engine *engine)
{
	struct device *next_device;
	for (struct device *device = engine->devices; device; device = next_device) {
		next_device = device->next;
		struct unit *next;
		for (struct unit *unit = device->units; unit; unit = next) {
			next = unit->next;
			free_unit(unit);
		}
		fair_queue_free(device->queue);
		json_decref_all(device->budget.limits, device->budget.used, device->last_plan.task, device->last_plan.steps,
			device->metrics.runs);
		free_all(device->name, device);
	}
}
