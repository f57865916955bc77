/* SPDX-License-Identifier: MIT */
/* exec.yml: what kettle-exec must know about its machine. */
#include <config.h>

#include "exec/machine/machine.h"

#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/renamed_keys.h"
#include "base/schema.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

extern const char exec_schema_text[];

/* $NAME/rest, or $HOME/home/rest if NAME is not set. New string or NULL. */
static char *
xdg_path(const char *name, const char *home, const char *rest)
{
	const char *base = getenv(name), *user = getenv("HOME");
	if (base && base[0] == '/')
		return xasprintf("%s/%s", base, rest);
	return home && user && user[0] == '/' ? xasprintf("%s/%s/%s", user, home, rest) : NULL;
}

/* The file to read. New string; NULL: there is none. */
static char *
find_execconfig_file(const char *path)
{
	if (path)
		return xstrdup(path);
	AUTO_FREE char *own = xdg_path("XDG_CONFIG_HOME", ".config", "kettle/exec.yml");
	if (own && access(own, F_OK) == 0)
		return STEAL(own);
	AUTO_FREE char *shared = installed_path(INSTALLED_CONFIGURATION("exec.yml"));
	return shared && access(shared, F_OK) == 0 ? STEAL(shared) : NULL;
}

/* Checks a section. Reports a key with an old name on standard error. */
static int
check_section(json_t *section, const char *name, json_t *places, struct kettle_error *err)
{
	static const struct renamed_key renamed[] = {
		{NULL, "read", "extra_paths"}, {"gpu", "left", "max_residual_bytes"}, {"warm", "copies", "max_forks"}};
	AUTO_JSON json_t *schema = schema_own(exec_schema_text);
	AUTO_JSON json_t *warnings = renamed_keys_apply(section, renamed, ARRAY_SIZE(renamed), name, places);
	json_array_each(warnings, warning)
		(void)fprintf(stderr, "kettle-exec: warning: %s\n", json_string_value(warning));
	schema_sizes(schema, section);
	return schema_check(schema, section, name, places, err);
}

static int
read_execconfig_file(struct execconfig *config, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	AUTO_JSON json_t *places = NULL;
	int rc = file_read(config->file, YAML_MAX_BYTES, &text, &size, err);
	if (rc == 0)
		rc = yaml_parse(config->file, text, size, &config->root, &places, err);
	if (rc == 0 && json_is_null(config->root)) {
		json_decref(config->root);
		config->root = json_object();
	}
	return rc == 0 ? check_section(config->root, config->file, places, err) : rc;
}

/* Puts the file's extra_paths before those of --settings: each says what its own tools need. */
static void
join_extra_paths(const struct execconfig *config, json_t *settings)
{
	const json_t *more = json_object_get(settings, "extra_paths");
	AUTO_STRINGS struct strings all = {0};
	strings_read(&all, json_object_get(config->root, "extra_paths"));
	json_array_each(more, path)
		if (!strings_have(&all, json_string_value(path)))
			strings_add(&all, json_string_value(path));
	if (more)
		json_object_set_new(settings, "extra_paths", strings_json(&all));
}

/* Applies --settings, which has the keys of the file. */
static int
take_settings(struct execconfig *config, const char *text, struct kettle_error *err)
{
	AUTO_JSON json_t *settings = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(settings))
		return kettle_fail(err, KETTLE_EINVAL, "--settings takes a JSON object with the keys of exec.yml.");
	int rc = check_section(settings, "--settings", NULL, err);
	if (rc != 0)
		return rc;
	join_extra_paths(config, settings);
	json_object_update(config->root, settings);
	return 0;
}

static uint64_t
size_of(const json_t *section, const char *key, uint64_t otherwise)
{
	const json_t *size = json_object_get(section, key);
	return size ? (uint64_t)json_integer_value(size) : otherwise;
}

static int
take_cores(struct execconfig *config, struct kettle_error *err)
{
	const json_t *build = json_object_get(config->root, "build"), *cores = json_object_get(build, "cores");
	struct cores all = {0};
	int rc = cores_allowed(&all, err);
	uint64_t shown = machine_cpu_cache(all.count ? all.list[0] : 0);
	config->cpu_cache = size_of(config->root, "cpu_cache", shown ? shown : EXECCONFIG_CPU_CACHE);
	config->build_jobs = (unsigned)size_of(build, "jobs", all.count ? all.count : 1);
	cores_free(&all);
	char number[32];
	(void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(cores));
	if (rc == 0 && cores)
		rc = cores_parse(json_is_string(cores) ? json_string_value(cores) : number, &config->build_cores, err);
	return rc;
}

static void
take_limits(struct execconfig *config)
{
	config->memory = machine_memory();
	config->max = (struct limits){
		.wall = EXECCONFIG_MAX_WALL,
		.processes = EXECCONFIG_MAX_PROCESSES,
		.memory = config->memory,
	};
	limits_apply(&config->max, json_object_get(config->root, "limits"));
	const json_t *cache = json_object_get(config->root, "cache"), *io = json_object_get(config->root, "io");
	const json_t *artifacts = json_object_get(config->root, "artifacts");
	config->cache_max_bytes = size_of(cache, "max_bytes", EXECCONFIG_CACHE_BYTES);
	config->cache_max_user_bytes = size_of(cache, "max_user_bytes", config->cache_max_bytes / EXECCONFIG_CACHE_USERS);
	config->cache_shared_bytes = size_of(cache, "shared_bytes", EXECCONFIG_CACHE_SHARED);
	config->cache_max_age_days = (unsigned)size_of(cache, "max_age_days", EXECCONFIG_CACHE_DAYS);
	config->io_bytes = size_of(io, "bytes", EXECCONFIG_IO_BYTES);
	config->io_operations = size_of(io, "operations", EXECCONFIG_IO_OPERATIONS);
	config->artifacts_max_bytes = size_of(artifacts, "max_bytes", EXECCONFIG_ARTIFACTS_BYTES);
	config->artifacts_max_user_bytes = size_of(artifacts, "max_user_bytes", EXECCONFIG_ARTIFACTS_USER_BYTES);
}

