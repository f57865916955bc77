/* SPDX-License-Identifier: MIT */
/* The configuration in force, with the toolkits that its machines have for its languages, and its reload. */
#include <config.h>

#include "commands/handlers.h"

#include "base/buf.h"
#include "base/base.h"
#include "base/pointer.h"
#include "base/yaml.h"
#include "config/configuration.h"
#include "session/core.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

#define TOOLKITS_LIMIT_MS 30000 /* until a machine that does not answer is left out */
#define HERE "local"            /* the runner that uses this machine */

/* A command that waits for the answers of machines. */
struct config_check {
	struct core *core;
	json_t *toolkits; /* [{"runner", "tool", "parts"}] */
	json_t *tools;    /* the names that the languages' plans start */
	json_t *warnings; /* [sentence]: the configuration's, and those on what could not be checked */
	json_t *faults;   /* [sentence]: of the file, and on what this machine lacks of the configuration */
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
	/* Sections of plugins are shown as written: the values behind *_env and *_file are not in them. */
	json_t *root = json_array_size(config->faults) == 0 ? config->root : NULL;
	AUTO_JSON json_t *result =
		json_pack("{s:b, s:s?, s:O?, s:O, s:O, s:O}", "ok", json_array_size(check->faults) == 0, "file", config->file,
			"config", root, "faults", check->faults, "warnings", check->warnings, "toolkits", check->toolkits);
	check->answer(check->arg, &none, result);
}

static void
config_check_finish(struct config_check *check)
{
	if (--check->pending > 0)
		return;
	answer_once(check);
	json_decref_all(check->toolkits, check->tools, check->faults, check->warnings);
	free(check);
}

/* ---- the limits of this machine ---- */

/* "FILE:LINE:COLUMN: PLACE SENTENCE" on the value at the pointer. */
__attribute__((format(printf, 3, 4))) static void
add_fault(const struct config_check *check, const char *pointer, const char *format, ...)
{
	AUTO_BUF struct buf text = {0};
	const struct config *config = check->core->config;
	yaml_add_place(&text, config->file ? config->file : "configuration", config->places, pointer);
	pointer_add_path(&text, pointer);
	buf_adds(&text, " ");
	va_list args;
	va_start(args, format);
	AUTO_JSON json_t *sentence = json_vsprintf(format, args);
	va_end(args);
	buf_adds(&text, json_string_value(sentence));
	config_add_fault(check->faults, text.data);
}

/* The first of these cores ("1", "2-3,6") that this process and its children may not use; -1: there is none. */
static long
missing_core(const char *text)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return -1;
	for (const char *at = text; *at;) {
		char *end = NULL;
		long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
		for (long core = first; core <= last; core++)
			if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET((size_t)core, &set))
				return core;
		if (end == at)
			return -1;
		at = end + strspn(end, ", ");
	}
	return -1;
}

static void
check_cores(const struct config_check *check, const char *pointer, const json_t *cores)
{
	const char *text = json_string_value(cores);
	long missing = text ? missing_core(text) : -1;
	if (missing >= 0)
		add_fault(check, pointer, "names core %ld, which this machine does not have, or Kettle may not use.", missing);
}

static bool
names_a_device(const struct config *config)
{
	json_object_each(config->places, pointer, unused)
		if (strncmp(pointer, "/devices/", strlen("/devices/")) == 0)
			return true;
	return json_object_size(json_object_get(config->root, "devices")) > 0;
}

static void
check_devices(const struct config_check *check)
{
	const json_t *root = check->core->config->root;
	json_t *unit;
	size_t i;
	if (!names_a_device(check->core->config))
		add_fault(check, "/devices", "names no device, so nothing can run.");
	check_cores(check, "/build/cores", json_object_get(json_object_get(root, "build"), "cores"));
	json_object_each(json_object_get(root, "devices"), name, device)
		json_array_foreach(json_object_get(device, "units"), i, unit) {
			if (!member_is(unit, "runner", HERE))
				continue;
			AUTO_BUF struct buf pointer = {0};
			buf_adds(&pointer, "/devices");
			pointer_add_key(&pointer, name);
			if (json_array_size(json_object_get(device, "units")) > 1)
				buf_printf(&pointer, "/units/%zu", i);
			buf_adds(&pointer, "/cores");
			check_cores(check, pointer.data, json_object_get(unit, "cores"));
		}
}

