/* SPDX-License-Identifier: MIT */
/* Makes help from the command table: for users, for the manual page, for docs/commands.md. */
#pragma once

#include "cli/args/args.h"
#include "common/term.h"

/* Commands that are not in the table; a NULL usage ends the list. */
struct help_own {
	const char *usage; /* the word, then its arguments: "completion bash|zsh|fish" */
	const char *help;
};
extern const struct help_own help_own_commands[];

/* Prints all commands and global options. */
void help_all(const struct term *term, const json_t *table);
/* Prints the commands whose words begin with these ("leaderboard"). */
void help_group(const struct term *term, const json_t *table, int words, const char *const *argv);
/* Prints one command: usage, description, arguments, options. */
void help_command(const struct term *term, const json_t *command, const struct args_ui *ui);
/* Prints a command that is not in the table. false: no such command; prints nothing. */
bool help_own(const struct term *term, const char *name);
/* Prints only the usage of a command. */
void help_usage(const struct term *term, const json_t *command, const struct args_ui *ui);
/* Writes the COMMANDS and GLOBAL OPTIONS sections of kettle(1), in the macros of man(7). */
void help_manual(FILE *out, const json_t *table, const struct args_ui *uis);
/*
 * `kettle help --json`: the command of this name, all of this group, or all with an empty prefix, each with its
 * "answer", a JSON Schema.
 */
void help_json(FILE *out, const json_t *table, const json_t *answers, const char *prefix);
/* Writes docs/commands.md: every command, hidden ones too, with its arguments, right, kind and answer. */
void help_reference(FILE *out, const json_t *table, const json_t *answers, const struct args_ui *uis);
