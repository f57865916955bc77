/* SPDX-License-Identifier: MIT */
/* Reads a runner's completion. It comes from another machine: any member may be missing or of another type. */
#include <config.h>

#include "judge/completion.h"

#include "base/base.h"
#include "base/utf8.h"

#define MAX_START_NS INT64_C(1000000000000000000) /* of a clock that began with the machine: 31 years */
#define MAX_WALL_NS INT64_C(1000000000000000)     /* 11 days; thousands of them can be added */

static struct optional_int
read_int(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return (struct optional_int){.given = json_is_integer(value), .value = json_integer_value(value)};
}

/* A time, or a size, of another machine; an impossible one counts as unknown, so that these numbers can be added. */
static struct optional_int
read_ns(const json_t *object, const char *key, json_int_t most)
{
	struct optional_int ns = read_int(object, key);
	return ns.given && ns.value >= 0 && ns.value <= most ? ns : (struct optional_int){0};
}

static enum outcome_state
read_state(const char *text)
{
	static const char *const names[] = {[OUTCOME_PASSED] = "passed",
		[OUTCOME_FAILED] = "failed",
		[OUTCOME_LIMIT] = "limit",
		[OUTCOME_SKIPPED] = "skipped",
		[OUTCOME_ERROR] = "error"};
	for (size_t i = OUTCOME_PASSED; text && i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum outcome_state)i;
	return text ? OUTCOME_OTHER : OUTCOME_NONE;
}

static struct outcome_output
read_output(const json_t *captured)
{
	return (struct outcome_output){.text = json_text_or_empty(captured, "text"),
		.len = json_string_length(json_object_get(captured, "text")),
		.cut = member_int(captured, "cut")};
}

/* ---- the outcome of a step with a referee, as that of one process ---- */

/* Two outputs as one. New reference. */
static json_t *
join_outputs(const json_t *first, const json_t *second)
{
	static const char *const numbers[] = {"bytes", "cut", "replaced"};
	const char *head = json_text_or_empty(first, "text"), *tail = json_text_or_empty(second, "text");
	size_t len = strlen(head);
	bool ends = len == 0 || head[len - 1] == '\n' || !tail[0];
	json_t *joined = json_pack("{s:o}", "text", json_sprintf("%s%s%s", head, ends ? "" : "\n", tail));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int64_t sum = 0;
		(void)__builtin_add_overflow(member_int(first, numbers[i]), member_int(second, numbers[i]), &sum);
		json_object_set_new(joined, numbers[i], json_integer(sum));
	}
	return joined;
}

/* Whether the referee reports that it lost the solver before the end. */
static bool
is_lost(const json_t *json)
{
	return member_is(json_object_get(json, "result"), "solver", "gone");
}

/* Whether the referee reports a fault, and not because it lost the solver: then it has found it by itself. */
static bool
is_found(const json_t *json)
{
	return json_object_get(json_object_get(json, "result"), "fault") && !is_lost(json);
}

/* Whether a step failed because of how its solver ended: by a limit, or by itself. */
static bool
is_solvers(const json_t *json, const json_t *solver)
{
	bool by_itself = member_true(solver, "first") || (is_lost(json) && !member_true(solver, "stopped"));
	const json_t *status = json_object_get(solver, "exit");
	if (member_is(json, "state", "passed") || is_found(json))
		return false;
	if (json_is_string(json_object_get(solver, "limit")) || member_is(json, "state", "limit"))
		return json_is_string(json_object_get(solver, "limit"));
	return by_itself && (!json_is_integer(status) || json_integer_value(status) != 0 || is_lost(json));
}

/* Whether it just left, with status 0. */
static bool
has_left(const json_t *solver)
{
	const json_t *status = json_object_get(solver, "exit");
	return json_is_integer(status) && json_integer_value(status) == 0 &&
		   !json_is_string(json_object_get(solver, "limit"));
}

