/* SPDX-License-Identifier: MIT */
/* Plans: every fixture in every mode gives a good one, and a language's mistakes are found. */
#include <config.h>

#include "task/task.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/embedded_text.h"
#include "base/json_access.h"
#include "base/schema.h"
#include "lib/languages.h"
#include "lib/unit_test.h"

static json_t *
read_task(const char *path)
{
	AUTO_BUF struct buf full = {0};
	json_t *bundle = NULL;
	struct kettle_error err = {0};
	buf_printf(&full, "%s/%s", getenv("top_srcdir"), path);
	if (task_read(languages, full.data, &bundle, &err))
		fail_msg("%s", err.message);
	return bundle;
}

static int
make_plan(const json_t *bundle, const char *mode, json_t **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *device = json_pack("{s:s}", "name", "CPU");
	AUTO_PLAN struct plan *plan = NULL;
	int rc = plan_make(languages, bundle, "int x;\n", mode, device, "1618033988", NULL, &plan, err);
	if (rc == 0)
		*ret_plan = json_incref(plan->json);
	return rc;
}

static void
test_every_plan(void **state)
{
	(void)state;
	static const char *const tasks[] = {"tasks/vectoradd_cpp", "tasks/matmul_cpp", "tests/fixtures/tasks/set/sort_py",
		"tests/fixtures/tasks/set/allreduce_py", "tests/fixtures/tasks/set/deep/conv_py",
		"tests/fixtures/tasks/set/grayscale_cu"};
	static const char *const modes[] = {"test", "benchmark", "profile", "ranked"};
	AUTO_JSON json_t *schema = NULL;
	struct kettle_error err = {0};
	assert_int_equal(schema_load(plan_schema, &schema, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tasks) * ARRAY_SIZE(modes); i++) {
		AUTO_JSON json_t *bundle = read_task(tasks[i / ARRAY_SIZE(modes)]), *plan = NULL;
		if (make_plan(bundle, modes[i % ARRAY_SIZE(modes)], &plan, &err) ||
			schema_check(schema, plan, NULL, NULL, &err))
			fail_msg("%s, %s: %s", tasks[i / ARRAY_SIZE(modes)], modes[i % ARRAY_SIZE(modes)], err.message);
	}
}

/* The seed is where the harness gets it and nowhere else. */
static void
test_secret(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tasks/vectoradd_cpp"), *plan = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make_plan(bundle, "ranked", &plan, &err), 0);
	json_t *step;
	size_t i;
	json_array_foreach(json_object_get(plan, "steps"), i, step)
		json_object_del(step, "secret");
	AUTO_FREE char *text = json_dumps(plan, JSON_COMPACT);
	assert_null(strstr(text, "1618033988"));
	AUTO_JSON json_t *test = NULL;
	assert_int_equal(make_plan(bundle, "test", &test, &err), 0);
	AUTO_FREE char *test_text = json_dumps(test, JSON_COMPACT);
	assert_null(strstr(test_text, "1618033988"));
}

/* What is shown of a step's events: how the report calls it and the limit that it reached; of a secret run neither. */
static void
test_redacted(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tasks/vectoradd_cpp"), *made = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make_plan(bundle, "ranked", &made, &err), 0);
	struct plan *plan = plan_read(STEAL(made));
	size_t titles = 0;
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_step *step = &plan->steps[i];
		AUTO_JSON json_t *event = json_pack("{s:s, s:{s:s, s:s, s:s, s:i}}", "event", "outcome", "outcome", "step",
			step->id, "state", "limit", "limit", "wall", "limit_value", 10);
		AUTO_JSON json_t *begun = json_pack("{s:s, s:s}", "event", "step", "step", step->id);
		AUTO_JSON json_t *ended = plan_redact_event(plan, event), *shown = plan_redact_event(plan, begun);
		const json_t *title = step->secret ? NULL : json_object_get(step->json, "title");
		assert_true(title ? json_equal(json_object_get(ended, "title"), title) : !json_object_get(ended, "title"));
		assert_true(title ? json_equal(json_object_get(shown, "title"), title) : !json_object_get(shown, "title"));
		assert_int_equal(json_object_get(ended, "limit") != NULL, !step->secret);
		assert_int_equal(json_object_get(ended, "limit_value") != NULL, !step->secret);
		titles += title != NULL;
	}
	assert_true(titles > 1);
	plan_free(plan);
}

