/* SPDX-License-Identifier: MIT */
/* The devices of a job, held: their locks, all of them, and a look at their GPUs before and after. */
/*
 * Theory of operation. A job that needs several places takes their locks one after the other, in the order of their
 * names, which is the same for everybody: so nobody waits in a circle. What it has it keeps while it waits for the next:
 * so others, who may need less and come more often, cannot pass it by for ever. In front of each lock the oldest job
 * stands first (devlock.c).
 *
 *   want ──▶ lock 1 ──▶ … ──▶ lock n ──▶ look (pool) ──▶ ready: the steps run ──▶ look (pool) ──▶ given back
 *
 * The looks are for GPUs alone. What the first one finds wrong makes the steps fail as the machine's fault; what the
 * last one finds is told with the job's `done` and changes no result. A job that goes away while a look is under way
 * stays until that is over.
 */
#include <config.h>

#include "exec/job/device_hold.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "exec/machine/gpu.h"
#include "exec/job/job_internal.h"
#include "base/text.h"

static int
no_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the devices of a job.");
}

/* Adds a lock at its place in the order; two places may have one lock. */
static void
add_lock(struct hold *hold, const struct device_slot *device)
{
	size_t at = 0;
	while (at < hold->count && strcmp(hold->names[at], device->lock) < 0)
		at++;
	if (at < hold->count && strcmp(hold->names[at], device->lock) == 0)
		return;
	memmove(&hold->names[at + 1], &hold->names[at], (hold->count - at) * sizeof(*hold->names));
	memmove(&hold->slots[at + 1], &hold->slots[at], (hold->count - at) * sizeof(*hold->slots));
	hold->names[at] = device->lock;
	hold->slots[at] = device->slots;
	hold->count++;
}

/* What is to be looked at. Where jobs share a GPU its memory says nothing. */
static int
open_watch(struct job *job)
{
	struct hold *hold = &job->hold;
	const struct unit *unit = &job->unit;
	bool shared = false;
	hold->watch.config = &job->exec->config;
	if (!unit->devices[0].gpu || !gpu_expected(&job->exec->config))
		return 0;
	hold->watch.gpus = json_array();
	for (size_t i = 0; i < hold->need; i++) {
		shared = shared || unit->devices[i].slots > 1;
		if (unit->devices[i].gpu && json_array_append_new(hold->watch.gpus, json_string(unit->devices[i].gpu)) != 0)
			return KETTLE_ENOMEM;
	}
	hold->watch.idle = shared ? NULL : json_object();
	return 0;
}

int
hold_open(struct job *job, struct kettle_error *err)
{
	struct hold *hold = &job->hold;
	const struct unit *unit = &job->unit;
	for (size_t i = 0; i < job->count; i++)
		hold->need = job->steps[i].device > hold->need ? job->steps[i].device : hold->need;
	/* A place without a GPU is all of its machine that there is; how many devices that has is for the program to see. */
	if (hold->need > unit->count && unit->devices[0].gpu)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The job needs %zu devices at once, and unit `%s` has %zu.",
			hold->need, unit->name, unit->count);
	hold->need = hold->need < unit->count ? hold->need : unit->count;
	if (hold->need == 0)
		return 0;
	hold->locks = calloc(hold->need, sizeof(*hold->locks));
	hold->names = calloc(hold->need + 1, sizeof(*hold->names));
	hold->slots = calloc(hold->need + 1, sizeof(*hold->slots));
	if (!hold->locks || !hold->names || !hold->slots || open_watch(job) != 0)
		return no_memory(err);
	for (size_t i = 0; i < hold->need; i++) {
		hold->locks[i].fd = -1;
		add_lock(hold, &unit->devices[i]);
	}
	return 0;
}

/* ---- the look ---- */

static void
look_run(uv_work_t *work)
{
	struct job *job = work->data;
	job->hold.found_faults = gpuwatch_check(&job->hold.watch, &job->hold.found_reading);
}

static void
look_done(uv_work_t *work, int status)
{
	struct job *job = work->data;
	struct hold *hold = &job->hold;
	(void)status;
	hold->busy = false;
	json_decref(hold->reading);
	json_decref(hold->faults);
	hold->reading = STEAL(hold->found_reading);
	hold->faults = STEAL(hold->found_faults);
	/* Less than ever is what it uses when nothing runs. */
	if (hold->reading && hold->watch.idle)
		gpuwatch_note_idle(job->exec->idle, hold->reading, hold->watch.gpus);
	hold->worked(job);
}

/* False: there is nothing to look at, or no thread to do it. */
static bool
look(struct job *job, void (*worked)(struct job *job))
{
	struct hold *hold = &job->hold;
	if (json_array_size(hold->watch.gpus) == 0)
		return false;
	if (hold->watch.idle)
		(void)json_object_update(hold->watch.idle, job->exec->idle);
	hold->work.data = job;
	hold->worked = worked;
	hold->busy = uv_queue_work(job->exec->loop, &hold->work, look_run, look_done) == 0;
	return hold->busy;
}

