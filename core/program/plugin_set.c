/* SPDX-License-Identifier: MIT */
/* The plugins that the configuration names. */
#include <config.h>

#include "program/plugin_set.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "base/yaml.h"
#include "plugin/guard.h"
#include "plugin/instance.h"
#include "plugin/loader.h"
#include "session/plugin_host.h"

/* One instance of a plugin. An instance that a reload replaced stays until the end, since jobs may still need it. */
struct slot {
	struct core_host host;
	struct instance instance;
	struct guard guard; /* what the core calls */
	const struct loaded_plugin *loaded;
	json_t *report; /* the runner's own option `report`; NULL: the tools of the languages */
	bool in_force;
	struct slot *next;
};

/* The lists of slots in force that the core has, in order. Earlier lists stay, since they may be in use. */
struct published {
	struct languages languages;
	struct core_plugin *plugins;
	struct published *earlier;
};

struct plugin_set {
	struct loader *loader;
	struct core *core;
	struct slot *slots; /* oldest first */
	size_t count;
	struct published *published;
};

struct plugins_change {
	struct plugin_set *set;
	struct slot **slots; /* in force after the change */
	size_t count;
};

static const uint32_t kinds[] = {KETTLE_LANGUAGE, KETTLE_RUNNER, KETTLE_FRONTEND};

/* The tools that the languages, which are loaded first, start on a machine. New reference. */
static json_t *
language_tools(const struct plugin_set *set)
{
	json_t *all = json_array();
	for (struct slot *slot = set->slots; slot; slot = slot->next) {
		const struct kettle_language *language = slot->in_force ? slot->guard.plugin.language : NULL;
		json_t *tools = language && language->tools ? language->tools(&slot->guard) : NULL;
		if (tools)
			(void)json_array_extend(all, tools);
		json_decref(tools);
	}
	return all;
}

/*
 * Fills in missing options of a runner: `build` and `sandbox` from the configuration's sections of these names,
 * `report` (the tools whose versions its machines report) from the languages.
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
load(const struct plugin_set *set, uint32_t kind, const char *name, const struct loaded_plugin **ret_loaded,
	struct kettle_error *err)
{
	for (size_t i = 0; i < loader_count(set->loader); i++) {
		const struct loaded_plugin *loaded = loader_at(set->loader, i);
		if (loaded->plugin.kind == kind && strcmp(loaded->plugin.name, name) == 0) {
			*ret_loaded = loaded;
			return 0;
		}
	}
	return loader_load(set->loader, kind, name, ret_loaded, err);
}

/* Puts FILE:LINE of the plugin's section before the sentence, if the file has such a section. */
static int
fail_in_section(const struct config *config, uint32_t kind, const char *name, const struct kettle_error *why,
	struct kettle_error *err)
{
	AUTO_BUF struct buf text = {0};
	AUTO_FREE char *pointer = xasprintf("/%s/%s", loader_kind_section(kind), name);
	if (json_object_get(config->places, pointer))
		yaml_add_place(&text, config->file, config->places, pointer);
	buf_adds(&text, why->message);
	return kettle_fail(err, why->code, "%s", text.data);
}

static int
check_units(const struct config *config, const struct kettle_plugin *plugin, struct kettle_error *err)
{
	struct option_table table;
	return loader_unit_options(plugin, &table) ? config_unit_options(config, plugin->name, &table, err) : 0;
}

/* Whether it can say what its section lacks, and so takes one that lacks something. */
static bool
has_check(const struct kettle_plugin *plugin)
{
	return plugin->runner && plugin->runner->check;
}

/* For `config check`: lists what a runner lacks, for which its jobs would wait for the operator. */
static void
list_lacking(const struct config *config, const struct slot *slot)
{
	const struct kettle_plugin *plugin = &slot->guard.plugin;
	struct kettle_error why = {0}, err = {0};
	if (!config->faults || !has_check(plugin) || plugin->runner->check((void *)&slot->guard, &why) == 0)
		return;
	(void)fail_in_section(config, plugin->kind, plugin->name, &why, &err);
	config_add_fault(config->faults, err.message);
}

/*
 * Whether the frontend stays unstarted, since it works only under `kettle serve`. Its section is read only there and by
 * `config check`: it has the server's secrets, which command lines of other users do not need.
 */
