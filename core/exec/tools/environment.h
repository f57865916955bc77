/* SPDX-License-Identifier: MIT */
/* The environment of the processes that kettle-exec starts for plans: nothing of its own is in it. */
#ifndef KETTLE_EXEC_ENVIRONMENT_H
#define KETTLE_EXEC_ENVIRONMENT_H

#include <jansson.h>

#include "exec/machine/execconfig.h"

/*
 * {"PATH", "LANG", "USER"}. PATH is the folder of the program (NULL: none), those of the programs in `further` (paths;
 * NULL: none), the system's folders, and those of exec.yml's tools. New reference; NULL: no memory. Pure. [any]
 */
json_t *environment_make(const struct execconfig *config, const char *program, const json_t *further);
/* Adds what exec.yml says that the tool of that name needs. 0, -1: no memory. [any] */
int environment_add_tool(const struct execconfig *config, const char *name, json_t *environment);
/* "NAME=value" of each. New reference; NULL: no memory. Pure. [any] */
json_t *environment_flatten(const json_t *environment);
/* The strings of an array, ended by NULL; the list is the caller's, its strings the array's. NULL: no memory. Pure. [any] */
const char **environment_pointers(const json_t *array);

#endif
