/* SPDX-License-Identifier: MIT */
/* The devices of the configuration in one form: a name, and complete units. */
#include <config.h>

#include "base/base.h"
#include "base/nearest.h"
#include "base/pointer.h"
#include "base/yaml.h"
#include "config/configuration_internal.h"
#include "config/option_table.h"

#define DEFAULT_RUNNER "local"
#define DEFAULT_DEVICE "CPU"
#define DEFAULT_SLOTS 1
#define DEFAULT_PREFETCH 1
#define DEFAULT_SANDBOX "full"

/* Keys of a unit, and whether a device may set them for all of its units. */
static const struct {
	const char *key;
	bool shared;
} unit_keys[] = {
	{"runner", true},
	{"cores", true},
	{"gpu", false},
	{"lock", false},
	{"slots", true},
	{"prefetch", true},
	{"memory", true},
	{"model", true},
	{"labels", true},
	{"sandbox", true},
	{"options", true},
};

/* A device's keys about the model of its units: each unit has them too, for planning on one. */
static const char *const model_keys[] = {"sm", "gfx", "include_dirs", "library_dirs"};

/* EINVAL, with "FILE:LINE:COLUMN: " of the place before the sentence; 0 where faults are collected. */
__attribute__((format(printf, 4, 5))) static int
fail_at(const struct config *config, const char *pointer, struct kettle_error *err, const char *format, ...)
{
	char message[900];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	AUTO_BUF struct buf place = {0};
	yaml_add_place(&place, CONFIG_NAME(config), config->places, pointer);
	buf_adds(&place, message);
	if (!config->faults)
		return kettle_fail(err, KETTLE_EINVAL, "%s", place.data);
	config_add_fault(config->faults, place.data);
	return 0;
}

/* A number that is a name (`sm: 90`, `cores: 1`) becomes text. */
static void
make_text(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	if (json_is_integer(value))
		json_object_set_new(object, key, json_sprintf("%lld", json_integer_value(value)));
}

static void
set_default(json_t *object, const char *key, json_t *value_take)
{
	if (json_object_get(object, key))
		json_decref(value_take);
	else
		json_object_set_new(object, key, value_take);
}

/* The runner must be one that is loaded. */
static int
check_runner(const struct config *config, const char *pointer, const json_t *unit, struct kettle_error *err)
{
	const json_t *runners = json_object_get(config->root, "runners");
	const char *runner = json_text_or_null(unit, "runner");
	if (json_object_get(runners, runner))
		return 0;
	AUTO_BUF struct buf place = {0};
	pointer_add_path(&place, pointer);
	const char *meant = nearest_key(runner, runners);
	AUTO_FREE char *key = xasprintf("%s/runner", pointer);
	if (meant)
		return fail_at(config, key, err, "%s uses the runner `%s`, which `runners` does not name; did you mean `%s`?",
			place.data, runner, meant);
	return fail_at(config, key, err, "%s uses the runner `%s`, which `runners` does not name; add `%s: {}` there.",
		place.data, runner, runner);
}

static int
complete_unit(
	const struct config *config, const char *name, const char *pointer, json_t *unit, struct kettle_error *err)
{
	make_text(unit, "cores");
	if (json_is_string(json_object_get(unit, "labels")))
		json_object_set_new(unit, "labels", json_pack("[O]", json_object_get(unit, "labels")));
	set_default(unit, "runner", json_string(DEFAULT_RUNNER));
	set_default(unit, "slots", json_integer(DEFAULT_SLOTS));
	set_default(unit, "prefetch", json_integer(DEFAULT_PREFETCH));
	set_default(unit, "sandbox", json_string(DEFAULT_SANDBOX));
	set_default(unit, "name", json_string(name));
	return check_runner(config, pointer, unit, err);
}

/* About a key of a device that belongs in its units. */
static int
fail_in_device(const struct config *config, const char *pointer, const char *key, struct kettle_error *err)
{
	AUTO_BUF struct buf name = {0};
	AUTO_FREE char *place = xasprintf("%s/%s", pointer, key);
	pointer_add_path(&name, pointer);
	return fail_at(config, place, err, "%s names its `units`, so `%s` must be given in each of them.", name.data, key);
}

/* Moves a device's settings for its units into the units, and makes a unit if the device has none. */
static int
share_keys(const struct config *config, const char *pointer, json_t *device, struct kettle_error *err)
{
	json_t *units = json_object_get(device, "units");
	bool several = units != NULL;
	int rc = 0;
	if (!several)
		json_object_set_new(device, "units", units = json_pack("[{}]"));
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(unit_keys); i++) {
		const char *key = unit_keys[i].key;
		json_t *value = json_object_get(device, key);
		if (value && several && !unit_keys[i].shared)
			rc = fail_in_device(config, pointer, key, err);
		json_array_each(units, unit) {
			if (value)
				set_default(unit, key, json_deep_copy(value));
		}
		(void)json_object_del(device, key);
	}
	return rc;
}

/* One folder or a list of them becomes a list; relative ones lie beside the configuration. */
static int
make_devices_folders(const struct config *config, json_t *device, const char *key, struct kettle_error *err)
{
	json_t *given = json_object_get(device, key);
	AUTO_JSON json_t *all = json_is_string(given) ? json_pack("[O]", given) : json_incref(given);
	AUTO_JSON json_t *list = json_array();
	json_array_each(all, one) {
		AUTO_FREE char *path = option_table_path(json_string_value(one), config->base);
		if (json_array_append_new(list, json_string(path)) != 0)
			return kettle_fail(err, KETTLE_EINVAL, "A path of `%s` is not UTF-8 text.", key);
	}
	if (given)
		json_object_set(device, key, list);
	return 0;
}