/* What a profiler lacks is refused before there is a job, unless the GPUs that decide about it are not known yet. */
static void
test_profilers(void **state)
{
	(void)state;
	AUTO_JSON json_t *capture = json_pack("{s:i}", "launches", 3), *cpp = read_task("tasks/vectoradd_cpp");
	AUTO_JSON json_t *py = read_task("tests/fixtures/tasks/set/sort_py");
	const struct {
		const json_t *bundle;
		const char *device, *lacks;
	} cases[] = {
		{cpp, "{\"name\": \"CPU\"}", "On `CPU`, perf does not support `launches` (ncu and rocprofv3 can)"},
		{py, "{\"name\": \"CPU\"}", "On `CPU`, the harness profiles itself"},
		{py, "{\"name\": \"G\", \"gpu\": 0}", NULL},
		{py, "{\"name\": \"G\", \"gpu\": 0, \"facts\": {\"gpu\": {\"vendor\": \"other\"}}}", "On `G`, the harness"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *device = json_loads(cases[i].device, 0, NULL);
		struct kettle_error err = {0};
		int rc = plan_check_capture(languages, cases[i].bundle, "int x;\n", device, capture, &err);
		if (rc != (cases[i].lacks ? KETTLE_EINVAL : 0) || (cases[i].lacks && !strstr(err.message, cases[i].lacks)))
			fail_msg("case %zu: %d, %s", i, rc, err.message);
	}
}

/* Steps that compile a file of the task's alone are told from those that the submission has a part in. */
static void
test_task_only(void **state)
{
	(void)state;
	static const struct {
		const char *task, *title;
		bool task_only;
	} steps[] = {{"tasks/vectoradd_cpp", "compile eval.cpp", true},
		{"tasks/vectoradd_cpp", "compile submission.cpp", false}, {"tasks/vectoradd_cpp", "link", false},
		{"tasks/vectoradd_cpp", "find the task's undefined symbols", true},
		{"tasks/vectoradd_cpp", "isolate the submission", false}, {"tasks/vectoradd_cpp", "test", false},
		{"tests/fixtures/tasks/set/sort_py", "test", false}};
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		AUTO_JSON json_t *bundle = read_task(steps[i].task), *device = json_pack("{s:s}", "name", "CPU");
		AUTO_PLAN struct plan *plan = NULL;
		struct kettle_error err = {0};
		size_t found = 0;
		assert_int_equal(plan_make(languages, bundle, "int x;\n", "ranked", device, "1", NULL, &plan, &err), 0);
		for (size_t k = 0; k < plan->count; k++) {
			if (strcmp(plan->steps[k].title, steps[i].title) != 0)
				continue;
			found++;
			if (plan->steps[k].task_only != steps[i].task_only)
				fail_msg("%s, %s", steps[i].task, steps[i].title);
			/* In the cache the former belong to the board, the latter to the user. */
			plan_set_owner(plan, "user-7");
			assert_string_equal(json_text_or_empty(plan->json, "owner"), "user-7");
			const char *owner = json_text_or_null(plan->steps[k].json, "owner");
			bool owned = !steps[i].task_only && member_true(plan->steps[k].json, "cache");
			if (!owner != !owned || (owned && strcmp(owner, "user-7") != 0))
				fail_msg("%s, %s belongs to %s", steps[i].task, steps[i].title, owner ? owner : "the board");
		}
		if (found != 1)
			fail_msg("%s has %zu steps `%s`", steps[i].task, found, steps[i].title);
	}
}

