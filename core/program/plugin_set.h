/* SPDX-License-Identifier: MIT */
/* The plugins that the configuration names: loaded, made, configured, started and stopped together. */
#pragma once

#include "config/configuration.h"
#include "session/core.h"

struct plugin_set;

/*
 * Loads every plugin that a section of the configuration names, makes and configures one instance of each, and sets the
 * core's languages, runners and plugins. The first plugin with a fault ends this with an error; where `config` collects
 * faults, it is left out. `core` and `config` must outlive the set.
 */
int plugins_load(const struct config *config, struct core *core, struct plugin_set **ret_set, struct kettle_error *err);
struct plugins_change; /* the languages of another configuration, ready to be used */

/*
 * Makes, configures and starts an instance for each language that is new in `fresh`, or is other than in `config`, the
 * configuration in force; checks the sections of runners and frontends that are, which only a restart uses. Languages in force are left alone, so an error changes nothing. The change ends with
 * plugins_apply or plugins_forget. Loop thread; errors as plugins_load's.
 */
int plugins_prepare(struct plugin_set *set, const struct config *config, const struct config *fresh,
	struct plugins_change **ret_change, struct kettle_error *err);
/*
 * Puts the languages of the change into force, and tells the runners. Replaced instances stay until plugins_stop, for
 * the jobs that were planned with them.
 */
void plugins_apply(struct plugins_change *change);
/* Frees a change that is not applied. Its instances stay unused until plugins_stop. NULL is allowed. */
void plugins_forget(struct plugins_change *change);
/* Starts runners, then languages, then frontends; without `serve` only the frontend with a command line. */
int plugins_start(struct plugin_set *set, bool serve, struct kettle_error *err);
/* Stops the started frontends, or all other started plugins. Calls done once. */
void plugins_stop(struct plugin_set *set, bool frontends, kettle_fn done, void *arg);
/* Whether a plugin did not stop in time: its threads may still use what the core gave it. */
bool plugins_hang(const struct plugin_set *set);
/* Call it after both stops. A hung plugin is not freed. NULL is allowed. */
void plugins_free(struct plugin_set *set);
/* The frontend that has a command line, or NULL. */
const struct core_plugin *plugins_command_line(const struct plugin_set *set);
