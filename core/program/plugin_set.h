/* SPDX-License-Identifier: MIT */
/* The plugins that the configuration names: loaded, made, configured, started and stopped together. */
#ifndef KETTLE_PROGRAM_PLUGIN_SET_H
#define KETTLE_PROGRAM_PLUGIN_SET_H

#include "config/configuration.h"
#include "session/core.h"

struct plugin_set;

/*
 * Loads every plugin that a section of the configuration names, makes one instance of each and configures it. Fills in
 * the core's languages, runners and plugins. The first one that does not fit ends it with its sentence; where the faults of
 * `config` are collected, it is left out. `core` and `config` must outlive the set.
 */
int plugins_load(const struct config *config, struct core *core, struct plugin_set **ret_set, struct kettle_error *err);
struct plugins_change; /* the languages of another configuration, ready to be used */

/*
 * Makes, configures and starts an instance for each language that `fresh` has and `config`, the configuration in force, has
 * not, or has otherwise. Those in force are left alone, so on an error nothing is changed. The change ends with
 * plugins_apply or plugins_forget. Loop thread; errors as plugins_load's.
 */
int plugins_prepare(struct plugin_set *set, const struct config *config, const struct config *fresh,
	struct plugins_change **ret_change, struct kettle_error *err);
/*
 * Puts the languages of the change into force, and tells the runners. The instances that they replace stay until
 * plugins_stop, for the jobs that were planned with them.
 */
void plugins_apply(struct plugins_change *change);
/* What was made for it stays unused until plugins_stop. NULL is allowed. */
void plugins_forget(struct plugins_change *change);
/* Starts runners, then languages, then frontends: all of them (serve), or of the frontends only `cli`. */
int plugins_start(struct plugin_set *set, bool serve, struct kettle_error *err);
/* Stops the started ones of a kind range: frontends alone, or everything else. done once. */
void plugins_stop(struct plugin_set *set, bool frontends, kettle_fn done, void *arg);
/* Whether a plugin has not stopped in time: its threads may still use what the core has given it. */
bool plugins_hang(const struct plugin_set *set);
/* After both stops; what hangs is not freed. NULL is allowed. */
void plugins_free(struct plugin_set *set);
/* The frontend that has a command line, or NULL. */
const struct core_plugin *plugins_command_line(const struct plugin_set *set);

#endif
