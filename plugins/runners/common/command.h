/* SPDX-License-Identifier: MIT */
/* Programs that runners start for one answer: their arguments, limits and end. Everything on the loop thread. */
#pragma once

#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>

/* A vector of arguments that ends with NULL. Zero-initialise; arguments_free at the end. [any] */
struct arguments {
	char **list;
	size_t count;
};

#define AUTO_ARGUMENTS __attribute__((cleanup(arguments_free)))

void arguments_add(struct arguments *arguments, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arguments_free(struct arguments *arguments);

/* The end of a command. Borrowed. */
struct command_end {
	bool worked;     /* exit status 0, in time, and no more output than expected */
	const char *why; /* what it wrote to standard error, in plain ASCII, or what was wrong with it */
	int status, signal;
	bool late; /* it was killed since it took too long */
};

struct command_use {
	/* A line of output, which it may change; NULL: ignored. False: it is not what was expected, and the command is killed. */
	bool (*on_line)(void *arg, char *line);
	void (*on_stderr)(void *arg, const char *line, size_t len); /* NULL: kept for `why` */
	void (*on_end)(void *arg, const struct command_end *end);   /* called once */
	void *arg;
	size_t max_lines, max_line; /* of output; bytes of one, 0: 8192 */
	uint64_t limit_ms;
	const void *input; /* its standard input; NULL: empty */
	size_t input_size;
};

/* The commands of one owner. Zero-initialise; set the members before the list. */
struct commands {
	const struct kettle_host *host;
	struct arguments environment; /* none: the engine's */
	void (*idle)(void *arg);      /* called when a command has ended and none runs; NULL: nothing to do */
	void *arg;
	struct command *list;
};

/* Starts a command, without a shell. On error on_end is not called. */
int command_run(struct commands *commands, const struct arguments *arguments, const struct command_use *use,
	struct kettle_error *err);
/* Kills the running commands; their on_end is still called. */
void commands_kill(const struct commands *commands);
/* Whether a program can be started: its path, or its name in a folder of PATH. */
bool command_exists(const char *name);
