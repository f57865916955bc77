/* SPDX-License-Identifier: MIT */
/* The configuration: one YAML file, every section optional, checked before anything starts. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#include "config/option_table.h"

/*
 * root, after the load, always has:
 *   database      absolute path
 *   plugin_path   array of folders in the order in which they are searched: $KETTLE_PLUGIN_PATH (colons between), the
 *                 file's, that of a build folder when the program runs in one, the installed one
 *   build         {"jobs", "cores" (text; may be absent)}
 *   sandbox       {"extra_paths": [absolute path…]}
 *   languages, runners, frontends
 *                 name → section (an object). Where the file says nothing: the languages that were built, `local`;
 *                 `cli` is always among the frontends
 *   devices       name → {"name", "sm", "gfx" (text), "include_dirs", "library_dirs" (absolute paths; all four may be
 *                 absent, and stand in each unit as well), "budget" (may be absent),
 *                 "units": [unit…]}; a unit has runner, name (the device's), slots,
 *                 runner_slots (of all units of its runner), prefetch, sandbox, and, where given, cores (text), gpu, lock,
 *                 memory, model, labels (a list), options; what the device says holds for each of its units that does not say
 *                 otherwise. Where the file says nothing: CPU on `local`, if that is a runner
 *   limits        {"submission_bytes", "artifact_bytes", "artifact_user_bytes"}
 *   retention     {"artifact_days", "log_days", "event_days", "audit_days"}; 0: for ever
 *   engine        {"shutdown_grace" (s)}
 *   http          {"proxy", "ca_file" (absolute path); both may be absent}
 *   competitions  {"root" (absolute path); may be absent}
 *   log           {"level", "format" ("auto", "text", "json", "journal")}
 * It is read-only but for config_adopt.
 */
#define CONFIG_FAULTS 50 /* most that are collected */

struct config {
	json_t *root;
	json_t *places;   /* of the file as written; empty where there is none */
	json_t *warnings; /* array of sentences for the log */
	json_t *faults;   /* array of sentences, at most CONFIG_FAULTS and one more; NULL: the first fault is an error */
	char *file;       /* as it was named; NULL: no file, only defaults */
	bool chosen;      /* the database was named for this call: by --db or KETTLE_DB */
	char *base;       /* absolute folder that relative paths start from: the file's, or the current one */
};

struct config_request {
	const char *file; /* --config; NULL: $KETTLE_CONFIG, $XDG_CONFIG_HOME/kettle/kettle.yml, SYSCONF/kettle/kettle.yml,
						 of which the last two need not exist */
	const char *database; /* --db, relative to the current folder; NULL: $KETTLE_DB, then the file's, then
							 $XDG_DATA_HOME/kettle/kettle.db */
	bool collects;        /* faults do not fail the load: they are listed, and what has one is left out. A file that
					  cannot be read, or is not YAML, is an error as ever */
	bool asks; /* this process only asks another one: only `database` and `plugin_path` of the file count, and there are
				   no languages, runners and devices; other faults of the file are none */
};

/*
 * Reads and checks everything but the sections of plugins, which need their tables (config_plugin). A new
 * configuration; config_free it. ENOENT (a file that was named), EINVAL with "FILE:LINE:COLUMN: …", ETOOBIG, EACCES, EIO.
 */
int config_load(const struct config_request *request, struct config **ret_config, struct kettle_error *err);
/* NULL is allowed. */
void config_free(struct config *config);
/* Adds a sentence to a list of faults, up to CONFIG_FAULTS and one that says that there are more. */
void config_add_fault(json_t *faults, const char *sentence);

/*
 * The section of a plugin checked against its table, as its configure takes it (option_table_read: with defaults and
 * secrets, so never log it). kind: "languages", "runners", "frontends". New reference. EINVAL and what secrets give; with an
 * empty message where all faults of the section are in config->faults.
 */
int config_plugin(const struct config *config, const char *kind, const char *name, const struct option_table *table,
	json_t **ret_options, struct kettle_error *err);
/*
 * Checks `options` of all units of a runner by its table, and makes paths absolute there; fills in nothing else. 0
 * where faults are collected; EINVAL.
 */
int config_unit_options(
	const struct config *config, const char *runner, const struct option_table *table, struct kettle_error *err);

/*
 * The differences of a configuration that was loaded again, as two arrays of {"key": "devices.CPU", "change": the rest of
 * the sentence, such as "is new"} (new references): those that config_adopt takes over, and those that take a restart.
 */
void config_compare(
	const struct config *config, const struct config *fresh, json_t **ret_reloaded, json_t **ret_restart);
/*
 * Takes over log, limits, retention, engine, languages and those devices whose runners are loaded. Pointers into these sections of
 * config->root become invalid.
 */
void config_adopt(struct config *config, const struct config *fresh);
