/* SPDX-License-Identifier: MIT */
/* What happened to a step: whether it passed, and the object that says so. */
#include <config.h>

#include "exec/job/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exec/util/json_lines.h"
#include "exec/job/launch.h"
#include "base/text.h"

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

static int
add_word(struct buf *text, const char *word)
{
	if (is_plain(word))
		return buf_adds(text, word);
	int rc = buf_adds(text, "'");
	for (; rc == 0 && *word; word++)
		rc = *word == '\'' ? buf_adds(text, "'\\''") : buf_add(text, word, 1);
	return rc == 0 ? buf_adds(text, "'") : rc;
}

char *
outcome_command(const json_t *argv, size_t max)
{
	AUTO_BUF struct buf text = {0};
	AUTO_BUF struct buf clean = {0};
	const json_t *word;
	size_t i;
	int rc = 0;
	json_array_foreach(argv, i, word) {
		if (rc == 0 && i > 0)
			rc = buf_adds(&text, " ");
		if (rc == 0)
			rc = add_word(&text, json_string_value(word));
		if (text.len > max)
			break;
	}
	bool cut = text.len > max;
	if (cut)
		text.len = max;
	/* A cut may have broken a character. */
	while (cut && text.len > 0 && ((unsigned char)text.data[text.len - 1] & 0x80))
		text.len--;
	if (rc == 0 && text.len > 0)
		(void)utf8_sanitize(text.data, text.len, &clean);
	if (rc == 0 && cut)
		rc = buf_adds(&clean, " ...");
	return rc == 0 ? buf_take(&clean) : NULL;
}

/* Why a process was killed: what this program killed it for, or what init enforced. */
static enum sandbox_limit
limit_of(const struct process *process)
{
	return process->report.limit != SANDBOX_LIMIT_NONE ? process->report.limit : process->limit;
}

/* What it ran into without being killed explains a failure, e.g. a full disk. */
static const char *
hit_of(const struct process *process)
{
	if (process->report.hits & (1u << SANDBOX_LIMIT_DISK))
		return sandbox_limit_name(SANDBOX_LIMIT_DISK);
	if (process->report.hits & (1u << SANDBOX_LIMIT_PROCESSES))
		return sandbox_limit_name(SANDBOX_LIMIT_PROCESSES);
	return NULL;
}

static bool
exit_passes(const struct step *step, const struct sandbox_report *report)
{
	const json_t *allowed = json_object_get(json_object_get(step->plan, "pass"), "exit"), *status;
	size_t i;
	if (report->signal != 0)
		return false;
	if (!allowed)
		return report->exit_status == 0;
	json_array_foreach(allowed, i, status)
		if (json_integer_value(status) == report->exit_status)
			return true;
	return false;
}

static bool
results_pass(const struct step *step)
{
	const json_t *wanted = json_object_get(json_object_get(step->plan, "pass"), "result");
	const char *key;
	json_t *value;
	if (step->result.error)
		return false;
	json_object_foreach((json_t *)wanted, key, value)
		if (!json_equal(value, json_object_get(step->result.values, key)))
			return false;
	return true;
}

/* A file that the plan made and this machine cannot execute is not the machine's trouble. */
static bool
is_own_program(const struct step_process *process)
{
	return !process->tool && process->process.error.code == 0 && !process->process.report.started;
}

/* A process that could not be started or followed. */
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
		if (process->error.code != 0 || (!process->report.started && !killed))
			return judge_unstarted(step, &step->processes[i]);
	}
	if (limit != SANDBOX_LIMIT_NONE) {
		step->limit = sandbox_limit_name(limit);
		return STEP_LIMIT;
	}
	bool passes = exit_passes(step, report) && results_pass(step);
	if (passes && launch_secret_unread(step)) {
		(void)kettle_fail(&step->error, KETTLE_EUNAVAIL,
			"Step `%.64s` passed without having read its secret, so it did not use it.", step->id);
		return STEP_ERROR;
	}
	if (passes)
		return STEP_PASSED;
	step->limit = hit_of(&main->process);
	return step->limit ? STEP_LIMIT : STEP_FAILED;
}

/* Exit, signal and use of a process, as far as it came. */
static int
add_report(json_t *object, const struct step_process *process, const char *limit)
{
	const struct sandbox_report *report = &process->process.report;
	bool ran = report->started;
	uint64_t wall = ran && report->end_ns > report->start_ns ? report->end_ns - report->start_ns : 0;
	AUTO_FREE char *command = outcome_command(json_object_get(process->plan, "argv"), COMMAND_MAX);
	AUTO_JSON json_t *more =
		json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:i}", "command", json_lines_text(command), "exit",
			ran && report->signal == 0 ? json_integer(report->exit_status) : json_null(), "signal",
			ran && report->signal != 0 ? json_integer(report->signal) : json_null(), "limit", json_lines_text(limit),
			"start_ns", (json_int_t)report->start_ns, "wall_ns", (json_int_t)wall, "cpu_ns", (json_int_t)report->cpu_ns,
			"memory_peak", (json_int_t)report->memory_peak, "left_behind", (int)report->left_behind);
	return more ? json_object_update(object, more) : -1;
}

static int
add_output(json_t *object, const struct process *process)
{
	static const char *const names[] = {"stdout", "stderr"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_object_set_new(object, names[i], capture_json(&process->output[i])) != 0)
			return -1;
	return 0;
}

