/* SPDX-License-Identifier: MIT */
/* The lease of a job's devices: their locks, and a check of their GPUs before and after. */
/*
 * Theory of operation. A job that needs several device slots takes their locks one after the other, in the order of
 * their names. The order is the same for all jobs, so there is no deadlock. A job keeps its locks while it waits for
 * the next one, so jobs that need fewer slots and come more often cannot starve it. Of several jobs that wait for a
 * lock, the oldest gets it first (devlock.c).
 *
 *   request ──▶ lock 1 ──▶ … ──▶ lock n ──▶ check (work) ──▶ ready: the steps run ──▶ check (work) ──▶ release
 *
 * Only GPUs are checked. A fault in the first check fails the steps as the machine's fault; so does, in a job whose times
 * are scores, a GPU that is unfit to score. A fault in the last check is reported with the job's `done` and changes no
 * result. A job that ends during a check stays until the check has ended.
 */
#include <config.h>

#include <assert.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/gpu_fitness.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/machine/machine.h"

static void
enter(struct device_lease *lease, enum lease_state state)
{
	assert(state > lease->state);
	lease->state = state;
}

/* Adds a lock in order. Two device slots may share one. */
static void
add_lock(struct device_lease *lease, const struct device_slot *device)
{
	size_t at = 0;
	while (at < lease->count && strcmp(lease->names[at], device->lock) < 0)
		at++;
	if (at < lease->count && strcmp(lease->names[at], device->lock) == 0)
		return;
	memmove(&lease->names[at + 1], &lease->names[at], (lease->count - at) * sizeof(*lease->names));
	memmove(&lease->slots[at + 1], &lease->slots[at], (lease->count - at) * sizeof(*lease->slots));
	lease->names[at] = device->lock;
	lease->slots[at] = device->slots;
	lease->count++;
}

/* Opens the check of GPUs. Where jobs share a GPU, its memory in use is not compared. */
static void
open_watch(struct job *job)
{
	struct device_lease *lease = &job->lease;
	const struct unit *unit = &job->line.unit;
	bool shared = false;
	lease->watch.config = &job->exec->config;
	if (!unit->devices[0].gpu || !gpu_expected(&job->exec->config))
		return;
	for (size_t i = 0; i < lease->need; i++) {
		shared = shared || unit->devices[i].slots > 1;
		if (unit->devices[i].gpu)
			strings_add(&lease->watch.gpus, unit->devices[i].gpu);
	}
	lease->watch.idle = shared ? NULL : json_object();
	lease->watch.score = unit->score;
}

int
device_lease_open(struct job *job, struct kettle_error *err)
{
	struct device_lease *lease = &job->lease;
	const struct unit *unit = &job->line.unit;
	for (size_t i = 0; i < job->count; i++)
		lease->need = job->steps[i].plan->device > lease->need ? job->steps[i].plan->device : lease->need;
	/* A slot without a GPU is its whole machine, and the program counts that machine's devices itself. */
	if (lease->need > unit->count && unit->devices[0].gpu)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The job needs %zu devices at once, but unit `%s` has %zu.",
			lease->need, unit->name, unit->count);
	lease->need = lease->need < unit->count ? lease->need : unit->count;
	if (lease->need == 0)
		return 0;
	lease->locks = xcalloc(lease->need, sizeof(*lease->locks));
	lease->names = xcalloc(lease->need + 1, sizeof(*lease->names));
	lease->slots = xcalloc(lease->need + 1, sizeof(*lease->slots));
	open_watch(job);
	for (size_t i = 0; i < lease->need; i++) {
		lease->locks[i].fd = -1;
		add_lock(lease, &unit->devices[i]);
	}
	return 0;
}

/* ---- the check ---- */

static void
look_run(void *arg)
{
	struct device_lease *lease = &((struct job *)arg)->lease;
	lease->found_unfit = json_object();
	lease->found_faults = gpuwatch_check(&lease->watch, &lease->found_reading, lease->found_unfit);
}

/* Takes the result of a check, on the loop. */
static void
take_look(struct job *job)
{
	struct device_lease *lease = &job->lease;
	json_decref_all(lease->reading, lease->faults, lease->unfit);
	lease->unfit = STEAL(lease->found_unfit);
	lease->reading = STEAL(lease->found_reading);
	lease->faults = STEAL(lease->found_faults);
	/* The smallest reading counts as the memory in use when idle. */
	if (lease->reading && lease->watch.idle)
		gpuwatch_note_idle(job->exec->idle, lease->reading, &lease->watch.gpus);
}

void
device_lease_note(struct job *job)
{
	struct device_lease *lease = &job->lease;
	if (lease->watch.idle)
		json_object_update(lease->watch.idle, job->exec->idle);
	json_decref(lease->watch.prepared);
	lease->watch.prepared = json_object();
	for (size_t i = 0; i < lease->watch.gpus.count; i++) {
		const char *gpu = lease->watch.gpus.list[i];
		json_object_set_new(lease->watch.prepared, gpu, prepared_pids(job->exec->warm, gpu));
	}
}

/* Starts a check. False: there is nothing to check. */
static bool
lease_look(struct job *job, enum lease_state state, void (*looked)(void *job))
{
	struct device_lease *lease = &job->lease;
	if (lease->watch.gpus.count == 0)
		return false;
	device_lease_note(job);
	enter(lease, state);
	work_start(&lease->work, job->exec->loop, look_run, looked, job);
	return true;
}

/* ---- taking ---- */

