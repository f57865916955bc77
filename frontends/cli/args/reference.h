/* SPDX-License-Identifier: MIT */
/* docs/commands.md, made of the command table. */
#ifndef KETTLE_CLI_REFERENCE_H
#define KETTLE_CLI_REFERENCE_H

#include <stdio.h>

#include "cli/args/command_ui.h"

/* The whole page: every command of the table, hidden ones too, with its arguments, right, kind and answer. */
void reference_write(FILE *out, const json_t *table, const struct run_ui *uis);

#endif
