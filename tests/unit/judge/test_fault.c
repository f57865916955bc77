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
			fail_msg("case %zu: %s, %s claimed: %s", i, result.blame ? result.blame : "without blame",
				result.claimed ? "is" : "is not", result.why.message);
	}
}

/* ---- by a step with a referee ---- */

#define SOLVER(members) ", \"solver\": {" members "}"
#define PAIR(state, status, members) "{\"step\": \"s\", \"state\": \"" state "\", \"exit\": " status members "}"
#define LOST ", \"result\": {\"solver\": \"gone\", \"check\": \"fail\"}"
#define FAILED ", \"result\": {\"check\": \"fail\"}"
#define TRACE ", \"stderr\": {\"text\": \"Traceback\\nValueError: no\\n\"}"

/* How its solver ends explains a failure, if that was first; else the referee's word counts. */
static void
test_pair(void **state)
{
	static const struct {
		const char *outcome, *part, *blame;
		bool claimed;
	} cases[] = {
		{PAIR("limit", "112",
			 ", \"limit\": \"memory\", \"limit_value\": 268435456" FAILED SOLVER(
				 "\"limit\": \"memory\", \"exit\": null")),
			"limit of 256 MiB", "participant", false},
		{PAIR("limit", "112", ", \"limit\": \"wall\", \"limit_value\": 3" FAILED SOLVER("\"limit\": \"wall\"")),
			"limit of 3 s", "participant", false},
		{PAIR("failed", "112", FAILED SOLVER("\"first\": true, \"exit\": null, \"signal\": 11")), "signal 11 (",
			"participant", false},
		{PAIR("failed", "112", FAILED SOLVER("\"first\": true, \"exit\": 1" TRACE)), "status 1: ValueError: no",
			"participant", false},
		{PAIR("failed", "112", LOST SOLVER("\"first\": false, \"exit\": 1" TRACE)), "status 1: ValueError: no",
			"participant", false},
		/* A referee that has lost its solver has not failed by itself; one that does not report that has. */
		{PAIR("failed", "113",
			 ", \"result\": {\"fault\": \"task\", \"solver\": \"gone\"}" SOLVER("\"first\": true, \"exit\": 1" TRACE)),
			"status 1: ValueError: no", "participant", false},
		{PAIR("failed", "113", CLAIMS("task") SOLVER("\"first\": true, \"exit\": 113" TRACE)), "status 113", "task",
			true},
		{PAIR("failed", "113", CLAIMS("task") SOLVER("\"first\": false, \"exit\": 1" TRACE)), "status 113", "task",
			true},
		{PAIR("failed", "110", CLAIMS("machine") SOLVER("\"stopped\": true, \"exit\": null")), "status 110", "machine",
			true},
		{PAIR("failed", "110", CLAIMS("machine") SOLVER("\"first\": true, \"exit\": 0")), "status 110", "machine",
			true},
		/* One that left, or was done. */
		{PAIR("failed", "112", LOST SOLVER("\"first\": true, \"exit\": 0")), "status 0 before", "participant", false},
		{PAIR("failed", "112", FAILED SOLVER("\"first\": true, \"exit\": 0")), "reported a failure", "participant",
			false},
		{PAIR("failed", "112", LOST SOLVER("\"stopped\": true, \"exit\": null")), "reported a failure", "participant",
			false},
		/* One that never began. */
		{PAIR("failed", "112",
			 LOST ", \"error\": \"It is no program.\"" SOLVER("\"first\": true, \"exit\": null, \"signal\": null")),
			"begin: It is no program.", "participant", false},
		/* Nonsense of a machine. */
		{PAIR("failed", "112", FAILED SOLVER("\"first\": 1, \"exit\": \"1\", \"stdout\": [], \"limit\": 3")),
			"reported a failure", "participant", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct step_result result = judge("run", cases[i].outcome, NULL);
		if (!result.blame || strcmp(result.blame, cases[i].blame) != 0 || result.claimed != cases[i].claimed ||
			!strstr(result.why.message, cases[i].part))
			fail_msg("case %zu: %s, %s claimed: %s", i, result.blame ? result.blame : "without blame",
				result.claimed ? "is" : "is not", result.why.message);
	}
}

static json_t *explained; /* the outcome that a language got */

static json_t *
keep_explained(const json_t *step, const json_t *outcome)
{
	(void)step;
	explained = json_deep_copy(outcome);
	return NULL;
}

/* A language sees how the process of the submission ended and what it printed, as of a step of one process. */
static void
test_pair_explained(void **state)
{
#define BOTH(solver) \
	", \"stdout\": {\"text\": \"r1\\n\", \"bytes\": 3, \"cut\": 0}, \"stderr\": {\"text\": \"r2\", \"bytes\": 9, " \
	"\"cut\": 7}, \"warm\": true, \"memory_peak\": 5" SOLVER( \
		"\"stdout\": {\"text\": \"s1\", \"bytes\": 2, \"cut\": 1}, \"stderr\": {\"text\": \"s2\\n\", \"bytes\": " \
		"3}, \"memory_peak\": 9, " solver)
	static const struct {
		const char *outcome, *out, *err;
		int status;
		bool warm;
	} cases[] = {
		{PAIR("failed", "112", FAILED BOTH("\"first\": true, \"exit\": 4")), "s1", "s2\n", 4, false},
		/* Nothing of the referee's is in place of what the solver's part lacks. */
		{PAIR("failed", "112", FAILED BOTH("\"first\": true")), "s1", "s2\n", 0, false},
		{PAIR("failed", "112", FAILED BOTH("\"stopped\": true, \"exit\": null, \"warm\": true")), "s1\nr1\n", "s2\nr2",
			112, true},
		{PAIR("passed", "0", FAILED BOTH("\"first\": true, \"exit\": 4")), "s1\nr1\n", "s2\nr2", 0, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *json = json_pack("{s:s}", "kind", "run"), *task = json_object(),
						 *done = json_pack(
							 "{s:s, s:[o]}", "status", "done", "outcomes", json_loads(cases[i].outcome, 0, NULL));
		AUTO_COMPLETION struct completion completion = completion_read(done);
		const struct plan_step step = {.json = json, .id = "s", .title = "s", .run = true, .mode = "test", .index = -1};
		const struct outcome *outcome = completion_outcome(&completion, "s");
		struct step_result result;
		py_hooks.interpret = keep_explained;
		step_result_read(language_find(languages, "py"), task, &step, outcome, &result);
		py_hooks.interpret = NULL;
		AUTO_JSON json_t *seen = explained;
		explained = NULL;
		assert_string_equal(json_string_value(json_object_get(json_object_get(seen, "stdout"), "text")), cases[i].out);
		assert_string_equal(json_string_value(json_object_get(json_object_get(seen, "stderr"), "text")), cases[i].err);
		assert_int_equal(json_integer_value(json_object_get(seen, "exit")), cases[i].status);
		assert_non_null(json_object_get(seen, "solver"));
		assert_string_equal(outcome->out.text, cases[i].out);
		assert_int_equal(outcome->memory_peak.value, 9);
		assert_int_equal(outcome->warm, cases[i].warm);
		assert_int_equal(outcome->err.cut, strcmp(cases[i].err, "s2\n") == 0 ? 0 : 7);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_fault),
	cmocka_unit_test(test_stage),
	cmocka_unit_test(test_claimed),
	cmocka_unit_test(test_pair),
	cmocka_unit_test(test_pair_explained),
};

UNIT_TESTS(test_fault, .setup = languages_setup, .teardown = languages_teardown);
