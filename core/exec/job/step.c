/* SPDX-License-Identifier: MIT */
/* One step of a job: its folder, its processes, its outcome. */
/*
 * Theory of operation. A step goes through phases, each of which ends in a callback on the loop thread:
 *
 *   begin ── tools found (work) ──▶ key (work) ──▶ no other builds it ──▶ cache or folders (work) ──▶ slot, device
 *         ──▶ processes run ──▶ outputs collected (work) ──▶ outcome, job->advance
 *
 * A GPU is checked before the outputs are collected (work); a step that passed while its GPU was throttled then starts
 * again with new folders, once. Steps that cannot be cached have no key. Work runs on a thread of its own and owns the
 * step meanwhile; a cancel waits for the end of the work. Every failure leads to step_end, which releases what the step
 * holds, sends the outcome and notifies the job; it is called once.
 */
#include <config.h>

#include <assert.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/util/json_writer.h"

/* Enters a phase, after a check against the picture above. */
static void
enter(struct step *step, enum step_phase phase)
{
	static const unsigned may_follow[] = {
		[STEP_IDLE] = 1 << STEP_WORKING | 1 << STEP_ENDED,
		[STEP_WORKING] = 1 << STEP_WORKING | 1 << STEP_QUEUED | 1 << STEP_RUNNING | 1 << STEP_ENDED,
		[STEP_QUEUED] = 1 << STEP_WORKING | 1 << STEP_QUEUED | 1 << STEP_RUNNING | 1 << STEP_ENDED,
		[STEP_RUNNING] = 1 << STEP_WORKING | 1 << STEP_ENDED,
		[STEP_ENDED] = 0,
	};
	assert(may_follow[step->phase] & 1 << phase);
	step->phase = phase;
}

/* Whether the job is over, so that the step needs no further phase. */
static bool
is_over(const struct step *step)
{
	return step->job->status != JOB_DONE;
}

static void step_prepare(void *arg);
static void queue(void *arg);
static void step_start(void *arg);

static void
open_process(struct step *step, const struct plan_process *plan, const char *folder)
{
	struct step_process *process = &step->processes[step->count++];
	*process =
		(struct step_process){.step = step, .plan = plan, .limits = plan->limits, .dir = path_join(step->dir, folder)};
	if (step->job->line.unit.level == SANDBOX_LEVEL_OFF)
		process->temporary = xasprintf("%s.tmp", process->dir);
	if (process->limits.memory == 0)
		process->limits.memory = step->job->line.unit.memory * (step->plan->device > 1 ? step->plan->device : 1);
	limits_cap(&process->limits, &step->job->exec->config.max);
}

/* Referee and solver have one limit of memory together; each may have a lower one of its own. */
static void
share_memory(struct step *step)
{
	const struct unit *unit = &step->job->line.unit;
	struct limits both = {.memory = step->plan->memory};
	if (both.memory == 0)
		both.memory = unit->memory * (step->plan->device > 1 ? step->plan->device : 1);
	limits_cap(&both, &(struct limits){.memory = step->job->exec->config.max.memory});
	step->memory = both.memory;
	for (size_t i = 0; i < step->count && step->count > 1; i++)
		limits_cap(&step->processes[i].limits, &both);
}

/* Takes the step's part of the job's device slots. */
static void
take_places(struct step *step)
{
	const struct unit *unit = &step->job->line.unit;
	unsigned device = step->plan->device;
	/* A step without a device runs on the cores of the first slot. */
	for (size_t i = 0; i < unit->count && (i == 0 || i < device); i++) {
		if (i < device && unit->devices[i].gpu)
			strings_add(&step->visible, unit->devices[i].gpu);
		cores_join(&step->cores, &unit->devices[i].cores);
	}
	if (step->cores.count == 0)
		cores_join(&step->cores, &step->job->exec->all);
}