static int
share_model(const struct config *config, json_t *device, struct kettle_error *err)
{
	make_text(device, "sm");
	make_text(device, "gfx");
	int rc = make_devices_folders(config, device, "include_dirs", err);
	if (rc == 0)
		rc = make_devices_folders(config, device, "library_dirs", err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(model_keys); i++) {
		json_t *value = json_object_get(device, model_keys[i]);
		json_array_each(json_object_get(device, "units"), unit)
			if (value)
				set_default(unit, model_keys[i], json_deep_copy(value));
	}
	return rc;
}

static int
complete_device(struct config *config, const char *name, json_t *device, struct kettle_error *err)
{
	AUTO_BUF struct buf pointer = {0};
	buf_adds(&pointer, "/devices");
	pointer_add_key(&pointer, name);
	set_default(device, "name", json_string(name));
	bool several = json_object_get(device, "units") != NULL;
	int rc = share_keys(config, pointer.data, device, err);
	if (rc == 0)
		rc = share_model(config, device, err);
	size_t i;
	json_t *unit;
	json_array_foreach(json_object_get(device, "units"), i, unit) {
		AUTO_FREE char *at = several ? xasprintf("%s/units/%zu", pointer.data, i) : xstrdup(pointer.data);
		if (rc == 0)
			rc = complete_unit(config, name, at, unit, err);
	}
	return rc;
}

/* Names are compared without case, so names that differ only in case are one. */
static int
check_devices_names(const struct config *config, const json_t *devices, struct kettle_error *err)
{
	json_object_each(devices, one, unused) {
		json_object_each(devices, other, ignored) {
			if (one == other || strcasecmp(one, other) != 0)
				continue;
			AUTO_BUF struct buf pointer = {0};
			buf_adds(&pointer, "/devices");
			pointer_add_key(&pointer, other);
			return fail_at(config, pointer.data, err,
				"the devices `%s` and `%s` have the same name: names are not case-sensitive.", one, other);
		}
	}
	return 0;
}

static json_int_t
runner_slots(const json_t *devices, const char *runner)
{
	json_int_t slots = 0;
	json_object_each(devices, name, device)
		json_array_each(json_object_get(device, "units"), unit)
			if (member_is(unit, "runner", runner))
				slots += member_int(unit, "slots");
	return slots;
}

static void
count_slots(const json_t *devices)
{
	json_object_each(devices, name, device)
		json_array_each(json_object_get(device, "units"), unit)
			json_object_set_new(
				unit, "runner_slots", json_integer(runner_slots(devices, json_text_or_null(unit, "runner"))));
}

/* Where the options of a unit are in the file: its own, or its device's for all units. New string. */
static char *
options_pointer(const struct config *config, const char *device, size_t unit)
{
	AUTO_BUF struct buf pointer = {0};
	buf_adds(&pointer, "/devices");
	pointer_add_key(&pointer, device);
	AUTO_FREE char *units = xasprintf("%s/units", pointer.data);
	AUTO_FREE char *own = xasprintf("%s/%zu/options", units, unit);
	buf_adds(&pointer, "/options");
	bool several = json_object_get(config->places, units) != NULL;
	bool shared = !json_object_get(config->places, own) && json_object_get(config->places, pointer.data);
	return several && !shared ? STEAL(own) : buf_take(&pointer);
}

static int
read_unit_options(const struct config *config, const struct option_table *table, const char *pointer, json_t *unit,
	struct kettle_error *err)
{
	AUTO_JSON json_t *faults = config->faults ? json_array() : NULL, *options = NULL;
	const struct option_section where = {
		.name = CONFIG_NAME(config),
		.places = config->places,
		.pointer = pointer,
		.base = config->base,
		.as_given = true,
		.faults = faults,
	};
	struct kettle_error why = {0};
	int rc = option_table_read(table, json_object_get(unit, "options"), &where, &options, &why);
	if (rc == 0 && json_object_size(options) > 0)
		(void)json_object_set(unit, "options", options);
	if (rc == 0 || !faults)
		return rc == 0 ? 0 : kettle_fail(err, rc, "%s", why.message);
	if (*why.message)
		(void)json_array_append_new(faults, json_string(why.message));
	/* Units may have their device's options, with the same faults. */
	json_array_each(faults, fault)
		if (!list_has_text(config->faults, json_string_value(fault)))
			config_add_fault(config->faults, json_string_value(fault));
	return 0;
}

int
config_unit_options(
	const struct config *config, const char *runner, const struct option_table *table, struct kettle_error *err)
{
	json_t *unit;
	size_t i;
	int rc = 0;
	json_object_each(json_object_get(config->root, "devices"), name, device)
		json_array_foreach(json_object_get(device, "units"), i, unit) {
			AUTO_FREE char *pointer = options_pointer(config, name, i);
			if (rc == 0 && member_is(unit, "runner", runner))
				rc = read_unit_options(config, table, pointer, unit, err);
		}
	return rc;
}

int
config_devices(struct config *config, struct kettle_error *err)
{
	json_t *devices = json_object_get(config->root, "devices");
	bool local = json_object_get(json_object_get(config->root, "runners"), DEFAULT_RUNNER) != NULL;
	if (!devices) {
		devices = local ? json_pack("{s:{}}", DEFAULT_DEVICE) : json_object();
		json_object_set_new(config->root, "devices", devices);
	}
	int rc = check_devices_names(config, devices, err);
	json_object_each(devices, name, device) {
		if (rc == 0)
			rc = complete_device(config, name, device, err);
	}
	if (rc == 0)
		count_slots(devices);
	return rc;
}