static int
add_solver(json_t *outcome, const struct step_process *solver)
{
	enum sandbox_limit limit = limit_of(&solver->process);
	/* It is the rule that the solver is stopped when the referee has ended: no limit of its own. */
	bool stopped = limit == SANDBOX_LIMIT_CANCEL;
	const char *name = stopped || limit == SANDBOX_LIMIT_NONE ? NULL : sandbox_limit_name(limit);
	AUTO_JSON json_t *object = json_pack("{s:b}", "stopped", stopped);
	if (!object || add_report(object, solver, name) != 0 || add_output(object, &solver->process) != 0)
		return -1;
	return json_object_set(outcome, "solver", object);
}

static int
add_artifacts(json_t *outcome, const struct step *step)
{
	AUTO_JSON json_t *list = json_array();
	const json_t *entry;
	size_t i;
	json_array_foreach(step->artifacts, i, entry)
		if (!json_object_get(entry, "folder") &&
			json_array_append_new(
				list, json_pack("{s:O, s:O, s:O}", "name", json_object_get(entry, "path"), "size",
						  json_object_get(entry, "size"), "sha256", json_object_get(entry, "sha256"))) != 0)
			return -1;
	return json_object_set(outcome, "artifacts", list);
}

static int
add_result(json_t *outcome, const struct step *step)
{
	json_t *values = step->result.values;
	if (json_object_set_new(outcome, "result", values ? json_deep_copy(values) : json_object()) != 0)
		return -1;
	return json_object_set_new(outcome, "result_error", json_lines_text(step->result.error));
}

/* A failure may have to do with the tool's version, and with what an interpreter has and has not. */
static int
add_tool(json_t *outcome, const struct step *step)
{
	const char *version = NULL;
	const json_t *packages = NULL;
	const struct tool *tool = step->processes[0].tool;
	toolchain_describe(step->job->exec->toolchain, tool, &version, &packages);
	if (json_object_set_new(outcome, "tool",
			json_pack("{s:o, s:o, s:o}", "name", json_lines_text(tool->name), "path", json_lines_text(tool->path),
				"version", json_lines_text(version))) != 0)
		return -1;
	return packages ? json_object_set(outcome, "packages", (json_t *)packages) : 0;
}

/* Nor need what is missing be the program's doing: which parts its toolkit has. */
static int
add_toolkit(json_t *outcome, const struct step *step)
{
	const struct tool *tool = launch_toolkit(&step->processes[0]);
	const json_t *facts = tool ? toolchain_facts(step->job->exec->toolchain, tool) : NULL;
	const json_t *parts = json_object_get(facts, "parts");
	if (!parts)
		return 0;
	return json_object_set_new(
		outcome, "toolkit", json_pack("{s:O, s:O}", "home", json_object_get(facts, "home"), "parts", parts));
}

static const char *
error_of(const struct step *step)
{
	return step->error.code ? step->error.message : step->fault.code ? step->fault.message : NULL;
}

/* What its GPUs did, and whether it is the second time. */
static int
add_gpus(json_t *outcome, const struct step *step)
{
	AUTO_JSON json_t *device = json_copy(step->gpus);
	if (!device || json_object_set_new(device, "repeated", json_boolean(step->throttled != NULL)) != 0 ||
		(step->throttled && json_object_set(device, "throttled_before", step->throttled) != 0))
		return -1;
	return json_object_set(outcome, "device", device);
}

json_t *
outcome_make(const struct step *step)
{
	const struct step_process *main = &step->processes[0];
	AUTO_JSON json_t *outcome = json_pack("{s:s, s:O, s:s}", "step", step->id, "kind",
		json_object_get(step->plan, "kind"), "state", state_names[step->state]);
	int rc = outcome ? add_report(outcome, main, step->limit) : -1;
	if (rc == 0)
		rc = add_output(outcome, &main->process);
	if (rc == 0 && step->texts)
		rc = json_object_update(outcome, step->texts);
	if (rc == 0)
		rc = json_object_set_new(outcome, "error", json_lines_text(error_of(step)));
	if (rc == 0)
		rc = json_object_set_new(outcome, "cached", json_boolean(step->hit));
	if (rc == 0)
		rc = add_result(outcome, step);
	if (rc == 0)
		rc = add_artifacts(outcome, step);
	if (rc == 0)
		rc = json_object_set_new(outcome, "protections", sandbox_names(main->process.report.protections));
	if (rc == 0)
		rc = json_object_set_new(outcome, "stamps",
			json_pack("{s:I, s:I, s:I, s:I}", "begun_ns", (json_int_t)step->begun_ns, "queued_ns",
				(json_int_t)step->queued_ns, "launched_ns", (json_int_t)step->launched_ns, "ended_ns",
				(json_int_t)step->ended_ns));
	if (rc == 0 && main->process.report.warm)
		rc = json_object_set_new(outcome, "warm", json_true());
	if (rc == 0 && step->missing)
		rc = json_object_set_new(outcome, "missing", json_string(step->missing));
	if (rc == 0 && step->state != STEP_PASSED && main->tool)
		rc = add_tool(outcome, step);
	if (rc == 0 && step->state != STEP_PASSED)
		rc = add_toolkit(outcome, step);
	if (rc == 0 && json_object_get(step->plan, "title"))
		rc = json_object_set(outcome, "title", json_object_get(step->plan, "title"));
	if (rc == 0 && json_object_get(step->plan, "run"))
		rc = json_object_set(outcome, "run", json_object_get(step->plan, "run"));
	if (rc == 0 && step->gpus)
		rc = add_gpus(outcome, step);
	if (rc == 0 && step->count > 1)
		rc = add_solver(outcome, &step->processes[1]);
	return rc == 0 ? STEAL(outcome) : NULL;
}