void
step_open(struct step *step, struct job *job, const struct plan_step *plan, char *dir_take)
{
	static const char *const folders[] = {"job", "solver"};
	*step = (struct step){.job = job, .plan = plan, .dir = dir_take, .kept = path_join(dir_take, "kept"), .secret = -1};
	for (size_t i = 0; i < plan->count; i++)
		open_process(step, &plan->processes[i], folders[i]);
	share_memory(step);
	take_places(step);
}

/* Releases what the processes left, so that the step can start again. */
static void
step_reset(struct step *step)
{
	for (size_t i = 0; i < step->count; i++)
		process_close(&step->processes[i].process);
	result_close(&step->result);
	result_close(&step->profiled);
	sandbox_group_free(STEAL(step->group));
	step->limited = NULL;
	if (step->secret >= 0)
		close(STEAL_FD(step->secret));
	json_decref(STEAL(step->gpus.report));
	budget_return(step);
	step->error = step->fault = (struct kettle_error){0};
	step->limit = SANDBOX_LIMIT_NONE;
}

void
step_close(struct step *step)
{
	step_reset(step);
	for (size_t i = 0; i < step->count; i++) {
		free_all(step->processes[i].dir, step->processes[i].temporary);
		strings_free(&step->processes[i].words);
		strings_free(&step->processes[i].roots);
		strings_free(&step->processes[i].early);
	}
	free(step->tools.further);
	json_decref(step->tools.told);
	strings_free(&step->visible);
	cores_free(&step->cores);
	manifest_free(&step->outputs);
	manifest_free(&step->artifacts.manifest);
	json_decref_all(step->cache.texts, step->jit.left);
	free_all(step->jit.trouble, step->jit.input);
	warm_layer_release(step->jit.warm);
	json_decref_all(step->outcome, step->gpus.reading, step->gpus.throttled);
	if (step->cache.recorder)
		(void)recorder_end(step->cache.recorder, &step->cache.reads);
	reads_free(&step->cache.reads);
	free_all(step->tools.missing, step->tools.library, step->artifacts.cut, step->dir, step->kept);
}

/* Whether the job makes shared results and so sends no events. */
static bool
is_silent(const struct step *step)
{
	return step->job->own || step->plan->shared;
}

/* What a solver's channel brought of its profiler is part of the step's result; nothing else is. */
static void
take_profile(struct step *step)
{
	json_object_each(step->profiled.values, key, value)
		if (strncmp(key, "profile.", strlen("profile.")) == 0)
			json_object_set(step->result.values, key, value);
}

/* Ends a step; every step ends here. */
static void
step_end(struct step *step, enum step_state state)
{
	struct job *job = step->job;
	bool outer = job->advancing;
	/* A release may let another step of the job begin and end. The job must not end before this step. */
	job->advancing = true;
	enter(step, STEP_ENDED);
	step->times.ended_ns = time_monotonic_ns();
	step->state = state;
	for (size_t i = 0; i < step->count; i++)
		warm_cancel_request(&step->processes[i].warm);
	prepared_cancel(&step->opening);
	build_slots_release(&job->exec->builds, &step->slot);
	build_slots_end(&job->exec->builds, &step->flight);
	take_profile(step);
	if (!budget_take_result(&job->budget, &step->result) && state == STEP_PASSED)
		step->state = STEP_FAILED;
	step->outcome = outcome_make(step);
	budget_take_outcome(&job->budget, step->outcome);
	for (size_t i = 0; i < step->count; i++)
		process_close(&step->processes[i].process);
	sandbox_group_free(STEAL(step->group));
	failpoint("exec.outcome");
	if (!job->reported && !is_silent(step))
		exec_context_emit(job->exec,
			json_pack("{s:s, s:s, s:O}", "event", "outcome", "job", job->line.job, "outcome", step->outcome));
	job->advancing = outer;
	job->advance(job);
}

