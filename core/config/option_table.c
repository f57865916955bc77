/* SPDX-License-Identifier: MIT */
/* Option tables: as a schema, as JSON, and applied to a section of the configuration. */
#include <config.h>

#include "config/option_table.h"

#include <pthread.h>
#include <regex.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/pointer.h"
#include "base/schema.h"
#include "base/yaml.h"

#define SECRET_NAME_SIZE 100

static const struct {
	const char *name;   /* for people */
	const char *schema; /* NULL: any type */
} types[] = {
	[KETTLE_OPTION_STRING] = {"string", "string"},
	[KETTLE_OPTION_PATH] = {"path", "string"},
	[KETTLE_OPTION_INT] = {"integer", "integer"},
	[KETTLE_OPTION_NUMBER] = {"number", "number"},
	[KETTLE_OPTION_BOOL] = {"boolean", "boolean"},
	[KETTLE_OPTION_STRINGS] = {"list of strings", "array"},
	[KETTLE_OPTION_MAP] = {"map of strings", "object"},
	[KETTLE_OPTION_ANY] = {"any value", NULL},
};

void
option_table_get(const struct option_table *table, size_t i, struct kettle_option *ret_option)
{
	const char *at = (const char *)table->options + i * table->size;
	*ret_option = (struct kettle_option){0};
	memcpy(ret_option, at, table->size < sizeof(*ret_option) ? table->size : sizeof(*ret_option));
}

/* ---- the schema ---- */

static json_t *
choices_json(const char *const *choices)
{
	json_t *list = json_array();
	for (; *choices; choices++)
		json_array_append_new(list, json_string(*choices));
	return list;
}

/* The default as its parsed value; NULL in *ret_value: there is none. */
static int
default_value(const struct kettle_option *option, json_t **ret_value, struct kettle_error *err)
{
	const char *text = option->default_value;
	*ret_value = NULL;
	if (!text)
		return 0;
	if (option->type == KETTLE_OPTION_STRING || option->type == KETTLE_OPTION_PATH) {
		*ret_value = json_string(text);
		return *ret_value
				   ? 0
				   : kettle_fail(err, KETTLE_EINVAL, "The default of the option `%s` is not UTF-8 text.", option->key);
	}
	struct kettle_error why = {0};
	int rc = yaml_parse(option->key, text, strlen(text), ret_value, NULL, &why);
	return rc ? kettle_fail(err, rc, "The default of the option `%s` cannot be read: %s", option->key, why.message) : 0;
}

static void
add_range(json_t *schema, const struct kettle_option *option)
{
	if (option->min == 0 && option->max == 0)
		return;
	bool whole = option->type == KETTLE_OPTION_INT;
	json_t *min = whole ? json_integer((json_int_t)option->min) : json_real(option->min);
	json_object_set_new(schema, "minimum", min);
	if (option->max >= option->min) {
		json_t *max = whole ? json_integer((json_int_t)option->max) : json_real(option->max);
		json_object_set_new(schema, "maximum", max);
	}
}

static void
add_type(json_t *schema, const struct kettle_option *option)
{
	const char *type = types[option->type].schema;
	bool strings = option->type == KETTLE_OPTION_STRINGS;
	json_t *item = strings || option->type == KETTLE_OPTION_MAP ? json_pack("{s:s}", "type", "string") : NULL;
	if (strings)
		json_object_set_new(schema, "type", json_pack("[ss]", "array", "string"));
	else if (type)
		json_object_set_new(schema, "type", json_string(type));
	if (option->choices)
		json_object_set_new(strings ? item : schema, "enum", choices_json(option->choices));
	if (item)
		json_object_set_new(schema, strings ? "items" : "additionalProperties", item);
	if (option->type == KETTLE_OPTION_PATH)
		json_object_set_new(schema, "minLength", json_integer(1));
	if (option->type == KETTLE_OPTION_INT || option->type == KETTLE_OPTION_NUMBER)
		add_range(schema, option);
}

static int
option_schema(const struct kettle_option *option, json_t **ret_schema, struct kettle_error *err)
{
	json_t *preset = NULL;
	int rc = default_value(option, &preset, err);
	if (rc)
		return rc;
	json_t *schema = json_object();
	add_type(schema, option);
	if (option->help)
		json_object_set_new(schema, "description", json_string(option->help));
	if (preset)
		json_object_set_new(schema, "default", preset);
	*ret_schema = schema;
	return 0;
}

static bool
has_option(const struct option_table *table, const char *name, const char *tail, enum kettle_option_type type)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < table->count; i++) {
		struct kettle_option option;
		option_table_get(table, i, &option);
		if (strncmp(option.key, name, len) == 0 && strcmp(option.key + len, tail) == 0)
			return option.type == type;
	}
	return false;
}

