/* SPDX-License-Identifier: MIT */
/* Plans: what must be accepted, beside the refusals that the integration tests go through. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "exec/plan/plan.h"
#include "lib/unit_test.h"

/* The plan refers to *ret_object. */
static int
read_plan(const char *text, json_t **ret_object, struct plan *ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = plan_schema();
	json_error_t why;
	*ret_object = json_loads(text, JSON_ALLOW_NUL, &why);
	if (!*ret_object)
		fail_msg("%s: %s", why.text, text);
	return plan_read(schema, *ret_object, ret_plan, err);
}

static int
check(const char *text, struct kettle_error *err)
{
	AUTO_JSON json_t *object = NULL;
	struct plan plan;
	int rc = read_plan(text, &object, &plan, err);
	plan_free(&plan);
	return rc;
}

/* Every key that a plan may have. */
static const char everything[] =
	"{'version': 1, 'owner': 'user-7', 'return_outputs': true, 'files': {'f': {'text': 'x'}, 'g': {'base64': 'eA=='}},"
	" 'steps': [{'id': 'a', 'kind': 'build', 'title': 't', 'argv': ['g++'], 'env': {'A': '1'},"
	"   'inputs': {'f': {'file': 'f'}, 'd/t': {'text': ''}, 'd/b': {'base64': ''}, 'x': {'blob': "
	"'0000000000000000000000000000000000000000000000000000000000000000'}},"
	"   'outputs': ['p', 'lib'], 'limits': {'wall': 1.5, 'cpu': 1, 'memory': 1048576, 'processes': 1, 'disk': 4096,"
	"     'shm': 4096, 'output': 1024, 'result': 1024}, 'cache': true, 'toolchain': ['gcc']},"
	"  {'id': 'p', 'kind': 'prepare', 'needs': ['a'], 'argv': ['python3'], 'warm': {'tool': 'python3', 'preload': "
	"['torch']}, 'outputs': ['c'], 'ended': {'outcome': {'step': 'p', 'kind': 'prepare', 'state': 'passed', 'exit': 0},"
	"   'outputs': [{'path': 'c', 'folder': true}, {'path': 'c/k', 'mode': 420, 'size': 1, 'sha256':"
	"   '0000000000000000000000000000000000000000000000000000000000000000', 'base64': 'eA=='}], 'tools': {'g++': "
	"'12'}}},"
	"  {'id': 'r', 'kind': 'run', 'needs': ['a', 'p'], 'argv': ['./bin/p', 'x'], 'inputs': {'bin/p': {'step': 'a',"
	"   'output': 'p'}, 'l': {'step': 'a', 'output': 'lib/deep/x'}}, 'pass': {'exit': [0, 1], 'result': {'check': "
	"'pass'}},"
	"   'device': 1, 'cases': {'name': 'cases.txt', 'text': ''}, 'result': 'FD', 'unique': ['check'], 'secret': {'S': "
	"'1'},"
	"   'artifacts': ['prof'], 'run': {'mode': 'profile', 'secret': false, 'index': 0, 'args': ['profile', 'x']}},"
	"  {'id': 's', 'kind': 'run', 'referee': {'argv': ['./r'], 'env': {}, 'inputs': {}, 'limits': {'wall': 2}, 'warm': "
	"{'tool': 'python3', 'preload': ['json']}},"
	"   'solver': {'argv': ['./s'], 'limits': {'memory': 2097152}, 'warm': {'tool': 'python3', 'preload': ['torch'], "
	"'recipes': ['triton'], 'alone': []}},"
	"   'share': 4096, 'limits': {'memory': 4194304}, 'jit': {'folder': 'cache'}, 'outputs': ['o'], 'artifacts': ['a'],"
	"   'profile': 'perf', 'run': {'mode': 'profile', 'secret': false, 'index': 0}}]}";

