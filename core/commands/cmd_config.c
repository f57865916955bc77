/* SPDX-License-Identifier: MIT */
/* The configuration in force, with the toolkits that its machines have for its languages, and its reload. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "config/configuration.h"
#include "session/core.h"

#include <stdlib.h>
#include <string.h>

#define TOOLKITS_LIMIT_MS 10000 /* until a machine that does not answer is left out */

/* A command that waits for the answers of machines. */
struct config_check {
	struct core *core;
	json_t *toolkits; /* [{"runner", "tool", "parts"}] */
	json_t *tools;    /* the names that the languages' plans start */
	unsigned pending; /* machines, and the loop over them itself */
	bool answered;
	struct kettle_timer *timer;
	kettle_answer answer;
	void *arg;
};

struct runner_query {
	struct config_check *check;
	const char *runner;
};

static void
answer_once(struct config_check *check)
{
	struct kettle_error none = {0};
	const struct config *config = check->core->config;
	loop_timer_stop(check->core->setup.io, STEAL(check->timer));
	if (check->answered)
		return;
	check->answered = true;
	/* Sections of plugins are shown as they are written: the values behind *_env and *_file are not in them. */
	AUTO_JSON json_t *result = json_pack("{s:b, s:s?, s:O, s:O, s:O}", "ok", 1, "file", config->file, "config",
		config->root, "warnings", config->warnings, "toolkits", check->toolkits);
	check->answer(check->arg, &none, result);
}

static void
config_check_finish(struct config_check *check)
{
	if (--check->pending > 0)
		return;
	answer_once(check);
	json_decref(check->toolkits);
	json_decref(check->tools);
	free(check);
}

/* Answers that come later go into a list that is not shown. */
static void
time_out(void *arg)
{
	struct config_check *check = arg;
	check->timer = NULL;
	answer_once(check);
}

static void
on_config_check_described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct runner_query *query = arg;
	struct config_check *check = query->check;
	const char *tool;
	json_t *parts;
	if (err->code == 0 && !check->answered)
		json_object_foreach(json_object_get(greeting, "parts"), tool, parts)
			if (list_has_text(check->tools, tool))
				(void)json_array_append_new(check->toolkits,
					json_pack("{s:s, s:s, s:O}", "runner", query->runner, "tool", tool, "parts", parts));
	free(query);
	config_check_finish(check);
}

/* The first unit that has the runner; NULL: none. Borrowed. */
static const json_t *
unit_with(const struct core *core, const char *runner)
{
	const char *name;
	json_t *device;
	json_object_foreach(core->devices, name, device) {
		const json_t *unit = json_array_get(json_object_get(device, "units"), 0);
		const char *own = member_string(unit, "runner");
		if (strcmp(own ? own : "local", runner) == 0)
			return unit;
	}
	return NULL;
}

static void
config_check_describe(struct config_check *check, const struct runner *runner)
{
	struct kettle_error ignored = {0};
	const json_t *unit = unit_with(check->core, runner->name);
	if (!unit || !runner->ops->describe)
		return;
	struct runner_query *query = xmalloc(sizeof(*query));
	*query = (struct runner_query){check, runner->name};
	check->pending++;
	if (runner->ops->describe(runner->self, unit, on_config_check_described, query, &ignored) < 0) {
		check->pending--;
		free(query);
	}
}

static json_t *
tools_of(const struct languages *languages)
{
	json_t *all = json_array();
	for (size_t i = 0; i < languages->count; i++) {
		const struct language *language = &languages->items[i];
		json_t *tools = language->ops->tools ? language->ops->tools(language->self) : NULL;
		if (tools)
			(void)json_array_extend(all, tools);
		json_decref(tools);
	}
	return all;
}

void
cmd_config_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	struct config_check *check = xmalloc(sizeof(*check));
	(void)actor;
	(void)args;
	*check = (struct config_check){.core = core,
		.toolkits = json_array(),
		.tools = tools_of(core->languages),
		.pending = 1,
		.answer = answer,
		.arg = arg};
	(void)loop_timer_start(core->setup.io, TOOLKITS_LIMIT_MS, 0, time_out, check, &check->timer, &err);
	for (size_t i = 0; i < core->runners_count; i++)
		config_check_describe(check, &core->runners[i]);
	config_check_finish(check);
}

void
cmd_config_reload(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *result = NULL;
	(void)actor;
	(void)args;
	if (core->setup.reload)
		(void)core->setup.reload(core->setup.reload_arg, &result, &err);
	else
		(void)kettle_fail(
			&err, KETTLE_EUNAVAIL, "No `kettle serve` is running on the database %s.", core->setup.database);
	answer(arg, &err, result);
}