static bool
is_idle(const struct plugin_set *set, const struct config *config, const struct kettle_plugin *plugin)
{
	return plugin->kind == KETTLE_FRONTEND && !plugin->frontend->run && !set->core->setup.is_server && !config->faults;
}

/*
 * 1: for `config check`, options that the plugin blames were listed and left out, so that it finds the next fault, and its
 * check what is lacking.
 */
static int
configure_instance(const struct config *config, const char *name, struct slot *slot, const struct option_table *table,
	json_t *options, struct kettle_error *err)
{
	struct kettle_error why = {0}, fault = {0};
	size_t left = config->faults ? table->count : 0;
	int listed = 0;
	while (instance_configure(&slot->instance, options, &why) < 0) {
		(void)fail_in_section(config, slot->guard.plugin.kind, name, &why, &fault);
		if (left-- == 0 || !option_table_drop(table, options, why.member))
			return kettle_fail(err, why.code, "%s", fault.message);
		config_add_fault(config->faults, fault.message);
		why = (struct kettle_error){0};
		listed = 1;
	}
	return listed;
}

static int
configure(
	struct plugin_set *set, const struct config *config, const char *name, struct slot *slot, struct kettle_error *err)
{
	AUTO_JSON json_t *options = NULL;
	const struct kettle_plugin *plugin = &slot->loaded->plugin;
	struct option_table table = loader_options(plugin);
	host_init(&slot->host, set->core->setup.io, set->core, name);
	slot->host.abi_minor = plugin->abi_minor;
	int rc = instance_create(&slot->instance, plugin, &slot->host.table, err);
	guard_init(&slot->guard, plugin, slot->instance.self);
	if (rc == 0 && is_idle(set, config, plugin))
		return 0;
	if (rc == 0)
		rc = config_plugin(config, loader_kind_section(plugin->kind), name, &table, &options, err);
	if (rc < 0 && (!options || !has_check(plugin)))
		return rc;
	slot->report = json_incref(json_object_get(options, "report"));
	inherit(config, set, plugin, options);
	int configured = configure_instance(config, name, slot, &table, options, err);
	if (configured < 0)
		return configured;
	list_lacking(config, slot);
	struct kettle_error why = {0};
	int units = check_units(config, plugin, &why);
	if (rc < 0 || configured > 0)
		return KETTLE_EINVAL;
	return units < 0 ? kettle_fail(err, units, "%s", why.message) : 0;
}

static void
free_slot(struct slot *slot)
{
	if (!slot || slot->instance.state == INSTANCE_HUNG)
		return;
	host_end(&slot->host);
	instance_destroy(&slot->instance);
	json_decref(slot->report);
	free(slot);
}

/* Makes and configures an instance. free_slot it. */
static int
make_slot(struct plugin_set *set, const struct config *config, uint32_t kind, const char *name, struct slot **ret_slot,
	struct kettle_error *err)
{
	struct slot *slot = xcalloc(1, sizeof(*slot));
	struct kettle_error why = {0};
	int rc = load(set, kind, name, &slot->loaded, &why);
	if (rc < 0)
		(void)fail_in_section(config, kind, name, &why, err);
	else
		rc = configure(set, config, name, slot, err);
	if (rc < 0) {
		free_slot(slot);
		return rc;
	}
	*ret_slot = slot;
	return 0;
}

/* The same for one that is not in force yet. The set owns it. */
static int
make(struct plugin_set *set, const struct config *config, uint32_t kind, const char *name, struct slot **ret_slot,
	struct kettle_error *err)
{
	struct slot *slot = NULL;
	int rc = make_slot(set, config, kind, name, &slot, err);
	if (rc < 0)
		return rc;
	LIST_APPEND(set->slots, slot);
	set->count++;
	*ret_slot = slot;
	return 0;
}

/* As make; where the configuration's faults are collected, lists a fault instead, and returns 0 without a slot. */
static int
make_or_list(struct plugin_set *set, const struct config *config, uint32_t kind, const char *name,
	struct slot **ret_slot, struct kettle_error *err)
{
	struct kettle_error why = {0};
	int rc = make(set, config, kind, name, ret_slot, &why);
	if (rc == 0)
		return 0;
	if (!config->faults)
		return kettle_fail(err, rc, "%s", why.message);
	if (*why.message)
		config_add_fault(config->faults, why.message);
	return 0;
}

