/* SPDX-License-Identifier: MIT */
/* What a tool says about itself, and which files and folders its results depend on. */
#ifndef KETTLE_EXEC_TOOLS_TOOL_PROBE_H
#define KETTLE_EXEC_TOOLS_TOOL_PROBE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "exec/tools/toolchain.h"
#include "exec/util/sha256.h"

#define TOOLFACTS_MAX 64 /* tools probed at once */

/*
 * Probes tools, side by side and in the environment that steps have: their version and, of compilers, the programs and
 * libraries they use. facts[i] gets {"asked", "size", "mtime", "script", "version", "banner", "home", "files"}, of an
 * interpreter also what interpreter_facts gives, a new reference, or NULL when it has gone, or when another thread sets
 * *stop (NULL: none does). [any, blocks]
 */
void tool_probe_run(const struct execconfig *config, const struct tool *const *tools, size_t count,
	const atomic_bool *stop, json_t **ret_facts);
/* Whether facts are there and the file, and the folders of packages, are those that they are of. */
bool tool_probe_is_current(const json_t *facts, const char *real);
/* Everything to look at: the files of the facts, and the header folders with all folders below. New reference. */
void tool_probe_watch(const json_t *facts, const char *real, unsigned max_folders, struct strings *watch);
/* Adds the path with its size and time to a digest (of a folder: its time). */
void tool_probe_stamp(const char *path, struct sha256 *digest);

/*
 * Adds everything below a folder, *left entries at most, in an order that depends on names alone; links are stamped by
 * what they lead to and not followed. One that is not there differs from an empty one. [blocks]
 */
void tool_probe_stamp_tree(const char *path, struct sha256 *digest, unsigned *left);

/* The version number in what `--version` prints ("12.2.0"), or "" (exported for its test). */
void tool_probe_version(const char *text, char *ret_version, size_t size);

#endif
