/* SPDX-License-Identifier: MIT */
/* Loads plugins, and refuses unfit files with one sentence. */
#include <config.h>

#include "plugin/loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/nearest.h"
#include "base/schema.h"

#define SYMBOL "kettle_plugin"
#define SUFFIX ".so"
#define NAME_MAX_BYTES 32
#define TABLE_MAX 1000 /* entries of a plugin's tables */

/* Bytes that never change between versions: everything up to the name, and the name. */
#define HEAD_SIZE (offsetof(struct kettle_plugin, name) + sizeof(const char *))

struct entry {
	struct loaded_plugin loaded;
	void *library;
	struct kettle_language language;
	struct kettle_runner runner;
	struct kettle_frontend frontend;
	struct kettle_option *options, *unit_options;
	struct kettle_skeleton *skeletons;
	struct kettle_harness_file *harness;
};

struct loader {
	json_t *path;
	struct loader_abi abi;
	struct entry **entries;
	size_t count;
};

static const struct {
	const char *name, *section;
} kinds[] = {
	[KETTLE_LANGUAGE] = {"language", "languages"},
	[KETTLE_RUNNER] = {"runner", "runners"},
	[KETTLE_FRONTEND] = {"frontend", "frontends"},
};

const char *
loader_kind_name(uint32_t kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind].name : NULL;
}

const char *
loader_kind_section(uint32_t kind)
{
	return kind < ARRAY_SIZE(kinds) ? kinds[kind].section : NULL;
}

/* ---- reading a plugin within the sizes that it states ---- */

/* The size of the plugin's symbol in its symbol table; 0: unknown. */
static size_t
symbol_size(const void *address)
{
	Dl_info info;
	const ElfW(Sym) *symbol = NULL;
	if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return 0;
	return symbol->st_size;
}

/* Copies the part that both sides know into a structure that is all zero. */
static void
copy_known(void *to, size_t to_size, const void *from, size_t from_size)
{
	memset(to, 0, to_size);
	memcpy(to, from, from_size < to_size ? from_size : to_size);
}

/* A copy of a plugin's table with our element size; NULL with count 0. */
static int
copy_table(const void *table, size_t count, size_t size, size_t our_size, const char *what, const char *file,
	void **ret_table, struct kettle_error *err)
{
	*ret_table = NULL;
	if (count == 0)
		return 0;
	if (!table || size == 0 || size % sizeof(void *) || count > TABLE_MAX)
		return kettle_fail(err, KETTLE_EINVAL,
			"%s: its table of %s has no content or no element size, or over %d entries.", file, what, TABLE_MAX);
	char *copy = xcalloc(count, our_size);
	for (size_t i = 0; i < count; i++)
		copy_known(copy + i * our_size, our_size, (const char *)table + i * size, size);
	*ret_table = copy;
	return 0;
}

/* The operations of a kind begin with their size. */
static int
copy_operations(const void *from, void *to, size_t our_size, const char *file, struct kettle_error *err)
{
	uint32_t size;
	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size) || size > 64 * our_size)
		return kettle_fail(err, KETTLE_EINVAL, "%s: the size of its operations, %u, is invalid.", file, size);
	copy_known(to, our_size, from, size);
	memcpy(to, &(uint32_t){(uint32_t)our_size}, sizeof(uint32_t));
	return 0;
}

/* ---- the checks, in the order in which they may read ---- */