/* Plans that share what is equal say what they said before, and outlive the plan whose members they share. */
static void
test_share(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tasks/vectoradd_cpp"), *device = json_pack("{s:s}", "name", "CPU");
	static const char *const modes[] = {"ranked", "test", "ranked"}, *const seeds[] = {"1", "1", "2"};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct plan *plan = NULL, *earlier = NULL;
		struct kettle_error err = {0};
		assert_int_equal(plan_make(languages, bundle, "int x;\n", modes[i], device, seeds[i], NULL, &plan, &err), 0);
		assert_int_equal(plan_make(languages, bundle, "int y;\n", "ranked", device, "1", NULL, &earlier, &err), 0);
		AUTO_JSON json_t *before = json_deep_copy(plan->json), *steps = json_object_get(earlier->json, "steps");
		plan_share(plan, json_incref(steps));
		bool shared = plan->steps[0].json == json_array_get(steps, 0);
		plan_free(earlier);
		json_array_clear(steps);
		if (!shared || !json_equal(plan->json, before))
			fail_msg("case %zu: %s", i, shared ? "the plan has changed" : "nothing is shared");
		for (size_t k = 0; k < plan->count; k++) {
			assert_ptr_equal(plan->steps[k].json, json_array_get(json_object_get(plan->json, "steps"), k));
			assert_string_equal(plan->steps[k].id, json_text_or_empty(plan->steps[k].json, "id"));
			assert_int_equal(plan->steps[k].secret, member_true(json_object_get(plan->steps[k].json, "run"), "secret"));
		}
		assert_true(plan->steps[0].task_only);
		plan_free(plan);
	}
}

static void
test_not_loaded(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tasks/vectoradd_cpp");
	struct languages none = {0};
	AUTO_JSON json_t *device = json_object();
	struct plan *plan = NULL;
	struct kettle_error err = {0};
	assert_int_equal(plan_make(&none, bundle, "", "test", device, NULL, NULL, &plan, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.message, "The language `cpp` of the task is not loaded.");
}

/* ---- mistakes of a language ---- */

static json_t *
step_at(json_t *plan, size_t index)
{
	return json_array_get(json_object_get(plan, "steps"), index);
}

static json_t *
build_step(const char *id)
{
	return json_pack("{s:s, s:s, s:[s], s:[s]}", "id", id, "kind", "build", "argv", "true", "outputs", "a");
}

static int
add_member(json_t *plan, size_t index, const char *key, json_t *value)
{
	return json_object_set_new(step_at(plan, index), key, value);
}

#define MISTAKE(name, body) \
	static int mistake_##name(const struct kettle_plan_request *request, json_t *plan) \
	{ \
		(void)request; \
		json_t *steps = json_object_get(plan, "steps"); \
		(void)steps; \
		return body; \
	}
MISTAKE(version, json_object_set_new(plan, "version", json_integer(2)))
MISTAKE(key, add_member(plan, 0, "argw", json_array()))
MISTAKE(id, json_array_append(steps, step_at(plan, 0)))
MISTAKE(needs, json_array_append_new(json_object_get(step_at(plan, 0), "needs"), json_string("benchmark")))
MISTAKE(file, add_member(plan, 0, "inputs", json_pack("{s:{s:s}}", "a", "file", "none.py")))
MISTAKE(output, add_member(plan, 1, "inputs", json_pack("{s:{s:s, s:s}}", "a", "step", "test", "output", "x")))
MISTAKE(path, add_member(plan, 0, "inputs", json_pack("{s:{s:s}}", "../a", "text", "")))
MISTAKE(escape, json_array_append_new(steps,
					json_pack("{s:s, s:s, s:[s], s:[s]}", "id", "b", "kind", "build", "argv", "t", "outputs", "../a")))
MISTAKE(no_argv, json_object_del(step_at(plan, 0), "argv"))
MISTAKE(half, add_member(plan, 0, "solver", json_pack("{s:[s]}", "argv", "x")))

/* Makes the first run a step of referee and solver, whose referee has these inputs. */
static int
make_pair(json_t *plan, json_t *inputs, bool keeps_env)
{
	json_t *step = step_at(plan, 0), *env = json_incref(json_object_get(step, "env"));
	static const char *const own[] = {"argv", "inputs", "env", "warm"};
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)json_object_del(step, own[i]);
	json_t *referee = json_pack("{s:[s], s:o}", "argv", "x", "inputs", inputs);
	if (keeps_env && env)
		json_object_set(referee, "env", env);
	json_decref(env);
	return json_object_set_new(step, "referee", referee) ||
		   add_member(plan, 0, "solver", json_pack("{s:[s]}", "argv", "x"));
}

