/* SPDX-License-Identifier: MIT */
/* Commands on plugins: those that are loaded, their options, and the conformance test of a file. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/yaml.h"
#include "commands/pool_call.h"
#include "config/configuration.h"
#include "config/option_table.h"
#include "conformance/conformance.h"
#include "plugin/loader.h"
#include "session/core.h"

#include <stdlib.h>
#include <string.h>

static json_t *
plugin_describe(const struct core_plugin *plugin)
{
	return json_pack("{s:s, s:s, s:s*, s:s*, s:s*}", "name", plugin->plugin->name, "kind",
		loader_kind_name(plugin->plugin->kind), "version", plugin->plugin->version, "summary", plugin->plugin->summary,
		"file", plugin->file);
}

void
cmd_plugin_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	AUTO_JSON json_t *list = json_array();
	(void)actor;
	(void)args;
	for (size_t i = 0; i < core->plugins_count; i++)
		(void)json_array_append_new(list, plugin_describe(&core->plugins[i]));
	AUTO_JSON json_t *result = json_pack("{s:O}", "plugins", list);
	answer(arg, &none, result);
}

static json_t *
strings(const char *const *list)
{
	json_t *array = json_array();
	for (; list && *list; list++)
		(void)json_array_append_new(array, json_string(*list));
	return array;
}

static void
answer_info(const struct core_plugin *plugin, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	AUTO_JSON json_t *result = plugin_describe(plugin);
	struct option_table table = loader_options(plugin->plugin);
	const struct kettle_language *language = plugin->plugin->language;
	(void)json_object_set_new(result, "options", option_table_json(&table));
	if (loader_unit_options(plugin->plugin, &table))
		(void)json_object_set_new(result, "unit_options", option_table_json(&table));
	if (language)
		(void)json_object_update_new(
			result, json_pack("{s:o, s:o, s:o}", "aliases", strings(language->aliases), "extensions",
						strings(language->extensions), "templates", strings(language->template_names)));
	answer(arg, &none, result);
}

void
cmd_plugin_info(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	const char *names[128] = {NULL};
	const char *wanted = member_string(args, "name");
	struct kettle_error err = {0};
	(void)actor;
	for (size_t i = 0; i < core->plugins_count; i++) {
		if (strcmp(core->plugins[i].plugin->name, wanted) == 0) {
			answer_info(&core->plugins[i], answer, arg);
			return;
		}
		if (i + 1 < ARRAY_SIZE(names))
			names[i] = core->plugins[i].plugin->name;
	}
	const char *near = nearest(wanted, names);
	(void)kettle_fail(&err, KETTLE_ENOENT, "No plugin `%s` is loaded%s%s%s", wanted, near ? "; did you mean `" : "",
		near ? near : "", near ? "`?" : ".");
	answer(arg, &err, NULL);
}

/* The section for a plugin, from a file of its own. */
static int
read_section(const char *file, json_t **ret_section, json_t **ret_places, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	AUTO_JSON json_t *section = NULL, *places = NULL;
	size_t size = 0;
	int rc = file_read(file, YAML_MAX_BYTES, &text, &size, err);
	if (rc == 0)
		rc = yaml_parse(file, text, size, &section, &places, err);
	if (rc < 0)
		return rc;
	if (!json_is_object(section))
		return kettle_fail(err, KETTLE_EINVAL,
			"%s must hold the plugin's section, the options with their values, such as `url: https://example.org`.",
			file);
	*ret_section = STEAL(section);
	*ret_places = STEAL(places);
	return 0;
}

/* The checks run in a child each, which may take its time. */
static int
test_plugin(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *file = member_string(call->args, "options");
	AUTO_JSON json_t *section = NULL, *places = NULL;
	AUTO_FREE char *real = NULL, *base = NULL;
	int rc = file ? read_section(file, &section, &places, err) : 0;
	if (rc < 0)
		return rc;
	real = file ? realpath(file, NULL) : NULL;
	base = real ? path_above(real, 1) : NULL;
	const struct conformance_setup setup = {.file = member_string(call->args, "file"),
		.options = section,
		.options_file = file,
		.options_base = base,
		.options_places = places};
	return conformance_run(&setup, ret_result, err);
}

void
cmd_plugin_test(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	pool_call_start(core, args, test_plugin, pool_call_answer, answer, arg);
}
