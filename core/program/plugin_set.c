/* SPDX-License-Identifier: MIT */
/* The plugins that the configuration names. */
#include <config.h>

#include "program/plugin_set.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "plugin/instance.h"
#include "plugin/loader.h"
#include "session/plugin_host.h"

#include <stdlib.h>
#include <string.h>

struct slot {
	struct core_host host;
	struct instance instance;
	const struct loaded_plugin *loaded;
};

struct plugin_set {
	struct loader *loader;
	struct core *core;
	struct slot *slots;
	size_t count;
	struct core_plugin *views; /* the core's `plugins` */
};

static const uint32_t kinds[] = {KETTLE_LANGUAGE, KETTLE_RUNNER, KETTLE_FRONTEND};

/* The tools that the languages, which are loaded first, start on a machine. New reference. */
static json_t *
language_tools(const struct plugin_set *set)
{
	json_t *all = json_array();
	for (size_t i = 0; i < set->count; i++) {
		const struct slot *slot = &set->slots[i];
		const struct kettle_language *language = slot->loaded ? slot->loaded->plugin.language : NULL;
		json_t *tools = language && language->tools ? language->tools(slot->instance.self) : NULL;
		if (tools)
			(void)json_array_extend(all, tools);
		json_decref(tools);
	}
	return all;
}

/*
 * A runner's options `build` and `sandbox` have the configuration's sections of these names as defaults, and `report`
 * the tools whose versions its machines report.
 */
static void
inherit(const struct config *config, const struct plugin_set *set, const struct kettle_plugin *plugin, json_t *options)
{
	if (plugin->kind != KETTLE_RUNNER)
		return;
	for (size_t i = 0; i < plugin->options_count; i++) {
		const char *key = plugin->options[i].key;
		if (json_object_get(options, key))
			continue;
		if (strcmp(key, "report") == 0)
			json_object_set_new(options, key, language_tools(set));
		else if (strcmp(key, "build") == 0 || strcmp(key, "sandbox") == 0)
			json_object_set(options, key, json_object_get(config->root, key));
	}
}

static int
make(struct plugin_set *set, const struct config *config, uint32_t kind, const char *name, struct slot *slot,
	struct kettle_error *err)
{
	AUTO_JSON json_t *options = NULL;
	int rc = loader_load(set->loader, kind, name, &slot->loaded, err);
	if (rc < 0)
		return rc;
	const struct kettle_plugin *plugin = &slot->loaded->plugin;
	struct option_table table = loader_options(plugin);
	host_init(&slot->host, set->core->setup.io, set->core, name);
	rc = instance_create(&slot->instance, plugin, &slot->host.table, err);
	if (rc == 0)
		rc = config_plugin(config, loader_kind_section(kind), name, &table, &options, err);
	if (rc < 0)
		return rc;
	inherit(config, set, plugin, options);
	return instance_configure(&slot->instance, options, err);
}

static size_t
count_sections(const struct config *config)
{
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		count += json_object_size(json_object_get(config->root, loader_kind_section(kinds[i])));
	return count;
}

/* Fills in the arrays of the core, which do not change from now on. */
static void
publish(struct plugin_set *set)
{
	struct core *core = set->core;
	core->languages.items = xcalloc(set->count, sizeof(*core->languages.items));
	core->runners = xcalloc(set->count, sizeof(*core->runners));
	core->plugins = set->views = xcalloc(set->count, sizeof(*set->views));
	for (size_t i = 0; i < set->count; i++) {
		struct slot *slot = &set->slots[i];
		const struct kettle_plugin *plugin = &slot->loaded->plugin;
		set->views[core->plugins_count++] =
			(struct core_plugin){plugin, slot->instance.self, &slot->host, slot->loaded->file};
		if (plugin->language)
			core->languages.items[core->languages.count++] =
				(struct language){plugin->name, plugin->language, slot->instance.self};
		if (plugin->runner)
			core->runners[core->runners_count++] = (struct runner){plugin->name, plugin->runner, slot->instance.self};
	}
}

int
plugins_load(const struct config *config, struct core *core, struct plugin_set **ret_set, struct kettle_error *err)
{
	struct plugin_set *set = xcalloc(1, sizeof(*set));
	set->slots = xcalloc(count_sections(config), sizeof(*set->slots));
	set->core = core;
	set->loader = loader_new(json_object_get(config->root, "plugin_path"), NULL);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++) {
		const char *name;
		json_t *section;
		json_object_foreach(json_object_get(config->root, loader_kind_section(kinds[i])), name, section) {
			rc = make(set, config, kinds[i], name, &set->slots[set->count++], err);
			if (rc < 0)
				break;
		}
	}
	if (rc < 0) {
		plugins_free(set);
		return rc;
	}
	publish(set);
	*ret_set = set;
	return 0;
}

static int
by_order(const void *a, const void *b)
{
	const struct instance *const *one = a, *const *other = b;
	return instance_order(*one, *other);
}

static bool
is_frontend(const struct instance *instance)
{
	return instance->plugin->kind == KETTLE_FRONTEND;
}

int
plugins_start(struct plugin_set *set, bool serve, struct kettle_error *err)
{
	AUTO_FREE struct instance **list = xcalloc(set->count, sizeof(*list));
	size_t count = 0;
	for (size_t i = 0; i < set->count; i++)
		list[count++] = &set->slots[i].instance;
	qsort(list, count, sizeof(*list), by_order);
	for (size_t i = 0; i < count; i++) {
		if (is_frontend(list[i]) && !serve && !list[i]->plugin->frontend->run)
			continue;
		int rc = instance_start(list[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
plugins_stop(struct plugin_set *set, bool frontends, kettle_fn done, void *arg)
{
	AUTO_FREE struct instance **list = xcalloc(set->count, sizeof(*list));
	size_t count = 0;
	for (size_t i = 0; i < set->count; i++)
		if (set->slots[i].instance.started && is_frontend(&set->slots[i].instance) == frontends)
			list[count++] = &set->slots[i].instance;
	instances_stop(list, count, done, arg);
}

void
plugins_free(struct plugin_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		instance_destroy(&set->slots[i].instance);
	loader_free(set->loader);
	free(STEAL(set->core->languages.items));
	free(STEAL(set->core->runners));
	set->core->languages.count = set->core->runners_count = set->core->plugins_count = 0;
	set->core->plugins = NULL;
	free(set->views);
	free(set->slots);
	free(set);
}

const struct core_plugin *
plugins_command_line(const struct plugin_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->views[i].plugin->frontend && set->views[i].plugin->frontend->run)
			return &set->views[i];
	return NULL;
}
