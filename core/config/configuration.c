/* SPDX-License-Identifier: MIT */
/* The configuration: finding the file, checking it, filling in its defaults. */
#include <config.h>

#include "config/configuration.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/pointer.h"
#include "base/renamed_keys.h"
#include "base/schema.h"
#include "base/yaml.h"
#include "config/configuration_internal.h"

extern const char config_schema_text[];

static const char *const plugin_kinds[] = {"languages", "runners", "frontends"};

/* An environment variable that is set to something; NULL otherwise. */
static const char *
environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* $VARIABLE/kettle/FILE, or ~/FALLBACK/kettle/FILE; NULL: neither is known. */
static char *
xdg_path(const char *variable, const char *fallback, const char *file)
{
	const char *base = environment(variable), *home = environment("HOME");
	/* The specification says that a relative one is ignored. */
	if (base && base[0] == '/')
		return xasprintf("%s/kettle/%s", base, file);
	return home ? xasprintf("%s/%s/kettle/%s", home, fallback, file) : NULL;
}

/* The file to read: a named one must exist, the usual ones need not. NULL: none. */
static char *
find_config_file(const struct config_request *request)
{
	const char *named = request->file ? request->file : environment("KETTLE_CONFIG");
	struct stat st;
	if (named)
		return xstrdup(named);
	char *file = xdg_path("XDG_CONFIG_HOME", ".config", "kettle.yml");
	if (file && stat(file, &st) == 0)
		return file;
	free(file);
	file = installed_path(INSTALLED_CONFIGURATION("kettle.yml"));
	if (stat(file, &st) == 0)
		return file;
	free(file);
	return NULL;
}

/* The absolute folder of a file; of the current one where there is none. */
static char *
folder_of(const char *file)
{
	AUTO_FREE char *copy = xstrdup(file ? file : "");
	char *slash = strrchr(copy, '/');
	if (slash)
		slash[slash == copy] = '\0';
	return realpath(slash ? copy : ".", NULL);
}

static int
read_config_file(struct config *config, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int rc = file_read(config->file, YAML_MAX_BYTES, &text, &size, err);
	if (rc)
		return rc;
	AUTO_JSON json_t *places = NULL;
	rc = yaml_parse(config->file, text, size, &config->root, &places, err);
	if (rc == 0) {
		json_decref(config->places);
		config->places = STEAL(places);
		static const struct renamed_key renamed[] = {{"sandbox", "read", "extra_paths"}};
		AUTO_JSON json_t *warnings =
			renamed_keys_apply(config->root, renamed, ARRAY_SIZE(renamed), config->file, config->places);
		(void)json_array_extend(config->warnings, warnings);
	}
	return rc;
}

/* A key without a value is an empty section; plugins without options are written so too. */
static void
fill_empty(json_t *root)
{
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe(root, next, key, value) {
		if (json_is_null(value))
			json_object_set_new(root, key, json_object());
	}
	for (size_t i = 0; i < ARRAY_SIZE(plugin_kinds); i++) {
		json_t *section = json_object_get(root, plugin_kinds[i]);
		json_object_foreach_safe(section, next, key, value) {
			if (json_is_null(value))
				json_object_set_new(section, key, json_object());
		}
	}
	json_object_foreach_safe(json_object_get(root, "devices"), next, key, value) {
		if (json_is_null(value))
			json_object_set_new(json_object_get(root, "devices"), key, json_object());
	}
}

void
config_add_fault(json_t *faults, const char *sentence)
{
	size_t count = json_array_size(faults);
	if (count < CONFIG_FAULTS)
		(void)json_array_append_new(faults, json_string(sentence));
	else if (count == CONFIG_FAULTS)
		(void)json_array_append_new(
			faults, json_sprintf("There are more errors; these are the first %d.", CONFIG_FAULTS));
}

/* Whether the pointer is "/devices/NAME/units/INDEX". */
static bool
is_unit(const char *pointer)
{
	unsigned slashes = 0;
	for (const char *at = pointer; *at; at++)
		slashes += *at == '/';
	return slashes == 4 && strstr(pointer, "/units/");
}

/* Lists values that do not fit the schema, and leaves them out. */
static void
leave_out_faults(const struct config *config, const json_t *schema)
{
	AUTO_JSON json_t *faults = json_array();
	schema_check_all(schema, config->root, CONFIG_NAME(config), config->places, "", faults, CONFIG_FAULTS + 1);
	json_array_each(faults, fault)
		config_add_fault(config->faults, json_text_or_empty(fault, "message"));
	if (json_array_size(faults) > CONFIG_FAULTS)
		(void)json_object_clear(config->root); /* the rest is unchecked */
	/* Backwards, so that indexes of lists stay right; those of units stay so for later sentences. */
	for (size_t i = json_array_size(faults); i-- > 0;) {
		const char *pointer = json_text_or_empty(json_array_get(faults, i), "pointer");
		pointer_replace(config->root, pointer, is_unit(pointer) ? json_object() : NULL);
	}
}

