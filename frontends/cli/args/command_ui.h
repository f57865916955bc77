/* SPDX-License-Identifier: MIT */
/* What the command line adds to a command of the core's table. */
#ifndef KETTLE_CLI_COMMAND_UI_H
#define KETTLE_CLI_COMMAND_UI_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/args/args.h"

struct run;

/* A list ends with a NULL command. */
struct run_ui {
	const char *command;            /* name in the table */
	bool hidden;                    /* it has no form on the command line: other commands use it */
	const struct args_option *own;  /* options of its own, or NULL */
	void (*start)(struct run *run); /* arguments are complete (files read); NULL: the command is called and rendered */
	/* Prints the result for people; returns the exit status. NULL: as JSON. */
	int (*render)(struct run *run, const json_t *result);
	/* The exit status where the result is printed as JSON. NULL: RUN_OK. */
	int (*status)(const json_t *result);
	/* What --json prints of it; new reference. NULL: the result as it is. */
	json_t *(*json)(const json_t *result);
	const char *example; /* for help, or NULL */
};

/* The entry of a command of the table; NULL: nothing is added, it is called and its result printed as JSON. */
const struct run_ui *command_ui_find(const struct run_ui *uis, const json_t *command);
bool command_ui_hides(const struct run_ui *uis, const json_t *command);

#endif