static int
check_head(const struct loader *loader, const struct kettle_plugin *plugin, size_t size, const char *file,
	struct kettle_error *err)
{
	const struct loader_abi *abi = &loader->abi;
	if (size < HEAD_SIZE)
		return kettle_fail(
			err, KETTLE_EINVAL, "%s is not a Kettle plugin: its symbol `" SYMBOL "` is too small.", file);
	if (plugin->magic != KETTLE_PLUGIN_MAGIC)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a Kettle plugin: its magic number is 0x%08x, not 0x%08x.",
			file, plugin->magic, KETTLE_PLUGIN_MAGIC);
	if (plugin->abi_major != abi->major)
		return kettle_fail(err, KETTLE_EVERSION,
			"%s was built for ABI %u.%u; this Kettle takes %u.%u: rebuild the plugin.", file, plugin->abi_major,
			plugin->abi_minor, abi->major, abi->minor);
	if (plugin->abi_minor > abi->minor)
		return kettle_fail(err, KETTLE_EVERSION,
			"%s was built for the newer ABI %u.%u; this Kettle takes %u.%u: update Kettle or rebuild the plugin.", file,
			plugin->abi_major, plugin->abi_minor, abi->major, abi->minor);
	if (plugin->size < HEAD_SIZE || plugin->size > size)
		return kettle_fail(err, KETTLE_EINVAL, "%s: it states that its description has %u bytes, but it has %zu.", file,
			plugin->size, size);
	return 0;
}

