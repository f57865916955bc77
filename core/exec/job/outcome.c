/* SPDX-License-Identifier: MIT */
/* What happened to a step: whether it passed, and the object that says so. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/util/json_writer.h"

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

/* Why a process was killed: what this program killed it for, or what init enforced. */
static enum sandbox_limit
limit_of(const struct process *process)
{
	return process->report.limit != SANDBOX_LIMIT_NONE ? process->report.limit : process->limit;
}

/* A limit that was reached without a kill explains a failure, e.g. a full disk. The smallest file systems come first. */
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

/* What libraries print where a limit was reached of which the kernel leaves no trace. */
static const struct {
	enum sandbox_limit limit;
	const char *words;
} complaints[] = {{SANDBOX_LIMIT_OPEN_FILES, "Too many open files"}, {SANDBOX_LIMIT_FILE_SIZE, "File too large"},
	{SANDBOX_LIMIT_FILE_SIZE, "File size limit exceeded"}};

/* The limit that a failed step says it has reached: on stderr, or on the result channel, where its harness caught it. */
static enum sandbox_limit
complaint_of(const struct step *step)
{
	AUTO_JSON json_t *output = capture_json(&step->processes[0].process.output[1]);
	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++) {
		const char *key, *words = complaints[i].words;
		json_t *value;
		if (strstr(json_text_or_null(output, "text"), words))
			return complaints[i].limit;
		json_object_foreach(step->result.values, key, value)
			if (strstr(json_string_value(value), words))
				return complaints[i].limit;
	}
	return SANDBOX_LIMIT_NONE;
}

static bool
results_pass(const struct step *step)
{
	const char *key;
	json_t *value;
	json_object_foreach(step->plan->pass_result, key, value)
		if (!json_equal(value, json_object_get(step->result.values, key)))
			return false;
	return !step->result.error;
}

/* A file that the plan made and this machine cannot execute is not the machine's trouble. */
static bool
is_own_program(const struct step_process *process)
{
	return !process->tool && process->process.error.code == 0 && !process->process.report.started;
}

/* A process that could not be started or followed, or that the machine killed. */
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

enum step_state
outcome_judge(struct step *step)
{
	const struct step_process *main = &step->processes[0];
	const struct sandbox_report *report = &main->process.report;
	enum sandbox_limit limit = limit_of(&main->process);
	if (step->job->cancelled || step->job->lost || limit == SANDBOX_LIMIT_CANCEL)
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
	/* A program that says so before its harness has read it does it on purpose, and it is no trouble of the machine. */
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

/* ---- the object ---- */

/* The value of a limit, as a plan gives it; 0: none. */
static double
limit_value(const struct step_process *process, enum sandbox_limit limit)
{
	double value = limits_named(&process->limits, sandbox_limit_name(limit));
	return value > 0 ? value : (double)process->process.report.most[limit];
}

/* Exit, signal and use of a process, as far as it came, and what it printed. */
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
	/* The solver is always stopped when the referee has ended; that is no limit of its own. */
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

/* A failure may have to do with the tool's version, with what an interpreter and what a toolkit has and lacks. */
static void
add_tools(json_t *outcome, const struct step *step)
{
	const struct tool *tool = step->processes[0].tool;
	json_t *toolkit = json_object_get(step->told, "toolkit");
	if (tool) {
		json_object_set_new(outcome, "tool",
			json_pack("{s:o, s:o, s:o}", "name", json_writer_text(tool->name), "path", json_writer_text(tool->path),
				"version", json_writer_text(json_text_or_null(step->told, "version"))));
		json_object_set(outcome, "packages", json_object_get(step->told, "packages"));
	}
	if (toolkit)
		json_object_set(outcome, "toolkit", toolkit);
}

/* What its GPUs did, and whether it is the second time. */
static json_t *
describe_gpus(const struct step *step)
{
	json_t *device = json_copy(step->gpus);
	json_object_set_new(device, "repeated", json_boolean(step->throttled != NULL));
	json_object_set(device, "throttled_before", step->throttled);
	return device;
}

json_t *
outcome_make(const struct step *step)
{
	static const char *const kinds[] = {[STEP_BUILD] = "build", [STEP_PREPARE] = "prepare", [STEP_RUN] = "run"};
	const struct step_process *main = &step->processes[0];
	const char *error = step->error.code ? step->error.message : step->fault.code ? step->fault.message : NULL;
	json_t *values = step->result.values;
	json_t *outcome = json_pack(
		"{s:s, s:s, s:s}", "step", step->plan->id, "kind", kinds[step->plan->kind], "state", state_names[step->state]);
	json_object_update_new(outcome, describe_process(main, step->limit));
	json_object_update(outcome, step->texts);
	json_object_update_new(
		outcome, json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I}}", "error", json_writer_text(error),
					 "cached", step->hit, "result", values ? json_deep_copy(values) : json_object(), "result_error",
					 json_writer_text(step->result.error), "artifacts", describe_artifacts(&step->artifacts),
					 "protections", sandbox_names(main->process.report.protections), "stamps", "begun_ns",
					 (json_int_t)step->begun_ns, "queued_ns", (json_int_t)step->queued_ns, "launched_ns",
					 (json_int_t)step->launched_ns, "ended_ns", (json_int_t)step->ended_ns));
	if (main->process.report.warm)
		json_object_set_new(outcome, "warm", json_true());
	if (step->jit)
		json_object_set(outcome, "jit", step->jit);
	if (step->artifacts_cut)
		json_object_set_new(outcome, "artifacts_cut", json_writer_text(step->artifacts_cut));
	if (step->missing)
		json_object_set_new(outcome, "missing", json_string(step->missing));
	if (step->state != STEP_PASSED)
		add_tools(outcome, step);
	if (step->plan->title)
		json_object_set_new(outcome, "title", json_string(step->plan->title));
	if (step->plan->run)
		json_object_set(outcome, "run", step->plan->run);
	if (step->gpus)
		json_object_set_new(outcome, "device", describe_gpus(step));
	if (step->count > 1)
		json_object_set_new(outcome, "solver", describe_solver(&step->processes[1]));
	return outcome;
}
