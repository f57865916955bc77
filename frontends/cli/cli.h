/* SPDX-License-Identifier: MIT */
/* The plugin `cli`: additions of the command line to the commands of the table. */
#pragma once

#include "cli/args/args.h"

extern const struct args_ui cli_uis[];
