/* SPDX-License-Identifier: MIT */
/* Reads the command line by the core's command table. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* An option that only the command line has. A list ends with a NULL name. */
struct args_option {
	const char *name;
	char letter;      /* short form, or 0 */
	const char *meta; /* placeholder for the value in help; NULL: a flag */
	const char *help;
};

struct run;

/*
 * Additions of the command line to commands of the core's table. A list ends with a NULL command; commands without
 * additions are not in it.
 */
struct args_ui {
	const char *command;            /* name in the table */
	const struct args_option *own;  /* options of its own, or NULL */
	bool code;                      /* its result is code; a terminal shows its lines uncut */
	bool report;                    /* the option -o names a file that also gets the result */
	bool reads;                     /* its argument `path` is a task */
	void (*start)(struct run *run); /* the arguments are complete (files read); NULL: run_command */
	/* Gets the result of run_command. NULL: the result is rendered and the run ends. */
	void (*answer)(struct run *run, const json_t *result);
	/* Prints the result without --json. NULL: by the view of the table, else as JSON. */
	void (*render)(struct run *run, const json_t *result);
	int (*status)(const json_t *result); /* the exit status; NULL: see not_ok */
	int not_ok;                          /* the exit status if the result's member `ok` is not true; 0: always RUN_OK */
	/* The value that --json prints; new reference. NULL: the result itself. */
	json_t *(*json)(const json_t *result);
};

/* The entry of a command of the table; an empty one if there is none. */
const struct args_ui *args_ui(const struct args_ui *uis, const json_t *command);

/* The global options. main reads them before the command; some may also follow the command. */
extern const struct args_option args_globals[];

/* The error of an unknown option before the command, with the nearest global option. Returns EINVAL. */
int args_unknown_global(const char *word, struct kettle_error *err);

/*
 * Finds the command that the first words name: "leaderboard create" is leaderboard.create. *ret_command is borrowed
 * from the table; *ret_words is the number of words used. Returns 0 with *ret_command NULL if the words name a group
 * ("leaderboard") and nothing or an option follows. KETTLE_EINVAL: no such command; the sentence has the nearest one.
 */
int args_find(const json_t *table, int argc, const char *const *argv, const json_t **ret_command, int *ret_words,
	struct kettle_error *err);

struct args {
	json_t *values; /* argument of the table → its value for the core; FILE and TASK are still paths */
	json_t *own;    /* option of the command line or global option → its text, or true */
};

/*
 * Parses the words after the command's name. Options may come anywhere before "--"; their names cannot be shortened.
 * Stores only given values: the core knows defaults, ranges and choices. With --help, missing arguments are no error.
 * KETTLE_EINVAL: the sentence names the option or the missing argument. Call args_free in every case.
 */
int args_parse(const json_t *command, const struct args_option *own, int argc, const char *const *argv,
	struct args *ret_args, struct kettle_error *err);
void args_free(struct args *args);
/* The text of an option of the command line, or NULL. */
const char *args_text(const struct args *args, const char *name);
bool args_flag(const struct args *args, const char *name);

#define ARGS_NAME_SIZE 100

/* An argument of a command of the table, or an option of the command line. Texts are borrowed. */
struct args_row {
	const json_t *data; /* the table's; NULL: an option of the command line */
	const char *name, *type, *help;
	const char *alias; /* its alias; "": none */
	char letter;       /* short form, or 0 */
	bool positional, required, repeated, flag;
	char option[ARGS_NAME_SIZE]; /* the name as an option without the dashes: "problem-set" for problem_set */
	char meta[ARGS_NAME_SIZE]; /* placeholder for the value in help: from the table, else from choices, type or name */
};

/*
 * Reads row i of the command's arguments (NULL: none), followed by the options of the command line; false: no such
 * row.
 */
bool args_row(const json_t *command, const struct args_option *own, size_t i, struct args_row *ret_row);
/*
 * Finds an option by its name of len bytes or, if letter is not 0, by its letter: of the command (NULL: none), of the
 * command line, or global. false: there is none.
 */
bool args_option(const json_t *command, const struct args_option *own, const char *name, size_t len, char letter,
	struct args_row *ret_row);
/* Reads the positional argument at this index; a repeated one counts once. false: there are too many. */
bool args_place(const json_t *command, size_t before, struct args_row *ret_row);
/* The command's words: "leaderboard create". */
void args_command_words(const json_t *command, char ret_words[ARGS_NAME_SIZE]);

/* The words that can follow the first ones, without hidden commands: an object with them as keys. New reference. */
json_t *args_following(const json_t *table, int words, const char *const *argv);
