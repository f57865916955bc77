/* SPDX-License-Identifier: MIT */
/* The plugin `cli`: additions of the command line to the commands of the table. */
#ifndef KETTLE_CLI_CLI_H
#define KETTLE_CLI_CLI_H

#include "cli/args/args.h"

extern const struct args_ui cli_uis[];

#endif
