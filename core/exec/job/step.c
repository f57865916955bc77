/* SPDX-License-Identifier: MIT */
/* One step of a job: its folder, its processes, its outcome. */
/*
 * Theory of operation. A step goes through phases, each of which ends in a callback on the loop thread:
 *
 *   idle ──▶ finding ──▶ keying ──▶ awaiting ──▶ preparing ──▶ queued ──▶ warming ──▶ running ──▶ checking ──▶ collecting
 *            (tools)                (the same    (cache or     (slot or      ▲           │        (GPUs)      (outputs)
 *                                    build)       folders)      devices)     └─ resetting ◀───────────┘
 *
 * Each of them may lead to the end (step_may_follow). Steps that cannot be cached have no key. A step that passed while
 * its GPU was throttled starts again with new folders, once, and so does one that failed in a prepared process. Work
 * runs on a thread of its own and owns the step meanwhile; a cancel waits for the end of the work. Every failure leads
 * to step_end, which releases what the step holds, sends the outcome and notifies the job; it is called once.
 */
#include <config.h>

#include <assert.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/util/json_writer.h"

bool
step_may_follow(enum step_phase phase, enum step_phase next)
{
	static const unsigned may_follow[] = {
		[STEP_IDLE] = 1 << STEP_RESTORING | 1 << STEP_FINDING | 1 << STEP_ENDED,
		[STEP_RESTORING] = 1 << STEP_ENDED,
		[STEP_FINDING] = 1 << STEP_KEYING | 1 << STEP_PREPARING | 1 << STEP_ENDED,
		[STEP_KEYING] = 1 << STEP_AWAITING | 1 << STEP_ENDED,
		[STEP_AWAITING] = 1 << STEP_PREPARING | 1 << STEP_ENDED,
		[STEP_PREPARING] = 1 << STEP_QUEUED | 1 << STEP_ENDED,
		[STEP_QUEUED] = 1 << STEP_WARMING | 1 << STEP_ENDED,
		[STEP_WARMING] = 1 << STEP_WARMING | 1 << STEP_RUNNING | 1 << STEP_ENDED,
		[STEP_RUNNING] = 1 << STEP_CHECKING | 1 << STEP_RESETTING | 1 << STEP_COLLECTING | 1 << STEP_ENDED,
		[STEP_CHECKING] = 1 << STEP_RESETTING | 1 << STEP_COLLECTING,
		[STEP_RESETTING] = 1 << STEP_WARMING | 1 << STEP_ENDED,
		[STEP_COLLECTING] = 1 << STEP_ENDED,
		[STEP_ENDED] = 0,
	};
	return may_follow[phase] & 1 << next;
}

static void
enter(struct step *step, enum step_phase phase)
{
	assert(step_may_follow(step->phase, phase));
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
	*process = (struct step_process){
		.step = step, .plan = plan, .limits = plan->limits, .dir = path_join(step->files.dir, folder)};
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
	step->pair.memory = both.memory;
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
			strings_add(&step->place.gpus, unit->devices[i].gpu);
		cores_join(&step->place.cores, &unit->devices[i].cores);
	}
	if (step->place.cores.count == 0)
		cores_join(&step->place.cores, &step->job->exec->all);
}

void
step_open(struct step *step, struct job *job, const struct plan_step *plan, char *dir_take)
{
	static const char *const folders[] = {"job", "solver"};
	*step = (struct step){.job = job,
		.plan = plan,
		.files = {.dir = dir_take, .kept = path_join(dir_take, "kept")},
		.channels.secret = -1};
	for (size_t i = 0; i < plan->count; i++)
		open_process(step, &plan->processes[i], folders[i]);
	share_memory(step);
	take_places(step);
}

static void
close_processes(struct step *step)
{
	for (size_t i = 0; i < step->count; i++) {
		struct process *process = &step->processes[i].process;
		if (process->ending)
			ending_begin(step->job, STEAL(process->sandbox), step->gpus.held);
		process->ending = false;
		process_close(process);
	}
}

