/* SPDX-License-Identifier: MIT */
/* Sandboxes of ended runs whose processes the kernel still lists. */
/*
 * Theory of operation. With `gpu: lease_until: freed` of exec.yml a run on a GPU counts as ended when none of its
 * processes can run code any more (process.c) and its GPUs are freed (gpuwatch_await_freed), though a driver may still be
 * busy with its processes. What is left of them is a struct ending. It keeps the locks of the job's devices, which pass to
 * the next job of this kettle-exec meanwhile and stay taken for others (devlock_keep):
 * When init has ended the sandbox is freed, and the locks are dropped.
 *
 * One that does not end within ENDING_LOST_MS is lost: the locks pass on no more, and the jobs that have them or wait for
 * them are lost, as if the processes were their own. Later ones fail (devlock_lose) until it has ended.
 */
#include <config.h>

#include "base/base.h"
#include "base/list.h"
#include "base/text.h"
#include "exec/job/job_internal.h"

struct ending {
	struct ending *next;
	struct exec_context *exec;
	struct sandbox *sandbox;
	struct devlock_kept **locks;
	size_t count;
	uv_poll_t end;
	uv_timer_t lost;
	unsigned handles;
};

bool
ending_is_allowed(const struct step *step)
{
	const struct exec_context *exec = step->job->exec;
	size_t count = 0;
	for (const struct ending *ending = exec->endings; ending; ending = ending->next)
		count++;
	/* Of GPUs that jobs share nothing shows whose memory is in use. */
	return exec->config.gpu_until_freed && step->plan->device > 0 && step->plan->kind == STEP_RUN &&
		   step->job->lease.watch.idle && count < ENDING_MAX;
}

static void
on_closed(uv_handle_t *handle)
{
	struct ending *ending = handle->data;
	struct exec_context *exec = ending->exec;
	if (--ending->handles > 0)
		return;
	sandbox_free(ending->sandbox);
	for (size_t i = 0; i < ending->count; i++)
		devlock_drop(&exec->locks, ending->locks[i]);
	LIST_REMOVE(exec->endings, ending);
	free_all(ending->locks, ending);
	if (!exec_context_is_busy(exec) && exec->on_idle)
		exec->on_idle(exec->arg);
}

static void
on_end(uv_poll_t *poll, int status, int events)
{
	struct ending *ending = poll->data;
	(void)status;
	(void)events;
	uv_close((uv_handle_t *)&ending->end, on_closed);
	uv_close((uv_handle_t *)&ending->lost, on_closed);
}

/* Whether a job has one of the locks, or waits for it. */
static bool
wants_lock(const struct job *job, const struct ending *ending)
{
	const struct device_lease *lease = &job->lease;
	for (size_t i = 0; i < lease->count; i++) {
		const struct devlock *lock = &lease->locks[i];
		for (size_t j = 0; j < ending->count; j++)
			if ((lock->waits || (lock->fd >= 0 && lock->slot == ending->locks[j]->slot)) &&
				strcmp(lock->name, ending->locks[j]->name) == 0)
				return true;
	}
	return false;
}

static void
on_lost(uv_timer_t *timer)
{
	struct ending *ending = timer->data;
	struct exec_context *exec = ending->exec;
	AUTO_FREE char *why = xasprintf("Processes of a run that has ended still exist after %d s: the device must be "
									"disabled until they are gone (init of the sandbox is process %ld).",
		ENDING_LOST_MS / 1000, (long)sandbox_pid(ending->sandbox));
	for (size_t i = 0; i < ending->count; i++)
		devlock_lose(ending->locks[i], why);
	exec_context_emit(exec, json_pack("{s:s, s:s}", "event", "error", "error", why));
	for (struct job *job = exec->jobs; job; job = job->next)
		if (!job_is_reported(job) && wants_lock(job, ending))
			job->lose(job, why);
}

void
ending_begin(struct job *job, struct sandbox *sandbox_take, bool held)
{
	struct exec_context *exec = job->exec;
	struct ending *ending = xnew(struct ending, .exec = exec, .sandbox = sandbox_take, .handles = 2,
		.locks = xcalloc(job->lease.held + 1, sizeof(*ending->locks)));
	for (size_t i = 0; i < job->lease.held; i++) {
		struct devlock_kept *kept = devlock_keep(&exec->locks, &job->lease.locks[i]);
		if (!kept)
			continue;
		kept->blocked = kept->blocked || held;
		ending->locks[ending->count++] = kept;
	}
	ending->end.data = ending->lost.data = ending;
	LIST_APPEND(exec->endings, ending);
	(void)uv_timer_init(exec->loop, &ending->lost);
	(void)uv_timer_start(&ending->lost, on_lost, ENDING_LOST_MS, 0);
	/* The pidfd was watched before, so it can be. */
	(void)uv_poll_init(exec->loop, &ending->end, sandbox_pidfd(ending->sandbox));
	(void)uv_poll_start(&ending->end, UV_READABLE, on_end);
}