static void
publish(struct plugin_set *set, struct slot *const *slots, size_t count)
{
	struct core *core = set->core;
	struct published *published = xcalloc(1, sizeof(*published));
	struct languages *languages = &published->languages;
	languages->items = xcalloc(count, sizeof(*languages->items));
	published->plugins = xcalloc(count, sizeof(*published->plugins));
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = slots[i];
		const struct kettle_plugin *plugin = &slot->guard.plugin;
		published->plugins[i] = (struct core_plugin){plugin, &slot->guard, &slot->host, slot->loaded->file};
		if (plugin->language)
			languages->items[languages->count++] = (struct language){plugin->name, plugin->language, &slot->guard};
	}
	published->earlier = set->published;
	set->published = published;
	core->plugins = published->plugins;
	core->plugins_count = count;
	core_take_languages(core, languages);
}

/* Gives the core the runners, which do not change from now on. */
static void
publish_runners(struct plugin_set *set)
{
	struct core *core = set->core;
	core->runners = xcalloc(set->count, sizeof(*core->runners));
	for (struct slot *slot = set->slots; slot; slot = slot->next) {
		const struct kettle_plugin *plugin = &slot->guard.plugin;
		if (plugin->runner)
			core->runners[core->runners_count++] = (struct runner){plugin->name, plugin->runner, &slot->guard};
	}
}

/* The slots in force. New array. */
static struct slot **
list_in_force(const struct plugin_set *set, size_t *ret_count)
{
	struct slot **list = xcalloc(set->count, sizeof(struct slot *));
	size_t count = 0;
	for (struct slot *slot = set->slots; slot; slot = slot->next)
		if (slot->in_force)
			list[count++] = slot;
	*ret_count = count;
	return list;
}

int
plugins_load(const struct config *config, struct core *core, struct plugin_set **ret_set, struct kettle_error *err)
{
	struct plugin_set *set = xcalloc(1, sizeof(*set));
	set->core = core;
	set->loader = loader_new(json_object_get(config->root, "plugin_path"), NULL);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(kinds); i++) {
		json_object_each(json_object_get(config->root, loader_kind_section(kinds[i])), name, section) {
			struct slot *slot = NULL;
			rc = make_or_list(set, config, kinds[i], name, &slot, err);
			if (rc < 0)
				break;
			if (slot)
				slot->in_force = true;
		}
	}
	if (rc < 0) {
		plugins_free(set);
		return rc;
	}
	size_t count = 0;
	AUTO_FREE struct slot **list = list_in_force(set, &count);
	publish_runners(set);
	publish(set, list, count);
	*ret_set = set;
	return 0;
}

/* ---- languages of another configuration ---- */

/* The instance in force of a language whose section is unchanged; NULL: it needs another instance. */
static struct slot *
find_same(const struct plugin_set *set, const struct config *config, const char *name, const json_t *section)
{
	if (!json_equal(json_object_get(json_object_get(config->root, "languages"), name), section))
		return NULL;
	for (struct slot *slot = set->slots; slot; slot = slot->next)
		if (slot->in_force && slot->loaded->plugin.language && strcmp(slot->loaded->plugin.name, name) == 0)
			return slot;
	return NULL;
}

