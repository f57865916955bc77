/* SPDX-License-Identifier: MIT */
/* Loads plugins, and refuses unfit files with one sentence. */
#pragma once

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdbool.h>

#include "config/option_table.h"

/* "language" …; NULL: no kind. [any] */
const char *loader_kind_name(uint32_t kind);
/* "languages" …; NULL: no kind. [any] */
const char *loader_kind_section(uint32_t kind);

/* The loaded plugins, and the path that is searched. One thread at a time. */
struct loader;

/*
 * A plugin that passed every check, in the sizes that this host knows: members that a plugin of an older minor lacks
 * are NULL or 0. Its arrays (options, skeletons, harness) have this host's element sizes. Valid until loader_free.
 */
struct loaded_plugin {
	struct kettle_plugin plugin;
	const char *file;
};

/* The accepted ABI: that of the headers, except in tests. */
struct loader_abi {
	uint16_t major, minor;
};

/* path: array of folders in the order in which they are searched; copied. abi NULL: this host's. New; loader_free it. */
struct loader *loader_new(const json_t *path, const struct loader_abi *abi);
/* Closes every plugin that it loaded; no instance may be left. NULL is allowed. */
void loader_free(struct loader *loader);

/*
 * Loads a file. kind 0: any; name NULL: any. Refuses with "FILE: …" and with the library closed again: no such file
 * (ENOENT), no plugin (EINVAL), another ABI (EVERSION), another kind or name (EINVAL), a missing operation (EINVAL),
 * bad tables (EINVAL), a name that is loaded already (ECONFLICT). Nothing is read from a plugin beyond what its symbol
 * holds and its sizes say. *ret_loaded is owned by the loader.
 */
int loader_open(struct loader *loader, uint32_t kind, const char *name, const char *file,
	const struct loaded_plugin **ret_loaded, struct kettle_error *err);
/* loader_open of the first NAME.so of the path. ENOENT lists the folders and names the nearest plugin. */
int loader_load(struct loader *loader, uint32_t kind, const char *name, const struct loaded_plugin **ret_loaded,
	struct kettle_error *err);
/* The names of all plugins in the path, loaded or not, in order. New array. Blocking. */
json_t *loader_names(const struct loader *loader);
/* The loaded plugins, in the order of loading. */
size_t loader_count(const struct loader *loader);
const struct loaded_plugin *loader_at(const struct loader *loader, size_t i);

/* The option table of a plugin. [any] */
struct option_table loader_options(const struct kettle_plugin *plugin);
/* The option table of a runner's units. False: the plugin is no runner. [any] */
bool loader_unit_options(const struct kettle_plugin *plugin, struct option_table *ret_table);