static bool
name_is_good(const char *name)
{
	size_t len = name ? strnlen(name, NAME_MAX_BYTES + 1) : 0;
	if (len == 0 || len > NAME_MAX_BYTES || name[0] < 'a' || name[0] > 'z')
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* NAME.so must hold the plugin NAME, since plugins are found by file name. */
static bool
file_has_name(const char *file, const char *name)
{
	const char *base = file_name_of(file);
	size_t len = strlen(name);
	return strncmp(base, name, len) == 0 && strcmp(base + len, SUFFIX) == 0;
}

static int
check_identity(
	const struct kettle_plugin *plugin, uint32_t kind, const char *name, const char *file, struct kettle_error *err)
{
	const char *is = loader_kind_name(plugin->kind);
	if (!is)
		return kettle_fail(err, KETTLE_EINVAL, "%s: %u is not a kind of plugin.", file, plugin->kind);
	if (kind && plugin->kind != kind)
		return kettle_fail(err, KETTLE_EINVAL, "%s is a %s, not a %s: it belongs under `%s`.", file, is,
			loader_kind_name(kind), loader_kind_section(plugin->kind));
	if (!name_is_good(plugin->name))
		return kettle_fail(err, KETTLE_EINVAL, "%s: its name is not of the form [a-z][a-z0-9_]*, at most %d bytes.",
			file, NAME_MAX_BYTES);
	if (name && strcmp(plugin->name, name) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s contains the plugin `%s`, not `%s`.", file, plugin->name, name);
	if (!file_has_name(file, plugin->name))
		return kettle_fail(err, KETTLE_EINVAL, "%s contains the plugin `%s`; its file must be named %s" SUFFIX ".",
			file, plugin->name, plugin->name);
	return 0;
}

static int
lacks(const char *operation, const char *file, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EINVAL, "%s: it lacks the operation `%s`.", file, operation);
}

static int
check_life(const struct kettle_plugin *plugin, const char *file, struct kettle_error *err)
{
	if (!plugin->create)
		return lacks("create", file, err);
	if (!plugin->configure)
		return lacks("configure", file, err);
	if (!plugin->destroy)
		return lacks("destroy", file, err);
	bool language = plugin->kind == KETTLE_LANGUAGE, runner = plugin->kind == KETTLE_RUNNER;
	bool frontend = plugin->kind == KETTLE_FRONTEND;
	if (!plugin->language == language || !plugin->runner == runner || !plugin->frontend == frontend)
		return kettle_fail(err, KETTLE_EINVAL, "%s: a %s must set `%s`, and no operations of another kind.", file,
			loader_kind_name(plugin->kind), loader_kind_name(plugin->kind));
	return 0;
}

static int
take_language(struct entry *entry, const char *file, struct kettle_error *err)
{
	struct kettle_language *language = &entry->language;
	int rc = copy_operations(entry->loaded.plugin.language, language, sizeof(*language), file, err);
	if (rc)
		return rc;
	if (!language->plan)
		return lacks("language.plan", file, err);
	rc = copy_table(language->skeletons, language->skeletons_count, language->skeleton_size,
		sizeof(*language->skeletons), "skeletons", file, (void **)&entry->skeletons, err);
	if (rc == 0)
		rc = copy_table(language->harness, language->harness_count, language->harness_file_size,
			sizeof(*language->harness), "harness files", file, (void **)&entry->harness, err);
	language->skeletons = entry->skeletons;
	language->skeleton_size = sizeof(*entry->skeletons);
	language->harness = entry->harness;
	language->harness_file_size = sizeof(*entry->harness);
	entry->loaded.plugin.language = language;
	AUTO_JSON json_t *schema = NULL;
	struct kettle_error why = {0};
	if (rc == 0 && language->config_schema && schema_load(language->config_schema, &schema, &why) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s: its `config_schema` is refused: %s", file, why.message);
	return rc;
}

static int
take_runner(struct entry *entry, const char *file, struct kettle_error *err)
{
	struct kettle_runner *runner = &entry->runner;
	int rc = copy_operations(entry->loaded.plugin.runner, runner, sizeof(*runner), file, err);
	if (rc)
		return rc;
	if (!runner->capacity || !runner->submit || !runner->cancel)
		return lacks(!runner->capacity ? "runner.capacity"
					 : !runner->submit ? "runner.submit"
									   : "runner.cancel",
			file, err);
	entry->loaded.plugin.runner = runner;
	rc = copy_table(runner->unit_options, runner->unit_options_count, runner->unit_option_size,
		sizeof(*runner->unit_options), "options of units", file, (void **)&entry->unit_options, err);
	if (rc)
		return rc;
	runner->unit_options = entry->unit_options;
	runner->unit_option_size = sizeof(*entry->unit_options);
	struct option_table table;
	struct kettle_error why = {0};
	(void)loader_unit_options(&entry->loaded.plugin, &table);
	rc = option_table_check(&table, &why);
	return rc ? kettle_fail(err, KETTLE_EINVAL, "%s: its options of units: %s", file, why.message) : 0;
}

static int
take_frontend(struct entry *entry, const char *file, struct kettle_error *err)
{
	struct kettle_frontend *frontend = &entry->frontend;
	int rc = copy_operations(entry->loaded.plugin.frontend, frontend, sizeof(*frontend), file, err);
	if (rc == 0)
		entry->loaded.plugin.frontend = frontend;
	return rc;
}

/* The tables that every kind has, and the operations of its own. */
static int
take_rest(struct entry *entry, const char *file, struct kettle_error *err)
{
	struct kettle_plugin *plugin = &entry->loaded.plugin;
	int rc = check_life(plugin, file, err);
	if (rc == 0)
		rc = copy_table(plugin->options, plugin->options_count, plugin->option_size, sizeof(*plugin->options),
			"options", file, (void **)&entry->options, err);
	if (rc)
		return rc;
	plugin->options = entry->options;
	plugin->option_size = sizeof(*entry->options);
	const struct option_table table = loader_options(plugin);
	struct kettle_error why = {0};
	if (option_table_check(&table, &why) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s: %s", file, why.message);
	switch ((enum kettle_plugin_kind)plugin->kind) {
	case KETTLE_LANGUAGE:
		return take_language(entry, file, err);
	case KETTLE_RUNNER:
		return take_runner(entry, file, err);
	case KETTLE_FRONTEND:
		return take_frontend(entry, file, err);
	}
	return 0;
}

static int
check_twice(const struct loader *loader, const char *name, const char *file, struct kettle_error *err)
{
	for (size_t i = 0; i < loader->count; i++) {
		const struct loaded_plugin *other = &loader->entries[i]->loaded;
		if (strcmp(other->plugin.name, name) == 0)
			return kettle_fail(
				err, KETTLE_ECONFLICT, "%s: a plugin `%s` is already loaded, from %s.", file, name, other->file);
	}
	return 0;
}

static int
loader_take(const struct loader *loader, struct entry *entry, uint32_t kind, const char *name, const char *file,
	struct kettle_error *err)
{
	const struct kettle_plugin *plugin = dlsym(entry->library, SYMBOL);
	if (!plugin)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a Kettle plugin: it has no symbol `" SYMBOL "`.", file);
	int rc = check_head(loader, plugin, symbol_size(plugin), file, err);
	if (rc)
		return rc;
	copy_known(&entry->loaded.plugin, sizeof(entry->loaded.plugin), plugin, plugin->size);
	rc = check_identity(&entry->loaded.plugin, kind, name, file, err);
	if (rc == 0)
		rc = check_twice(loader, entry->loaded.plugin.name, file, err);
	return rc ? rc : take_rest(entry, file, err);
}

/* ---- the library ---- */

static void
free_entry(struct entry *entry)
{
	if (!entry)
		return;
	if (entry->library)
		(void)dlclose(entry->library);
	free_all(entry->options, entry->unit_options, entry->skeletons, entry->harness, (char *)entry->loaded.file, entry);
}

/* Refuses files that dlopen must not get: its messages are vaguer, it opens devices, and truncated files crash it. */
static int
check_loader_file(const char *file, struct kettle_error *err)
{
	Elf64_Ehdr header;
	struct stat st;
	AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) != 0) {
		int error = errno;
		return kettle_fail(err,
			error == ENOENT || error == ENOTDIR ? KETTLE_ENOENT
			: error == EACCES                   ? KETTLE_EACCES
												: KETTLE_EIO,
			"%s cannot be loaded: %s.", file, strerror(error));
	}
	bool elf = S_ISREG(st.st_mode) && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
			   memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
	if (!elf)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a plugin: it is not a shared library.", file);
	bool ours = sizeof(void *) == (header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4);
	if (!ours || header.e_type != ET_DYN)
		return kettle_fail(
			err, KETTLE_EINVAL, "%s is not a plugin: it is not a shared library for this machine.", file);
	/* The table of sections comes last: a file that ends before it was cut short, and mapping it would be fatal. */
	if (header.e_ident[EI_CLASS] == ELFCLASS64 &&
		header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize > (uint64_t)st.st_size)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a plugin: the file is cut short.", file);
	return 0;
}

static int
open_library(const char *file, void **ret_library, struct kettle_error *err)
{
	/* Without a slash, dlopen would search the system's library folders. */
	AUTO_FREE char *path = strchr(file, '/') ? xstrdup(file) : path_join(".", file);
	int rc = check_loader_file(path, err);
	if (rc)
		return rc;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();
		return kettle_fail(err, KETTLE_EINVAL, "%s cannot be loaded: %s.", file, why ? why : "the reason is unknown");
	}
	*ret_library = library;
	return 0;
}

