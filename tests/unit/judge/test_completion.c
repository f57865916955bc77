/* SPDX-License-Identifier: MIT */
/* Completions: every member as it was sent, and what is absent or of another type as none. */
#include <config.h>

#include "judge/completion.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "judge/verdict.h"
#include "lib/unit_test.h"

static json_t *
parse(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	assert_non_null(value);
	return value;
}

static void
test_whole(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = parse("{\"status\": \"done\", \"disabled\": \"it is warm\", \"kept\": {\"path\": \"p\"},"
								   " \"system\": {\"cpu\": \"x\"}, \"stamps\": {\"received_ns\": 5, \"done_ns\": 9},"
								   " \"device\": {\"faults\": {\"0\": \"gone\"}, \"checked\": [\"0\"]},"
								   " \"outcomes\": [{\"step\": \"build\", \"state\": \"passed\"}]}");
	AUTO_COMPLETION struct completion completion = completion_read(json);
	assert_int_equal(completion.status, COMPLETION_DONE);
	assert_null(completion.error);
	assert_false(completion.loss != KETTLE_LOSS_NODE_FAULT);
	assert_string_equal(completion.disabled, "it is warm");
	assert_true(json_is_object(completion.kept) && json_is_object(completion.system));
	assert_true(json_is_object(completion.faults) && json_is_array(completion.checked));
	assert_int_equal(completion.received_ns, 5);
	assert_int_equal(completion.done_ns, 9);
	assert_int_equal(completion.count, 1);
	assert_ptr_equal(completion_outcome(&completion, "build"), completion.outcomes);
	assert_null(completion_outcome(&completion, "test"));
}

static void
test_outcome(void **state)
{
	(void)state;
	AUTO_JSON json_t *json =
		parse("{\"outcomes\": [{\"step\": \"test\", \"kind\": \"run\", \"state\": \"limit\", \"limit\": \"wall\","
			  " \"exit\": 0, \"signal\": 9, \"wall_ns\": 7, \"cached\": true, \"warm\": false,"
			  " \"stdout\": {\"text\": \"a\\u0000b\", \"cut\": 3}, \"result\": {\"test.1.error\": \"wrong\"},"
			  " \"stamps\": {\"begun_ns\": 1, \"queued_ns\": 2, \"launched_ns\": 3, \"ended_ns\": 4}}]}");
	AUTO_COMPLETION struct completion completion = completion_read(json);
	const struct outcome *outcome = completion_outcome(&completion, "test");
	assert_non_null(outcome);
	assert_string_equal(outcome->kind, "run");
	assert_int_equal(outcome->state, OUTCOME_LIMIT);
	assert_string_equal(outcome->limit, "wall");
	assert_true(outcome->exit.given && outcome->exit.value == 0);
	assert_int_equal(outcome->signal.value, 9);
	assert_int_equal(outcome->wall_ns.value, 7);
	assert_false(outcome->start_ns.given || outcome->memory_peak.given);
	assert_true(outcome->cached && !outcome->warm);
	assert_int_equal(outcome->out.len, 3);
	assert_int_equal(outcome->out.cut, 3);
	assert_string_equal(outcome->err.text, "");
	assert_int_equal(outcome->ended_ns, 4);
	assert_string_equal(result_value(outcome->result, "test", 1, "error"), "wrong");
	assert_null(result_value(outcome->result, "test", 0, "error"));
}

/* Times that no machine can have are as good as none: they are added. */
static void
test_times(void **state)
{
	(void)state;
	static const struct {
		const char *start, *wall;
		bool start_given, wall_given;
	} cases[] = {{"1000000000000000000", "1000000000000000", true, true},
		{"1000000000000000001", "1000000000000001", false, false},
		{"9223372036854775807", "9223372036854775807", false, false}, {"-1", "-9223372036854775808", false, false},
		{"\"1\"", "1.5", false, false}, {"0", "0", true, true}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = xasprintf(
			"{\"outcomes\": [{\"step\": \"test\", \"start_ns\": %s, \"wall_ns\": %s}]}", cases[i].start, cases[i].wall);
		AUTO_JSON json_t *json = parse(text);
		AUTO_COMPLETION struct completion completion = completion_read(json);
		const struct outcome *outcome = completion_outcome(&completion, "test");
		assert_int_equal(outcome->start_ns.given, cases[i].start_given);
		assert_int_equal(outcome->wall_ns.given, cases[i].wall_given);
		assert_true(outcome->start_ns.given || outcome->start_ns.value == 0);
		assert_true(outcome->wall_ns.given || outcome->wall_ns.value == 0);
	}
}

static void
test_states(void **state)
{
	static const struct {
		const char *json;
		enum outcome_state state;
	} states[] = {{"{\"state\": \"passed\"}", OUTCOME_PASSED}, {"{\"state\": \"failed\"}", OUTCOME_FAILED},
		{"{\"state\": \"limit\"}", OUTCOME_LIMIT}, {"{\"state\": \"skipped\"}", OUTCOME_SKIPPED},
		{"{\"state\": \"error\"}", OUTCOME_ERROR}, {"{\"state\": \"fine\"}", OUTCOME_OTHER},
		{"{\"state\": \"\"}", OUTCOME_OTHER}, {"{\"state\": 1}", OUTCOME_NONE}, {"{}", OUTCOME_NONE},
		{"[]", OUTCOME_NONE}, {"null", OUTCOME_NONE}};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		AUTO_JSON json_t *json = json_pack("{s:[o]}", "outcomes", parse(states[i].json));
		AUTO_COMPLETION struct completion completion = completion_read(json);
		assert_int_equal(completion.count, 1);
		assert_int_equal(completion.outcomes[0].state, states[i].state);
	}
}

