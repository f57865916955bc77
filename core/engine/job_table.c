/* SPDX-License-Identifier: MIT */
/* The jobs that the engine knows: by number, in their device's queue or held beside it. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/xalloc.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>

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
	struct engine_job *job = xcalloc(1, sizeof(*job));
	*job = (struct engine_job){.engine = engine, .id = id, .submission = submission, .user = user, .device = device};
	if (!tsearch(job, &engine->jobs.by_id, by_id))
		xalloc_fail();
	job->next = engine->jobs.first;
	if (job->next)
		job->next->previous = job;
	engine->jobs.first = job;
	return job;
}

/* The states that may follow each other: the picture in engine.h. */
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

/* It no longer waits. */
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
	/* Of its user's jobs those come first that no such unit has lost so often. */
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
	AUTO_JSON json_t *event = json_pack("{s:s, s:I, s:I, s:I, s:s, s:o}", "kind", "progress", "submission",
		(json_int_t)job->submission, "user", (json_int_t)job->user, "job", (json_int_t)job->id, "device",
		job->device->name, "event", event_take);
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