int
loader_open(struct loader *loader, uint32_t kind, const char *name, const char *file,
	const struct loaded_plugin **ret_loaded, struct kettle_error *err)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));
	loader->entries = xreallocarray(loader->entries, loader->count + 1, sizeof(struct entry *));
	int rc = open_library(file, &entry->library, err);
	if (rc == 0)
		rc = loader_take(loader, entry, kind, name, file, err);
	if (rc) {
		free_entry(entry);
		return rc;
	}
	entry->loaded.file = xstrdup(file);
	/* NODELETE only now: a refused library is unloaded, one that ran must stay mapped (threads, atexit). */
	AUTO_FREE char *path = strchr(file, '/') ? NULL : path_join(".", file);
	void *again = dlopen(path ? path : file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (again)
		(void)dlclose(again);
	loader->entries[loader->count++] = entry;
	*ret_loaded = &entry->loaded;
	return 0;
}

/* ---- the path ---- */

struct loader *
loader_new(const json_t *path, const struct loader_abi *abi)
{
	struct loader *loader = xnew(struct loader, .path = path ? json_deep_copy(path) : json_array(),
		.abi = abi ? *abi : (struct loader_abi){KETTLE_ABI_MAJOR, KETTLE_ABI_MINOR});
	return loader;
}

void
loader_free(struct loader *loader)
{
	if (!loader)
		return;
	while (loader->count)
		free_entry(loader->entries[--loader->count]);
	free(loader->entries);
	json_decref(loader->path);
	free(loader);
}

