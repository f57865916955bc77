/* SPDX-License-Identifier: MIT */
/* The configuration: defaults, devices, secrets, mistakes, reloads. */
#include <config.h>

#include "config/configuration.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/schema.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

extern const char config_schema_text[];

struct fixture {
	char *dir;
	struct config *config;
	struct kettle_error err;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->dir = scratch_make();
	*state = f;
	(void)unsetenv("KETTLE_CONFIG");
	(void)unsetenv("KETTLE_DB");
	(void)unsetenv("KETTLE_PLUGIN_PATH");
	(void)setenv("XDG_CONFIG_HOME", f->dir, 1);
	(void)setenv("XDG_DATA_HOME", f->dir, 1);
	return f->dir ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	config_free(f->config);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static int
load(struct fixture *f, const char *text)
{
	AUTO_FREE char *path = scratch_write(f->dir, "k.yml", text);
	const struct config_request request = {.file = path};
	config_free(f->config);
	f->config = NULL;
	f->err = (struct kettle_error){0};
	return config_load(&request, &f->config, &f->err);
}

/* Loading fails with a message that begins with FILE:LINE:COLUMN and holds `part`. */
static void
refuse(struct fixture *f, const char *text, int line, const char *part)
{
	assert_int_equal(load(f, text), KETTLE_EINVAL);
	const char *found = strstr(f->err.message, "k.yml");
	assert_non_null(found);
	int at_line = 0, at_column = 0;
	if (line && (sscanf(found, "k.yml:%d:%d: ", &at_line, &at_column) != 2 || at_line != line || at_column < 1))
		fail_msg("\"%s\" is not about line %d", f->err.message, line);
	if (!strstr(f->err.message, part))
		fail_msg("\"%s\" lacks \"%s\"", f->err.message, part);
}

/* The value at a path of keys and indexes, as text. New string. */
static char *
at(const struct fixture *f, const char *path)
{
	const json_t *value = f->config->root;
	AUTO_FREE char *copy = strdup(path);
	char *rest = copy;
	for (const char *part; (part = strsep(&rest, "/"));)
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(part)) : json_object_get(value, part);
	return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS) : strdup("absent");
}

#define assert_at(f, path, text) \
	do { \
		AUTO_FREE char *found_ = at(f, path); \
		assert_string_equal(found_, text); \
	} while (0)

static void
test_defaults(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(config_load(&(struct config_request){0}, &f->config, &f->err), 0);
	assert_null(f->config->file);
	assert_at(f, "devices",
		"{\"CPU\": {\"name\": \"CPU\", \"units\": [{\"name\": \"CPU\", \"prefetch\": 1, \"runner\": \"local\", "
		"\"runner_slots\": 1, \"sandbox\": \"full\", \"slots\": 1}]}}");
	assert_at(f, "runners", "{\"local\": {}}");
	assert_at(f, "frontends", "{\"cli\": {}}");
	assert_at(f, "limits/submission_bytes", "1000000");
	assert_at(f, "engine/shutdown_grace", "30");
	assert_at(f, "log", "{\"format\": \"auto\", \"level\": \"info\"}");
	AUTO_FREE char *database = path_join(f->dir, "kettle/kettle.db");
	assert_string_equal(json_string_value(json_object_get(f->config->root, "database")), database);
}

static void
test_empty_files(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, ""), 0);
	assert_int_equal(load(f, "# nothing\n"), 0);
	assert_int_equal(load(f, "log:\ndevices:\nlanguages:\nrunners:\n  local:\n"), 0);
	assert_at(f, "devices", "{}");
	assert_at(f, "languages", "{}");
	assert_at(f, "log/level", "\"info\"");
}

