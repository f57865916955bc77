/* SPDX-License-Identifier: MIT */
/* The outcome of a step: whether it passed, and the object that says so. */
#include <config.h>

#include "base/base.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/util/json_writer.h"

/* ---- whether the step passed ---- */

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
	AUTO_JSON json_t *output = capture_json(&STEP_SOLVER(step)->process.output[1]);
	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++) {
		const char *words = complaints[i].words;
		if (strstr(json_text_or_null(output, "text"), words))
			return complaints[i].limit;
		json_object_each(step->channels.result.values, key, value)
			if (strstr(json_string_value(value), words))
				return complaints[i].limit;
	}
	return SANDBOX_LIMIT_NONE;
}

static bool
results_pass(const struct step *step)
{
	json_object_each(step->plan->pass_result, key, value)
		if (!json_equal(value, json_object_get(step->channels.result.values, key)))
			return false;
	return !step->channels.result.error;
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
		step->failure.error = process->process.error;
		return STEP_ERROR;
	}
	struct kettle_error *error = is_own_program(process) ? &step->failure.fault : &step->failure.error;
	(void)kettle_fail(error, KETTLE_EUNAVAIL, "%s", message[0] ? message : "The process could not be started.");
	return is_own_program(process) ? STEP_FAILED : STEP_ERROR;
}

bool
outcome_exit_passes(const struct step *step)
{
	const struct sandbox_report *report = &step->processes[0].process.report;
	return limit_of(&step->processes[0].process) == SANDBOX_LIMIT_NONE && report->signal == 0 &&
		   report->exit_status >= 0 && report->exit_status <= PLAN_MAX_EXIT &&
		   step->plan->passes[report->exit_status] && results_pass(step);
}

/* Whether the end of the referee stopped this solver. */
static bool
is_stopped(const struct step *step, const struct step_process *process)
{
	return process != &step->processes[0] && limit_of(&process->process) == SANDBOX_LIMIT_CANCEL;
}

/*
 * The limit that ended the step, or that it reached (hits). The solver's comes first: whatever the referee does, it does
 * without a solver then.
 */
static enum sandbox_limit
find_limit(struct step *step, bool hits)
{
	for (size_t i = step->count; i-- > 0;) {
		const struct step_process *process = &step->processes[i];
		enum sandbox_limit limit = hits ? hit_of(&process->process) : limit_of(&process->process);
		if (limit == SANDBOX_LIMIT_NONE || (!hits && is_stopped(step, process)))
			continue;
		step->failure.limited = process;
		return limit;
	}
	return SANDBOX_LIMIT_NONE;
}

/*
 * Whether the referee has found a fault by itself, without having lost the solver: a limit that the solver reached meanwhile
 * is not the cause. In a step with one process the submission may be what reports it.
 */
static bool
has_found_fault(const struct step *step)
{
	const json_t *values = step->channels.result.values;
	return step->count > 1 && json_object_get(values, "fault") && !member_is(values, "solver", "gone");
}

enum step_state
outcome_judge(struct step *step)
{
	if (step->job->status != JOB_DONE)
		return STEP_CANCELLED;
	for (size_t i = 0; i < step->count; i++) {
		const struct process *process = &step->processes[i].process;
		bool killed = limit_of(process) != SANDBOX_LIMIT_NONE;
		if (process->error.code != 0 || ((!process->report.started || process->report.lost) && !killed))
			return judge_unstarted(step, &step->processes[i]);
	}
	if (limit_of(&step->processes[0].process) == SANDBOX_LIMIT_CANCEL)
		return STEP_CANCELLED;
	bool passes = outcome_exit_passes(step);
	/* A limit that a profiled solver reaches after the referee's end counts as well. */
	step->failure.limit = passes && !step->plan->profile ? SANDBOX_LIMIT_NONE : find_limit(step, false);
	if (step->failure.limit != SANDBOX_LIMIT_NONE)
		return STEP_LIMIT;
	/*
	 * A program that reports success before its harness has read the secret does so on purpose, so the machine is not
	 * at fault.
	 */
	if (passes && launch_secret_unread(step)) {
		(void)kettle_fail(&step->failure.fault, KETTLE_EINVAL,
			"Step `%.64s` passed without having read its secret, so it did not use it.", step->plan->id);
		return STEP_FAILED;
	}
	if (passes)
		return STEP_PASSED;
	if (has_found_fault(step))
		return STEP_FAILED;
	step->failure.limit = find_limit(step, true);
	if (step->failure.limit != SANDBOX_LIMIT_NONE)
		return STEP_LIMIT;
	step->failure.limited = STEP_SOLVER(step);
	step->failure.limit = complaint_of(step);
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

/* Describes a limit; limited: of which process. New reference. */
static json_t *
describe_limit(const struct step_process *limited, enum sandbox_limit limit)
{
	double most = limited ? limit_value(limited, limit) : 0;
	return json_pack("{s:o, s:o*}", "limit",
		limit != SANDBOX_LIMIT_NONE ? json_string(sandbox_limit_name(limit)) : json_null(), "limit_value",
		most > 0 ? json_real(most) : NULL);
}

/* Describes exit, signal and resources of a process, as far as it came, and its output. New reference. */
static json_t *
describe_process(const struct step_process *process)
{
	const struct sandbox_report *report = &process->process.report;
	bool ran = report->started;
	uint64_t wall = ran && report->end_ns > report->start_ns ? report->end_ns - report->start_ns : 0;
	AUTO_FREE char *command = outcome_command(&process->plan->argv, COMMAND_MAX);
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:i, s:o, s:o, s:o*, s:o*}", "command",
		json_writer_text(command), "exit", ran && report->signal == 0 ? json_integer(report->exit_status) : json_null(),
		"signal", ran && report->signal != 0 ? json_integer(report->signal) : json_null(), "start_ns",
		(json_int_t)report->start_ns, "wall_ns", (json_int_t)wall, "cpu_ns", (json_int_t)report->cpu_ns, "memory_peak",
		(json_int_t)report->memory_peak, "left_behind", (int)report->left_behind, "stdout",
		capture_json(&process->process.output[0]), "stderr", capture_json(&process->process.output[1]), "warm",
		report->warm ? json_true() : NULL, "prepared", report->prepared ? json_true() : NULL);
}