void
step_end_unbegun(struct step *step, enum step_state state, const char *why)
{
	if (why)
		(void)kettle_fail(&step->fault, KETTLE_ECANCELED, "%s", why);
	step_end(step, state);
}

static void
do_work(struct step *step, void (*run)(void *step), void (*done)(void *step))
{
	enter(step, STEP_WORKING);
	work_start(&step->work, step->job->exec->loop, run, done, step);
}

static void
key_done(void *arg)
{
	struct step *step = arg;
	if (is_over(step)) {
		step_end(step, STEP_CANCELLED);
		return;
	}
	if (step->error.code != 0) {
		step_end(step, STEP_ERROR);
		return;
	}
	enter(step, STEP_QUEUED);
	/* Whether a shared result is there or not, no job waits until it is made. */
	if (step->plan->shared ||
		build_slots_begin(&step->job->exec->builds, &step->flight, step->cache.key, step_prepare, step))
		step_prepare(step);
}

static void
tools_done(void *arg)
{
	struct step *step = arg;
	if (is_over(step)) {
		step_end(step, STEP_CANCELLED);
	} else if (step->error.code != 0) {
		step_end(step, STEP_ERROR);
	} else if (step->plan->cache) {
		step->cache.guessed = step->job->exec->unrecorded;
		do_work(step, step_files_key, key_done);
	} else {
		step_prepare(step);
	}
}

static void
restored(void *arg)
{
	struct step *step = arg;
	enum step_state state = STEP_ERROR;
	(void)outcome_ended(step, &state);
	step_end(step, is_over(step) ? STEP_CANCELLED : step->error.code != 0 ? STEP_ERROR : state);
}

void
step_begin(struct step *step)
{
	step->times.begun_ns = time_monotonic_ns();
	if (step->plan->ended)
		do_work(step, step_files_restore, restored);
	else
		do_work(step, launch_find_tools, tools_done);
}

static void
emit_begin(struct step *step)
{
	static const char *const words[] = {
		[STEP_BUILD] = "building", [STEP_PREPARE] = "preparing", [STEP_RUN] = "running"};
	if (is_silent(step))
		return;
	exec_context_emit(
		step->job->exec, json_pack("{s:s, s:s, s:s, s:s, s:b}", "event", "step", "job", step->job->line.job, "step",
							 step->plan->id, "state", words[step->plan->kind], "cached", step->cache.hit));
}

static void
prepare_done(void *arg)
{
	struct step *step = arg;
	if (is_over(step)) {
		step_end(step, STEP_CANCELLED);
	} else if (step->error.code != 0) {
		step_end(step, STEP_ERROR);
	} else if (step->fault.code != 0) {
		step_end(step, STEP_FAILED);
	} else if (step->cache.hit) {
		json_object_del(step->job->exec->tried, step->cache.key);
		emit_begin(step);
		step_end(step, STEP_PASSED);
	} else if (step->plan->shared) {
		step_end(step, STEP_SKIPPED);
	} else {
		queue(step);
	}
}

static void
step_prepare(void *arg)
{
	struct step *step = arg;
	do_work(step, step_files_prepare, prepare_done);
}

/* Waits for a build slot or the devices. */
static void
queue(void *arg)
{
	struct step *step = arg;
	enter(step, STEP_QUEUED);
	step->times.queued_ns = time_monotonic_ns();
	if (step->plan->device > 0) {
		int rc = device_lease_request(step->job, &step->error);
		if (rc < 0) {
			step->error.code = rc;
			step_end(step, STEP_ERROR);
		} else if (rc > 0) {
			step_start(step);
		}
	} else if (step->plan->kind == STEP_RUN || step->job->own ||
			   build_slots_acquire(&step->job->exec->builds, &step->slot, step_start, step)) {
		step_start(step);
	}
}

void
step_device_granted(struct step *step)
{
	if (step->phase == STEP_QUEUED && step->plan->device > 0 && step->warm_requests == 0)
		step_start(step);
}

