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
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
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

/* ---- outcome: whether the step passed, and the object for it ---- */

#define COMMAND_MAX 4096

static const char *const state_names[] = {
#define X(name, wire) [STEP_##name] = wire,
	STEP_STATES(X)
#undef X
};

static bool
is_plain(const char *word)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=+:,@%";
	return word[0] && strspn(word, plain) == strlen(word);
}

static void
add_word(struct buf *text, const char *word)
{
	if (is_plain(word)) {
		buf_adds(text, word);
		return;
	}
	buf_adds(text, "'");
	for (; *word; word++)
		buf_add(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	buf_adds(text, "'");
}

char *
outcome_command(const struct strings *argv, size_t max)
{
	AUTO_BUF struct buf text = {0};
	AUTO_BUF struct buf clean = {0};
	for (size_t i = 0; i < argv->count && text.len <= max; i++) {
		if (i > 0)
			buf_adds(&text, " ");
		add_word(&text, argv->list[i]);
	}
	bool cut = text.len > max;
	if (cut)
		text.len = max;
	/* A cut may have broken a character. */
	while (cut && text.len > 0 && ((unsigned char)text.data[text.len - 1] & 0x80))
		text.len--;
	if (text.len > 0)
		(void)utf8_sanitize(text.data, text.len, &clean);
	if (cut)
		buf_adds(&clean, " ...");
	return buf_take(&clean);
}

/* The limit at which this program or init killed the process. */
static enum sandbox_limit
limit_of(const struct process *process)
{
	return process->report.limit != SANDBOX_LIMIT_NONE ? process->report.limit : process->limit;
}

/*
 * A limit that the process reached without being killed, such as a full disk, which explains a failure. The smallest
 * file systems come first.
 */
static enum sandbox_limit
hit_of(const struct process *process)
{
	static const enum sandbox_limit order[] = {SANDBOX_LIMIT_SHM, SANDBOX_LIMIT_CACHE, SANDBOX_LIMIT_TMP,
		SANDBOX_LIMIT_DISK, SANDBOX_LIMIT_FILES, SANDBOX_LIMIT_FILE_SIZE, SANDBOX_LIMIT_PROCESSES};
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (process->report.hits & (1u << order[i]))
			return order[i];
	return SANDBOX_LIMIT_NONE;
}

/* Messages of libraries about a limit that leaves no trace in the kernel. */
static const struct {
	enum sandbox_limit limit;
	const char *words;
} complaints[] = {{SANDBOX_LIMIT_OPEN_FILES, "Too many open files"}, {SANDBOX_LIMIT_FILE_SIZE, "File too large"},
	{SANDBOX_LIMIT_FILE_SIZE, "File size limit exceeded"},
	{SANDBOX_LIMIT_PROCESSES, "Resource temporarily unavailable"}, {SANDBOX_LIMIT_PROCESSES, "can't start new thread"},
	{SANDBOX_LIMIT_PROCESSES, "Cannot fork"}};

/* The limit that a failed step says it has reached: on stderr, or on the result channel if its harness caught it. */
static enum sandbox_limit
complaint_of(const struct step *step)
{
	AUTO_JSON json_t *output = capture_json(&step->processes[0].process.output[1]);
	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++) {
		const char *words = complaints[i].words;
		if (strstr(json_text_or_null(output, "text"), words))
			return complaints[i].limit;
		json_object_each(step->result.values, key, value)
			if (strstr(json_string_value(value), words))
				return complaints[i].limit;
	}
	return SANDBOX_LIMIT_NONE;
}

static bool
results_pass(const struct step *step)
{
	json_object_each(step->plan->pass_result, key, value)
		if (!json_equal(value, json_object_get(step->result.values, key)))
			return false;
	return !step->result.error;
}

/* Whether the program is a file from the plan. If this machine cannot execute it, the machine is not at fault. */
static bool
is_own_program(const struct step_process *process)
{
	return !process->tool && process->process.error.code == 0 && !process->process.report.started;
}

/* Judges a process that could not be started or followed, or that the machine killed. */
static enum step_state
judge_unstarted(struct step *step, const struct step_process *process)
{
	const char *message = process->process.report.message;
	if (process->process.error.code != 0) {
		step->error = process->process.error;
		return STEP_ERROR;
	}
	struct kettle_error *error = is_own_program(process) ? &step->fault : &step->error;
	(void)kettle_fail(error, KETTLE_EUNAVAIL, "%s", message[0] ? message : "The process could not be started.");
	return is_own_program(process) ? STEP_FAILED : STEP_ERROR;
}

/*
 * Reads the reports of a step whose processes have ended: sets its state, and a fault or an error if a sentence is
 * needed. PASSED still requires that the outputs exist.
 */
