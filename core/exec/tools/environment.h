/* SPDX-License-Identifier: MIT */
/* The environment of the processes that kettle-exec starts for plans: nothing of its own is in it. */
#ifndef KETTLE_EXEC_TOOLS_ENVIRONMENT_H
#define KETTLE_EXEC_TOOLS_ENVIRONMENT_H

#include <jansson.h>

#include "exec/machine/execconfig.h"
#include "exec/util/strings.h"

/*
 * {"PATH", "LANG", "USER"}. PATH is the folder of the program (NULL: none), those of the programs in `further` (paths;
 * NULL: none), the system's folders, and those of exec.yml's tools. New reference. Pure. [any]
 */
json_t *environment_make(const struct execconfig *config, const char *program, const struct strings *further);
/* Adds what exec.yml says that the tool of that name needs. [any] */
void environment_add_tool(const struct execconfig *config, const char *name, json_t *environment);
/* Appends "NAME=value" of each. Pure. [any] */
void environment_list(const json_t *environment, struct strings *list);

#endif