static void
on_value(void *arg, const char *key, const char *value)
{
	struct step *step = arg;
	if (!budget_take_event(&step->job->budget, strlen(key) + strlen(value)))
		return;
	exec_context_emit(step->job->exec, json_pack("{s:s, s:s, s:s, s:s, s:s}", "event", "result", "job",
										   step->job->line.job, "step", step->plan->id, "key", key, "value", value));
}

static void
collect_done(void *arg)
{
	struct step *step = arg;
	struct exec_context *exec = step->job->exec;
	enum step_state state = step->state;
	if (state == STEP_PASSED && step->error.code != 0)
		state = STEP_ERROR;
	else if (state == STEP_PASSED && step->fault.code != 0)
		state = STEP_FAILED;
	budget_return(step);
	exec->unrecorded = exec->unrecorded || step->cache.unable;
	jit_tell(exec, step->jit.trouble);
	sandbox_machine_prepare(exec->machine);
	step_end(step, state);
	warm_prepare(exec->warm);
}

static void
again_done(void *arg)
{
	struct step *step = arg;
	struct kettle_error error = step->error;
	step_reset(step);
	step->error = error;
	if (step->error.code != 0) {
		step_end(step, STEP_ERROR);
		return;
	}
	/* It requests warm processes anew, and may have to wait for them. */
	step->warm_requests = 0;
	step->awaited = false;
	enter(step, STEP_QUEUED);
	step_start(step);
}

/*
 * Whether the step must run again: heat of an earlier step must not count in its time. Heat of its own recurs, and is
 * reported.
 */
static bool
must_repeat(const struct step *step)
{
	return step->plan->kind == STEP_RUN && step->state == STEP_PASSED && !step->gpus.throttled && !is_over(step) &&
		   json_array_size(json_object_get(step->gpus.report, "throttled")) > 0;
}

static void
on_looked(void *arg)
{
	struct step *step = arg;
	struct device_lease *lease = &step->job->lease;
	if (step->gpus.reading) {
		json_decref(lease->reading);
		lease->reading = STEAL(step->gpus.reading);
	}
	if (!must_repeat(step)) {
		do_work(step, step_files_collect, collect_done);
		return;
	}
	step->gpus.throttled = json_incref(json_object_get(step->gpus.report, "throttled"));
	do_work(step, step_files_reset, again_done);
}

/* Other steps may open the GPUs, since no process of this one runs on them. */
static void
leave_gpus(struct step *step)
{
	if (step->uses_gpus)
		prepared_end_use(step->job->exec->warm, &step->visible);
	step->uses_gpus = false;
}

/*
 * Whether it must run again in a process that opens the GPU itself: the prepared one was gone when the run came, or the
 * run failed in it, which may be since the GPU was open already (a fork before its first use, an allocator or a variable
 * of CUDA that the script sets).
 */
static bool
must_open_itself(const struct step *step)
{
	const struct process *process = &STEP_SOLVER(step)->process;
	if (!STEP_SOLVER(step)->prepared || step->unprepared || is_over(step))
		return false;
	bool gone = process->error.code == 0 && !process->report.started;
	return gone || step->state == STEP_FAILED || (step->state == STEP_LIMIT && step->limit != SANDBOX_LIMIT_WALL);
}

/* All processes have ended: collects the step's files if they count. */
static void
all_ended(struct step *step)
{
	struct exec_context *exec = step->job->exec;
	leave_gpus(step);
	failpoint("exec.ended");
	step->state = step->error.code != 0 ? STEP_ERROR : outcome_judge(step);
	if (must_open_itself(step)) {
		step->unprepared = true;
		do_work(step, step_files_reset, again_done);
		return;
	}
	step->collect = step->state == STEP_PASSED;
	if (step->collect && step->plan->cache)
		step->trim = exec->stores++ % CACHE_TRIM_EVERY == 0;
	build_slots_release(&exec->builds, &step->slot);
	budget_reserve(step);
	if (step->plan->device > 0 && step->job->lease.watch.gpus.count > 0)
		do_work(step, step_files_check_gpus, on_looked);
	else
		do_work(step, step_files_collect, collect_done);
}

