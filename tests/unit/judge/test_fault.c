/* SPDX-License-Identifier: MIT */
/* Whose fault a verdict is, and where a step is: what answers and events promise. */
#include <config.h>

#include "judge/verdict.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/step_verdict.h"
#include "lib/languages.h"
#include "lib/unit_test.h"

static void
test_fault(void **state)
{
	(void)state;
	static const struct {
		struct verdict verdict;
		const char *fault;
	} cases[] = {
		{{.state = VERDICT_PASSED}, NULL}, {{.state = VERDICT_PASSED, .fault = "machine", .blame = "machine"}, NULL},
		{{.state = VERDICT_FAILED, .blame = "participant"}, "participant"},
		{{.state = VERDICT_TIMED_OUT, .blame = "participant"}, "participant"},
		{{.state = VERDICT_ERROR, .blame = "task"}, "task"},
		/* Another attempt may help, or only the run says that it is the machine. */
		{{.state = VERDICT_ERROR, .blame = "machine", .retry = true}, "machine"},
		{{.state = VERDICT_ERROR, .blame = "machine", .claimed = true}, "machine"},
		/* No other attempt helps: the machine lacks something. */
		{{.state = VERDICT_ERROR, .blame = "machine"}, "operator"},
		{{.state = VERDICT_ERROR, .fault = "operator"}, "operator"}, {{.state = VERDICT_ERROR}, NULL}, /* cancelled */
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *fault = verdict_fault(&cases[i].verdict);
		assert_string_equal(fault ? fault : "none", cases[i].fault ? cases[i].fault : "none");
	}
}

static void
test_stage(void **state)
{
	(void)state;
	AUTO_JSON json_t *prepares = json_pack("{s:s}", "kind", "prepare"), *builds = json_pack("{s:s}", "kind", "build");
	const struct {
		struct plan_step step;
		const char *stage;
	} cases[] = {
		{{.json = prepares, .index = -1}, "prepare"},
		{{.json = builds, .index = -1}, "build"},
		{{.run = true, .mode = "test", .index = -1}, "test"},
		{{.run = true, .mode = "benchmark", .index = -1}, "benchmark"},
		{{.run = true, .mode = "leaderboard", .index = -1}, "ranked"},
		{{.run = true, .mode = "leaderboard", .index = -1, .secret = true}, "secret"},
		{{.run = true, .mode = "test", .index = -1, .secret = true}, "secret"},
		{{.run = true, .mode = "profile", .index = 0}, "profile"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(verdict_stage(&cases[i].step), cases[i].stage);
}

/* ---- by whose word ---- */

static const char *language_blames;

static json_t *
explain(const json_t *step, const json_t *outcome)
{
	(void)step, (void)outcome;
	return json_pack("{s:s, s:s, s:s}", "state", "failed", "message", "It is so.", "blame", language_blames);
}

/* Judges a step of this kind; outcome NULL: the machine reported none. */
static struct step_result
judge(const char *kind, const char *outcome, const char *blames)
{
	bool run = strcmp(kind, "run") == 0;
	AUTO_JSON json_t *json = json_pack("{s:s}", "kind", kind), *task = json_pack("{s:s}", "ranking_by", "last"),
					 *done = json_pack("{s:s, s:[]}", "status", "done", "outcomes");
	if (outcome)
		assert_int_equal(json_array_append_new(json_object_get(done, "outcomes"), json_loads(outcome, 0, NULL)), 0);
	AUTO_COMPLETION struct completion completion = completion_read(done);
	const struct plan_step step = {
		.json = json, .id = "s", .title = "s", .run = run, .mode = run ? "leaderboard" : "", .index = -1, .cases = run};
	struct step_result result;
	language_blames = blames;
	py_hooks.interpret = explain;
	step_result_read(
		blames ? language_find(languages, "py") : NULL, task, &step, completion_outcome(&completion, "s"), &result);
	py_hooks.interpret = NULL;
	return result;
}

/* What only the run says of machine or task counts as a run; what kettle-exec or a compiler says does not. */
static void
test_claimed(void **state)
{
	(void)state;
#define ENDED(status, more) "{\"step\": \"s\", \"state\": \"failed\", \"exit\": " status more "}"
#define CLAIMS(whose) ", \"result\": {\"fault\": \"" whose "\"}"
#define SLOW \
	"{\"step\": \"s\", \"state\": \"passed\", \"exit\": 0, \"wall_ns\": 20000000, \"result\": {\"check\": \"pass\", " \
	"\"benchmark-count\": \"1\", \"benchmark.0.mean\": \"4e6\", \"benchmark.0.best\": \"11e6\", " \
	"\"benchmark.0.calibrator\": \"cpu-c-1\", \"benchmark.0.ratio\": \"40\", \"benchmark.0.calibrator-ns\": \"3e5\"}}"
	static const struct {
		const char *kind, *outcome, *language_blames, *blame;
		bool claimed;
	} cases[] = {
		/* by the harness */
		{"run", ENDED("113", CLAIMS("task")), NULL, "task", true},
		{"run", ENDED("2", CLAIMS("task")), NULL, "task", true},
		{"run", ENDED("110", CLAIMS("machine")), NULL, "machine", true},
		{"run", ENDED("113", ""), NULL, "participant", false},
		{"run", ENDED("113", CLAIMS("machine")), NULL, "participant", false},
		/* by a calibrator that the run has slowed down */
		{"run", SLOW, NULL, "machine", true},
		/* by what a language reads in the output of a process of the submission */
		{"run", ENDED("1", ""), "machine", "machine", true},
		{"run", ENDED("1", ""), "task", "task", true},
		{"run", ENDED("1", ""), "participant", "participant", false},
		{"prepare", ENDED("1", ""), "machine", "machine", true},
		{"prepare", ENDED("1", ""), "task", "task", true},
		/* by others */
		{"build", ENDED("1", ""), "machine", "machine", false},
		{"build", ENDED("1", ""), "task", "task", false},
		{"run", "{\"step\": \"s\", \"state\": \"error\", \"error\": \"It has no disk.\"}", NULL, "machine", false},
		{"run", "{\"step\": \"s\", \"state\": \"error\", \"error\": \"It has no disk.\"}", "machine", "machine", false},
		{"run", NULL, NULL, "machine", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct step_result result = judge(cases[i].kind, cases[i].outcome, cases[i].language_blames);
		if (strcmp(result.blame ? result.blame : "", cases[i].blame) != 0 || result.claimed != cases[i].claimed)
			fail_msg("case %zu: %s, %s claimed: %s", i, result.blame ? result.blame : "nobody is to blame",
				result.claimed ? "is" : "is not", result.why.message);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_fault),
	cmocka_unit_test(test_stage),
	cmocka_unit_test(test_claimed),
};

UNIT_TESTS(test_fault, .setup = languages_setup, .teardown = languages_teardown);