/* The NAME of a secret whose variable the option names: NAME_env, of a table that has NAME_file. */
static bool
names_secret(const struct option_table *table, const struct kettle_option *option, char ret_name[SECRET_NAME_SIZE])
{
	size_t len = strlen(option->key);
	if (option->type != KETTLE_OPTION_STRING || len < 5 || len >= SECRET_NAME_SIZE ||
		strcmp(option->key + len - 4, "_env") != 0)
		return false;
	memcpy(ret_name, option->key, len - 4);
	ret_name[len - 4] = '\0';
	return has_option(table, ret_name, "_file", KETTLE_OPTION_PATH);
}

/* The table as an object schema (schema.h). New reference. EINVAL: a default that is not of the type. [any] */
static int
option_table_schema(const struct option_table *table, json_t **ret_schema, struct kettle_error *err)
{
	AUTO_JSON json_t *properties = json_object(), *required = json_array();
	for (size_t i = 0; i < table->count; i++) {
		struct kettle_option option;
		json_t *schema = NULL;
		option_table_get(table, i, &option);
		int rc = option_schema(&option, &schema, err);
		if (rc)
			return rc;
		json_object_set_new(properties, option.key, schema);
		char secret[SECRET_NAME_SIZE];
		if (option.required && !names_secret(table, &option, secret))
			json_array_append_new(required, json_string(option.key));
	}
	*ret_schema = json_pack("{s:s, s:b, s:O, s:O}", "type", "object", "additionalProperties", 0, "properties",
		properties, "required", required);
	return 0;
}

/* ---- the table itself ---- */

static bool
key_is_good(const char *key)
{
	if (!key || key[0] < 'a' || key[0] > 'z')
		return false;
	return strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(key);
}

static int
check_option(const struct kettle_option *option, size_t i, struct kettle_error *err)
{
	if (!key_is_good(option->key))
		return kettle_fail(err, KETTLE_EINVAL, "The key of option %zu is not of the form [a-z][a-z0-9_]*.", i);
	if ((size_t)option->type >= ARRAY_SIZE(types) || !types[option->type].name)
		return kettle_fail(err, KETTLE_EINVAL, "The option `%s` has no known type.", option->key);
	if (!option->help || !*option->help)
		return kettle_fail(err, KETTLE_EINVAL, "The option `%s` has no help.", option->key);
	if (option->required && option->default_value)
		return kettle_fail(err, KETTLE_EINVAL, "The option `%s` is required and has a default.", option->key);
	AUTO_JSON json_t *schema = NULL;
	int rc = option_schema(option, &schema, err);
	json_t *preset = json_object_get(schema, "default");
	struct kettle_error why = {0};
	if (rc == 0 && preset && schema_check(schema, preset, NULL, NULL, &why) != 0)
		rc = kettle_fail(
			err, KETTLE_EINVAL, "The default of the option `%s` does not fit: %s", option->key, why.message);
	return rc;
}

int
option_table_check(const struct option_table *table, struct kettle_error *err)
{
	AUTO_JSON json_t *seen = json_object();
	if (table->count > OPTIONS_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "There are %zu options; %d are allowed.", table->count, OPTIONS_MAX);
	/* The members of the first version. */
	if (table->count && (!table->options || table->size < sizeof(struct kettle_option)))
		return kettle_fail(err, KETTLE_EINVAL, "The table of options is missing, or its elements are too small.");
	for (size_t i = 0; i < table->count; i++) {
		struct kettle_option option;
		option_table_get(table, i, &option);
		int rc = check_option(&option, i, err);
		if (rc)
			return rc;
		if (json_object_get(seen, option.key))
			return kettle_fail(err, KETTLE_EINVAL, "The option `%s` occurs twice.", option.key);
		json_object_set_new(seen, option.key, json_null());
	}
	return 0;
}

/* ---- a section ---- */

char *
option_table_path(const char *path, const char *base)
{
	const char *home = getenv("HOME");
	if (path[0] == '~' && path[1] == '/' && home)
		return path_join(home, path + 2);
	return base ? path_join(base, path) : xstrdup(path);
}

/* "FILE:LINE:COLUMN: runners.github.token_env". */
static void
add_option_place(const struct option_section *in, const char *key, struct buf *out)
{
	AUTO_BUF struct buf pointer = {0};
	buf_adds(&pointer, in->pointer);
	pointer_add_key(&pointer, key);
	yaml_add_place(out, in->name, in->places, pointer.data);
	pointer_add_path(out, pointer.data);
}