static void
test_usual_places(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *folder = path_join(f->dir, "kettle");
	assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
	AUTO_FREE char *usual = scratch_write(folder, "kettle.yml", "log: {level: debug}\n");
	AUTO_FREE char *other = scratch_write(f->dir, "other.yml", "log: {level: error}\n");
	assert_int_equal(config_load(&(struct config_request){0}, &f->config, &f->err), 0);
	assert_string_equal(f->config->file, usual);
	assert_at(f, "log/level", "\"debug\"");
	config_free(f->config);
	(void)setenv("KETTLE_CONFIG", other, 1);
	(void)setenv("KETTLE_DB", "/x/y.db", 1);
	assert_int_equal(config_load(&(struct config_request){0}, &f->config, &f->err), 0);
	assert_at(f, "log/level", "\"error\"");
	assert_at(f, "database", "\"/x/y.db\"");
	config_free(f->config);
	f->config = NULL;
	(void)setenv("KETTLE_CONFIG", "/no/such/kettle.yml", 1);
	assert_int_equal(config_load(&(struct config_request){0}, &f->config, &f->err), KETTLE_ENOENT);
	assert_non_null(strstr(f->err.message, "/no/such/kettle.yml"));
}

static void
test_paths(void **state)
{
	struct fixture *f = *state;
	(void)setenv("HOME", "/home/somebody", 1);
	assert_int_equal(
		load(f, "database: data/k.db\nplugin_path: [~/p, /q, r]\nsandbox: {extra_paths: venv}\nbuild: {cores: 3}\n"
				"http: {proxy: \"http://[::1]:3128\", ca_file: ca.pem}\n"),
		0);
	AUTO_FREE char *real = realpath(f->dir, NULL), *database = path_join(real, "data/k.db");
	AUTO_FREE char *r = path_join(real, "r"), *venv = path_join(real, "venv");
	const json_t *root = f->config->root, *folders = json_object_get(root, "plugin_path");
	assert_string_equal(json_string_value(json_object_get(root, "database")), database);
	assert_string_equal(json_string_value(json_array_get(folders, 0)), "/home/somebody/p");
	assert_string_equal(json_string_value(json_array_get(folders, 1)), "/q");
	assert_string_equal(json_string_value(json_array_get(folders, 2)), r);
	const json_t *read = json_object_get(json_object_get(root, "sandbox"), "extra_paths");
	assert_string_equal(json_string_value(json_array_get(read, 0)), venv);
	assert_at(f, "build", "{\"cores\": \"3\", \"jobs\": 2}");
	AUTO_FREE char *ca = path_join(real, "ca.pem");
	assert_string_equal(json_string_value(json_object_get(json_object_get(root, "http"), "ca_file")), ca);
	assert_at(f, "http/proxy", "\"http://[::1]:3128\"");
}

/* Accepted by its old name, with a warning; refused where both are given, at the place of the old one. */
static void
test_renamed_keys(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, "sandbox: {read: /opt/venv}\n"), 0);
	assert_at(f, "sandbox/extra_paths", "[\"/opt/venv\"]");
	assert_int_equal(json_array_size(f->config->warnings), 1);
	config_free(f->config);
	f->config = NULL;
	assert_int_equal(load(f, "database: k.db\nsandbox:\n  extra_paths: []\n  read: []\n"), KETTLE_EINVAL);
	assert_non_null(strstr(f->err.message, ":4:3: "));
	/* The place of a wrong value is that of the old key. */
	assert_int_equal(load(f, "database: k.db\nsandbox:\n  read: [a, 7]\n"), KETTLE_EINVAL);
	assert_non_null(strstr(f->err.message, ":3:13: "));
}

