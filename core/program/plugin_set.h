/* SPDX-License-Identifier: MIT */
/* The plugins that the configuration names: loaded, made, configured, started and stopped together. */
#ifndef KETTLE_PROGRAM_PLUGIN_SET_H
#define KETTLE_PROGRAM_PLUGIN_SET_H

#include "config/configuration.h"
#include "session/core.h"

struct plugin_set;

/*
 * Loads every plugin that a section of the configuration names, makes one instance of each and configures it. Fills in
 * core->languages, runners and plugins. The first one that does not fit ends it with its sentence. `core` and `config`
 * must outlive the set.
 */
int plugins_load(const struct config *config, struct core *core, struct plugin_set **ret_set, struct kettle_error *err);
/* Starts runners, then languages, then frontends: all of them (serve), or of the frontends only `cli`. */
int plugins_start(struct plugin_set *set, bool serve, struct kettle_error *err);
/* Stops the started ones of a kind range: frontends alone, or everything else. done once. */
void plugins_stop(struct plugin_set *set, bool frontends, kettle_fn done, void *arg);
/* After both stops. NULL is allowed. */
void plugins_free(struct plugin_set *set);
/* The frontend that has a command line, or NULL. */
const struct core_plugin *plugins_command_line(const struct plugin_set *set);

#endif