static int
config_check(struct config *config, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = schema_own(config_schema_text);
	int rc = 0;
	if (!config->root || json_is_null(config->root)) {
		json_decref(config->root);
		config->root = json_object();
	}
	fill_empty(config->root);
	schema_sizes(schema, config->root);
	if (config->faults && json_is_object(config->root))
		leave_out_faults(config, schema);
	else
		rc = schema_check(schema, config->root, CONFIG_NAME(config), config->places, err);
	return rc ? rc : schema_defaults(schema, config->root, err);
}

/* ---- defaults ---- */

static int
set_database(struct config *config, const char *asked, struct kettle_error *err)
{
	const char *written = json_text_or_null(config->root, "database");
	AUTO_FREE char *path = NULL, *here = NULL;
	asked = asked ? asked : environment("KETTLE_DB");
	config->chosen = asked;
	if (asked) {
		here = realpath(".", NULL);
		path = option_table_path(asked, here);
	} else if (written) {
		path = option_table_path(written, config->base);
	} else {
		path = xdg_path("XDG_DATA_HOME", ".local/share", "kettle.db");
		if (!path)
			return kettle_fail(err, KETTLE_EINVAL,
				"Kettle has no folder for the database: set HOME, set `database` in the configuration, or give --db "
				"FILE.");
	}
	json_t *value = json_string(path);
	if (!value)
		return kettle_fail(err, KETTLE_EINVAL, "The path of the database is not UTF-8 text.");
	json_object_set_new(config->root, "database", value);
	return 0;
}

static void
add_config_folder(json_t *list, const char *path, const char *base)
{
	AUTO_FREE char *folder = option_table_path(path, base);
	json_array_each(list, have) {
		if (strcmp(json_string_value(have), folder) == 0)
			return;
	}
	if (*path)
		json_array_append_new(list, json_string(folder));
}

static void
set_plugin_path(struct config *config)
{
	json_t *written = json_object_get(config->root, "plugin_path");
	AUTO_JSON json_t *list = json_array();
	AUTO_FREE char *given = xstrdup(environment("KETTLE_PLUGIN_PATH") ? environment("KETTLE_PLUGIN_PATH") : "");
	AUTO_FREE char *own = installed_path(INSTALLED_PLUGINS);
	char *rest = given;
	for (const char *one; (one = strsep(&rest, ":"));)
		add_config_folder(list, one, config->base);
	if (json_is_string(written))
		add_config_folder(list, json_string_value(written), config->base);
	json_array_each(written, folder)
		add_config_folder(list, json_string_value(folder), config->base);
	add_config_folder(list, own, NULL);
	add_config_folder(list, KETTLE_PLUGIN_DIR, NULL);
	json_object_set(config->root, "plugin_path", list);
}

/* Adds the plugins of a list of names, blanks between, to a section. */
static void
add_plugins(struct config *config, const char *kind, const char *names)
{
	json_t *section = json_object_get(config->root, kind);
	if (!section) {
		section = json_object();
		json_object_set_new(config->root, kind, section);
	}
	AUTO_FREE char *copy = xstrdup(names);
	char *rest = copy;
	for (const char *name; (name = strsep(&rest, " "));) {
		if (*name && !json_object_get(section, name))
			json_object_set_new(section, name, json_object());
	}
}

static void
set_plugins(struct config *config)
{
	if (!json_object_get(config->root, "languages"))
		add_plugins(config, "languages", KETTLE_LANGUAGES);
	if (!json_object_get(config->root, "runners"))
		add_plugins(config, "runners", "local");
	add_plugins(config, "frontends", "cli");
}

/* Turns a number into text, and one string into a list of it. */
static void
set_sandbox(struct config *config)
{
	json_t *sandbox = json_object_get(config->root, "sandbox"), *paths = json_object_get(sandbox, "extra_paths");
	AUTO_JSON json_t *list = json_array();
	if (json_is_string(paths))
		add_config_folder(list, json_string_value(paths), config->base);
	json_array_each(paths, one)
		add_config_folder(list, json_string_value(one), config->base);
	json_object_set(sandbox, "extra_paths", list);
	json_t *build = json_object_get(config->root, "build"), *cores = json_object_get(build, "cores");
	if (json_is_integer(cores))
		json_object_set_new(build, "cores", json_sprintf("%lld", json_integer_value(cores)));
}

