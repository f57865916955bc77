/* SPDX-License-Identifier: MIT */
/* The command line against the core's command table. Pure. */
#ifndef KETTLE_CLI_ARGS_ARGS_H
#define KETTLE_CLI_ARGS_ARGS_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* An option of the command line's own, besides those of the table. A list ends with a NULL name. */
struct args_option {
	const char *name;
	char letter;      /* short form, or 0 */
	const char *meta; /* what help shows for the value; NULL: a flag */
	const char *help;
};

struct run;

/*
 * What the command line adds to a command of the core's table. A list ends with a NULL command; other commands are
 * not listed.
 */
struct args_ui {
	const char *command;            /* name in the table */
	const struct args_option *own;  /* options of its own, or NULL */
	bool code;                      /* its result is code, whose lines stay whole on a terminal */
	bool report;                    /* the option -o names a file that the result is written to as well */
	bool tries;                     /* the task that it reads is tried first, unless the option --no-try is given */
	bool updates;                   /* that task is a new version of the one of the leaderboard `name` */
	void (*start)(struct run *run); /* arguments are complete (files read); NULL: run_command */
	/* Gets the result of run_command. NULL: it is rendered and the run ends. */
	void (*answer)(struct run *run, const json_t *result);
	/* Prints the result without --json. NULL: by the view of the table, else as JSON. */
	void (*render)(struct run *run, const json_t *result);
	int (*status)(const json_t *result); /* the exit status; NULL: see not_ok */
	int not_ok; /* the exit status where the result's member `ok` is not true; 0: always RUN_OK */
	/* What --json prints of it; new reference. NULL: the result as it is. */
	json_t *(*json)(const json_t *result);
};

/* The entry of a command of the table; an empty one where nothing is added. */
const struct args_ui *args_ui(const struct args_ui *uis, const json_t *command);

/* The global options, which main takes; those that may stand behind a command as well are understood there. */
extern const struct args_option args_globals[];

/* The error of an unknown option before the command, with the nearest global option. Returns EINVAL. */
int args_unknown_global(const char *word, struct kettle_error *err);

/*
 * Finds the command that the first words name: "leaderboard create" is leaderboard.create. *ret_command is borrowed
 * from the table. *ret_words counts the words used. *ret_command is NULL with 0 returned where the words name a group
 * ("leaderboard") and nothing more follows, or an option. KETTLE_EINVAL: no such command; the sentence has the nearest.
 */
int args_find(const json_t *table, int argc, const char *const *argv, const json_t **ret_command, int *ret_words,
	struct kettle_error *err);

struct args {
	json_t *values; /* argument of the table → its value as the core takes it; FILE and TASK are still paths */
	json_t *own;    /* own or global option → its text, or true */
};

/*
 * Parses what follows the command's words. Options may stand anywhere before "--"; prefixes are not accepted. Fills
 * only what was given: the core knows defaults, ranges and choices. With --help, missing arguments are no error.
 * KETTLE_EINVAL: the sentence names the option or what is missing. args_free in either case.
 */
int args_parse(const json_t *command, const struct args_option *own, int argc, const char *const *argv,
	struct args *ret_args, struct kettle_error *err);
void args_free(struct args *args);
/* Text of an own option, or NULL. */
const char *args_text(const struct args *args, const char *name);
bool args_flag(const struct args *args, const char *name);

#define ARGS_NAME_SIZE 100

/* An argument of a command of the table, or an option of the command line's own. Texts are borrowed. */
struct args_row {
	const json_t *data; /* of the table; NULL: an own option */
	const char *name, *type, *help;
	const char *alias; /* its other name; "": it has none */
	char letter;       /* short form, or 0 */
	bool positional, required, repeated, flag;
	char option[ARGS_NAME_SIZE]; /* the name as an option without the dashes: "problem-set" for problem_set */
	char meta[ARGS_NAME_SIZE];   /* what help shows for the value: from the table, else from choices, type or name */
};

/* Reads row i of the command's arguments (NULL: none), which the own options follow; false: there is none. */
bool args_row(const json_t *command, const struct args_option *own, size_t i, struct args_row *ret_row);
/*
 * The option of a name of len bytes, or where letter is not 0 of that letter: of the command's (NULL: none), the own and
 * the global ones. false: there is none.
 */
bool args_option(const json_t *command, const struct args_option *own, const char *name, size_t len, char letter,
	struct args_row *ret_row);
/* What a word is that so many words for positional arguments stand before; repeated ones count once. false: too much. */
bool args_place(const json_t *command, size_t before, struct args_row *ret_row);
/* The command as it is typed: "leaderboard create". */
void args_command_words(const json_t *command, char ret_words[ARGS_NAME_SIZE]);

/* The words that may follow the first ones, hidden commands left out: an object with them as keys. New reference. */
json_t *args_following(const json_t *table, int words, const char *const *argv);

#endif
