/* SPDX-License-Identifier: MIT */
/* The tools of this machine: where a name of a plan leads to, what version it is, and a fingerprint of all it uses. */
#ifndef KETTLE_EXEC_TOOLS_TOOLCHAIN_H
#define KETTLE_EXEC_TOOLS_TOOLCHAIN_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#include "exec/machine/execconfig.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"

#define TOOLCHAIN_MAX_FOLDERS 4000 /* header folders that a fingerprint looks at */
#define TOOLCHAIN_MAX_ROOTS 8
#define TOOLCHAIN_TRUST_MS 2000 /* for so long a fingerprint is not looked at again */

/* One machine's; opaque. Everything here on the thread of its own, and blocking (some ms at first use). */
struct toolchain;

/* A tool that was found. Owned by the toolchain, valid until it is freed. */
struct tool {
	char *name;
	char *path;                       /* as it is started */
	char *real;                       /* without links */
	char *packages;                   /* of an nvcc: the Python packages that parts of its toolkit lie among; or NULL */
	char *roots[TOOLCHAIN_MAX_ROOTS]; /* what the sandbox must see for it besides the system */
	size_t roots_count;
};

/* `memory` is a file below the state folder in which versions are remembered by path, size and time. */
struct toolchain *toolchain_new(const struct execconfig *config, const char *memory);
void toolchain_free(struct toolchain *toolchain);

/*
 * `name` is a tool's name or an absolute path. FOLDER/bin/nvcc that is not there means the nvcc of the Python packages
 * in FOLDER, an environment or a folder of packages, or for this machine's nvcc, with what of a toolkit is among the
 * packages; nvcc, where the machine has none, for that of the environment of an interpreter that it is to report.
 * KETTLE_ENOENT with a sentence: this machine does not have it. Looks again each time what was not found.
 */
int toolchain_find(
	struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err);
/*
 * A digest of the tool's path, size, time and version, of the programs it starts (a compiler's own, assembler,
 * linker), and of the system's header folders and libraries. Changes when any of them does.
 */
int toolchain_fingerprint(
	struct toolchain *toolchain, const struct tool *tool, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err);
/* What is known of it (tool_probe.h), borrowed; NULL: it has gone. */
const json_t *toolchain_facts(struct toolchain *toolchain, const struct tool *tool);
/* Whether nothing can be compiled with it: KETTLE_EUNAVAIL with a sentence that says what its toolkit lacks. */
int toolchain_check(struct toolchain *toolchain, const struct tool *tool, struct kettle_error *err);
/* Appends what the sandbox must see for the tool besides the system. */
void toolchain_roots(struct toolchain *toolchain, const struct tool *tool, struct strings *paths);
/* Of the well-known tools that are here, those that exec.yml names, and those that it reports besides; by their names. */
struct tool_report {
	json_t *versions; /* {"g++": "12.2.0"} */
	json_t *paths; /* {"g++": "/usr/bin/g++"}: as they are started; an interpreter behind a wrapper by its own path */
	json_t *packages; /* {"python3": {"numpy": "1.24.2"}}: the well-known packages of interpreters */
	json_t *parts;    /* {"nvcc": [part]}: of toolkits (toolkit.h), without what belongs to none */
};
struct tool_report toolchain_report(struct toolchain *toolchain);
void tool_report_free(struct tool_report *report);
/* Version and packages (NULL: it is no interpreter) of one tool; both borrowed, NULL where it does not say. */
void toolchain_describe(
	struct toolchain *toolchain, const struct tool *tool, const char **ret_version, const json_t **ret_packages);
/* Ends what another thread is probing just now, and probes nothing more: tools of which nothing is known are unknown. [any] */
void toolchain_stop(struct toolchain *toolchain);
/* Takes over what another one of the same machine has learnt, which no other thread uses meanwhile. */
void toolchain_merge(struct toolchain *toolchain, const struct toolchain *other);
/* The names it looks for, ended by NULL. */
const char *const *toolchain_known(void);

#endif