static void
take_fault(struct device_lease *lease)
{
	json_object_each(lease->faults, gpu, why) {
		(void)kettle_fail(&lease->error, KETTLE_EUNAVAIL, "%s", json_string_value(why));
		return;
	}
	json_object_each(lease->unfit, gpu, causes) {
		AUTO_BUF struct buf why = {0};
		gpu_words_explain(causes, &why);
		(void)kettle_fail(&lease->error, KETTLE_EUNAVAIL, "GPU %s is not fit to score: %s.", gpu, why.data);
		return;
	}
}

static void
lease_begin(struct job *job)
{
	struct device_lease *lease = &job->lease;
	json_t *names = json_array();
	enter(lease, LEASE_READY);
	take_fault(lease);
	job->device_ns = time_monotonic_ns();
	for (size_t i = 0; i < lease->count; i++)
		json_array_append_new(names, json_string(lease->names[i]));
	failpoint("exec.device");
	exec_context_emit(
		job->exec, json_pack("{s:s, s:s, s:{s:s, s:i, s:I, s:o}}", "event", "device", "job", job->line.job, "device",
					   "lock", lease->names[0], "slot", (int)lease->locks[0].slot, "waited_ns",
					   (json_int_t)(job->device_ns - lease->wanted_ns), "locks", names));
}

static void
looked_before(void *arg)
{
	struct job *job = arg;
	take_look(job);
	lease_begin(job);
	job->devices_held(job);
}

/* All locks are held. True: the devices are ready. */
static bool
on_locked(struct job *job)
{
	if (lease_look(job, LEASE_CHECKING, looked_before))
		return false;
	lease_begin(job);
	return true;
}

static bool take_next(struct job *job);

static void
on_lock(void *arg)
{
	struct job *job = arg;
	struct device_lease *lease = &job->lease;
	lease->held++;
	if (take_next(job))
		job->devices_held(job);
}

/* True: the devices are ready, or cannot be used (lease->error). False: the job waits for a lock or the check. */
static bool
take_next(struct job *job)
{
	struct device_lease *lease = &job->lease;
	while (lease->held < lease->count) {
		int rc = devlock_acquire(&job->exec->locks, &lease->locks[lease->held], lease->names[lease->held],
			lease->slots[lease->held], job->received_ns, on_lock, job, &lease->error);
		if (rc < 0) {
			lease->error.code = rc;
			enter(lease, LEASE_READY);
		}
		if (rc <= 0)
			return rc < 0;
		lease->held++;
	}
	return on_locked(job);
}

bool
device_lease_request(struct job *job)
{
	struct device_lease *lease = &job->lease;
	if (lease->state != LEASE_UNWANTED)
		return lease->state == LEASE_READY;
	enter(lease, LEASE_LOCKING);
	lease->wanted_ns = time_monotonic_ns();
	bool ready = take_next(job);
	if (lease->state == LEASE_LOCKING) {
		failpoint("exec.waiting");
		exec_context_emit(job->exec, json_pack("{s:s, s:s}", "event", "waiting", "job", job->line.job));
	}
	return ready;
}

/* ---- releasing ---- */

static void
give_back(struct job *job)
{
	struct device_lease *lease = &job->lease;
	lease->state = LEASE_RETURNED;
	for (size_t i = 0; i < lease->count; i++)
		devlock_release(&job->exec->locks, &lease->locks[i]);
	lease->held = 0;
}

static void
looked_after(void *arg)
{
	struct job *job = arg;
	take_look(job);
	give_back(job);
	job->advance(job);
}

void
device_lease_release(struct job *job)
{
	struct device_lease *lease = &job->lease;
	if (lease->state != LEASE_LOCKING && lease->state != LEASE_READY)
		return;
	/* A fault that was found before anything ran needs no second check. */
	bool worth = lease->state == LEASE_READY && lease->error.code == 0 && job->status != JOB_LOST;
	if (!worth || !lease_look(job, LEASE_CHECKING_AGAIN, looked_after))
		give_back(job);
}

size_t
device_lease_descriptors(const struct job *job, int *ret_fds)
{
	size_t count = 0;
	assert(job->lease.held <= JOB_MAX_DEVICES);
	for (size_t i = 0; i < job->lease.held; i++)
		if (job->lease.locks[i].fd >= 0)
			ret_fds[count++] = job->lease.locks[i].fd;
	return count;
}

/* Adds the causes of GPUs to those that are known of them. */
static void
add_unfit(json_t *all, const json_t *unfit)
{
	json_object_each(unfit, gpu, causes) {
		json_t *known = json_object_get(all, gpu);
		if (!known) {
			known = json_array();
			json_object_set_new(all, gpu, known);
		}
		gpu_words_add_causes(known, causes);
	}
}

json_t *
device_lease_report(const struct job *job)
{
	const struct device_lease *lease = &job->lease;
	if (!lease->faults)
		return NULL;
	json_t *unfit = json_object();
	add_unfit(unfit, lease->unfit);
	for (size_t i = 0; i < job->count; i++)
		add_unfit(unfit, json_object_get(job->steps[i].gpus.report, "unfit"));
	return json_pack(
		"{s:o, s:O, s:o}", "checked", strings_json(&lease->watch.gpus), "faults", lease->faults, "unfit", unfit);
}

void
device_lease_close(struct job *job)
{
	struct device_lease *lease = &job->lease;
	give_back(job);
	free_all(lease->locks, lease->names, lease->slots);
	strings_free(&lease->watch.gpus);
	json_decref_all(lease->watch.idle, lease->watch.prepared, lease->reading, lease->faults, lease->unfit);
}