static void
test_devices(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(
		load(f, "runners: {local: {}, modal: {}, github: {}}\n"
				"devices:\n"
				"  CPU: {runner: local, cores: 1, slots: 2}\n"
				"  H100: {units: [{runner: local, gpu: 0}, {runner: local, gpu: GPU-1, slots: 3, memory: 16Gi}, "
				"{runner: modal}], memory: 64G, sm: 90a, sandbox: reduced, include_dirs: /opt/cutlass/include, "
				"library_dirs: [lib, /opt/lib]}\n"
				"  MI300: {runner: github, labels: amd-mi300, gfx: gfx942}\n"
				"  L4: {sm: 89, model: L4, budget: {seconds_per_day: 60, beyond: refuse}, "
				"peak: {bytes: 3.35T, operations: 125000000}}\n"),
		0);
	assert_at(f, "devices/CPU/units/0",
		"{\"cores\": \"1\", \"name\": \"CPU\", \"prefetch\": 1, \"runner\": \"local\", \"runner_slots\": 7, "
		"\"sandbox\": \"full\", \"slots\": 2}");
	assert_at(f, "devices/MI300/units/0/runner_slots", "1");
	assert_at(f, "devices/H100/units/0/memory", "68719476736");
	assert_at(f, "devices/H100/units/1/memory", "17179869184");
	assert_at(f, "devices/CPU/units/0/memory", "absent");
	assert_at(f, "devices/L4/units/0/model", "\"L4\"");
	assert_at(f, "devices/L4/budget", "{\"beyond\": \"refuse\", \"seconds_per_day\": 60}");
	assert_at(f, "devices/L4/peak", "{\"bytes\": 3350000000000.0, \"operations\": 125000000}");
	assert_at(f, "devices/H100/sm", "\"90a\"");
	assert_at(f, "devices/H100/sandbox", "absent");
	assert_at(f, "devices/H100/units/0/gpu", "0");
	assert_at(f, "devices/H100/units/0/sandbox", "\"reduced\"");
	/* Each unit has its device's properties, for planning. */
	assert_at(f, "devices/H100/units/0/sm", "\"90a\"");
	assert_at(f, "devices/H100/units/2/include_dirs", "[\"/opt/cutlass/include\"]");
	AUTO_BUF struct buf folders = {0};
	buf_printf(&folders, "[\"%s/lib\", \"/opt/lib\"]", f->config->base);
	assert_at(f, "devices/H100/units/1/library_dirs", folders.data);
	assert_at(f, "devices/MI300/units/0/gfx", "\"gfx942\"");
	assert_at(f, "devices/H100/units/1/slots", "3");
	assert_at(f, "devices/H100/units/1/gpu", "\"GPU-1\"");
	assert_at(f, "devices/H100/units/2/runner", "\"modal\"");
	assert_at(f, "devices/MI300/units/0/labels", "[\"amd-mi300\"]");
	assert_at(f, "devices/L4/sm", "\"89\"");
}

static void
test_mistakes(void **state)
{
	struct fixture *f = *state;
	refuse(f, "log: {}\nframework: 1\n", 2, "unknown key `framework`; known keys are");
	refuse(f, "devise: 1\n", 1, "did you mean `devices`?");
	refuse(f, "\n\ndevices: {CPU: {slots: \"x\"}}\n", 3,
		"devices.CPU.slots must be an integer from 1 to 10000, not the string \"x\".");
	refuse(f, "devices:\n  CPU:\n    slots: 0\n", 3, "not 0.");
	refuse(f, "devices:\n  CPU:\n    slts: 1\n", 3, "unknown key `slts` in `devices.CPU`; did you mean `slots`?");
	refuse(f, "devices:\n  CPU: {cores: a-b}\n", 2, "devices.CPU.cores must match");
	refuse(f, "devices:\n  CPU: {}\n  cpu: {}\n", 3, "not case-sensitive");
	refuse(f, "devices:\n  a b: {}\n", 2, "has a name that does not match");
	refuse(f, "runners: {local: {}}\ndevices:\n  CPU: {runner: locl}\n", 3, "did you mean `local`?");
	refuse(f, "devices:\n  X: {runner: slurm}\n", 2, "add `slurm: {}` there");
	refuse(f, "devices:\n  X: {gpu: 1, units: [{}, {}]}\n", 2, "`gpu` must be given in each");
	refuse(f, "devices:\n  X: {units: []}\n", 2, "at least 1 element");
	refuse(f, "devices:\n  X: {peak: {bytes: 3.35Ti}}\n", 2, "devices.X.peak.bytes must be");
	refuse(f, "devices:\n  X: {peak: {bytes: 0}}\n", 2, "not 0.");
	refuse(f, "devices:\n  X: {peak: {}}\n", 2, "devices.X.peak must");
	refuse(f, "devices:\n  X: {peak: {flops: 1T}}\n", 2, "unknown key `flops`");
	refuse(f, "languages: [py]\n", 1, "languages must be a map");
	refuse(f, "languages: {Py: {}}\n", 1, "has a name");
	refuse(f, "log: {level: loud}\n", 1, "must be one of \"error\"");
	refuse(f, "[1, 2]\n", 1, "the top level must be a map, not a list");
	refuse(f, "log: {level: info\n", 2, "this is not YAML");
	refuse(f, "log: 1\nlog: 2\n", 2, "given twice");
	refuse(f, "a: \xff\n", 1, "UTF-8");
	assert_int_equal(config_load(&(struct config_request){.file = f->dir}, &f->config, &f->err), KETTLE_EINVAL);
	assert_non_null(strstr(f->err.message, "not a regular file"));
}

