/* SPDX-License-Identifier: MIT */
/* What --doctor finds out about warm interpreters: it makes one of each, as the first run on this machine would. */
#include <config.h>

#include "exec/serve/try_warm.h"

#include <string.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "exec/util/cores.h"
#include "exec/warm/warm.h"

/* Those of the extension; a test compares. The first loads more than the second. */
static const char *const known_recipes[] = {
	"torch.compile", "torch.compiler", "triton", "jax", "numba", "cupy", "helion", "cute"};

/* Without them no copy is as good as a fresh interpreter; runs have them from their plans. */
static const char *const settings[][2] = {
	{"PYTHONNOUSERSITE", "1"}, {"PYTHONHASHSEED", "0"}, {"PYTHONDONTWRITEBYTECODE", "1"}};

static json_t *
make_environment(const struct execconfig *config, const struct tool *tool)
{
	json_t *environment = environment_make(config, tool->path, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		json_object_set_new(environment, settings[i][0], json_string(settings[i][1]));
	json_object_set_new(environment, "HOME", json_string(SANDBOX_HOME));
	json_object_set_new(environment, "TMPDIR", json_string("/tmp"));
	environment_add_tool(config, tool->name, environment);
	return environment;
}

/* Recipes may take a minute: only for an interpreter that the operator has chosen. */
static bool
is_named(const struct execconfig *config, const char *name)
{
	const json_t *one;
	size_t i;
	json_array_foreach(execconfig_reported(config), i, one)
		if (strcmp(json_string_value(one), name) == 0)
			return true;
	return json_object_get(config->tools, name) != NULL;
}

static void
note_end(void *arg)
{
	*(bool *)arg = true;
}

/* What the pool has come to of the key: the entry of warm_describe that is ready, with `errors`. New reference. */
static json_t *
try_one(struct warm *warm, uv_loop_t *loop, const struct warm_key *key)
{
	bool ended = false;
	struct warm_waiter wait = {.ended = note_end, .arg = &ended};
	/* Without one recipe less each time, at the end without any. */
	for (size_t i = 0; i < ARRAY_SIZE(known_recipes) + 2; i++) {
		ended = !warm_request(warm, key, &wait);
		while (!ended)
			(void)uv_run(loop, UV_RUN_ONCE);
		if (!wait.again)
			break;
	}
	AUTO_JSON json_t *all = warm_describe(warm);
	json_t *found = NULL, *one;
	size_t i;
	json_array_foreach(all, i, one)
		if (member_is(one, "state", "ready"))
			found = json_incref(one);
	if (!found)
		found = json_pack("{s:s}", "state", "failed");
	json_object_set_new(found, "errors", warm_told(warm));
	return found;
}

static json_t *
try_interpreter(const struct warm_setup *setup, const struct execconfig *config, const struct tool *tool)
{
	AUTO_STRINGS struct strings modules = {0};
	AUTO_STRINGS struct strings recipes = {0};
	AUTO_JSON json_t *environment = make_environment(config, tool);
	bool tries = is_named(config, tool->name);
	if (!interpreter_copies(tool->path, environment))
		return json_pack("{s:s, s:[s]}", "state", "failed", "errors",
			"The environment that exec.yml gives the interpreter differs in each process, so none can be copied.");
	for (size_t i = 0; tries && i < ARRAY_SIZE(known_recipes); i++)
		strings_add(&recipes, known_recipes[i]);
	const struct warm_key key = {
		.tool = tool, .modules = &modules, .recipes = &recipes, .environment = environment, .cores = setup->build};
	struct warm *warm = warm_open(setup);
	json_t *found = warm ? try_one(warm, setup->loop, &key)
						 : json_pack("{s:s, s:[s]}", "state", "failed", "errors",
							   KETTLE_HAVE_WARM ? "`warm: {processes: 0}` of exec.yml turns warm interpreters off."
												: "This kettle-exec was built without warm interpreters.");
	json_object_set_new(found, "tried", json_boolean(tries));
	json_object_set_new(found, "budget", json_integer((json_int_t)warm_budget(warm)));
	warm_close(warm);
	(void)uv_run(setup->loop, UV_RUN_DEFAULT);
	warm_free(warm);
	(void)uv_run(setup->loop, UV_RUN_DEFAULT);
	return found;
}

json_t *
try_warm(
	const struct execconfig *config, struct sandbox_machine *machine, const struct tool *const *tools, size_t count)
{
	json_t *found = json_object();
	struct kettle_error error = {0};
	struct cores cores = {0};
	struct spool spool = {.lock = -1};
	uv_loop_t loop;
	if (uv_loop_init(&loop) != 0)
		return found;
	if (cores_allowed(&cores, &error) == 0 && spool_open(&spool, config->state, &error) == 0) {
		const struct warm_setup setup = {.loop = &loop,
			.machine = machine,
			.build = &cores,
			.spool = spool.dir,
			.section = json_object_get(config->root, "warm")};
		for (size_t i = 0; i < count; i++)
			json_object_set_new(found, tools[i]->name, try_interpreter(&setup, config, tools[i]));
	}
	spool_close(&spool);
	cores_free(&cores);
	(void)uv_loop_close(&loop);
	return found;
}