static void
take_gpu(struct execconfig *config)
{
	const json_t *gpu = json_object_get(config->root, "gpu");
	config->gpu_helper = json_text_or_null(gpu, "helper");
	config->gpu_nvml = json_text_or_null(gpu, "nvml");
	config->gpu_rocm_smi = json_text_or_null(gpu, "rocm_smi");
	config->gpu_prepared_bytes = size_of(gpu, "prepared_bytes", GPU_PREPARED_BYTES);
	config->gpu_until_freed = member_is(gpu, "lease_until", "freed");
	config->gpu_max_residual_bytes = size_of(gpu, "max_residual_bytes", GPU_LEFT_BYTES);
}

/* Messages contain paths below it, and they are JSON, so the path must be UTF-8 text. */
static int
check_text_path(const char *path, const char *way_out, struct kettle_error *err)
{
	return utf8_valid(path, strlen(path))
			   ? 0
			   : kettle_fail(err, KETTLE_EINVAL, "The path of the folder %s is not UTF-8 text: %s.", path, way_out);
}

static int
take_folders(struct execconfig *config, const char *state, struct kettle_error *err)
{
	bool root = geteuid() == 0;
	const char *given = state ? state : json_text_or_null(config->root, "state");
	const char *locks = json_text_or_null(config->root, "locks");
	AUTO_FREE char *here = getcwd(NULL, 0);
	if (given)
		config->state = path_join(here ? here : "/", given);
	else
		config->state =
			root ? xstrdup("/var/lib/kettle/exec") : xdg_path("XDG_STATE_HOME", ".local/state", "kettle/exec");
	if (!config->state)
		return kettle_fail(err, KETTLE_EINVAL, "No folder is set for the build cache: set HOME, or use --state DIR.");
	if (locks)
		config->locks = xstrdup(locks);
	else
		config->locks = root ? xstrdup("/run/kettle/locks") : xdg_path("XDG_RUNTIME_DIR", NULL, "kettle/locks");
	if (!config->locks)
		config->locks = path_join(config->state, "locks");
	int rc = check_text_path(config->state, "set another one with --state, or with `state` in exec.yml", err);
	return rc == 0 ? check_text_path(config->locks, "set another one with `locks` in exec.yml", err) : rc;
}

int
execconfig_load(struct execconfig *ret_config, const char *path, const char *settings, const char *state,
	const char *level, struct kettle_error *err)
{
	*ret_config = (struct execconfig){.file = find_execconfig_file(path), .level = SANDBOX_LEVEL_FULL};
	int rc = ret_config->file ? read_execconfig_file(ret_config, err) : 0;
	if (!ret_config->root)
		ret_config->root = json_object();
	if (rc == 0 && settings)
		rc = take_settings(ret_config, settings, err);
	if (rc != 0)
		return rc;
	ret_config->tools = json_object_get(ret_config->root, "tools");
	ret_config->env = json_object_get(ret_config->root, "env");
	ret_config->extra_paths = json_object_get(ret_config->root, "extra_paths");
	ret_config->report = json_object_get(ret_config->root, "report");
	take_limits(ret_config);
	take_gpu(ret_config);
	const char *wanted = level ? level : json_text_or_null(ret_config->root, "level");
	if (wanted)
		rc = sandbox_level_parse(wanted, &ret_config->level, err);
	if (rc == 0)
		rc = take_cores(ret_config, err);
	return rc == 0 ? take_folders(ret_config, state, err) : rc;
}

int
execconfig_report(struct execconfig *config, json_t *report, struct kettle_error *err)
{
	AUTO_JSON json_t *root = json_pack("{s:O?}", "report", report);
	AUTO_JSON json_t *schema = schema_own(exec_schema_text);
	int rc = schema_check(schema, root, "the line", NULL, err);
	if (rc != 0)
		return rc;
	if (!config->reports)
		config->reports = json_array();
	(void)json_array_append(config->reports, report);
	__atomic_store_n(&config->report, report, __ATOMIC_RELEASE);
	return 0;
}

const json_t *
execconfig_reported(const struct execconfig *config)
{
	return __atomic_load_n(&config->report, __ATOMIC_ACQUIRE);
}

void
execconfig_close(struct execconfig *config)
{
	json_decref_all(config->root, config->reports);
	free_all(config->file, config->state, config->locks);
	cores_free(&config->build_cores);
	*config = (struct execconfig){0};
}

uint64_t
execconfig_run_memory(const struct execconfig *config, unsigned slots)
{
	uint64_t memory = config->memory ? config->memory : 4 * LIMITS_GIB;
	uint64_t others = EXECCONFIG_OWN_MEMORY + config->build_jobs * EXECCONFIG_BUILD_MEMORY;
	return (memory - (others < memory / 4 ? others : memory / 4)) / slots;
}