/* A path that may be absent becomes absolute. */
static void
set_path(const struct config *config, const char *section, const char *key)
{
	json_t *object = json_object_get(config->root, section);
	const char *file = json_text_or_null(object, key);
	if (!file)
		return;
	AUTO_FREE char *path = option_table_path(file, config->base);
	json_object_set_new(object, key, json_string(path));
}

/* Keeps only the parts of the file that a process needs that asks another one. */
static void
keep_places(struct config *config)
{
	static const char *const kept[] = {"database", "plugin_path"};
	json_t *root = json_object(), *value;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if ((value = json_object_get(config->root, kept[i])))
			json_object_set(root, kept[i], value);
	static const char *const none[] = {"languages", "runners", "devices"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		json_object_set_new(root, none[i], json_object());
	json_decref(config->root);
	config->root = root;
}

static int
config_read(struct config *config, const struct config_request *request, struct kettle_error *err)
{
	int rc = config->file ? read_config_file(config, err) : 0;
	/* Without the file, the database is known only if it was named. */
	if (rc && request->asks && (request->database || environment("KETTLE_DB")))
		rc = 0;
	if (rc == 0 && request->asks)
		keep_places(config);
	if (rc == 0)
		rc = config_check(config, err);
	if (rc == 0)
		rc = set_database(config, request->database, err);
	if (rc == 0)
		set_plugin_path(config);
	if (rc == 0)
		set_plugins(config);
	if (rc == 0)
		set_sandbox(config);
	if (rc == 0) {
		set_path(config, "http", "ca_file");
		set_path(config, "competitions", "root");
	}
	return rc ? rc : config_devices(config, err);
}

int
config_load(const struct config_request *request, struct config **ret_config, struct kettle_error *err)
{
	struct config *config = xnew(struct config, .file = find_config_file(request));
	config->base = folder_of(config->file);
	config->places = json_object();
	config->warnings = json_array();
	config->faults = request->collects ? json_array() : NULL;
	int rc = 0;
	if (!config->base && config->file)
		rc = kettle_fail(err, KETTLE_ENOENT, "%s cannot be read: %s.", config->file, strerror(errno));
	else if (!config->base)
		rc = kettle_fail(err, KETTLE_EIO, "The current folder cannot be found: %s.", strerror(errno));
	else
		rc = config_read(config, request, err);
	if (rc)
		config_free(config);
	else
		*ret_config = config;
	return rc;
}

void
config_free(struct config *config)
{
	if (!config)
		return;
	json_decref_all(config->root, config->places, config->warnings, config->faults);
	free_all(config->file, config->base, config);
}

/* ---- reading it ---- */

int
config_plugin(const struct config *config, const char *kind, const char *name, const struct option_table *table,
	json_t **ret_options, struct kettle_error *err)
{
	AUTO_FREE char *pointer = xasprintf("/%s/%s", kind, name);
	AUTO_JSON json_t *faults = config->faults ? json_array() : NULL;
	const struct option_section where = {
		.name = CONFIG_NAME(config),
		.places = config->places,
		.pointer = pointer,
		.base = config->base,
		.warnings = config->warnings,
		.faults = faults,
	};
	const json_t *section = json_object_get(json_object_get(config->root, kind), name);
	int rc = option_table_read(table, section, &where, ret_options, err);
	json_array_each(faults, fault)
		config_add_fault(config->faults, json_string_value(fault));
	return rc;
}

/* ---- loaded again: the differences, and those that the running engine takes over ---- */

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

/* Adds the sentence on one changed member of a section; before or after is NULL where it has no such member. */
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
	json_t *old = json_object_get(difference->config->root, section);
	json_t *new = json_object_get(difference->fresh->root, section);
	AUTO_JSON json_t *keys = json_object();
	(void)json_object_update(keys, old);
	(void)json_object_update_missing(keys, new);
	json_object_each(keys, key, unused) {
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

static bool
has_runners(const struct config *config, const json_t *device)
{
	json_array_each(json_object_get(device, "units"), unit)
		if (!json_object_get(json_object_get(config->root, "runners"), json_text_or_null(unit, "runner")))
			return false;
	return true;
}

/* Whether the two differ at most in the slots of their runner, which other devices share. */
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
	json_t *devices = json_object();
	json_object_each(json_object_get(fresh->root, "devices"), name, device) {
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
