/* SPDX-License-Identifier: MIT */
/* What a shell offers in the place of a word that is being typed, from the command table. Pure. */
#ifndef KETTLE_CLI_ARGS_COMPLETE_H
#define KETTLE_CLI_ARGS_COMPLETE_H

#include "cli/args/args.h"

#include <stdio.h>

/* What only the core knows of the word: names of things. Strings are borrowed from the arguments. */
struct complete_live {
	const char *what;        /* for the command `complete`: board, device, submission; NULL: nothing is missing */
	const char *prefix;      /* what the names begin with */
	const char *leaderboard; /* the one that the line names before, or NULL */
	bool others;             /* the command is not for one's own things alone */
	const char *lead;        /* stands before each name: the option of `--device=C`, up to and with the `=` */
	int lead_size;           /* its bytes */
};

/* The line that says: here the shell completes names of files. */
#define COMPLETE_FILES ":files"

/*
 * Prints what may stand in the place of the last of these words (which may be empty), the others being typed already:
 * one a line, after a tab what it is. Hidden commands, and options that are given and may not be repeated, are left out.
 */
void complete_words(FILE *out, const json_t *table, const struct args_ui *uis, int argc, const char *const *argv,
	struct complete_live *ret_live);

/* Prints a value of the core and what it is (NULL: nothing is known) in that form, unless a shell could misread it. */
void complete_put_value(FILE *out, const struct complete_live *live, const char *value, const char *about);

#endif