/*
 * The referee has ended, or could not be started. Beside one that ran, a solver that is profiled runs on, within its
 * limits: its profiler has yet to report.
 */
static void
stop_solver(struct step *step)
{
	const struct process *referee = &step->processes[0].process;
	struct process *solver = &step->processes[1].process;
	bool began = referee->error.code == 0 && referee->report.started;
	if (is_over(step) || !began || (outcome_exit_passes(step) && !step->plan->profile))
		process_kill(solver, SANDBOX_LIMIT_CANCEL);
	else if (!step->plan->profile)
		process_end_within(solver, STEP_GRACE_MS);
}

static void
process_ended(void *arg)
{
	struct step_process *process = arg;
	struct step *step = process->step;
	process->running = false;
	/* The end of the referee, or a solver that could not be started, ends the step. */
	if (process == &step->processes[0] && step->count > 1 && step->processes[1].running)
		stop_solver(step);
	else if (process == &step->processes[1] && process->process.error.code != 0 && step->processes[0].running)
		process_kill(&step->processes[0].process, SANDBOX_LIMIT_CANCEL);
	for (size_t i = 0; i < step->count; i++)
		if (step->processes[i].running)
			return;
	all_ended(step);
}

static void
process_lost(void *arg)
{
	const struct step_process *process = arg;
	struct step *step = process->step;
	char why[512];
	(void)snprintf(why, sizeof(why),
		"Processes of step `%.64s` were killed but still exist after %d s: the device must be disabled until they "
		"are "
		"gone (init of the sandbox is process %ld).",
		step->plan->id, PROCESS_LOST_MS / 1000, (long)sandbox_pid(process->process.sandbox));
	step->job->lose(step->job, why);
}

static void
step_start(void *arg)
{
	struct step *step = arg;
	if (is_over(step)) {
		step_end(step, STEP_CANCELLED);
		return;
	}
	if (step->plan->device > 0 && step->job->lease.error.code != 0) {
		step->error = step->job->lease.error;
		step_end(step, STEP_ERROR);
		return;
	}
	/* Warm processes may have to start first, which calls this function again. */
	bool waits = launch_request_warm(step, step_start);
	if (step->plan->device > 0 && step->warm_requests == 0)
		(void)warm_yield(step->job->exec->warm);
	step->warm_requests++;
	if (waits)
		return;
	step->times.launched_ns = time_monotonic_ns();
	failpoint("exec.step");
	emit_begin(step);
	if (step->plan->result)
		result_open(&step->result, step->processes[0].limits.result, &step->plan->unique, on_value, step);
	if (step->plan->profile && step->count > 1)
		result_open(&step->profiled, step->processes[1].limits.result, &(struct strings){0}, NULL, step);
	enter(step, STEP_RUNNING);
	int rc = launch_secret(step, &step->error);
	if (rc == 0)
		rc = launch_step(step, process_ended, process_lost, &step->error);
	failpoint("exec.running");
	if (rc != 0) {
		leave_gpus(step);
		step->error.code = rc;
		step_end(step, STEP_ERROR);
	}
}

void
step_cancel(struct step *step)
{
	switch (step->phase) {
	case STEP_IDLE:
	case STEP_QUEUED:
		step_end(step, STEP_CANCELLED);
		break;
	case STEP_RUNNING:
		for (size_t i = 0; i < step->count; i++)
			if (step->processes[i].running)
				process_kill(&step->processes[i].process, SANDBOX_LIMIT_CANCEL);
		break;
	case STEP_WORKING:
	case STEP_ENDED:
		break;
	}
}