static const char *const colours[] = {"red", "green", NULL};
static const struct kettle_option options[] = {
	{.key = "repo", .type = KETTLE_OPTION_STRING, .required = true, .help = "The repository."},
	{.key = "colour", .type = KETTLE_OPTION_STRING, .default_value = "red", .choices = colours, .help = "A colour."},
	{.key = "count", .type = KETTLE_OPTION_INT, .default_value = "3", .min = 1, .max = 9, .help = "A number."},
	{.key = "least", .type = KETTLE_OPTION_INT, .min = 1, .max = 0, .help = "A number."},
	{.key = "share", .type = KETTLE_OPTION_NUMBER, .default_value = "0.5", .help = "A share."},
	{.key = "fast", .type = KETTLE_OPTION_BOOL, .default_value = "true", .help = "Whether."},
	{.key = "labels", .type = KETTLE_OPTION_STRINGS, .default_value = "[a, b]", .help = "Names."},
	{.key = "env", .type = KETTLE_OPTION_MAP, .default_value = "{A: b}", .help = "Variables."},
	{.key = "any", .type = KETTLE_OPTION_ANY, .help = "Anything."},
	{.key = "folder", .type = KETTLE_OPTION_PATH, .default_value = "spool", .help = "A folder."},
	{.key = "token_env", .type = KETTLE_OPTION_STRING, .help = "A variable."},
	{.key = "token_file", .type = KETTLE_OPTION_PATH, .help = "A file."},
};
static const struct option_table table = {options, ARRAY_SIZE(options), sizeof(options[0])};

static int
plugin(struct fixture *f, const char *section, json_t **ret_options)
{
	AUTO_FREE char *text = NULL;
	if (asprintf(&text, "runners:\n  local: {}\n  x: %s\n", section) < 0)
		abort();
	if (load(f, text) != 0)
		fail_msg("%s", f->err.message);
	return config_plugin(f->config, "runners", "x", &table, ret_options, &f->err);
}

static void
refuse_plugin(struct fixture *f, const char *section, const char *part)
{
	json_t *got = NULL;
	assert_int_not_equal(plugin(f, section, &got), 0);
	assert_null(got);
	if (!strstr(f->err.message, "k.yml:3:") || !strstr(f->err.message, part))
		fail_msg("\"%s\" lacks \"%s\"", f->err.message, part);
}

static void
test_plugin_sections(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *got = NULL;
	assert_int_equal(option_table_check(&table, &f->err), 0);
	assert_int_equal(plugin(f, "{repo: a/b, labels: one}", &got), 0);
	AUTO_FREE char *text = json_dumps(got, JSON_SORT_KEYS), *real = realpath(f->dir, NULL), *wanted = NULL;
	assert_true(
		asprintf(&wanted,
			"{\"colour\": \"red\", \"count\": 3, \"env\": {\"A\": \"b\"}, \"fast\": true, \"folder\": \"%s/spool\", "
			"\"labels\": [\"one\"], \"repo\": \"a/b\", \"share\": 0.5}",
			real) > 0);
	assert_string_equal(text, wanted);
	refuse_plugin(f, "{}", "runners.x lacks the key `repo`");
	refuse_plugin(f, "{repo: a, clour: red}", "unknown key `clour` in `runners.x`; did you mean `colour`?");
	refuse_plugin(f, "{repo: a, colour: gren}", "did you mean \"green\"?");
	refuse_plugin(f, "{repo: a, count: 10}", "runners.x.count must be an integer from 1 to 9, not 10.");
	refuse_plugin(f, "{repo: a, least: 0}", "an integer of at least 1, not 0.");
	refuse_plugin(f, "{repo: a, fast: yes}", "must be true or false, not the string \"yes\".");
	refuse_plugin(f, "{repo: a, env: {A: 1}}", "runners.x.env.A must be a string, not 1.");
	refuse_plugin(f, "{repo: a, labels: [1]}", "runners.x.labels[0] must be a string");
}