/* Checks changed sections of runners and frontends: only the next start uses them, and a fault would prevent it. */
static int
check_for_restart(
	struct plugin_set *set, const struct config *config, const struct config *fresh, struct kettle_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *sections = loader_kind_section(kinds[i]);
		const json_t *before = json_object_get(config->root, sections);
		json_object_each(json_object_get(fresh->root, sections), name, section) {
			struct slot *slot = NULL;
			if (kinds[i] == KETTLE_LANGUAGE || json_equal(json_object_get(before, name), section))
				continue;
			int rc = make_slot(set, fresh, kinds[i], name, &slot, err);
			free_slot(slot);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int
prepare(
	struct plugins_change *change, const struct config *config, const struct config *fresh, struct kettle_error *err)
{
	struct plugin_set *set = change->set;
	int rc = check_for_restart(set, config, fresh, err);
	if (rc < 0)
		return rc;
	json_object_each(json_object_get(fresh->root, "languages"), name, section) {
		struct slot *slot = find_same(set, config, name, section);
		if (!slot) {
			rc = make(set, fresh, KETTLE_LANGUAGE, name, &slot, err);
			if (rc == 0)
				rc = instance_start(&slot->instance, err);
			if (rc < 0)
				return rc;
		}
		change->slots[change->count++] = slot;
	}
	for (struct slot *slot = set->slots; slot && rc == 0; slot = slot->next) {
		if (!slot->in_force || slot->loaded->plugin.language)
			continue;
		change->slots[change->count++] = slot;
		rc = check_units(fresh, &slot->loaded->plugin, err);
	}
	return rc;
}

int
plugins_prepare(struct plugin_set *set, const struct config *config, const struct config *fresh,
	struct plugins_change **ret_change, struct kettle_error *err)
{
	struct plugins_change *change = xcalloc(1, sizeof(*change));
	size_t most = set->count + json_object_size(json_object_get(fresh->root, "languages"));
	*change = (struct plugins_change){.set = set, .slots = xcalloc(most, sizeof(struct slot *))};
	int rc = prepare(change, config, fresh, err);
	if (rc < 0)
		plugins_forget(change);
	else
		*ret_change = change;
	return rc;
}

void
plugins_forget(struct plugins_change *change)
{
	if (!change)
		return;
	free_all(change->slots, change);
}

static void
tell_runners(const struct plugin_set *set)
{
	AUTO_JSON json_t *tools = language_tools(set);
	for (struct slot *slot = set->slots; slot; slot = slot->next) {
		struct kettle_error err = {0};
		const struct kettle_runner *runner = slot->guard.plugin.runner;
		if (runner && runner->tools && runner->tools(&slot->guard, slot->report ? slot->report : tools, &err) < 0)
			log_write(
				KETTLE_LOG_WARNING, slot->loaded->plugin.name, "the new tools cannot be reported: %s", err.message);
	}
}

void
plugins_apply(struct plugins_change *change)
{
	struct plugin_set *set = change->set;
	size_t count = 0;
	AUTO_FREE struct slot **before = list_in_force(set, &count);
	bool same = count == change->count;
	for (size_t i = 0; same && i < count; i++)
		same = before[i] == change->slots[i];
	if (!same) {
		for (size_t i = 0; i < count; i++)
			before[i]->in_force = false;
		for (size_t i = 0; i < change->count; i++)
			change->slots[i]->in_force = true;
		publish(set, change->slots, change->count);
		tell_runners(set);
	}
	plugins_forget(change);
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
	for (struct slot *slot = set->slots; slot; slot = slot->next)
		list[count++] = &slot->instance;
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
	for (struct slot *slot = set->slots; slot; slot = slot->next)
		if (slot->instance.state == INSTANCE_STARTED && is_frontend(&slot->instance) == frontends)
			list[count++] = &slot->instance;
	instances_stop(list, count, INSTANCE_STOP_MS, done, arg);
}

bool
plugins_hang(const struct plugin_set *set)
{
	bool hang = false;
	for (const struct slot *slot = set ? set->slots : NULL; slot; slot = slot->next)
		hang = hang || slot->instance.state == INSTANCE_HUNG;
	return hang;
}

void
plugins_free(struct plugin_set *set)
{
	if (!set)
		return;
	bool hang = plugins_hang(set);
	core_take_languages(set->core, NULL);
	for (struct slot *slot = set->slots, *next; slot; slot = next) {
		next = slot->next;
		free_slot(slot);
	}
	/* A hung plugin may still run its code. */
	if (!hang)
		loader_free(set->loader);
	for (struct published *one = set->published, *earlier; one; one = earlier) {
		earlier = one->earlier;
		free_all(one->languages.items, one->plugins, one);
	}
	free(STEAL(set->core->runners));
	set->core->runners_count = set->core->plugins_count = 0;
	set->core->plugins = NULL;
	free(set);
}

const struct core_plugin *
plugins_command_line(const struct plugin_set *set)
{
	for (size_t i = 0; i < set->core->plugins_count; i++)
		if (set->core->plugins[i].plugin->frontend && set->core->plugins[i].plugin->frontend->run)
			return &set->core->plugins[i];
	return NULL;
}