static json_t *
make_solvers(const json_t *json, const json_t *solver)
{
	static const char *const names[] = {"exit", "signal", "stdout", "stderr"};
	json_t *merged = json_copy((json_t *)json), *result = json_copy(json_object_get(json, "result"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_object_del(merged, names[i]);
		json_object_set(merged, names[i], json_object_get(solver, names[i]));
	}
	json_object_del(result, "fault");
	if (result)
		json_object_set_new(merged, "result", result);
	return merged;
}

/* NULL if it has one process. *ret_left: as left_early of struct outcome. New reference. */
static json_t *
merge_solver(const json_t *json, bool *ret_left)
{
	const json_t *solver = json_object_get(json, "solver");
	bool solvers = json_is_object(solver) && is_solvers(json, solver);
	*ret_left = solvers && has_left(solver);
	if (!json_is_object(solver))
		return NULL;
	json_t *merged = solvers ? make_solvers(json, solver) : json_copy((json_t *)json);
	if (!solvers)
		json_object_update_new(
			merged, json_pack("{s:o, s:o}", "stdout",
						join_outputs(json_object_get(solver, "stdout"), json_object_get(json, "stdout")), "stderr",
						join_outputs(json_object_get(solver, "stderr"), json_object_get(json, "stderr"))));
	if (member_int(solver, "memory_peak") > member_int(json, "memory_peak"))
		json_object_set(merged, "memory_peak", json_object_get(solver, "memory_peak"));
	if (!member_true(solver, "warm"))
		json_object_del(merged, "warm");
	if (member_true(solver, "prepared")) /* only it can be */
		json_object_set_new(merged, "prepared", json_true());
	return merged;
}

static struct outcome
read_outcome(const json_t *json)
{
	const json_t *stamps = json_object_get(json, "stamps");
	return (struct outcome){
		.json = json,
		.step = json_text_or_null(json, "step"),
		.kind = json_text_or_null(json, "kind"),
		.state = read_state(json_text_or_null(json, "state")),
		.limit = json_text_or_null(json, "limit"),
		.limit_value = json_number_value(json_object_get(json, "limit_value")),
		.error = json_text_or_null(json, "error"),
		.missing = json_text_or_null(json, "missing"),
		.result_error = json_text_or_null(json, "result_error"),
		.command = json_text_or_null(json, "command"),
		.exit = read_int(json, "exit"),
		.signal = read_int(json, "signal"),
		.start_ns = read_ns(json, "start_ns", MAX_START_NS),
		.wall_ns = read_ns(json, "wall_ns", MAX_WALL_NS),
		.memory_peak = read_ns(json, "memory_peak", INT64_MAX),
		.cached = member_true(json, "cached"),
		.warm = member_true(json, "warm"),
		.prepared = member_true(json, "prepared"),
		.out = read_output(json_object_get(json, "stdout")),
		.err = read_output(json_object_get(json, "stderr")),
		.result = json_object_get(json, "result"),
		.device = json_object_get(json, "device"),
		.artifacts = json_object_get(json, "artifacts"),
		.jit = json_object_get(json, "jit"),
		.begun_ns = member_int(stamps, "begun_ns"),
		.queued_ns = member_int(stamps, "queued_ns"),
		.launched_ns = member_int(stamps, "launched_ns"),
		.ended_ns = member_int(stamps, "ended_ns"),
	};
}

/* Runners of ABI 1.0 and 1.1, and kettle-execs of that time, report it by members of their own. */
static enum kettle_loss
read_loss(const json_t *json)
{
	for (enum kettle_loss loss = KETTLE_LOSS_NODE_FAULT; loss <= KETTLE_LOSS_MISCONFIGURED; loss++)
		if (member_is(json, "loss", kettle_loss_name(loss)))
			return loss;
	bool gone = member_true(json, "gone");
	return member_true(json, "final")                ? KETTLE_LOSS_PERMANENT
		   : member_true(json, "unusable")           ? KETTLE_LOSS_MISCONFIGURED
		   : member_true(json, "unstarted") && !gone ? KETTLE_LOSS_AWAY
		   : member_true(json, "uncounted")          ? (gone ? KETTLE_LOSS_NOT_STARTED : KETTLE_LOSS_UNREACHED)
		   : gone                                    ? KETTLE_LOSS_UNKNOWN_JOB
													 : KETTLE_LOSS_NODE_FAULT;
}

struct completion
completion_read(json_t *json)
{
	const json_t *outcomes = json_object_get(json, "outcomes"), *device = json_object_get(json, "device"), *outcome;
	struct completion completion = {
		.json = json,
		.status = member_is(json, "status", "done")        ? COMPLETION_DONE
				  : member_is(json, "status", "cancelled") ? COMPLETION_CANCELLED
														   : COMPLETION_LOST,
		.error = json_text_or_null(json, "error"),
		.loss = read_loss(json),
		.disabled = json_text_or_null(json, "disabled"),
		.kept = json_object_get(json, "kept"),
		.system = json_object_get(json, "system"),
		.stamps = json_object_get(json, "stamps"),
		.faults = json_object_get(device, "faults"),
		.unfit = json_object_get(device, "unfit"),
		.checked = json_object_get(device, "checked"),
		.outcomes = xcalloc(json_array_size(outcomes), sizeof(*completion.outcomes)),
	};
	completion.received_ns = member_int(completion.stamps, "received_ns");
	completion.done_ns = member_int(completion.stamps, "done_ns");
	completion.merged = json_array();
	json_array_foreach(outcomes, completion.count, outcome) {
		bool left = false;
		json_t *merged = merge_solver(outcome, &left);
		completion.outcomes[completion.count] = read_outcome(merged ? merged : outcome);
		completion.outcomes[completion.count].left_early = left;
		if (merged)
			json_array_append_new(completion.merged, merged);
	}
	return completion;
}

void
completion_clear(struct completion *completion)
{
	free(completion->outcomes);
	json_decref(completion->merged);
}

const struct outcome *
completion_outcome(const struct completion *completion, const char *step)
{
	for (size_t i = 0; i < completion->count; i++)
		if (completion->outcomes[i].step && strcmp(completion->outcomes[i].step, step) == 0)
			return &completion->outcomes[i];
	return NULL;
}

const char *
result_value(const json_t *result, const char *noun, size_t index, const char *what)
{
	char key[64];
	(void)snprintf(key, sizeof(key), "%s.%zu.%s", noun, index, what);
	return json_text_or_null(result, key);
}

#define MAX_SHOWN 64 /* characters of the name of a step */

/* ---- checked: times ---- */

/* The stamps between which all others lie, and the longest possible duration. */
struct bounds {
	int64_t from, to; /* to 0: not known */
	int64_t most;
};

/* Remarks on the first one only; all are made unknown. */
static void
remark(struct kettle_error *ret_remark, const char *step, const char *what)
{
	if (ret_remark->message[0])
		return;
	AUTO_FREE char *shown = sanitize_line(step ? step : "", MAX_SHOWN);
	(void)kettle_fail(
		ret_remark, KETTLE_EINVAL, "%s of %s%s%s", what, step ? "the step `" : "the job", shown, step ? "`" : "");
}

static bool
is_within(const struct bounds *bounds, int64_t stamp)
{
	return stamp == 0 || (bounds->to ? stamp >= bounds->from && stamp <= bounds->to : stamp > 0);
}

/* Its receipt, its device and its end, in this order. */
static void
trim_stamps(struct completion *completion, struct bounds *bounds, struct kettle_error *ret_remark)
{
	int64_t received = completion->received_ns, device = member_int(completion->stamps, "device_ns"),
			done = completion->done_ns;
	if (received == 0 && device == 0 && done == 0)
		return;
	if (received > 0 && done >= received && done - received <= bounds->most &&
		(device == 0 || (device >= received && device <= done))) {
		bounds->from = received;
		bounds->to = done;
		bounds->most = done - received;
		return;
	}
	remark(ret_remark, NULL, "the stamps");
	completion->received_ns = completion->done_ns = 0;
	completion->stamps = NULL;
}

/* Whether there is a time that completion_read refused. */
static bool
is_refused(const struct outcome *outcome, const char *key, const struct optional_int *read)
{
	return json_is_integer(json_object_get(outcome->json, key)) && !read->given;
}

static void
trim_outcome(struct outcome *outcome, const struct bounds *bounds, struct kettle_error *ret_remark)
{
	const int64_t wall = outcome->wall_ns.value, start = outcome->start_ns.value;
	if (is_refused(outcome, "wall_ns", &outcome->wall_ns) || wall > bounds->most) {
		remark(ret_remark, outcome->step, "the time");
		outcome->wall_ns = (struct optional_int){0};
	}
	if (is_refused(outcome, "start_ns", &outcome->start_ns) || !is_within(bounds, start) ||
		(start && bounds->to && outcome->wall_ns.value > bounds->to - start)) {
		remark(ret_remark, outcome->step, "the start");
		outcome->start_ns = (struct optional_int){0};
	}
	if (!is_within(bounds, outcome->begun_ns) || !is_within(bounds, outcome->queued_ns) ||
		!is_within(bounds, outcome->launched_ns) || !is_within(bounds, outcome->ended_ns)) {
		remark(ret_remark, outcome->step, "the stamps");
		outcome->begun_ns = outcome->queued_ns = outcome->launched_ns = outcome->ended_ns = 0;
	}
}

void
completion_trim_times(struct completion *completion, int64_t away_ns, struct kettle_error *ret_remark)
{
	struct bounds bounds = {.most = INT64_MAX};
	if (away_ns > 0 && away_ns < INT64_MAX / 2)
		bounds.most = away_ns + away_ns / COMPLETION_CLOCKS_DIFFER + COMPLETION_SLACK_NS;
	*ret_remark = (struct kettle_error){0};
	trim_stamps(completion, &bounds, ret_remark);
	/* Without stamps of the job, the starts of its programs still are of one clock: none differ by more than the job was away. */
	int64_t first = 0, last = 0;
	for (size_t i = 0; i < completion->count; i++) {
		int64_t start = completion->outcomes[i].start_ns.value;
		first = start && (!first || start < first) ? start : first;
		last = start > last ? start : last;
	}
	if (!bounds.to && last - first > bounds.most)
		bounds.from = bounds.to = -1;
	for (size_t i = 0; i < completion->count; i++)
		trim_outcome(&completion->outcomes[i], &bounds, ret_remark);
}

/* ---- checked: outcomes ---- */

static bool
has_step(const struct plan *plan, const char *id)
{
	bool has = false;
	for (size_t i = 0; id && i < plan->count; i++)
		has = has || (!plan->steps[i].shared && strcmp(plan->steps[i].id, id) == 0);
	return has;
}

int
completion_check(const struct completion *completion, const struct plan *plan, struct kettle_error *err)
{
	if (completion->count > plan->count)
		return kettle_fail(err, KETTLE_EINVAL, "The machine reported %zu results of the %zu steps of the job.",
			completion->count, plan->count);
	for (size_t i = 0; i < completion->count; i++) {
		const char *step = completion->outcomes[i].step;
		AUTO_FREE char *shown = sanitize_line(step ? step : "", MAX_SHOWN);
		if (!has_step(plan, step))
			return kettle_fail(
				err, KETTLE_EINVAL, "The machine reported the result of `%s`, which is no step of the job.", shown);
		if (completion_outcome(completion, step) != &completion->outcomes[i])
			return kettle_fail(err, KETTLE_EINVAL, "The machine reported several results of the step `%s`.", shown);
	}
	return 0;
}
