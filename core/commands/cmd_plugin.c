/* SPDX-License-Identifier: MIT */
/* Commands on plugins: those that are loaded and installed, their options, and the conformance test of a file. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/yaml.h"
#include "commands/pool_call.h"
#include "config/configuration.h"
#include "config/option_table.h"
#include "conformance/conformance.h"
#include "plugin/loader.h"
#include "session/core.h"

#include <stdlib.h>
#include <string.h>

/* state: "loaded", "installed". New reference. */
static json_t *
plugin_describe(const struct kettle_plugin *plugin, const char *file, const char *state)
{
	json_t *described =
		json_pack("{s:s, s:s, s:s*, s:s*, s:s*, s:s}", "name", plugin->name, "kind", loader_kind_name(plugin->kind),
			"version", plugin->version, "summary", plugin->summary, "file", file, "state", state);
	if (strcmp(state, "installed") == 0)
		(void)json_object_set_new(
			described, "load", json_sprintf("%s: {%s: {}}", loader_kind_section(plugin->kind), plugin->name));
	return described;
}

static json_t *
strings(const char *const *list)
{
	json_t *array = json_array();
	for (; list && *list; list++)
		(void)json_array_append_new(array, json_string(*list));
	return array;
}

/* With its options. New reference. */
static json_t *
describe_whole(const struct kettle_plugin *plugin, const char *file, const char *state)
{
	json_t *result = plugin_describe(plugin, file, state);
	struct option_table table = loader_options(plugin);
	const struct kettle_language *language = plugin->language;
	(void)json_object_set_new(result, "options", option_table_json(&table));
	if (loader_unit_options(plugin, &table))
		(void)json_object_set_new(result, "unit_options", option_table_json(&table));
	if (language)
		(void)json_object_update_new(
			result, json_pack("{s:o, s:o, s:o}", "aliases", strings(language->aliases), "extensions",
						strings(language->extensions), "templates", strings(language->template_names)));
	return result;
}

static const struct core_plugin *
find_loaded(const struct core *core, const char *name)
{
	for (size_t i = 0; i < core->plugins_count; i++)
		if (strcmp(core->plugins[i].plugin->name, name) == 0)
			return &core->plugins[i];
	return NULL;
}

/* ---- installed plugins; in the pool ---- */

static void
free_loader(struct loader **loader)
{
	loader_free(*loader);
}
#define AUTO_LOADER __attribute__((cleanup(free_loader)))

/* Plugins that the configuration does not name are opened here to be described, and closed again. */
static json_t *
installed_entry(struct loader *loader, const char *name)
{
	const struct loaded_plugin *found = NULL;
	struct kettle_error why = {0};
	if (loader_load(loader, 0, name, &found, &why) < 0)
		return json_pack("{s:s, s:s, s:s}", "name", name, "state", "refused", "error", why.message);
	return plugin_describe(&found->plugin, found->file, "installed");
}

/* args: {"loaded": their entries, "path"}. */
static int
list_installed(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_LOADER struct loader *loader = loader_new(json_object_get(call->args, "path"), NULL);
	AUTO_JSON json_t *names = loader_names(loader), *loaded = json_object();
	json_t *list = json_copy(json_object_get(call->args, "loaded"));
	(void)err;
	json_array_each(list, one)
		(void)json_object_set(loaded, json_text_or_empty(one, "name"), one);
	json_array_each(names, one)
		if (!json_object_get(loaded, json_string_value(one)))
			(void)json_array_append_new(list, installed_entry(loader, json_string_value(one)));
	*ret_result = json_pack("{s:o}", "plugins", list);
	return 0;
}

static int
show_installed(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_LOADER struct loader *loader = loader_new(json_object_get(call->args, "path"), NULL);
	const struct loaded_plugin *found = NULL;
	int rc = loader_load(loader, 0, json_text_or_null(call->args, "name"), &found, err);
	if (rc == 0)
		*ret_result = describe_whole(&found->plugin, found->file, "installed");
	return rc;
}

/* ---- the commands ---- */

static json_t *
plugin_path(const struct core *core)
{
	return core->config ? json_object_get(core->config->root, "plugin_path") : NULL;
}

void
cmd_plugin_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	json_t *loaded = json_array();
	(void)args;
	for (size_t i = 0; i < core->plugins_count; i++)
		(void)json_array_append_new(loaded, plugin_describe(core->plugins[i].plugin, core->plugins[i].file, "loaded"));
	AUTO_JSON json_t *request = json_pack("{s:o, s:O*}", "loaded", loaded, "path", plugin_path(core));
	pool_call_start(core, actor, request, list_installed, pool_call_answer, answer, arg);
}

void
cmd_plugin_info(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	const struct core_plugin *loaded = find_loaded(core, json_text_or_null(args, "name"));
	struct kettle_error none = {0};
	if (!loaded) {
		AUTO_JSON json_t *request =
			json_pack("{s:O, s:O*}", "name", json_object_get(args, "name"), "path", plugin_path(core));
		pool_call_start(core, actor, request, show_installed, pool_call_answer, answer, arg);
		return;
	}
	AUTO_JSON json_t *result = describe_whole(loaded->plugin, loaded->file, "loaded");
	answer(arg, &none, result);
}

/* ---- the conformance test ---- */

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
			"%s must contain the plugin's section, the options with their values, such as `url: https://example.org`.",
			file);
	*ret_section = STEAL(section);
	*ret_places = STEAL(places);
	return 0;
}

/* Each check runs in a child and may take its time. */
static int
test_plugin(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *file = json_text_or_null(call->args, "options");
	AUTO_JSON json_t *section = NULL, *places = NULL;
	AUTO_FREE char *real = NULL, *base = NULL;
	int rc = file ? read_section(file, &section, &places, err) : 0;
	if (rc < 0)
		return rc;
	real = file ? realpath(file, NULL) : NULL;
	base = real ? path_above(real, 1) : NULL;
	const struct conformance_setup setup = {.file = json_text_or_null(call->args, "file"),
		.options = section,
		.options_file = file,
		.options_base = base,
		.options_places = places};
	return conformance_run(&setup, ret_result, err);
}

void
cmd_plugin_test(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, test_plugin, pool_call_answer, answer, arg);
}