/* The values of variables that were read; this process's environment holds them no more. */
static struct kept_secret {
	struct kept_secret *next;
	char *value;
	char variable[];
} * kept_secrets;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static struct kept_secret *
find_kept(const char *variable)
{
	struct kept_secret *one = kept_secrets;
	while (one && strcmp(one->variable, variable) != 0)
		one = one->next;
	return one;
}

/*
 * The value of a variable, which is overwritten in place: no child of this process inherits it, and /proc/PID/environ
 * does not show it. A configuration that is read again finds it here. NULL: there is none. New string.
 */
static char *
take_variable(const char *variable)
{
	(void)pthread_mutex_lock(&kept_lock);
	char *value = getenv(variable);
	struct kept_secret *kept = find_kept(variable);
	if (value && *value && !kept) {
		size_t size = strlen(variable) + 1;
		kept = xcalloc(1, sizeof(*kept) + size);
		memcpy(kept->variable, variable, size);
		kept->next = kept_secrets;
		kept_secrets = kept;
	}
	if (value && *value) {
		free(kept->value);
		kept->value = xstrdup(value);
		explicit_bzero(value, strlen(value));
	}
	char *taken = kept ? xstrdup(kept->value) : NULL;
	(void)pthread_mutex_unlock(&kept_lock);
	return taken;
}

static int
secret_of_env(
	const char *variable, const char *key, const struct option_section *in, char **ret_secret, struct kettle_error *err)
{
	*ret_secret = take_variable(variable);
	if (*ret_secret)
		return 0;
	AUTO_BUF struct buf where = {0};
	add_option_place(in, key, &where);
	return kettle_fail(err, KETTLE_EINVAL, "%s names the environment variable %.100s, which is %s.", where.data,
		variable, getenv(variable) ? "empty" : "not set");
}

static void
warn_of_mode(const char *path, const char *key, const struct option_section *in)
{
	struct stat st;
	AUTO_BUF struct buf text = {0};
	if (!in->warnings || stat(path, &st) != 0 || !(st.st_mode & S_IROTH))
		return;
	add_option_place(in, key, &text);
	buf_printf(&text, ": all users can read the secret in %s; run `chmod 600` on it.", path);
	json_array_append_new(in->warnings, json_string(text.data));
}

static int
secret_of_file(
	const char *given, const char *key, const struct option_section *in, char **ret_secret, struct kettle_error *err)
{
	AUTO_FREE char *path = option_table_path(given, in->base), *data = NULL;
	AUTO_BUF struct buf where = {0};
	size_t size = 0;
	struct kettle_error why = {0};
	add_option_place(in, key, &where);
	int rc = file_read(path, OPTIONS_SECRET_BYTES, &data, &size, &why);
	if (rc)
		return kettle_fail(err, rc, "%s: %s", where.data, why.message);
	while (size && (data[size - 1] == '\n' || data[size - 1] == '\r'))
		data[--size] = '\0';
	if (size == 0 || strlen(data) != size)
		return kettle_fail(
			err, KETTLE_EINVAL, "%s: the secret in %s is %s.", where.data, path, size ? "not text" : "empty");
	warn_of_mode(path, key, in);
	*ret_secret = STEAL(data);
	return 0;
}

/*
 * The secret that the section names by NAME_env (an environment variable) or NAME_file (a file, without its last
 * newlines; a world-readable one adds a warning): new string, NULL where it names none. EINVAL, ENOENT, EACCES, EIO.
 */
static int
option_secret(const json_t *section, const char *name, const struct option_section *in, char **ret_secret,
	struct kettle_error *err)
{
	char env_key[110], file_key[110];
	(void)snprintf(env_key, sizeof(env_key), "%s_env", name);
	(void)snprintf(file_key, sizeof(file_key), "%s_file", name);
	const char *variable = json_text_or_null(section, env_key);
	const char *file = json_text_or_null(section, file_key);
	if (variable && file) {
		AUTO_BUF struct buf where = {0};
		add_option_place(in, file_key, &where);
		return kettle_fail(
			err, KETTLE_EINVAL, "%s and `%s` exclude each other: give one of them.", where.data, env_key);
	}
	if (variable)
		return secret_of_env(variable, env_key, in, ret_secret, err);
	if (file)
		return secret_of_file(file, file_key, in, ret_secret, err);
	*ret_secret = NULL;
	return 0;
}