/* It comes from another machine. */
static void
test_garbage(void **state)
{
	static const char *const garbage[] = {"null", "[]", "\"done\"", "{\"status\": 1, \"error\": [], \"outcomes\": 7}",
		"{\"status\": \"Done\", \"disabled\": true, \"device\": \"gpu\", \"stamps\": [1]}"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		AUTO_JSON json_t *json = parse(garbage[i]);
		AUTO_COMPLETION struct completion completion = completion_read(json);
		assert_int_equal(completion.status, COMPLETION_LOST);
		assert_null(completion.error);
		assert_false(completion.loss != KETTLE_LOSS_NODE_FAULT);
		assert_null(completion.disabled);
		assert_int_equal(completion.received_ns, 0);
		assert_int_equal(completion.count, 0);
	}
	AUTO_JSON json_t *cancelled = parse("{\"status\": \"cancelled\"}");
	AUTO_COMPLETION struct completion completion = completion_read(cancelled);
	assert_int_equal(completion.status, COMPLETION_CANCELLED);
}

/* The word, and what runners and kettle-execs of before it say in its place. */
static void
test_loss(void **state)
{
	(void)state;
	static const struct {
		const char *members;
		enum kettle_loss loss;
	} cases[] = {
		{"", KETTLE_LOSS_NODE_FAULT},
		{", \"loss\": \"nonsense\"", KETTLE_LOSS_NODE_FAULT},
		{", \"loss\": \"engine\"", KETTLE_LOSS_NODE_FAULT}, /* not a runner's to say */
		{", \"loss\": \"unreached\"", KETTLE_LOSS_UNREACHED},
		{", \"loss\": \"away\", \"gone\": true", KETTLE_LOSS_AWAY},
		{", \"gone\": true", KETTLE_LOSS_UNKNOWN_JOB},
		{", \"uncounted\": true", KETTLE_LOSS_UNREACHED},
		{", \"gone\": true, \"uncounted\": true", KETTLE_LOSS_NOT_STARTED},
		{", \"unstarted\": true, \"uncounted\": true", KETTLE_LOSS_AWAY},
		{", \"unstarted\": true, \"uncounted\": true, \"gone\": true", KETTLE_LOSS_NOT_STARTED},
		{", \"final\": true, \"gone\": true", KETTLE_LOSS_PERMANENT},
		{", \"unusable\": true, \"uncounted\": true, \"gone\": true", KETTLE_LOSS_MISCONFIGURED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *json = json_sprintf("{\"status\": \"lost\"%s}", cases[i].members);
		AUTO_JSON json_t *parsed = json_loads(json_string_value(json), 0, NULL);
		AUTO_COMPLETION struct completion completion = completion_read(parsed);
		assert_int_equal(completion.loss, cases[i].loss);
	}
}

/* A verdict, which waits for files and for the database, holds of a completion what it stores, however large that is. */
static void
test_is_not_held(void **state)
{
	(void)state;
	static const char *const large[] = {"command", "stdout", "result"};
	AUTO_JSON json_t *task = json_object();
	AUTO_PLAN struct plan *plan = plan_read(json_pack("{s:i, s:[{s:s, s:s, s:[s], s:{s:s}}]}", "version", 1, "steps",
		"id", "run", "kind", "run", "argv", "./program", "run", "mode", "test"));
	AUTO_JSON json_t *json = json_pack("{s:s, s:[{s:s, s:s, s:i, s:s, s:o, s:{s:s}, s:{s:s}}]}", "status", "done",
		"outcomes", "step", "run", "state", "failed", "exit", 1, "limit", "wall", "command",
		json_sprintf("%*s", VERDICT_MAX_SYSTEM + 1, "x"), "stdout", "text", "printed", "result", "check", "fail");
	AUTO_COMPLETION struct completion completion = completion_read(json);
	AUTO_VERDICT struct verdict *verdict = verdict_make(NULL, task, plan, &completion, NULL);
	const json_t *outcome = json_array_get(json_object_get(json, "outcomes"), 0);
	assert_int_equal(verdict->count, 1);
	assert_string_equal(json_string_value(verdict->entries[0].out), "printed");
	assert_string_equal(verdict->entries[0].outcome.limit, "wall");
	assert_null(verdict->entries[0].outcome.command);
	assert_true(json->refcount == 1 && outcome->refcount == 1);
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		assert_int_equal(json_object_get(outcome, large[i])->refcount, 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_is_not_held),
	cmocka_unit_test(test_whole),
	cmocka_unit_test(test_outcome),
	cmocka_unit_test(test_times),
	cmocka_unit_test(test_states),
	cmocka_unit_test(test_garbage),
	cmocka_unit_test(test_loss),
};

UNIT_TESTS(test_completion);
