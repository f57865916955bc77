/* SPDX-License-Identifier: MIT */
/* The plugin `cli`: what the command line adds to the commands of the table. */
#ifndef KETTLE_CLI_CLI_H
#define KETTLE_CLI_CLI_H

#include "cli/run/invocation.h"

/* What is added to a command, by its name in the table; NULL: nothing, it is called and its result printed as JSON. */
const struct run_ui *cli_ui(const char *command);
/* Whether the command has no form on the command line (other commands use it). */
bool cli_hidden(const json_t *command);

#endif