/* Releases what the processes left, so that the step can start again. */
static void
step_reset(struct step *step)
{
	close_processes(step);
	result_close(&step->channels.result);
	result_close(&step->channels.profiled);
	sandbox_group_free(STEAL(step->pair.group));
	if (step->channels.secret >= 0)
		close(STEAL_FD(step->channels.secret));
	json_decref(STEAL(step->gpus.report));
	json_decref(STEAL(step->gpus.reading));
	step->gpus.held = false;
	budget_return(step);
	step->failure = (struct step_failure){0};
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
	strings_free(&step->place.gpus);
	cores_free(&step->place.cores);
	manifest_free(&step->files.outputs);
	manifest_free(&step->artifacts.manifest);
	json_decref_all(step->cache.texts, step->jit.left);
	free_all(step->jit.trouble, step->jit.input);
	warm_layer_release(step->jit.warm);
	json_decref_all(step->outcome, step->gpus.reading, step->gpus.throttled);
	if (step->cache.recorder)
		(void)recorder_end(step->cache.recorder, &step->cache.reads);
	reads_free(&step->cache.reads);
	free_all(step->tools.missing, step->tools.library, step->artifacts.cut, step->files.dir, step->files.kept);
}

/* Whether the job makes shared results and so sends no events. */
static bool
is_silent(const struct step *step)
{
	return step->job->own || step->plan->shared;
}

/* Of a solver's channel only its profiler's output is part of the step's result. */
static void
take_profile(struct step *step)
{
	json_object_each(step->channels.profiled.values, key, value)
		if (strncmp(key, "profile.", strlen("profile.")) == 0)
			json_object_set(step->channels.result.values, key, value);
}

/* Ends a step; every step ends here. */
static void
step_end(struct step *step, enum step_state state)
{
	struct job *job = step->job;
	enum job_turn outer = job->turn;
	/* A release may let another step of the job begin and end. The job must not end before this step. */
	job->turn = TURN_TAKEN;
	enter(step, STEP_ENDED);
	step->times.ended_ns = time_monotonic_ns();
	step->state = state;
	for (size_t i = 0; i < step->count; i++)
		warm_cancel_request(&step->processes[i].warm);
	prepared_cancel(&step->opening.wait);
	build_slots_release(&job->exec->builds, &step->build.slot);
	build_slots_end(&job->exec->builds, &step->build.flight);
	take_profile(step);
	if (!budget_take_result(&job->budget, &step->channels.result) && state == STEP_PASSED)
		step->state = STEP_FAILED;
	step->outcome = outcome_make(step);
	budget_take_outcome(&job->budget, step->outcome);
	close_processes(step);
	sandbox_group_free(STEAL(step->pair.group));
	failpoint("exec.outcome");
	if (!job_is_reported(job) && !is_silent(step))
		exec_context_emit(job->exec,
			json_pack("{s:s, s:s, s:O}", "event", "outcome", "job", job->line.job, "outcome", step->outcome));
	job->turn = outer;
	job->advance(job);
}

void
step_end_unbegun(struct step *step, enum step_state state, const char *why)
{
	if (why)
		(void)kettle_fail(&step->failure.fault, KETTLE_ECANCELED, "%s", why);
	step_end(step, state);
}

static void
do_work(struct step *step, enum step_phase phase, void (*run)(void *step), void (*done)(void *step))
{
	enter(step, phase);
	work_start(&step->work, step->job->exec->loop, run, done, step);
}

/* Ends a step whose work was not needed or has failed. False: it goes on. */
static bool
ends_after_work(struct step *step)
{
	const struct step_failure *failure = &step->failure;
	bool ends = is_over(step) || failure->error.code != 0 || failure->fault.code != 0;
	if (ends)
		step_end(step, is_over(step) ? STEP_CANCELLED : failure->error.code != 0 ? STEP_ERROR : STEP_FAILED);
	return ends;
}

