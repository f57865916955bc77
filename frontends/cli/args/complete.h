/* SPDX-License-Identifier: MIT */
/* Completes a typed word for a shell, from the command table. Pure. */
#pragma once

#include "cli/args/args.h"

#include <stdio.h>

/* A request for names that only the core knows. Strings are borrowed from the arguments. */
struct complete_live {
	const char *what;        /* for the command `complete`: board, device, submission; NULL: no request */
	const char *prefix;      /* the beginning of the names */
	const char *leaderboard; /* the leaderboard named earlier in the line, or NULL */
	bool others;             /* the command also takes things of other users */
	const char *lead;        /* printed before each name: of `--device=C` the part up to the `=`, included */
	int lead_size;           /* its bytes */
};

/* The line that makes the shell complete file names here. */
#define COMPLETE_FILES ":files"

/*
 * Prints the completions of the last of these words (which may be empty), one a line, with an explanation after a tab.
 * Leaves out hidden commands and options that are given and cannot be repeated.
 */
void complete_words(FILE *out, const json_t *table, const struct args_ui *uis, int argc, const char *const *argv,
	struct complete_live *ret_live);

/* Prints a value of the core and its explanation (or NULL) in the same form, unless a shell could misread it. */
void complete_put_value(FILE *out, const struct complete_live *live, const char *value, const char *about);