static void
refuse_units(struct fixture *f, const char *devices, int line, const char *part)
{
	AUTO_FREE char *text = NULL, *place = NULL;
	assert_true(asprintf(&text, "runners: {x: {}}\ndevices:\n%s", devices) > 0);
	assert_true(asprintf(&place, "k.yml:%d:", line) > 0);
	assert_int_equal(load(f, text), 0);
	assert_int_equal(config_unit_options(f->config, "x", &table, &f->err), KETTLE_EINVAL);
	if (!strstr(f->err.message, place) || !strstr(f->err.message, part))
		fail_msg("\"%s\" lacks \"%s\" or \"%s\"", f->err.message, place, part);
}

/* Options of units are checked like those of plugins, and stay as the file has them but for lists and paths. */
static void
test_unit_options(void **state)
{
	struct fixture *f = *state;
	static const struct option_table none = {0};
	(void)unsetenv("NO_SUCH_VARIABLE");
	assert_int_equal(
		load(f, "runners: {local: {}, x: {}}\ndevices:\n  A: {runner: x, options: {repo: a/b, labels: one, "
				"folder: f, token_env: NO_SUCH_VARIABLE}}\n  B: {runner: local, options: {free: 1}}\n"),
		0);
	assert_int_equal(config_unit_options(f->config, "x", &table, &f->err), 0);
	AUTO_FREE char *wanted = NULL;
	assert_true(asprintf(&wanted,
					"{\"folder\": \"%s/f\", \"labels\": [\"one\"], \"repo\": \"a/b\", \"token_env\": "
					"\"NO_SUCH_VARIABLE\"}",
					f->config->base) > 0);
	assert_at(f, "devices/A/units/0/options", wanted);
	assert_at(f, "devices/B/units/0/options", "{\"free\": 1}");
	refuse_units(f, "  A: {runner: x, options: {repoo: a}}\n", 3,
		"unknown key `repoo` in `devices.A.options`; did you mean `repo`?");
	refuse_units(f, "  A: {runner: x, options: {repo: a, count: 10}}\n", 3,
		"devices.A.options.count must be an integer from 1 to 9");
	refuse_units(f, "  A: {runner: x}\n", 3, "devices.A.options lacks the key `repo`");
	refuse_units(f, "  A:\n    options: {repo: a}\n    runner: x\n    units:\n      - {}\n      - {options: {}}\n", 8,
		"devices.A.units[1].options lacks the key `repo`");
	refuse_units(f, "  A:\n    runner: x\n    units: [{}, {}]\n    options: {repo: a, clour: red}\n", 6,
		"in `devices.A.options`; did you mean `colour`?");
	/* A runner without a table. */
	assert_int_equal(load(f, "runners: {x: {}}\ndevices: {A: {runner: x}, B: {runner: x, options: {y: 1}}}\n"), 0);
	assert_int_equal(config_unit_options(f->config, "x", &none, &f->err), KETTLE_EINVAL);
	assert_non_null(strstr(f->err.message, "unknown key `y` in `devices.B.options`"));
	assert_at(f, "devices/A/units/0/options", "absent");
	/* All faults are collected, those of a device's units once. */
	AUTO_FREE char *path = scratch_write(f->dir, "k.yml",
		"runners: {x: {}}\ndevices:\n  A: {runner: x, units: [{}, {}], "
		"options: {repo: a, count: 0, z: 1}}\n");
	const struct config_request request = {.file = path, .collects = true};
	config_free(STEAL(f->config));
	assert_int_equal(config_load(&request, &f->config, &f->err), 0);
	assert_int_equal(config_unit_options(f->config, "x", &table, &f->err), 0);
	assert_int_equal(json_array_size(f->config->faults), 2);
}