static json_t *
describe_solver(const struct step *step)
{
	const struct step_process *solver = &step->processes[1];
	const struct sandbox_report *report = &solver->process.report;
	bool stopped = is_stopped(step, solver);
	enum sandbox_limit limit = stopped ? SANDBOX_LIMIT_NONE : limit_of(&solver->process);
	if (limit == SANDBOX_LIMIT_NONE && step->state != STEP_PASSED)
		limit = hit_of(&solver->process);
	/* One that never began was gone first. Nothing is before the end of a referee that was killed. */
	bool first = !stopped && limit_of(&step->processes[0].process) == SANDBOX_LIMIT_NONE &&
				 (!report->started || report->end_ns < step->processes[0].process.report.end_ns);
	json_t *object = json_pack("{s:b, s:b}", "stopped", stopped, "first", first);
	json_object_update_new(object, describe_limit(solver, limit));
	json_object_update_new(object, describe_process(solver));
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
	const struct tool *tool = STEP_SOLVER(step)->tool;
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

bool
outcome_ended(const struct step *step, enum step_state *ret_state)
{
	const json_t *outcome = json_object_get(step->plan->ended, "outcome");
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (member_is(outcome, "state", state_names[i])) {
			*ret_state = (enum step_state)i;
			return true;
		}
	return false;
}

json_t *
outcome_make(const struct step *step)
{
	static const char *const kinds[] = {[STEP_BUILD] = "build", [STEP_PREPARE] = "prepare", [STEP_RUN] = "run"};
	const struct step_process *main = &step->processes[0], *solver = STEP_SOLVER(step);
	const char *error = step->failure.error.code   ? step->failure.error.message
						: step->failure.fault.code ? step->failure.fault.message
												   : NULL;
	json_t *values = step->channels.result.values;
	enum step_state ended;
	if (outcome_ended(step, &ended) && ended == step->state && step->failure.error.code == 0)
		return json_deep_copy(json_object_get(step->plan->ended, "outcome"));
	json_t *outcome = json_pack(
		"{s:s, s:s, s:s}", "step", step->plan->id, "kind", kinds[step->plan->kind], "state", state_names[step->state]);
	json_object_update_new(outcome, describe_process(main));
	json_object_update_new(
		outcome, describe_limit(step->failure.limited ? step->failure.limited : main, step->failure.limit));
	enum sandbox_limit also = hit_of(&solver->process);
	bool timed_out = step->failure.limit == SANDBOX_LIMIT_WALL || step->failure.limit == SANDBOX_LIMIT_CPU;
	if (timed_out && limit_value(solver, also) > 0)
		json_object_set_new(outcome, "also",
			json_pack("{s:s, s:f}", "limit", sandbox_limit_name(also), "value", limit_value(solver, also)));
	json_object_update(outcome, step->cache.texts);
	json_object_update_new(outcome,
		json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I}}", "error", json_writer_text(error), "cached",
			step->cache.texts != NULL, "result", values ? json_deep_copy(values) : json_object(), "result_error",
			json_writer_text(step->channels.result.error), "artifacts", describe_artifacts(&step->artifacts.manifest),
			"protections", sandbox_names(main->process.report.protections), "stamps", "begun_ns",
			(json_int_t)step->times.begun_ns, "queued_ns", (json_int_t)step->times.queued_ns, "launched_ns",
			(json_int_t)step->times.launched_ns, "ended_ns", (json_int_t)step->times.ended_ns));
	json_object_update_new(outcome,
		json_pack("{s:O*, s:o*, s:s*, s:s*, s:O*, s:o*}", "jit", step->jit.left, "artifacts_cut",
			step->artifacts.cut ? json_writer_text(step->artifacts.cut) : NULL, "missing", step->tools.missing, "title",
			step->plan->title, "run", step->plan->run, "device", step->gpus.report ? describe_gpus(step) : NULL));
	if (step->files.returned)
		json_object_set_new(outcome, "outputs", manifest_json(&step->files.outputs));
	if (step->state != STEP_PASSED)
		add_tools(outcome, step);
	if (step->count > 1)
		json_object_set_new(outcome, "solver", describe_solver(step));
	return outcome;
}