/* The key of a language's section that names this tool; NULL: it is a default, which a machine may lack. */
static const char *
key_of_tool(const json_t *section, const char *tool)
{
	json_object_each(section, key, value)
		if (json_is_string(value) && strcmp(json_string_value(value), tool) == 0)
			return key;
	return NULL;
}

/* found: the versions of the tools that this machine has. */
static void
check_tools(const struct config_check *check, const json_t *found)
{
	const struct languages *languages = check->core->languages;
	const json_t *sections = json_object_get(check->core->config->root, "languages");
	AUTO_BUF struct buf lacks = {0};
	for (size_t i = 0; i < languages->count; i++) {
		const struct language *language = &languages->items[i];
		AUTO_JSON json_t *tools = language->ops->tools ? language->ops->tools(language->self) : NULL;
		json_array_each(tools, tool) {
			const char *name = json_string_value(tool);
			const char *key = key_of_tool(json_object_get(sections, language->name), name);
			AUTO_FREE char *pointer = xasprintf("/languages/%s/%s", language->name, key ? key : "");
			if (json_object_get(found, name))
				continue;
			if (key)
				add_fault(check, pointer, "names `%s`, which this machine does not have, or cannot start.", name);
			else
				buf_printf(&lacks, "%s`%s` (%s)", lacks.len ? ", " : "", name, language->name);
		}
	}
	if (lacks.len)
		(void)json_array_append_new(check->warnings,
			json_sprintf(
				"This machine lacks %s, which languages use by default; tasks that need them cannot run on it.",
				lacks.data));
}

/* Later answers go into a list that is not shown. */
static void
time_out(void *arg)
{
	struct config_check *check = arg;
	check->timer = NULL;
	(void)json_array_append_new(
		check->warnings, json_sprintf("Some machines have not answered within %d s; their tools are not checked.",
							 TOOLKITS_LIMIT_MS / 1000));
	answer_once(check);
}

/* A runner that cannot describe a machine for an option of its section, which the error names: its jobs would wait. */
static void
add_option_fault(const struct runner_query *query, const struct kettle_error *why)
{
	const struct config *config = query->check->core->config;
	AUTO_BUF struct buf text = {0};
	AUTO_FREE char *pointer = xasprintf("/runners/%s/%s", query->runner, why->member);
	yaml_add_place(&text, config->file ? config->file : "configuration", config->places, pointer);
	buf_adds(&text, why->message);
	config_add_fault(query->check->faults, text.data);
}

static void
on_config_check_described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct runner_query *query = arg;
	struct config_check *check = query->check;
	if (err->code < 0 && !check->answered && *err->member)
		add_option_fault(query, err);
	else if (err->code < 0 && !check->answered)
		(void)json_array_append_new(check->warnings,
			json_sprintf("The tools of the runner `%s` are not checked: %s", query->runner, err->message));
	if (err->code == 0 && !check->answered && strcmp(query->runner, HERE) == 0)
		check_tools(check, json_object_get(greeting, "tools"));
	if (err->code == 0 && !check->answered)
		json_object_each(json_object_get(greeting, "parts"), tool, parts)
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
	json_object_each(core->devices, name, device) {
		const json_t *unit = json_array_get(json_object_get(device, "units"), 0);
		const char *own = json_text_or_null(unit, "runner");
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
	struct runner_query *query = xnew(struct runner_query, check, runner->name);
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
		.faults = core->config->faults ? json_copy(core->config->faults) : json_array(),
		.warnings = json_copy(core->config->warnings),
		.tools = tools_of(core->languages),
		.pending = 1,
		.answer = answer,
		.arg = arg};
	check_devices(check);
	const char *file = json_text_or_null(json_object_get(check->core->config->root, "http"), "ca_file");
	if (file && access(file, R_OK) != 0)
		add_fault(check, "/http/ca_file", "names %s, which cannot be read: %s.", file, strerror(errno));
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
