/* SPDX-License-Identifier: MIT */
/* Loading the configuration again: what is different, and what of it the running engine takes over. */
#include <config.h>

#include "config/configuration.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/json_text.h"

/* Sections of plain values that the running engine takes over. */
static const char *const plain_sections[] = {"log", "limits", "retention", "engine"};
/* Sections of plugins that take a restart. */
static const char *const plugin_sections[] = {"runners", "frontends"};
/* The other keys, which all take a restart. */
static const char *const fixed_keys[] = {"database", "plugin_path", "build", "sandbox", "http", "competitions"};

struct difference {
	const struct config *config, *fresh;
	json_t *reloaded, *restart;
};

/* Adds what is said of one changed member of a section; before or after is NULL where it has no such member. */
typedef void difference_fn(const struct difference *difference, const char *section, const char *key,
	const json_t *before, const json_t *after);

/* key NULL: the section itself is changed. */
__attribute__((format(printf, 4, 5))) static void
add_change(json_t *list, const char *section, const char *key, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	json_t *name = key ? json_sprintf("%s.%s", section, key) : json_string(section);
	(void)json_array_append_new(list, json_pack("{s:o, s:o}", "key", name, "change", json_vsprintf(format, args)));
	va_end(args);
}

static bool
same(const json_t *one, const json_t *other)
{
	return one == other || json_equal(one, other);
}

static void
compare_section(const struct difference *difference, const char *section, difference_fn *describe)
{
	json_t *old = json_object_get(difference->config->root, section), *unused;
	json_t *new = json_object_get(difference->fresh->root, section);
	AUTO_JSON json_t *keys = json_object();
	(void)json_object_update(keys, old);
	(void)json_object_update_missing(keys, new);
	const char *key;
	json_object_foreach(keys, key, unused) {
		const json_t *before = json_object_get(old, key), *after = json_object_get(new, key);
		if (!same(before, after))
			describe(difference, section, key, before, after);
	}
}

static void
describe_plain(const struct difference *difference, const char *section, const char *key, const json_t *before,
	const json_t *after)
{
	AUTO_FREE char *was = before ? json_text(before, JSON_ENCODE_ANY) : NULL;
	AUTO_FREE char *is = after ? json_text(after, JSON_ENCODE_ANY) : NULL;
	add_change(difference->reloaded, section, key, "is now %s (it was %s)", is ? is : "the default",
		was ? was : "the default");
}

/* Whether the running engine has the runners of a device. */
static bool
has_runners(const struct config *config, const json_t *device)
{
	size_t i;
	json_t *unit;
	json_array_foreach(json_object_get(device, "units"), i, unit)
		if (!json_object_get(json_object_get(config->root, "runners"), json_text_or_null(unit, "runner")))
			return false;
	return true;
}

/* Whether only devices beside them differ: a unit knows how many slots its runner has in all. */
static bool
same_device(const json_t *before, const json_t *after)
{
	AUTO_JSON json_t *was = json_deep_copy(before);
	size_t i;
	json_t *unit;
	json_array_foreach(json_object_get(was, "units"), i, unit) {
		const json_t *now = json_array_get(json_object_get(after, "units"), i);
		(void)json_object_set(unit, "runner_slots", json_object_get(now, "runner_slots"));
	}
	return was && after && json_equal(was, after);
}

static void
describe_device(const struct difference *difference, const char *section, const char *key, const json_t *before,
	const json_t *after)
{
	if (same_device(before, after))
		return;
	if (after && !has_runners(difference->config, after))
		add_change(difference->restart, section, key, "uses a runner that was not configured when the engine started");
	else
		add_change(difference->reloaded, section, key, "%s",
			!before  ? "is new"
			: !after ? "is gone: its jobs end, and no new ones begin"
					 : "is changed");
}

/* Does not repeat the values: a plugin's section may hold a secret. */
static void
add_plugin_change(json_t *list, const char *section, const char *key, const json_t *before, const json_t *after)
{
	add_change(list, section, key, "%s", !before ? "is new" : !after ? "is gone" : "is changed");
}

static void
describe_plugin(const struct difference *difference, const char *section, const char *key, const json_t *before,
	const json_t *after)
{
	add_plugin_change(difference->restart, section, key, before, after);
}

static void
describe_language(const struct difference *difference, const char *section, const char *key, const json_t *before,
	const json_t *after)
{
	add_plugin_change(difference->reloaded, section, key, before, after);
}

void
config_compare(const struct config *config, const struct config *fresh, json_t **ret_reloaded, json_t **ret_restart)
{
	const struct difference difference = {config, fresh, json_array(), json_array()};
	for (size_t i = 0; i < ARRAY_SIZE(plain_sections); i++)
		compare_section(&difference, plain_sections[i], describe_plain);
	compare_section(&difference, "devices", describe_device);
	compare_section(&difference, "languages", describe_language);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_keys); i++)
		if (!same(json_object_get(config->root, fixed_keys[i]), json_object_get(fresh->root, fixed_keys[i])))
			add_change(difference.restart, fixed_keys[i], NULL, "is changed");
	for (size_t i = 0; i < ARRAY_SIZE(plugin_sections); i++)
		compare_section(&difference, plugin_sections[i], describe_plugin);
	*ret_reloaded = difference.reloaded;
	*ret_restart = difference.restart;
}

void
config_adopt(struct config *config, const struct config *fresh)
{
	const json_t *old = json_object_get(config->root, "devices");
	json_t *devices = json_object(), *device;
	const char *name;
	json_object_foreach(json_object_get(fresh->root, "devices"), name, device) {
		const json_t *kept = has_runners(config, device) ? device : json_object_get(old, name);
		if (kept)
			json_object_set_new(devices, name, json_deep_copy(kept));
	}
	json_object_set_new(config->root, "devices", devices);
	json_object_set_new(config->root, "languages", json_deep_copy(json_object_get(fresh->root, "languages")));
	for (size_t i = 0; i < ARRAY_SIZE(plain_sections); i++)
		json_object_set_new(
			config->root, plain_sections[i], json_deep_copy(json_object_get(fresh->root, plain_sections[i])));
}