static enum step_state
outcome_judge(struct step *step)
{
	const struct step_process *main = &step->processes[0];
	const struct sandbox_report *report = &main->process.report;
	enum sandbox_limit limit = limit_of(&main->process);
	if (is_over(step) || limit == SANDBOX_LIMIT_CANCEL)
		return STEP_CANCELLED;
	for (size_t i = 0; i < step->count; i++) {
		const struct process *process = &step->processes[i].process;
		bool killed = limit_of(process) != SANDBOX_LIMIT_NONE;
		if (process->error.code != 0 || ((!process->report.started || process->report.lost) && !killed))
			return judge_unstarted(step, &step->processes[i]);
	}
	if (limit != SANDBOX_LIMIT_NONE) {
		step->limit = limit;
		return STEP_LIMIT;
	}
	bool passes = report->signal == 0 && report->exit_status >= 0 && report->exit_status <= PLAN_MAX_EXIT &&
				  step->plan->passes[report->exit_status] && results_pass(step);
	/*
	 * A program that reports success before its harness has read the secret does so on purpose, so the machine is not
	 * at fault.
	 */
	if (passes && launch_secret_unread(step)) {
		(void)kettle_fail(&step->fault, KETTLE_EINVAL,
			"Step `%.64s` passed without having read its secret, so it did not use it.", step->plan->id);
		return STEP_FAILED;
	}
	if (passes)
		return STEP_PASSED;
	step->limit = hit_of(&main->process);
	if (step->limit != SANDBOX_LIMIT_NONE)
		return STEP_LIMIT;
	step->limit = complaint_of(step);
	return STEP_FAILED;
}

/* ---- the outcome object ---- */

/* The value of a limit in the plan's unit; 0: none. The user's own limit of processes may be below the plan's. */
static double
limit_value(const struct step_process *process, enum sandbox_limit limit)
{
	double value = limits_named(&process->limits, sandbox_limit_name(limit));
	return value > 0 && limit != SANDBOX_LIMIT_PROCESSES ? value : (double)process->process.report.most[limit];
}

/* Describes exit, signal and resources of a process, as far as it came, and its output. New reference. */
static json_t *
describe_process(const struct step_process *process, enum sandbox_limit limit)
{
	const struct sandbox_report *report = &process->process.report;
	bool ran = report->started;
	uint64_t wall = ran && report->end_ns > report->start_ns ? report->end_ns - report->start_ns : 0;
	AUTO_FREE char *command = outcome_command(&process->plan->argv, COMMAND_MAX);
	double most = limit_value(process, limit);
	return json_pack("{s:o, s:o, s:o, s:o, s:o*, s:I, s:I, s:I, s:I, s:i, s:o, s:o}", "command",
		json_writer_text(command), "exit", ran && report->signal == 0 ? json_integer(report->exit_status) : json_null(),
		"signal", ran && report->signal != 0 ? json_integer(report->signal) : json_null(), "limit",
		limit != SANDBOX_LIMIT_NONE ? json_string(sandbox_limit_name(limit)) : json_null(), "limit_value",
		most > 0 ? json_real(most) : NULL, "start_ns", (json_int_t)report->start_ns, "wall_ns", (json_int_t)wall,
		"cpu_ns", (json_int_t)report->cpu_ns, "memory_peak", (json_int_t)report->memory_peak, "left_behind",
		(int)report->left_behind, "stdout", capture_json(&process->process.output[0]), "stderr",
		capture_json(&process->process.output[1]));
}

static json_t *
describe_solver(const struct step_process *solver)
{
	enum sandbox_limit limit = limit_of(&solver->process);
	/* The end of the referee always stops the solver, which is no limit of the solver's. */
	bool stopped = limit == SANDBOX_LIMIT_CANCEL;
	json_t *object = json_pack("{s:b}", "stopped", stopped);
	if (limit == SANDBOX_LIMIT_NONE && solver->process.report.exit_status != 0)
		limit = hit_of(&solver->process);
	json_object_update_new(object, describe_process(solver, stopped ? SANDBOX_LIMIT_NONE : limit));
	return object;
}

static json_t *
describe_artifacts(const struct manifest *artifacts)
{
	json_t *list = json_array();
	for (size_t i = 0; i < artifacts->count; i++) {
		const struct output_file *file = &artifacts->files[i];
		if (!file->folder)
			json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "name", file->path, "size", (json_int_t)file->size,
											"sha256", file->sha256));
	}
	return list;
}

/* Adds facts of the tools, since a failure may depend on a version, or on missing packages or parts. */
static void
add_tools(json_t *outcome, const struct step *step)
{
	const struct tool *tool = step->processes[0].tool;
	json_t *toolkit = json_object_get(step->tools.told, "toolkit");
	if (tool) {
		json_object_set_new(outcome, "tool",
			json_pack("{s:o, s:o, s:o}", "name", json_writer_text(tool->name), "path", json_writer_text(tool->path),
				"version", json_writer_text(json_text_or_null(step->tools.told, "version"))));
		json_object_set(outcome, "packages", json_object_get(step->tools.told, "packages"));
	}
	if (toolkit)
		json_object_set(outcome, "toolkit", toolkit);
}

/* Describes the GPUs during the step, and whether the step was repeated. New reference. */
static json_t *
describe_gpus(const struct step *step)
{
	json_t *device = json_copy(step->gpus.report);
	json_object_set_new(device, "repeated", json_boolean(step->gpus.throttled != NULL));
	json_object_set(device, "throttled_before", step->gpus.throttled);
	return device;
}