static json_t *
names_there(const struct loader *loader)
{
	json_t *names = json_object();
	json_array_each(loader->path, folder) {
		AUTO_DIR DIR *dir = opendir(json_string_value(folder));
		for (struct dirent *entry; dir && (entry = readdir(dir));) {
			size_t len = strlen(entry->d_name), tail = strlen(SUFFIX);
			if (len <= tail || strcmp(entry->d_name + len - tail, SUFFIX) != 0)
				continue;
			entry->d_name[len - tail] = '\0';
			json_object_set_new(names, entry->d_name, json_null());
		}
	}
	return names;
}

static int
fail_not_found(const struct loader *loader, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *names = names_there(loader);
	json_t *folder;
	AUTO_BUF struct buf folders = {0};
	size_t i;
	json_array_foreach(loader->path, i, folder)
		buf_printf(&folders, "%s%s", i ? ", " : "", json_string_value(folder));
	const char *meant = nearest_key(name, names);
	return kettle_fail(err, KETTLE_ENOENT,
		"There is no plugin `%.64s`: %.64s" SUFFIX " is in none of the folders %s%s%s%s", name, name,
		folders.len ? folders.data : "(none)", NEAREST_END(meant));
}

static int
find_file(const struct loader *loader, const char *name, char **ret_file, struct kettle_error *err)
{
	struct stat st;
	if (!name_is_good(name))
		return kettle_fail(
			err, KETTLE_EINVAL, "`%.64s` is not a name of a plugin: those are of the form [a-z][a-z0-9_]*.", name);
	json_array_each(loader->path, folder) {
		AUTO_BUF struct buf file = {0};
		buf_printf(&file, "%s/%s" SUFFIX, json_string_value(folder), name);
		if (stat(file.data, &st) == 0) {
			*ret_file = buf_take(&file);
			return 0;
		}
	}
	return fail_not_found(loader, name, err);
}

int
loader_load(struct loader *loader, uint32_t kind, const char *name, const struct loaded_plugin **ret_loaded,
	struct kettle_error *err)
{
	AUTO_FREE char *file = NULL;
	int rc = find_file(loader, name, &file, err);
	return rc ? rc : loader_open(loader, kind, name, file, ret_loaded, err);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *
loader_names(const struct loader *loader)
{
	AUTO_JSON json_t *names = names_there(loader);
	AUTO_FREE const char **list = xcalloc(json_object_size(names) + 1, sizeof(*list));
	json_t *sorted = json_array();
	size_t count = 0;
	json_object_each(names, name, none)
		list[count++] = name;
	qsort(list, count, sizeof(*list), by_name);
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(sorted, json_string(list[i]));
	return sorted;
}

size_t
loader_count(const struct loader *loader)
{
	return loader->count;
}

const struct loaded_plugin *
loader_at(const struct loader *loader, size_t i)
{
	return &loader->entries[i]->loaded;
}

struct option_table
loader_options(const struct kettle_plugin *plugin)
{
	return (struct option_table){plugin->options, plugin->options_count, plugin->option_size};
}

bool
loader_unit_options(const struct kettle_plugin *plugin, struct option_table *ret_table)
{
	const struct kettle_runner *runner = plugin->runner;
	*ret_table = (struct option_table){0};
	if (runner)
		*ret_table = (struct option_table){runner->unit_options, runner->unit_options_count, runner->unit_option_size};
	return runner != NULL;
}