/* A prepare step that reads this file of the plan. */
static int
add_prepare(json_t *plan, const char *file)
{
	return json_array_insert_new(json_object_get(plan, "steps"), 0,
		json_pack("{s:s, s:s, s:[s], s:[s], s:{s:{s:s}}}", "id", "warm-up", "kind", "prepare", "argv", "x", "outputs",
			"cache", "inputs", "a", "file", file));
}

static int
make_prepared_pair(json_t *plan, const char *file)
{
	return make_pair(plan, json_pack("{s:{s:s, s:s}}", "out/cache", "step", "warm-up", "output", "cache"), true) ||
		   add_prepare(plan, file);
}
MISTAKE(mixed, make_pair(plan, json_object(), true) || add_member(plan, 0, "warm", json_pack("{s:s}", "tool", "x")))
MISTAKE(pair_env, make_pair(plan, json_object(), false))
MISTAKE(pair_reads, make_pair(plan, json_pack("{s:{s:s}}", "a", "file", "submission.py"), true))
MISTAKE(pair_cache, make_prepared_pair(plan, "submission.py"))
MISTAKE(missing, json_array_remove(steps, 5))
MISTAKE(extra, json_array_append_new(steps, json_pack("{s:s, s:s, s:[s]}", "id", "more", "kind", "run", "argv", "x")))
MISTAKE(pass, add_member(plan, 0, "pass", json_pack("{s:[i, i]}", "exit", 0, 1)))
MISTAKE(no_pass, json_object_del(step_at(plan, 0), "pass"))
MISTAKE(leak, json_array_insert_new(steps, 0, build_step("b")) ||
				  add_member(plan, 0, "secret", json_pack("{s:s}", "POPCORN_SEED", "1")))
MISTAKE(secret, add_member(plan, 0, "secret", json_pack("{s:s}", "POPCORN_SEED", "1")))
MISTAKE(limits, add_member(plan, 0, "limits", json_pack("{s:i}", "wall", 3600)))
MISTAKE(env, add_member(plan, 0, "env", json_pack("{s:s}", "POPCORN_GPUS", "1")))
MISTAKE(chain, add_member(plan, 1, "needs", json_array()))

static void
test_mistakes(void **state)
{
	static const struct {
		int (*plan)(const struct kettle_plan_request *request, json_t *plan);
		const char *sentence;
	} mistakes[] = {
		{mistake_version, "plan: version must be 1, not 2."},
		{mistake_key, "plan: unknown key `argw` in `steps[0]`; did you mean `argv`?"},
		{mistake_id, "two steps have the id `test`."},
		{mistake_needs, "the step `test` needs `benchmark`, which is not an earlier step."},
		{mistake_file, "the step `test` takes the file `none.py`, which the plan does not have."},
		{mistake_output, "the step `benchmark` takes `x` from `test`, which is not an output of an earlier step."},
		{mistake_path, "the input `../a` of the step `test` is not a path inside its folder."},
		{mistake_escape, "`../a` in the outputs of the step `b` is not a path inside its folder."},
		{mistake_no_argv, "the step `test` must have either `argv` or both `referee` and `solver`."},
		{mistake_half, "the step `test` must have either `argv` or both `referee` and `solver`."},
		{mistake_missing, "the run `secret-leaderboard` is missing."},
		{mistake_extra, "the run step `more` is not part of the job."},
		{mistake_pass, "it changed `pass` of the run `test`."},
		{mistake_no_pass, "it changed `pass` of the run `test`."},
		{mistake_leak, "the step `b` has `secret`, which only run steps may have."},
		{mistake_secret, "it changed `secret` of the run `test`."},
		{mistake_limits, "it changed `limits` of the run `test`."},
		{mistake_env, "it changed `env` of the run `test`."},
		{mistake_chain, "it changed `needs` of the run `benchmark`."},
	};
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tests/fixtures/tasks/set/allreduce_py");
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		json_t *plan = NULL;
		struct kettle_error err = {0};
		AUTO_BUF struct buf sentence = {0};
		buf_printf(&sentence, "The language py made an invalid plan: %s", mistakes[i].sentence);
		py_hooks.plan = mistakes[i].plan;
		int rc = make_plan(bundle, "ranked", &plan, &err);
		py_hooks.plan = NULL;
		json_decref(plan);
		assert_string_equal(err.message, sentence.data);
		assert_int_equal(rc, KETTLE_EINTERNAL);
	}
}

