/* SPDX-License-Identifier: MIT */
/* Reads a runner's completion. It comes from another machine: any member may be missing or of another type. */
#include <config.h>

#include "judge/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

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
		.checked = json_object_get(device, "checked"),
		.outcomes = xcalloc(json_array_size(outcomes), sizeof(*completion.outcomes)),
	};
	completion.received_ns = member_int(completion.stamps, "received_ns");
	completion.done_ns = member_int(completion.stamps, "done_ns");
	json_array_foreach(outcomes, completion.count, outcome)
		completion.outcomes[completion.count] = read_outcome(outcome);
	return completion;
}

void
completion_clear(struct completion *completion)
{
	free(completion->outcomes);
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
