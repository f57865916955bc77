/* SPDX-License-Identifier: MIT */
/* config.check: the configuration in force, and the toolkits that its machines have for its languages. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "config/configuration.h"
#include "session/core.h"

#include <stdlib.h>
#include <string.h>

#define TOOLKITS_LIMIT_MS 10000 /* until a machine that says nothing is left out */

/* A command that waits for the answers of machines. */
struct checking {
	struct core *core;
	json_t *toolkits; /* [{"runner", "tool", "parts"}] */
	json_t *tools;    /* the names that the languages' plans start */
	unsigned pending; /* questions, and the asking itself */
	bool answered;
	struct kettle_timer *timer;
	kettle_answer answer;
	void *arg;
};

struct question {
	struct checking *checking;
	const char *runner;
};

static void
answer_once(struct checking *checking)
{
	struct kettle_error none = {0};
	const struct config *config = checking->core->config;
	loop_timer_stop(checking->core->setup.io, STEAL(checking->timer));
	if (checking->answered)
		return;
	checking->answered = true;
	/* Sections of plugins are shown as they are written: what a *_env or *_file stands for is not in them. */
	AUTO_JSON json_t *result = json_pack("{s:b, s:s?, s:O, s:O, s:O}", "ok", 1, "file", config->file, "config",
		config->root, "warnings", config->warnings, "toolkits", checking->toolkits);
	checking->answer(checking->arg, &none, result);
}

static void
finish(struct checking *checking)
{
	if (--checking->pending > 0)
		return;
	answer_once(checking);
	json_decref(checking->toolkits);
	json_decref(checking->tools);
	free(checking);
}

/* Answers that come later go into a list that is not shown. */
static void
time_out(void *arg)
{
	struct checking *checking = arg;
	checking->timer = NULL;
	answer_once(checking);
}

static bool
is_used(const struct checking *checking, const char *tool)
{
	const json_t *name;
	size_t i;
	json_array_foreach(checking->tools, i, name)
		if (strcmp(json_string_value(name), tool) == 0)
			return true;
	return false;
}

static void
described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct question *question = arg;
	struct checking *checking = question->checking;
	const char *tool;
	json_t *parts;
	if (err->code == 0 && !checking->answered)
		json_object_foreach(json_object_get(greeting, "parts"), tool, parts)
			if (is_used(checking, tool))
				(void)json_array_append_new(checking->toolkits,
					json_pack("{s:s, s:s, s:O}", "runner", question->runner, "tool", tool, "parts", parts));
	free(question);
	finish(checking);
}

/* The first unit that has the runner; NULL: none. Borrowed. */
static const json_t *
unit_with(const struct core *core, const char *runner)
{
	const char *name;
	json_t *device;
	json_object_foreach(core->devices, name, device) {
		const json_t *unit = json_array_get(json_object_get(device, "units"), 0);
		const char *own = json_string_value(json_object_get(unit, "runner"));
		if (strcmp(own ? own : "local", runner) == 0)
			return unit;
	}
	return NULL;
}

static void
ask(struct checking *checking, const struct runner *runner)
{
	struct kettle_error untold = {0};
	const json_t *unit = unit_with(checking->core, runner->name);
	struct question *question = unit && runner->ops->describe ? calloc(1, sizeof(*question)) : NULL;
	if (!question)
		return;
	*question = (struct question){checking, runner->name};
	checking->pending++;
	if (runner->ops->describe(runner->self, unit, described, question, &untold) < 0) {
		checking->pending--;
		free(question);
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
	struct checking *checking = calloc(1, sizeof(*checking));
	(void)actor;
	(void)args;
	if (!checking) {
		(void)kettle_fail(&err, KETTLE_ENOMEM, "There is not enough memory to check the configuration.");
		answer(arg, &err, NULL);
		return;
	}
	*checking = (struct checking){.core = core,
		.toolkits = json_array(),
		.tools = tools_of(&core->languages),
		.pending = 1,
		.answer = answer,
		.arg = arg};
	(void)loop_timer_start(core->setup.io, TOOLKITS_LIMIT_MS, 0, time_out, checking, &checking->timer, &err);
	for (size_t i = 0; i < core->runners_count; i++)
		ask(checking, &core->runners[i]);
	finish(checking);
}