/* ---- taking ---- */

static void
take_fault(struct hold *hold)
{
	const char *gpu;
	json_t *why;
	json_object_foreach(hold->faults, gpu, why) {
		hold->error.code = kettle_fail(&hold->error, KETTLE_EUNAVAIL, "%s", json_string_value(why));
		return;
	}
}

static void
begin(struct job *job)
{
	struct hold *hold = &job->hold;
	json_t *names = json_array();
	hold->ready = true;
	take_fault(hold);
	job->device_ns = time_monotonic_ns();
	for (size_t i = 0; i < hold->count; i++)
		(void)json_array_append_new(names, json_string(hold->names[i]));
	failpoint("exec.device");
	exec_emit(job->exec, json_pack("{s:s, s:s, s:{s:s, s:i, s:I, s:o}}", "event", "device", "job", job->ref, "device",
							 "lock", hold->names[0], "slot", (int)hold->locks[0].slot, "waited_ns",
							 (json_int_t)(job->device_ns - hold->asked_ns), "locks", names));
}

static void
looked_before(struct job *job)
{
	begin(job);
	job->devices_held(job);
}

/* Everything is locked. True: ready. */
static bool
locked(struct job *job)
{
	if (look(job, looked_before))
		return false;
	begin(job);
	return true;
}

static int take_next(struct job *job, struct kettle_error *err);

static void
on_lock(void *arg)
{
	struct job *job = arg;
	struct hold *hold = &job->hold;
	hold->held++;
	int rc = take_next(job, &hold->error);
	if (rc == 0)
		return;
	if (rc < 0) {
		hold->error.code = rc;
		hold->ready = true;
		job->devices_held(job);
	} else if (locked(job)) {
		job->devices_held(job);
	}
}

/* 1: all are held; 0: it waits for one. */
static int
take_next(struct job *job, struct kettle_error *err)
{
	struct hold *hold = &job->hold;
	while (hold->held < hold->count) {
		int rc = devlock_acquire(&job->exec->locks, &hold->locks[hold->held], hold->names[hold->held],
			hold->slots[hold->held], job->received_ns, on_lock, job, err);
		if (rc <= 0)
			return rc;
		hold->held++;
	}
	return 1;
}

int
hold_want(struct job *job, struct kettle_error *err)
{
	struct hold *hold = &job->hold;
	if (hold->ready)
		return 1;
	if (hold->wanted)
		return 0;
	hold->wanted = true;
	hold->asked_ns = time_monotonic_ns();
	int rc = take_next(job, err);
	if (rc > 0)
		return locked(job);
	if (rc == 0) {
		failpoint("exec.waiting");
		exec_emit(job->exec, json_pack("{s:s, s:s}", "event", "waiting", "job", job->ref));
	}
	return rc;
}

/* ---- giving back ---- */

static void
give_back(struct job *job)
{
	struct hold *hold = &job->hold;
	hold->ended = true;
	for (size_t i = 0; i < hold->count; i++)
		devlock_release(&job->exec->locks, &hold->locks[i]);
	hold->held = 0;
	hold->ready = hold->wanted = false;
}

static void
looked_after(struct job *job)
{
	give_back(job);
	job->advance(job);
}

void
hold_release(struct job *job)
{
	struct hold *hold = &job->hold;
	if (hold->ended || hold->busy || !hold->wanted)
		return;
	/* What was found wrong before anything ran is as wrong now. */
	bool worth = hold->ready && hold->error.code == 0 && !hold->checked && !job->lost;
	hold->checked = true;
	if (!worth || !look(job, looked_after))
		give_back(job);
}

bool
hold_is_busy(const struct job *job)
{
	return job->hold.busy;
}

size_t
hold_descriptors(const struct job *job, int *ret_fds)
{
	size_t count = 0;
	for (size_t i = 0; i < job->hold.held; i++)
		if (job->hold.locks[i].fd >= 0)
			ret_fds[count++] = job->hold.locks[i].fd;
	return count;
}

json_t *
hold_report(const struct job *job)
{
	const struct hold *hold = &job->hold;
	if (!hold->faults)
		return NULL;
	return json_pack("{s:O, s:O}", "checked", hold->watch.gpus, "faults", hold->faults);
}

void
hold_close(struct job *job)
{
	struct hold *hold = &job->hold;
	give_back(job);
	free(hold->locks);
	free(hold->names);
	free(hold->slots);
	json_decref(hold->watch.gpus);
	json_decref(hold->watch.idle);
	json_decref(hold->reading);
	json_decref(hold->faults);
}