static void
accepts_everything(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_FREE char *text = strdup(everything);
	for (char *at = text; *at; at++)
		if (*at == '\'')
			*at = '"';
	AUTO_JSON json_t *object = NULL;
	struct plan plan;
	if (read_plan(text, &object, &plan, &err) != 0)
		fail_msg("%s", err.message);
	assert_int_equal(plan.count, 4);
	assert_string_equal(plan.owner, "user-7");
	const struct plan_step *build = &plan.steps[0], *run = &plan.steps[2], *judged = &plan.steps[3];
	assert_true(build->kind == STEP_BUILD && build->cache && build->count == 1);
	assert_string_equal(build->title, "t");
	assert_string_equal(build->toolchain.list[0], "gcc");
	assert_int_equal(build->processes[0].limits.wall, 3 * LIMITS_SECOND / 2);
	const struct plan_input *inputs = build->processes[0].inputs;
	assert_int_equal(build->processes[0].inputs_count, 4);
	assert_string_equal(inputs[0].path, "d/b");
	assert_string_equal(json_string_value(json_object_get(inputs[2].contents.bytes, "text")), "x");
	assert_non_null(inputs[3].contents.blob);
	assert_true(plan.return_outputs && !build->ended && !run->ended);
	assert_true(member_is(json_object_get(plan.steps[1].ended, "tools"), "g++", "12"));
	assert_true(run->kind == STEP_RUN && run->device == 1 && run->needs[0] == build);
	assert_true(run->processes[0].inputs[0].step == build);
	assert_string_equal(run->processes[0].inputs[0].output, "p");
	assert_true(run->passes[0] && run->passes[1] && !run->passes[2]);
	assert_string_equal(run->cases, "cases.txt");
	assert_true(judged->count == 2 && judged->passes[0] && !judged->passes[1]);
	assert_int_equal(judged->share, 4096);
	const struct plan_process *referee = &judged->processes[0], *solver = &judged->processes[1];
	assert_true(judged->memory == 4194304 && solver->limits.memory == 2097152);
	assert_true(referee->limits.wall == 2 * LIMITS_SECOND && solver->limits.wall == 180 * LIMITS_SECOND);
	assert_true(referee->warm && !referee->warm_alone && solver->warm && solver->warm_alone);
	assert_string_equal(referee->preload.list[0], "json");
	assert_string_equal(solver->preload.list[0], "torch");
	assert_string_equal(solver->recipes.list[0], "triton");
	assert_string_equal(judged->jit_folder, "cache");
	plan_free(&plan);
}

static void
refuses_nul(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	assert_int_equal(
		check("{\"version\": 1, \"steps\": [{\"id\": \"a\", \"kind\": \"run\", \"argv\": [\"a\\u0000b\"]}]}", &err),
		KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "NUL"));
	assert_int_equal(check("{\"version\": 1, \"steps\": [{\"id\": \"a\", \"kind\": \"run\", \"argv\": [\"a\"], "
						   "\"secret\": {\"A\": \"a\\u0000b\"}}]}",
						 &err),
		KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "`A` contains a NUL"));
}

static void
bounds_contents(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_FREE char *big = malloc(PLAN_MAX_CONTENTS / 2 + 2);
	memset(big, 'x', PLAN_MAX_CONTENTS / 2 + 1);
	big[PLAN_MAX_CONTENTS / 2 + 1] = '\0';
	AUTO_BUF struct buf text = {0};
	buf_printf(&text,
		"{\"version\": 1, \"files\": {\"f\": {\"text\": \"%s\"}}, \"steps\": [{\"id\": \"a\", \"kind\": "
		"\"run\", \"argv\": [\"a\"], \"inputs\": {\"x\": {\"file\": \"f\"}, \"y\": {\"text\": \"%s\"}}}]}",
		big, big);
	assert_int_equal(check(text.data, &err), KETTLE_ETOOBIG);
}

/* Plans of an older engine have owners of steps alone. */
static void
finds_owner(void **state)
{
	(void)state;
	static const struct {
		const char *plan, *steps[2], *owner;
	} cases[] = {{NULL, {NULL, NULL}, NULL}, {NULL, {NULL, "user-1"}, "user-1"}, {NULL, {"user-1", "user-2"}, "user-1"},
		{"user-3", {"user-1", NULL}, "user-3"}};
	AUTO_JSON json_t *schema = plan_schema();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *object = json_pack("{s:i, s:s*, s:[{s:s, s:s, s:[s], s:s*}, {s:s, s:s, s:[s], s:s*}]}",
			"version", 1, "owner", cases[i].plan, "steps", "id", "a", "kind", "run", "argv", "a", "owner",
			cases[i].steps[0], "id", "b", "kind", "run", "argv", "a", "owner", cases[i].steps[1]);
		struct plan plan;
		assert_int_equal(plan_read(schema, object, &plan, NULL), 0);
		if (!plan.owner != !cases[i].owner || (plan.owner && strcmp(plan.owner, cases[i].owner) != 0))
			fail_msg("case %zu: %s", i, plan.owner ? plan.owner : "none");
		plan_free(&plan);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(accepts_everything),
	cmocka_unit_test(finds_owner),
	cmocka_unit_test(refuses_nul),
	cmocka_unit_test(bounds_contents),
};

UNIT_TESTS(test_exec_plan);
