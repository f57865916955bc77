/* SPDX-License-Identifier: MIT */
/* What changes when the configuration is loaded again, and what of it holds without a restart. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "config/configuration_internal.h"

/* Sections of plain values that the running engine takes over. */
static const char *const plain_sections[] = {"log", "limits", "retention", "engine"};
/* Sections that hold plugins, of which one each is told. */
static const char *const plugin_sections[] = {"languages", "runners", "frontends"};
/* Whatever else there is. */
static const char *const fixed_keys[] = {"database", "plugin_path", "build", "sandbox"};

struct difference {
	const struct config *config, *fresh;
	json_t *reloaded, *restart;
};

__attribute__((format(printf, 2, 3))) static int
reload_say(json_t *list, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	json_t *sentence = json_vsprintf(format, args);
	va_end(args);
	return json_array_append_new(list, sentence) ? KETTLE_ENOMEM : 0;
}

static bool
same(const json_t *one, const json_t *other)
{
	return one == other || (one && other && json_equal(one, other));
}

/* Both lists of keys, each key once. New reference. */
static json_t *
all_keys(const json_t *one, const json_t *other)
{
	json_t *keys = one ? json_copy((json_t *)one) : json_object();
	if (keys && other)
		(void)json_object_update_missing(keys, (json_t *)other);
	return keys;
}

static int
compare_plain(const struct difference *difference, const char *section)
{
	const json_t *old = json_object_get(difference->config->root, section);
	const json_t *new = json_object_get(difference->fresh->root, section);
	AUTO_JSON json_t *keys = all_keys(old, new);
	const char *key;
	json_t *unused;
	int rc = keys ? 0 : KETTLE_ENOMEM;
	json_object_foreach(keys, key, unused) {
		const json_t *before = json_object_get(old, key), *after = json_object_get(new, key);
		if (rc || same(before, after))
			continue;
		AUTO_FREE char *was = before ? json_dumps(before, JSON_ENCODE_ANY) : NULL;
		AUTO_FREE char *is = after ? json_dumps(after, JSON_ENCODE_ANY) : NULL;
		rc = reload_say(difference->reloaded, "%s.%s is now %s (it was %s).", section, key, is ? is : "the default",
			was ? was : "the default");
	}
	return rc;
}

static int
compare_device(const struct difference *difference, const char *name, const json_t *before, const json_t *after)
{
	if (same(before, after))
		return 0;
	if (after && !config_device_fits(difference->config, after))
		return reload_say(difference->restart,
			"devices.%s takes a restart: it uses a runner that was not configured when the engine started.", name);
	return reload_say(difference->reloaded, "devices.%s %s.", name,
		!before  ? "is new"
		: !after ? "is gone: its jobs end, and no new ones begin"
				 : "is changed");
}

static int
compare_devices(const struct difference *difference)
{
	const json_t *old = json_object_get(difference->config->root, "devices");
	const json_t *new = json_object_get(difference->fresh->root, "devices");
	AUTO_JSON json_t *keys = all_keys(old, new);
	const char *name;
	json_t *unused;
	int rc = keys ? 0 : KETTLE_ENOMEM;
	json_object_foreach(keys, name, unused) {
		if (rc == 0)
			rc = compare_device(difference, name, json_object_get(old, name), json_object_get(new, name));
	}
	return rc;
}

/* Values of plugins are not repeated: somebody may have written a secret there. */
static int
compare_plugins(const struct difference *difference, const char *section)
{
	const json_t *old = json_object_get(difference->config->root, section);
	const json_t *new = json_object_get(difference->fresh->root, section);
	AUTO_JSON json_t *keys = all_keys(old, new);
	const char *name;
	json_t *unused;
	int rc = keys ? 0 : KETTLE_ENOMEM;
	json_object_foreach(keys, name, unused) {
		const json_t *before = json_object_get(old, name), *after = json_object_get(new, name);
		if (rc == 0 && !same(before, after))
			rc = reload_say(difference->restart, "%s.%s %s, which takes a restart.", section, name,
				!before  ? "is new"
				: !after ? "is gone"
						 : "is changed");
	}
	return rc;
}

int
config_compare(const struct config *config, const struct config *fresh, json_t **ret_reloaded, json_t **ret_restart,
	struct kettle_error *err)
{
	AUTO_JSON json_t *reloaded = json_array(), *restart = json_array();
	const struct difference difference = {config, fresh, reloaded, restart};
	int rc = reloaded && restart ? 0 : KETTLE_ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(plain_sections) && rc == 0; i++)
		rc = compare_plain(&difference, plain_sections[i]);
	if (rc == 0)
		rc = compare_devices(&difference);
	for (size_t i = 0; i < ARRAY_SIZE(fixed_keys) && rc == 0; i++) {
		if (!same(json_object_get(config->root, fixed_keys[i]), json_object_get(fresh->root, fixed_keys[i])))
			rc = reload_say(restart, "%s is changed, which takes a restart.", fixed_keys[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(plugin_sections) && rc == 0; i++)
		rc = compare_plugins(&difference, plugin_sections[i]);
	if (rc)
		return kettle_fail(err, rc, "There is not enough memory to compare the configurations.");
	*ret_reloaded = STEAL(reloaded);
	*ret_restart = STEAL(restart);
	return 0;
}

/* The devices as they are after a reload: fresh ones where they fit, the old ones where they do not. */
static json_t *
adopted_devices(const struct config *config, const struct config *fresh)
{
	const json_t *old = json_object_get(config->root, "devices");
	json_t *devices = json_object(), *device;
	const char *name;
	json_object_foreach(json_object_get(fresh->root, "devices"), name, device) {
		const json_t *kept = config_device_fits(config, device) ? device : json_object_get(old, name);
		if (kept && json_object_set_new(devices, name, json_deep_copy(kept)) != 0) {
			json_decref(devices);
			return NULL;
		}
	}
	return devices;
}

int
config_adopt(struct config *config, const struct config *fresh, struct kettle_error *err)
{
	json_t *devices = adopted_devices(config, fresh);
	int rc = !devices || json_object_set_new(config->root, "devices", devices) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(plain_sections) && rc == 0; i++)
		rc = json_object_set_new(
			config->root, plain_sections[i], json_deep_copy(json_object_get(fresh->root, plain_sections[i])));
	return rc ? kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the configuration.") : 0;
}