static void
test_secrets(void **state)
{
	struct fixture *f = *state;
	AUTO_JSON json_t *of_env = NULL, *of_file = NULL;
	(void)setenv("KETTLE_TEST_TOKEN", "s3cret", 1);
	(void)unsetenv("KETTLE_TEST_NONE");
	assert_int_equal(plugin(f, "{repo: a, token_env: KETTLE_TEST_TOKEN}", &of_env), 0);
	/* Children do not inherit it; a configuration that is read again has it, and a new value counts. */
	assert_string_equal(getenv("KETTLE_TEST_TOKEN"), "");
	for (int i = 0; i < 2; i++) {
		AUTO_JSON json_t *again = NULL;
		assert_int_equal(plugin(f, "{repo: a, token_env: KETTLE_TEST_TOKEN}", &again), 0);
		assert_string_equal(json_string_value(json_object_get(again, "token")), i ? "another" : "s3cret");
		(void)setenv("KETTLE_TEST_TOKEN", "another", 1);
	}
	assert_string_equal(getenv("KETTLE_TEST_TOKEN"), "another");
	assert_string_equal(json_string_value(json_object_get(of_env, "token")), "s3cret");
	refuse_plugin(f, "{repo: a, token_env: KETTLE_TEST_NONE}", "KETTLE_TEST_NONE, which is not set");
	AUTO_FREE char *path = scratch_write(f->dir, "token", "from-file\n");
	assert_int_equal(plugin(f, "{repo: a, token_file: token}", &of_file), 0);
	assert_string_equal(json_string_value(json_object_get(of_file, "token")), "from-file");
	assert_int_equal(json_array_size(f->config->warnings), 0);
	json_decref(of_file);
	of_file = NULL;
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(plugin(f, "{repo: a, token_file: token}", &of_file), 0);
	assert_int_equal(json_array_size(f->config->warnings), 1);
	assert_non_null(strstr(json_string_value(json_array_get(f->config->warnings, 0)), "all users can read"));
	refuse_plugin(f, "{repo: a, token_file: none}", "cannot be read");
	refuse_plugin(f, "{repo: a, token_file: token, token_env: KETTLE_TEST_TOKEN}", "exclude each other");
	free(scratch_write(f->dir, "token", "\n"));
	refuse_plugin(f, "{repo: a, token_file: token}", "is empty");
}

/* One of the two ways to name a secret is enough where the secret is required. */
static void
test_required_secret(void **state)
{
	struct fixture *f = *state;
	static const struct kettle_option needed[] = {
		{.key = "token_env", .type = KETTLE_OPTION_STRING, .required = true, .help = "A variable."},
		{.key = "token_file", .type = KETTLE_OPTION_PATH, .help = "A file."},
		{.key = "name", .type = KETTLE_OPTION_STRING, .required = true, .help = "A name."}};
	const struct option_table secret = {needed, ARRAY_SIZE(needed), sizeof(needed[0])};
	AUTO_FREE char *path = scratch_write(f->dir, "token", "from-file\n");
	AUTO_JSON json_t *none = json_object(), *faults = json_array(), *got = NULL;
	AUTO_JSON json_t *both = json_pack("{s:s, s:s}", "token_file", path, "name", "x");
	const struct option_section where = {.name = "k.yml", .pointer = "/runners/x", .faults = faults};
	const struct option_section whole = {.name = "k.yml", .pointer = "/runners/x"};
	assert_int_equal(option_table_check(&secret, &f->err), 0);
	assert_int_equal(option_table_read(&secret, none, &where, &got, &f->err), KETTLE_EINVAL);
	assert_int_equal(json_array_size(faults), 2); /* the name, too */
	assert_non_null(strstr(json_string_value(json_array_get(faults, 1)), "neither `token_env` nor `token_file`"));
	json_decref(STEAL(got)); /* those without fault */
	assert_int_equal(option_table_read(&secret, both, &whole, &got, &f->err), 0);
	assert_string_equal(json_string_value(json_object_get(got, "token")), "from-file");
}

