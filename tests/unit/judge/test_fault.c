/* SPDX-License-Identifier: MIT */
/* Whose fault a verdict is, and where a step is: what answers and events promise. */
#include <config.h>

#include "judge/verdict.h"

#include "base/cleanup.h"
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

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_fault), cmocka_unit_test(test_stage)};

UNIT_TESTS(test_fault);
