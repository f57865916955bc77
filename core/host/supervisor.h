/* SPDX-License-Identifier: MIT */
/* The process beside the one that runs a program: it keeps what the program's code must not have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SUPERVISOR_TOKEN "KETTLE_TOKEN" /* the variable with what messages begin with */
#define SUPERVISOR_SECRETS_MAX 4096
#define SUPERVISOR_USAGE "usage: kettle-host [--channel NAME] [--secret NAME]... OBJECT [ARGUMENT]..."

/* What a run keeps from its program. Zeros: nothing. */
struct kept {
	int channel;                          /* of results; -1: the program has its own */
	unsigned long long token;             /* what messages of the program begin with */
	char secrets[SUPERVISOR_SECRETS_MAX]; /* NAME=VALUE texts, each with its NUL, and an empty one */
	size_t size;
};

/*
 * Forks. Returns 0 in the child, which runs the program and ends with this process; its number here; -1 with errno. Other
 * processes of the user cannot look into this one. No thread may run.
 */
pid_t supervisor_fork(void);
/*
 * Takes the options `--channel NAME` and `--secret NAME` off a run's arguments, and the values out of its environment, where
 * they are overwritten. *ret_channel: the number that the channel has in the run. Returns the argument behind the options;
 * NULL: ret_why says what is wrong. ret_kept->channel stays -1 without `--channel`.
 */
char **supervisor_take(
	char **argv, char **envp, struct kept *ret_kept, int *ret_channel, char *ret_why, size_t why_size);
/*
 * Returns the arguments of a new block, as on the stack of a program that starts: their count before them, NULL, the
 * environment (at *ret_envp), NULL, an auxiliary vector. token: of the run; 0: it has none. NULL: there is no memory.
 */
char **supervisor_block(char **argv, char **envp, unsigned long long token, char ***ret_envp);
/* Hears the program's messages at the socket (-1: there are none), and ends as the child does. */
void supervisor_run(struct kept *kept, pid_t child, int socket) __attribute__((noreturn));