static void
test_option_tables(void **state)
{
	struct fixture *f = *state;
	static const struct kettle_option bad[][2] = {
		{{.key = "Bad", .type = KETTLE_OPTION_INT, .help = "x"}},
		{{.key = "a", .type = KETTLE_OPTION_INT}},
		{{.key = "a", .help = "x"}},
		{{.key = "a", .type = KETTLE_OPTION_INT, .default_value = "x", .help = "x"}},
		{{.key = "a", .type = KETTLE_OPTION_INT, .default_value = "10", .min = 1, .max = 9, .help = "x"}},
		{{.key = "a", .type = KETTLE_OPTION_INT, .default_value = "1", .required = true, .help = "x"}},
		{{.key = "a", .type = KETTLE_OPTION_STRINGS, .default_value = "[", .help = "x"}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(
			option_table_check(&(struct option_table){bad[i], 1, sizeof(bad[i][0])}, &f->err), KETTLE_EINVAL);
	const struct kettle_option twice[] = {options[0], options[0]};
	assert_int_equal(option_table_check(&(struct option_table){twice, 2, sizeof(twice[0])}, &f->err), KETTLE_EINVAL);
	AUTO_JSON json_t *data = option_table_json(&table);
	assert_int_equal(json_array_size(data), table.count);
	static const struct kettle_option open_end = {
		.key = "a", .type = KETTLE_OPTION_INT, .min = 16, .max = -1, .help = "x"};
	AUTO_JSON json_t *open = option_table_json(&(struct option_table){&open_end, 1, sizeof(open_end)});
	assert_true(json_number_value(json_object_get(json_array_get(open, 0), "min")) == 16);
	assert_null(json_object_get(json_array_get(open, 0), "max"));
}

static void
test_reload(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(
		load(f, "runners: {local: {}}\nlanguages: {py: {}, cpp: {}}\ndevices: {CPU: {}, SAME: {}, GONE: {}}\n"), 0);
	struct config *old = f->config;
	f->config = NULL;
	assert_int_equal(load(f, "database: /other.db\nlog: {level: debug}\nrunners: {local: {x: 1}, slurm: {}}\n"
							 "languages: {cpp: {}, py: {x: secret}}\n"
							 "devices: {CPU: {slots: 2}, SAME: {}, NEW: {}, FAR: {runner: slurm}}\n"),
		0);
	AUTO_JSON json_t *reloaded = NULL, *restart = NULL;
	config_compare(old, f->config, &reloaded, &restart);
	AUTO_FREE char *now = json_dumps(reloaded, 0), *later = json_dumps(restart, 0);
	assert_string_equal(now,
		"[{\"key\": \"log.level\", \"change\": \"is now \\\"debug\\\" (it was \\\"info\\\")\"}, "
		"{\"key\": \"devices.CPU\", \"change\": \"is changed\"}, "
		"{\"key\": \"devices.GONE\", \"change\": \"is gone: its jobs end, and no new ones begin\"}, "
		"{\"key\": \"devices.NEW\", \"change\": \"is new\"}, "
		"{\"key\": \"languages.py\", \"change\": \"is changed\"}]");
	assert_non_null(strstr(later, "{\"key\": \"devices.FAR\", \"change\": \"uses a runner that was not configured"));
	assert_non_null(strstr(later, "{\"key\": \"database\", \"change\": \"is changed\"}"));
	assert_non_null(strstr(later, "{\"key\": \"runners.local\", \"change\": \"is changed\"}"));
	assert_non_null(strstr(later, "{\"key\": \"runners.slurm\", \"change\": \"is new\"}"));
	config_adopt(old, f->config);
	config_free(f->config);
	f->config = old;
	assert_at(f, "log/level", "\"debug\"");
	assert_at(f, "devices/CPU/units/0/slots", "2");
	assert_at(f, "devices/SAME/units/0/runner_slots", "4");
	assert_at(f, "devices/FAR", "absent");
	assert_at(f, "devices/GONE", "absent");
	assert_at(f, "languages/py/x", "\"secret\"");
	assert_at(f, "runners/local/x", "absent");
}

/* config_load reads it by schema_own. */
static void
has_sound_schema(void **state)
{
	(void)state;
	AUTO_JSON json_t *schema = NULL;
	assert_int_equal(schema_load(config_schema_text, &schema, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(has_sound_schema),
	TEST(test_defaults),
	TEST(test_empty_files),
	TEST(test_usual_places),
	TEST(test_paths),
	TEST(test_renamed_keys),
	TEST(test_devices),
	TEST(test_mistakes),
	TEST(test_plugin_sections),
	TEST(test_unit_options),
	TEST(test_secrets),
	TEST(test_required_secret),
	TEST(test_option_tables),
	TEST(test_reload),
};

UNIT_TESTS(test_configuration);