/* Adds the secret NAME where the option is its NAME_env. */
static int
resolve_secret(const struct option_table *table, const struct kettle_option *option, const json_t *section,
	const struct option_section *in, json_t *options, struct kettle_error *err)
{
	char name[SECRET_NAME_SIZE], file_key[SECRET_NAME_SIZE + 8];
	if (!names_secret(table, option, name))
		return 0;
	AUTO_FREE char *secret = NULL;
	int rc = option_secret(options, name, in, &secret, err);
	(void)snprintf(file_key, sizeof(file_key), "%s_file", name);
	if (rc == 0 && option->required && !json_object_get(section, option->key) && !json_object_get(section, file_key)) {
		AUTO_BUF struct buf where = {0};
		yaml_add_place(&where, in->name, in->places, in->pointer);
		pointer_add_path(&where, in->pointer);
		return kettle_fail(
			err, KETTLE_EINVAL, "%s has neither `%s` nor `%s`: add one of them.", where.data, option->key, file_key);
	}
	if (rc || !secret)
		return rc;
	json_t *value = json_string(secret);
	if (!value)
		return kettle_fail(err, KETTLE_EINVAL, "The secret `%s` is not UTF-8 text.", name);
	json_object_set_new(options, name, value);
	return 0;
}

static int
finish_option(
	const struct kettle_option *option, const struct option_section *in, json_t *options, struct kettle_error *err)
{
	json_t *value = json_object_get(options, option->key);
	if (option->type == KETTLE_OPTION_STRINGS && json_is_string(value))
		json_object_set_new(options, option->key, json_pack("[O]", value));
	if (option->type != KETTLE_OPTION_PATH || !value)
		return 0;
	AUTO_FREE char *path = option_table_path(json_string_value(value), in->base);
	if (json_object_set_new(options, option->key, json_string(path)) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "The path of the option `%s` is not UTF-8 text.", option->key);
	return 0;
}

/* A value that does not fit the schema is an error, or is listed and left out. */
static int
check_section(const json_t *schema, json_t *options, const struct option_section *in, struct kettle_error *err)
{
	AUTO_JSON json_t *faults = json_array();
	if (!in->faults)
		return schema_check_at(schema, options, in->name, in->places, in->pointer, err);
	schema_check_all(schema, options, in->name, in->places, in->pointer, faults, OPTIONS_FAULTS);
	json_array_each(faults, fault)
		(void)json_array_append(in->faults, json_object_get(fault, "message"));
	if (json_array_size(faults) == OPTIONS_FAULTS)
		(void)json_object_clear(options); /* the rest is unchecked */
	for (size_t i = json_array_size(faults); i-- > 0;) {
		const char *inside = json_text_or_empty(json_array_get(faults, i), "pointer") + strlen(in->pointer);
		if (*inside)
			pointer_replace(options, inside, NULL);
	}
	return 0;
}

int
option_table_read(const struct option_table *table, const json_t *section, const struct option_section *in,
	json_t **ret_options, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = NULL;
	AUTO_JSON json_t *options = section && !json_is_null(section) ? json_deep_copy(section) : json_object();
	int rc = option_table_schema(table, &schema, err);
	if (rc == 0)
		rc = check_section(schema, options, in, err);
	if (rc == 0 && !in->as_given)
		rc = schema_defaults(schema, options, err);
	for (size_t i = 0; i < table->count && rc == 0; i++) {
		struct kettle_option option;
		option_table_get(table, i, &option);
		rc = finish_option(&option, in, options, err);
		if (rc == 0 && !in->as_given)
			rc = resolve_secret(table, &option, section, in, options, err);
		if (rc < 0 && in->faults) {
			(void)json_array_append_new(in->faults, json_string(err->message));
			rc = 0;
		}
	}
	if (rc == 0)
		*ret_options = STEAL(options);
	return rc == 0 && json_array_size(in->faults) > 0 ? kettle_fail(err, KETTLE_EINVAL, "%s", "") : rc;
}

bool
option_table_drop(const struct option_table *table, json_t *options, const char *key)
{
	AUTO_JSON json_t *schema = NULL;
	if (json_object_del(options, key) < 0)
		return false;
	if (option_table_schema(table, &schema, NULL) == 0)
		(void)schema_defaults(schema, options, NULL);
	return true;
}

json_t *
option_table_json(const struct option_table *table)
{
	json_t *list = json_array();
	for (size_t i = 0; i < table->count; i++) {
		struct kettle_option option;
		option_table_get(table, i, &option);
		json_t *one = json_pack("{s:s, s:s, s:b, s:s?, s:s?}", "key", option.key, "type", types[option.type].name,
			"required", option.required, "default", option.default_value, "help", option.help);
		if (option.choices)
			json_object_set_new(one, "choices", choices_json(option.choices));
		if (option.min != 0 || option.max != 0)
			json_object_set_new(one, "min", json_real(option.min));
		if (option.max != 0 && option.max >= option.min)
			json_object_set_new(one, "max", json_real(option.max));
		if (json_array_append_new(list, one) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}
