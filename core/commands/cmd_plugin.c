/* SPDX-License-Identifier: MIT */
/*
 * Commands on plugins: those that are loaded and installed, their options, and the conformance test of a file. version:
 * this installation, and the place of each of its parts.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/yaml.h"
#include "commands/pool_call.h"
#include "config/configuration.h"
#include "config/option_table.h"
#include "conformance/conformance.h"
#include "plugin/loader.h"
#include "session/core.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* ---- version ---- */

#define KERNEL_MAJOR 5 /* the first kernel with everything that a sandbox uses is 5.13 */
#define KERNEL_MINOR 13

static void
add_version_part(json_t *parts, const char *part, const char *path)
{
	(void)json_array_append_new(
		parts, json_pack("{s:s, s:s?, s:b}", "part", part, "path", path, "found", path && access(path, R_OK) == 0));
}

static void
add_program(json_t *parts, const char *name)
{
	AUTO_FREE char *folder = path_program_dir(), *path = folder ? path_join(folder, name) : NULL;
	add_version_part(parts, name, path);
}

static void
add_installed(json_t *parts, const char *part, const char *in_build, const char *configured)
{
	AUTO_FREE char *path = installed_path(in_build, configured);
	add_version_part(parts, part, path);
}

static json_t *
list_parts(const struct core *core)
{
	AUTO_FREE char *tasks = installed_tasks();
	json_t *parts = json_array();
	add_program(parts, "kettle");
	add_program(parts, "kettle-exec");
	add_program(parts, "kettle-gpu");
	add_program(parts, "kettle-host");
	add_program(parts, "kettle-profile");
	add_installed(parts, "shared memory", INSTALLED_SHM);
	/* Adds a part that an installation may lack. */
	AUTO_FREE char *folder = path_program_dir(), *path = folder ? path_join(folder, "kettle-plot") : NULL;
	if (path && access(path, X_OK) == 0)
		add_version_part(parts, "kettle-plot", path);
	for (size_t i = 0; i < core->plugins_count; i++)
		add_version_part(parts, core->plugins[i].plugin->name, core->plugins[i].file);
	if (KETTLE_HAVE_WARM)
		add_installed(parts, "warm Python", INSTALLED_WARM);
	if (KETTLE_HAVE_STAND_IN)
		add_installed(parts, "warm children", INSTALLED_STAND_IN);
	add_version_part(parts, "tasks", tasks);
	if (!installed_is_build()) {
		add_installed(parts, "manual", INSTALLED_MANUAL);
		add_installed(parts, "headers", INSTALLED_HEADERS);
	}
	return parts;
}

/* Parts that may not work although none is missing. */
static json_t *
list_warnings(const char *kernel)
{
	json_t *warnings = json_array();
	int major = 0, minor = 0;
	if (sscanf(kernel, "%d.%d", &major, &minor) == 2 &&
		(major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR)))
		(void)json_array_append_new(
			warnings, json_sprintf("The kernel is Linux %.64s; Linux %d.%d or newer has everything that sandboxes use. "
								   "`kettle-exec --doctor` lists what is missing.",
						  kernel, KERNEL_MAJOR, KERNEL_MINOR));
	return warnings;
}

void
cmd_version(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	struct utsname system = {0};
	AUTO_JSON json_t *parts = list_parts(core);
	bool ok = true;
	(void)actor;
	(void)args;
	(void)uname(&system);
	json_array_each(parts, part)
		ok = ok && member_true(part, "found");
	AUTO_JSON json_t *result =
		json_pack("{s:s, s:b, s:O, s:s?, s:s, s:s, s:s, s:s, s:o}", "version", PACKAGE_VERSION, "ok", ok, "parts",
			parts, "config", core->config->file, "database", core->setup.database, "machine", system.machine, "kernel",
			system.release, "libc", gnu_get_libc_version(), "warnings", list_warnings(system.release));
	answer(arg, &none, result);
}