/* Makes the outcome object (event.schema.json) of a step in its final state. New reference. */
static json_t *
outcome_make(const struct step *step)
{
	static const char *const kinds[] = {[STEP_BUILD] = "build", [STEP_PREPARE] = "prepare", [STEP_RUN] = "run"};
	const struct step_process *main = &step->processes[0];
	const char *error = step->error.code ? step->error.message : step->fault.code ? step->fault.message : NULL;
	json_t *values = step->result.values;
	json_t *outcome = json_pack(
		"{s:s, s:s, s:s}", "step", step->plan->id, "kind", kinds[step->plan->kind], "state", state_names[step->state]);
	json_object_update_new(outcome, describe_process(main, step->limit));
	enum sandbox_limit also = hit_of(&main->process);
	bool timed_out = step->limit == SANDBOX_LIMIT_WALL || step->limit == SANDBOX_LIMIT_CPU;
	if (timed_out && limit_value(main, also) > 0)
		json_object_set_new(outcome, "also",
			json_pack("{s:s, s:f}", "limit", sandbox_limit_name(also), "value", limit_value(main, also)));
	json_object_update(outcome, step->cache.texts);
	json_object_update_new(outcome,
		json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I}}", "error", json_writer_text(error), "cached",
			step->cache.hit, "result", values ? json_deep_copy(values) : json_object(), "result_error",
			json_writer_text(step->result.error), "artifacts", describe_artifacts(&step->artifacts.manifest),
			"protections", sandbox_names(main->process.report.protections), "stamps", "begun_ns",
			(json_int_t)step->times.begun_ns, "queued_ns", (json_int_t)step->times.queued_ns, "launched_ns",
			(json_int_t)step->times.launched_ns, "ended_ns", (json_int_t)step->times.ended_ns));
	json_object_update_new(outcome,
		json_pack("{s:o*, s:O*, s:o*, s:s*, s:s*, s:O*, s:o*}", "warm", main->process.report.warm ? json_true() : NULL,
			"jit", step->jit.left, "artifacts_cut", step->artifacts.cut ? json_writer_text(step->artifacts.cut) : NULL,
			"missing", step->tools.missing, "title", step->plan->title, "run", step->plan->run, "device",
			step->gpus.report ? describe_gpus(step) : NULL));
	if (step->state != STEP_PASSED)
		add_tools(outcome, step);
	if (step->count > 1)
		json_object_set_new(outcome, "solver", describe_solver(&step->processes[1]));
	return outcome;
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
	take_places(step);
}

/* Releases what the processes left, so that the step can start again. */
static void
step_reset(struct step *step)
{
	for (size_t i = 0; i < step->count; i++)
		process_close(&step->processes[i].process);
	result_close(&step->result);
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
	free_all(step->tools.missing, step->artifacts.cut, step->dir, step->kept);
}

/* Whether the job makes shared results and so sends no events. */
static bool
is_silent(const struct step *step)
{
	return step->job->own || step->plan->shared;
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
	warm_cancel_request(&step->warm);
	build_slots_release(&job->exec->builds, &step->slot);
	build_slots_end(&job->exec->builds, &step->flight);
	if (!budget_take_result(&job->budget, &step->result) && state == STEP_PASSED)
		step->state = STEP_FAILED;
	step->outcome = outcome_make(step);
	budget_take_outcome(&job->budget, step->outcome);
	for (size_t i = 0; i < step->count; i++)
		process_close(&step->processes[i].process);
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

void
step_begin(struct step *step)
{
	step->times.begun_ns = time_monotonic_ns();
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
	if (step->phase == STEP_QUEUED && step->plan->device > 0 && !step->warm_wanted)
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
	if (step->error.code != 0)
		step_end(step, STEP_ERROR);
	else
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

/* All processes have ended: collects the step's files if they count. */
static void
all_ended(struct step *step)
{
	struct exec_context *exec = step->job->exec;
	failpoint("exec.ended");
	step->state = step->error.code != 0 ? STEP_ERROR : outcome_judge(step);
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

static void
process_ended(void *arg)
{
	struct step_process *process = arg;
	struct step *step = process->step;
	process->running = false;
	/* The end of the referee, or a solver that could not be started, ends the step. */
	if (process == &step->processes[0] && step->count > 1 && step->processes[1].running)
		process_kill(&step->processes[1].process, SANDBOX_LIMIT_CANCEL);
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
	/* A warm process may have to start first, which calls this function again. */
	if (!step->warm_wanted || step->warm.again) {
		step->warm_wanted = true;
		bool waits = launch_request_warm(step, step_start);
		if (step->plan->device > 0)
			(void)warm_yield(step->job->exec->warm);
		if (waits)
			return;
	}
	step->times.launched_ns = time_monotonic_ns();
	failpoint("exec.step");
	emit_begin(step);
	if (step->plan->result)
		result_open(&step->result, step->processes[0].limits.result, &step->plan->unique, on_value, step);
	enter(step, STEP_RUNNING);
	int rc = launch_secret(step, &step->error);
	if (rc == 0)
		rc = launch_step(step, process_ended, process_lost, &step->error);
	failpoint("exec.running");
	if (rc != 0) {
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