static void
key_done(void *arg)
{
	struct step *step = arg;
	if (ends_after_work(step))
		return;
	enter(step, STEP_AWAITING);
	/* Whether a shared result is there or not, no job waits until it is made. */
	if (step->plan->shared ||
		build_slots_begin(&step->job->exec->builds, &step->build.flight, step->cache.key, step_prepare, step))
		step_prepare(step);
}

static void
tools_done(void *arg)
{
	struct step *step = arg;
	if (ends_after_work(step))
		return;
	if (step->plan->cache) {
		step->cache.cover = step->job->exec->unrecorded ? COVER_KEY : COVER_RECORD;
		do_work(step, STEP_KEYING, step_files_key, key_done);
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
	if (!ends_after_work(step))
		step_end(step, state);
}

void
step_begin(struct step *step)
{
	step->times.begun_ns = time_monotonic_ns();
	if (step->plan->ended)
		do_work(step, STEP_RESTORING, step_files_restore, restored);
	else
		do_work(step, STEP_FINDING, launch_find_tools, tools_done);
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
							 step->plan->id, "state", words[step->plan->kind], "cached", step->cache.texts != NULL));
}

static void
prepare_done(void *arg)
{
	struct step *step = arg;
	if (ends_after_work(step))
		return;
	if (step->cache.texts) {
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
	do_work(step, STEP_PREPARING, step_files_prepare, prepare_done);
}

/* Waits for a build slot or the devices. */
static void
queue(void *arg)
{
	struct step *step = arg;
	enter(step, STEP_QUEUED);
	step->times.queued_ns = time_monotonic_ns();
	if (step->plan->device > 0) {
		if (device_lease_request(step->job))
			step_start(step);
	} else if (step->plan->kind == STEP_RUN || step->job->own ||
			   build_slots_acquire(&step->job->exec->builds, &step->build.slot, step_start, step)) {
		step_start(step);
	}
}

void
step_device_granted(struct step *step)
{
	if (step->phase == STEP_QUEUED && step->plan->device > 0)
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
	if (state == STEP_PASSED && step->failure.error.code != 0)
		state = STEP_ERROR;
	else if (state == STEP_PASSED && step->failure.fault.code != 0)
		state = STEP_FAILED;
	budget_return(step);
	exec->unrecorded = exec->unrecorded || step->cache.cover == COVER_NOTHING;
	jit_tell(exec, step->jit.trouble);
	sandbox_machine_prepare(exec->machine);
	step_end(step, state);
	warm_prepare(exec->warm);
}

/* Other steps may open the GPUs, since no process of this one runs on them. */
static void
leave_gpus(struct step *step)
{
	if (step->opening.uses_gpus)
		prepared_end_use(step->job->exec->warm, &step->place.gpus);
	step->opening.uses_gpus = false;
}

/* A process of the step that counts as ended while the kernel still lists it; NULL: there is none. */
static const struct process *
find_ending(const struct step *step)
{
	for (size_t i = 0; i < step->count; i++)
		if (step->processes[i].process.ending)
			return &step->processes[i].process;
	return NULL;
}

/* Nothing of the step's processes has a part of its GPUs any more, or something kept it for too long. */
static void
gpus_freed(struct step *step)
{
	char why[256];
	leave_gpus(step);
	if (!step->gpus.held)
		return;
	(void)snprintf(why, sizeof(why),
		"The GPUs of step `%.64s` were not freed within %d s after its processes: the device must be disabled until "
		"they are gone (init of the sandbox is process %ld).",
		step->plan->id, ENDING_LOST_MS / 1000, (long)sandbox_pid(find_ending(step)->sandbox));
	step->job->lose(step->job, why);
}

static void
again_done(void *arg)
{
	struct step *step = arg;
	gpus_freed(step);
	struct kettle_error error = step->failure.error;
	step_reset(step);
	step->failure.error = error;
	if (step->failure.error.code != 0) {
		step_end(step, STEP_ERROR);
		return;
	}
	/* It requests warm processes anew, and may have to wait for them. */
	step->warm_requests = 0;
	if (step->opening.state != OPENED_REFUSED)
		step->opening.state = OPENED_WANTED;
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
	gpus_freed(step);
	if (step->gpus.reading) {
		json_decref(lease->reading);
		lease->reading = STEAL(step->gpus.reading);
	}
	if (!must_repeat(step)) {
		do_work(step, STEP_COLLECTING, step_files_collect, collect_done);
		return;
	}
	step->gpus.throttled = json_incref(json_object_get(step->gpus.report, "throttled"));
	do_work(step, STEP_RESETTING, step_files_reset, again_done);
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
	if (step->opening.state != OPENED_TAKEN || is_over(step))
		return false;
	if (process->error.code == 0 && !process->report.started)
		return true;
	/* A supervisor passes that on only of a program that ended in order: a wrong answer has no second chance. */
	if (step->plan->supervised && json_object_get(step->channels.result.values, "check"))
		return false;
	return step->state == STEP_FAILED || (step->state == STEP_LIMIT && step->failure.limit != SANDBOX_LIMIT_WALL);
}

/* All processes have ended: collects the step's files if they count. */
static void
all_ended(struct step *step)
{
	struct exec_context *exec = step->job->exec;
	if (find_ending(step))
		device_lease_note(step->job);
	else
		leave_gpus(step);
	failpoint("exec.ended");
	step->state = step->failure.error.code != 0 ? STEP_ERROR : outcome_judge(step);
	if (must_open_itself(step)) {
		step->opening.state = OPENED_REFUSED;
		do_work(step, STEP_RESETTING, step_files_reset, again_done);
		return;
	}
	if (step->state == STEP_PASSED && step->plan->cache)
		step->cache.trim = exec->stores++ % CACHE_TRIM_EVERY == 0;
	build_slots_release(&exec->builds, &step->build.slot);
	budget_reserve(step);
	if (step->plan->device > 0 && step->job->lease.watch.gpus.count > 0)
		do_work(step, STEP_CHECKING, step_files_check_gpus, on_looked);
	else
		do_work(step, STEP_COLLECTING, step_files_collect, collect_done);
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
	/* The end of the referee, or a solver that could not be started, ends the step. */
	if (process == &step->processes[0] && step->count > 1 && process_is_open(&step->processes[1].process))
		stop_solver(step);
	else if (process == &step->processes[1] && process->process.error.code != 0 &&
			 process_is_open(&step->processes[0].process))
		process_kill(&step->processes[0].process, SANDBOX_LIMIT_CANCEL);
	for (size_t i = 0; i < step->count; i++)
		if (process_is_open(&step->processes[i].process))
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
		step->failure.error = step->job->lease.error;
		step_end(step, STEP_ERROR);
		return;
	}
	/* Warm processes may have to start first, which calls this function again. */
	enter(step, STEP_WARMING);
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
		result_open(&step->channels.result, step->processes[0].limits.result, &step->plan->unique, on_value, step);
	if (step->plan->profile && step->count > 1)
		result_open(&step->channels.profiled, step->processes[1].limits.result, &(struct strings){0}, NULL, step);
	enter(step, STEP_RUNNING);
	int rc = launch_secret(step, &step->failure.error);
	if (rc == 0)
		rc = launch_step(step, process_ended, process_lost, &step->failure.error);
	failpoint("exec.running");
	if (rc != 0) {
		leave_gpus(step);
		step->failure.error.code = rc;
		step_end(step, STEP_ERROR);
	}
}

void
step_cancel(struct step *step)
{
	switch (step->phase) {
	case STEP_IDLE:
	case STEP_AWAITING:
	case STEP_QUEUED:
	case STEP_WARMING:
		step_end(step, STEP_CANCELLED);
		break;
	case STEP_RUNNING:
		for (size_t i = 0; i < step->count; i++)
			process_kill(&step->processes[i].process, SANDBOX_LIMIT_CANCEL);
		break;
	case STEP_RESTORING:
	case STEP_FINDING:
	case STEP_KEYING:
	case STEP_PREPARING:
	case STEP_CHECKING:
	case STEP_RESETTING:
	case STEP_COLLECTING:
	case STEP_ENDED:
		break;
	}
}
