/* SPDX-License-Identifier: MIT */
/* What the command line adds to a command of the core's table. */
#include <config.h>

#include "cli/args/command_ui.h"

#include <string.h>

#include "cli/text/json_read.h"

const struct run_ui *
command_ui_find(const struct run_ui *uis, const json_t *command)
{
	for (; uis->command; uis++)
		if (strcmp(uis->command, value_text(command, "name")) == 0)
			return uis;
	return NULL;
}

bool
command_ui_hides(const struct run_ui *uis, const json_t *command)
{
	const struct run_ui *ui = command_ui_find(uis, command);
	return ui && ui->hidden;
}