/* What a language may add. */
MISTAKE(
	allowed, json_array_insert_new(steps, 0, build_step("prepare-it")) ||
				 json_array_append_new(json_object_get(step_at(plan, 1), "needs"), json_string("prepare-it")) ||
				 json_object_set_new(json_object_get(step_at(plan, 1), "limits"), "memory", json_integer(1 << 30)) ||
				 json_object_set_new(json_object_get(step_at(plan, 1), "env"), "OMP_NUM_THREADS", json_string("1")) ||
				 add_member(plan, 1, "artifacts", json_pack("[s]", "profile.txt")))

static void
test_allowed(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tests/fixtures/tasks/set/allreduce_py"), *plan = NULL;
	struct kettle_error err = {0};
	py_hooks.plan = mistake_allowed;
	int rc = make_plan(bundle, "ranked", &plan, &err);
	py_hooks.plan = NULL;
	if (rc)
		fail_msg("%s", err.message);
}

static void
test_pair_mistakes(void **state)
{
	static const struct {
		int (*plan)(const struct kettle_plan_request *request, json_t *plan);
		const char *part;
	} mistakes[] = {
		{mistake_mixed, "has `warm` itself"},
		{mistake_pair_env, "`env` of the run"},
		{mistake_pair_reads, "submission has a part"},
		{mistake_pair_cache, "submission has a part"},
	};
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tests/fixtures/tasks/set/allreduce_py");
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		json_t *plan = NULL;
		struct kettle_error err = {0};
		py_hooks.plan = mistakes[i].plan;
		int rc = make_plan(bundle, "ranked", &plan, &err);
		py_hooks.plan = NULL;
		json_decref(plan);
		assert_int_equal(rc, KETTLE_EINTERNAL);
		assert_non_null(strstr(err.message, mistakes[i].part));
	}
}

MISTAKE(pair_allowed, make_prepared_pair(plan, "eval.py"))

static void
test_pair_allowed(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tests/fixtures/tasks/set/allreduce_py"), *plan = NULL;
	struct kettle_error err = {0};
	py_hooks.plan = mistake_pair_allowed;
	int rc = make_plan(bundle, "ranked", &plan, &err);
	py_hooks.plan = NULL;
	if (rc)
		fail_msg("%s", err.message);
}

/* A task may want every run to begin without what compilers left in others. */
MISTAKE(cached, add_member(plan, 0, "jit", json_pack("{s:s}", "folder", "cache")))

static void
assert_cached(const json_t *bundle, bool cached)
{
	AUTO_JSON json_t *plan = NULL;
	struct kettle_error err = {0};
	assert_int_equal(make_plan(bundle, "ranked", &plan, &err), 0);
	assert_int_equal(json_object_get(step_at(plan, 0), "jit") != NULL, cached);
}

static void
test_jit_cache(void **state)
{
	(void)state;
	AUTO_JSON json_t *bundle = read_task("tests/fixtures/tasks/set/allreduce_py");
	json_t *task = json_object_get(bundle, "task");
	py_hooks.plan = mistake_cached;
	assert_cached(bundle, true);
	json_object_set_new(task, "jit_cache", json_string("yes"));
	assert_cached(bundle, true);
	json_object_set_new(task, "jit_cache", json_string("no"));
	assert_cached(bundle, false);
	json_object_set_new(task, "jit_cache", json_false());
	assert_cached(bundle, false);
	py_hooks.plan = NULL;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_every_plan),
	cmocka_unit_test(test_task_only),
	cmocka_unit_test(test_secret),
	cmocka_unit_test(test_redacted),
	cmocka_unit_test(test_profilers),
	cmocka_unit_test(test_share),
	cmocka_unit_test(test_not_loaded),
	cmocka_unit_test(test_mistakes),
	cmocka_unit_test(test_allowed),
	cmocka_unit_test(test_pair_mistakes),
	cmocka_unit_test(test_pair_allowed),
	cmocka_unit_test(test_jit_cache),
};

UNIT_TESTS(test_plan, .setup = languages_setup, .teardown = languages_teardown);
