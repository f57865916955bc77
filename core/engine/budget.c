/* SPDX-License-Identifier: MIT */
/* Budgets of devices: the time that jobs have used since midnight UTC, and the jobs that wait for the next day. */
/*
 * Theory of operation. When an attempt completes, its time is counted in memory, and in the database by a write before
 * that of its verdict. The engine decides from memory whether a job may start. A device that has used up its budget
 * keeps its queue. Jobs of a user who has used up a share leave the queue and wait in `budget.waiting`, so that jobs of
 * others continue. At midnight all of them may start again. Running jobs are not counted yet, so each slot may exceed
 * the budget by one job.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/log.h"
#include "base/times.h"
#include "model/rate_limit.h"

/* ---- what is used ---- */

static void
user_name(int64_t user, char ret_name[24])
{
	(void)snprintf(ret_name, 24, "%lld", (long long)user);
}

static int64_t
used_of(const struct device *device, int64_t user)
{
	char name[24];
	user_name(user, name);
	return member_int(device->budget.used, name);
}

static void
add_used(struct device *device, int64_t user, int64_t ms)
{
	char name[24];
	user_name(user, name);
	(void)json_object_set_new(device->budget.used, name, json_integer(used_of(device, user) + ms));
}

/* On a new day, clears the used time and queues the jobs that waited. A clock that is set back a day changes nothing. */
static void
begin_day(struct engine *engine, struct device *device)
{
	int64_t day = clock_utc_ms(engine->setup.clock) / DEVICE_DAY_MS;
	if (device->budget.used && (day == device->budget.day || day == device->budget.day - 1))
		return;
	json_decref(device->budget.used);
	device->budget.used = json_object();
	device->budget.day = day;
	budget_release(engine, device);
}

void
budget_release(struct engine *engine, struct device *device)
{
	while (device->budget.waiting.first)
		engine_job_queue(device->budget.waiting.first);
	engine->dirty = true;
}

void
budget_load(struct engine *engine, const json_t *rows)
{
	for (struct device *device = engine->devices; device; device = device->next)
		begin_day(engine, device);
	json_array_each(rows, row) {
		struct device *device = engine_device_find(engine, json_text_or_empty(row, "device"));
		char name[24];
		user_name(member_int(row, "user"), name);
		/* The store may not have written yet what this engine has counted. */
		if (device && device->budget.day == member_int(row, "day") &&
			member_int(row, "ms") > member_int(device->budget.used, name))
			(void)json_object_set(device->budget.used, name, json_object_get(row, "ms"));
	}
}

void
budget_tick(struct engine *engine)
{
	for (struct device *device = engine->devices; device; device = device->next)
		if (device->budget.limits)
			begin_day(engine, device);
}

/* ---- counted ---- */

struct usage {
	char *device;
	int64_t user, ms;
};

static int
usage_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct usage *usage = arg;
	return device_usage_add(db, usage->device, usage->user, usage->ms, err);
}

static void
on_usage_stored(void *arg, const struct kettle_error *err)
{
	struct usage *usage = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "engine",
			"the %lld ms that a job used on `%s` could not be stored; a restart loses them: %s", (long long)usage->ms,
			usage->device, err->message);
	free_all(usage->device, usage);
}

/*
 * The device milliseconds of an attempt, for all its units; one unit counts at most what the plan allows. The machine's
 * own figures come first: the time for which the job held the device, or, on a machine that the remote side chose for
 * the job, the time from receipt to end. Builds on a machine without the device take none.
 */
static int64_t
used_ms(const struct engine_job *job, const struct completion *completion)
{
	bool chosen = !job->unit->runner->ops->describe;
	int64_t from = chosen ? completion->received_ns : member_int(completion->stamps, "device_ns");
	int64_t to = completion->done_ns, ms = 0;
	if (member_true(completion->json, "elsewhere"))
		return 0;
	if (to > 0)
		ms = from > 0 && to > from ? (to - from) / 1000000 : 0;
	else if (job->used.from_ms)
		ms = (int64_t)((job->used.to_ms ? job->used.to_ms : clock_ms(job->engine->setup.clock)) - job->used.from_ms);
	double most = job->plan ? (plan_wall_s(job->plan, false) + 2 * plan_wall_s(job->plan, true)) * 1000 : 0;
	most += ENGINE_SLACK_MS;
	return ((double)ms < most ? ms : (int64_t)most) * (int64_t)(1 + job->more_count);
}

void
budget_count(struct engine_job *job, const struct completion *completion)
{
	struct device *device = job->device;
	if (!device->budget.limits || !job->unit)
		return;
	int64_t ms = used_ms(job, completion);
	if (ms <= 0)
		return;
	begin_day(job->engine, device);
	add_used(device, 0, ms);
	add_used(device, job->user, ms);
	struct usage *usage = xnew(struct usage, .device = xstrdup(device->name), .user = job->user, .ms = ms);
	store_write(job->engine->setup.store, usage_op, on_usage_stored, usage);
}

/* ---- spent ---- */

/* ERATE: the budget of the device, or the share of this user (0: no user), is used up. */
static int
budget_check(const struct device *device, int64_t user, struct kettle_error *err)
{
	return device_usage_check(device->name, device->budget.limits, used_of(device, 0),
		user ? used_of(device, user) : -1, device->budget.day * DEVICE_DAY_MS, err);
}

bool
budget_is_spent(const struct device *device)
{
	return device->budget.limits && budget_check(device, 0, NULL) < 0;
}

json_t *
budget_reason(const struct device *device)
{
	struct kettle_error err = {0};
	return device->budget.limits && budget_check(device, 0, &err) < 0 ? json_string(err.message) : NULL;
}

bool
budget_holds(struct engine_job *job)
{
	struct device *device = job->device;
	struct kettle_error err = {0};
	if (!device->budget.limits || budget_check(device, job->user, &err) == 0)
		return false;
	job->held.why = xstrdup(err.message);
	engine_job_hold(job, &device->budget.waiting);
	return true;
}

json_t *
budget_describe(const struct device *device)
{
	if (!device->budget.limits)
		return NULL;
	int64_t used = used_of(device, 0), limit = member_int(device->budget.limits, "seconds_per_day") * 1000;
	json_t *shown = json_copy(device->budget.limits);
	(void)json_object_set_new(shown, "used_s", json_integer(used / 1000));
	if (limit > 0)
		(void)json_object_set_new(shown, "left_s", json_integer(used < limit ? (limit - used + 999) / 1000 : 0));
	return shown;
}
